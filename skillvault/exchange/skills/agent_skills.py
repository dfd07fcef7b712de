"""Read and write skill folders of the Agent Skills specification: a SKILL.md and its files.

In the vault a file keeps every byte except reserved keys. A key that is not in the specification,
or that only the vault may set, moves to `metadata` with a prefix for its origin, such as
`agent-skills.`. A nested value, and a key or text with `---`, becomes JSON text. The author's front
matter is stored whole if these keys are not enough to restore it.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from anyascii import anyascii
from msgspec import Struct

from skillvault.model.errors import BadInputError
from skillvault.model.export import OutgoingSkill
from skillvault.model.lazy import regex
from skillvault.model.records import SKILL_KINDS, Problem, Skill
from skillvault.model.text import front_matter, markdown, strict_yaml
from skillvault.model.text.front_matter import SKILL_KEYS
from skillvault.model.text.text import first_sentences, is_slug, shorten, slug

FILE = "SKILL.md"
ORIGIN = "agent-skills"
# Formats whose keys are stored in `metadata`, each under `<origin>.`
ORIGINS = (ORIGIN, "eurekaclaw", "openclaw", "claude-code", "claudefi", "agents-md")
_METADATA_PREFIX = "metadata."  # prefix, after the origin, of keys that were in `metadata` before
_MAX_SUMMARY = 300  # characters of a paragraph that stands for a description
MAX_DESCRIPTION, MAX_COMPATIBILITY = 1024, 500  # characters, by the specification

_PUBLISHED_KEY = "published"  # key of `metadata` for the front matter as its author wrote it
# Keys that only the vault may set; a file may lower `trust`, never raise it.
_RESERVED_KEYS = frozenset(
    "status origin trust expires subject account retired trial internal replaces formerly".split()
) | {_PUBLISHED_KEY}
# Top-level key of other tools -> key of `metadata` that the vault reads.
_VAULT_KEYS = {
    "tags": "tags", "agent_roles": "roles", "pipeline_stages": "stages", "version": "version",
    "created_at": "created", "usage_count": "usage_count", "success_rate": "success_rate",
}  # fmt: skip
_TOOLS_KEY = "allowed-tools"
_WORD_LIST_KEYS = ("tags", "roles", "stages")
_DELIMITER = "---"  # simple readers take it for the end of the front matter
# The delimiter at the beginning, or of front matter that blank lines or comments precede.
_LATE_DELIMITER = regex(r"---|(?:\s|<!--(?s:.*?)-->)*---[ \t]*\n[\w-]+:")
_ESCAPED_DELIMITER = "\\u002d" * len(_DELIMITER)


class SkillFolder(Struct, frozen=True):
    """A skill, and its files by their path in its folder, including SKILL.md."""

    skill: Skill
    files: Mapping[str, bytes]


def read_skill(
    files: Mapping[str, bytes], folder: str, origin: str = ORIGIN
) -> SkillFolder | Problem:
    """Convert a skill to a proposal for the vault, or return the problem that prevents this.

    `files` has the skill's files by path. The name of the `folder` is the default name of the
    skill. Keys that the vault does not read are stored under `origin`, one of `ORIGINS`.
    """
    source = next((path for path in (FILE, "skill.md") if path in files), None)
    if source is None:
        message = f"no {FILE} in it; a skill is a folder with one"
        return Problem(folder or FILE, None, "no-skill", message)
    if is_pointer(files[source]):
        message = f"{source} is a pointer of git LFS; run `git lfs pull` there, and try again"
        return Problem(folder or FILE, None, "lfs", message)
    try:
        text = complete(front_matter.text_of(files[source]), folder)
        meta, body = front_matter.read_document(text, as_written=True)
        meta = _restore_keys(meta)
        name = _vault_name(meta, folder)
        vault_meta = _import_meta(meta, name, origin)
        skill = _build_skill(name, vault_meta, body)
        content = _stored_content(text.encode(), vault_meta)
    except BadInputError as error:
        return Problem(f"{folder}/{FILE}" if folder else FILE, error.key, error.code, error.message)
    other_files = {path: data for path, data in files.items() if path != source}
    return SkillFolder(skill, {FILE: content, **other_files})


def complete(text: str, folder: str) -> str:
    """Repair a SKILL.md: quote values, and use the first paragraph as a missing description.

    Claude Code, too, reads a file without front matter by its `folder` and first paragraph.
    BadInputError for a file with neither.
    """
    if front_matter.has_front_matter(text) and not front_matter.yaml_of(text).strip():
        text = front_matter.split(text)[1]
    if not front_matter.has_front_matter(text) and not _LATE_DELIMITER.match(text):
        meta = {"name": folder, **_describe(text)}
        if len(meta) > 1:
            return f"---\n{strict_yaml.dump(meta)}---\n\n{text}"
        message = "no front matter and no paragraph; say what the skill does and when to use it"
        raise BadInputError(message, code="no-front-matter")
    text = front_matter.mend(text)
    with suppress(BadInputError):  # `read_skill` says what is wrong
        meta, body = front_matter.read_document(text, as_written=True)
        is_described = meta.get("description") or f"{ORIGIN}.description" in _metadata_of(meta)
        if not is_described and (description := _describe(body)):
            return front_matter.with_mapping(text.encode(), meta | description).decode()
    return text


def _describe(body: str) -> dict[str, str]:
    paragraph = markdown.first_paragraph(body)
    return {"description": first_sentences(paragraph, _MAX_SUMMARY)} if paragraph else {}


def is_pointer(content: bytes) -> bool:
    """Return True for the placeholder that git stores for a file of git LFS."""
    return content.startswith(b"version https://git-lfs.github.com/spec/")


def _stored_content(content: bytes, vault_meta: Mapping[str, Any]) -> bytes:
    """Return an author's file with the vault's front matter, so that it can be restored."""
    new_content = front_matter.with_mapping(content, vault_meta)
    if write_skill({FILE: new_content})[FILE] == content:
        return new_content
    yaml = front_matter.yaml_of(content.decode())
    escaped_front = yaml.replace(_DELIMITER, _ESCAPED_DELIMITER)
    metadata = {_PUBLISHED_KEY: escaped_front, **vault_meta["metadata"]}
    verbatim_file = front_matter.with_mapping(content, {**vault_meta, "metadata": metadata})
    size = len(front_matter.yaml_of(verbatim_file.decode()).encode())
    if size > front_matter.MAX_FRONT_MATTER:
        return new_content
    return verbatim_file if write_skill({FILE: verbatim_file})[FILE] == content else new_content


def write_skill(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Convert a skill of the vault to its author's files, with stored keys restored.

    Raises BadInputError if the files are not a skill.
    """
    return _replace_author_meta(files, read_author_meta(files))


