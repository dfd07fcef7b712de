"""One reader of Markdown: its slices are the text, its blocks those of CommonMark."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.model.text import markdown
from skillvault.model.text.markdown import (
    blocks,
    bold_texts,
    bullets,
    headings,
    outline,
    sections,
    statements,
)
from skillvault.model.text.text import flatten

# ── sections ─────────────────────────────────────────────────────────────────────────

LINES = st.sampled_from(
    [
        "## One", "## One ##", "  ## Two", "    ## code", "\t## code", "# Top", "##", "Setext",
        "---", "===", "text", "", " ", "- item", "  ## in it", "> quoted", "> ## in it", "1. item",
        "```", "````", "~~~", "  ```py", "- ```", "<div>", "</div>", "<!--", "-->", "[a]: b",
        "\x0b", "\u2028", "\0", "| a | b |",
    ]
)  # fmt: skip
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
TEXTS = st.lists(st.tuples(LINES, ENDS).map("".join), max_size=14).map("".join) | st.text()

QUOTED_FENCE = "````md\n## Not a heading\n```sh\n## nor this\n````\n"


@given(TEXTS)
def test_the_sections_of_a_text_are_the_text(text: str) -> None:
    assert "".join(part.text for part in sections(text)) == text


@given(TEXTS)
def test_the_blocks_of_a_text_are_the_text(text: str) -> None:
    assert "".join(blocks(text)) == text


@given(TEXTS)
def test_a_section_by_itself_is_that_section(text: str) -> None:
    for part in sections(text):
        assert sections(part.text) == [part]


@given(TEXTS)
def test_other_line_ends_make_no_other_sections(text: str) -> None:
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    names = [part.heading for part in sections(plain)]
    assert [part.heading for part in sections(plain.replace("\n", "\r\n"))] == names
    assert [part.heading for part in sections(text)] == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("head\n", [None]),
        ("# Title\n\n## A\n\n### Below\n", [None, "A"]),
        ("## A\n## A\n", ["A", "A"]),
        ("##\tA ##\n##\n   ## B", ["A", "", "B"]),
        ("##A\n\n\\## B\n\n    ## C\n\n\t## D\n", [None]),
        ("Over\ntwo lines\n---\ntext\n", ["Over two lines"]),
        ("Title\n===\n\ntext\n\n---\n", [None]),
        ("## A\r\n\r\n```\r\n## no\r\n```\r\n## B\r\n", ["A", "B"]),
        (f"## A\n\n{QUOTED_FENCE}\n## B\n", ["A", "B"]),
        ("## A\n~~~\n```\n## no\n~~~\n## B\n", ["A", "B"]),
        ("## A\n```\n~~~\n## no\n", ["A"]),
        ("## A\n```py\n## no\n``` py\n## no\n```\n## B\n", ["A", "B"]),
        ("## A\n\n- x\n\n  ```\n  ## no\n  ```\n\n  ## no\n## B\n", ["A", "B"]),
        ("## A\n\n- x\n  ```\n## B\n", ["A", "B"]),
        ("## A\n\n> ## no\n> text\n## B\n", ["A", "B"]),
        ("## A\n\n<div>\n## no\n</div>\n\n## B\n", ["A", "B"]),
        ("## A\n\n<!--\n\n## no\n\n-->\n## B\n", ["A", "B"]),
        ("text `a\n## B\nb`\n", [None, "B"]),
        ("a\u2028## no\x0b## no\x0c## no\x85## no\n", [None]),
        ("---\nname: x\n---\n\n## A\n", [None, "name: x", "A"]),  # front matter is the codec's
    ],
)
def test_a_section_begins_with_a_heading_of_level_two(text: str, names: list[str | None]) -> None:
    assert [part.heading for part in sections(text)] == names


@pytest.mark.parametrize(
    ("text", "swallows"),
    [
        ("", False),
        ("text", False),
        ("- item\n\n  ```\n  code", False),
        ("```\ncode\n```", False),
        ("```\ncode\n", True),
        ("````\n```\n", True),
        ("<!-- note", True),
        ("<div>", False),
    ],
)
def test_what_has_no_end_swallows_the_heading_below(text: str, swallows: bool) -> None:
    assert markdown.swallows_heading(text) is swallows


@pytest.mark.parametrize(
    ("text", "slices"),
    [
        ("", []),
        ("- a\n  b\n- c\n\nd\n", ["- a\n  b\n", "- c\n\n", "d\n"]),
        ("2026 was a year.\n1. a\n1. b", ["2026 was a year.\n", "1. a\n", "1. b"]),
        ("- a\n  - b\n\n    c\n- d\n", ["- a\n  - b\n\n    c\n", "- d\n"]),
        ("a\n```\n- no\n\n# no\n```\nb", ["a\n", "```\n- no\n\n# no\n```\n", "b"]),
        ("\n\na\n\n\nb", ["\n\na\n\n\n", "b"]),
    ],
)
def test_blocks_are_paragraphs_items_and_code(text: str, slices: list[str]) -> None:
    assert blocks(text) == slices


# ── statements ───────────────────────────────────────────────────────────────────────

BODY = """# Warning: title

