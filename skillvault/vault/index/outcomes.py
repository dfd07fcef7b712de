"""The outcomes of the vault: by event, by decision, by subject, among peers; and their tasks."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import NamedTuple

from skillvault.model.decision_outcomes import Claim, claim_of, select_receipts
from skillvault.model.records import Outcome, Recommendation, Status, Trust
from skillvault.vault.index.reader import FILES, Reader, Topic
from skillvault.vault.index.records import Folder
from skillvault.vault.index.rows import domains_of, grouped, micros, moment, words
from skillvault.vault.search import ranking

# With which outcomes one is compared: a trusted one with trusted ones, any other with all.
_COMPARED: Mapping[Trust, str] = {"local": "trust = 'local'", "untrusted": "true"}
HAS_EVALUATION = (
    "o.counts and exists (select 1 from file e "
    "where e.ref_kind = 'evaluation' and e.ref_id = o.id and e.type = 'Evaluation')"
)
EVALUATED = f"trust = 'local' and {HAS_EVALUATION}"


class Outcomes(Folder[Outcome]):
    """id -> outcome, and the queries about them."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader, "outcomes", Outcome)

    def domains(self, trust: Trust) -> frozenset[str]:
        """The domains that an outcome of this trust is compared with: of trusted ones, or all."""
        query = domains_of("outcome", _COMPARED[trust])
        return frozenset(domain for (domain,) in self._reader.rows(query))

    def actions(self, domain: str) -> list[str]:
        """The actions of a domain's outcomes, by name."""
        query = (
            "select distinct action from outcome where domain = ? and action != '' order by action"
        )
        return [action for (action,) in self._reader.rows(query, [domain])]

    def latest_time(self, domain: str | None = None) -> datetime | None:
        """When the latest trusted outcome happened, of a domain or of all."""
        names = [domain] if domain is not None else sorted(self.domains("local"))
        query = (
            "select at from outcome where domain = ? and trust = 'local' order by at desc limit 1"
        )
        times = [at for name in names for (at,) in self._reader.rows(query, [name])]
        return moment(max(times)) if times else None

    def ids_by_domain(self, outcomes: Iterable[str]) -> dict[str, set[str]]:
        """Domain -> those of these outcomes that are its own, by name; no domain of one gone."""
        query = "select distinct domain, id from outcome where id in {}"
        found: dict[str, set[str]] = {}
        for domain, outcome_id in sorted(self._reader.rows_in(query, outcomes)):
            found.setdefault(domain, set()).add(outcome_id)
        return found

    def since(self, domain: str, at: datetime, trust: Trust | None = "local") -> list[str]:
        """The evaluated outcomes of a domain that ended then or later, latest first.

        Those of a trust, None for any.
        """
        query = (
            "select distinct o.id, o.at from outcome o where o.domain = ? and o.at >= ? "
            f"and (? is null or o.trust = ?) and {HAS_EVALUATION} order by o.at desc, o.id desc"
        )
        return [name for name, _ in self._reader.rows(query, [domain, micros(at), trust, trust])]

    def subjects_in(self, domain: str) -> list[tuple[str, str, str | None]]:
        """The (id, action, target) of a domain's evaluated outcomes."""
        query = (
            "select distinct o.id, o.action, o.target from outcome o "
            f"where o.domain = ? and {HAS_EVALUATION} order by o.id"
        )
        return [(name, action, on) for name, action, on in self._reader.rows(query, [domain])]

    def by_event(self, events: Iterable[str]) -> list[Outcome]:
        """The outcomes with these event ids."""
        return self._reader.records(self._reader.rows_in(_joined("event in {}"), events), Outcome)

    def statuses(self, ids: Iterable[str]) -> dict[str, Status]:
        """How these outcomes ended."""
        return dict(self._reader.rows_in("select id, status from outcome where id in {}", ids))

    def by_session(self, session: str, trust: Trust) -> list[Outcome]:
        """The outcomes of a session with this trust, oldest first."""
        rows = self._reader.rows(_joined("session = ? and trust = ?"), [session, trust])
        return sorted(self._reader.records(rows, Outcome), key=lambda outcome: outcome.order)

    def by_decision(self, decision: str) -> list[Outcome]:
        """The outcomes of a decision; the id of one without a decision's id stands for that."""
        rows = self._reader.rows(_joined("decision = ?"), [decision])
        return self._reader.records(rows, Outcome)

    def ends(self, decision: str) -> list[Claim]:
        """The trusted outcomes of a decision, as claims to what was shown for it, oldest first."""
        return _ends(self._reader, [decision]).get(decision, [])

    def overruled(self, ids: Iterable[str]) -> set[str]:
        """Those of these outcomes in whose place another one of their decision counts."""
        query = "select id from outcome where not counts and id in {}"
        return {name for (name,) in self._reader.rows_in(query, ids)}

    def failures_without_lesson(self, ids: Iterable[str]) -> list[Outcome]:
        """Return what counts of these outcomes' decisions, failed and has no lesson; by time."""
        query = (
            f"{FILES} join outcome o on f.n = o.n join outcome said on said.decision = o.decision "
            "and said.agent is o.agent and said.trust = o.trust "
            "where o.status = 'failure' and o.counts and o.trust = 'local' and said.id in {}"
        )
        outcomes = self._reader.records(self._reader.rows_in(query, ids), Outcome)
        silent = {outcome.id: outcome for outcome in outcomes if outcome.lesson is None}
        return sorted(silent.values(), key=lambda outcome: outcome.order)

    def untrusted(self, ids: Iterable[str]) -> set[str]:
        """Those of these outcomes, and of these recommendations, that are untrusted."""
        names = list(ids)
        tables = ("outcome", "recommendation")
        queries = (f"select id from {t} where trust = 'untrusted' and id in {{}}" for t in tables)
        return {name for query in queries for (name,) in self._reader.rows_in(query, names)}

    def count_evaluated(self, domain: str) -> int:
        """How many trusted and evaluated outcomes a domain has."""
        query = f"select count(*) from outcome o where domain = ? and {EVALUATED}"
        return int(self._reader.value(query, [domain]))

    def latest_evaluated(self, domain: str, count: int) -> list[str]:
        """Return the ids of the latest trusted and evaluated outcomes of a domain, oldest first."""
        query = (
            f"select id from outcome o where domain = ? and {EVALUATED} "
            "order by at desc, id desc limit ?"
        )
        rows = self._reader.rows(query, [domain, count])
        return [name for (name,) in reversed(rows)]

    def actions_of(self, outcomes: Iterable[str]) -> list[tuple[str, str]]:
        """(domain, action) of these outcomes, those that are trusted, each once."""
        query = "select distinct domain, action from outcome where trust = 'local' and id in {}"
        return sorted({(of, action) for of, action in self._reader.rows_in(query, outcomes)})

    # ── by what they say ─────────────────────────────────────────────────────────────

    def mentioning(self, skills: Iterable[str]) -> set[str]:
        """The ids of the outcomes that may name any of these skills: all words of it occur."""
        query = "select o.id from said join outcome o on o.n = said.rowid where said match ?"
        occurs = cache(self._occurs)  # many names share a word that no outcome holds
        ids: set[str] = set()
        for name in skills:
            # A word that is no ASCII may be cut otherwise in the full-text table.
            terms = [f'"{word}"' for word in words(name) if word.isascii()]
            if not terms:
                ids.update(name for (name,) in self._reader.rows("select id from outcome"))
            elif all(map(occurs, terms)):
                ids.update(name for (name,) in self._reader.rows(query, [" AND ".join(terms)]))
        return ids

    def _occurs(self, word: str) -> bool:
        return bool(self._reader.rows("select 1 from said where said match ? limit 1", [word]))


