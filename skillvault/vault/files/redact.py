"""Remove secrets and hidden characters from a record before it is written.

This module finds tokens by their first characters (`token_formats.toml`), and `secret_cues` finds
other secrets by the text around them. A marker names the kind of each removed secret.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any

from skillvault.model.errors import BadInputError
from skillvault.model.lazy import regex
from skillvault.model.text import hidden_characters
from skillvault.vault.files.secret_cues import is_no_value, is_secret_name, mark_secrets

_TABLE = tomllib.loads(Path(__file__).with_name("token_formats.toml").read_text(encoding="utf-8"))
FORMATS = [(start, row["kind"], row["tail"]) for row in _TABLE["format"] for start in row["starts"]]
_STARTS = sorted({start for start, _, _ in FORMATS if start}, key=len, reverse=True)
# A token may follow `_` or `-`, as in `key_hf_…`, but no letter or digit.
_TOKEN_START = regex(rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, _STARTS))})")
_UNSPACED_TEXT = regex(r"[^\s'\"`<>,;()\[\]{}\\]{16,}")
_FORMAT_PART = regex(r"\{(\w+):(\d+)(?:-(\d+))?\}")
# A token of an unlisted vendor: a short name, then generated characters.
_UNLISTED_TOKEN = regex(
    r"(?<![\w.+/=-])(?!sha\d|md5|cs_|pk_|pi_)[a-z][a-z0-9]{0,11}[_-](?:[a-z0-9]{1,8}[_-]){0,2}"
    r"(?=[0-9]{0,40}[A-Za-z]{1,40}[0-9])(?=[a-z0-9]{0,40}[A-Z])(?=[A-Z0-9]{0,40}[a-z])"
    r"[A-Za-z0-9]{32,4000}"
    r"|(?<![\w.+/=-])(?!cache|public)(?:[a-z]{1,12}[_-]){0,2}"
    r"(?:[a-z]{0,4}(?:sk|pat|key|secret|token)[_-](?:(?:live|prod|test|v1)[_-])?(?:"
    r"[0-9a-f]{32,4000}|(?=[a-zA-Z]{0,20}[0-9])(?=[a-z0-9]{0,40}[A-Z])[A-Za-z0-9]{20,4000})"
    r"|(?:live|prod|oat)[_-](?=[a-zA-Z]{0,20}[0-9])(?=[a-z0-9]{0,40}[A-Z])[A-Za-z0-9]{20,4000})"
)
_PRIVATE_KEY = regex(
    r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}.*?"
    r"(?:-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}|\Z)",
    re.DOTALL,
)
# A private key without its header: its first bytes, or its last lines.
_KEY_BODY = regex(
    r"(?<![A-Za-z0-9+/=])(?:MII[A-Za-z0-9+/]{2}[AQgw]IBA[AD]|MI[GH][A-Za-z0-9+/]AgE[AB]|M[A-H]"
    r"[A-Za-z0-9+/]{2}AgEA"
    r"|M[A-H][A-Za-z0-9+/]CAQ[AE]|b3BlbnNzaC1rZXktdjE|LS0tLS1CRUdJTi(?:BSU0Eg|BFQyB|BPUEVOU1NIIF"
    r"|BFTkNSWVBURUQg|B)?(?:UFJJVkFURS|QUklWQVRF|FBSSVZBVE))"
    r"[A-Za-z0-9+/=]{24,4000}(?:(?:\\n|\r?\n)[A-Za-z0-9+/=]{4,4000}(?=[\s\\'\"-]|\Z)){0,400}"
    r"|(?<![A-Za-z0-9+/=])(?:[A-Za-z0-9+/=]{16,4000}+(?:\\n|\s){1,4}){1,100}+"
    r"(?=-----END [A-Z ]{0,20}PRIVATE KEY)"
)
_JSON_WEB_TOKEN = regex(r"(?<![\w-])eyJ[\w-]{8,4000}={0,2}\.[\w-]{8,4000}(?:[.=][\w.=-]{0,4000})?")
_MARKER = "[redacted: Secret Keyword]"
_MARKER_PATTERN = regex(r"\[redacted: ([^\]]+)\]")
_ASCII_OF_FULL_WIDTH = {code + 0xFEE0: code for code in range(0x21, 0x7F)}
_MIN_SECRET_NUMBER = 100_000  # a smaller number under the name of a secret is a count


@cache
def _compile_tail(tail: str) -> re.Pattern[str]:
    """Compile a format such as `{hex:32}` or `{word:23-26}` to a pattern."""
    pattern = ""
    end = 0
    for part in _FORMAT_PART.finditer(tail):
        alphabet, minimum, maximum = part.groups()
        limit = maximum or ("" if part.end() == len(tail) else "400")
        pattern += f"{re.escape(tail[end : part.start()])}[{_TABLE['alphabets'][alphabet]}]"
        pattern += f"{{{minimum},{limit}}}"
        end = part.end()
    boundary = "(?![A-Za-z0-9])" if maximum is not None else ""
    return re.compile(pattern + re.escape(tail[end:]) + boundary, re.ASCII)


@cache
def _formats_of(start: str) -> list[tuple[int, str, str]]:
    """Return (length, kind, tail) for each format of a token that begins with `start`.

    A token that begins with `sk-ant-` also begins with `sk-`, and may have the format of either.
    """
    rows = (row for row in FORMATS if row[0] and start.startswith(row[0]))
    return [(len(beginning), kind, tail) for beginning, kind, tail in rows]


_PATTERNS_WITHOUT_START = [
    *((kind, _compile_tail(tail)) for start, kind, tail in FORMATS if not start),
    ("JSON Web Token", _JSON_WEB_TOKEN),
    ("Token", _UNLISTED_TOKEN),
]


def redact_text(text: str) -> str:
    """Replace each secret in a text with `[redacted: <kind>]`.

    Full-width characters are read as ASCII, but lines without a secret keep them.
    """
    plain_text = text.translate(_ASCII_OF_FULL_WIDTH)
    redacted_text = plain_text
    for pattern in (_PRIVATE_KEY, _KEY_BODY):
        redacted_text = pattern.sub("[redacted: Private Key]", redacted_text)
    redacted_text = mark_secrets(_UNSPACED_TEXT.sub(_replace_tokens, redacted_text))
    if plain_text == text:
        return redacted_text
    versions = (text, plain_text, redacted_text)
    if len({version.count("\n") for version in versions}) > 1:
        return redacted_text
    lines = zip(*(version.split("\n") for version in versions), strict=True)
    return "\n".join(line if plain == redacted else redacted for line, plain, redacted in lines)


def secret_kinds(text: str) -> list[str]:
    """Return the distinct kinds of the secrets in a text."""
    redacted_text = redact_text(text)
    markers = () if redacted_text == text else _MARKER_PATTERN.findall(redacted_text)
    return list(dict.fromkeys(kind for kind in markers if f"[redacted: {kind}]" not in text))


def redact_value(value: Any, *, secret: bool = False) -> Any:
    """Remove hidden characters and secrets from mappings, lists and texts.

    With `secret`, the value belongs to a key that names a secret, so texts and long numbers are
    replaced. Raises BadInputError if two keys become equal.
    """
    if isinstance(value, str):
        is_secret = secret and value and not is_no_value(value)
        return _MARKER if is_secret else redact_text(hidden_characters.remove_hidden(value))
    if isinstance(value, Mapping):
        return _redact_mapping(value, secret=secret)
    if isinstance(value, list | tuple):
        return [redact_value(member, secret=secret) for member in value]
    if isinstance(value, int | float) and abs(value) >= _MIN_SECRET_NUMBER and secret:
        return _MARKER
    return value


def _redact_mapping(mapping: Mapping[str, Any], *, secret: bool) -> dict[str, Any]:
    clean_values: dict[str, Any] = {}
    pair_name = next((mapping[key] for key in ("name", "Name", "key", "Key") if key in mapping), "")
    is_pair = isinstance(pair_name, str) and is_secret_name(pair_name)
    for key, member in mapping.items():
        name = _redact_key(key)
        if name in clean_values:
            raise BadInputError(
                f"{name}: two keys that differ in a secret or in hidden characters alone; rename "
                "one of them",
                code="duplicate-key",
                key=name,
            )
        is_secret = secret or is_secret_name(name) or (is_pair and name.lower() == "value")
        clean_values[name] = redact_value(member, secret=is_secret)
    return clean_values


@lru_cache(maxsize=1024)
def _redact_key(key: str) -> str:
    return redact_text(hidden_characters.remove_hidden(key))


def _replace_tokens(match: re.Match[str]) -> str:
    parts, end = list[str](), 0
    for start, stop, kind in sorted(_find_tokens(match[0]), key=itemgetter(0)):
        if start >= end:
            parts += [match[0][end:start], f"[redacted: {kind}]"]
            end = stop
    return "".join([*parts, match[0][end:]])


def _find_tokens(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, kind) for each token in a text without spaces."""
    for match in _TOKEN_START.finditer(text):
        for length, kind, tail in _formats_of(match[0]):
            token = _compile_tail(tail).match(text, match.start() + length)
            if token and _is_generated(token[0]):
                yield match.start(), token.end(), kind
                break
    for kind, pattern in _PATTERNS_WITHOUT_START:
        yield from ((match.start(), match.end(), kind) for match in pattern.finditer(text))


def _is_generated(tail: str) -> bool:
    """Return True for a text that has a digit or is too long to be a word."""
    return any(map(str.isdigit, tail)) or (len(tail) >= 30 and tail.isalnum())
