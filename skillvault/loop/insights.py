"""What the runs of a vault said so far, as the index keeps it: what promote compares with."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from skillvault.learning.promote.support import CROWDED, Memory, Runs, Witness, witness_of
from skillvault.model.records import Status, moment_of
from skillvault.model.sameness.forms import lookup_keys
from skillvault.vault.index.insights import UnkeptInsights, WitnessRow, WritableInsights
from skillvault.vault.index.snapshot import Topics


class InsightMemory(Memory):
    """What the runs said; `insights` is where it is found, and where more is put."""

    def __init__(self, view: Topics, insights: WritableInsights | UnkeptInsights) -> None:
        self._view = view
        self._insights = insights
        self._witnesses: dict[str, Witness | None] = {}

    def alike(self, witness: Witness) -> Sequence[Witness]:
        """Of all words that may say the same or the opposite one run that says them."""
        firsts = self._insights.firsts(witness.evaluation.domain, lookup_keys(witness.form))
        return list(self.heard(firsts).values())

    def heard(self, evaluations: Iterable[str]) -> dict[str, Witness]:
        """What these runs say."""
        names = list(evaluations)
        new = [name for name in names if name not in self._witnesses]
        records = self._view.evaluations.get_many(new)
        outcomes = self._view.outcomes.get_many(records)
        for name in new:
            record = records.get(name)
            self._witnesses[name] = witness_of(record, outcomes.get(name)) if record else None
        return {name: witness for name in names if (witness := self._witnesses[name])}

    def remembered(self, evaluations: Iterable[str]) -> Collection[str]:
        """Those of these runs of which is kept what they say."""
        return self._insights.kept(evaluations)

    def spread(self, firsts: Collection[str]) -> bool:
        """Whether the runs that end alike and say these words are of more than one session."""
        sessions: dict[Status, set[str]] = {}
        for tally in self._insights.tallies(firsts):
            sessions.setdefault(tally.status, set()).update(tally.sessions)
        return any(len(of) > 1 for of in sessions.values())

    def speaking(self, firsts: Collection[str], status: Status) -> Runs:
        """The runs that say these words and ended so."""
        witnesses = self._insights.witnesses(firsts)
        ended = [witness for witness in witnesses if witness.status == status]
        return Runs(
            frozenset(witness.evaluation for witness in ended),
            frozenset(witness.session for witness in ended),
        )

    def stating(self, domain: str, grounds: Collection[str]) -> Mapping[str, Status]:
        """The runs whose reasoning states any of these grounds, and how they ended."""
        return dict(self._insights.stating(domain, grounds))

    def facts_of(self, firsts: Collection[str]) -> Mapping[str, str]:
        """Fact -> the evaluation that made it, with these words."""
        return self._insights.facts_of(firsts)

    def facts_on(self, domain: str, grounds: Collection[str]) -> Mapping[str, Mapping[str, str]]:
        """Ground -> fact -> the evaluation that made it, the first few of each."""
        made_by: dict[str, dict[str, str]] = {}
        for row in self._insights.facts_on(domain, grounds, CROWDED):
            made_by.setdefault(row.wording, {})[row.fact] = row.evaluation
        return made_by

    def tellers(self, fact: str, at: datetime) -> Iterable[str]:
        """The runs that support a fact and ended at a time."""
        return self._view.facts.supporters_at(fact, moment_of(at))

    def remember(self, witness: Witness, first: str) -> None:
        """Keep what a run says; `first` is the run by which its words are known."""
        self._witnesses[witness.id] = witness
        row = WitnessRow(witness.id, first, witness.outcome_status, witness.session)
        keys = lookup_keys(witness.form) if first == witness.id else ()
        self._insights.keep_witness(witness.evaluation.domain, row, keys, witness.stated)

    def keep_grounds(self, witness: Witness) -> None:
        """Keep on what the fact rests that a run made."""
        self._insights.keep_grounds(witness.evaluation.domain, witness.id, witness.grounds)
