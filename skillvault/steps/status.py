"""What a vault is asked: how it stands, what waits, why nothing came of something.

Floor 3, beside `steps`: the same rules that say what is due say why something is not.
"""

from msgspec import Struct
from msgspec.structs import replace

from skillvault.change import FORMAT
from skillvault.errors import SkillvaultError, UnavailableError, UsageError
from skillvault.learning import why_not as account
from skillvault.records import Ref
from skillvault.steps import evaluate, generate, strategy
from skillvault.steps import promote as promoting
from skillvault.steps.registry import STEPS
from skillvault.steps.run import Run


class JudgeStatus(Struct, frozen=True):
    """Who judges, and what it took since midnight UTC.

    `closed`: why nobody asks it now, and until when. `aside`: outcomes it failed at too often.
    """

    provider: str
    model: str | None = None
    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    closed: str | None = None
    aside: list[str] = []


class Status(Struct, frozen=True):
    """A vault at a glance; `waiting` counts what each step has to do."""

    format: int
    head: str | None
    domains: list[str]
    outcomes: int
    evaluations: int
    facts: int
    skills: int
    proposed: int
    archived: int
    quarantine: int
    links: dict[str, int]
    waiting: dict[str, int]
    judge: JudgeStatus
    paused: str | None


def status(run: Run) -> Status:
    """The vault at a glance."""
    head = run.view
    files, links = head.counted(), head.link_types()
    return Status(
        format=FORMAT,
        head=head.commit,
        domains=head.domains,
        outcomes=files.get("outcomes", 0),
        evaluations=files.get("evaluations", 0),
        facts=files.get("memory", 0),
        skills=files.get("skills", 0),
        proposed=files.get("proposed", 0),
        archived=files.get("archive", 0),
        quarantine=len(run.inbox.quarantined()),
        links={"total": sum(links.values()), **links},
        waiting=waiting(run),
        judge=_judge(run),
        paused=run.store.paused(run.policy),
    )


def _judge(run: Run) -> JudgeStatus:
    found = JudgeStatus(provider=run.policy.judge.provider)
    if found.provider == "offline":
        return found
    ledger = run.store.ledger
    try:
        spent, closed = ledger.today(), ledger.closed_until()
    except UnavailableError as error:
        return replace(found, closed=str(error))
    return JudgeStatus(
        provider=found.provider,
        model=run.policy.judge.model,
        calls=spent.calls,
        tokens=spent.tokens,
        usd=round(spent.usd, 6),
        closed=closed,
        aside=sorted(evaluate.set_aside(run)),
    )


def waiting(run: Run) -> dict[str, int]:
    """How much each step has to do."""
    return {name: step.waiting(run) for name, step in STEPS.items()}


def why_no_strategy(run: Run, domain: str) -> list[account.StepAnswer]:
    """Where a domain stands with its strategy, with its numbers."""
    found = strategy.standings(run).get(domain)
    if found is None:
        return [account.StepAnswer("generate", "waiting", "no trusted outcome is evaluated yet")]
    return [account.StepAnswer("generate", found.state, found.reason)]


def why_not(run: Run, ref: Ref) -> list[account.StepAnswer]:
    """What each step says of an outcome or a fact, with its numbers."""
    view = run.view
    if ref.kind == "fact" and (fact := view.facts.get(ref.id)):
        memory = promoting.of_facts(run, [fact.domain])
        live = view.live_skills(set(memory.skills_of.values()))
        return account.fact_answers(fact, memory, live, run.policy)
    if ref.kind == "outcome" and (outcome := view.outcomes.get(ref.id)):
        material = generate.material(run, (one.id for one in view.subject(ref.id)))
        memory = promoting.of_evaluations(run, [ref.id])
        letter = evaluate.set_aside(run).get(ref.id)
        aside = letter.reason if letter else None
        return account.answers(outcome, material, memory, run.policy, aside=aside)
    if ref.kind in ("outcome", "fact"):
        raise SkillvaultError(f"{ref.id}: cannot be read; `skillvault check` says why")
    raise UsageError(f"{ref.id}: why-not asks about an outcome or a fact; for a {ref.kind} ask why")


def reasons(run: Run) -> dict[str, list[str]]:
    """Why a run made no skill and no fact, grouped, with counts; empty where it made any."""
    made = {ref.kind for done in run.report.done for ref in done.change.targets}
    if made & {"skill", "fact"}:
        return {}
    subjects = generate.subjects(run, run.view.outcomes, [])
    read = (generate.material(run, (one.id for one in history)) for history in subjects)
    found = {"skill": account.summary(read, run.policy)}
    if len(run.view.evaluations):
        pages = promoting.pages(run, run.view.evaluations)
        found["fact"] = account.memory_summary(pages, run.policy)
    return found
