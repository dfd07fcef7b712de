"""Which runs say what, as the index keeps it: what a new insight is compared with.

Texts in, texts out: what says the same is `learning.promote`'s to say.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from itertools import groupby, islice
from typing import NamedTuple

from skillvault.model.records import Status
from skillvault.vault.index.reader import Reader, Topic

_MADE_BY = (
    "join link l on l.source_id = {} and l.source_kind = 'evaluation' "
    "and l.type = 'promoted' and l.target_kind = 'fact'"
)


class WitnessRow(NamedTuple):
    """A run that says something: how it ended, in which session.

    `first` is the evaluation by which its words are known.
    """

    evaluation: str
    first: str
    status: Status
    session: str


class GroundRow(NamedTuple):
    """A fact that rests on a ground, and the evaluation that made it."""

    wording: str
    fact: str
    evaluation: str


class Tally(NamedTuple):
    """How many runs that ended alike say something in the same words, and in which sessions.

    Of those the first and the last by name.
    """

    first: str
    status: Status
    runs: int
    sessions: tuple[str, str]


class Insights(Topic):
    """What the evaluated runs of a vault say."""

    def unkept(self) -> "UnkeptInsights":
        """The same, to which more can be added that is not kept."""
        return UnkeptInsights(self._reader)

    def firsts(self, domain: str, keys: Iterable[str]) -> list[str]:
        """The evaluations by which the words under any of these keys are known, sorted."""
        query = "select distinct first from insight_key where domain = ? and key in {}"
        rows = self._reader.rows_in(query, keys, before=[domain])
        return sorted({name for (name,) in rows})

    def kept(self, evaluations: Iterable[str]) -> set[str]:
        """Those of these evaluations of which is kept what they say."""
        query = "select evaluation from insight where evaluation in {}"
        return {name for (name,) in self._reader.rows_in(query, evaluations)}

    def tallies(self, firsts: Iterable[str]) -> list[Tally]:
        """How many runs say these words, by how they ended."""
        query = (
            "select first, status, count(*), min(session), max(session) from insight "
            "where first in {} group by first, status"
        )
        rows = self._reader.rows_in(query, firsts)
        return [Tally(first, status, runs, (low, high)) for first, status, runs, low, high in rows]

    def witnesses(self, firsts: Iterable[str]) -> list[WitnessRow]:
        """The runs that say these words."""
        query = "select evaluation, first, status, session from insight where first in {}"
        return [WitnessRow._make(row) for row in self._reader.rows_in(query, firsts)]

    def facts_of(self, firsts: Iterable[str]) -> dict[str, str]:
        """Fact -> the evaluation that made it, of those with these words."""
        query = (
            f"select l.target_id, i.evaluation from insight i {_MADE_BY.format('i.evaluation')} "
            "where i.fact = 1 and i.first in {}"
        )
        return dict(self._reader.rows_in(query, firsts))

    def facts_on(self, domain: str, grounds: Iterable[str], most: int) -> list[GroundRow]:
        """The facts that rest on any of these grounds, of each ground the first so many.

        Many may rest on one ground, and many runs state it.
        """
        query = (
            "select wording, fact, evaluation from ("
            "select g.wording, l.target_id as fact, g.evaluation, row_number() over "
            "(partition by g.wording order by g.evaluation, l.target_id) as place "
            f"from ground g {_MADE_BY.format('g.evaluation')} "
            f"where g.domain = ? and g.wording in {{}}) where place <= {most}"
        )
        rows = self._reader.rows_in(query, grounds, before=[domain])
        return list(map(GroundRow._make, rows))

    def stating(self, domain: str, grounds: Iterable[str]) -> list[tuple[str, Status]]:
        """(evaluation, how its run ended) of those whose reasoning states any of these grounds."""
        query = "select distinct evaluation, status from stated where domain = ? and wording in {}"
        return sorted(self._reader.rows_in(query, grounds, before=[domain]))

    # ── keeping ──────────────────────────────────────────────────────────────────────
    def keep_witness(
        self, domain: str, witness: WitnessRow, keys: Collection[str], stated: Collection[str]
    ) -> None:
        """Keep what a run says under its keys, and what its reasoning states."""
        query = (
            "insert into insight values (?, ?, ?, ?, 0) on conflict (evaluation) do update "
            "set first = excluded.first, status = excluded.status, session = excluded.session"
        )
        self._reader.change_rows(query, witness)
        rows = [(domain, key, witness.first) for key in keys]
        self._reader.change_many("insert or ignore into insight_key values (?, ?, ?)", rows)
        said = [(domain, wording, witness.status, witness.evaluation) for wording in stated]
        self._reader.change_many("insert or ignore into stated values (?, ?, ?, ?)", said)

    def keep_grounds(self, domain: str, evaluation: str, grounds: Iterable[str]) -> None:
        """Keep that an evaluation made a fact, and on what that rests."""
        query = "update insight set fact = 1 where evaluation = ?"
        self._reader.change_rows(query, [evaluation])
        rows = [(domain, ground, evaluation) for ground in grounds]
        self._reader.change_many("insert or ignore into ground values (?, ?, ?)", rows)


class UnkeptInsights(Insights):
    """What the evaluated runs say, with more that is known only as long as something is asked."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader)
        self._rows: dict[str, dict[str, WitnessRow]] = defaultdict(dict)  # first -> evaluation ->
        self._firsts: dict[tuple[str, str], set[str]] = defaultdict(set)  # (domain, key) ->
        self._stated: dict[tuple[str, str], dict[str, Status]] = defaultdict(dict)
        self._makers: dict[str, list[str]] = {}  # evaluation -> facts
        self._grounds: dict[tuple[str, str], set[str]] = defaultdict(set)

    def firsts(self, domain: str, keys: Iterable[str]) -> list[str]:
        """The evaluations by which the words under any of these keys are known, sorted."""
        names = list(keys)
        more = (first for key in names for first in self._firsts.get((domain, key), ()))
        return sorted({*super().firsts(domain, names), *more})

    def kept(self, evaluations: Iterable[str]) -> set[str]:
        """Those of these evaluations of which is kept, or known, what they say."""
        names = list(evaluations)
        more = {name for rows in self._rows.values() for name in rows}
        return super().kept(names) | more.intersection(names)

    def tallies(self, firsts: Iterable[str]) -> list[Tally]:
        """How many runs say these words, by how they ended."""
        groups: dict[tuple[str, Status], list[str]] = defaultdict(list)
        for row in self.witnesses(firsts):
            groups[row.first, row.status].append(row.session)
        return [
            Tally(first, status, len(sessions), (min(sessions), max(sessions)))
            for (first, status), sessions in groups.items()
        ]

    def witnesses(self, firsts: Iterable[str]) -> list[WitnessRow]:
        """The runs that say these words."""
        names = list(firsts)
        rows = {row.evaluation: row for row in super().witnesses(names)}
        for first in names:
            rows |= self._rows.get(first, {})
        return list(rows.values())

    def facts_of(self, firsts: Iterable[str]) -> dict[str, str]:
        """Fact -> the evaluation that made it, of those with these words."""
        names = list(firsts)
        makers = (row.evaluation for row in self.witnesses(names))
        more = {fact: maker for maker in makers for fact in self._makers.get(maker, ())}
        return {**super().facts_of(names), **more}

    def facts_on(self, domain: str, grounds: Iterable[str], most: int) -> list[GroundRow]:
        """The facts that rest on any of these grounds, of each ground the first so many."""
        wordings = list(grounds)
        rows = super().facts_on(domain, wordings, most)
        for wording in wordings:
            makers = self._grounds.get((domain, wording), ())
            rows += [GroundRow(wording, f, maker) for maker in makers for f in self._makers[maker]]
        ordered = sorted(set(rows), key=lambda row: (row.wording, row.evaluation, row.fact))
        by_ground = groupby(ordered, key=lambda row: row.wording)
        return [row for _, of_ground in by_ground for row in islice(of_ground, most)]

    def stating(self, domain: str, grounds: Iterable[str]) -> list[tuple[str, Status]]:
        """(evaluation, how its run ended) of those whose reasoning states any of these grounds."""
        wordings = list(grounds)
        ended = dict(super().stating(domain, wordings))
        for wording in wordings:
            ended |= self._stated.get((domain, wording), {})
        return sorted(ended.items())

    def keep_witness(
        self, domain: str, witness: WitnessRow, keys: Collection[str], stated: Collection[str]
    ) -> None:
        """Know what a run says under its keys, and what its reasoning states."""
        self._rows[witness.first][witness.evaluation] = witness
        for key in keys:
            self._firsts[domain, key].add(witness.first)
        for wording in stated:
            self._stated[domain, wording][witness.evaluation] = witness.status

    def keep_grounds(self, domain: str, evaluation: str, grounds: Iterable[str]) -> None:
        """Know that an evaluation made a fact, and on what that rests."""
        query = (
            "select target_id from link where source_id = ? and source_kind = 'evaluation' "
            "and type = 'promoted' and target_kind = 'fact'"
        )
        self._makers[evaluation] = [name for (name,) in self._reader.rows(query, [evaluation])]
        for ground in grounds:
            self._grounds[domain, ground].add(evaluation)
