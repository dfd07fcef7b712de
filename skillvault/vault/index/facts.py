"""Query and store facts, their clusters, their evaluations, and the claims of evaluated runs.

`promote` uses these tables to find similar facts and to count what supports them. A run here is an
evaluated outcome.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.msgpack import encode
from msgspec.structs import replace

from skillvault.model.records import Correction, Evaluation, Fact, JudgeInfo, Status
from skillvault.vault.index.reader import FILE_ROWS, Reader, Topic
from skillvault.vault.index.records import Folder
from skillvault.vault.index.rows import domains_of, group

_IS_SUPPORT = "type in ('promoted', 'reinforced') and source_kind = 'evaluation'"

# Another outcome of the same decision counts instead.
_IS_OVERRULED = "exists (select 1 from outcome o where o.id = source_id and not o.counts)"


class Evaluations(Folder[Evaluation]):
    """The evaluations, by the id of their outcome."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader, "evaluations", Evaluation)

    def supporting(self, facts: Iterable[str]) -> list[Evaluation]:
        """Return the evaluations that support any of these facts, ordered by id."""
        return list(self.get_many(_linked_runs(self._reader, _IS_SUPPORT, facts)).values())

    def agreements(self, judge: JudgeInfo) -> dict[tuple[bool, bool], int]:
        """Return the number of judged trusted outcomes by (succeeded, verdict was right).

        Outcomes with a neutral result are left out.
        """
        query = """select e.was_good = e.was_right, e.was_right, count(*) from evaluation e
            join outcome o on o.id = e.id where e.judge = ? and e.version = ? and e.model is ?
            and e.was_right is not null and o.trust = 'local' and o.counts group by 1, 2"""
        rows = self._reader.rows(query, [judge.name, judge.version, judge.model])
        return {(bool(is_success), bool(was_right)): count for is_success, was_right, count in rows}

    def latest_tested(self, judge: str, domain: str, count: int) -> list[Evaluation]:
        """Return a judge's latest verdicts in a domain, on trusted outcomes with a result."""
        query = """select e.id from evaluation e join outcome o on o.id = e.id
            where e.judge = ? and o.domain = ? and e.was_right is not null
            and o.trust = 'local' and o.counts order by o.at desc, e.id desc limit ?"""
        outcome_ids = self._reader.column(query, [judge, domain, count])
        return list(self.get_many(outcome_ids).values())


