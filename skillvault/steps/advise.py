"""The gate: the judge is asked before a decision is carried out.

Floor 3. It fails open: where nobody can be asked, the decision may be carried out, with a warning.
"""

import json
from datetime import datetime

from skillvault.errors import UnansweredError, UnavailableError
from skillvault.learning import advise
from skillvault.learning.recommend.recommend import Query
from skillvault.records import Skill
from skillvault.steps.judges import appointed
from skillvault.steps.shelf import Shelf
from skillvault.vault.commit.store import Store
from skillvault.vault.files import codec
from skillvault.vault.files.inbox import Inbox
from skillvault.vault.files.redact import cleaned


def asked(store: Store, shelf: Shelf, given: tuple[str, bytes], now: datetime) -> advise.Advice:
    """What is said of the decision in a file (name, bytes); a no goes through the inbox."""
    raw = cleaned(codec.incoming(*given))
    proposal, rules = advise.proposal_from(raw, now), store.head().policy.judge
    if advise.skips(proposal, rules):
        return advise.Advice(proceed=True, reason="nothing is to be carried out")
    judge = appointed(store, rules.inline_seconds)
    thorough = advise.thorough(proposal, rules)
    try:
        opinion, info = judge.advise(proposal.outcome, _fitting(shelf, proposal), thorough=thorough)
    except (UnavailableError, UnansweredError) as error:
        return advise.unjudged(str(error))
    found = advise.advice(proposal, opinion, info, rules)
    if not found.proceed:
        said = json.dumps(advise.held(raw, found, now), ensure_ascii=False)
        list(Inbox(store.root).put([(f"held-{proposal.outcome.id}.json", said.encode())]))
    return found


def _fitting(shelf: Shelf, proposal: advise.Proposal) -> list[Skill]:
    """The skills that would be recommended before this decision."""
    outcome = proposal.outcome
    query = Query(domain=outcome.domain, context=outcome.context, strategy="hybrid")
    served = shelf.recommend(query, outcome.decision.reasoning).recommended
    return [skill for one in served if (skill := shelf.get(one.name))]
