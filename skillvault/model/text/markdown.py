"""Read the structure of a Markdown text by CommonMark. Only this module parses Markdown.

Sections and blocks are slices of the text: joined they are the text, byte for byte.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from skillvault.model.text.text import ARROW, split_prose

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# Line ends by CommonMark; Python knows others.
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_EMPTY_LINE = re.compile(r"\n[ \t]*\n")
_EMPHASISED = re.compile(r"(?P<mark>[*_]).+(?P=mark)")
_ROW = re.compile(r"\||\W*\Z")  # a table row, or a line without words
_HEADING_BELOW = "\n\n## x\n"


class Section(NamedTuple):
    """The text of a section with its heading line, and its heading of level 2.

    The heading is None before the first one.
    """

    heading: str | None
    text: str


class _Paragraph(NamedTuple):
    """Prose or code below a heading."""

    heading: str
    text: str
    is_code: bool


def sections(text: str) -> list[Section]:
    """Return the sections of a text, which begin at headings of level 2 outside other blocks."""
    starts = {line: heading for tag, line, heading in _headings(text) if tag == "h2"}
    slices = _slices(text, starts)
    headings = [None, *starts.values()]
    return [Section(*part) for part in zip(headings, slices, strict=True) if part[1]]


def blocks(text: str) -> list[str]:
    """Return the outermost blocks of a text in order. Each list item is a block.

    Empty lines belong to the block before them.
    """
    starts = [
        _lines_of(token).start
        for token in _tokens(text)
        if (token.map and token.level == 0) or (token.type == "list_item_open" and token.level == 1)
    ]
    return [block for block in _slices(text, list(dict.fromkeys(starts))[1:]) if block]


def swallows_heading(text: str) -> bool:
    """Return True if a heading after the text would become part of the text's last block."""
    tokens = _tokens(text + _HEADING_BELOW)
    return tokens[-1].type != "heading_close" or tokens[-1].level != 0


@lru_cache(maxsize=256)
def outline(body: str) -> tuple[tuple[str, str], ...]:
    """Return the statements of a skill's text as (heading, statement).

    A statement is a list item, a sentence or a block of code, with white space folded. Headings,
    rules and emphasised lines of the head are left out. A sentence that refers to the one before
    (an answer, `then …`, `they …`) stays with it, and a result stays with its action.
    """
    statements: list[tuple[str, str]] = []
    for heading, text, is_code in _paragraphs(body):
        is_single_statement = is_code or ARROW in text
        parts = [_fold(text)] if is_single_statement else split_prose(text)
        statements += [(heading, part) for part in parts if re.search(r"\w", part)]
    return tuple(statements)


def first_paragraph(body: str) -> str:
    """Return the first prose below the headings, with white space folded; "" if there is none.

    HTML is no prose.
    """
    texts = (_fold(text) for _, text, is_code in _paragraphs(body) if not is_code)
    return next((t for t in texts if re.search(r"\w", t) and not t.startswith("<")), "")


def statements(body: str) -> list[str]:
    """Return the statements of a skill's text without headings."""
    return [statement for _, statement in outline(body)]


def headings(text: str) -> list[str]:
    """Return the headings of every level, except those in lists and quotations."""
    return [heading for _, _, heading in _headings(text)]


def titles(text: str) -> list[str]:
    """Return the headings of level 1, except those in lists and quotations."""
    return [heading for tag, _, heading in _headings(text) if tag == "h1"]


def _headings(text: str) -> Iterator[tuple[str, int, str]]:
    for opening, title in pairwise(_tokens(text)):
        if opening.type == "heading_open" and opening.level == 0:
            yield opening.tag, _lines_of(opening).start, _fold(title.content)


def bullets(text: str) -> list[str]:
    """Return the first line of each item of an unnumbered list, at any depth."""
    tokens = _tokens(text)
    items = zip(tokens, tokens[2:], strict=False)
    return [
        content.content.partition("\n")[0]
        for item, content in items
        if item.type == "list_item_open" and item.markup in "-*+" and content.type == "inline"
    ]


def bold_texts(text: str) -> list[str]:
    """Return the texts in bold with white space folded. Code in them keeps its marks."""
    contents = [token.content for token in _tokens(text) if token.type == "inline"]
    candidates = (content for content in contents if "**" in content or "__" in content)
    return [phrase for content in candidates for phrase in _bold_of(content)]


@lru_cache(maxsize=16)
def _tokens(text: str) -> "Sequence[Token]":
    return _parser().parse(text)


@cache
def _parser() -> "MarkdownIt":
    # Commands that parse no Markdown do not import the parser.
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"inline_definitions": True})
    # Every text is parsed to blocks, and inside lines only on demand.
    parser.disable(["inline", "text_join"])
    # Links and tags are words like others.
    return parser.disable(["link", "image", "autolink", "html_inline", "entity"])


def _bold_of(content: str) -> Iterator[str]:
    parser, tokens = _parser(), list["Token"]()
    parser.inline.parse(content, parser, {}, tokens)
    depth, parts = 0, list[str]()
    for token in tokens:
        depth += token.nesting * (token.type in {"strong_open", "strong_close"})
        if depth:
            parts.append(_source(token))
        elif parts:
            yield _fold("".join(parts))
            parts = []


def _source(token: "Token") -> str:
    """Return the source of an inline token, without the marks of emphasis."""
    if token.type == "code_inline":
        return f"{token.markup}{token.content}{token.markup}"
    return "\n" if token.type in {"softbreak", "hardbreak"} else token.content


def _paragraphs(body: str) -> Iterator[_Paragraph]:
    """Yield prose, list items and code in order, each with its heading."""
    heading, is_head, opening = "", True, None
    for token in _tokens(body):
        if token.type == "heading_open" and token.level == 0:
            opening = token
        elif opening and token.type == "inline":
            heading = _fold(token.content)
            is_head, opening = is_head and opening.tag == "h1", None
        elif token.type in {"fence", "code_block"}:
            yield _Paragraph(heading, token.content, is_code=True)
        else:
            prose = _prose(token, body, is_head=is_head)
            yield from (_Paragraph(heading, text, is_code=False) for text in prose)


def _prose(token: "Token", body: str, *, is_head: bool) -> Iterable[str]:
    """Return the paragraphs of a token: text, tags or the definition of a link."""
    if token.type == "inline":
        lines = (line.strip() for line in token.content.splitlines())
        outermost = is_head and token.level == 1
        return _unwrap(line for line in lines if not (outermost and _EMPHASISED.fullmatch(line)))
    if token.type == "html_block":
        return _EMPTY_LINE.split(token.content)
    if token.type == "definition":
        return ["".join(_LINE.findall(body)[_lines_of(token)])]
    return []


def _unwrap(lines: Iterable[str]) -> list[str]:
    """Join the lines of a paragraph, except for the rows of a table."""
    rows: list[str] = []
    for line in lines:
        if rows and not _ROW.match(line):
            rows[-1] += f"\n{line}"
        else:
            rows.append(line)
    return rows


def _lines_of(token: "Token") -> slice:
    """Return the lines of a block. Raise ValueError for a token that does not open a block."""
    if token.map is None:
        raise ValueError(f"{token.type} opens no block")
    return slice(*token.map)


def _slices(text: str, starts: Iterable[int]) -> list[str]:
    lines = _LINE.findall(text)
    return ["".join(lines[a:b]) for a, b in pairwise([0, *starts, len(lines)])]


def _fold(text: str) -> str:
    return " ".join(text.split())
