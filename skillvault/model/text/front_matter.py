"""Read, split and edit markdown text with YAML front matter.

Only this module uses python-frontmatter. It opens no file.
"""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from frontmatter.default_handlers import YAMLHandler

from skillvault.model.errors import BadInputError
from skillvault.model.text import strict_yaml

MAX_FRONT_MATTER = 64 * 1024
# The top-level keys of a skill, by the Agent Skills specification.
SKILL_KEYS = ("name", "description", "license", "compatibility", "allowed-tools", "metadata")
# The keys of skillvault in a skill's `metadata`, in order.
METADATA_KEYS = (
    "internal", "kind", "domain", "subject", "account", "status", "origin", "version", "created",
    "expires", "tags", "roles", "stages", "trust", "retired", "trial", "replaces", "formerly",
    "written",
)  # fmt: skip

WORD_KEYS = ("tags", "roles", "stages", "formerly")  # of these keys, each value is a text of words

# An entry of a front matter with text behind its key, and the indented lines that continue it.
_ENTRY = re.compile(
    r"^(?P<key>[A-Za-z_][\w-]*):[ \t]+(?P<value>\S[^\r\n]*(?:\r?\n[ \t]+\S[^\r\n]*)*)", re.MULTILINE
)
_HANDLER = YAMLHandler()


def text_of(content: bytes) -> str:
    """Decode UTF-8 without its byte order mark. Raise BadInputError with the line of a bad byte."""
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


def compose(meta: Mapping[str, Any], body: str) -> str:
    """Return a markdown text with this front matter and body."""
    return f"---\n{strict_yaml.dump(meta)}---\n\n{body.strip()}\n"


def has_front_matter(text: str) -> bool:
    """Return True if a text begins with front matter."""
    return bool(_HANDLER.detect(text)) and not text.startswith("----")  # which hosts do not read


def split(text: str) -> tuple[str, str]:
    """Return (front matter, body) of a markdown text, both unchanged."""
    if not has_front_matter(text):
        message = "line 1: no front matter; the file must begin with a line `---`"
        raise BadInputError(message, code="no-front-matter", line=1)
    try:
        yaml, body = _HANDLER.split(text)
    except ValueError:
        message = "line 1: the front matter has no end; close it with a line `---`"
        raise BadInputError(message, code="truncated", line=1) from None
    if len(yaml.encode()) > MAX_FRONT_MATTER:
        raise BadInputError(
            f"front matter longer than {MAX_FRONT_MATTER // 1024} KiB", code="too-large"
        )
    return yaml, body


def read_document(text: str, *, as_written: bool = False) -> tuple[dict[str, Any], str]:
    """Return (metadata, stripped body) of a markdown text.

    With `as_written`, a number such as `1.10` is read as text.
    """
    yaml, body = split(text)
    return as_mapping(strict_yaml.load(yaml, as_written=as_written)), body.strip()


def read_foreign(text: str) -> tuple[dict[str, Any], str]:
    """Return (metadata, body) of a third-party SKILL.md. Numbers are read as text."""
    return read_document(mend(text), as_written=True)


def mend(text: str) -> str:
    """Quote the values in a front matter that are not valid YAML, such as `use: a: b`.

    The text is returned unchanged if quotes do not help.
    """
    opening, yaml, rest = _split_at_yaml(text)
    if _is_valid(yaml):
        return text
    mended = _ENTRY.sub(_mend_entry, yaml)
    return opening + mended + rest if _is_valid(mended) else text


def _mend_entry(entry: re.Match[str]) -> str:
    """Return an entry, with its value in quotes if it cannot be read otherwise."""
    if _is_valid(entry[0]):
        return entry[0]
    # `|` or `>` with text in the same line is not the sign of a block of lines.
    value = re.sub(r"^[|>][-+]? ", "", " ".join(entry["value"].split()))
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    return f"{entry['key']}: {json.dumps(value, ensure_ascii=False)}"


def _is_valid(text: str) -> bool:
    """Return True for a YAML mapping, or for a mistake that quotes cannot correct."""
    try:
        return isinstance(strict_yaml.load(text), dict)
    except BadInputError as error:
        return error.code not in ("yaml", "anchor", "tag")


