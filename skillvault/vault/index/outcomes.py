"""Query outcomes, recommendations, and the tasks that both name."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import NamedTuple

from skillvault.model.decision_outcomes import Claim, claim_of, select_receipts
from skillvault.model.records import Outcome, Recommendation, Status, Trust
from skillvault.vault.index.reader import FILE_ROWS, Reader, Topic
from skillvault.vault.index.records import Folder
from skillvault.vault.index.rows import domains_of, group, micros, moment, words
from skillvault.vault.search import ranking

# A trusted outcome is compared with trusted outcomes, any other with all.
_COMPARISON: Mapping[Trust, str] = {"local": "trust = 'local'", "untrusted": "true"}
HAS_EVALUATION = """o.counts and exists (select 1 from file e
    where e.ref_kind = 'evaluation' and e.ref_id = o.id and e.type = 'Evaluation')"""
_OUTCOME_FILES = f"{FILE_ROWS} join outcome o on f.n = o.n"
_IS_TRUSTED_EVALUATION = f"trust = 'local' and {HAS_EVALUATION}"


class Outcomes(Folder[Outcome]):
    """The outcomes by id, and the queries about them."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader, "outcomes", Outcome)

    def domains(self, trust: Trust) -> frozenset[str]:
        """Return the domains whose outcomes may be compared with an outcome of this trust."""
        query = domains_of("outcome", _COMPARISON[trust])
        return frozenset(self._reader.column(query))

    def actions(self, domain: str) -> list[str]:
        """Return the actions of a domain's outcomes, sorted."""
        query = "select distinct action from outcome where domain = ? and action != '' order by 1"
        return self._reader.column(query, [domain])

    def target_subjects(self, domain: str, targets: Collection[str]) -> list[tuple[str, str]]:
        """Return (action, target) of the domain's outcomes that have one of these targets."""
        if not targets:
            return []
        query = """with done (action) as (select distinct action from outcome where domain = ?)
            select distinct o.action, o.target from done
            join outcome o on o.domain = ? and o.action = done.action and o.target in {}"""
        return list(self._reader.rows_matching(query, targets, prefix=[domain, domain]))

    def latest_time(self, domain: str | None = None) -> datetime | None:
        """Return the time of the latest trusted outcome in a domain, or in all domains."""
        domains = [domain] if domain is not None else sorted(self.domains("local"))
        query = """select at from outcome where domain = ? and trust = 'local'
            order by at desc limit 1"""
        times = [at for domain_name in domains for at in self._reader.column(query, [domain_name])]
        return moment(max(times)) if times else None

    def ids_by_domain(self, outcomes: Iterable[str]) -> dict[str, set[str]]:
        """Group the ids of outcomes by domain."""
        query = "select distinct domain, id from outcome where id in {}"
        rows = sorted(self._reader.rows_matching(query, outcomes))
        return {domain: set(ids) for domain, ids in group(rows).items()}

    def since(self, domain: str, at: datetime, trust: Trust | None = "local") -> list[str]:
        """Return the evaluated outcomes of a domain since a time, latest first.

        If `trust` is None, outcomes of any trust are returned.
        """
        query = f"""select distinct o.id, o.at from outcome o where o.domain = ? and o.at >= ?
            and (? is null or o.trust = ?) and {HAS_EVALUATION} order by o.at desc, o.id desc"""
        return self._reader.column(query, [domain, micros(at), trust, trust])

    def domain_subjects(self, domain: str) -> list[tuple[str, str, str | None]]:
        """Return (id, action, target) for each evaluated outcome of a domain."""
        query = f"""select distinct o.id, o.action, o.target
            from outcome o where o.domain = ? and {HAS_EVALUATION} order by o.id"""
        return self._reader.rows(query, [domain])

    def by_event(self, events: Iterable[str]) -> list[Outcome]:
        """Return the outcomes with these event ids."""
        rows = self._reader.rows_matching(f"{_OUTCOME_FILES} where event in {{}}", events)
        return self._reader.records(rows, Outcome)

    def by_event_prefix(self, prefix: str) -> list[Outcome]:
        """Return the outcomes whose event ids begin with `prefix`."""
        return self._where("event >= ? and event < ?", prefix, f"{prefix}\U0010ffff")

    def statuses(self, ids: Iterable[str]) -> dict[str, Status]:
        """Return the status of each outcome."""
        query = "select id, status from outcome where id in {}"
        return dict(self._reader.rows_matching(query, ids))

    def by_session(self, session: str, trust: Trust) -> list[Outcome]:
        """Return the outcomes of a session that have this trust, oldest first."""
        outcomes = self._where("session = ? and trust = ?", session, trust)
        return sorted(outcomes, key=lambda outcome: outcome.order)

    def quoting(self, scope: str) -> list[Outcome]:
        """Return the outcomes of a repository or domain that quote a person's next words."""
        return self._where("scope = ?", scope)

    def by_decision(self, decision: str) -> list[Outcome]:
        """Return the outcomes of a decision.

        The id of an outcome without a decision is also the id of its decision.
        """
        return self._where("decision = ?", decision)

    def _where(self, condition: str, *values: str) -> list[Outcome]:
        rows = self._reader.rows(f"{_OUTCOME_FILES} where {condition}", values)
        return self._reader.records(rows, Outcome)

    def ends(self, decision: str) -> list[Claim]:
        """Return the trusted outcomes of a decision as claims, oldest first."""
        return _ends(self._reader, [decision]).get(decision, [])

    def overruled_ids(self, ids: Iterable[str]) -> set[str]:
        """Return the outcomes that do not count because another outcome of the decision counts."""
        query = "select id from outcome where not counts and id in {}"
        return set(self._reader.column_matching(query, ids))

    def failures_without_lesson(self, ids: Iterable[str]) -> list[Outcome]:
        """Return the failed outcomes of these decisions that have no lesson, oldest first.

        Outcomes that do not count are left out.
        """
        query = f"""{_OUTCOME_FILES} join outcome said
            on said.decision = o.decision and said.agent is o.agent and said.trust = o.trust
            where o.status = 'failure' and o.counts and o.trust = 'local' and said.id in {{}}"""
        outcomes = self._reader.records(self._reader.rows_matching(query, ids), Outcome)
        failures = {outcome.id: outcome for outcome in outcomes if outcome.lesson is None}
        return sorted(failures.values(), key=lambda outcome: outcome.order)

    def untrusted_ids(self, ids: Iterable[str]) -> set[str]:
        """Return the ids among these that belong to untrusted outcomes or recommendations."""
        query = """select id from
            (select id, trust from outcome union all select id, trust from recommendation)
            where trust = 'untrusted' and id in {}"""
        return set(self._reader.column_matching(query, ids))

    def count_evaluated(self, domain: str) -> int:
        """Return the number of trusted outcomes of a domain that have an evaluation."""
        query = f"select count(*) from outcome o where domain = ? and {_IS_TRUSTED_EVALUATION}"
        return int(self._reader.value(query, [domain]))

    def latest_evaluated(self, domain: str, count: int) -> list[str]:
        """Return the latest trusted, evaluated outcomes of a domain, oldest first."""
        query = f"""select id from outcome o where domain = ? and {_IS_TRUSTED_EVALUATION}
            order by at desc, id desc limit ?"""
        return self._reader.column(query, [domain, count])[::-1]

    def actions_of(self, outcomes: Iterable[str]) -> list[tuple[str, str]]:
        """Return the (domain, action) pairs of the trusted outcomes among these."""
        query = "select distinct domain, action from outcome where trust = 'local' and id in {}"
        return sorted(set(self._reader.rows_matching(query, outcomes)))

    # ── by their text ─────────────────────────────────────────────────────────────────

    def mentioning(self, skills: Iterable[str]) -> set[str]:
        """Return the outcomes whose text contains all words of one of these skill names."""
        query = "select o.id from said join outcome o on o.n = said.rowid where said match ?"
        ids: set[str] = set()

        @cache  # many names share a word that no outcome has
        def occurs(term: str) -> bool:
            return bool(self._reader.rows("select 1 from said where said match ? limit 1", [term]))

        for name in skills:
            # The full-text table may split a word with other letters differently.
            terms = [f'"{word}"' for word in words(name) if word.isascii()]
            if not terms:
                ids.update(self._reader.column("select id from outcome"))
            elif all(map(occurs, terms)):
                ids.update(self._reader.column(query, [" AND ".join(terms)]))
        return ids


