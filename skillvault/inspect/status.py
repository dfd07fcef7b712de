"""`skillvault status`: the counts of a vault, the work that waits for each step, and the judge."""

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning.accuracy import Accuracy
from skillvault.learning.fact_review import due_facts
from skillvault.learning.sync import table
from skillvault.loop import evaluate, learned, record
from skillvault.loop.judging.judges import accuracy_of, judge_name
from skillvault.loop.learner import describe_silence, find_other_learner
from skillvault.loop.run import Run
from skillvault.model.change import FORMAT
from skillvault.model.conditions import describe_conditions, describe_rule
from skillvault.model.errors import UnavailableError
from skillvault.model.records import Commit, Ref
from skillvault.vault.check import find_edits
from skillvault.vault.commit import locks
from skillvault.vault.files import layout
from skillvault.vault.git.remote import upstream_of
from skillvault.vault.index.records import parse_ref
from skillvault.vault.index.snapshot import Snapshot

_SEARCHED_COMMITS = 100  # commits in which the latest lesson is looked for
# The steps that teach something; the others take skills and facts away, or move them.
_TEACHING = frozenset(
    "add answer approve distill generate import install merge promote put refresh".split()
)


def tested_rules(run: Run, ref: Ref) -> list[dict[str, Any]]:
    """Return the current rules of a skill in words, with the figures of their tests."""
    skill = run.snapshot.skills.find(ref.id) if ref.kind == "skill" else None
    if skill is None:
        return []
    if skill.kind == "strategy" and skill.domain:
        rules = list(run.profile.strategy_rules(run, skill.domain))
    else:
        sources = [link.source for link in run.snapshot.links.by_target([Ref("skill", skill.name)])]
        ids = [source.id for source in sources if source.kind == "evaluation"]
        actions = run.snapshot.outcomes.actions_of(ids)
        rules = [rule for pair in actions for rule in run.accounts.rules_of_action(*pair)]
    fields = ("action", "result", "met", "other", "episodes", "lately", "p", "z")
    return [
        {
            "rule": describe_rule(rule),
            **{name: getattr(rule, name) for name in fields},
            "held": [describe_conditions(conditions) for conditions in rule.held],
        }
        for rule in rules
    ]


class JudgeStatus(Struct, frozen=True):
    """The judge, and its usage since midnight UTC.

    `closed` says why the judge is not asked now, and until when. `aside` lists the outcomes about
    which it is not asked any more, because it failed too often. `budget` is the limit of a client's
    calls and tokens in a day. `accuracy` compares its verdicts with the results, or is None if
    there are too few.
    """

    provider: str
    model: str | None = None
    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    closed: str | None = None
    aside: list[str] = []
    accuracy: Accuracy | None = None
    budget: tuple[int, int] | None = None


class Status(Struct, frozen=True):
    """The counts of a vault; `waiting` has the number of records that each step has to look at.

    `tomorrow` counts untrusted records over today's (UTC) quota. `edited` are files that a person
    edited, if a step is due, because their records wait. `inbox` counts the files in the inbox,
    `git` names the person's git command that they wait for. `rules` counts the rules of
    LEARNINGS.md, `patterns` those that code supports. `learner` is the clone that learns; `silent`
    is a warning if it does nothing. `unpushed` counts commits that a remote lacks, as far as this
    clone knows. `undecided` are keys of vault.yaml that clones set differently.
    """

    format: int
    head: str | None
    domains: list[str]
    outcomes: int
    evaluations: int
    facts: int
    skills: int
    proposed: int
    archived: int
    inbox: int
    quarantine: int
    links: dict[str, int]
    waiting: dict[str, int]
    tomorrow: dict[str, int]
    edited: list[str]
    judge: JudgeStatus
    git: str | None
    paused: str | None
    patterns: int
    rules: int
    learner: str | None
    unpushed: int
    silent: str | None
    undecided: dict[str, list[str]]


