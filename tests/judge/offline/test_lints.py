"""The texts of the offline judge read as they should, whatever the outcomes."""

import pytest

from tests import lints
from tests.drawn import drawn_texts
from tests.thorough import THOROUGH

PARTS, EACH = 4, 500 if THOROUGH else 25
GOOD = """\
---
name: warning-perps-open-long-sol-perp
description: 'Use before open_long on SOL-PERP. Rested on “Funding is above 0.08 %, so I enter.”'
---
# Warning: open_long on SOL-PERP: a ground that did not hold

*open_long on SOL-PERP: 3 outcomes, the last on 2026-11-02*
*Domain: perps*

## What Went Wrong

- Rested on “Funding is above 0.08 %, so I enter.” (2 of 3 that failed).
- Ended with “stop 4.2 % below, filled late” (2 of 3 that failed).

## Better Approach

- What worked: “Wait until funding is below 0.05 %.” (told by 2 that succeeded).
"""
SOURCES = (
    "Funding is above 0.08 %, so I enter. Let me wait.\nI wait for it:",
    "stop 4.2 % below, filled late, the venue was down",
    "Wait until funding is below 0.05 %. The file was written successfully and so on.",
)


@pytest.mark.parametrize("part", range(PARTS))
def test_drawn_texts_pass_the_lints(part: int) -> None:
    texts, seed = 0, part * 1_000_000
    while texts < EACH:
        vault = list(drawn_texts(seed))
        texts, seed = texts + len(vault), seed + 1
        assert [problem for text in vault for problem in lints.problems(text)] == []
        assert list(lints.told_in_both(vault)) == []


def _problems(before: str, after: str) -> list[str]:
    assert before in GOOD
    return lints.problems(lints.text_of(GOOD.replace(before, after), {}, SOURCES))


def test_a_good_text_passes() -> None:
    assert _problems("", "") == []


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("-sol-perp\n", "-not\n", "name ends in 'not'"),
        ("did not hold", "did not", "title ends in 'not'"),
        ("so I enter.” (2", "so I…” (2", "is cut"),
        ("so I enter.” (2", "so I” (2", "ends in mid-sentence"),
        ("so I enter.” (2", "so I leave.” (2", "is in no outcome"),
        ("“Wait until funding is below 0.05 %.”", "“stop 4.2 % below”", "ends in mid-sentence"),
        ("“Wait until funding", "“Funding is above 0.08 %, so I enter.” “Wait until funding",
         "quotes in two statements"),
        ("What worked: “Wait until funding is below 0.05 %.” (told by 2 that succeeded).",
         "Rested on “Funding is above 0.08 %, so I enter.” (2 of 3 that failed).", "says twice"),
        ("What worked: “Wait until funding is below 0.05 %.” (told by 2 that succeeded).",
         "What worked: “Funding is above 0.08 %, so I enter.”", "is wrong and to be done"),
        ("(2 of 3 that failed).\n\n", f"({'2 of 3 that failed ' * 90}).\n\n", "tokens"),
        ("'Use before", "'Warns of", "does not open with its use"),
        ("on SOL-PERP. Rested", f"on {'SOL-PERP ' * 12}. Rested", "more than 100 characters"),
        ("so I enter.”'", "so I enter'", "description ends in mid-sentence"),
        ("“Wait until funding is below 0.05 %.”", "“Let me wait.”", "announced step"),
        ("“Wait until funding is below 0.05 %.”", "“I wait for it:”", "ends in a colon"),
        ("“Wait until funding is below 0.05 %.”", "“The file was written successfully and so on.”",
         "quotes praise"),
        ("- What worked: “Wait until funding is below 0.05 %.” (told by 2 that succeeded).",
         "- Ended with “stop 4.2 % below, filled late” → +3 %.", "quotes in two statements"),
        ("name: ", "other: x\nname: ", "Unexpected fields"),
    ],
)  # fmt: skip
def test_a_lint_sees_what_is_wrong(before: str, after: str, says: str) -> None:
    assert any(says in problem for problem in _problems(before, after))


def test_a_deed_is_not_told_as_what_went_wrong_and_as_what_to_do() -> None:
    both = "## Do\n\n- Chase the breakout → +3 %.\n\n## Avoid\n\n- Chase the breakout → -8 %.\n"
    text = lints.text_of(GOOD.partition("## ")[0] + both, {}, None)
    assert [words for words in lints.problems(text) if "is wrong and to be done" in words]


def test_every_try_may_stand_in_its_list_again() -> None:
    tried = "# Tried\n\n- Rested on “Funding is above 0.08 %, so I enter.” (2 of 3 that failed).\n"
    assert lints.problems(lints.text_of(GOOD, {"tried.md": tried}, SOURCES)) == []
    assert lints.problems(lints.text_of(GOOD, {"statements.md": tried}, SOURCES))