class ReceiptRow(NamedTuple):
    """The agent, trust, time and task in the receipt of a recommendation."""

    agent: str | None
    trust: str
    at: datetime
    task: str


class Recommendations(Topic):
    """The queries about recommendations."""

    def by_decision(self, decision: str) -> list[Recommendation]:
        """Return the recommendations for a decision, to any agent."""
        query = f"{FILE_ROWS} join recommendation r on f.n = r.n where r.decision = ? order by r.id"
        return self._reader.records(self._reader.rows(query, [decision]), Recommendation)

    def latest_decisions(self, prefix: str, limit: int) -> list[str]:
        """Return the latest decisions whose ids begin with `prefix`, latest first."""
        union = " union all ".join(
            f"select decision, at from {table} where decision != id and substr(decision, 1, ?) = ?"
            for table in ("recommendation", "outcome")
        )
        query = f"select decision from ({union}) group by decision order by max(at) desc limit ?"
        values = [len(prefix), prefix]
        return self._reader.column(query, [*values, *values, limit])

    def tasks(self, outcomes: Iterable[Outcome]) -> dict[str, str]:
        """Return the task of each outcome, from the outcome or from its recommendation."""
        tasks: dict[str, str] = {}
        decisions: dict[str, tuple[str, Claim]] = {}
        for outcome in outcomes:
            if outcome.decision.task:
                tasks[outcome.id] = outcome.decision.task
            elif outcome.decision.id:
                decisions[outcome.id] = outcome.decision.id, claim_of(outcome)
        return tasks | self.receipt_tasks(decisions)

    def receipt_tasks(self, outcomes: Mapping[str, tuple[str, Claim]]) -> dict[str, str]:
        """Return for each outcome the task in the latest receipt of its decision."""
        receipts = self._receipts({decision for decision, _ in outcomes.values()})
        ends = _ends(self._reader, receipts)
        return {
            outcome_id: receipt.task
            for outcome_id, (decision, claim) in outcomes.items()
            for receipt in select_receipts(
                claim, receipts.get(decision, ()), ends.get(decision, ())
            )
        }

    def _receipts(self, decisions: Iterable[str]) -> dict[str, list[ReceiptRow]]:
        query = """select decision, agent, trust, at, task
            from recommendation where decision in {} and task != '' order by id"""
        return group(
            (decision, ReceiptRow(agent, trust, moment(at), task))
            for decision, agent, trust, at, task in self._reader.rows_matching(query, decisions)
        )


