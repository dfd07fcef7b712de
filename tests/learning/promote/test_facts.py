"""promote: strong confirmed verdicts become facts, repeats support them; clusters are exact."""

import gzip
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.promote import facts as promote
from skillvault.learning.promote.facts import clusters
from skillvault.learning.rejection import Rejections
from skillvault.loop.profiles import rules_of
from skillvault.model.errors import UsageError
from skillvault.model.policy import Policy
from skillvault.model.records import Commit, Evaluation, Fact, Link, Outcome, Status
from skillvault.model.text.text import similarity, theme
from tests.given import NOW, evaluation, outcome, raw

SAID = "Raising the timeout hides the race and the test stays flaky afterwards"
POLICY = Policy()


def judged(day: int, *, trust: Any = "local", **changes: Any) -> tuple[Outcome, Evaluation]:
    """A failure and its evaluation."""
    of = outcome(raw(day), trust)
    return of, evaluation(of, **{"key_insight": SAID, **changes})


class Counts:
    """The counts of facts, from their links."""

    def __init__(self, pairs: Sequence[tuple[Outcome, Evaluation]], links: Sequence[Link]) -> None:
        self._outcomes = {o.id: o for o, _ in pairs}
        self._links = links

    def _supporters(self, facts: Collection[str]) -> list[tuple[str, str]]:
        links = [link for link in self._links if link.type in ("promoted", "reinforced")]
        return [(link.target.id, link.source.id) for link in links if link.target.id in facts]

    def supporter_counts(self, facts: Collection[str]) -> Mapping[str, int]:
        return Counter(fact for fact, _ in self._supporters(facts))

    def opponent_counts(self, facts: Collection[str]) -> Mapping[str, int]:
        links = [link for link in self._links if link.type == "contradicted"]
        return Counter(link.target.id for link in links if link.target.id in facts)

    def endings(self, facts: Collection[str]) -> Mapping[str, Status]:
        made = [link for link in self._links if link.type == "promoted"]
        ends = {link.target.id: self._outcomes.get(link.source.id) for link in made}
        return {fact: of.result.status for fact, of in ends.items() if of and fact in facts}

    def supporters(self, facts: Collection[str]) -> Sequence[str]:
        return sorted({name for _, name in self._supporters(facts)})

    def opponents(self, facts: Collection[str]) -> list[str]:
        links = [link for link in self._links if link.type == "contradicted"]
        return sorted({link.source.id for link in links if link.target.id in facts})

    def counts_until(self, facts: Collection[str], until: str) -> dict[str, tuple[int, int]]:
        both = {fact: (self.supporters([fact]), self.opponents([fact])) for fact in facts}
        return {
            fact: (sum(run <= until for run in told), sum(run <= until for run in denied))
            for fact, (told, denied) in both.items()
        }

    def is_of_one_subject(self, facts: Collection[str]) -> bool:
        known = (self._outcomes.get(name) for _, name in self._supporters(facts))
        return len({outcome.subject for outcome in known if outcome}) == 1


def records(
    pairs: Sequence[tuple[Outcome, Evaluation]],
    *,
    facts: Sequence[Fact] = (),
    links: Sequence[Link] = (),
    commits: Sequence[Commit] = (),
    policy: Policy = POLICY,
) -> promote.PromotionRecords:
    """Return the records that the rule reads."""
    present = {f"fact:{fact.id}" for fact in facts} | {f"link:{link.id}" for link in links}
    evaluations = {e.id: e for _, e in pairs}
    sessions = {o.id: o.session for o, _ in pairs}
    rejections = Rejections(commits, present)

    def behind(names: Collection[str]) -> list[str]:
        told = [link for link in links if link.type in ("promoted", "reinforced")]
        return sorted({link.source.id for link in told if link.target.id in names})

    return promote.PromotionRecords(
        rules=rules_of(policy),
        counts=Counts(pairs, links),
        clock=lambda _: None,
        outcomes={o.id: o for o, _ in pairs},
        evaluations=evaluations,
        facts={fact.id: fact for fact in facts},
        links={link.id: link for link in links},
        made_skills={},
        rejections=rejections,
        taken_away=evaluations.values(),
        support=lambda names: [evaluations[e] for e in behind(names) if e in evaluations],
        outcomes_of=lambda names: {o.id: o for o, _ in pairs if o.id in names},
        sessions_of=lambda names: {sessions[e] for e in behind(names) if e in sessions},
    )


def fact(text: str, name: str = "known-fact", **changes: Any) -> Fact:
    """A fact in memory."""
    return Fact(id=name, domain="coding", text=text, **changes)


def test_a_fact_keeps_what_to_do() -> None:
    _, said = judged(0, better_approach="Reproduce it under load first.")
    assert promote.fact_text(said) == f"{SAID}\nReproduce it under load first."
    assert promote.statement_of(fact(promote.fact_text(said), kind="judge")) == SAID


def test_what_to_do_does_not_quote_the_insight_again() -> None:
    said = evaluation(
        outcome(raw()), key_insight="It assumed: “timing”.", better_approach="Settle it: “timing”."
    )
    assert promote.fact_text(said) == "It assumed: “timing”.\nSettle it."


def test_a_fact_by_hand_says_something() -> None:
    with pytest.raises(UsageError, match="too little"):
        promote.human_fact(
            " x ", "coding", importance="low", old_fact=None, review_by=None, now=NOW
        )


# ── clusters ─────────────────────────────────────────────────────────────────────────


def _scan(facts: Sequence[str], threshold: float, min_size: int) -> list[list[int]]:
    """The rule as it is written."""
    used: set[int] = set()
    found = []
    for seed in range(len(facts)):
        if seed in used:
            continue
        later = (i for i in range(seed + 1, len(facts)) if i not in used)
        cluster = [seed, *(i for i in later if similarity(facts[seed], facts[i]) > threshold)]
        used.update(cluster)
        if len(cluster) >= min_size:
            found.append(cluster)
    return found


@given(
    st.lists(
        st.lists(st.sampled_from("aaaa bbbb cccc dddd eeee".split()), max_size=5).map(" ".join),
        max_size=14,
    ),
    st.sampled_from([0.2, 0.4, 0.5, 0.75]),
    st.integers(min_value=1, max_value=4),
)
def test_clusters_equal_the_greedy_scan(facts: list[str], threshold: float, size: int) -> None:
    assert clusters(facts, threshold, size) == _scan(facts, threshold, size)


def _vectors(shared: Path) -> list[dict[str, Any]]:
    found = json.loads((shared / "vectors/clusters_small.json").read_text())["vectors"]
    for path in sorted((shared / "vectors").glob("clusters_*.json.gz")):
        with gzip.open(path) as file:
            found += json.load(file)["vectors"]
    return list(found)


def test_clusters_and_themes_equal_the_vectors(shared: Path) -> None:
    for vector in _vectors(shared):
        found = clusters(*vector["args"])
        assert found == vector["expect"], vector["id"]
        for places, expected in zip(found, vector.get("themes", ()), strict=False):
            assert theme([vector["args"][0][i] for i in places]) == expected
