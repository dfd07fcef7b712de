"""The text of an evolved skill: what several subjects say together, told once."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillvault.judge.offline.drafting import joined
from skillvault.judge.offline.judge import OfflineJudge
from skillvault.model.brief import Agreement, Cause, Remedy, Rule, Statement
from skillvault.model.records import Outcome, SkillKind
from tests.given import outcome, raw, trade
from tests.judge.offline.test_drafting import HOSTILE, KINDS, brief, cause, check_inert, hostile, of
from tests.rules import EVENING, context

TARGETS = ["SOL-PERP", "ARB-PERP", "DOGE-PERP"]
GUESS = "I assume the retry decorator handles timeouts in client.py."


def agreement(groups: Sequence[Sequence[Outcome]], kind: SkillKind = "warning") -> Agreement:
    """What the outcomes of several subjects say, together and apart."""
    together = of([one for group in groups for one in group], kind)
    return Agreement(together=together, apart=tuple(of(group, kind) for group in groups))


def guessed(**changes: Any) -> Agreement:
    """Three subjects, each of which failed once on the same guess."""
    said = {"decision__reasoning": GUESS, "result__evidence": None, **changes}
    return agreement([[outcome(raw(d, decision__target=t, **said))] for d, t in enumerate(TARGETS)])


def sections(made: Agreement) -> dict[str, str]:
    """Heading -> text of the draft."""
    return dict(joined(made).sections)


def test_the_judge_writes_what_is_joined() -> None:
    assert OfflineJudge().write(guessed()) == joined(guessed())


def test_what_all_say_is_told_once_where_it_is_acted_on() -> None:
    assert sections(guessed()) == {
        "Synthesized Insight": f"- Assumed, and settled by nobody: “{GUESS}” (3 of 3 that failed).",
        "When This Applies": (
            "- Before fix-flaky-test on SOL-PERP, ARB-PERP and DOGE-PERP (3 of 3 failed or lost)."
        ),
    }


def test_title_and_description_say_what_they_share() -> None:
    made = joined(guessed())
    assert made.title == "fix-flaky-test: rested on an assumption"
    assert made.description == (
        f"Use before fix-flaky-test. Assumed, and settled by nobody: “{GUESS}” "
        "(3 of 3 that failed)."
    )


def test_the_counts_are_of_all_decisions_of_these_subjects() -> None:
    won = {"result": {"status": "success"}, "decision__reasoning": GUESS}
    lost = {**won, "result": {"status": "failure"}}
    groups = [
        [outcome(raw(day, decision__target=target, **(won if day == 2 else lost))) for day in at]
        for target, at in zip(TARGETS, ((0, 1, 2), (3, 4), (5,)), strict=True)
    ]
    text = sections(agreement(groups))
    assert text["Synthesized Insight"].endswith("(5 of 5 that failed and 1 of 1 that succeeded).")
    assert text["When This Applies"].endswith("(5 of 6 failed or lost).")


def test_what_to_do_stands_with_the_principles() -> None:
    together = brief(Rule(separation=EVENING), Remedy(cause=cause("check", "I ran 9 tests.")))
    text = sections(Agreement(together=together, apart=(together,)))
    assert text["Synthesized Insight"].startswith("- When decided between 18:00 and 24:00 UTC")
    assert text["Key Principles"].startswith("- [ ] What worked: “I ran 9 tests.” (a check of ")


def test_a_pattern_tells_what_worked() -> None:
    together = brief(cause("found", "The key lacks the tenant."), kind="pattern")
    text = sections(Agreement(together=together, apart=(together,)))
    assert list(text) == ["Synthesized Insight", "When This Applies"]
    assert "succeeded or gained" in text["When This Applies"]


def test_of_many_subjects_some_are_named_and_the_others_counted() -> None:
    groups = [
        [outcome(raw(n, decision__target=f"T{n}", decision__reasoning=GUESS))] for n in range(15)
    ]
    when = sections(agreement(groups))["When This Applies"]
    assert when.endswith(" T6, T7 and 7 more (15 of 15 failed or lost).")


def test_the_order_of_the_outcomes_changes_no_word() -> None:
    groups = [[outcome(trade(n * 3 + d, decision__target=t)) for d in range(3)]
              for n, t in enumerate(TARGETS)]  # fmt: skip
    turned = [group[::-1] for group in groups]
    assert joined(agreement(groups)) == joined(agreement(turned))


@pytest.mark.parametrize("kind", ["warning", "pattern"])
@pytest.mark.parametrize("score", [None, 0.4])
def test_foreign_text_cannot_pass_for_structure(kind: SkillKind, score: float | None) -> None:
    down = None if score is None else -score
    group = [hostile(0, "failure", down), hostile(1, "success", score)]
    check_inert(joined(agreement([group, group], kind)))


@pytest.mark.parametrize("kind", ["warning", "pattern"])
def test_no_statement_lets_foreign_text_pass_for_structure(kind: SkillKind) -> None:
    causes: list[Cause] = [cause(name, HOSTILE) for name in KINDS]  # type: ignore[arg-type]
    rule = Rule(separation=context(HOSTILE, HOSTILE))
    every: list[list[Statement]] = [[rule, *causes]]
    every += [[one, Remedy(cause=one)] for one in causes]
    for statements in every:
        together = brief(*statements, kind=kind)
        check_inert(joined(Agreement(together=together, apart=(together, together))))


@settings(max_examples=50)
@given(st.text(max_size=300), st.text(max_size=100), st.sampled_from(["warning", "pattern"]))
def test_any_text_gives_bullets_and_a_short_title(
    reasoning: str, evidence: str, kind: SkillKind
) -> None:
    score = -0.3 if kind == "warning" else 0.3
    said = {"result__evidence": evidence, "decision__reasoning": reasoning}
    made = agreement(
        [[outcome(trade(n, score, decision__target=t, **said))] for n, t in enumerate(TARGETS)],
        kind,
    )
    check_inert(joined(made))
