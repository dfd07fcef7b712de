"""Which judge a vault's policy appoints, put together of what it needs of the vault.

Floor 3: a judge knows neither git nor a vault; it is handed a ledger, prompts and what cleans.
"""

from skillvault.judge import Judge
from skillvault.vault.store import Store

PROMPTS = "prompts"  # the vault's folder of prompts that stand before the package's own


def appointed(store: Store) -> Judge:
    """The judge that the committed policy names; a model is not asked before it must be."""
    head = store.head()
    rules = head.policy.judge
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
