"""What a vault is asked: how it stands, what waits, why nothing came of something.

Floor 3, beside `steps`: the same rules that say what is due say why something is not.
"""

from msgspec import Struct

from skillvault.change import FORMAT
from skillvault.errors import SkillvaultError, UsageError
from skillvault.learning import account, merge, promote
from skillvault.learning.generate import plan
from skillvault.records import Ref
from skillvault.run import Run
from skillvault.steps import evaluate, expire, generate, strategy
from skillvault.steps import merge as merging
from skillvault.steps import promote as promoting
from skillvault.vault import layout


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
    paused: str | None


def status(run: Run) -> Status:
    """The vault at a glance."""
    head = run.snapshot
    kinds = [ref.kind for path in head.contents if (ref := layout.ref_of(path))]
    shelves = [
        layout.shelf_of(p) for p in head.contents if (r := layout.ref_of(p)) and r.kind == "skill"
    ]
    types = [link.type for link in head.links.values()]
    return Status(
        format=FORMAT,
        head=head.commit,
        domains=head.domains,
        outcomes=kinds.count("outcome"),
        evaluations=kinds.count("evaluation"),
        facts=kinds.count("fact"),
        skills=shelves.count("skills"),
        proposed=shelves.count("proposed"),
        archived=shelves.count("archive"),
        quarantine=len(run.inbox.quarantined()),
        links={"total": len(types), **{t: types.count(t) for t in sorted(set(types))}},
        waiting=waiting(run),
        paused=run.store.paused(head.policy),
    )


def waiting(run: Run) -> dict[str, int]:
    """How much each step has to do."""
    memory = promoting.material(run)
    facts = promote.plan(memory, run.policy)
    skills = plan(generate.material(run), run.policy)
    return {
        "record": len(run.inbox.names()),
        "evaluate": len(evaluate.unevaluated(run)),
        "promote": len(facts.promotions)
        + len(facts.repetitions)
        + len(promoting.patterns(run, memory).due),
        "generate": sum(map(generate.supported, skills.due))
        + len(skills.reinforcements)
        + sum(one.state == "due" for one in strategy.standings(run).values()),
        "merge": len(merge.plan(merging.material(run), run.policy).due),
        "expire": len(list(expire.due(run))),
    }


def why_no_strategy(run: Run, domain: str) -> list[account.Answer]:
    """Where a domain stands with its strategy, with its numbers."""
    found = strategy.standings(run).get(domain)
    if found is None:
        return [account.Answer("generate", "waiting", "no trusted outcome is evaluated yet")]
    return [account.Answer("generate", found.state, found.reason)]


def why_not(run: Run, ref: Ref) -> list[account.Answer]:
    """What each step says of an outcome or a fact, with its numbers."""
    view = run.snapshot
    if ref.kind == "fact" and ref.id in view.facts:
        live = {**view.skills, **view.proposed}
        return account.of_fact(view.facts[ref.id], promoting.material(run), live, run.policy)
    if ref.id in view.outcomes:
        material, memory = generate.material(run), promoting.material(run)
        return account.answers(view.outcomes[ref.id], material, memory, run.policy)
    if ref.kind in ("outcome", "fact"):
        raise SkillvaultError(f"{ref.id}: cannot be read; `skillvault check` says why")
    raise UsageError(f"{ref.id}: why-not asks about an outcome or a fact; for a {ref.kind} ask why")


def reasons(run: Run) -> dict[str, list[str]]:
    """Why a run made no skill and no fact, grouped, with counts; empty where it made any."""
    made = {ref.kind for done in run.report.done for ref in done.change.targets}
    if made & {"skill", "fact"}:
        return {}
    found = {"skill": account.summary(generate.material(run), run.policy)}
    if run.snapshot.evaluations:
        found["fact"] = account.memory_summary(promoting.material(run), run.policy)
    return found
