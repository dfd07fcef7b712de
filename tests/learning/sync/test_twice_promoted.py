"""One evaluation of which two clones made a fact each."""

from itertools import permutations

from skillvault.learning.sync.table import supersede_facts
from skillvault.model import codec
from skillvault.model.records import Fact, Ref
from tests.given import NOW


def fact(name: str, text: str, supersedes: str | None = None) -> bytes:
    """A fact's file."""
    return codec.encode(
        Fact(id=name, domain="perps", text=text, created_at=NOW, supersedes=supersedes)
    )


def superseded(content: bytes) -> str | None:
    """Return the name of the fact that a fact's file supersedes, if any."""
    record = codec.decode(Ref("fact", "a"), content, "perps")
    assert isinstance(record, Fact)
    return record.supersedes


def test_the_fact_that_says_the_kept_insight_stays_and_supersedes_the_other() -> None:
    facts = {"a": fact("a", "Sell early."), "b": fact("b", "Sell  late.")}
    changed = supersede_facts(facts, "Sell late.")
    assert {name: superseded(content) for name, content in changed.items()} == {"b": "a"}


def test_where_none_says_it_the_least_id_stays_whichever_clone_asks() -> None:
    facts = {name: fact(name, f"Of {name}.") for name in "abc"}
    for order in permutations(facts):
        changed = supersede_facts({name: facts[name] for name in order}, "Sell late.")
        assert {n: superseded(c) for n, c in changed.items()} == {"a": "b", "b": "c"}


def test_what_supersedes_another_fact_already_stays_as_it_is() -> None:
    facts = {"a": fact("a", "Of a.", supersedes="older"), "b": fact("b", "Of b.")}
    assert supersede_facts(facts, "") == {}


def test_a_persons_fact_without_front_matter_supersedes_nothing() -> None:
    assert supersede_facts({"a": b"Just words.\n", "b": fact("b", "Of b.")}, "") == {}
