"""`skillvault log`: select commits of the loop, and render each for a person.

A commit shows the skill first, then the outcomes behind the skill, then a line about its links.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache, partial
from itertools import islice

from msgspec import Struct

from skillvault.learning.contrast.episodes import episodes_of
from skillvault.loop.registry import STEPS
from skillvault.model.errors import UsageError
from skillvault.model.phrases import describe_subject
from skillvault.model.records import Commit, Outcome, Ref, Status
from skillvault.model.text.text import join_items, pluralize
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layout
from skillvault.vault.index.records import parse_ref
from skillvault.vault.index.snapshot import Snapshot

_RESULT_WORDS: tuple[tuple[Status, str], ...] = (
    ("failure", "failed"), ("success", "succeeded"), ("neutral", "neutral"),
)  # fmt: skip


class BasisRow(Struct, frozen=True):
    """One outcome: status, session, number of its episode, and decision."""

    outcome: str
    status: Status
    session: str | None
    episode: int
    decision: str


class Basis(Struct, frozen=True):
    """The outcomes behind a record, oldest first."""

    rows: tuple[BasisRow, ...] = ()

    @property
    def sessions(self) -> int:
        """The number of sessions; an outcome without a session counts as one."""
        return len({row.session or row.outcome for row in self.rows})

    @property
    def episodes(self) -> int:
        """The number of occasions, each with outcomes close in time."""
        return len({row.episode for row in self.rows})

    @property
    def sentence(self) -> str:
        """The numbers of outcomes by status, of sessions and of occasions, in words."""
        statuses = Counter(row.status for row in self.rows)
        words = ((statuses[status], word) for status, word in _RESULT_WORDS)
        counts = join_items([f"{count} {word}" for count, word in words if count])
        return (
            f"{pluralize(len(self.rows), 'outcome')} ({counts}) in "
            f"{pluralize(self.sessions, 'session')}, on {pluralize(self.episodes, 'occasion')}"
        )


def basis_of(outcomes: Iterable[Outcome], minutes: int) -> Basis:
    """Return the basis of these outcomes; decisions at most `minutes` apart are one episode."""
    outcomes = sorted(outcomes, key=lambda outcome: outcome.order)
    numbers = dict[int, int]()
    rows = [
        BasisRow(
            outcome=outcome.id,
            status=outcome.result.status,
            session=outcome.source.session,
            episode=numbers.setdefault(episode, len(numbers) + 1),
            decision=describe_subject(outcome),
        )
        for outcome, episode in zip(outcomes, episodes_of(outcomes, minutes), strict=True)
    ]
    return Basis(tuple(rows))


def outcomes_under(snapshot: Snapshot, refs: Iterable[Ref]) -> list[Outcome]:
    """Return the outcomes among these records, and the outcomes that they link to."""
    ids: set[str] = set()
    level, visited_refs = set(refs), set[Ref]()
    while level := level - visited_refs:
        visited_refs |= level
        ids.update(ref.id for ref in level if ref.kind in ("outcome", "evaluation"))
        nodes = sorted(ref for ref in level if ref.kind in ("fact", "skill", "session"))
        # What speaks against a thing is not what it rests on.
        level = {
            link.source for link in snapshot.links.by_target(nodes) if link.type != "contradicted"
        }
    return list(snapshot.outcomes.get_many(sorted(ids)).values())


_FILE_START = re.compile(r"^(?=diff --git )", re.MULTILINE)
# The folders and files whose diff a person reads; the others are counted.
_READABLE = (*layout.SKILL_FOLDERS, "memory", layout.VAULT_FILE, layout.LEARNINGS)


class LogFilter(Struct, frozen=True, kw_only=True):
    """The conditions on commits. Each may be None."""

    since: datetime | None = None
    domain: str | None = None
    step: str | None = None
    skill: str | None = None


class CommitReport(Struct, frozen=True):
    """A commit for a reader: its message, the diff of its texts, and the outcomes behind it."""

    sha: str
    date: str
    author: str
    text: str
    patch: str
    basis: Basis
    links: str
    others: tuple[str, ...]


def find_commits(snapshot: Snapshot, conditions: LogFilter, limit: int | None) -> list[Commit]:
    """Return the matching commits, newest first, once for each step."""
    snapshot.check_domain(conditions.domain)
    domain_of = cache(lambda ref: _domain_of_end(snapshot, parse_ref(ref)))
    skill = [Ref("skill", conditions.skill)] if conditions.skill else []
    names = set(map(str, snapshot.history.add_former_names(skill) if skill else []))

    def meets_conditions(commit: Commit) -> bool:
        refs = (*commit.targets, *commit.sources)
        return (
            (conditions.since is None or datetime.fromisoformat(commit.date) >= conditions.since)
            and (conditions.step is None or commit.step == conditions.step)
            and (not names or not names.isdisjoint(refs))
            and (conditions.domain is None or conditions.domain in map(domain_of, refs))
        )

    if conditions == LogFilter():
        return snapshot.history.log(limit)
    history = snapshot.history.log()
    steps = sorted({*STEPS, *(commit.step for commit in history)})
    if conditions.step not in (None, *steps):
        raise UsageError(f"--step {conditions.step}: no such step; there are: {', '.join(steps)}")
    if names and all(names.isdisjoint((*c.targets, *c.sources)) for c in history):
        message = "no commit names such a skill; `skillvault skill list` lists skills"
        raise UsageError(f"--skill {conditions.skill}: {message}")
    commits = [commit for commit in history if meets_conditions(commit)]
    shas = set(islice(dict.fromkeys(commit.sha for commit in commits), limit))
    return [commit for commit in commits if commit.sha in shas]


def _domain_of_end(snapshot: Snapshot, ref: Ref) -> str | None:
    path = snapshot.records.path_of(ref)
    if ref.kind == "skill":
        skill = snapshot.skills.find(ref.id)
        return skill.domain if skill else None
    return layout.domain_of(path) if path else None


def describe_commits(
    store: Store, snapshot: Snapshot, commits: Sequence[Commit], skill: str | None = None
) -> Iterator[CommitReport]:
    """Yield a report on each commit; the texts of `skill` come first."""
    if not commits:
        return
    parts: dict[str, list[Commit]] = {}
    for commit in commits:
        parts.setdefault(commit.sha, []).append(commit)
    history = store.git.history
    messages = history.author_and_text(list(parts))
    files = {commit.sha: commit.files for commit in history.commits("--no-walk", *parts)}
    for sha, steps in parts.items():
        author, text = messages[sha]
        changed_paths = list(files[sha])
        paths = [path for path in changed_paths if layout.top_folder(path) in _READABLE]
        links = [ref for ref in snapshot.history.touched_refs(sha) if ref.kind == "link"]
        types = Counter(
            link.type for link in snapshot.links.get_many(ref.id for ref in links).values()
        )
        sources = {parse_ref(ref) for step in steps for ref in step.sources}
        targets = {parse_ref(ref) for step in steps for ref in step.targets}
        # What the commit says that it is made of; else what its targets rest on.
        outcomes = outcomes_under(snapshot, sources) or outcomes_under(snapshot, targets)
        folders = (layout.top_folder(p) for p in changed_paths if not layout.links_owner(p))
        other_counts = Counter(folder for folder in folders if folder not in _READABLE)
        yield CommitReport(
            sha=sha,
            date=steps[0].date,
            author=author,
            text=text,
            patch=sort_patch(history.patch(sha, paths), skill),
            basis=basis_of(outcomes, snapshot.policy.evaluate.episode_minutes),
            links=join_items(
                [f"{count} {link_type}" for link_type, count in sorted(types.items())]
            ),
            others=tuple(f"{count} in {folder}" for folder, count in sorted(other_counts.items())),
        )


def sort_patch(patch: str, skill: str | None = None) -> str:
    """Sort a diff: `skill` first, then other skills, archived skills, all other files."""
    files = _FILE_START.split(patch)
    return "".join(sorted(filter(None, files), key=partial(_precedence, skill=skill)))


def _precedence(patch: str, skill: str | None) -> tuple[bool, bool, bool]:
    path = patch.partition("\n")[0].rpartition(" b/")[2]
    is_asked_for = layout.ref_of(path) == Ref("skill", skill or "")
    return (not is_asked_for, not layout.is_skill(path), layout.top_folder(path) == "archive")
