"""What a judge is told of an outcome: itself, and for a model what stands around it."""

from skillvault.learning.account import sentences
from skillvault.learning.evaluate import evaluate
from skillvault.learning.tries import tries
from skillvault.loop.run import Run
from skillvault.model.brief import Case
from skillvault.model.claude_models import cacheable_length
from skillvault.model.records import Outcome, Ref
from skillvault.model.text.text import flatten, shorten

_FACTS, _LINE = 20, 160  # facts of a domain that are told, and characters of one
_CACHED_FACTS = 150  # told where Claude keeps them from one question to the next
_BEHIND = 8  # outcomes of the subject before it that are told


def case_of(run: Run, outcome: Outcome) -> Case:
    """The case of an outcome; the offline judge is told of nothing else."""
    if run.policy.judge.provider == "offline":
        return evaluate.case_of(outcome)
    before = _before(run, outcome)
    earlier = [sentences.tried_sentence(tries.try_of(one), {}) for one in before]
    links = run.view.links.by_source([Ref("evaluation", outcome.id)])
    own = {link.target.id for link in links if link.type == "promoted"}
    facts = [fact for fact in domain_facts(run, outcome.domain) if fact[0] not in own]
    return evaluate.case_of(outcome, before, earlier, facts)


def _before(run: Run, outcome: Outcome) -> list[Outcome]:
    """The outcomes of a subject before this one, oldest first."""
    history = [placed.id for placed in run.view.subjects.history(outcome.id)]
    if outcome.id not in history:
        return []
    names = history[: history.index(outcome.id)][-_BEHIND:]
    outcomes = run.view.outcomes.get_many(names)
    return [outcomes[name] for name in names if name in outcomes]


def domain_facts(run: Run, domain: str) -> list[tuple[str, str]]:
    """The latest facts of a domain that nothing supersedes, by id, a line each, oldest first.

    Claude is told many where they are enough to be cached: that costs less than a few that are not.
    """
    facts = run.view.facts.by_domain([domain])
    superseded = {fact.supersedes for fact in facts.values()}
    current = [f for f in facts.values() if f.id not in superseded and f.trust == "local"]
    latest = sorted(current, key=lambda fact: fact.order)[-_CACHED_FACTS:]
    told = [(fact.id, shorten(flatten(fact.text), _LINE)) for fact in latest]
    size = sum(len(name) + len(line) for name, line in told)
    judge = run.policy.judge
    is_cached = judge.provider == "claude" and size >= cacheable_length(judge.model)
    return told if is_cached else told[-_FACTS:]
