"""Ask the judge before a decision is carried out.

If nobody can be asked, or the judge is no better than chance in this vault, the decision may be
carried out, with a warning.
"""

import json
from datetime import datetime

import msgspec

from skillvault.learning import advise
from skillvault.learning.recommend.recommend import Query
from skillvault.loop.judging.judges import accuracy_of, policy_judge
from skillvault.loop.receipts import Receipts
from skillvault.model import codec
from skillvault.model.errors import NoAnswerError, UnavailableError
from skillvault.model.records import Skill
from skillvault.serving.shelf import Shelf
from skillvault.vault.commit.store import Store
from skillvault.vault.files.inbox import Inbox
from skillvault.vault.files.redact import redact_value


def judge_decision(
    store: Store, shelf: Shelf, file: tuple[str, bytes], now: datetime
) -> advise.Advice:
    """Judge the decision in a file (name, bytes); a refusal is written to the inbox."""
    raw = redact_value(codec.parse_incoming(*file))
    proposal, settings = advise.parse_proposal(raw, now), store.snapshot().policy.judge
    snapshot = store.snapshot()
    outcome = Receipts(snapshot, Inbox(store.root), now).resolve_applied(proposal.outcome)
    proposal = msgspec.structs.replace(proposal, outcome=outcome)
    if advise.is_skipped(proposal, settings):
        return advise.Advice(proceed=True, reason="nothing is to be carried out")
    judge = policy_judge(store, settings.inline_seconds)
    skills, record = _recommended_skills(shelf, proposal), accuracy_of(judge, store.snapshot())
    if record and record.is_chance:
        return advise.chance_advice(skills)
    thorough = advise.has_high_stakes(proposal, settings)
    try:
        opinion, judge_name = judge.advise(proposal.outcome, skills, thorough=thorough)
    except (UnavailableError, NoAnswerError) as error:
        return advise.unjudged_advice(str(error))
    advice = advise.advice(proposal, opinion, judge_name, settings)
    if not advice.proceed:
        text = json.dumps(advise.held_back_outcome(raw, advice, now), ensure_ascii=False)
        list(Inbox(store.root).drop([(f"held-{proposal.outcome.id}.json", text.encode())]))
    return advice


def _recommended_skills(shelf: Shelf, proposal: advise.Proposal) -> list[Skill]:
    outcome, decision = proposal.outcome, proposal.outcome.decision
    query = Query(
        domain=outcome.domain, context=outcome.context, strategy="hybrid", action=decision.action
    )
    words = (decision.task or decision.reasoning, decision.action, decision.target)
    recommended_skills = shelf.recommend(query, " ".join(filter(None, words))).recommended
    names = (skill.name for skill in recommended_skills if skill.how != "named")
    return [skill for name in names if (skill := shelf.get(name))]
