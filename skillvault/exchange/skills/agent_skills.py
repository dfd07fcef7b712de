"""Plain folders of the Agent Skills specification: a SKILL.md with what belongs to it.

Pure, both ways. In the vault a file keeps every byte but the keys that it may not have there:
what is no key of the specification, or is the vault's to say, has its home in `metadata` under
`agent-skills.`, and nested values are one JSON text each.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from skillvault import front_matter
from skillvault.errors import BadInputError
from skillvault.front_matter import SKILL_KEYS
from skillvault.records import SKILL_KINDS, Problem, Skill
from skillvault.text import is_slug, shorten, slug

FILE = "SKILL.md"
PREFIX = "agent-skills."
_IN_METADATA = f"{PREFIX}metadata."
MAX_DESCRIPTION, MAX_COMPATIBILITY = 1024, 500  # characters, by the specification

# What only the vault says of its skills; `trust` may be lowered by a file, never raised.
_OURS = frozenset(
    "status origin trust expires subject account retired trial internal replaces".split()
)
# Where a key that other tools write at the top is read in a vault.
_HOMES = {
    "tags": "tags", "agent_roles": "roles", "pipeline_stages": "stages", "version": "version",
    "created_at": "created", "usage_count": "usage_count", "success_rate": "success_rate",
}  # fmt: skip
_WORDS = ("tags", "roles", "stages")
_FENCE = "---"  # readers that look for it take it for the end of the front matter


class SkillFolder(Struct, frozen=True):
    """A skill, and its files by their path in its folder, SKILL.md included."""

    skill: Skill
    files: Mapping[str, bytes]


def read_skill(files: Mapping[str, bytes], folder: str = "") -> SkillFolder | Problem:
    """A skill as a vault takes it in, to wait in `proposed/`, or why it cannot be read.

    `files` are its files by path; `folder` is what its folder is called, which its name is by
    default.
    """
    source = next((path for path in (FILE, "skill.md") if path in files), None)
    if source is None:
        message = f"no {FILE} in it; a skill is a folder with one"
        return Problem(folder or FILE, None, "no-skill", message)
    try:
        text = front_matter.text_of(files[source])
        meta, body = front_matter.read(text)
        name = _name_of(meta, folder)
        adapted = _taken_in(meta, name)
        skill = _skill(name, adapted, body)
        content = front_matter.with_mapping(text.encode(), adapted)
    except BadInputError as error:
        return Problem(f"{folder}/{FILE}" if folder else FILE, error.key, error.code, error.message)
    others = {path: data for path, data in files.items() if path != source}
    return SkillFolder(skill, {FILE: content, **others})


def write_skill(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """A skill of a vault as other tools have it: what was put away in `metadata` is back.

    Raises BadInputError for what is no skill.
    """
    meta, _ = front_matter.read(front_matter.text_of(files[FILE]))
    restored = _restored(meta)
    content = files[FILE] if restored == meta else front_matter.with_mapping(files[FILE], restored)
    return {**files, FILE: content}


def as_text(value: Any) -> str:
    """A value as the one text that stands for it in `metadata`: itself, or its JSON."""
    if isinstance(value, str) and not _is_json(value) and _FENCE not in value:
        return value
    return json.dumps(value, ensure_ascii=False).replace(_FENCE, "\\u002d" * len(_FENCE))


def from_text(text: Any) -> Any:
    """The value that a text of `metadata` stands for; see `as_text`."""
    return json.loads(text) if isinstance(text, str) and _is_json(text) else text


# ── in ───────────────────────────────────────────────────────────────────────────────


def _name_of(meta: Mapping[str, Any], folder: str) -> str:
    """A name that can be a folder of a vault, of what the skill calls itself."""
    if name := slug(str(meta.get("name") or folder)):
        return name
    raise BadInputError(
        f"name: {shorten(str(meta.get('name')), 80)!r} cannot be a folder's name; use lower-case "
        "letters, digits and single hyphens",
        code="bad-name",
        key="name",
    )


def _taken_in(meta: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The front matter of a skill as a vault's file has it."""
    top, metadata = dict[str, Any](), _kept_metadata(meta)
    for key, value in {**meta, "name": name}.items():
        if key == "metadata":
            continue
        if key in SKILL_KEYS and not isinstance(value, dict | list):
            top[key] = _fitting(key, value)
        if key not in top or top[key] != value:
            metadata[PREFIX + key] = as_text(value)
    if str(meta.get("name", name)) != name:
        metadata[f"{PREFIX}name"] = as_text(meta["name"])
    return {**top, "metadata": {**metadata, **_status_of(meta)}}