def write_authored(skill: OutgoingSkill) -> dict[str, bytes]:
    """Convert a skill of a vault to its author's files, with the exported name and description.

    If the author's front matter is not valid YAML, return valid files instead.
    """
    author_meta = read_author_meta(skill.files)
    if slug_of(str(author_meta.get("name"))) != skill.name:
        author_meta["name"] = skill.name
    vault_meta, _ = front_matter.read_foreign(front_matter.text_of(skill.files[FILE]))
    if skill.description != vault_meta.get("description"):
        texts = {f"{ORIGIN}.description": as_text(author_meta.get("description"))}
        author_meta["metadata"] = {**texts, **_metadata_of(author_meta)}
        author_meta["description"] = skill.description
    files = _replace_author_meta(skill.files, author_meta)
    text = files[FILE].decode()
    return files if front_matter.mend(text) == text else write_valid(skill)


def write_valid(skill: OutgoingSkill) -> dict[str, bytes]:
    """Convert a skill of a vault to valid files, with the exported name and description.

    The author's keys that are not in the specification stay in `metadata`. Raises BadInputError if
    the files are not a skill.
    """
    files = skill.files
    author_meta = read_author_meta(files)
    top, stored_texts = _split_keys(author_meta, skill.name)
    if top.get("description") != skill.description:
        stored_texts.setdefault(f"{ORIGIN}.description", as_text(author_meta.get("description")))
        top["description"] = skill.description
    other_values = {key: value for key, value in author_meta.items() if key not in top}
    metadata = _metadata_of(author_meta)
    doubles = _double_values(author_meta)
    metadata = {
        key: _vault_text(key, value) if isinstance(value, list) and stored_key in doubles else value
        for key, value in metadata.items()
        if (stored_key := _inner_key(ORIGIN, key)) not in doubles or _is_readable(key, value)
    }
    stored_texts |= doubles
    metadata = {**metadata, **_vault_values(other_values, metadata), **stored_texts}
    metadata = {
        f"{ORIGIN}.{as_text(_METADATA_PREFIX + k)}" if _DELIMITER in k or _needs_flow(v) else k: (
            as_text(v) if _DELIMITER in f"{k} {v}" or _needs_flow(v) else v
        )
        for k, v in metadata.items()
    }
    return _replace_front_matter(files, {**top, **({"metadata": metadata} if metadata else {})})


