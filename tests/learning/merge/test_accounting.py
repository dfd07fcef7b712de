"""fates: nothing is believed to be accounted for that is not."""

import pytest

from skillvault.brief import Agreement, Draft, Fate
from skillvault.learning.merge.accounting import unfit
from skillvault.records import Skill

BRIEF = Agreement(
    domain="ops",
    skills=(
        Skill("a", body="# T\n\n*head*\n\n- Wait for a retest of the level.\n- Use a stop."),
        Skill("b", body="Wait for the retest. Look at the daily trend."),
    ),
    outcomes={},
)
KEPT = "Wait for a retest of the level."
TEXT = f"- {KEPT} (2 of 2)\n- Use a\n  **stop**, always.\n"
FATES = (
    Fate("a", KEPT, "kept"),
    Fate("a", "Use a stop.", "kept"),
    Fate("b", "Wait for the retest.", "fused", KEPT),
    Fate("b", "Look at the daily trend.", "dropped", "of another matter"),
)


def said(text: str = TEXT, fates: tuple[Fate, ...] = FATES, more: str = "") -> str | None:
    """What is wrong with a draft."""
    return unfit(Draft("T", "d", (("Key", text),), (("x.md", more),), fates), BRIEF)


def test_a_draft_that_accounts_for_all_is_fit() -> None:
    assert said() is None


def test_what_stands_in_a_reference_is_kept() -> None:
    assert said("- Wait.", more=TEXT) is None


@pytest.mark.parametrize(
    ("fates", "reason"),
    [
        (FATES[1:], "nothing is said of 1 of a's statements: Wait for a retest"),
        ((*FATES, FATES[0]), "a has no statement more: Wait for a retest"),
        ((*FATES, Fate("c", "New.", "kept")), "c has no statement more: New"),
        (
            (*FATES[:3], Fate("b", FATES[3].statement, "dropped")),
            "dropped without a reason, b: Look",
        ),
        ((*FATES[:3], Fate("b", FATES[3].statement, "kept")), "kept, but not to be found"),
        (
            (*FATES[:2], Fate("b", FATES[2].statement, "fused", "x"), FATES[3]),
            "fused, but not to be",
        ),
        ((*FATES[:2], Fate("b", FATES[2].statement, "fused"), FATES[3]), "fused, but not to be"),
        (
            (
                *FATES[:2],
                Fate("b", FATES[2].statement, "fused", "something else entirely"),
                FATES[3],
            ),
            "fused, but not to be found in the text, b: Wait for the retest.",
        ),
    ],
)
def test_a_draft_that_does_not_is_refused(fates: tuple[Fate, ...], reason: str) -> None:
    assert reason in (said(fates=fates) or "")


@pytest.mark.parametrize("text", ["- Never use a stop.", "- Use a stopwatch.", "- Stop."])
def test_a_statement_is_kept_only_where_it_begins_and_ends(text: str) -> None:
    assert "kept, but not to be found" in (said(f"- {KEPT}\n{text}") or "")


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_text_is_no_skill(text: str) -> None:
    assert said(text) == "the text is empty"
