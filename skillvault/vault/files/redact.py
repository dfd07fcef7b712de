"""Secrets and hidden characters leave a record before anything of it is written.

The detectors are detect-secrets' (its one home), except the entropy ones, which take
hashes, ids and long words of prose for secrets. Where one finds something a marker says
of what kind it was.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.keyword import (
    CONFIG_DENYLIST_REGEX_TO_GROUP,
    DENYLIST_REGEX,
    FOLLOWED_BY_COLON_REGEX,
    FOLLOWED_BY_EQUAL_SIGNS_REGEX,
    FOLLOWED_BY_QUOTES_AND_SEMICOLON_REGEX,
    PRECEDED_BY_EQUAL_COMPARISON_SIGNS_QUOTES_REQUIRED_REGEX,
)

from skillvault.model.errors import BadInputError
from skillvault.model.text import hidden_characters
from skillvault.vault.files.secret_cues import is_no_secret, with_markers

# Tokens that name themselves by how they begin.
_FORMATS = Path(__file__).with_name("token_formats.toml")
_TABLE = tomllib.loads(_FORMATS.read_text(encoding="utf-8"))["format"]
_KINDS = {start: row["kind"] for row in _TABLE for start in row["starts"]}
_STARTS = sorted(_KINDS, key=len, reverse=True)


def _pattern(row: dict[str, str]) -> str:
    return f"(?:{'|'.join(map(re.escape, row['starts']))}){row['tail']}"


# `_` and `-` may stand before one, as in `key_hf_…`: what begins in the middle of a word is none.
TOKEN = re.compile(
    rf"(?<![A-Za-z0-9])(?:{'|'.join(map(_pattern, _TABLE))}"
    r"|[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,})"
)


def kind_of_token(token: str) -> str:
    """What a token that `TOKEN` finds is called."""
    start = next((start for start in _STARTS if token.startswith(start)), None)
    return _KINDS[start] if start else "Terraform Token"


# What the detectors of detect-secrets 1.5 do not know, or of which they find one line only.
_OURS = (
    (
        "Private Key",
        re.compile(
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?"
            r"(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
            re.DOTALL,
        ),
    ),
    ("Anthropic API Key", re.compile(r"\bsk-ant-[\w-]{16,}")),
    ("OpenAI Token", re.compile(r"\bsk-(?:proj|svcacct|admin)-[\w-]{16,}")),
    ("GitHub Token", re.compile(r"\bgithub_pat_\w{22,}")),
    ("Google API Key", re.compile(r"\bAIza[\w-]{35}")),
    ("JSON Web Token", re.compile(r"(?<![\w-])eyJ[\w-]{8,}={0,2}\.[\w-]{8,}(?:[.=][\w.=-]*)?")),
    ("NPM tokens", re.compile(r"(?<=:_authToken=)\s*(?:npm_\S+|[A-Fa-f0-9-]{36})")),
    (
        "Basic Auth Credentials",
        re.compile(r"(?i)\bauthorization['\"]?\s*[:=]\s*['\"]?basic\s+[\w+/-]{8,}=*"),
    ),
    ("Bearer Token", re.compile(r"(?i)(?<=\bbearer )[\w.~+/-]{16,}=*")),
    ("Token", re.compile(r"(?i)\b\w*token['\"]?\s*[:=]\s*['\"]?(?=[\w.+/-]*\d)[\w.+/-]{16,}=*")),
    (
        "Secret Keyword",
        re.compile(
            r"(?i)\b(?:password|passwd|passphrase|secret|api[ _-]?key|token) (?:is|was) "
            r"['\"`]?(?=[^\s'\"`]*\d)[^\s'\"`]{8,}"
        ),
    ),
)
# These look for an assignment to any name, with a narrow meaning: the keyword rule below
# finds the same and calls it by its right name. An address alone is no secret. The JWT and
# NPM rules take quadratic time in texts made for that; ours above find the same.
_REPLACED = frozenset(
    "ArtifactoryDetector CloudantDetector IbmCloudIamDetector IbmCosHmacDetector "
    "IPPublicDetector JwtTokenDetector NpmDetector PrivateKeyDetector SoftlayerDetector".split()
)
_MARKER = "[redacted: Secret Keyword]"
_MARK = re.compile(r"\[redacted: ([^\]]+)\]")
_FULL_WIDTH = {code + 0xFEE0: code for code in range(0x21, 0x7F)}
_KEYWORD = re.compile(rf"(?:{DENYLIST_REGEX})", re.IGNORECASE)
_KEY = re.compile(
    rf"(?:{DENYLIST_REGEX})|passphrase|api[- ]key"
    r"|(?:access|refresh|api|auth|id|session|bearer|bot|csrf|git(?:hub|lab)|slack)[_-]?token\b",
    re.IGNORECASE,
)
_NAME = 64  # characters of a name behind its keyword; without a bound the time is quadratic
_LONG_NUMBER = 100_000  # below it a number under such a key counts something


def _detectors() -> list[tuple[str, re.Pattern[str]]]:
    detectors = list(_OURS)
    plugins: dict[str, type[Any]] = dict(get_mapping_from_secret_type_to_class())
    for kind, plugin in sorted(plugins.items()):
        if issubclass(plugin, RegexBasedDetector) and plugin.__name__ not in _REPLACED:
            detectors += [(kind, pattern) for pattern in vars(plugin)["denylist"]]
    return detectors


def _bounded(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """A rule of detect-secrets, its names no longer than names are."""
    keyword = DENYLIST_REGEX.removesuffix(r"\w*")
    named = pattern.pattern.replace(DENYLIST_REGEX, rf"{keyword}\w{{0,{_NAME}}}")
    return re.compile(named, pattern.flags)


_DETECTORS = _detectors()
# What a line must hold for a rule to find anything: looked for first, at next to no cost.
_SIGNS = {
    FOLLOWED_BY_COLON_REGEX: re.compile(":"),
    FOLLOWED_BY_EQUAL_SIGNS_REGEX: re.compile("="),
    FOLLOWED_BY_QUOTES_AND_SEMICOLON_REGEX: re.compile("['\"`];"),
    PRECEDED_BY_EQUAL_COMPARISON_SIGNS_QUOTES_REQUIRED_REGEX: re.compile("[!=]{2}"),
}
_ASSIGNMENTS = [
    (_SIGNS[rule], _bounded(rule), group) for rule, group in CONFIG_DENYLIST_REGEX_TO_GROUP.items()
]


def redacted_text(text: str) -> str:
    """`text` with `[redacted: <kind>]` in place of each secret.

    Full-width signs are read as plain ones, and stay in every line without a secret.
    """
    plain_text = text.translate(_FULL_WIDTH)
    without_secrets = _redacted_text(plain_text)
    if plain_text == text:
        return without_secrets
    versions = (text, plain_text, without_secrets)
    if len({version.count("\n") for version in versions}) > 1:
        return without_secrets
    lines = zip(*(version.split("\n") for version in versions), strict=True)
    return "\n".join(line if before == after else after for line, before, after in lines)


def _redacted_text(text: str) -> str:
    for kind, pattern in _DETECTORS:
        text = pattern.sub(f"[redacted: {kind}]", text)
    text = TOKEN.sub(lambda match: f"[redacted: {kind_of_token(match[0])}]", text)
    text = with_markers(text)
    if not _KEYWORD.search(text):
        return text
    return "".join(_assignments(line) for line in text.splitlines(keepends=True))


def secret_kinds(text: str) -> list[str]:
    """The kinds of the secrets in a text, each once."""
    redacted = redacted_text(text)
    marks = () if redacted == text else _MARK.findall(redacted)
    return list(dict.fromkeys(kind for kind in marks if f"[redacted: {kind}]" not in text))


def _cleaned_mapping(mapping: Mapping[str, Any], *, secret: bool) -> dict[str, Any]:
    clean: dict[str, Any] = {}
    for key, member in mapping.items():
        name = _redacted_key(key)
        if name in clean:
            raise BadInputError(
                f"{name}: two keys that differ in a secret or in hidden characters alone; rename "
                "one of them",
                code="duplicate-key",
                key=name,
            )
        clean[name] = cleaned(member, secret=secret or bool(_KEY.search(name)))
    return clean


@lru_cache(maxsize=1024)
def _redacted_key(key: str) -> str:
    return redacted_text(hidden_characters.cleaned(key))


def _assignments(line: str) -> str:
    """A line in which something named like a secret is given a value."""
    text = line.rstrip("\r\n")
    for sign, pattern, group in _ASSIGNMENTS:
        if sign.search(text):
            text = pattern.sub(partial(_without, group=group), text)
    return text + line[len(line.rstrip("\r\n")) :]


def _without(match: re.Match[str], *, group: int) -> str:
    """The match with its value replaced, unless a marker stands there already."""
    if is_no_secret(match[group]):
        return match[0]
    start, end = (at - match.start() for at in match.span(group))
    return f"{match[0][:start]}{_MARKER}{match[0][end:]}"


def cleaned(value: Any, *, secret: bool = False) -> Any:
    """Mappings, lists and texts without hidden characters, a marker in place of each secret.

    `secret`: below a key named so text and long numbers go whole. BadInputError if two keys become
    one.
    """
    if isinstance(value, str):
        return _MARKER if value and secret else redacted_text(hidden_characters.cleaned(value))
    if isinstance(value, Mapping):
        return _cleaned_mapping(value, secret=secret)
    if isinstance(value, list | tuple):
        return [cleaned(member, secret=secret) for member in value]
    if isinstance(value, int | float) and abs(value) >= _LONG_NUMBER and secret:
        return _MARKER
    return value