def _needs_flow(value: Any) -> bool:
    """Return True if a value such as `[]` can only be written in flow style."""
    return not strict_yaml.is_block(strict_yaml.dump({"value": value}))


def _replace_author_meta(
    files: Mapping[str, bytes], author_meta: Mapping[str, Any]
) -> dict[str, bytes]:
    """Replace the front matter with the author's, including later changes of single keys."""
    content = front_matter.text_of(files[FILE]).encode()
    meta, _ = front_matter.read_foreign(content.decode())
    published = _metadata_of(meta).get(_PUBLISHED_KEY)
    if isinstance(published, str):
        content = front_matter.with_yaml(content, published.replace(_ESCAPED_DELIMITER, _DELIMITER))
        written_meta, _ = front_matter.read_document(content.decode(), as_written=True)
        values = {key: value for key, value in author_meta.items() if key in written_meta}
        values |= {key: value for key, value in author_meta.items() if key != "name"}
        if str(written_meta.get("name")) == values.get("name"):  # such as a number
            values["name"] = written_meta["name"]
        # An empty mapping of metadata, or a text in its place, stays as it is written.
        value = written_meta.get("metadata")
        if "metadata" in written_meta and values.get("metadata", {}) in ({}, {"metadata": value}):
            values["metadata"] = value
        content = front_matter.with_mapping(content, values, takes_flow=True)
        return {**files, FILE: content}
    return _replace_front_matter(files, author_meta)


