"""The rules of LEARNINGS.md: what is one, what none, and how the text around them stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.capture.rules import (
    MAX_LENGTH,
    blocks_of,
    read_learnings,
    render_addition,
    repeated_rule_texts,
    rule_texts,
    whole_blocks,
    without_rules,
)
from skillvault.model.text.text import rule_key

HEAD = "# Learned patterns\n\nWhat agents wrote.\n\n---\n"
LINES = st.sampled_from(
    ["---\n", "----  \n", " ---\n", "```\n", "~~~\n", "```yaml\n", "Always close files.\n", "\n",
     "Use the linter.\r\n", "# A heading\n", "a: b\n", "<!-- note -->\n", "名前は短く保つ\n", "x"]
)  # fmt: skip
TEXTS = st.lists(LINES, max_size=14).map("".join)


def of(*bodies: str) -> str:
    return HEAD + "".join(f"{body}\n---\n" for body in bodies)


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("# Title\nAlways run the linter.", "Always run the linter."),
        ("<!-- by a-1\n2026 -->\nAlways run the linter.", "Always run the linter."),
        ("短い名前を使う", "短い名前を使う"),  # seven characters, fourteen columns
        ("Quote `a` --- b.", "Quote `a` --- b."),
        ("| --- | --- |", "| --- | --- |"),
        ("***\nAlways run it", "*** Always run it"),
    ],
)
def test_a_block_is_one_rule_on_one_line(body: str, rule: str) -> None:
    assert rule_texts(of(body)) == [rule]


@pytest.mark.parametrize("body", ["short", "# Only a heading", "<!-- only a comment -->", "   "])
def test_what_says_too_little_is_no_rule(body: str) -> None:
    assert rule_texts(of(body)) == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("y" * (MAX_LENGTH + 1), "too-long"),
        ("y " * 500_000, "too-long"),
        ("Always use \0 bytes", "nul"),
        (b"Stra\xdfe is no UTF-8".decode(errors="surrogateescape"), "not-utf8"),
        ("<<<<<<< HEAD\nA rule of mine\n=======\nA rule of theirs\n>>>>>>> other", "conflict"),
    ],
)
def test_what_can_be_no_rule_is_a_problem_and_the_rest_goes_on(body: str, code: str) -> None:
    learned = read_learnings(of("The first rule.", body, "The last rule."))
    assert [rule.text for rule in learned.rules] == ["The first rule.", "The last rule."]
    (problem,) = learned.problems
    assert (problem.path, problem.code) == ("LEARNINGS.md", code)
    assert "line 8" in problem.message


def test_a_fence_that_nothing_closes_swallows_no_rule() -> None:
    learned = rule_texts(of("Open it:\n```yaml", "Always run the linter.", "Always run the tests."))
    assert learned[1:] == ["Always run the linter.", "Always run the tests."]


def test_a_text_without_separators_has_no_rules_and_says_so() -> None:
    assert [p.code for p in read_learnings("# T\n\nAlways run it.\n").problems] == ["no-separator"]
    assert not read_learnings("# T\n").problems
    assert not read_learnings(HEAD).problems


def test_several_bullets_of_one_rule_are_noted() -> None:
    (note,) = read_learnings(of("- Run the linter.\n- Run the tests.")).notes
    assert note.code == "several-bullets"


def test_doubles_are_counted_and_the_latest_stands() -> None:
    (rule,) = read_learnings(of("Run the linter.", "run the  LINTER!")).rules
    assert (rule.text, rule.count) == ("run the LINTER!", 2)


@given(TEXTS)
def test_blocks_are_the_text_byte_for_byte(text: str) -> None:
    assert "".join(block.full_text for block in blocks_of(text)) == text
    assert text.startswith(whole_blocks(text))


@given(TEXTS, TEXTS)
def test_rules_that_are_taken_out_leave_the_others_and_the_header_as_they_are(
    before: str, after: str
) -> None:
    text = f"{before}\n---\nA rule to be taken.\n---\n{after}"
    key = rule_key("A rule to be taken")
    others = [rule for rule in rule_texts(text) if rule_key(rule) != key]
    left = without_rules(text, {key})
    assert rule_texts(left) == others
    assert without_rules(text, set()) == text


@given(TEXTS, st.sampled_from(["Keep it simple, always.", "一つの規則を守ること"]))
def test_a_rule_that_is_added_is_there_afterwards(text: str, rule: str) -> None:
    added = text + render_addition(text, [rule])
    # A fence that is open takes it in, and front matter makes a header of what follows.
    if "```" not in text and "~~~" not in text and not text.startswith("---"):
        assert rule in rule_texts(added)
    assert added.startswith(text)
    assert added.endswith(f"{rule}\n---\n")


def test_a_rule_of_dashes_and_lines_is_added_on_one_line() -> None:
    text = HEAD + render_addition(HEAD, ["Write\n---\nbetween the rules."])
    assert rule_texts(text) == ["Write --- between the rules."]


def test_repeated_rules_are_kept_where_all_are_asked_for() -> None:
    text = "\n---\nClose every file.\n---\nPin the version.\n---\nClose every file.\n---\n"
    assert rule_texts(text) == ["Pin the version.", "Close every file."]
    assert repeated_rule_texts(text) == [
        "Close every file.",
        "Pin the version.",
        "Close every file.",
    ]
