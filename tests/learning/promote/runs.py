"""Plain tables of runs: the memory that tests of the support of facts begin with."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from skillvault.learning.promote.evaluated_runs import RunBook, RunHistory, evaluated_run
from skillvault.learning.promote.facts import PromotionRecords, fact_text
from skillvault.learning.promote.support import Support, fact_changes
from skillvault.model.policy import Policy
from skillvault.model.records import Evaluation, Fact, Link, LinkType, Outcome, Status
from tests.given import evaluation, outcome, raw
from tests.learning.promote.test_facts import records

Run = tuple[Outcome, Evaluation]
POLICY = Policy()
WEAK = 0.5  # a quality by which a verdict alone makes no fact


def run_of(day: int, why: str, status: Status = "success", **changes: Any) -> Run:
    """A run of a session of its own that rests on a ground, and its weak verdict."""
    fields = {"source__session": f"s{day}", "event_id": f"run-{day}", **changes}
    quality, insight = fields.pop("quality_score", WEAK), fields.pop("insight", why)
    of = outcome(raw(day, decision__reasoning=why, result={"status": status}, **fields))
    ended = "failed" if status == "failure" else "succeeded"
    by = f" ({of.result.evidence})" if of.result.evidence else ""
    ground = f": the agent's reason was “{insight}”" if insight else ""
    said = f"{of.decision.action} on {of.decision.target} {ended}{by}{ground}."
    return of, evaluation(of, key_insight=said, quality_score=quality)


def _nothing(*_: object) -> tuple[()]:
    return ()


class KnownRuns:
    """Runs, the facts that they made, and their links with them."""

    def __init__(self, *batches: Sequence[Run]) -> None:
        self.facts: dict[str, Fact] = {}
        self.links: dict[str, Link] = {}
        self._runs: dict[str, Run] = {}
        for batch in batches:
            self.weigh(batch)

    def weigh(self, batch: Sequence[Run]) -> None:
        """Make facts and links of more runs, as one run of the loop does."""
        book = self.book
        self._runs |= {said.id: (of, said) for of, said in batch}
        evaluated = [run for of, said in batch if (run := evaluated_run(said, of))]
        plan = Support(book, self.records(batch), POLICY, upgrades=False).plan(evaluated)
        writes = [record for change in fact_changes(plan.facts) for record in change.writes]
        self.facts |= {record.id: record for record in writes if isinstance(record, Fact)}
        self.links |= {record.id: record for record in writes if isinstance(record, Link)}
        self.links |= {link.id: link for link in plan.links}
        for each in plan.retellings:
            fact = replace(self.facts[each.fact.id], importance=each.importance)
            if each.is_earlier:
                text, at = fact_text(each.run.evaluation), each.run.outcome.occurred_at
                fact = replace(fact, text=text, created_at=at)
            self.facts[fact.id] = fact

    @property
    def book(self) -> RunBook:
        """The runs so far, all of them as new ones."""
        names = ("stored_ids", "claims", "summaries", "tallies", "makers")
        queries = dict.fromkeys(names, _nothing)
        history = RunHistory(load=lambda _: {}, supporters_at=self._supporters_at, **queries)
        book = RunBook(history)
        book.add_runs(run for of, said in self._runs.values() if (run := evaluated_run(said, of)))
        for link in self.links.values():
            if link.type == "promoted":
                book.add_fact(book.new[link.source.id], link.target.id)
        return book

    def records(self, batch: Sequence[Run] = ()) -> PromotionRecords:
        """Return what the rule reads of some runs, of all by default."""
        pairs = list(batch) or list(self._runs.values())
        return records(pairs, facts=[*self.facts.values()], links=[*self.links.values()])

    def linked(self, fact: Fact, *types: LinkType) -> set[str]:
        """The days of the runs with a link of these types to a fact."""
        links = (link for link in self.links.values() if link.type in types)
        return {link.source.id[6:8] for link in links if link.target.id == fact.id}

    def _supporters_at(self, fact: str, at: datetime) -> list[str]:
        links = [link for link in self.links.values() if link.target.id == fact]
        told = (link.source.id for link in links if link.type in ("promoted", "reinforced"))
        return [name for name in told if self._runs[name][0].occurred_at == at]
