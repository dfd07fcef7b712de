"""skillvault: a git-native knowledge store in which AI agents learn from outcomes.

The layers; imports only go down:

    6  entry points  api (Vault) · cli/ · daemon/ · page/
    5  people        review/ · inspect/ · team/
    4  work          loop/: a run and its steps · serving/: what agents get · sessions/
    3  edges         vault/ (commit, index, git, files, search) · judge/ · exchange/ · clients/
    2  rules         learning/: pure functions, records in, changes or values out
    1  model         model/: records, changes, policy, errors, texts

`Change` is the only thing that alters a vault, `Store.apply` the only function that
commits, and the queue is a question to the vault.
"""

from typing import TYPE_CHECKING, Any

from skillvault.model import lazy

lazy.defer_modules()

from skillvault.model.records import Evaluation, Fact, Link, Outcome, Skill  # noqa: E402 (the above comes first)

if TYPE_CHECKING:
    from skillvault.api import Vault

__version__ = "0.1.0"
__all__ = ["Evaluation", "Fact", "Link", "Outcome", "Skill", "Vault", "__version__"]


def __getattr__(name: str) -> Any:
    # Who only wants the records does not pay for git and the detectors.
    if name == "Vault":
        from skillvault.api import Vault  # noqa: PLC0415

        return Vault
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
