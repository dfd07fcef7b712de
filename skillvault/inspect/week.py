"""Find the events of some days for the page: what was learned and why, and the surprises.

`PageRecords` is the committed vault, read once for a page.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from difflib import unified_diff
from typing import Literal, TypeVar, cast, get_args

from msgspec import Struct

from skillvault.learning.promote.facts import statement_of
from skillvault.learning.rejection import REJECT
from skillvault.learning.skill_stats import SkillStats
from skillvault.learning.tries.repairs import words_of
from skillvault.loop.run import Run
from skillvault.model.change import FORGET, parse_parts
from skillvault.model.records import Commit, Evaluation, Fact, Outcome, RecordKind, Ref, Skill
from skillvault.model.text.text import first_sentences, flatten, pluralize
from skillvault.vault.files import layout
from skillvault.vault.index.records import LinkEnds
from skillvault.vault.index.snapshot import Snapshot

_DomainRecord = TypeVar("_DomainRecord", Outcome, Evaluation, Fact)


class PageRecords(Struct, frozen=True, kw_only=True):
    """The committed records of a domain, or of all domains, and the use of each skill.

    `folders` has the skills by folder, `links` the links by target, `by_id` every outcome.
    `overruled` outcomes do not count, because another record of their decision does. The week of
    the page is from `since` to `until`.
    """

    run: Run
    since: datetime
    until: datetime
    domain: str | None
    outcomes: Mapping[str, Outcome]
    evaluations: Mapping[str, Evaluation]
    facts: Mapping[str, Fact]
    folders: Mapping[str, Mapping[str, Skill]]
    links: Mapping[Ref, Sequence[LinkEnds]]
    by_id: Mapping[str, LinkEnds]
    overruled: frozenset[str]
    effects: Sequence[SkillStats]

    @property
    def snapshot(self) -> Snapshot:
        """The index of the vault."""
        return self.run.snapshot

    def skill(self, name: str) -> Skill | None:
        """Return the skill with this name in any folder."""
        return next((skills[name] for skills in self.folders.values() if name in skills), None)

    def links_to(self, ref: Ref) -> Sequence[LinkEnds]:
        """Return the links to a record."""
        return self.links.get(ref, ())

    def covers(self, domain: str | None) -> bool:
        """Return True if the page covers this domain."""
        return self.domain in (None, domain)


def read_records(
    run: Run, effects: Sequence[SkillStats], span: tuple[datetime, datetime], domain: str | None
) -> PageRecords:
    """Read the records that a page of these days needs."""
    snapshot, by_id = run.snapshot, run.snapshot.links.ends()
    outcomes = _records_of_domain(snapshot.outcomes, domain)
    links: dict[Ref, list[LinkEnds]] = defaultdict(list)
    for link in by_id.values():
        links[link.target].append(link)
    folders = (snapshot.skills, snapshot.skills.proposed, snapshot.skills.archived)
    return PageRecords(
        run=run,
        since=span[0],
        until=span[1],
        domain=domain,
        outcomes=outcomes,
        evaluations=_records_of_domain(snapshot.evaluations, domain),
        facts=_records_of_domain(snapshot.facts, domain),
        folders={
            folder: {n: skill for n, skill in skills.items() if domain in (None, skill.domain)}
            for folder, skills in zip(layout.SKILL_FOLDERS, folders, strict=True)
        },
        links=links,
        by_id=by_id,
        overruled=frozenset(snapshot.outcomes.overruled_ids(outcomes)),
        effects=effects,
    )


def _records_of_domain(
    records: Mapping[str, _DomainRecord], domain: str | None
) -> dict[str, _DomainRecord]:
    return {r.id: r for r in records.values() if domain in (None, r.domain)}


Event = Literal[
    "learned", "strengthened", "contradicted", "refreshed", "merged", "retired", "proposed",
    "approved", "rejected",
]  # fmt: skip
EVENTS: tuple[Event, ...] = get_args(Event)

# The order of a day's events.
_RANK: tuple[Event, ...] = (
    "learned", "merged", "approved", "proposed", "retired", "rejected", "contradicted", "refreshed",
    "strengthened",
)  # fmt: skip
_MAX_DIFFS = 150  # changes that are shown with their lines
_MAX_LINES = 16  # lines of a change
_NOT_LEARNING = ("", "record", "evaluate")  # "" is the step of a person's commits
_MAX_REASON = 280  # characters
_MAX_TEXT = 160  # characters of what a record says
_TEXT_START = 40  # characters by which a text is recognized
# The events of steps that have the same effect on every record.
_STEP_EVENTS: Mapping[str, Event] = {
    REJECT: "rejected",
    FORGET: "proposed",
    "expire": "retired",
    "retire": "retired",
    "approve": "approved",
    "pin": "approved",
    "restore": "approved",
    "merge": "merged",
}
_LINK_EVENTS: Mapping[str, Event] = {"reinforced": "strengthened", "contradicted": "contradicted"}
_ITEM = re.compile(r"(?m)^- (?=\S+: )")
_CUT = re.compile(r"(?m)^… .*\n?")


class VaultEvent(Struct, frozen=True, kw_only=True):
    """The effect of a commit on a skill or a fact, with the current text and the reason."""

    event: Event
    ref: Ref
    what: str
    why: str
    commit: str
    at: datetime
    domain: str | None = None


class DayChange(Struct, frozen=True, kw_only=True):
    """The changes of a skill or a fact in a day: events, commits, and the lines changed.

    The lines of `diff` start with `+` or `-`.
    """

    day: date
    ref: Ref
    what: str
    why: str
    domain: str | None
    events: Mapping[Event, int]
    commits: Sequence[str]
    diff: Sequence[str]


class Surprise(Struct, frozen=True, kw_only=True):
    """An outcome that contradicts its agent's claim or a verdict of high certainty."""

    outcome: str
    domain: str
    about: str
    title: str
    why: str
    at: datetime
    is_refused: bool  # somebody else saw fail what the agent called a success