class Facts(Folder[Fact]):
    """The facts by id, including superseded facts, and the queries about them."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader, "memory", Fact)

    def by_domain(self, domains: Iterable[str]) -> dict[str, Fact]:
        """Return all facts of these domains by id, including superseded facts."""
        return self._in_domains(domains, "")

    def by_persons(self, domains: Iterable[str]) -> dict[str, Fact]:
        """Return the facts of these domains that persons wrote or that replace another fact."""
        is_by_person = "t.kind in ('human', 'correction')"
        return self._in_domains(domains, f"and ({is_by_person} or t.supersedes is not null)")

    def _in_domains(self, domains: Iterable[str], condition: str) -> dict[str, Fact]:
        query = f"{FILE_ROWS} join fact t on f.n = t.n where t.domain in {{}} {condition}"
        rows = self._reader.rows_matching(query, domains)
        return {fact.id: fact for fact in self._reader.records(rows, Fact)}

    def approved_corrections(self) -> list[Fact]:
        """Return the rules that a person stated and approved, ordered by id."""
        condition = "f.n in (select n from fact where kind = 'correction')"
        query = f"{FILE_ROWS} where {condition} order by f.ref_id"
        return list(self._reader.records(self._reader.rows(query), Fact))

    def due(self, day: str) -> list[str]:
        """Return the facts that must be reviewed by this day, including superseded facts."""
        query = "select id from fact where review_by is not null and substr(review_by, 1, 10) <= ?"
        return self._reader.column(query, [day])

    def makers(self, facts: Iterable[str]) -> dict[str, str]:
        """Return the source outcome of each fact that has one."""
        query = """select target_id, source_id from link where type = 'promoted'
            and target_kind = 'fact' and target_id in {} order by source_id desc"""
        return dict(self._reader.rows_matching(query, facts))

    def domains_with_facts(self) -> list[str]:
        """Return the names of the domains that have a trusted fact, sorted."""
        query = domains_of("fact", "trust = 'local'")
        return self._reader.column(query)

    def supporter_counts(self, facts: Iterable[str]) -> dict[str, int]:
        """Return the number of evaluations that support each fact."""
        return self._link_counts(facts, _IS_SUPPORT)

    def opponent_counts(self, facts: Iterable[str]) -> dict[str, int]:
        """Return the number of evaluations that contradict each fact, if there are any."""
        return self._link_counts(facts, "type = 'contradicted'")

    def _link_counts(self, facts: Iterable[str], condition: str) -> dict[str, int]:
        query = f"""select target_id, count(*) from link where {condition} and target_kind = 'fact'
            and target_id in {{}} and not {_IS_OVERRULED} group by target_id"""
        return dict(self._reader.rows_matching(query, facts))

    def endings(self, facts: Iterable[str]) -> dict[str, Status]:
        """Return the status of the source outcome of each fact that has one."""
        query = """select l.target_id, o.status from link l join outcome o on o.id = l.source_id
            where l.type = 'promoted' and l.target_kind = 'fact' and l.target_id in {}"""
        return dict(self._reader.rows_matching(query, facts))

    def supporters(self, facts: Iterable[str]) -> list[str]:
        """Return the ids of the evaluations that support any of these facts, oldest first."""
        return _linked_runs(self._reader, _IS_SUPPORT, facts)

    def opponents(self, facts: Iterable[str]) -> list[str]:
        """Return the ids of the evaluations that contradict any of these facts, oldest first."""
        return _linked_runs(self._reader, "type = 'contradicted'", facts)

    def counts_until(self, facts: Iterable[str], last_run: str) -> dict[str, tuple[int, int]]:
        """Return (supporting runs, contradicting runs) for each fact, up to `last_run`."""
        query = f"""select target_id, count(distinct iif(type = 'contradicted', null, source_id)),
            count(distinct iif(type = 'contradicted', source_id, null))
            from link where source_id <= ? and (type = 'contradicted' or {_IS_SUPPORT})
            and target_kind = 'fact' and target_id in {{}} group by target_id"""
        rows = self._reader.rows_matching(query, facts, prefix=[last_run])
        return {fact: (supporters, opponents) for fact, supporters, opponents in rows}

    def is_of_one_subject(self, facts: Iterable[str]) -> bool:
        """Return True if all supporting evaluations are about the same action and target."""
        return self._are_alike("o.action, o.target", facts)

    def is_of_one_action(self, facts: Iterable[str]) -> bool:
        """Return True if all supporting evaluations are about the same action."""
        return self._are_alike("o.domain, o.action", facts)

    def _are_alike(self, columns: str, facts: Iterable[str]) -> bool:
        query = f"""select distinct {columns} from link l join outcome o on o.id = l.source_id
            where l.{_IS_SUPPORT} and l.target_kind = 'fact' and l.target_id in {{}} limit 2"""
        return len(set(self._reader.rows_matching(query, facts))) == 1

    def actions(self, facts: Iterable[str]) -> dict[str, set[tuple[str, str]]]:
        """Return the (domain, action) pairs of the outcomes that support each fact."""
        query = f"""select distinct l.target_id, o.domain, o.action
            from link l join outcome o on o.id = l.source_id
            where {_IS_SUPPORT} and l.target_kind = 'fact' and l.target_id in {{}}"""
        rows = self._reader.rows_matching(query, facts)
        return {fact: set(pairs) for fact, pairs in group((r[0], r[1:]) for r in rows).items()}

    def superseded_ids(self, facts: Iterable[str]) -> set[str]:
        """Return the facts that another fact replaces."""
        return set(self.successors(facts))

    def successors(self, facts: Iterable[str]) -> dict[str, str]:
        """Return for each fact the fact that directly replaces it, if there is one."""
        query = "select supersedes, id from fact where supersedes in {} order by id"
        return dict(self._reader.rows_matching(query, facts))

    def supporters_of_moment(self, fact: str, moment: str) -> list[str]:
        """Return the evaluations that support a fact and whose ids begin with `moment`."""
        query = f"""select source_id from link where {_IS_SUPPORT} and target_kind = 'fact'
            and target_id = ? and substr(source_id, 1, ?) = ? order by source_id"""
        return self._reader.column(query, [fact, len(moment), moment])

    def sessions(self, facts: Iterable[str], limit: int | None = None) -> set[str]:
        """Return at most `limit` sessions whose outcomes support these facts."""
        query = (
            "select distinct coalesce(o.session, o.id) from link l join outcome o "
            "on o.id = l.source_id where l.target_kind = 'fact' and l.target_id in {} "
            f"and {_IS_SUPPORT} and exists (select 1 from file e where e.ref_kind = 'evaluation' "
            "and e.ref_id = l.source_id and e.type = 'Evaluation')"
            + (f" limit {limit}" if limit is not None else "")
        )
        return set(self._reader.column_matching(query, facts))


def _linked_runs(reader: Reader, condition: str, facts: Iterable[str]) -> list[str]:
    query = f"""select distinct source_id from link where {condition}
        and target_kind = 'fact' and target_id in {{}}"""
    return sorted(set(reader.column_matching(query, facts)))


class Corrections(Topic):
    """Queries about corrections, the rules that persons stated.

    A correction waits for approval or was withdrawn. An approved correction is a fact.
    """

    def waiting(self) -> list[Correction]:
        """Return the corrections that wait for approval, ordered by id."""
        return [rule for rule in self._read_proposals() if rule.state == "proposed"]

    def passages(self) -> list[Correction]:
        """Return the passages of documents from which the judge must extract rules, by id."""
        return [passage for passage in self._read_proposals() if passage.state == "undecided"]

    def _read_proposals(self) -> Iterable[Correction]:
        # The plus keeps SQLite from reading all files for a table that is small or empty.
        condition = "f.n in (select n from correction) and +f.top = 'proposed'"
        query = f"{FILE_ROWS} where {condition} order by f.ref_id"
        return self._reader.records(self._reader.rows(query), Correction)

    def of_scope(self, scope: str | None) -> list[Correction]:
        """Return the corrections of a repository or domain, or of all if it is None, by id."""
        condition, values = ("c.scope = ?", [scope]) if scope is not None else ("true", [])
        query = f"{FILE_ROWS} join correction c on f.n = c.n where {condition} order by c.id"
        corrections = self._reader.records(self._reader.rows(query, values), Correction)
        return [correction for correction in corrections if correction.state != "undecided"]


class LazyFacts(Mapping[str, Fact]):
    """The facts of some domains, which are read when they are needed.

    An iteration yields only facts that persons wrote or that replace others, because there may be
    many others.
    """

    def __init__(self, facts: Facts, domains: Collection[str]) -> None:
        self._facts, self._domains = facts, frozenset(domains)
        self._by_persons = facts.by_persons(domains)
        self._cache: dict[str, Fact | None] = dict(self._by_persons)

    def __getitem__(self, fact_id: str) -> Fact:
        if fact_id not in self._cache:
            self._cache[fact_id] = self._facts.get(fact_id)
        fact = self._cache[fact_id]
        if fact is None or fact.domain not in self._domains:
            raise KeyError(fact_id)
        return fact

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_persons)

    def __len__(self) -> int:
        return len(self._by_persons)


class FactLink(NamedTuple):
    """A link from a run that supports or contradicts a fact.

    It has the session, the subject and the action of the run.
    """

    run: str
    is_for: bool
    is_counted: bool
    session: str
    subject: str
    action: str


class FactTally(Struct, frozen=True, array_like=True):
    """The numbers of runs for and against a fact, with the last run and the last counted link."""

    seen: int
    newest: str
    runs: int
    against: int

    def with_links(self, links: Sequence[FactLink], last_link: int) -> "FactTally | None":
        """Return the tally with later links added, or None if a run is not later."""
        newest_run, counts = self.newest, [self.runs, self.against]
        for link in links:
            if link.run <= newest_run or not link.is_counted:
                return None
            newest_run = link.run
            counts[not link.is_for] += 1
        return FactTally(last_link, newest_run, *counts)


class UnitTally(Struct, frozen=True, array_like=True):
    """The number of runs about the facts of a unit, with the last run.

    It also has the first few sessions, subjects and actions of the supporting runs.
    """

    runs: int
    newest: str
    sessions: tuple[str, ...]
    subjects: tuple[str, ...]
    actions: tuple[str, ...]

    def with_links(self, links: Sequence[FactLink], session_limit: int) -> "UnitTally | None":
        """Return the tally with later links added, or None if it must be counted again.

        It must be if a link is not later, or adds a session, a subject or an action.
        """
        runs, newest_run = self.runs, self.newest
        for link in links:
            if link.run < newest_run or (link.is_for and not self._knows(link, session_limit)):
                return None
            runs += link.run > newest_run
            newest_run = link.run
        return replace(self, runs=runs, newest=newest_run)

    def _knows(self, link: FactLink, session_limit: int) -> bool:
        return (
            (len(self.sessions) >= session_limit or link.session in self.sessions)
            and (len(self.subjects) > 1 or link.subject in self.subjects)
            and (len(self.actions) > 1 or link.action in self.actions)
        )


class Unit(NamedTuple):
    """Facts that may make a skill: a cluster, named by its first fact, or a single fact."""

    column: Literal["seed", "fact"]
    name: str


class Membership(NamedTuple):
    """A fact in its cluster, which is named by its first fact, the `seed`.

    Facts of one pool of a domain are compared with each other, in the order of `sort_key`. A fact
    outside all pools may still have made a skill. `words` is a digest of the compared words. `told`
    is the tally that a step last saw for the cluster, `counted` the tally of the fact itself.
    """

    fact: str
    domain: str
    pool: str | None = None
    sort_key: str = ""
    words: str = ""
    seed: str | None = None
    skill: str | None = None
    told: bytes | None = None
    counted: bytes | None = None


_MEMBERSHIPS = f"select {', '.join(Membership._fields)} from clustered"


_RUNS = """from clustered c cross join link l on l.target_id = c.fact and l.target_kind = 'fact'
    {} where c.{} = ?"""
_SUPPORT_JOIN = f"and l.{_IS_SUPPORT} left join outcome o on o.id = l.source_id"
_SESSION, _ACTION = "coalesce(o.session, o.id, '')", "coalesce(o.domain || ' ' || o.action, '')"
_SUBJECT = f"{_ACTION} || char(10) || coalesce(o.target, char(10))"


class Clusters(Topic):
    """The clusters of similar facts, which `loop.promote` writes."""

    def of_facts(self, facts: Iterable[str]) -> dict[str, Membership]:
        """Return the stored memberships of these facts."""
        rows = self._reader.rows_matching(f"{_MEMBERSHIPS} where fact in {{}}", facts)
        return {row[0]: Membership(*row) for row in rows}

    def of_pool(self, domain: str, pool: str) -> list[Membership]:
        """Return the facts of a pool, ordered by sort key."""
        query = f"{_MEMBERSHIPS} where domain = ? and pool = ? order by sort_key"
        return [Membership(*row) for row in self._reader.rows(query, [domain, pool])]

    def connected_facts(self, seeds: Iterable[str], skills: Iterable[str]) -> dict[str, Membership]:
        """Return the facts of clusters and skills, and all facts connected with them."""
        memberships: dict[str, Membership] = {}
        open_names = {"seed": {*seeds}, "skill": {*skills}}
        searched_names: dict[str, set[str]] = {"seed": set(), "skill": set()}
        while any(open_names.values()):
            rows = [
                Membership(*row)
                for column, names in open_names.items()
                for row in self._reader.rows_matching(
                    f"{_MEMBERSHIPS} where {column} in {{}}", names
                )
            ]
            memberships |= {row.fact: row for row in rows}
            for column, names in open_names.items():
                searched_names[column] |= names
                new_names = {getattr(row, column) for row in rows} - {None}
                open_names[column] = new_names - searched_names[column]
        return memberships

    def first_seed(self, fact: Membership, words: Collection[str], threshold: float) -> str | None:
        """Return the first seed before a fact that shares enough words with it, or None."""
        placeholders = ",".join("?" * len(words))
        query = f"""select c.fact from (select seed, size, count(*) as shared
            from seed_word where domain = ? and pool = ? and word in ({placeholders})
            group by seed) s join clustered c on c.fact = s.seed where c.sort_key < ?
            and cast(shared as real) / (? + size - shared) > ? order by c.sort_key limit 1"""
        values = [fact.domain, fact.pool, *words, fact.sort_key, len(words), threshold]
        seed: str | None = self._reader.value(query, values)
        return seed

    def is_last(self, fact: Membership) -> bool:
        """Return True if a fact is the last of its pool."""
        query = "select 1 from clustered where domain = ? and pool = ? and sort_key > ? limit 1"
        return self._reader.value(query, [fact.domain, fact.pool, fact.sort_key]) is None

    def is_of_size(self, seed: str, size: int) -> bool:
        """Return True if a cluster has at least `size` facts."""
        query = "select count(*) from (select 1 from clustered where seed = ? limit ?)"
        return int(self._reader.value(query, [seed, size])) >= size

    def tally(self, unit: Unit, session_limit: int) -> UnitTally:
        """Count the runs about a cluster or a single fact."""
        runs = _RUNS.format(f"and (l.type = 'contradicted' or l.{_IS_SUPPORT})", unit.column)
        query = f"select count(distinct l.source_id), coalesce(max(l.source_id), '') {runs}"
        ((count, last_run),) = self._reader.rows(query, [unit.name])
        supporters = _RUNS.format(_SUPPORT_JOIN, unit.column)
        columns = ((_SESSION, session_limit), (_SUBJECT, 2), (_ACTION, 2))
        values = (
            self._reader.column(f"select distinct {column} {supporters} limit {limit}", [unit.name])
            for column, limit in columns
        )
        return UnitTally(count, last_run, *map(tuple, values))

    def last_link(self) -> int:
        """Return the number of the latest link. Numbers are not reused."""
        return int(self._reader.value("select coalesce(max(n), 0) from link"))

    def fact_tallies(self, facts: Collection[str]) -> dict[str, tuple[str, int, int]]:
        """Return (last run, number of runs for, number of runs against) for each fact."""
        query = f"""select target_id, max(source_id), sum(type != 'contradicted'),
            sum(type = 'contradicted') from link where target_kind = 'fact' and target_id in {{}}
            and (type = 'contradicted' or {_IS_SUPPORT}) and not {_IS_OVERRULED}
            group by target_id"""
        return {fact: tuple(counts) for fact, *counts in self._reader.rows_matching(query, facts)}

    def new_links(self, fact: str, last_link: int) -> list[FactLink]:
        """Return the links to a fact after the link with number `last_link`, ordered by run."""
        query = f"""select l.source_id, l.type != 'contradicted', coalesce(o.counts, 0), {_SESSION},
            {_SUBJECT}, {_ACTION} from link l indexed by link_to_fact left join outcome o
            on o.id = l.source_id where l.target_kind = 'fact' and l.target_id = ?
            and l.n > ? and (l.type = 'contradicted' or l.{_IS_SUPPORT}) order by l.source_id"""
        return [FactLink(*row) for row in self._reader.rows(query, [fact, last_link])]

    # ── storing ──────────────────────────────────────────────────────────────────────
    def keep_unit_tally(self, facts: Iterable[str], tally: UnitTally | None) -> None:
        """Store the tally that a step last saw for a unit with these facts."""
        query, value = "update clustered set told = ? where fact = ?", tally and encode(tally)
        self._reader.change_many(query, [(value, fact) for fact in facts])

    def keep_fact_tally(self, fact: str, tally: FactTally) -> None:
        """Store the tally of a fact."""
        query = "update clustered set counted = ? where fact = ?"
        self._reader.change_rows(query, [encode(tally), fact])

    def keep_rows(self, facts: Iterable[Membership]) -> None:
        """Store the memberships of facts."""
        query = f"insert or replace into clustered values ({', '.join('?' * 9)})"
        self._reader.change_many(query, facts)

    def drop_rows(self, facts: Collection[str]) -> None:
        """Delete the memberships of facts, and the words of facts that are seeds."""
        for column in ("clustered where fact", "seed_word where seed"):
            self._reader.change_many(f"delete from {column} = ?", [(fact,) for fact in facts])

    def keep_seed(self, fact: Membership, words: Collection[str]) -> None:
        """Store the words of a seed."""
        rows = [(fact.domain, fact.pool, word, fact.fact, len(words)) for word in words]
        self._reader.change_many("insert or replace into seed_word values (?, ?, ?, ?, ?)", rows)


class FactKeys(Topic):
    """The keys to find similar facts.

    `sameness` defines the keys, `loop.general` stores them.
    """

    def facts_with_keys(self, keys: Iterable[str]) -> set[str]:
        """Return the facts that have any of these keys."""
        query = "select distinct fact from fact_key where key in {}"
        return set(self._reader.column_matching(query, keys))

    # ── storing ──────────────────────────────────────────────────────────────────────
    def keep_fact(self, fact: str, keys: Iterable[str]) -> None:
        """Replace the keys of a fact."""
        self._reader.change_rows("delete from fact_key where fact = ?", [fact])
        query = "insert or ignore into fact_key (fact, key) values (?, ?)"
        self._reader.change_many(query, [(fact, key) for key in keys])


class Insights(Topic):
    """The claims of evaluated runs. A claim is stored as a digest of its words.

    `learning.promote` uses the claims.
    """

    def indexed_evaluations(self, evaluations: Iterable[str]) -> set[str]:
        """Return the evaluations whose claims are stored."""
        query = "select distinct evaluation from saying where evaluation in {}"
        return set(self._reader.column_matching(query, evaluations))

    def claims(self, domain: str, keys: Iterable[str]) -> set[str]:
        """Return one run for each claim that has any of these keys."""
        query = """select distinct (select evaluation from saying s where s.domain = k.domain
            and s.words = k.words limit 1) from saying_key k where k.domain = ? and k.key in {}"""
        return set(self._reader.column_matching(query, keys, prefix=[domain])) - {None}

    def sayings(self, domain: str, digests: Iterable[str]) -> list[tuple[str, Status, str]]:
        """Return (run, status, session) for each run that makes any of these claims."""
        query = """select distinct evaluation, status, session from saying
            where domain = ? and words in {}"""
        return list(self._reader.rows_matching(query, digests, prefix=[domain]))

    def tallies(self, domain: str, digests: Iterable[str]) -> list[tuple[Status, int, str, str]]:
        """Return (status, count, first session, last session) for each claim and status."""
        query = """select status, count(*), min(session), max(session) from saying
            where domain = ? and words in {} group by words, status"""
        return list(self._reader.rows_matching(query, digests, prefix=[domain]))

    def makers(self, domain: str, digests: Iterable[str], limit: int) -> list[tuple[str, str, str]]:
        """Return (digest, fact, run that made the fact), at most `limit` for each claim."""
        query = f"""select words, fact, evaluation from (
            select s.words, l.target_id as fact, s.evaluation, row_number() over
            (partition by s.words order by s.evaluation, l.target_id) as number
            from saying s join link l on l.source_id = s.evaluation
            and l.source_kind = 'evaluation' and l.type = 'promoted' and l.target_kind = 'fact'
            where s.domain = ? and s.words in {{}} and s.fact = 1) where number <= {limit}"""
        return list(self._reader.rows_matching(query, digests, prefix=[domain]))

    # ── storing ──────────────────────────────────────────────────────────────────────
    def keep_run(self, domain: str, run: tuple[str, Status, str], digests: Iterable[str]) -> None:
        """Store the claims of a run, which is given as (run, status, session)."""
        evaluation, status, session = run
        rows = [(domain, digest, status, evaluation, session) for digest in digests]
        self._reader.change_many("insert or ignore into saying values (?, ?, ?, ?, ?, 0)", rows)

    def keep_claim(self, domain: str, digest: str, keys: Iterable[str]) -> None:
        """Store the keys of the claim with this digest."""
        rows = [(domain, key, digest) for key in keys]
        self._reader.change_many("insert or ignore into saying_key values (?, ?, ?)", rows)

    def keep_maker(self, domain: str, evaluation: str, digests: Iterable[str]) -> None:
        """Store that a run made a fact from these claims."""
        query = "update saying set fact = 1 where evaluation = ? and domain = ? and words = ?"
        self._reader.change_many(query, [(evaluation, domain, digest) for digest in digests])