def _status_of(meta: Mapping[str, Any]) -> dict[str, str]:
    """What the vault says of every skill that it takes in."""
    trust = {"trust": "untrusted"} if _metadata_of(meta).get("trust") == "untrusted" else {}
    return {"status": "proposed", "origin": "installed", **trust}


def _fitting(key: str, value: Any) -> Any:
    """A value as it may stand under a key of the specification."""
    if value is None:
        return None
    text = str(value).replace(_FENCE, "—")
    limit = {"description": MAX_DESCRIPTION, "compatibility": MAX_COMPATIBILITY}.get(key)
    if limit is not None and len(text) > limit:
        return shorten(text, limit)
    return text if text != str(value) else value


def _kept_metadata(meta: Mapping[str, Any]) -> dict[str, Any]:
    """What a skill says in `metadata`, and what has its home there, in the vault's form."""
    kept: dict[str, Any] = {}
    for key, value in _metadata_of(meta).items():
        if key in _WORDS and isinstance(value, list):
            kept[key], kept[_IN_METADATA + key] = _spaced(value), as_text(value)
        elif _may_say(key, value):
            kept[key] = as_text(value) if isinstance(value, dict | list) else value
        else:
            kept[_IN_METADATA + key] = as_text(value)
    for key, home in _HOMES.items():
        if key in meta and home not in kept and _may_say(home, meta[key]):
            kept[home] = _spaced(meta[key]) if home in _WORDS else as_text(meta[key])
    return kept


def _metadata_of(meta: Mapping[str, Any]) -> Mapping[str, Any]:
    """The metadata of a skill; one that is no mapping stands under its own name."""
    metadata = meta.get("metadata")
    if metadata is None:
        return {}
    return metadata if isinstance(metadata, Mapping) else {"metadata": metadata}


def _may_say(key: str, value: Any) -> bool:
    """Whether a vault reads a foreign skill's word on a key as its author meant it."""
    if key in _OURS or key.startswith(PREFIX) or _is_nested(value) or _FENCE in str(value):
        return False
    if key == "kind":
        return value in SKILL_KINDS
    if key == "domain":
        return is_slug(str(value))
    if key == "created":
        return _is_time(str(value))
    return True


def _spaced(value: Any) -> str:
    """A list of words as the vault keeps one: with spaces between them."""
    words = value if isinstance(value, list) else str(value).replace(",", " ").split()
    return " ".join("-".join(str(word).split()) for word in words)


def _skill(name: str, meta: Mapping[str, Any], body: str) -> Skill:
    """How the skill reads in a vault."""
    metadata = meta["metadata"]
    description = meta.get("description")
    if not isinstance(description, str) or not description.strip():
        raise BadInputError(
            "description: missing; say what the skill does and when to use it",
            code="missing-key",
            key="description",
        )
    tags, roles, stages = (tuple(str(metadata.get(key) or "").split()) for key in _WORDS)
    return Skill(
        name=name,
        description=description,
        body=body,
        tags=tags,
        roles=roles,
        stages=stages,
        kind=str(metadata.get("kind", "guide")),
        domain=metadata.get("domain"),
        status="proposed",
        origin="installed",
        version=str(metadata.get("version", "1.0")),
        trust=str(metadata.get("trust", "local")),
    )


# ── out ──────────────────────────────────────────────────────────────────────────────


def _restored(meta: Mapping[str, Any]) -> dict[str, Any]:
    """The front matter of a vault's skill as its author wrote it."""
    metadata = {
        key: from_text(value) if _is_nested(value) else value
        for key, value in _metadata_of(meta).items()
        if key not in _OURS and not key.startswith(PREFIX)
    }
    top = {key: value for key, value in meta.items() if key != "metadata"}
    for key, value in _metadata_of(meta).items():
        if key.startswith(_IN_METADATA):
            metadata[key.removeprefix(_IN_METADATA)] = from_text(value)
        elif key.startswith(PREFIX):
            name = key.removeprefix(PREFIX)
            top[name] = from_text(value)
            metadata.pop(_HOMES.get(name, ""), None)
    return top | ({"metadata": metadata} if metadata else {})


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_nested(text: Any) -> bool:
    """Whether a text of `metadata` stands for a list or a map."""
    return isinstance(text, str) and text[:1] in ("[", "{") and _is_json(text)


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
