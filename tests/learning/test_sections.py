"""The program rewrites what it wrote; a person's sections stay byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.sections import (
    Version,
    edited_sections,
    is_former_text,
    is_untouched,
    rewrite_body,
)
from skillvault.model.section_marks import marks_of, sections_of, update_marks

FIRST = "# Title\n\nhead\n\n## One\n\n- a\n\n## Two\n\n- b"
SECOND = "# Title\n\nhead 2\n\n## One\n\n- a 2\n\n## Two\n\n- b 2"
WROTE = [Version(None, FIRST)]

LINES = st.sampled_from(
    [
        "## One\n",
        "## Two\r\n",
        "## One\n",
        "text\n",
        "\n",
        "```\n",
        "## \n",
        "~~~\r\n",
        "````md\n",
        "  x",
        "#\n",
        "Two\n---\n",
        "- a\n  ## One\n",
    ]
)
BODIES = st.lists(LINES, max_size=12).map("".join)


TEXTS = st.sampled_from(["", "- a\n", "- b", "```\nopen\n", "````\n```\n## Not\n````\n", "<!--\n"])
NAMED = st.dictionaries(st.sampled_from("ABCD"), TEXTS).map(
    lambda texts: "# Title\n" + "".join(f"\n## {name}\n\n{text}" for name, text in texts.items())
)


@given(BODIES)
def test_the_sections_of_a_body_are_the_body(body: str) -> None:
    assert "".join(sections_of(body).values()) == body


def test_an_untouched_text_is_rewritten_whole() -> None:
    assert rewrite_body(FIRST, WROTE, SECOND) == SECOND


def test_a_section_that_a_person_changed_stays() -> None:
    edited = FIRST.replace("- a", "- mine,\n  over two lines")
    assert rewrite_body(edited, WROTE, SECOND) == SECOND.replace(
        "- a 2", "- mine,\n  over two lines"
    )


def test_a_section_stays_a_persons_through_later_rewritings() -> None:
    edited = FIRST.replace("- a", "- mine")
    wrote = [*WROTE, Version(edited, rewrite_body(edited, WROTE, SECOND))]
    third = SECOND.replace("2", "3")
    assert rewrite_body(wrote[1].after, wrote, third) == third.replace("- a 3", "- mine")


def test_a_section_that_a_person_added_stays_in_its_place() -> None:
    edited = FIRST.replace("## Two", "## Mine\n\n- c\n\n## Two")
    expected = SECOND.replace("## Two", "## Mine\n\n- c\n\n## Two")
    assert rewrite_body(edited, WROTE, SECOND) == expected


def test_a_section_that_a_person_removed_stays_away() -> None:
    edited = FIRST.replace("## One\n\n- a\n\n", "")
    assert rewrite_body(edited, WROTE, SECOND) == SECOND.replace("## One\n\n- a 2\n\n", "")


def test_a_new_section_stands_behind_the_one_it_follows() -> None:
    wanted = SECOND.replace("## Two", "## New\n\n- n\n\n## Two")
    assert rewrite_body(FIRST, WROTE, wanted) == wanted


def test_a_section_that_is_no_longer_supported_goes() -> None:
    assert rewrite_body(FIRST, WROTE, "# Title\n\nhead 2\n\n## Two\n\n- b 2") == (
        "# Title\n\nhead 2\n\n## Two\n\n- b 2"
    )


def test_without_a_word_of_what_was_written_all_is_a_persons() -> None:
    assert rewrite_body(FIRST, [], SECOND) == FIRST
    assert not is_untouched([], FIRST)


def test_other_line_ends_alone_are_no_edit() -> None:
    assert edited_sections(WROTE, FIRST.replace("\n", "\r\n")) == frozenset()


def test_a_heading_in_a_code_block_begins_no_section() -> None:
    assert len(sections_of("## One\n\n```\n## not one\n```\n")) == 1


CODES = [
    "Mine:\n\n````md\n```sh\n## Not a heading\nmake\n```\n````\n",
    "Mine:\n\n````md\nOpen with this line:\n```sh\n## Not a heading\n````\n",
    "Mine:\n\n~~~~\n~~~ sh\n## Not a heading\n```\n~~~~\n",
]


@pytest.mark.parametrize("code", CODES)
def test_a_persons_code_that_quotes_code_stays_and_what_stands_below_grows(code: str) -> None:
    edited = FIRST.replace("- a\n", code)
    first = rewrite_body(edited, WROTE, SECOND)
    assert first == SECOND.replace("- a 2\n", code)
    wrote = [*WROTE, Version(edited, first)]
    assert rewrite_body(first, wrote, SECOND.replace("2", "3")) == first.replace("2", "3")


@pytest.mark.parametrize(
    "text",
    [
        "- x\n\n  ```\n## Two\n",  # the item ends, and its code with it
        "- x\n\n  ```\n  ## Not\n  ```\n\n  ## Not\n\n",
        "> ## Not\n\n",
        "<!--\n\n## Not\n\n-->\n\n",
        "~~~\n```\n## Not\n~~~\n\n",
    ],
)
def test_a_section_ends_as_commonmark_has_it(text: str) -> None:
    edited = FIRST.replace("- a\n\n", text)
    result = rewrite_body(edited, WROTE, SECOND)
    assert text in result
    assert "- b 2" in result or edited.count("## Two") == 2


def test_a_persons_sections_stay_side_by_side() -> None:
    mine = "## Mine\r\ntext\r\n## Mine too\r\ntext\r\n"
    edited = FIRST.replace("## Two", f"{mine}## Two")
    expected = SECOND.replace("## Two", f"{mine}\n## Two")
    assert rewrite_body(edited, WROTE, SECOND).replace("\r", "") == expected.replace("\r", "")
    assert mine.rstrip() in rewrite_body(edited, WROTE, SECOND)


def test_code_without_an_end_swallows_no_new_section() -> None:
    edited = FIRST.replace("- b", "```\nmine")
    wanted = f"{SECOND}\n\n## New\n\n- n"
    result = rewrite_body(edited, WROTE, wanted)
    assert list(sections_of(result))[2:] == [("New", 1), ("Two", 1)]
    assert result.endswith("## Two\n\n```\nmine")
    assert rewrite_body(result, [*WROTE, Version(edited, result)], wanted) == result


def test_a_section_that_would_swallow_a_persons_is_not_written() -> None:
    edited = f"{FIRST}\n\n## Mine\n\n- mine"
    assert rewrite_body(edited, WROTE, SECOND.replace("- b 2", "```\nno end")) == edited


def test_the_head_is_no_section_without_a_name() -> None:
    assert list(sections_of("head\n## \n##\n")) == [("", 0), ("", 1), ("", 2)]
    assert list(sections_of("## \n")) == [("", 1)]


@given(NAMED, NAMED, NAMED)
def test_a_second_rewriting_changes_nothing(first: str, edited: str, wanted: str) -> None:
    result = rewrite_body(edited, [Version(None, first)], wanted)
    wrote = [Version(None, first), Version(edited, result)]
    assert rewrite_body(result, wrote, wanted).strip() == result.strip()


def test_a_reverted_rewriting_is_a_persons_word() -> None:
    wrote = [*WROTE, Version(FIRST, SECOND)]
    assert rewrite_body(FIRST, wrote, SECOND.replace("2", "3")) == FIRST
    assert not is_untouched(wrote, FIRST)


@given(BODIES, BODIES, BODIES)
def test_a_persons_sections_keep_every_byte(first: str, edited: str, wanted: str) -> None:
    result = rewrite_body(edited, [Version(None, first)], wanted)
    kept = edited_sections([Version(None, first)], edited)
    for key, text in sections_of(edited).items():
        if key in kept:
            assert text.strip("\r\n") in result


def test_what_a_skill_states_of_itself_tells_the_persons_sections() -> None:
    marks = marks_of("", FIRST)
    edited = FIRST.replace("- a", "- a, said a person").replace("\n\n## Two\n\n- b", "\n\n## New\n")
    assert edited_sections(marks, FIRST) == frozenset()
    changed = edited_sections(marks, edited)
    assert {("One", 1), ("New", 1)} < changed
    assert "Two" not in rewrite_body(edited, marks, SECOND), "a person took it away"
    assert "head 2" in rewrite_body(edited, marks, SECOND)


def test_what_the_program_rewrote_is_its_own_and_a_persons_section_stays_one() -> None:
    edited = FIRST.replace("- a", "- a, said a person")
    marks = update_marks(
        marks_of("", FIRST), edited, rewrite_body(edited, marks_of("", FIRST), SECOND)
    )
    body = rewrite_body(edited, marks_of("", FIRST), SECOND)
    assert edited_sections(marks, body) == {("One", 1)}


@given(BODIES, BODIES)
def test_marks_follow_a_rewriting_of_any_text(before: str, after: str) -> None:
    assert not edited_sections(update_marks(marks_of("", before), before, after), after)


def test_a_text_that_a_person_brought_back_stays_so_when_only_its_header_is_written() -> None:
    wrote = [Version(None, FIRST), Version(FIRST, SECOND), Version(FIRST, FIRST)]
    assert is_former_text(wrote, FIRST)
    assert not is_former_text([*wrote, Version(FIRST, SECOND)], SECOND)