class Week(Struct, frozen=True, kw_only=True):
    """The events from `since` to `until`, newest first; `counts` covers all of them.

    `recorded` and `evaluated` count outcomes; `ended` counts the recorded outcomes by status.
    """

    since: datetime
    until: datetime
    recorded: int
    evaluated: int
    ended: Mapping[str, int]
    counts: Mapping[Event, int]
    surprises: Sequence[Surprise]
    happened: Sequence[VaultEvent]
    changes: Sequence[DayChange]


def week_of(vault: PageRecords) -> Week:
    """Return the events of the days that a page shows."""
    commits = [
        commit
        for commit in vault.snapshot.history.since(vault.since)
        if datetime.fromisoformat(commit.date) <= vault.until
    ]
    recorded_outcomes = [
        vault.outcomes[name] for name in _step_ids(commits, "record") if name in vault.outcomes
    ]
    evaluated_ids = [name for name in _step_ids(commits, "evaluate") if name in vault.evaluations]
    surprises = _surprises(vault, {*(outcome.id for outcome in recorded_outcomes), *evaluated_ids})
    events = [*_learning_events(vault, commits), *_removals(vault, commits)]
    events.sort(key=lambda entry: entry.at, reverse=True)
    return Week(
        since=vault.since,
        until=vault.until,
        recorded=len(recorded_outcomes),
        evaluated=len(evaluated_ids),
        ended=Counter(outcome.result.status for outcome in recorded_outcomes),
        counts={event: sum(entry.event == event for entry in events) for event in EVENTS},
        surprises=sorted(surprises, key=lambda s: (not s.is_refused, -s.at.timestamp(), s.outcome)),
        happened=events,
        changes=_day_changes(vault, events),
    )


def _day_changes(vault: PageRecords, events: Sequence[VaultEvent]) -> list[DayChange]:
    """Group events by day and record, with the newest day and new knowledge first."""
    groups: dict[tuple[date, Ref], list[VaultEvent]] = defaultdict(list)
    for event in events:
        groups[event.at.astimezone(UTC).date(), event.ref].append(event)
    changes = []
    for number, ((day, ref), group) in enumerate(groups.items()):
        latest, commits = group[0], [event.commit for event in group]
        diff = _changed_lines(vault, ref, commits) if number < _MAX_DIFFS else []
        change = DayChange(
            day=day,
            ref=ref,
            what=latest.what,
            why=latest.why,
            domain=latest.domain,
            events=Counter(event.event for event in reversed(group)),
            commits=commits,
            diff=diff,
        )
        changes.append(change)
    return sorted(
        changes, key=lambda change: (-change.day.toordinal(), min(map(_RANK.index, change.events)))
    )


