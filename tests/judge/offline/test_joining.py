"""The text of an evolved skill of `profile: seed`: what like warnings say, told once."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillvault.judge.offline.drafting import draft_agreement
from skillvault.judge.offline.judge import OfflineJudge
from skillvault.model.brief import Agreement
from skillvault.model.records import Outcome, SkillKind
from tests.given import outcome, trade
from tests.judge.offline.test_drafting import brief, check_inert, hostile, of, said

TARGETS = ["SOL-PERP", "ARB-PERP", "DOGE-PERP"]
CHASED = "I chase the breakout with full size."


def agreement(groups: Sequence[Sequence[Outcome]], kind: SkillKind = "warning") -> Agreement:
    """Return the findings of several subjects, together and apart."""
    together = of([one for group in groups for one in group], kind)
    return Agreement(together=together, apart=tuple(of(group, kind) for group in groups))


def chased(score: float = -0.2, kind: SkillKind = "warning") -> Agreement:
    """Three subjects, each of which lost once, or gained, by the same deed."""
    result = {"score": score}
    fields: dict[str, Any] = {"decision__reasoning": CHASED, "result": result, "context": {}}
    groups = [
        [outcome(trade(day, decision__target=target, **fields))]
        for day, target in enumerate(TARGETS)
    ]
    return agreement(groups, kind)


def sections(made: Agreement) -> dict[str, str]:
    """Heading -> text of the draft."""
    return dict(draft_agreement(made).sections)


def test_the_judge_writes_what_is_joined() -> None:
    assert OfflineJudge().write(chased()) == draft_agreement(chased())


def test_what_all_say_is_told_once_with_its_counts() -> None:
    assert sections(chased()) == {
        "Synthesized Insight": (
            "- Lost 20.0 % on 2026-11-03 after 60 minutes, the worst of 3 such.\n"
            "- I chase the breakout with full size → -20.0 % (3 of 3 runs failed, -20.0 % on "
            "average)."
        ),
        "When This Applies": (
            "- Before open_long on SOL-PERP, ARB-PERP and DOGE-PERP (3 of 3 failed or lost)."
        ),
    }


def test_title_and_description_say_what_they_share() -> None:
    made = draft_agreement(chased())
    assert made.title == "open_long: Lost 20.0 %"
    assert made.description.startswith("Use before open_long. Lost 20.0 % on 2026-11-03 ")


def test_what_to_do_stands_with_the_principles() -> None:
    together = brief(said("failed", "It fell."), said("entry", "At entry: x."),
                     said("lesson", "Enter on the retest."), kind="warning")  # fmt: skip
    text = sections(Agreement(together=together, apart=(together,)))
    assert text["Synthesized Insight"] == "- At entry: x.\n- It fell."
    assert text["Key Principles"] == "- Enter on the retest."


def test_a_pattern_tells_what_worked() -> None:
    text = sections(chased(0.3, "pattern"))
    assert list(text) == ["Synthesized Insight", "When This Applies"]
    assert "3 of 3 succeeded or gained" in text["When This Applies"]


def test_of_many_subjects_some_are_named_and_the_others_counted() -> None:
    groups = [[outcome(trade(n, decision__target=f"T{n}"))] for n in range(15)]
    when = sections(agreement(groups))["When This Applies"]
    assert when.endswith(" T6, T7 and 7 other targets (15 of 15 failed or lost).")


def test_the_order_of_the_outcomes_changes_no_word() -> None:
    groups = [[outcome(trade(n * 3 + d, decision__target=t)) for d in range(3)]
              for n, t in enumerate(TARGETS)]  # fmt: skip
    turned = [group[::-1] for group in groups]
    assert draft_agreement(agreement(groups)) == draft_agreement(agreement(turned))


@pytest.mark.parametrize("kind", ["warning", "pattern"])
def test_foreign_text_cannot_pass_for_structure(kind: SkillKind) -> None:
    group = [hostile(0, "failure", -0.4), hostile(1, "success", 0.4)]
    check_inert(draft_agreement(agreement([group, group], kind)))


@settings(max_examples=50)
@given(st.text(max_size=300), st.text(max_size=100), st.sampled_from(["warning", "pattern"]))
def test_any_text_gives_bullets_and_a_short_title(
    reasoning: str, evidence: str, kind: SkillKind
) -> None:
    score = -0.3 if kind == "warning" else 0.3
    words = {"result__evidence": evidence, "decision__reasoning": reasoning}
    made = agreement(
        [[outcome(trade(n, score, decision__target=t, **words))] for n, t in enumerate(TARGETS)],
        kind,
    )
    check_inert(draft_agreement(made))
