"""No section and no list item of a document is lost: each comes in, or its place is named.

The sections and items are counted here by markdown-it alone, independently of the reader.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from skillvault.exchange.skills import agents_md, documents
from skillvault.exchange.skills.agent_skills import slug_of
from skillvault.exchange.skills.folders import DocumentRule, TreeEntry, TreeSkill
from skillvault.exchange.source_tree import SkippedFile, tree_of
from skillvault.model.text import front_matter
from tests.interop.programs import CLONES

ROOT = Path(__file__).parents[3]
_PLACE = os.environ.get(CLONES, "")


def count_sections(text: str) -> list[tuple[str, list[str]]]:
    """Return each heading of level 2 with the first lines of the list items below it."""
    tokens = MarkdownIt("commonmark").parse(text)
    sections: list[tuple[str, list[str]]] = []
    for number, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag == "h2" and token.level == 0:
            sections.append((fold(tokens[number + 1].content), []))
        elif token.type == "list_item_open" and sections and tokens[number + 2].type == "inline":
            sections[-1][1].append(fold(tokens[number + 2].content))
    return sections


def fold(text: str) -> str:
    return " ".join(text.split()).removeprefix("[ ] ").removeprefix("[x] ")


def find_losses(path: str, page: bytes) -> Iterator[str]:
    """Yield each section and item of a page that neither came in nor is named."""
    entries = list(agents_md.read_documents(tree_of({path: page}), ""))
    names = {entry.path.partition("#")[2] for entry in entries if isinstance(entry, SkippedFile)}
    if "" in names:  # the page as a whole, or rules beyond its number
        return
    text = front_matter.text_of(page).replace("\r\n", "\n")
    text = text.partition("\n---\n")[2] if text.startswith("---\n") else text
    incoming = fold(" ".join(map(_text_of, entries)))
    for heading, items in count_sections(text):
        if (slug_of(heading) or "section") in names:
            continue
        yield from (item for item in (heading, *items) if item not in incoming)


def _text_of(entry: TreeEntry) -> str:
    if isinstance(entry, DocumentRule):
        return f"{entry.about} {entry.text}"
    return entry.folder.skill.body if isinstance(entry, TreeSkill) else ""


@pytest.mark.parametrize(
    "page", [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")], ids=lambda p: p.name
)
def test_each_section_and_item_of_a_document_comes_in_or_is_named(page: Path) -> None:
    assert list(find_losses(page.name, page.read_bytes())) == []


@pytest.mark.skipif(not _PLACE, reason=f"set {CLONES} to a folder with clones of repositories")
def test_each_section_and_item_of_other_peoples_documents_comes_in_or_is_named() -> None:
    pages = {str(page.relative_to(_PLACE)): page for page in Path(_PLACE).rglob("*.md*")}
    losses = {
        path: found
        for path, page in pages.items()
        if documents.is_document(path) and page.is_file() and ".git" not in page.parts
        if (found := list(find_losses(path, page.read_bytes())))
    }
    assert losses == {}


@pytest.mark.parametrize(
    "text",
    [
        "- Begin a comment with `<!--` always.\n- End it with `-->` always.\n",
        "Run this:\n\n```html\n<!-- a -->\n```\n",
        "- Keep `<!-- a -->` as it is.\n",
    ],
)
def test_a_comment_in_code_is_text(text: str) -> None:
    assert documents.clean_text(f"## Style\n\n{text}<!-- away -->") == f"## Style\n\n{text}"
