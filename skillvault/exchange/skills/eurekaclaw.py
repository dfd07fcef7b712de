"""Read and write skills of EurekaClaw: folders or flat files with its own keys and counters.

EurekaClaw rewrites its files whenever it loads or uses them. skillvault manages the text of a file,
and keeps the larger of two counters.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from skillvault.exchange.skills import agent_skills, folders
from skillvault.exchange.skills.agent_skills import FILE
from skillvault.exchange.skills.documents import is_instruction_file
from skillvault.exchange.skills.folders import MemoryFact, TreeEntry, TreeSkill
from skillvault.exchange.source_tree import SourceTree, find_skills
from skillvault.model.errors import BadInputError
from skillvault.model.export import Export, ExportedPart, OutgoingSkill
from skillvault.model.records import Problem
from skillvault.model.text import front_matter, markdown
from skillvault.model.text.text import shorten, slug

NAME = "eurekaclaw"
ROOT = "skills"
# No other format has these keys at the top of a front matter.
_KEYS = re.compile(rb"^(?:agent_roles|pipeline_stages|usage_count|success_rate):", re.MULTILINE)
_LISTS = {"tags": "tags", "agent_roles": "roles", "pipeline_stages": "stages"}
# The sources that EurekaClaw accepts.
_SOURCES = ("seed", "distilled", "manual")
_TEXT_KEYS = ("description", "version", "source", *_LISTS)
_MAX_DESCRIPTION = 300  # characters of a description made from a skill's text
_MEMORY = re.compile(r"(?:^|/)memories/(?P<domain>[^/]+)/[^/]+\.md$")
_CATEGORY = re.compile(rb"^category:", re.MULTILINE)  # a key of memories alone
# The category of a memory, as the beginning of its text.
_CATEGORIES = {
    "proof_strategy": "Strategy", "open_problems": "Open problem", "pitfalls": "Pitfall"
}  # fmt: skip
_DEFAULT_CONFIDENCE = 0.8


def has_eurekaclaw(tree: SourceTree) -> bool:
    """Return True for EurekaClaw's keys or memories, or for flat files with front matter."""
    memories = folders.read_pages(tree, lambda path: bool(_MEMORY.search(path)))
    if any(map(_CATEGORY.search, memories.values())):
        return True
    if any(map(_KEYS.search, folders.read_skill_pages(tree).values())):
        return True
    is_flat = not find_skills(tree)
    return is_flat and any(map(_has_front_matter, folders.read_pages(tree, _is_flat_page).values()))


def _is_flat_page(path: str) -> bool:
    return path.endswith(".md") and not is_instruction_file(path)


def _has_front_matter(content: bytes) -> bool:
    return front_matter.has_front_matter(content.decode("utf-8-sig", "replace"))


def read_eurekaclaw(tree: SourceTree, folder: str) -> Iterator[TreeEntry]:
    """Yield every skill in folders and flat files of a tree, and the facts in memories."""
    for skill in folders.read_folders(tree, folder, NAME, _add_description):
        if isinstance(skill, TreeSkill):
            # New counts make no new version.
            texts = {path: _text_part(path, data) for path, data in skill.published.items()}
            yield replace(skill, published=texts)
        else:
            yield skill
    skill_paths = {path for skill in find_skills(tree) for path in skill.paths}
    flat_pages = folders.read_pages(
        tree, lambda path: _is_flat_page(path) and path not in skill_paths
    )
    for path, content in sorted(flat_pages.items()):
        if (memory := _MEMORY.search(path)) and _CATEGORY.search(content):
            yield _read_memory(path, memory["domain"], content)
        elif _has_front_matter(content):
            stem = path.rpartition("/")[2].removesuffix(".md")
            flat_skill = agent_skills.read_skill({FILE: _add_description(content)}, stem, NAME)
            yield folders.tree_skill(flat_skill, path, {FILE: _text_part(FILE, content)})


def _read_memory(path: str, folder: str, content: bytes) -> MemoryFact | Problem:
    """Read a memory of a session, whose title and text become a fact of its domain."""
    try:
        meta, body = front_matter.read_foreign(front_matter.text_of(content))
        confidence = float(meta.get("confidence", _DEFAULT_CONFIDENCE))
    except BadInputError as error:
        return Problem(path, error.key, error.code, error.message)
    except (TypeError, ValueError):
        message = f"confidence: {meta['confidence']!r} is no number; write one from 0 to 1"
        return Problem(path, "confidence", "bad-value", message)
    title = str(meta.get("title") or "")
    text = " ".join(markdown.statements(body))
    category = _CATEGORIES.get(str(meta.get("category")), "")
    text = ": ".join(filter(None, (category, "" if title in text else title, text)))
    domain = slug(str(meta.get("domain") or folder))
    time = meta.get("created_at") if agent_skills.is_time(meta.get("created_at")) else ""
    return MemoryFact(path, text, domain, confidence, str(time))


