"""Read the rules and skills in instruction files, such as AGENTS.md, and in guides for people.

Each section of level 2 gives either rules or a skill. A part that skillvault exported
(`rule_files`) is read, too.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from skillvault.exchange.skills import agent_skills, documents, folders, rule_files
from skillvault.exchange.skills.agent_skills import FILE, slug_of
from skillvault.exchange.skills.folders import DocumentRule, TreeEntry, TreeSkill
from skillvault.exchange.source_tree import SkippedFile, SourceTree
from skillvault.model.errors import BadInputError
from skillvault.model.records import Problem
from skillvault.model.text import front_matter, managed_block, markdown
from skillvault.model.text.text import shorten

NAME = "agents-md"
_SKILL_MARK = re.compile(r"<!-- skillvault:skill (?P<name>[a-z0-9-]+) -->\n")
_SKILL_LINE = re.compile(r"^- (?P<name>[a-z0-9-]+) \(`(?P<path>[^`\n]+)`\): ", re.MULTILINE)
_MAX_DESCRIPTION = 300
_NO_STATEMENT = "states nothing"
_MAX_PASSAGE = 6000  # characters that a judge sees
_MAX_RULES = 200  # of one page, because a person reads each rule


def has_sections(tree: SourceTree) -> bool:
    """Return True if a tree has an instruction file."""
    return any(map(documents.is_instruction_file, tree.sizes))


# ── reading ───────────────────────────────────────────────────────────────────────────


def read_sections(tree: SourceTree, _folder: str) -> Iterator[TreeEntry]:
    """Yield the rules and skills in the instruction files of a tree."""
    return _read_pages(tree, documents.is_instruction_file)


def read_documents(tree: SourceTree, _folder: str, *, judged: bool = False) -> Iterator[TreeEntry]:
    """Yield the rules and how-tos in the documents of a tree, or in its only file.

    With `judged`, a judge decides about sections that are neither by structure.
    """
    is_single = len(tree.sizes) == 1
    return _read_pages(tree, lambda path: is_single or documents.is_document(path), judged=judged)


def _read_pages(
    tree: SourceTree, fits: Callable[[str], bool], *, judged: bool = False
) -> Iterator[TreeEntry]:
    path_by_text: dict[str, str] = {}
    # A link comes after the page that it leads to, which may be none of these.
    for path in sorted(filter(fits, tree.sizes), key=lambda path: (path in tree.links, path)):
        try:
            text = front_matter.text_of(folders.read_page(tree, path))
            equal_path = path_by_text.setdefault(" ".join(text.split()), path)
            if equal_path != path:
                yield SkippedFile(path, f"says the same as {equal_path}")
            else:
                yield from _read_page(tree, path, text, judged=judged)
        except BadInputError as error:
            yield Problem(path, error.key, error.code, error.message)


class _Section(NamedTuple):
    """A section of a page that becomes a skill, with its name and when to use it."""

    name: str
    description: str
    text: str


def _read_page(tree: SourceTree, path: str, text: str, *, judged: bool) -> Iterator[TreeEntry]:
    has_front_matter = front_matter.has_front_matter(text)
    meta, text = front_matter.read_foreign(text) if has_front_matter else ({}, text)
    if mark := _SKILL_MARK.match(text):  # a file of an export
        globs = {
            f"agents-md.{key}": str(meta[key]) for key in ("globs", "applyTo") if meta.get(key)
        }
        section = _Section(mark["name"], str(meta.get("description")), text[mark.end() :])
        yield from _convert_sections(path, [section], globs)
        return
    head, block, tail = managed_block.split_page(text, managed_block.EXPORT)
    if block:
        yield from _read_export(tree, path, block)
    texts = [documents.clean_text(part) for part in (head, tail)]
    if not block and (pointer := documents.find_pointer("".join(texts))):
        yield SkippedFile(path, f"only points to another file ({shorten(pointer, 80)})")
        return
    purpose = str(meta.get("description") or "")
    sections = [section for text in texts for section in documents.split_sections(text)]
    if not sections and not block:
        yield SkippedFile(path, _NO_STATEMENT)
    entries = [
        entry
        for section in sections
        for entry in _read_section(path, section, purpose, judged=judged)
    ]
    rules = [entry for entry in entries if isinstance(entry, DocumentRule)]
    skills = [entry for entry in entries if isinstance(entry, _Section)]
    yield from (entry for entry in entries if isinstance(entry, SkippedFile))
    scope = rule_files.read_scope(meta, purpose)
    yield from (_limit_rule(rule, scope.globs) for rule in rules[:_MAX_RULES])
    if (surplus := len(rules) - _MAX_RULES) > 0:
        yield SkippedFile(path, f"{surplus} more rules; a page gives {_MAX_RULES}, so split it")
    stored_values = {f"agents-md.{key}": agent_skills.as_text(value) for key, value in meta.items()}
    yield from _convert_sections(path, skills, {"agents-md.file": path, **stored_values})


def _limit_rule(rule: DocumentRule, globs: str) -> DocumentRule:
    """Put the globs of its page before a rule, because a rule of the vault is for all files."""
    if not globs or rule.is_undecided:
        return rule
    return replace(rule, text=f"For `{globs}`: {rule.text}")


def _read_section(
    path: str, section: documents.DocumentSection, purpose: str, *, judged: bool
) -> Iterator[DocumentRule | SkippedFile | _Section]:
    """Yield the rules of a section, or the section as a skill, or the reason to skip it."""
    title = section.title or purpose or "Project notes"
    section_path = f"{path}#{slug_of(title) or 'section'}"
    rules = documents.find_rules(section) if section.kind == "rules" else []
    heading = ". ".join(filter(None, (title, purpose if purpose != title else "")))
    if rules:
        yield from (DocumentRule(path, rule, heading) for rule in rules)
    elif section.kind == "notes" and judged and len(section.text) <= _MAX_PASSAGE:
        yield DocumentRule(path, section.text.strip(), heading, is_undecided=True)
    elif section.kind == "boilerplate":
        yield SkippedFile(section_path, "boilerplate")
    elif section.kind in ("empty", "rules") or documents.find_pointer(section.text):
        yield SkippedFile(section_path, _NO_STATEMENT)
    elif section.kind == "notes" and not documents.is_instruction_file(path):
        yield SkippedFile(section_path, "neither rules nor steps")
    else:
        first_statement = next(iter(markdown.statements(section.text)), "")
        parts = (f"Use for {title}.", purpose if purpose != title else "", first_statement)
        description = shorten(" ".join(filter(None, parts)), _MAX_DESCRIPTION)
        yield _Section(slug_of(title) or "section", description, section.text)


def _read_export(tree: SourceTree, path: str, block: str) -> Iterator[TreeEntry]:
    """Yield the rules and skills of an earlier export between the marks of a page."""
    rules, _, lines = documents.clean_text(block).partition("\n## Skills\n")
    for section in documents.split_sections(rules):
        yield from (DocumentRule(path, rule, "") for rule in documents.find_rules(section))
    pages = (host.page for host in rule_files.HOSTS.values() if path.endswith(host.page))
    base = path.removesuffix(next(pages, path.rpartition("/")[2]))
    for line in _SKILL_LINE.finditer(lines):
        skill_path = base + line["path"]
        if skill_path not in tree.sizes:
            yield SkippedFile(f"{path}#{line['name']}", f"only points to {line['path']}")
        elif skill_path.endswith(f"/{FILE}"):
            folder = skill_path.removesuffix(FILE)
            files = tree.read([name for name in tree.sizes if name.startswith(folder)])
            files = {name.removeprefix(folder): data for name, data in files.items()}
            skill = agent_skills.read_skill(files, line["name"])
            yield folders.tree_skill(skill, folder.rstrip("/"), files, page=skill_path)


def _convert_sections(
    path: str, sections: Iterable[_Section], metadata: Mapping[str, str]
) -> Iterator[TreeSkill | Problem]:
    """Convert sections of a file to skills. A second skill `testing` becomes `testing-2`."""
    names: set[str] = set()
    for section in sections:
        suffixes = (f"-{number}" if number > 1 else "" for number in range(1, len(names) + 2))
        name = next(name for suffix in suffixes if (name := section.name + suffix) not in names)
        names.add(name)
        meta = {"name": section.name, "description": section.description, "metadata": metadata}
        content = front_matter.compose({k: v for k, v in meta.items() if v}, section.text).encode()
        skill = agent_skills.read_skill({FILE: content}, section.name, NAME)
        yield folders.tree_skill(skill, f"{path}#{name}", {FILE: content}, page=path)
