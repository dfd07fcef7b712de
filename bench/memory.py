"""What the runs of a made vault say and support, in memory: what promote asks of an index."""

from bisect import insort
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from skillvault.learning.promote.facts import FactCounts, fact_id
from skillvault.learning.promote.support import CROWDED, Memory, Runs, Witness
from skillvault.model.records import Evaluation, Link, Outcome, Status, Subject, moment_of
from skillvault.model.sameness.forms import lookup_keys

_ENDED: tuple[Status, ...] = ("success", "failure")  # a neutral run is no witness


class FactRuns(FactCounts):
    """The runs for and against facts, by the links that were made."""

    def __init__(self) -> None:
        self._supporters: dict[str, list[str]] = defaultdict(list)  # fact -> evaluations, sorted
        self._opponents: dict[str, list[str]] = defaultdict(list)
        self._endings: dict[str, Status] = {}
        self._subjects: dict[str, set[Subject]] = defaultdict(set)
        self._sessions: dict[str, set[str]] = defaultdict(set)

    def add(self, link: Link, outcome: Outcome) -> None:
        """One more link of a run with a fact."""
        fact = link.target.id
        if link.type == "contradicted":
            self._opponents[fact].append(link.source.id)
            return
        if link.type == "promoted":
            self._endings[fact] = outcome.result.status
        insort(self._supporters[fact], link.source.id)
        self._subjects[fact].add(outcome.subject)
        self._sessions[fact].add(outcome.source.session or outcome.id)

    def runs(self, facts: Collection[str]) -> Mapping[str, int]:
        """Fact -> how many runs made or repeat it."""
        return {fact: len(self._supporters[fact]) for fact in facts if fact in self._supporters}

    def against(self, facts: Collection[str]) -> Mapping[str, int]:
        """Fact -> how many runs speak against it, of those against which any do."""
        return {fact: len(self._opponents[fact]) for fact in facts if fact in self._opponents}

    def endings(self, facts: Collection[str]) -> Mapping[str, Status]:
        """Fact -> how the run ended that made it."""
        return {fact: self._endings[fact] for fact in facts}

    def opponents(self, facts: Collection[str]) -> Sequence[str]:
        """The runs that speak against any of these facts, in the order of time."""
        return sorted({run for fact in facts for run in self._opponents[fact]})

    def is_of_one_subject(self, facts: Collection[str]) -> bool:
        """Whether all runs that made or repeat these facts are of one subject."""
        return len(self.subjects(facts)) == 1

    def supporters(self, facts: Collection[str]) -> Sequence[str]:
        """The runs that made or repeat any of these facts, in the order of time."""
        return sorted({run for fact in facts for run in self._supporters[fact]})

    def subjects(self, facts: Iterable[str]) -> set[Subject]:
        """The subjects of the runs that made or repeat these facts."""
        return set[Subject]().union(*(self._subjects[fact] for fact in facts))

    def sessions(self, facts: Iterable[str]) -> set[str]:
        """The sessions of the runs that made or repeat these facts."""
        return set[str]().union(*(self._sessions[fact] for fact in facts))


class WitnessMemory(Memory):
    """What the runs said; what they support is asked of `runs`."""

    def __init__(self, runs: FactRuns) -> None:
        self._runs = runs
        self._witnesses: dict[str, Witness] = {}
        self._first_of: dict[str, str] = {}
        self._firsts: dict[tuple[str, str], set[str]] = defaultdict(set)  # by domain and key
        self._same: dict[tuple[str, Status], list[Witness]] = defaultdict(list)  # by first
        self._stating: dict[tuple[str, str], dict[str, Status]] = defaultdict(dict)  # by ground
        self._makers: dict[str, dict[str, str]] = defaultdict(dict)  # first -> fact -> evaluation
        self._grounds: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)  # likewise

    def alike(self, witness: Witness) -> Sequence[Witness]:
        """Of all words that may say the same or the opposite one run that says them."""
        domain = witness.evaluation.domain
        keys = lookup_keys(witness.form)
        names = {name for key in keys for name in self._firsts.get((domain, key), ())}
        return [self._witnesses[name] for name in sorted(names)]

    def heard(self, evaluations: Iterable[str]) -> Mapping[str, Witness]:
        """What these runs say."""
        return {name: self._witnesses[name] for name in evaluations if name in self._witnesses}

    def remembered(self, evaluations: Iterable[str]) -> Collection[str]:
        """Those of these runs of which is kept what they say."""
        return [name for name in evaluations if name in self._first_of]

    def spread(self, firsts: Collection[str]) -> bool:
        """Whether the runs that end alike and say these words are of more than one session."""
        return any(len(self._sessions(firsts, status)) > 1 for status in _ENDED)

    def speaking(self, firsts: Collection[str], status: Status) -> Runs:
        """The runs that say these words and ended so."""
        ids = (run.id for first in firsts for run in self._same.get((first, status), ()))
        return Runs(frozenset(ids), self._sessions(firsts, status))

    def _sessions(self, firsts: Iterable[str], status: Status) -> frozenset[str]:
        runs = (run for first in firsts for run in self._same.get((first, status), ()))
        return frozenset(run.session for run in runs)

    def stating(self, domain: str, grounds: Collection[str]) -> Mapping[str, Status]:
        """The runs whose reasoning states any of these grounds, and how they ended."""
        runs: dict[str, Status] = {}
        for ground in grounds:
            runs |= self._stating.get((domain, ground), {})
        return dict(sorted(runs.items()))

    def facts_of(self, firsts: Collection[str]) -> Mapping[str, str]:
        """Fact -> the evaluation that made it, with these words."""
        makers: dict[str, str] = {}
        for first in firsts:
            makers |= self._makers.get(first, {})
        return makers

    def facts_on(self, domain: str, grounds: Collection[str]) -> Mapping[str, Mapping[str, str]]:
        """Ground -> fact -> the evaluation that made it, the first few of each."""
        made_by: dict[str, dict[str, str]] = {}
        for ground in grounds:
            makers = self._grounds.get((domain, ground), {})
            ordered = sorted(makers.items(), key=lambda pair: (pair[1], pair[0]))
            made_by[ground] = dict(ordered[:CROWDED])
        return made_by

    def tellers(self, fact: str, at: datetime) -> Iterable[str]:
        """The runs that support a fact and ended at a time."""
        moment = moment_of(at)
        return (name for name in self._runs.supporters([fact]) if name.startswith(moment))

    def supporting(self, fact: str) -> list[Evaluation]:
        """The evaluations that made or repeat a fact, in the order of time."""
        return [self._witnesses[name].evaluation for name in self._runs.supporters([fact])]

    def remember(self, witness: Witness, first: str) -> None:
        """Keep what a run says; `first` is the run by which its words are known."""
        domain, status = witness.evaluation.domain, witness.outcome_status
        self._witnesses[witness.id] = witness
        self._first_of[witness.id] = first
        self._same[first, status].append(witness)
        for key in lookup_keys(witness.form) if first == witness.id else ():
            self._firsts[domain, key].add(first)
        for ground in witness.stated:
            self._stating[domain, ground][witness.id] = status

    def keep_grounds(self, witness: Witness) -> None:
        """Keep on what the fact rests that a run made."""
        fact = fact_id(witness.evaluation)
        self._makers[self._first_of[witness.id]][fact] = witness.id
        for ground in witness.grounds:
            self._grounds[witness.evaluation.domain, ground][fact] = witness.id
