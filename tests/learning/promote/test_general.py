"""The facts that say the same in several domains, and the runs behind them."""

from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from skillvault.learning.promote.general import FactRuns, RecurringFacts, recurrences
from skillvault.model.records import Evaluation, Fact, Link, Outcome, Ref, link_of
from tests.given import NOW, evaluation, outcome, raw
from tests.learning.promote.test_facts import records

SAID = "Write the idempotency key before the first retry of a request."
ELSE = "Drain the queue before the worker restarts."


def fact_runs(made: Mapping[str, Outcome]) -> FactRuns:
    """Return the runs behind facts; each run made one fact."""
    return FactRuns(
        lambda facts: {fact: of for fact, of in made.items() if fact in facts},
        lambda runs: {of.id: of.result.status for of in made.values() if of.id in runs},
    )


def made(number: int, domain: str, said: str) -> tuple[Outcome, Evaluation, Fact, Link]:
    """A run, its verdict, the fact that it made, and the link between them."""
    of = outcome(raw(number, domain=domain, decision__reasoning=said, result={"status": "success"}))
    text = f"{of.decision.action} succeeded: it rested on “{said}”"
    fact = Fact(id=f"fact-{number}", domain=domain, text=text, created_at=of.occurred_at)
    judged = evaluation(of, key_insight=text)
    return (
        of,
        judged,
        fact,
        link_of("promoted", Ref("evaluation", of.id), Ref("fact", fact.id), NOW),
    )


MADE = [
    made(0, "coding", SAID), made(1, "perps", SAID), made(2, "coding", SAID),
    made(3, "coding", ELSE), made(4, "coding", ELSE), made(5, "mail", SAID),
]  # fmt: skip


def found(some: list[tuple[Outcome, Evaluation, Fact, Link]]) -> list[RecurringFacts]:
    """Return the facts that recur among these."""
    facts, links = [fact for _, _, fact, _ in some], [link for *_, link in some]
    pairs = [(of, judged) for of, judged, _, _ in some]
    runs = fact_runs({fact.id: of for of, _, fact, _ in some})
    return list(recurrences(records(pairs, facts=facts, links=links), runs))


def test_what_facts_of_one_domain_alone_say_does_not_recur() -> None:
    (recurring,) = found(MADE)
    assert [fact.id for fact in recurring.facts] == ["fact-0", "fact-1", "fact-2", "fact-5"]
    assert recurring.domain_names == ["coding", "mail", "perps"]
    assert recurring.succeeded == recurring.decided == len(recurring.run_ids)


@settings(max_examples=25)
@given(st.permutations(MADE))
def test_the_order_of_arrival_changes_nothing(
    order: list[tuple[Outcome, Evaluation, Fact, Link]],
) -> None:
    assert found(order) == found(MADE)