def _changed_lines(vault: PageRecords, ref: Ref, commits: Sequence[str]) -> list[str]:
    """Return the lines of a record that these commits (newest first) removed and added in total."""
    path = vault.snapshot.records.path_of(ref)
    if path is None:
        return []
    folders = layout.SKILL_FOLDERS if ref.kind == "skill" else path.split("/")[:1]
    file = path.partition("/")[2]

    def read_lines(commit: str) -> list[str]:
        addresses = [f"{commit}:{folder}/{file}" for folder in folders]
        contents = vault.run.store.git.objects.read_files(addresses)
        text = next(iter(contents.values()), b"").decode(errors="replace")
        return text.split("\n---\n", 1)[-1].splitlines()

    old_lines, new_lines = read_lines(f"{commits[-1]}^"), read_lines(commits[0])
    diff = list(unified_diff(old_lines, new_lines, n=0, lineterm=""))[2:]
    lines = [
        line if len(line) <= _MAX_REASON else f"{line[:_MAX_REASON]}…"
        for line in diff
        if not line.startswith("@@") and line[1:].strip()
    ]
    omission = [f" {len(lines) - _MAX_LINES} more lines"] if len(lines) > _MAX_LINES else []
    return [*lines[:_MAX_LINES], *omission]


def _step_ids(commits: Iterable[Commit], step: str) -> list[str]:
    targets = (target for commit in commits if commit.step == step for target in commit.targets)
    return list(dict.fromkeys(target.partition(":")[2] for target in targets))


# ── what commits did ─────────────────────────────────────────────────────────────────


def _learning_events(vault: PageRecords, commits: Sequence[Commit]) -> Iterator[VaultEvent]:
    learning_commits = [commit for commit in commits if commit.step not in _NOT_LEARNING]
    pairs = [(commit, ref) for commit in learning_commits for ref in _targets(commit)]
    first_commits = vault.snapshot.history.makers({ref for _, ref in pairs})
    last_commits = {ref: commit.sha for commit, ref in reversed(pairs)}
    history, head = vault.run.store.git.history, vault.snapshot.commit
    messages = history.messages(head, vault.since) if learning_commits and head else {}
    for commit in learning_commits:
        message = messages.get(commit.sha, "")
        for ref, event in _events(vault, commit, first_commits, last_commits):
            record = vault.facts.get(ref.id) if ref.kind == "fact" else vault.skill(ref.id)
            domain = record.domain if record else None
            if vault.covers(domain):
                text, reason = _text_of(vault, ref), find_reason(message, ref.id)
                repetition = reason.find(text[:_TEXT_START])
                yield VaultEvent(
                    event=event,
                    ref=ref,
                    what=text,
                    why=reason[:repetition].rstrip() if repetition > 0 else reason,
                    commit=commit.sha[:10],
                    at=datetime.fromisoformat(commit.date),
                    domain=domain,
                )


def _targets(commit: Commit) -> list[Ref]:
    pairs = (target.partition(":") for target in commit.targets)
    return [
        Ref(cast("RecordKind", kind), name) for kind, _, name in pairs if kind in ("fact", "skill")
    ]


def _events(
    vault: PageRecords, commit: Commit, first: Mapping[Ref, str], last: Mapping[Ref, str]
) -> Iterator[tuple[Ref, Event]]:
    targets = _targets(commit)
    for ref in targets:
        path = vault.snapshot.records.path_of(ref) if last[ref] == commit.sha else None
        folder = (path or "").partition("/")[0]
        yield ref, _classify_event(commit.step, folder, is_first=first.get(ref) == commit.sha)
    links = (vault.by_id.get(target.removeprefix("link:")) for target in commit.targets)
    types_by_record: dict[Ref, set[str]] = defaultdict(set)
    for link in links:
        if link is not None and link.target not in targets:
            types_by_record[link.target].add(link.type)
    for ref, types in types_by_record.items():
        yield from ((ref, event) for type_, event in _LINK_EVENTS.items() if type_ in types)


def _classify_event(step: str, folder: str, *, is_first: bool) -> Event:
    """Return the effect of a commit on a record; `folder` is set for the latest commit."""
    if step in _STEP_EVENTS:
        return _STEP_EVENTS[step]
    if folder == "archive" and step in ("assess", "refresh"):
        return "retired"
    if is_first:
        return "proposed" if folder == "proposed" else "learned"
    return "strengthened" if step in ("assess", "promote") else "refreshed"


def _text_of(vault: PageRecords, ref: Ref) -> str:
    """Return a fact or a skill in one sentence; the name if the record is gone."""
    if ref.kind == "fact":
        fact = vault.facts.get(ref.id)
        return first_sentences(flatten(statement_of(fact)), _MAX_TEXT) if fact else ref.id
    skill = vault.skill(ref.id)
    return title_of(skill) if skill else ref.id


