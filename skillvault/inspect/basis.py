"""What something learned rests on: its outcomes as rows, with their sessions and episodes."""

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from skillvault.learning.contrast.episodes import episodes_of
from skillvault.model.records import Link, Outcome, Ref, Status
from skillvault.model.text.text import how_many, inert, listed
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
        level = {link.source for link in view.links.by_target(ends) if _carries(link)}
    return list(view.outcomes.get_many(sorted(ids)).values())


def _carries(link: Link) -> bool:
    return link.type != "contradicted"  # what speaks against a thing is not what it rests on


def links_line(links: Sequence[Link]) -> str:
    """Links in one line: how many of each type."""
    counts = Counter(link.type for link in links)
    return listed([f"{count} {of}" for of, count in sorted(counts.items())])