def read_author_meta(files: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the front matter that the author of a vault's skill wrote."""
    meta, _ = front_matter.read_foreign(front_matter.text_of(files[FILE]))
    metadata = {
        # A tag such as `{}` is a word of a list, and no mapping.
        key: from_text(value) if _is_nested(value) and key not in front_matter.WORD_KEYS else value
        for key, value in _metadata_of(meta).items()
        if key not in _RESERVED_KEYS
    }
    return _restore_keys({**meta, "metadata": metadata})


def _replace_front_matter(
    files: Mapping[str, bytes], mapping: Mapping[str, Any]
) -> dict[str, bytes]:
    """Replace the front matter, unless it has these values in block style already."""
    text = front_matter.text_of(files[FILE])
    yaml = front_matter.split(text)[0]
    with suppress(BadInputError):  # invalid front matter is replaced
        if strict_yaml.load(yaml, as_written=True) == mapping and strict_yaml.is_block(yaml):
            return dict(files)
    return {**files, FILE: front_matter.with_mapping(text.encode(), mapping)}


def as_text(value: Any) -> str:
    """Encode a value as a text for `metadata`. Plain text is unchanged, other values are JSON."""
    if isinstance(value, str) and not _is_json(value) and _DELIMITER not in value:
        return value
    return json.dumps(value, ensure_ascii=False).replace(_DELIMITER, _ESCAPED_DELIMITER)


def from_text(text: Any) -> Any:
    """Decode a text that `as_text` encoded."""
    return json.loads(text) if isinstance(text, str) and _is_json(text) else text


# ── reading ───────────────────────────────────────────────────────────────────────────


def _vault_name(meta: Mapping[str, Any], folder: str) -> str:
    """Return a folder name for a skill. Raise BadInputError if its name has no usable letters."""
    if name := slug_of(str(meta.get("name") or folder)):
        return name
    raise BadInputError(
        f"name: {shorten(str(meta.get('name')), 80)!r} cannot be a folder's name; use lower-case "
        "letters, digits and single hyphens",
        code="bad-name",
        key="name",
    )


def slug_of(name: str) -> str:
    """Return the slug of a name in any script."""
    return slug(name if name.isascii() else anyascii(name))


def _import_meta(meta: Mapping[str, Any], name: str, origin: str) -> dict[str, Any]:
    """Convert an author's front matter to the front matter of a proposal."""
    top_values, stored_texts = _split_keys(meta, name, origin)
    metadata = _import_metadata(meta, origin)
    status = {"status": "proposed", "origin": "installed"}
    if _metadata_of(meta).get("trust") == "untrusted":
        status["trust"] = "untrusted"
    vault_values = _vault_values(meta, metadata)
    return {**top_values, "metadata": {**metadata, **vault_values, **stored_texts, **status}}


def _split_keys(
    meta: Mapping[str, Any], name: str, origin: str = ORIGIN
) -> tuple[dict[str, Any], dict[str, str]]:
    """Split an author's keys into top-level values, and texts to store in `metadata`."""
    top_values, stored_texts = dict[str, Any](), dict[str, str]()
    for key, value in {**meta, "name": name}.items():
        if key == "metadata":
            continue
        if key in SKILL_KEYS and (key == _TOOLS_KEY or not isinstance(value, dict | list)):
            top_values[key] = _fit_value(key, value)
        if key not in top_values or top_values[key] != value:
            stored_texts[f"{origin}.{as_text(key)}"] = as_text(value)
    if str(meta.get("name", name)) != name:
        stored_texts[f"{origin}.name"] = as_text(meta["name"])
    return top_values, stored_texts


def _vault_values(meta: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return values for the vault's keys in `metadata`, from top-level keys of other tools."""
    return {
        vault_key: _vault_text(vault_key, meta[key])
        for key, vault_key in _VAULT_KEYS.items()
        if key in meta and vault_key not in metadata and _is_readable(vault_key, meta[key])
    }


def _fit_value(key: str, value: Any) -> Any:
    """Make a value valid for a key of the specification."""
    if value is None:
        return None
    if isinstance(value, list | dict):
        value = " ".join(map(str, value))
    text = str(value).replace(_DELIMITER, "—")
    limit = {"description": MAX_DESCRIPTION, "compatibility": MAX_COMPATIBILITY}.get(key)
    if limit is not None and len(text) > limit:
        return shorten(text, limit)
    return text if text != str(value) else value


def _import_metadata(meta: Mapping[str, Any], origin: str) -> dict[str, Any]:
    """Convert an author's `metadata` to the vault's."""
    metadata: dict[str, Any] = {**_double_values(meta, origin)}
    for key, value in _metadata_of(meta).items():
        if key in _WORD_LIST_KEYS and isinstance(value, list):
            metadata[key] = _join_words(value)
            metadata[_inner_key(origin, key)] = as_text(value)
        elif _is_readable(key, value):
            metadata[key] = as_text(value) if isinstance(value, dict | list) else value
        else:
            metadata[f"{origin}.{as_text(_METADATA_PREFIX + key)}"] = as_text(value)
    return metadata


def _double_values(meta: Mapping[str, Any], origin: str = ORIGIN) -> dict[str, str]:
    keys = {vault_key for key, vault_key in _VAULT_KEYS.items() if key in meta}
    return {
        _inner_key(origin, key): as_text(value)
        for key, value in _metadata_of(meta).items()
        if key in keys
    }


def _inner_key(origin: str, key: str) -> str:
    """Return the key under which a key of an author's `metadata` is stored."""
    return f"{origin}.{_METADATA_PREFIX}{key}"


def _vault_text(key: str, value: Any) -> str:
    """Convert a value of another tool to the text that the vault reads."""
    if key in _WORD_LIST_KEYS:
        return _join_words(value)
    return value if isinstance(value, str) else as_text(value)


def _metadata_of(meta: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the metadata of a skill. A value that is no mapping gets the key `metadata`."""
    metadata = meta.get("metadata")
    if metadata is None:
        return {}
    return metadata if isinstance(metadata, Mapping) else {"metadata": metadata}


def _is_readable(key: str, value: Any) -> bool:
    text = f"{key} {value}"
    if key in _RESERVED_KEYS or _original_key(key) or _is_nested(value) or _DELIMITER in text:
        return False
    if key == "kind":
        return value in SKILL_KINDS
    if key == "domain":
        return is_slug(str(value))
    if key == "created":
        return is_time(str(value))
    return True


def _join_words(value: Any) -> str:
    words = value if isinstance(value, list) else str(value).replace(",", " ").split()
    return " ".join("-".join(str(word).split()) for word in words)


def _build_skill(name: str, meta: Mapping[str, Any], body: str) -> Skill:
    metadata = meta["metadata"]
    description = meta.get("description")
    if not isinstance(description, str) or not description.strip():
        fault = "missing"
        if metadata.keys() & {f"{origin}.description" for origin in ORIGINS}:
            fault = "a list or a mapping, not a text"
        elif description and not isinstance(description, str):
            fault = f"{description}, which is no text"
        message = f"description: {fault}; say what the skill does and when to use it"
        raise BadInputError(message, code="missing-key", key="description")
    tags, roles, stages = (tuple(str(metadata.get(key) or "").split()) for key in _WORD_LIST_KEYS)
    return Skill(
        name=name,
        description=description,
        body=body,
        tags=tags,
        roles=roles,
        stages=stages,
        kind=str(metadata.get("kind", "manual")),
        domain=metadata.get("domain"),
        status="proposed",
        origin="installed",
        version=str(metadata.get("version", "1.0")),
        trust=str(metadata.get("trust", "local")),
    )


# ── writing ───────────────────────────────────────────────────────────────────────────


def _restore_keys(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Move the keys that are stored in `metadata` back to their places.

    If the file has a newer value for such a key, the newer value is used.
    """
    stored_metadata = _metadata_of(meta)
    metadata = {key: value for key, value in stored_metadata.items() if not _original_key(key)}
    top_values = {key: value for key, value in meta.items() if key != "metadata"}
    stored = [(name, key) for key in stored_metadata if (name := _original_key(key)) is not None]
    # Those of `metadata` come last: a vault's own value there is of a key at the top.
    for name, key in sorted(stored, key=lambda pair: pair[0].startswith(_METADATA_PREFIX)):
        value = stored_metadata[key]
        if name.startswith(_METADATA_PREFIX):
            field = name.removeprefix(_METADATA_PREFIX)
            is_vault_value = field in _VAULT_KEYS.values() and _is_readable(field, from_text(value))
            vault_value = stored_metadata.get(field) if is_vault_value else None
            metadata[field] = _latest_value(field, from_text(value), vault_value)
        elif name == "name" or name not in meta or _is_short_form(meta[name], name, value):
            vault_key = _VAULT_KEYS.get(name, "")
            inner_value = stored_metadata.get(_inner_key(key.partition(".")[0], vault_key))
            is_double = inner_value is not None and _is_readable(vault_key, from_text(inner_value))
            vault_value = None if is_double else metadata.pop(vault_key, None)
            top_values[name] = _latest_value(vault_key, from_text(value), vault_value)
    return top_values | ({"metadata": metadata} if metadata else {})


def _is_short_form(value: Any, key: str, text: str) -> bool:
    """Return True if a value is the stored text after the vault or an export made it valid."""
    author_value = from_text(text)
    if key != "description" or not isinstance(author_value, str):
        return bool(value == _fit_value(key, author_value))
    short_text = " ".join(str(value).split()).rstrip("…. ")
    return " ".join(author_value.replace(_DELIMITER, "—").split()).startswith(short_text)


def _original_key(key: str) -> str | None:
    """Return the original name of a key that is stored under an origin, else None."""
    origin, dot, name = key.partition(".")
    if not dot or origin not in ORIGINS:
        return None
    return str(from_text(name)) if name.startswith('"') else name


def _latest_value(key: str, author_value: Any, vault_value: Any) -> Any:
    """Return the author's value, unless the vault has a newer one."""
    if vault_value is None or _vault_text(key, author_value) == vault_value:
        return author_value
    return str(vault_value).split() if key in _WORD_LIST_KEYS else vault_value


def _is_json(text: str) -> bool:
    with suppress(ValueError, RecursionError):
        json.loads(text)
        return True
    return False


def _is_nested(text: Any) -> bool:
    return isinstance(text, str) and text[:1] in ("[", "{") and _is_json(text)


def is_time(value: Any) -> bool:
    """Return True for the text of an ISO 8601 time."""
    with suppress(TypeError, ValueError):
        datetime.fromisoformat(value)
        return True
    return False
