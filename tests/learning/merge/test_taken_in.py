"""A person's edit that met a merge in a sync: the evolved skill says it once it grows."""

import pytest

from skillvault.learning.merge.evolved import TakenIn, taken_in, with_parts
from skillvault.learning.sections import theirs
from skillvault.model.records import Skill
from skillvault.model.written import marks_after, marks_of

BODY = "# W\n\n*head*\n\n## What Went Wrong\n\n- It fell."
ASK = "## Ask first\n\nMara knows."
PLACE = "skills/w"
EVOLVED = "# E\n\n## When This Applies\n\n- Always."


def of_edit(body: str) -> TakenIn | None:
    """What is taken of the skill once a person made this of its text."""
    return taken_in(PLACE, Skill("w", "Says w.", body), marks_of("Says w.", BODY))


def test_sections_that_a_person_wrote_are_taken_and_the_programs_are_not() -> None:
    assert of_edit(f"{BODY}\n\n{ASK}\n") == TakenIn(PLACE, (("Ask first", "Mara knows."),))
    changed = of_edit(BODY.replace("fell", "fell at night"))
    assert changed == TakenIn(PLACE, (("What Went Wrong", "- It fell at night."),))


@pytest.mark.parametrize(
    "body", [BODY, f"{BODY}\n\n{ASK}".replace("# W", "# Mine"), BODY.partition("\n\n## ")[0]]
)
def test_an_edit_that_says_nothing_elsewhere_keeps_its_skill(body: str) -> None:
    assert of_edit(body) is None


def test_what_is_taken_stands_last_once_and_stays_a_persons() -> None:
    taken = TakenIn(PLACE, (("Ask first", "Mara knows."), ("When This Applies", "- By day.")))
    body, added = with_parts(EVOLVED, [taken])
    assert body == f"{EVOLVED}\n\n{ASK}\n\n## When This Applies (w)\n\n- By day."
    assert with_parts(body, [TakenIn(PLACE, taken.parts[:1])]) == (body, ())
    marks = marks_after(marks_of("E", EVOLVED), EVOLVED, body, added)
    assert {name for name, _ in theirs(marks, body)} == {"Ask first", "When This Applies (w)"}


def test_a_text_that_would_swallow_it_takes_nothing_in() -> None:
    open_block = f"{EVOLVED}\n\n```\nopen"
    assert with_parts(open_block, [TakenIn(PLACE, (("A", "b"),))]) == (open_block, ())