def status(run: Run) -> Status:
    """Return the counts of the vault and the work that waits."""
    snapshot = run.snapshot
    files, links = snapshot.records.count_by_folder(), snapshot.links.count_by_type()
    inbox, waiting = len(run.inbox.names()), count_waiting(run)
    paused = run.store.pause_reason(run.policy)
    patterns, rules = learned.count_patterns_and_rules(run.store, snapshot)
    upstream = upstream_of(run.store.git, run.policy.branch)
    mark = run.store.root / layout.VAULT_FILE
    learner = find_other_learner(run.store.git, run.policy)
    settings = mark.read_text("utf-8", "replace") if mark.exists() else ""
    return Status(
        format=FORMAT,
        head=snapshot.commit,
        domains=snapshot.domains,
        outcomes=files.get("outcomes", 0),
        evaluations=files.get("evaluations", 0),
        facts=files.get("memory", 0),
        skills=files.get("skills", 0),
        proposed=len(snapshot.skills.proposed),
        archived=files.get("archive", 0),
        inbox=inbox,
        quarantine=len(run.inbox.quarantine.file_names()),
        links={"total": sum(links.values()), **links},
        waiting=waiting,
        tomorrow={
            "record": record.count_over_quota(run),
            "evaluate": evaluate.count_over_quota(run),
        },
        edited=find_edits(run.store.git) if any(waiting.values()) and not paused else [],
        judge=_judge(run),
        git=locks.describe_busy_git(run.store.root, *run.store.git.dirs(), waiting=bool(inbox)),
        paused=paused,
        patterns=patterns,
        rules=rules,
        learner=run.policy.learner,
        unpushed=upstream.count_unpushed(run.snapshot.commit) if upstream else 0,
        silent=describe_silence(snapshot, learner, waiting.get("evaluate", 0), run.now),
        undecided=table.read_undecided(settings) if "# undecided: " in settings else {},
    )


class Attention(Struct, frozen=True):
    """The work that waits for a person, and the last effects of learning.

    `questions` are for the agent that judges. `unreadable` counts the committed files that hold no
    record, such as a SKILL.md without front matter. `facts` are due for review. `learned` is the
    latest commit that taught a skill or a fact which the vault still has.
    """

    skills: int
    rules: int
    questions: int
    quarantine: int
    unreadable: int
    facts: int
    learned: Commit | None


def find_attention(run: Run, questions: int) -> Attention:
    """Return the work that waits for a person; `questions` counts the open questions."""
    snapshot, day = run.snapshot, f"{run.now:%Y-%m-%d}"
    due_names = snapshot.facts.due(day)
    facts = due_facts(
        snapshot.facts.get_many(due_names).values(), snapshot.facts.superseded_ids(due_names)
    )
    log = snapshot.history.log(_SEARCHED_COMMITS)
    return Attention(
        skills=len(snapshot.skills.proposed),
        rules=len(snapshot.corrections.waiting()),
        questions=questions,
        quarantine=len(run.inbox.quarantine.file_names()),
        unreadable=len(snapshot.records.unreadable_paths()),
        facts=len(facts),
        learned=next((c for c in log if _is_lesson(c, snapshot)), None),
    )


def _is_lesson(commit: Commit, snapshot: Snapshot) -> bool:
    names = [target for target in commit.targets if target.startswith(("skill:", "fact:"))]
    return commit.step in _TEACHING and any(parse_ref(n) in snapshot.records for n in names)


def _judge(run: Run) -> JudgeStatus:
    settings = run.policy.judge
    judge = JudgeStatus(provider=settings.provider, accuracy=accuracy_of(run.judge, run.snapshot))
    if judge.provider not in ("claude", "client"):
        return judge
    ledger = run.store.ledger
    try:
        usage, closed_reason = ledger.spent_today(), ledger.closed_reason()
    except UnavailableError as error:
        return replace(judge, closed=str(error))
    return replace(
        judge,
        model=judge_name(settings),
        calls=usage.calls,
        tokens=usage.tokens,
        usd=round(usage.usd, 6),
        closed=closed_reason,
        aside=sorted(evaluate.abandoned_outcomes(run)),
        budget=(settings.client_calls_per_day, settings.client_tokens_per_day)
        if settings.provider == "client"
        else None,
    )


def count_waiting(run: Run) -> dict[str, int]:
    """Count the records that are due for each step, by queries alone."""
    queue_lengths = run.snapshot.due.lengths()
    return {
        name: step.count_work(run)
        if step.count_work
        else sum(queue_lengths.get(queue.name, 0) for queue in step.queues)
        for name, step in run.profile.steps.items()
    }