class AskedRow(NamedTuple):
    """A receipt, as far as it says what was asked of whom."""

    agent: str | None
    trust: str
    at: datetime
    task: str


class Recommendations(Topic):
    """What agents were recommended."""

    def by_decision(self, decision: str) -> list[Recommendation]:
        """What was recommended for a decision, to whomever."""
        query = f"{FILES} join recommendation r on f.n = r.n where r.decision = ? order by r.id"
        return self._reader.records(self._reader.rows(query, [decision]), Recommendation)

    def latest_decisions(self, beginning: str, limit: int) -> list[str]:
        """The decisions whose ids begin so, of recommendations and outcomes, the latest first."""
        both = " union all ".join(
            f"select decision, at from {table} where decision != id and substr(decision, 1, ?) = ?"
            for table in ("recommendation", "outcome")
        )
        query = f"select decision from ({both}) group by decision order by max(at) desc limit ?"
        values = [len(beginning), beginning]
        return [name for (name,) in self._reader.rows(query, [*values, *values, limit])]

    def tasks(self, outcomes: Iterable[Outcome]) -> dict[str, str]:
        """Outcome id -> what was asked, of those that say so or whose recommendation does."""
        tasks: dict[str, str] = {}
        silent: dict[str, tuple[str, Claim]] = {}
        for outcome in outcomes:
            if outcome.decision.task:
                tasks[outcome.id] = outcome.decision.task
            elif outcome.decision.id:
                silent[outcome.id] = outcome.decision.id, claim_of(outcome)
        return tasks | self.asked(silent)

    def asked(self, outcomes: Mapping[str, tuple[str, Claim]]) -> dict[str, str]:
        """Outcome -> the task that was asked for its decision, as its own latest receipt says."""
        receipts = self._receipts({decision for decision, _ in outcomes.values()})
        ends = _ends(self._reader, receipts)
        tasks: dict[str, str] = {}
        for name, (decision, claim) in outcomes.items():
            for receipt in select_receipts(
                claim, receipts.get(decision, ()), ends.get(decision, ())
            ):
                tasks[name] = receipt.task
        return tasks

    def _receipts(self, decisions: Iterable[str]) -> dict[str, list[AskedRow]]:
        """Decision -> its receipts that name a task, oldest first."""
        query = (
            "select decision, agent, trust, at, task from recommendation "
            "where decision in {} and task != '' order by id"
        )
        return grouped(
            (decision, AskedRow(agent, trust, moment(at), task))
            for decision, agent, trust, at, task in self._reader.rows_in(query, decisions)
        )


