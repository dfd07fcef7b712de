"""skillvault: a git-native knowledge store in which AI agents learn from outcomes.

The floor plan; imports only go down:

    4  doors    cli/ · daemon/ · api (Vault)
    3  steps    record, evaluate, promote, generate, distill, merge, assess, expire ·
                run · shelf · doctor
    2  edges    vault/ (commit, index, git, files, search) · judge/ (offline, claude) ·
                exchange/ · clients/
    1  rules    learning/: pure functions, records in, changes or values out
    0  words    records · brief · conditions · intake · strict_json · change · policy · text ·
                errors · integrity

`Change` is the only thing that alters a vault, `Store.apply` the only function that
commits, and the queue is a question to the vault.
"""

from typing import TYPE_CHECKING, Any

from skillvault.records import Evaluation, Fact, Link, Outcome, Skill

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
