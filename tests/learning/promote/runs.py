"""Plain tables of runs: the memory that tests of the support of facts begin with."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from skillvault.learning.promote.facts import PromotionMaterial, fact_text
from skillvault.learning.promote.support import (
    CROWDED,
    Memory,
    Runs,
    Support,
    Witness,
    fact_changes,
    witness_of,
)
from skillvault.model.policy import Policy
from skillvault.model.records import Evaluation, Fact, Link, LinkType, Outcome, Status
from tests.given import evaluation, outcome, raw
from tests.learning.promote.test_facts import material

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
    ground = f": its ground was “{insight}”" if insight else ""
    said = f"{of.decision.action} on {of.decision.target} {ended}{by}{ground}."
    return of, evaluation(of, key_insight=said, quality_score=quality)


class KnownRuns(Memory):
    """Runs, the facts that they made, and their links with them."""

    def __init__(self, *batches: Sequence[Run]) -> None:
        self.facts: dict[str, Fact] = {}
        self.links: dict[str, Link] = {}
        self._runs: dict[str, Run] = {}
        self._witnesses: dict[str, Witness] = {}
        self._firsts: dict[str, str] = {}
        self._grounds: dict[tuple[str, str], set[str]] = defaultdict(set)
        for batch in batches:
            self.weigh(batch)

    def weigh(self, batch: Sequence[Run]) -> None:
        """Make facts and links of more runs, as one run of the loop does."""
        self._runs |= {said.id: (of, said) for of, said in batch}
        heard = {said.id: witness for of, said in batch if (witness := witness_of(said, of))}
        self._witnesses |= heard
        plan = Support(self, self.material(batch), POLICY).plan(heard.values())
        writes = [record for change in fact_changes(plan.facts) for record in change.writes]
        self.facts |= {record.id: record for record in writes if isinstance(record, Fact)}
        self.links |= {record.id: record for record in writes if isinstance(record, Link)}
        self.links |= {link.id: link for link in plan.links}
        for each in plan.retellings:
            fact = replace(self.facts[each.fact.id], importance=each.importance)
            if each.is_earlier:
                text = fact_text(each.witness.evaluation)
                fact = replace(fact, text=text, created_at=each.witness.outcome.occurred_at)
            self.facts[fact.id] = fact

    def material(self, batch: Sequence[Run] = ()) -> PromotionMaterial:
        """Return what the rule reads of some runs, of all by default."""
        pairs = list(batch) or list(self._runs.values())
        return material(pairs, facts=[*self.facts.values()], links=[*self.links.values()])

    def linked(self, fact: Fact, *types: LinkType) -> set[str]:
        """The days of the runs with a link of these types to a fact."""
        links = (link for link in self.links.values() if link.type in types)
        return {link.source.id[6:8] for link in links if link.target.id == fact.id}

    def alike(self, witness: Witness) -> Sequence[Witness]:
        firsts = dict.fromkeys(self._firsts.values())
        said = (self._witnesses[first] for first in firsts)
        return [w for w in said if w.evaluation.domain == witness.evaluation.domain]

    def heard(self, evaluations: Iterable[str]) -> Mapping[str, Witness]:
        return {name: self._witnesses[name] for name in evaluations if name in self._witnesses}

    def remembered(self, evaluations: Iterable[str]) -> Collection[str]:
        return {name for name in evaluations if name in self._firsts}

    def spread(self, firsts: Collection[str]) -> bool:
        statuses: tuple[Status, ...] = ("success", "failure")
        return any(len(self.speaking(firsts, status).sessions) > 1 for status in statuses)

    def speaking(self, firsts: Collection[str], status: Status) -> Runs:
        known = (self._witnesses[name] for name, first in self._firsts.items() if first in firsts)
        ended = [witness for witness in known if witness.outcome_status == status]
        return Runs(frozenset(w.id for w in ended), frozenset(w.session for w in ended))

    def stating(self, domain: str, grounds: Collection[str]) -> Mapping[str, Status]:
        known = (self._witnesses[name] for name in self._firsts)
        return {
            w.id: w.outcome_status
            for w in known
            if w.evaluation.domain == domain and w.stated & set(grounds)
        }

    def facts_of(self, firsts: Collection[str]) -> Mapping[str, str]:
        made = self._made().items()
        return {fact: name for fact, name in made if self._firsts.get(name) in firsts}

    def facts_on(self, domain: str, grounds: Collection[str]) -> Mapping[str, Mapping[str, str]]:
        made = sorted((name, fact) for fact, name in self._made().items())
        return {
            ground: {
                fact: name
                for name, fact in [m for m in made if m[0] in self._grounds[domain, ground]][
                    :CROWDED
                ]
            }
            for ground in grounds
        }

    def tellers(self, fact: str, at: datetime) -> Iterable[str]:
        links = [link for link in self.links.values() if link.target.id == fact]
        told = (link.source.id for link in links if link.type in ("promoted", "reinforced"))
        return [name for name in told if self._runs[name][0].occurred_at == at]

    def remember(self, witness: Witness, first: str) -> None:
        self._firsts.setdefault(witness.id, first)

    def keep_grounds(self, witness: Witness) -> None:
        for ground in witness.grounds:
            self._grounds[witness.evaluation.domain, ground].add(witness.id)

    def _made(self) -> dict[str, str]:
        links = self.links.values()
        return {link.target.id: link.source.id for link in links if link.type == "promoted"}