def _ends(reader: Reader, decisions: Iterable[str]) -> dict[str, list[Claim]]:
    """Decision -> its trusted outcomes, oldest first."""
    query = (
        "select decision, agent, at from outcome where decision in {} and trust = 'local' "
        "and action != '' order by at, id"
    )
    rows = reader.rows_in(query, decisions)
    return grouped((name, Claim("local", agent, moment(at))) for name, agent, at in rows)


def _joined(where: str) -> str:
    return f"{FILES} join outcome o on f.n = o.n where {where}"


_OUTCOMES = "select id, at, task, decision, trust, agent from outcome where id in {}"
_APPLIED = "u.match in ('tool', 'explicit', 'implicit')"


class Tasks(Topic):
    """The tasks of the outcomes that made or used a skill."""

    def of_outcomes(self, ids: Iterable[str]) -> dict[str, tuple[int, str]]:
        """Outcome -> (when it was, what was asked), of those of which that is known."""
        times: dict[str, int] = {}
        tasks: dict[str, str] = {}
        silent: dict[str, tuple[str, Claim]] = {}
        for name, at, task, decision, trust, agent in self._reader.rows_in(_OUTCOMES, ids):
            times[name] = at
            if task:
                tasks[name] = task
            elif decision:
                silent[name] = decision, Claim(trust, agent, moment(at))
        tasks |= Recommendations(self._reader).asked(silent)
        return {name: (times[name], task) for name, task in tasks.items()}

    def latest_behind(self, name: str, most: int) -> set[str]:
        """The ids of the latest outcomes that a skill rests on; so many of each step at most."""
        links = (
            "from link where target_kind = ? and target_id = ? and type != 'contradicted' "
            "and source_kind"
        )
        made_of = f"select source_kind, source_id {links} in ('fact', 'skill')"
        latest = f"select source_id {links} = 'evaluation' order by source_id desc limit {most:d}"
        outcomes: set[str] = set()
        targets = [("skill", name)]
        for target in targets:  # which grows
            outcomes |= {source for (source,) in self._reader.rows(latest, target)}
            targets += [row for row in self._reader.rows(made_of, target) if row not in targets]
        return outcomes

    def latest_users(self, skill: str, most: int) -> set[str]:
        """The ids of the latest outcomes that applied a skill, so many at most."""
        query = (
            f"select u.outcome from used u where {_APPLIED} and u.skill = ? "
            f"order by u.outcome desc limit {most:d}"
        )
        return {outcome for (outcome,) in self._reader.rows(query, [skill])}

    def keep(self, tasks: Mapping[str, str]) -> None:
        """Let skills be found by these tasks, in place of those before; "" for none."""
        texts = {f"skill:{name}": task for name, task in tasks.items()}
        self._reader.change(lambda database, _: ranking.keep_tasks(database, texts))