def _ends(reader: Reader, decisions: Iterable[str]) -> dict[str, list[Claim]]:
    query = """select decision, agent, at
        from outcome where decision in {} and trust = 'local' and action != '' order by at, id"""
    rows = reader.rows_matching(query, decisions)
    return group((decision, Claim("local", agent, moment(at))) for decision, agent, at in rows)


_OUTCOMES = "select id, at, task, decision, trust, agent from outcome where id in {}"
_IS_APPLIED = "u.match in ('tool', 'explicit', 'implicit')"


class Tasks(Topic):
    """The tasks of outcomes that made or used a skill. A search finds the skill by them."""

    def of_outcomes(self, ids: Iterable[str]) -> dict[str, tuple[int, str]]:
        """Return (time, task) for each outcome whose task is known."""
        times: dict[str, int] = {}
        tasks: dict[str, str] = {}
        decisions: dict[str, tuple[str, Claim]] = {}
        for key, at, task, decision, trust, agent in self._reader.rows_matching(_OUTCOMES, ids):
            times[key] = at
            if task:
                tasks[key] = task
            elif decision:
                decisions[key] = decision, Claim(trust, agent, moment(at))
        tasks |= Recommendations(self._reader).receipt_tasks(decisions)
        return {key: (times[key], task) for key, task in tasks.items()}

    def of_skill(self, name: str) -> tuple[str, ...]:
        """Return the tasks by which a search finds a skill."""
        texts = self._reader.column("select task from ranked_task where id = ?", [f"skill:{name}"])
        return tuple(line for text in texts for line in text.splitlines())

    def latest_sources(self, name: str, limit: int) -> set[str]:
        """Return the latest outcomes from which a skill was made.

        At most `limit` outcomes are returned for each of its sources.
        """
        links = """from link where target_kind = ? and target_id = ?
            and type != 'contradicted' and source_kind"""
        record_query = f"select source_kind, source_id {links} in ('fact', 'skill')"
        query = f"select source_id {links} = 'evaluation' order by source_id desc limit {limit:d}"
        outcomes, targets = set[str](), [("skill", name)]
        for target in targets:  # the loop appends targets
            outcomes |= set(self._reader.column(query, target))
            rows = self._reader.rows(record_query, target)
            targets += [row for row in rows if row not in targets]
        return outcomes

    def latest_users(self, skill: str, limit: int) -> set[str]:
        """Return the latest outcomes that applied a skill, at most `limit`."""
        query = f"""select u.outcome from used u where {_IS_APPLIED} and u.skill = ?
            order by u.outcome desc limit ?"""
        return set(self._reader.column(query, [skill, limit]))

    def keep_tasks(self, tasks: Mapping[str, str]) -> None:
        """Replace the tasks that a search compares with a query, by skill; "" removes a task."""
        texts = {f"skill:{name}": task for name, task in tasks.items()}
        self._reader.change(lambda database, _: ranking.keep_tasks(database, texts))
