"""A markdown text with YAML front matter: read, split, and changed a named key at a time.

No file is opened here. The one home of frontmatter.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from frontmatter.default_handlers import YAMLHandler

from skillvault.model.errors import BadInputError
from skillvault.model.text import strict_yaml

MAX_FRONT_MATTER = 64 * 1024
# The top-level keys of a skill, by the Agent Skills specification.
SKILL_KEYS = ("name", "description", "license", "compatibility", "allowed-tools", "metadata")
# The keys of a skill's `metadata` that are ours, in the order in which they stand.
METADATA_KEYS = (
    "internal", "kind", "domain", "subject", "account", "status", "origin", "version", "created",
    "expires", "tags", "roles", "stages", "trust", "retired", "trial", "replaces", "written",
)  # fmt: skip

# A key of a skill with a value that is neither quoted nor a block.
_PLAIN = re.compile(
    r"^(?P<key>name|description|license|compatibility|allowed-tools): +"
    r"(?P<value>[^\s'\"|>][^\r\n]*?)[ \t]*(?=\r?$)",
    re.MULTILINE,
)
_HANDLER = YAMLHandler()


def text_of(content: bytes) -> str:
    """UTF-8 text without its byte order mark; BadInputError names the bad byte."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadInputError(
            f"line {line}: byte 0x{content[error.start]:02x} is not UTF-8; save the file as UTF-8",
            code="not-utf8",
            line=line,
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise BadInputError(
            f"line {line}: a NUL byte; this is not a text file", code="nul", line=line
        )
    return text


def has_front_matter(text: str) -> bool:
    """Whether a text opens with front matter."""
    return bool(_HANDLER.detect(text))


def split(text: str) -> tuple[str, str]:
    """(front matter, body) of a markdown text, both exactly as they stand."""
    if not has_front_matter(text):
        message = "line 1: no front matter; the file must begin with a line `---`"
        raise BadInputError(message, code="no-front-matter", line=1)
    try:
        front, body = _HANDLER.split(text)
    except ValueError:
        message = "line 1: the front matter has no end; close it with a line `---`"
        raise BadInputError(message, code="truncated", line=1) from None
    if len(front.encode()) > MAX_FRONT_MATTER:
        raise BadInputError(
            f"front matter longer than {MAX_FRONT_MATTER // 1024} KiB", code="too-large"
        )
    return front, body


def read(text: str) -> tuple[dict[str, Any], str]:
    """(metadata, body stripped) of a markdown text."""
    front, body = split(text)
    return as_mapping(strict_yaml.load(front)), body.strip()


def read_foreign(text: str) -> tuple[dict[str, Any], str]:
    """The same, also if YAML takes a plain value of a skill's key for something else."""
    try:
        return read(text)
    except BadInputError as error:
        if error.code not in ("yaml", "anchor", "tag"):
            raise
        front, body = split(text)
        quoted = _PLAIN.sub(
            lambda line: f"{line['key']}: {json.dumps(line['value'], ensure_ascii=False)}", front
        )
        try:
            return as_mapping(strict_yaml.load(quoted)), body.strip()
        except BadInputError:
            raise error from None


def as_mapping(value: Any) -> dict[str, Any]:
    """A value that must be keys and values."""
    if isinstance(value, dict):
        return value
    raise BadInputError(
        "expected keys and values, such as `domain: coding`; see `skillvault record --example`",
        code="wrong-type",
    )


def with_key(
    content: bytes, key: tuple[str, ...], value: strict_yaml.Value, *, bare: bool = False
) -> bytes:
    """A markdown file with one front matter key set; every other byte stays.

    A key of ours that is new in `metadata` gets its place there: a text that was changed reads like
    one that was written at once. `bare`: the file is front matter alone, as `vault.yaml` is.
    """
    text = content.decode("utf-8")
    if bare:
        return strict_yaml.with_value(text, key, value).encode()
    before, front, after = _around_yaml(text)
    order = METADATA_KEYS if key[0] == "metadata" else ()
    return (before + strict_yaml.with_value(front, key, value, order=order) + after).encode()


def without_key(content: bytes, key: tuple[str, ...]) -> bytes:
    """A markdown file without one key of its front matter; every other byte stays."""
    before, front, after = _around_yaml(content.decode("utf-8"))
    return (before + strict_yaml.without_key(front, key) + after).encode()


def with_mapping(content: bytes, mapping: Mapping[str, Any]) -> bytes:
    """A markdown file whose front matter says this; its body stays.

    Of a front matter in block style only the keys that differ change, where that can be;
    otherwise it is written whole. What a strict reader cannot read is written whole, too.
    """
    before, front, after = _around_yaml(content.decode("utf-8"))
    try:
        old = as_mapping(strict_yaml.load(front))
        if strict_yaml.is_block(front):
            edited = _with_changes(front, (), old, mapping)
            if strict_yaml.load(edited) == mapping:
                return (before + edited + after).encode()
    except BadInputError:
        return _rewritten(mapping, after)
    return _rewritten(mapping, after)


def _rewritten(mapping: Mapping[str, Any], after: str) -> bytes:
    return f"---\n{strict_yaml.dump(dict(mapping))}{after}".encode()


def _with_changes(
    front: str, place: tuple[str, ...], old: Mapping[str, Any], new: Mapping[str, Any]
) -> str:
    """YAML with the keys changed that differ between two mappings at a place."""
    for key in reversed([*old, *(key for key in new if key not in old)]):
        value: Any = new.get(key)
        if key in old and key in new and old[key] == value:
            continue
        if isinstance(value, Mapping) and isinstance(old.get(key, {}), Mapping):
            front = _with_changes(front, (*place, key), old.get(key, {}), value)
            continue
        if key in old and (key not in new or isinstance(old[key], dict | list)):
            front = strict_yaml.without_key(front, (*place, key))
        if isinstance(value, Mapping | list):
            raise BadInputError(f"{key}: nested; write the front matter whole", code="edit")
        if key in new:
            front = strict_yaml.with_value(front, (*place, key), value)
    return front


def with_body(content: bytes, body: str) -> bytes:
    """A markdown file with another body; its front matter and the space around stay."""
    text = content.decode("utf-8")
    _, old = split(text.removeprefix("\ufeff"))
    start = text.rindex(old) if old else len(text)
    core = old.strip()
    lead = old[: old.index(core)] if core else old
    tail = old[len(lead) + len(core) :]
    return (text[:start] + lead + body + tail).encode()


def _around_yaml(text: str) -> tuple[str, str, str]:
    """What stands before the YAML of a text, the YAML, and what stands after it."""
    front, _ = split(text.removeprefix("\ufeff"))
    start = text.index(front, text.index("---"))
    core = front.lstrip("\r\n")
    lead = start + len(front) - len(core)
    return text[:lead], core, text[start + len(front) :]
