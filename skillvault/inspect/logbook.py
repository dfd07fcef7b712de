"""The log of the loop: which commits are asked for, and what each did in a person's order.

First the skill, then what it rests on, then the links in one line.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache, partial
from itertools import islice

from msgspec import Struct

from skillvault.learning.contrast.episodes import episodes_of
from skillvault.model.records import Commit, Outcome, Ref, Status
from skillvault.model.text.text import how_many, inert, listed
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layout
from skillvault.vault.index.records import parse_ref
from skillvault.vault.index.snapshot import Topics

_ENDED: dict[Status, str] = {"failure": "failed", "success": "succeeded", "neutral": "neutral"}


class BasisRow(Struct, frozen=True):
    """One outcome: how it ended, in which session and (a number) episode, and on what."""

    outcome: str
    status: Status
    session: str | None
    episode: int
    decision: str


class Basis(Struct, frozen=True):
    """The outcomes that something rests on, oldest first; one without a session is its own."""

    rows: tuple[BasisRow, ...] = ()

    @property
    def sessions(self) -> int:
        """In how many sessions they were decided."""
        return len({row.session or row.outcome for row in self.rows})

    @property
    def episodes(self) -> int:
        """In how many episodes they were decided."""
        return len({row.episode for row in self.rows})

    @property
    def sentence(self) -> str:
        """How many there are, how they ended, in how many sessions and episodes."""
        ended = Counter(row.status for row in self.rows)
        words = ((ended[status], word) for status, word in _ENDED.items())
        counts = listed([f"{count} {word}" for count, word in words if count])
        return (
            f"{how_many(len(self.rows), 'outcome')} ({counts}) in "
            f"{how_many(self.sessions, 'session')}, {how_many(self.episodes, 'episode')}"
        )


def basis_of(outcomes: Iterable[Outcome], minutes: int) -> Basis:
    """The basis that these outcomes are; decisions within so many minutes are one episode."""
    ordered = sorted(outcomes, key=lambda outcome: outcome.order)
    numbers = dict[int, int]()
    episodes = [
        numbers.setdefault(episode, len(numbers) + 1) for episode in episodes_of(ordered, minutes)
    ]
    return Basis(tuple(map(_basis_row, ordered, episodes)))


def _basis_row(outcome: Outcome, episode: int) -> BasisRow:
    names = [outcome.decision.action, outcome.decision.target]
    about = listed([inert(name, 60) for name in names if name], last="on")
    return BasisRow(outcome.id, outcome.result.status, outcome.source.session, episode, about)


def outcomes_under(view: Topics, refs: Iterable[Ref]) -> list[Outcome]:
    """The outcomes that these records are, or rest on through whatever links."""
    ids: set[str] = set()
    level, seen = set(refs), set[Ref]()
    while level := level - seen:
        seen |= level
        ids.update(ref.id for ref in level if ref.kind in ("outcome", "evaluation"))
        ends = sorted(ref for ref in level if ref.kind in ("fact", "skill", "session"))
        # What speaks against a thing is not what it rests on.
        level = {link.source for link in view.links.by_target(ends) if link.type != "contradicted"}
    return list(view.outcomes.get_many(sorted(ids)).values())


# What a person reads of a commit; all else is told in a line.
_FILE = re.compile(r"^(?=diff --git )", re.MULTILINE)
_READ = (*layout.SHELVES, "memory", layout.MARK, layout.LEARNINGS)


class Wanted(Struct, frozen=True, kw_only=True):
    """Which commits of the log are asked for; what is None is not asked."""

    since: datetime | None = None
    domain: str | None = None
    step: str | None = None
    skill: str | None = None


class LoggedCommit(Struct, frozen=True):
    """A commit as it is read: what it says, its texts as a diff, and what they rest on."""

    sha: str
    date: str
    author: str
    text: str
    patch: str
    basis: Basis
    links: str
    others: tuple[str, ...]


def commits_wanted(head: Topics, asks: Wanted, limit: int | None) -> list[Commit]:
    """What each step did in the commits that are asked for, newest first."""
    domain_of = cache(lambda ref: _domain_of_end(head, parse_ref(ref)))

    def is_wanted(commit: Commit) -> bool:
        ends = (*commit.targets, *commit.sources)
        return (
            (asks.since is None or datetime.fromisoformat(commit.date) >= asks.since)
            and (asks.step is None or commit.step == asks.step)
            and (asks.skill is None or f"skill:{asks.skill}" in ends)
            and (asks.domain is None or asks.domain in map(domain_of, ends))
        )

    if asks == Wanted():
        return head.history.log(limit)
    matching = [commit for commit in head.history.log() if is_wanted(commit)]
    newest = set(islice(dict.fromkeys(commit.sha for commit in matching), limit))
    return [commit for commit in matching if commit.sha in newest]


def _domain_of_end(head: Topics, ref: Ref) -> str | None:
    path = head.records.path_of(ref)
    if ref.kind == "skill":
        skill = head.skills.find(ref.id)
        return skill.domain if skill else None
    return layout.domain_of(path) if path else None


def logged(
    store: Store, head: Topics, commits: Sequence[Commit], skill: str | None = None
) -> Iterator[LoggedCommit]:
    """These commits as they are read, each once; the texts of a skill stand first."""
    parts: dict[str, list[Commit]] = {}
    for commit in commits:
        parts.setdefault(commit.sha, []).append(commit)
    history = store.git.history
    messages = history.author_and_text(list(parts))
    files = {one.sha: one.files for one in history.commits("--no-walk", *parts)} if parts else {}
    for sha, steps in parts.items():
        author, text = messages[sha]
        changed = list(files[sha])
        read = [path for path in changed if layout.shelf_of(path) in _READ]
        links = [ref for ref in head.history.touched_refs(sha) if ref.kind == "link"]
        types = Counter(link.type for link in head.links.get_many(ref.id for ref in links).values())
        yield LoggedCommit(
            sha=sha,
            date=steps[0].date,
            author=author,
            text=text,
            patch=skill_first(history.patch(sha, read), skill),
            basis=_basis(head, steps),
            links=listed([f"{count} {of}" for of, count in sorted(types.items())]),
            others=tuple(_record_counts(changed)),
        )


def skill_first(patch: str, skill: str | None = None) -> str:
    """A diff with the texts of skills before all else, those that left behind those that came.

    That of one `skill` is the first.
    """
    files = _FILE.split(patch)
    return "".join(sorted(filter(None, files), key=partial(_precedence, skill=skill)))


def _precedence(patch: str, skill: str | None) -> tuple[bool, bool, bool]:
    path = patch.partition("\n")[0].rpartition(" b/")[2]
    is_asked_for = layout.ref_of(path) == Ref("skill", skill or "")
    return (not is_asked_for, not layout.is_skill(path), layout.shelf_of(path) == "archive")


def _basis(head: Topics, steps: Iterable[Commit]) -> Basis:
    """What the commit says that it is made of; else what its target rests on."""
    sources = {parse_ref(ref) for step in steps for ref in step.sources}
    targets = {parse_ref(ref) for step in steps for ref in step.targets}
    outcomes = outcomes_under(head, sources) or outcomes_under(head, targets)
    return basis_of(outcomes, head.policy.evaluate.episode_minutes)


def _record_counts(paths: Iterable[str]) -> Iterator[str]:
    """How many files of which folders a commit changes beside what is read and the links."""
    counts: dict[str, int] = {}
    for path in paths:
        top = layout.shelf_of(path)
        if top not in _READ and not layout.links_owner(path):
            counts[top] = counts.get(top, 0) + 1
    yield from (f"{count} in {top}" for top, count in sorted(counts.items()))
