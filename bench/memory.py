"""The runs of a made vault in memory, with the queries that promote asks of an index."""

from bisect import insort
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from skillvault.learning.promote.evaluated_runs import RunBook, RunHistory
from skillvault.model.records import Link, Outcome, Status, Subject, moment_of


class FactRuns:
    """The runs for and against facts, by the links that were made."""

    def __init__(self) -> None:
        self._supporters: dict[str, list[str]] = defaultdict(list)  # fact -> evaluations, sorted
        self._opponents: dict[str, list[str]] = defaultdict(list)
        self._endings: dict[str, Status] = {}
        self._subjects: dict[str, set[Subject]] = defaultdict(set)
        self._sessions: dict[str, set[str]] = defaultdict(set)

    def add(self, link: Link, outcome: Outcome) -> None:
        """Add one more link of a run to a fact."""
        fact = link.target.id
        if link.type == "contradicted":
            self._opponents[fact].append(link.source.id)
            return
        if link.type == "promoted":
            self._endings[fact] = outcome.result.status
        insort(self._supporters[fact], link.source.id)
        self._subjects[fact].add(outcome.subject)
        self._sessions[fact].add(outcome.source.session or outcome.id)

    def supporter_counts(self, facts: Collection[str]) -> Mapping[str, int]:
        """Return the number of runs that made or repeat each fact."""
        return {fact: len(self._supporters[fact]) for fact in facts if fact in self._supporters}

    def opponent_counts(self, facts: Collection[str]) -> Mapping[str, int]:
        """Return the number of runs against each fact that has any."""
        return {fact: len(self._opponents[fact]) for fact in facts if fact in self._opponents}

    def endings(self, facts: Collection[str]) -> Mapping[str, Status]:
        """Return the status of the run that made each fact."""
        return {fact: self._endings[fact] for fact in facts}

    def opponents(self, facts: Collection[str]) -> Sequence[str]:
        """Return the runs against any of these facts, in the order of time."""
        return sorted({run for fact in facts for run in self._opponents[fact]})

    def counts_until(self, facts: Collection[str], until: str) -> Mapping[str, tuple[int, int]]:
        """Return the numbers of runs for and against each fact, up to one run."""
        both = {fact: (self._supporters[fact], self._opponents[fact]) for fact in facts}
        return {
            fact: (sum(run <= until for run in told), sum(run <= until for run in denied))
            for fact, (told, denied) in both.items()
        }

    def is_of_one_subject(self, facts: Collection[str]) -> bool:
        """Return True if all runs that made or repeat these facts are of one subject."""
        return len(self.subjects(facts)) == 1

    def supporters(self, facts: Collection[str]) -> Sequence[str]:
        """Return the runs that made or repeat any of these facts, in the order of time."""
        return sorted({run for fact in facts for run in self._supporters[fact]})

    def subjects(self, facts: Iterable[str]) -> set[Subject]:
        """Return the subjects of the runs that made or repeat these facts."""
        return set[Subject]().union(*(self._subjects[fact] for fact in facts))

    def sessions(self, facts: Iterable[str]) -> set[str]:
        """Return the sessions of the runs that made or repeat these facts."""
        return set[str]().union(*(self._sessions[fact] for fact in facts))


def run_book(runs: FactRuns) -> RunBook:
    """The runs of a made vault, all of them in memory."""

    def supporters_at(fact: str, at: datetime) -> list[str]:
        moment = moment_of(at)
        return [name for name in runs.supporters([fact]) if name.startswith(moment)]

    def nothing(*_: object) -> tuple[()]:
        return ()

    questions = dict.fromkeys(("stored_ids", "claims", "summaries", "tallies", "makers"), nothing)
    return RunBook(RunHistory(load=lambda _: {}, supporters_at=supporters_at, **questions))
