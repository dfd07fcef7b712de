"""The structure of a Markdown text by CommonMark: the one place that looks for it.

Sections, statements, list items, headings and bold text are read here. Slices are of the text
as it stands: joined they are the text, byte for byte.
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

# What CommonMark takes for the end of a line, and nothing else that Python does.
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_EMPTY_LINE = re.compile(r"\n[ \t]*\n")
_EMPHASISED = re.compile(r"(?P<mark>[*_]).+(?P=mark)")
_ROW = re.compile(r"\||\W*\Z")  # of a table, or nothing in words
_HEADING_BELOW = "\n\n## x\n"


class Section(NamedTuple):
    """A heading of level 2 (None: what stands before the first) and its text, with that line."""

    heading: str | None
    text: str


class _Paragraph(NamedTuple):
    """Prose or code below a heading."""

    heading: str
    text: str
    is_code: bool


@cache
def _parser() -> "MarkdownIt":
    # A command that only reads an index starts without the parser.
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"inline_definitions": True})
    # Blocks are read of every text, what stands inside a line only if it is asked for.
    parser.disable(["inline", "text_join"])
    # Links and tags are words like others.
    return parser.disable(["link", "image", "autolink", "html_inline", "entity"])


@lru_cache(maxsize=16)
def _tokens(text: str) -> "Sequence[Token]":
    return _parser().parse(text)


def sections(text: str) -> list[Section]:
    """The sections of a text in order; one begins with a heading of level 2 in no other block."""
    tokens = _tokens(text)
    starts = {
        _lines_of(opening).start: _folded(title.content)
        for opening, title in pairwise(tokens)
        if opening.type == "heading_open" and opening.tag == "h2" and opening.level == 0
    }
    slices = _slices(text, starts)
    headings = [None, *starts.values()]
    return [Section(*part) for part in zip(headings, slices, strict=True) if part[1]]


def blocks(text: str) -> list[str]:
    """The outermost blocks of a text in order, each item of a list by itself.

    Empty lines belong to the block before them.
    """
    starts = [
        _lines_of(token).start
        for token in _tokens(text)
        if (token.map and token.level == 0) or (token.type == "list_item_open" and token.level == 1)
    ]
    return [block for block in _slices(text, list(dict.fromkeys(starts))[1:]) if block]


def swallows_heading(text: str) -> bool:
    """True if a heading written below the text would be part of its last block."""
    tokens = _tokens(text + _HEADING_BELOW)
    return tokens[-1].type != "heading_close" or tokens[-1].level != 0


@lru_cache(maxsize=256)
def outline(body: str) -> tuple[tuple[str, str], ...]:
    """The statements of a skill's text, each behind the heading it stands under.

    A statement is a list item, a sentence or a block of code, white space folded. Headings,
    rules and the emphasised lines of the head are none. A sentence that leans on the one
    before it (an answer, `then …`, `they …`) stays with it, and a deed with its result.
    """
    statements: list[tuple[str, str]] = []
    for heading, text, is_code in _paragraphs(body):
        is_whole = is_code or ARROW in text
        parts = [_folded(text)] if is_whole else split_prose(text)
        statements += [(heading, part) for part in parts if re.search(r"\w", part)]
    return tuple(statements)


def statements(body: str) -> list[str]:
    """The statements of `outline`."""
    return [statement for _, statement in outline(body)]


def headings(text: str) -> list[str]:
    """The headings of every level, those in lists and quotations left out."""
    return [
        _folded(title.content)
        for opening, title in pairwise(_tokens(text))
        if opening.type == "heading_open" and opening.level == 0
    ]


def titles(text: str) -> list[str]:
    """The headings of level 1, those in lists and quotations left out."""
    return [
        _folded(title.content)
        for opening, title in pairwise(_tokens(text))
        if opening.type == "heading_open" and opening.tag == "h1" and opening.level == 0
    ]


def bullets(text: str) -> list[str]:
    """The first line of each item of a list that is not numbered, at any depth."""
    tokens = _tokens(text)
    items = zip(tokens, tokens[2:], strict=False)
    return [
        content.content.partition("\n")[0]
        for item, content in items
        if item.type == "list_item_open" and item.markup in "-*+" and content.type == "inline"
    ]


def bold_texts(text: str) -> list[str]:
    """The texts in bold, white space folded; code in them keeps its marks."""
    contents = [token.content for token in _tokens(text) if token.type == "inline"]
    marked = (content for content in contents if "**" in content or "__" in content)
    return [phrase for content in marked for phrase in _bold_of(content)]


def _bold_of(content: str) -> Iterator[str]:
    """The outermost bold texts of one block."""
    parser, tokens = _parser(), list["Token"]()
    parser.inline.parse(content, parser, {}, tokens)
    depth, parts = 0, list[str]()
    for token in tokens:
        depth += token.nesting * (token.type in {"strong_open", "strong_close"})
        if depth:
            parts.append(_source(token))
        elif parts:
            yield _folded("".join(parts))
            parts = []


def _source(token: "Token") -> str:
    """What a token inside a line was written as, without the marks of emphasis."""
    if token.type == "code_inline":
        return f"{token.markup}{token.content}{token.markup}"
    return "\n" if token.type in {"softbreak", "hardbreak"} else token.content


def _paragraphs(body: str) -> Iterator[_Paragraph]:
    """Prose, list items and code in order, each below its heading."""
    heading, is_head, opening = "", True, None
    for token in _tokens(body):
        if token.type == "heading_open" and token.level == 0:
            opening = token
        elif opening and token.type == "inline":
            heading = _folded(token.content)
            is_head, opening = is_head and opening.tag == "h1", None
        elif token.type in {"fence", "code_block"}:
            yield _Paragraph(heading, token.content, is_code=True)
        else:
            prose = _prose(token, body, is_head=is_head)
            yield from (_Paragraph(heading, text, is_code=False) for text in prose)


def _prose(token: "Token", body: str, *, is_head: bool) -> Iterable[str]:
    """The paragraphs that a token is: text, tags or the definition of a link."""
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
    """The lines of a paragraph in one, but for the rows of a table."""
    rows: list[str] = []
    for line in lines:
        if rows and not _ROW.match(line):
            rows[-1] += f"\n{line}"
        else:
            rows.append(line)
    return rows


def _lines_of(token: "Token") -> slice:
    """The lines that a block stands on; a token that opens none has no such."""
    if token.map is None:
        raise ValueError(f"{token.type} opens no block")
    return slice(*token.map)


def _slices(text: str, starts: Iterable[int]) -> list[str]:
    """The text cut before these lines, what stands before the first in front."""
    lines = _LINE.findall(text)
    return ["".join(lines[a:b]) for a, b in pairwise([0, *starts, len(lines)])]


def _folded(text: str) -> str:
    return " ".join(text.split())
