"""Which judge a vault's policy appoints, put together of what it needs of the vault.

Floor 3: a judge knows neither git nor a vault; it is handed a ledger, prompts and what cleans.
"""

from typing import Protocol

from msgspec.structs import replace

from skillvault.judge import Adviser, Judge
from skillvault.vault.store import Store

PROMPTS = "prompts"  # the vault's folder of prompts that stand before the package's own


class Appointed(Judge, Adviser, Protocol):
    """One who judges and is asked before acting."""


def appointed(store: Store, seconds: float | None = None) -> Appointed:
    """The judge that the committed policy names; a model is not asked before it must be.

    `seconds`: how long an answer is waited for, where that is not the policy's to say.
    """
    head = store.head()
    rules = head.policy.judge
    if seconds is not None:
        rules = replace(rules, deadline_seconds=seconds)
    if rules.provider == "offline":
        from skillvault.judge.offline import OfflineJudge

        return OfflineJudge()
    from skillvault.judge.asking import NAMES, Prompts
    from skillvault.judge.calling import Caller
    from skillvault.judge.claude import Api, ClaudeJudge
    from skillvault.learning.fates import unfit
    from skillvault.vault.redact import cleaned

    paths = {f"{PROMPTS}/{name}.md": name for name in NAMES}
    found = head.bytes_of(paths)
    own = {paths[path]: data.decode(errors="replace") for path, data in found.items()}
    caller = Caller(Api(), store.ledger, rules)
    return ClaudeJudge(rules, Prompts(own, cleaned), caller, unfit)
