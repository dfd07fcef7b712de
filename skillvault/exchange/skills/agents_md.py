"""Read and write skills as sections of an AGENTS.md or CLAUDE.md, which an agent reads whole.

An export writes between two marks and changes nothing outside of them. An import reads every
section of level 2 that a person wrote, its rules as rules and any other as a skill, and the
exported skills between the marks.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from skillvault.exchange.skills import agent_skills, documents
from skillvault.exchange.skills.agent_skills import FILE, slug_of
from skillvault.exchange.skills.folders import (
    DocumentRule,
    TreeEntry,
    TreeSkill,
    move_problem,
    read_page,
    select_fitting,
)
from skillvault.exchange.source_tree import PassedOver, SourceTree
from skillvault.model.errors import BadInputError
from skillvault.model.export import Export, ExportedPart, OmittedSkill, OutgoingSkill
from skillvault.model.records import Problem
from skillvault.model.text import front_matter, markdown
from skillvault.model.text.text import shorten

NAME = "agents-md"
PAGE = "AGENTS.md"
BUDGET = 16_000  # characters: half of what Codex reads of all such files
BEGIN, END = "<!-- skillvault:begin -->", "<!-- skillvault:end -->"
_SKILL = re.compile(r"^<!-- skillvault:skill (?P<name>[a-z0-9-]+) -->\n", re.MULTILINE)
_MARK = re.compile(r"<!-- skillvault:(?:begin|end|skill\b)")
_NOTICE = (
    "<!-- Written by `skillvault export`: change the skill in the vault, not the text here. -->"
)
_MAX_DESCRIPTION = 300
_MAX_RULES = 200  # of one page, as a person reads each of them


def has_sections(tree: SourceTree) -> bool:
    """Return True if a tree has a file that agents read whole."""
    return any(map(documents.is_memory, tree.sizes))


# ── in ───────────────────────────────────────────────────────────────────────────────


def read_sections(tree: SourceTree, _folder: str) -> Iterator[TreeEntry]:
    """Yield the rules and skills of every file of a tree that agents read whole."""
    return _read_pages(tree, documents.is_memory)


def read_documents(tree: SourceTree, _folder: str) -> Iterator[TreeEntry]:
    """Yield the rules and how-tos of the documents of a tree, or of its one file."""
    is_one = len(tree.sizes) == 1
    return _read_pages(tree, lambda path: is_one or documents.is_document(path))


def _read_pages(tree: SourceTree, fits: Callable[[str], bool]) -> Iterator[TreeEntry]:
    path_by_text: dict[str, str] = {}
    for path in sorted(filter(fits, tree.sizes)):
        try:
            text = front_matter.text_of(read_page(tree, path))
            equal_path = path_by_text.setdefault(" ".join(text.split()), path)
            if path in tree.links or equal_path != path:
                yield PassedOver(path, f"says the same as {tree.links.get(path, equal_path)}")
            else:
                yield from _read_page(path, text)
        except BadInputError as error:
            yield Problem(path, error.key, error.code, error.message)


class _Section(NamedTuple):
    """A section of a page: a name, when to use it, its text."""

    name: str
    description: str
    text: str


def _read_page(path: str, text: str) -> Iterator[TreeEntry]:
    has_front = front_matter.has_front_matter(text)
    meta, text = front_matter.read_foreign(text) if has_front else ({}, text)
    head, block, tail = _split_marks(text)
    names = set[str]()
    yield from _convert_sections(path, _exported_sections(block), {}, names)
    texts = [documents.clean(part) for part in (head, tail)]
    if not block and (pointer := documents.find_pointer("".join(texts))):
        yield PassedOver(path, f"only points to another file ({shorten(pointer, 80)})")
        return
    skills: list[_Section] = []
    rules: list[DocumentRule] = []
    purpose = str(meta.get("description") or "")
    for section in (part for page_text in texts for part in documents.split_sections(page_text)):
        title = section.title or purpose or "Project notes"
        place = f"{path}#{slug_of(title) or 'section'}"
        if section.kind == "rules":
            about = ". ".join(filter(None, (title, purpose if purpose != title else "")))
            rules += [DocumentRule(path, rule, about) for rule in documents.rules_of(section)]
        elif section.kind in ("boilerplate", "empty"):
            reason = "boilerplate" if section.kind == "boilerplate" else "states nothing"
            yield PassedOver(place, reason)
        elif section.kind == "notes" and not documents.is_memory(path):
            yield PassedOver(place, "neither rules nor steps")
        else:
            skills.append(_skill_section(title, purpose, section.text))
    yield from rules[:_MAX_RULES]
    if (surplus := len(rules) - _MAX_RULES) > 0:
        yield PassedOver(path, f"{surplus} more rules; a page gives {_MAX_RULES}, so split it")
    stored = {f"agents-md.{key}": agent_skills.as_text(value) for key, value in meta.items()}
    yield from _convert_sections(path, skills, {"agents-md.file": path, **stored}, names)


def _skill_section(title: str, purpose: str, text: str) -> _Section:
    """Return a section as a skill: its first statement says when to use it."""
    statement = next(iter(markdown.statements(text)), "")
    parts = (f"Use for {title}.", purpose if purpose != title else "", statement)
    description = shorten(" ".join(filter(None, parts)), _MAX_DESCRIPTION)
    return _Section(slug_of(title) or "section", description, text)


def _exported_sections(block: str) -> Iterator[_Section]:
    """Yield the sections of an earlier export between the marks."""
    block = block.removesuffix(END)
    marks = list(_SKILL.finditer(block))
    end_positions = [*(mark.start() for mark in marks[1:]), len(block)]
    for mark, end in zip(marks, end_positions, strict=False):
        description, _, body = block[mark.end() : end].partition("\n")
        yield _Section(mark["name"], description, body)


def _convert_sections(
    path: str, sections: Iterable[_Section], metadata: Mapping[str, str], names: set[str]
) -> Iterator[TreeSkill | Problem]:
    """Convert sections of a file to skills; a name among the `names` of others gets a number."""
    for section in sections:
        ends = (f"-{number}" if number > 1 else "" for number in range(1, len(names) + 2))
        name = next(name for end in ends if (name := section.name + end) not in names)
        names.add(name)
        front = {"name": section.name, "description": section.description, "metadata": metadata}
        content = front_matter.compose({k: v for k, v in front.items() if v}, section.text).encode()
        skill = agent_skills.read_skill({FILE: content}, section.name, NAME)
        if isinstance(skill, Problem):
            yield move_problem(skill, path)
        else:
            yield TreeSkill(f"{path}#{name}", skill, {FILE: content})


# ── out ──────────────────────────────────────────────────────────────────────────────


def write_sections(skills: Sequence[OutgoingSkill], budget: int | None = None) -> Export:
    """Write the skills that fit the budget, in order, as one part of an AGENTS.md."""
    texts: dict[str, str] = {}
    omitted_skills: list[OmittedSkill] = []
    for skill in skills:
        try:
            texts[skill.name] = _render_skill(skill)
        except BadInputError as error:
            omitted_skills.append(OmittedSkill(skill.name, error.message))
    readable = [skill for skill in skills if skill.name in texts]
    fit = select_fitting(readable, budget or BUDGET, lambda skill: len(texts[skill.name]))
    names = tuple(skill.name for skill in fit.skills)
    block = "\n".join([BEGIN, _NOTICE, *(texts[name] for name in names), END])
    units = {"": {PAGE: block.encode()}} if names else {}
    return Export(units, names, (*omitted_skills, *fit.left_out), MANAGED_PART)


def _render_skill(skill: OutgoingSkill) -> str:
    """Render a skill between its marks: its description in one line, then its text."""
    _, body = front_matter.read_foreign(front_matter.text_of(skill.files[FILE]))
    description = " ".join(skill.description.split())
    if _MARK.search(f"{description}\n{body}"):
        raise BadInputError("its text has a mark of an export in it; reword it", code="mark")
    return f"\n<!-- skillvault:skill {skill.name} -->\n{description}\n\n{body}\n"


# ── the managed part of a file ───────────────────────────────────────────────────────────


def _split_marks(text: str) -> tuple[str, str, str]:
    """Split a text into the part before the marks, the marked part, and the part after."""
    begin_count, end_count = text.count(BEGIN), text.count(END)
    if (begin_count, end_count) == (0, 0):
        return text, "", ""
    start, end = text.find(BEGIN), text.find(END)
    if (begin_count, end_count) != (1, 1) or end < start:
        message = f"the marks {BEGIN} and {END} must stand once each, in this order; mend them"
        raise BadInputError(message, code="marks")
    return text[:start], text[start : end + len(END)], text[end + len(END) :]


def _managed_part(_path: str, content: bytes) -> bytes | None:
    """Return the marks and the text between them; None without marks."""
    return _split_marks(front_matter.text_of(content))[1].encode() or None


def _replace_part(_path: str, old_content: bytes | None, part: bytes | None) -> bytes | None:
    """Replace the part between the marks; append it if the file has no marks."""
    text = "" if old_content is None else front_matter.text_of(old_content)
    bom = "\ufeff" if old_content and old_content.startswith(b"\xef\xbb\xbf") else ""
    head, block, tail = _split_marks(text)
    if part is None:
        remaining_text = (head.rstrip("\n") + "\n" if head.strip() else "") + tail.lstrip("\n")
        return (bom + remaining_text).encode() if remaining_text.strip() else None
    if not block:
        head = f"{head.rstrip()}\n\n" if head.strip() else ""
        tail = "\n"
    return (bom + head + part.decode() + tail).encode()


MANAGED_PART = ExportedPart(_managed_part, _replace_part)