def _add_description(content: bytes) -> bytes:
    try:
        meta, body = front_matter.read_document(front_matter.text_of(content), as_written=True)
    except BadInputError:
        return content  # the reader reports the error
    statement = next(iter(markdown.statements(body)), "")
    if str(meta.get("description") or "").strip() or not statement:
        return content
    new_meta = {**meta, "description": shorten(statement, _MAX_DESCRIPTION)}
    return front_matter.with_mapping(content, new_meta)


# ── writing ───────────────────────────────────────────────────────────────────────────


def write_eurekaclaw(skills: Sequence[OutgoingSkill], budget: int | None) -> Export:
    """Write skills with the counts of their uses. Without a budget, write all skills."""
    skills, left_out = folders.select_fitting(skills, budget, folders.listing_size)
    return folders.write_folders(
        skills, ROOT, _write_counters, left_out=left_out, part=MANAGED_PART
    )


def _write_counters(skill: OutgoingSkill) -> Mapping[str, bytes]:
    author_meta = agent_skills.read_author_meta(skill.files)
    metadata = author_meta.get("metadata", {})
    source = author_meta.get("source", metadata.get("origin"))
    meta: dict[str, Any] = {
        **author_meta,
        "name": author_meta.get("name", skill.name),
        "version": str(author_meta.get("version", metadata.get("version", "1.0"))),
        **{key: _word_list(author_meta, metadata, key) for key in _LISTS},
        "source": source if source in _SOURCES else "manual",
        **_counters(author_meta, skill),
    }
    time = author_meta.get("created_at", metadata.get("created"))
    if agent_skills.is_time(time):  # with a bad time EurekaClaw would load no skill at all
        meta["created_at"] = time
    meta.pop("metadata", None)
    lifted_keys = {inner for key, inner in _LISTS.items() if key not in author_meta}
    if other_values := {key: v for key, v in metadata.items() if key not in lifted_keys}:
        meta["metadata"] = other_values  # last, so that a round trip keeps the order
    text = front_matter.text_of(skill.files[FILE])
    return {**skill.files, FILE: front_matter.with_mapping(text.encode(), meta)}


def _word_list(author_meta: Mapping[str, Any], metadata: Mapping[str, Any], key: str) -> list[Any]:
    value = author_meta.get(key, metadata.get(_LISTS[key], []))
    return [str(word) for word in (value if isinstance(value, list) else str(value).split())]


def _counters(author_meta: Mapping[str, Any], skill: OutgoingSkill) -> dict[str, Any]:
    if skill.uses is None:
        return {"usage_count": author_meta.get("usage_count", 0)}
    rate = skill.uses.success_rate
    counters: dict[str, Any] = {"usage_count": skill.uses.times_applied}
    return counters if rate is None else {**counters, "success_rate": rate}


# ── the managed part of a file ───────────────────────────────────────────────────────────


def _text_part(path: str, content: bytes) -> bytes:
    """Return a canonical form of a skill's text without counters, or another file unchanged."""
    document = _read_front(path, content)
    if document is None:
        return content
    meta, body = document
    return msgspec.json.encode([[meta.get(key) for key in _TEXT_KEYS], body])


def _choose_file(path: str, disk_file: bytes | None, export: bytes | None) -> bytes | None:
    """Return the exported file, or the one on disk if only its counters are higher."""
    if (
        disk_file is None
        or export is None
        or _text_part(path, disk_file) != _text_part(path, export)
    ):
        return export
    has_counts = _count(path, disk_file) >= _count(path, export)
    return disk_file if has_counts and disk_file != export else export


def _read_front(path: str, content: bytes) -> tuple[dict[str, Any], str] | None:
    if path != FILE:
        return None
    try:
        return front_matter.read_document(front_matter.text_of(content), as_written=True)
    except BadInputError:
        return None  # a broken file is not managed


def _count(path: str, content: bytes) -> int:
    document = _read_front(path, content)
    count = document[0].get("usage_count") if document else None
    return count if isinstance(count, int) else 0


MANAGED_PART = ExportedPart(_text_part, _choose_file)