*From one outcome*
_Domain: x_

Head sentence. It leans on it. Another.

## When

- An item is one. Two are two.
  Its line goes on. “Quoted. Inside.” ends.
- [ ] Is it so? Then do this.
1. Numbered
| a | row |

```py
x = 1
```
---
## Last ##
在比特币上追涨。等待回踩。
"""


def test_the_statements_of_a_text_stand_behind_their_headings() -> None:
    assert list(outline(BODY)) == [
        ("Warning: title", "Head sentence. It leans on it."),
        ("Warning: title", "Another."),
        ("When", "An item is one."),
        ("When", "Two are two. Its line goes on."),
        ("When", "“Quoted. Inside.” ends."),
        ("When", "[ ] Is it so? Then do this."),
        ("When", "Numbered"),
        ("When", "| a | row |"),
        ("When", "x = 1"),
        ("Last", "在比特币上追涨。"),
        ("Last", "等待回踩。"),
    ]


@given(st.text())
def test_no_word_of_a_text_is_left_out_of_its_statements(body: str) -> None:
    plain = flatten(body)
    said = " ".join(statements(f"## \n{plain}"))
    assert [w for w in said.split() if w.isalnum()] == [w for w in plain.split() if w.isalnum()]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (f"## A\n\n{QUOTED_FENCE}\nb", ["## Not a heading ```sh ## nor this", "b"]),
        ("- a\n\n  ```\n  ## no\n  ```\n- b", ["a", "## no", "b"]),
        ("- a\n  - b\n    more\n1) c", ["a", "b more", "c"]),
        ("> Quoted,\n> in full.\n\n> - item", ["Quoted, in full.", "item"]),
        ("- ## Heading of an item\n- b", ["Heading of an item", "b"]),
        ("| a | b |\n|---|---|\n| c | d |", ["| a | b |", "| c | d |"]),
        ("<b>One.\nTwo.\n\nThree</b>", ["<b>One.", "Two.", "Three</b>"]),
        ("<!-- One\n\n- two -->", ["<!-- One", "- two -->"]),
        ("[a]: https://example.com/b\n[b]: c", ["[a]: https://example.com/b", "[b]: c"]),
        ("a\r\n\r\n    code()\r\n", ["a", "code()"]),
        ("# T\n\n*dropped*\n\n- *kept*\n\n## A\n\n*kept too*", ["*kept*", "*kept too*"]),
        ("```\nno end", ["no end"]),
    ],
)
def test_every_form_of_text_has_its_statements(body: str, told: list[str]) -> None:
    assert statements(body) == told


@given(TEXTS)
def test_statements_are_lines_with_words(text: str) -> None:
    for statement in statements(text):
        assert statement == " ".join(statement.split())
        assert any(character.isalnum() or character == "_" for character in statement)


# ── headings, items, bold text ───────────────────────────────────────────────────────


def test_headings_are_those_of_the_text_itself() -> None:
    text = f"# A `b` ##\nC\n---\n- # no\n\n> # no\n\n{QUOTED_FENCE}\n###### D"
    assert headings(text) == ["A `b`", "C", "D"]


def test_bullets_are_the_first_lines_of_items() -> None:
    text = f"- a\n  more\n  * b\n1. no\n   + c\n-\n- [ ] d\n* * *\n{QUOTED_FENCE}- ```\n  - no\n"
    assert bullets(text) == ["a", "b", "c", "[ ] d"]


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("**a b** and __c__", ["a b", "c"]),
        ("# **a**\n- **b\n  c**", ["a", "b c"]),
        ("**a `b*` [c](d) *e* <f> &amp; \\***", ["a `b*` [c](d) e <f> &amp; *"]),
        ("***a** b*", ["a"]),
        ("** a ** \\**b** `**c**` **d", []),
        ("```\n**a**\n```\n\n    **b**\n", []),
        ("snake__case__name 2**3**4", ["3"]),
    ],
)
def test_bold_texts_are_those_of_commonmark(text: str, texts: list[str]) -> None:
    assert bold_texts(text) == texts


# ── time ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "line",
    ["> " * 200, "- " * 200, "**a __b ", "`" * 9 + "a", "[a]: <b\n", "[", "- a\n", "<!-- a\n"],
)
def test_a_long_text_of_any_form_is_read_in_its_length(line: str) -> None:
    text = (line * (60_000 // len(line)))[:60_000]
    start = time.process_time()
    assert "".join(blocks(text)) == text
    assert len(bold_texts(text)) <= len(text)
    assert time.process_time() - start < 10