def title_of(skill: Skill) -> str:
    """Return the heading of a skill, or its name if it has no heading."""
    line = skill.body.lstrip().partition("\n")[0]
    return first_sentences(flatten(line), _MAX_TEXT) if line.startswith("# ") else skill.name


# ── why ──────────────────────────────────────────────────────────────────────────────


def find_reason(message: str, name: str) -> str:
    """Return the reason for a record from the message of a commit.

    If several records share the commit, this is the paragraph about the record. If the message was
    cut before it, the reason comes from the trailers.
    """
    text = _CUT.sub("", message)
    parts = [part for part in text.split("\n\n")[1:] if not part.startswith("Skillvault-")]
    for part in parts:
        for line in _ITEM.split(part)[1:]:
            if line.startswith(f"{name}: "):
                return _sentence(line.removeprefix(f"{name}: "))
        opening, _, text_below = part.partition("\n")
        if text_below and opening.rpartition(" ")[2] == name and ": " in opening:
            return _sentence(text_below)
    changes = parse_parts(message.splitlines())
    if len(changes) > 1:
        names = [{end.partition(":")[2] for end in change.targets} for change in changes]
        pairs = zip(changes, names, strict=True)
        sources = next((change.sources for change, ids in pairs if name in ids), ())
        kinds = Counter(source.partition(":")[0] for source in sources)
        counts = " and ".join(pluralize(count, kind) for kind, count in kinds.items())
        return f"From {counts}." if kinds else ""
    prose = [part for part in parts if not part.startswith("  ")]
    return _sentence(prose[0]) if prose else ""


def _sentence(prose: str) -> str:
    return first_sentences(flatten(prose), _MAX_REASON)


# ── what a person took away ──────────────────────────────────────────────────────────


def _removals(vault: PageRecords, commits: Sequence[Commit]) -> Iterator[VaultEvent]:
    """Yield the skills and facts that a person removed in these days."""
    manual_commits = {commit.sha: commit for commit in commits if not commit.step}
    head = vault.snapshot.commit
    if not manual_commits or head is None:
        return
    removals = vault.run.store.git.history.deletions(head, vault.since)
    commit_by_ref = {
        ref: manual_commits[sha]
        for path, sha in removals.items()
        if sha in manual_commits and (ref := layout.ref_of(path)) and ref.kind in ("skill", "fact")
    }
    existing_refs = vault.snapshot.records.existing(commit_by_ref)
    for ref, commit in commit_by_ref.items():
        if ref not in existing_refs and vault.domain is None:
            yield VaultEvent(
                event="rejected",
                ref=ref,
                what=ref.id,
                why=f"A person removed it: {flatten(commit.subject)}",
                commit=commit.sha[:10],
                at=datetime.fromisoformat(commit.date),
            )


# ── what surprised ───────────────────────────────────────────────────────────────────


def _surprises(vault: PageRecords, ids: Iterable[str]) -> Iterator[Surprise]:
    """Yield the outcomes that contradict a claim or a sure verdict."""
    for name in sorted(ids):
        outcome, evaluation = vault.outcomes.get(name), vault.evaluations.get(name)
        if outcome is None:
            continue
        result, words = outcome.result, words_of(outcome)
        if outcome.is_claim_refused:
            title = f"claimed success, {_observer(outcome)} refused"
            reason = result.evidence or result.summary or result.claim
            if words and outcome.observer == "person":  # the evidence may be a check that passed
                reason = words
        elif evaluation is not None and vault.run.profile.is_surprise(evaluation, vault.run.policy):
            verdict = "good" if evaluation.was_good_decision else "bad"
            title = f"looked like a {verdict} decision, ended in {result.status}"
            reason = evaluation.key_insight or result.summary
        else:
            continue
        yield Surprise(
            outcome=outcome.id,
            domain=outcome.domain,
            about=subject_words(outcome),
            title=title,
            why=first_sentences(flatten(reason), _MAX_REASON),
            at=outcome.occurred_at,
            is_refused=outcome.is_claim_refused,
        )


def _observer(outcome: Outcome) -> str:
    names = {"ci": "CI", "exit-code": "the exit code", "commit": "the commit"}
    return names.get(outcome.observer, f"the {outcome.observer}")


def subject_words(outcome: Outcome) -> str:
    """Return the action and target of an outcome in words."""
    _, action, target = outcome.subject
    return " on ".join(filter(None, (action or "a decision", target)))
