"""What the evaluated runs say, as the index keeps it: what a new insight is compared with.

Digests in, ids out: what says the same is `learning.promote`'s to say.
"""

from collections.abc import Iterable

from skillvault.model.records import Status
from skillvault.vault.index.reader import Topic


class Insights(Topic):
    """What the evaluated runs of a vault say: their claims, and the words that they state."""

    def known(self, evaluations: Iterable[str]) -> set[str]:
        """Those of these evaluations of which is kept what they say."""
        query = "select distinct evaluation from saying where evaluation in {}"
        return {name for (name,) in self._reader.rows_in(query, evaluations)}

    def claims(self, domain: str, keys: Iterable[str]) -> set[str]:
        """A run for each of the claims under any of these keys."""
        query = (
            "select distinct (select evaluation from saying s where s.domain = k.domain "
            "and s.words = k.words limit 1) from saying_key k where k.domain = ? and k.key in {}"
        )
        rows = self._reader.rows_in(query, keys, before=[domain])
        return {name for (name,) in rows if name is not None}

    def sayings(self, domain: str, words: Iterable[str]) -> list[tuple[str, Status, str]]:
        """(run, how it ended, its session) of those that say any of these words."""
        query = (
            "select distinct evaluation, status, session from saying "
            "where domain = ? and words in {}"
        )
        return list(self._reader.rows_in(query, words, before=[domain]))

    def tallies(self, domain: str, words: Iterable[str]) -> list[tuple[Status, int, str, str]]:
        """(how they ended, how many, the first session, the last) of the runs that say so."""
        query = (
            "select status, count(*), min(session), max(session) from saying "
            "where domain = ? and words in {} group by words, status"
        )
        return list(self._reader.rows_in(query, words, before=[domain]))

    def makers(self, domain: str, words: Iterable[str], most: int) -> list[tuple[str, str, str]]:
        """(words, fact, the run that made it) of the facts on these words, the first so many."""
        query = (
            "select words, fact, evaluation from (select s.words, l.target_id as fact, "
            "s.evaluation, row_number() over "
            "(partition by s.words order by s.evaluation, l.target_id) as place "
            "from saying s join link l on l.source_id = s.evaluation "
            "and l.source_kind = 'evaluation' and l.type = 'promoted' and l.target_kind = 'fact' "
            f"where s.domain = ? and s.words in {{}} and s.fact = 1) where place <= {most}"
        )
        return list(self._reader.rows_in(query, words, before=[domain]))

    # ── keeping ──────────────────────────────────────────────────────────────────────
    def keep_run(self, domain: str, run: tuple[str, Status, str], words: Iterable[str]) -> None:
        """Keep that a run, that ended so in a session, says these words."""
        evaluation, status, session = run
        rows = [(domain, one, status, evaluation, session) for one in words]
        self._reader.change_many("insert or ignore into saying values (?, ?, ?, ?, ?, 0)", rows)

    def keep_claim(self, domain: str, words: str, keys: Iterable[str]) -> None:
        """Keep under which keys a claim is found."""
        rows = [(domain, key, words) for key in keys]
        self._reader.change_many("insert or ignore into saying_key values (?, ?, ?)", rows)

    def keep_maker(self, domain: str, evaluation: str, words: Iterable[str]) -> None:
        """Keep that a run made a fact that rests on these words."""
        query = "update saying set fact = 1 where evaluation = ? and domain = ? and words = ?"
        self._reader.change_many(query, [(evaluation, domain, one) for one in words])