def as_mapping(value: Any) -> dict[str, Any]:
    """Return a mapping unchanged. Raise BadInputError for any other value."""
    if isinstance(value, dict):
        return value
    raise BadInputError(
        "expected keys and values: `domain: coding` in an outcome, `description: …` in a skill",
        code="wrong-type",
    )


def with_key(
    content: bytes, key: tuple[str, ...], value: strict_yaml.Value, *, is_yaml: bool = False
) -> bytes:
    """Set one front matter key of a markdown file, and keep every other byte.

    A new key in `metadata` is inserted in the order of METADATA_KEYS. With `is_yaml`, the file is
    YAML without a body, like `vault.yaml`.
    """
    text = content.decode("utf-8")
    if is_yaml:
        return strict_yaml.with_value(text, key, value).encode()
    opening, yaml, rest = _split_at_yaml(text)
    order = METADATA_KEYS if key[0] == "metadata" else ()
    return (opening + strict_yaml.with_value(yaml, key, value, order=order) + rest).encode()


def without_key(content: bytes, key: tuple[str, ...]) -> bytes:
    """Remove one front matter key of a markdown file, and keep every other byte."""
    opening, yaml, rest = _split_at_yaml(content.decode("utf-8"))
    return (opening + strict_yaml.without_key(yaml, key) + rest).encode()


def yaml_of(text: str) -> str:
    """Return the YAML of a front matter, unchanged."""
    return _split_at_yaml(text)[1]


def with_yaml(content: bytes, yaml: str) -> bytes:
    """Replace the YAML of a front matter, and keep every other byte."""
    opening, _, rest = _split_at_yaml(content.decode("utf-8"))
    return (opening + yaml + rest).encode()


def with_mapping(content: bytes, mapping: Mapping[str, Any], *, takes_flow: bool = False) -> bytes:
    """Replace the front matter of a markdown file, and keep its body.

    If possible, only the keys that differ are edited. The front matter is rewritten if a strict
    reader cannot read it, or if it is in flow style without `takes_flow`.
    """
    opening, yaml, rest = _split_at_yaml(content.decode("utf-8"))
    with suppress(BadInputError):
        old_mapping = as_mapping(strict_yaml.load(yaml, as_written=True))
        if old_mapping == mapping and takes_flow:
            return content
        if takes_flow or strict_yaml.is_block(yaml):
            new_yaml = _edit_keys(yaml, (), old_mapping, mapping)
            if strict_yaml.load(new_yaml, as_written=True) == mapping:
                return (opening + new_yaml + rest).encode()
    return f"{opening}{strict_yaml.dump(dict(mapping))}{rest}".encode()


def _edit_keys(
    yaml: str, path: tuple[str, ...], old: Mapping[str, Any], new: Mapping[str, Any]
) -> str:
    for key in reversed([*old, *(key for key in new if key not in old)]):
        value: Any = new.get(key)
        if key in old and key in new and old[key] == value:
            continue
        if isinstance(value, Mapping) and isinstance(old.get(key, {}), Mapping):
            yaml = _edit_keys(yaml, (*path, key), old.get(key, {}), value)
            continue
        if key in old and (key not in new or isinstance(old[key], dict | list)):
            yaml = strict_yaml.without_key(yaml, (*path, key))
        if isinstance(value, Mapping | list):
            raise BadInputError(f"{key}: nested; write the front matter whole", code="edit")
        if key in new:
            yaml = strict_yaml.with_value(yaml, (*path, key), value, order=list(old))
    return yaml


def with_body(content: bytes, body: str) -> bytes:
    """Replace the body of a markdown file, and keep its front matter and outer white space."""
    text = content.decode("utf-8")
    _, old_body = split(text.removeprefix("\ufeff"))
    start = text.rindex(old_body) if old_body else len(text)
    core = old_body.strip()
    lead = old_body[: old_body.index(core)] if core else old_body
    tail = old_body[len(lead) + len(core) :]
    return (text[:start] + lead + body + tail).encode()


def _split_at_yaml(text: str) -> tuple[str, str, str]:
    yaml, _ = split(text.removeprefix("\ufeff"))
    start = text.index(yaml, text.index("---"))
    core = yaml.lstrip("\r\n")
    lead = start + len(yaml) - len(core)
    return text[:lead], core, text[start + len(yaml) :]
