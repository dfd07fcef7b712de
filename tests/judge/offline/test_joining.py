"""The text of an evolved skill: what several subjects say together, told once."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillvault.brief import Agreement, Cause, Remedy, Rule, Statement
from skillvault.judge.offline.joining import joined
from skillvault.judge.offline.judge import OfflineJudge
from skillvault.records import Outcome, SkillKind
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
        "Synthesized Insight": f"- It rested on a guess: “{GUESS}” (3 of 3).",
        "When This Applies": "- Before fix-flaky-test on SOL-PERP, ARB-PERP and DOGE-PERP.",
        "Key Principles": (
            f"- Settle this before building on it: “{GUESS}”\n"
            f"- [ ] Is this known now, or still guessed: “{GUESS}”"
        ),
        "Evidence": (
            "- 3 of 3 failed or lost.\n"
            "- fix-flaky-test on SOL-PERP: 1 of 1 failed or lost.\n"
            "- fix-flaky-test on ARB-PERP: 1 of 1 failed or lost.\n"
            "- fix-flaky-test on DOGE-PERP: 1 of 1 failed or lost."
        ),
    }


def test_title_and_description_say_what_they_share() -> None:
    made = joined(guessed())
    assert made.title.startswith("fix-flaky-test: I assume the retry decorator")
    assert made.description == (
        "Warns of fix-flaky-test (I assume the retry decorator handles timeouts in client.py), "
        "as 3 subjects say alike. Use before fix-flaky-test."
    )


def test_the_counts_are_of_all_decisions_of_these_subjects() -> None:
    won = {"result": {"status": "success"}, "decision__reasoning": GUESS}
    lost = {**won, "result": {"status": "failure"}}
    groups = [
        [outcome(raw(day, decision__target=target, **(won if day == 2 else lost))) for day in at]
        for target, at in zip(TARGETS, ((0, 1, 2), (3, 4), (5,)), strict=True)
    ]
    told = sections(agreement(groups))
    assert told["Synthesized Insight"] == (
        f"- It rested on a guess: “{GUESS}” (1 of 6 that said so succeeded, the others failed)."
    )
    assert told["Evidence"].splitlines() == [
        "- 5 of 6 failed or lost.",
        "- fix-flaky-test on SOL-PERP: 2 of 3 failed or lost.",
        "- fix-flaky-test on ARB-PERP: 2 of 2 failed or lost.",
        "- fix-flaky-test on DOGE-PERP: 1 of 1 failed or lost.",
    ]


def test_a_rule_stands_with_when_it_applies_and_a_remedy_with_the_principles() -> None:
    together = brief(Rule(separation=EVENING), Remedy(cause=cause("check", "I ran all tests.")))
    told = sections(Agreement(together=together, apart=(together,)))
    assert told["When This Applies"].splitlines()[1] == (
        "- When decided between 18:00 and 24:00 UTC: then 5 of 55 were losses, otherwise 1 of 124."
    )
    assert told["Key Principles"] == "- What worked instead: it checked it by “I ran all tests.”"


def test_where_the_kind_alone_agrees_no_example_stands_for_all() -> None:
    together = brief(cause("stopped", "Let me write the file.", alike=False))
    told = sections(Agreement(together=together, apart=(together,)))
    assert list(told) == ["When This Applies", "Evidence"]


def test_a_pattern_tells_what_worked_and_asks_nothing() -> None:
    together = brief(cause("guess", "Volume may follow."), kind="pattern")
    told = sections(Agreement(together=together, apart=(together,)))
    assert list(told) == ["Synthesized Insight", "When This Applies", "Evidence"]
    assert "succeeded or gained" in told["Evidence"]


def test_of_many_subjects_some_are_named_and_the_others_counted() -> None:
    groups = [
        [outcome(raw(n, decision__target=f"T{n}", decision__reasoning=GUESS))] for n in range(15)
    ]
    evidence = sections(agreement(groups))["Evidence"].splitlines()
    assert len(evidence) == 14
    assert evidence[-1] == "- 3 more subjects."


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
