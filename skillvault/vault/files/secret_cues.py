"""Find secrets in a text by the words around them and by the form of the value.

To find more secrets, add words and commands to `secret_words.toml`. No pattern has nested
repetitions, and each looks ahead for a limited length, so that no text makes the search slow.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import ahocorasick

from skillvault.model.lazy import regex

_DATA = tomllib.loads(Path(__file__).with_name("secret_words.toml").read_text(encoding="utf-8"))
_INNER_NAMES = frozenset(_DATA["inner"])
_WHOLE_NAMES = frozenset(_DATA["alone"])
_PASSWORD_NAMES = frozenset(_DATA["password"])
_KEY_NAMES = frozenset(_DATA["key"])
_SECRET_NAMES = sorted({*_INNER_NAMES, *_PASSWORD_NAMES, *_DATA["token"], *_KEY_NAMES})
# Names that may be part of a word: `inner`, and names in scripts without spaces or capitals.
_UNSPACED_NAMES = {w for w in _SECRET_NAMES if not (w.isascii() or "\u00c0" < max(w) < "\u0590")}
_PARTIAL_NAMES = _INNER_NAMES | _UNSPACED_NAMES
_KEY_QUALIFIERS, _HARMLESS_QUALIFIERS = frozenset(_DATA["key_of"]), frozenset(_DATA["not_of"])
_ATTRIBUTES, _NO_VALUES = frozenset(_DATA["about"]), frozenset(_DATA["no_value"])
COMMANDS = _DATA["commands"]
_COPULAS, _WEAK_WORDS = frozenset(_DATA["copulas"]), frozenset(_DATA["weak"])

# Scripts without spaces between words; their characters end a value.
_UNSPACED = r"\u0e00-\u0e7f\u2e80-\u303f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef"
_QUOTES = "'\"`\u00ab\u2018\u2019\u201c\u201d\u201e\u300c\u300e"
_BARE_CHAR = (
    rf"(?:[^\s'\"`<>{{}}()\[\],;|\\&\u2010-\u201f\u00ab\u00bb{_UNSPACED}]|&(?!\w{{1,40}}=))"
)
_QUOTED_CHARACTER = r"[^'\"`\r\n\\<>\u00bb\u2019\u201d\u300d\u300f]"
# The beginning of a value is enough to judge it; `_whole_cut` finds the end.
_VALUE = (
    rf"(?:[bfru]?\\{{0,4}}[{_QUOTES}](?P<quoted>{_QUOTED_CHARACTER}{{3,100}})"
    rf"|(?P<secret>{_BARE_CHAR}{{3,100}}))"
)
_CONTINUATION = {"quoted": regex(rf"{_QUOTED_CHARACTER}*"), "secret": regex(rf"{_BARE_CHAR}*")}
_LONG_VALUE = r"(?=[a-z+/_=-]{0,200}?\d)[\w.+/=-]{12,400}"
_NAME_SUFFIX = rf"(?P<rest>(?:(?<![{_UNSPACED}])(?!->|[{_UNSPACED}])[\w.-]){{0,40}}+)"

# The text between a name and its value.
_NAME_END = rf"{_NAME_SUFFIX}(?:\s\d{{1,2}}(?=:))?[\\'\"`\])}}*>]{{0,6}}"
_OPTION_VALUE = regex(
    rf"{_NAME_END}(?:[=:]|\s{{1,4}}|\s{{0,3}}\\?\n\s{{0,12}}(?:-\s)?|['\"]?,\s{{0,20}}){_VALUE}"
)
_ASSIGNED_VALUE = regex(
    rf"{_NAME_END}(?:[\s,;&]{{1,40}}(?:['\"]?type['\"]?\s?[:=]\s?['\"]?\w{{1,20}}['\"]?"
    rf"[,\s]{{1,20}})?(?:-\s)?['\"<]?"
    r"[a-z]{0,20}value['\">]{0,2}\s{0,3}[:=]?\s{0,4}"
    r"|(?:\s{0,2}:?\s{1,2}&?[a-z][\w.<>\[\]| ]{0,24}=\s{0,2}"
    r"|\s{0,2}(?:\|\||\?\?|\?:)\s{0,2}|(?<=['\"`]),\s{0,40}|\(\s{0,3}"
    r"|\s{1,3}\{\s{0,9}default\s{0,3}=\s{0,3}|\s{1,3})"
    rf"(?=[bfru]?\\{{0,4}}[{_QUOTES}])"
    r"|\s{0,4}(?:=>|:=|={1,3}|!==?|->|→|::?|%3[ad])\s{0,4}"
    r"(?:!!\w{1,9}\s|&\w{1,20}\s|\[\s?|[|>][-+\d]{0,2}\s{1,20})?"
    r"|</\w{1,30}>\s{0,20}<\w{1,30}>|\s{1,8}\|\s{0,8}"
    rf"|(?<=>)){_VALUE}"
)
_STATED_VALUE = regex(
    rf"{_NAME_SUFFIX}(?P<gap>[^\d\n!-&()*+./:-@\[-`{{-~「『“«—–]{{0,60}}?)"
    rf"(?P<sign>[\s:=—–(→]{{0,4}})(?:(?<![^\W{_UNSPACED}])|(?<=[^ -~])(?=[a-z0-9]))(?<![.@/\\'-])"
    rf"(?=[bfru]?[{_QUOTES}]|[^\s'\"`<>,;|{_UNSPACED}]{{0,80}}?[\d@#$%^]){_VALUE}"
)
# A value that looks generated has one of these signs, follows one, or has letters of both cases.
_GENERATED_SIGN = regex(rf"[\d!@#$%^&*?~{_QUOTES}]")
_VALUE_BEFORE_NAME = regex(
    r"(?<![\w@/.$-])[\"'`]?(?P<secret>(?=[^\s]{0,99}?\d)[^\s'\"`<>{}()\[\],;|\\]{6,60})"
    r"[\"'`]?\s{1,2}"
    r"(?:is|as|was|ist|als|es|como|est|comme|é|è|come|como|to)\s(?:[\w'’-]{1,14}\s){0,3}"
    r"[\w-]{0,20}\Z"
)
# A table: the heads of its columns, the separator of cells, a row.
_TABLE = regex(
    r"(?P<head>[\w '\"-]{0,40}(?:[,;|\t][\w '\"-]{1,40}){1,20}[,;|\t]?)(?=\r?\n)"
    r"(?:\r?\n[|: -]{3,300}(?=\n))?"
)
_CELL = regex(r"[,;|\t]")
_ROW = regex(r"[^\r\n]+")
_PLACEHOLDER = regex(
    r"\[redacted: |#[0-9a-f]{3,8}\Z|0x[0-9a-f]{1,16}\Z|[$%]\w|"
    r"\$?[({<%]|\.{2,}|[*x.•#_-]{3,}\Z|/|~/|[a-z][\w+.-]{1,20}://|\\|[&|=!]{1,3}\Z"
    r"|\d{1,4}(?:[-/.:]\d{1,4}){1,3}(?:[tz.:\d-]{0,20}\Z)"
    r"|v?\d{1,4}(?:\.\d{1,6}){1,3}\S{0,12}\Z|\d{1,3}\Z"
    r"|your[-_ ]|my[-_ ]|some[-_ ]|arn:|env[.:]|op:|vault:|https?:|file:|!\w|process\.env"
    r"|[\w.+-]{1,60}@[\w-]{1,60}\.[\w.]{2,30}\Z",
    re.IGNORECASE,
)
# Names of methods and versions: `OAuth2Client`, `PBKDF2WithHmacSHA256`.
_TECHNICAL_NAME = regex(
    r"(?:o?auth|sha|md|argon|pbkdf|base|utf|hmac|aes|rsa|ed|ecdsa|x|p|[rhe]s|http|ipv|i18n|l10n"
    r"|k8s|s3|ec|log"
    r"|web|v|gpt|db|user|id|step|test|token|password|secret|key|pass|node|py|python|win|es|h|vec"
    r"|py|sql)\d",
    re.IGNORECASE,
)
_ASSIGNMENT = regex(r"[a-z_]\w*=", re.IGNORECASE)  # assignment, option of a call
_EMPHASIS = regex(r"\A[*_~#@$%&^]+|(?<!\d)[!?*_~.,]+\Z|[?*_~.,]+\Z")
_PASSWORD_SIGN = regex(r"[!@#$%^&*?~]")
_DIGESTS = ("sha256:", "sha512-", "sha384-", "sha1-", "sha256-", "md5:")
_DIGIT, _CAMEL_HUMP = regex(r"\d"), regex(r"[a-z][A-Z]")
_SEPARATOR, _WORD_AND_NUMBER = regex(r"[-_./:+=\\]"), regex(r"[^\W\d]{2,}\d+")
_DIGIT_BOUNDARY = regex(r"(?<=[a-z])(?=\d)|(?<=\d)(?=[a-z])", re.IGNORECASE)
_CODE_NAME = regex(r"[a-z_]\w{0,60}(?:(?:\.|::|->)[a-z_]\w{0,60}){1,8}\Z", re.IGNORECASE)
_NAME_OF_SECRET = regex(
    r"[\w.-]*(?:password|passwd|pwd|pass|token|secret|key)(?:[a-z_]{0,20}|[_-]?\d)"
)
_PARTICLES = tuple("はをがは는은를을가이是为為成")
_PINS = ("passcode", "暗証番号", "الرقم السري", "pin")
_KEY_PURPOSE = regex(r"\bd?['’]?(?:api|acc[eè]s|acesso|доступ|dostęp|akses)")
_NAME_CHARACTERS = "-_.$@abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_SETTING_COMMANDS = ("env ", "setx ", "set ", "put ", "-x ", "config ")
_OWNERS_OF_KEYS = ("api", "auth", "account", "private", "service", "client", "db")
_PARTS = regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_A-Za-z]+")


class Cue(NamedTuple):
    """A pattern for a kind of secret. A text without any of `signs` does not match.

    The pattern is for lower-case text, because ignoring case takes ten times as long.
    """

    kind: str
    signs: tuple[str, ...]
    pattern: re.Pattern[str]
    strength: int = 0  # the least `randomness` of the value


class _Cut(NamedTuple):
    start: int
    end: int
    kind: str


def mark_secrets(text: str) -> str:
    """Replace each secret next to a cue with `[redacted: <kind>]`."""
    if len(text) < 16 and text.isascii() and text.isidentifier():
        return text  # fast path for the many keys of mappings
    for find in (_find_cued_cuts, _find_named_cuts):
        lowered = text.lower()
        if len(lowered) != len(text):
            lowered = "".join(char if len(char.lower()) > 1 else char.lower() for char in text)
        text = _cut_out(text, find(text, lowered))
    return text


def _cut_out(text: str, cuts: Iterable[_Cut]) -> str:
    parts, end = list[str](), 0
    for cut in sorted(cuts):
        marker = text.rfind("[redacted: ", max(0, cut.start - 60), cut.start + 11)
        if cut.start >= end and (marker < 0 or "]" in text[marker : cut.start]):
            parts += [text[end : cut.start], f"[redacted: {cut.kind}]"]
            end = cut.end
    return "".join([*parts, text[end:]])


def _span(match: re.Match[str]) -> tuple[int, int]:
    """Return the span of the value in a match, without a full stop at the end."""
    group = match.lastgroup if match.lastgroup == "quoted" else "secret"
    start, end = match.span(group)
    return start, end if group == "quoted" else start + len(match["secret"].rstrip(".,:?"))


def _whole_cut(match: re.Match[str], kind: str) -> _Cut:
    """Return the span of the whole value, which may be longer than the match."""
    start, end = _span(match)
    group = match.lastgroup if match.lastgroup == "quoted" else "secret"
    if match.end() - start >= 100:
        continuation = _CONTINUATION[group].match(match.string, match.end())
        end = continuation.end() if continuation else end
    return _Cut(start, end, kind)


def _find_cued_cuts(text: str, lowered: str) -> Iterator[_Cut]:
    cues = {cue for _, sign in _SIGN_FINDER.iter(lowered) for cue in _CUES_OF[sign]}
    for cue in cues:
        for match in cue.pattern.finditer(lowered):
            start, end = _span(match)
            value = text[start:end]
            if not is_no_value(value) and randomness(value) >= cue.strength:
                yield _Cut(start, end, cue.kind)


def is_no_value(value: str) -> bool:
    """Return True for a marker, variable, placeholder, path, number or word about secrets."""
    if "[redacted: " in value or _PLACEHOLDER.match(value):
        return True
    word = value.lower().strip(" .,:;!?*_-")
    return not word or word in _NO_VALUES


def randomness(value: str) -> int:
    """Rate from 0 to 3 how generated a value looks.

    0: words, numbers or technical names. 1: a word with a number. 2: letters between digits. 3:
    letters of both cases between digits, or with signs.
    """
    core = _EMPHASIS.sub("", value[:50])
    if core.lower() == core.upper() or core.startswith(_DIGESTS):
        return 2 * (len(core) >= 20)
    if _PASSWORD_SIGN.search(core) and len(core) >= 6:
        return 3
    both_cases = core not in (core.lower(), core.upper())
    has_humps = both_cases and len(core) >= 20 and len(_CAMEL_HUMP.findall(core)) > 4
    if not _DIGIT.search(core):
        return 2 * has_humps
    parts = [part for part in _SEPARATOR.split(core) if part]
    turns = [len(_DIGIT_BOUNDARY.findall(part)) for part in parts]
    if any(map(_is_mixed, parts, turns)) or (both_cases and len(core) >= 24 and sum(turns) > 3):
        return 3 if both_cases else 2
    pieces = sum(len(part) > 3 and turn > 0 for part, turn in zip(parts, turns, strict=True))
    if has_humps or pieces > 2:
        return 2
    return int(any(_WORD_AND_NUMBER.fullmatch(p) and not _TECHNICAL_NAME.match(p) for p in parts))


def _is_mixed(part: str, turns: int) -> bool:
    has_prefix = part[0].isdigit() and len(_CAMEL_HUMP.findall(part)) > 1
    is_long = len(part) >= 6 and (turns > 1 or has_prefix)
    return is_long and not (turns < 4 and _TECHNICAL_NAME.match(part))


def _build_finder(words: Iterable[str]) -> Any:
    automaton = ahocorasick.Automaton()
    for word in words:
        automaton.add_word(word, word)
    automaton.make_automaton()
    return automaton


_NAME_FINDER = _build_finder(_SECRET_NAMES)


def _find_names(lowered: str) -> list[tuple[int, str]]:
    matches = {(end - len(word) + 1, word) for end, word in _NAME_FINDER.iter(lowered)}
    # If a word is repeated, only the last one has the value.
    return sorted((pos, word) for pos, word in matches if (pos + len(word), word) not in matches)


class _Name(NamedTuple):
    """A word that names a secret, with the start of its identifier and the kind of value."""

    word: str
    word_start: int
    start: int
    is_password: bool
    is_strict: bool  # the value must certainly look generated


def _find_named_cuts(text: str, lowered: str) -> Iterator[_Cut]:
    """Yield the values that a text gives for a password, a token or a key."""
    searched_until, sign_start, positions = 0, -1, list[int]()
    for start, word in _find_names(lowered):
        name = _read_name(text, lowered, start, word) if start >= searched_until else None
        if name is None:
            continue
        if sign_start < start + len(word):
            sign = _GENERATED_SIGN.search(lowered, start + len(word))
            sign_start = sign.start() if sign else len(lowered)
        cut = _find_named_cut(text, lowered, name, sign_start)
        if cut:
            # A long value with many words for secrets is read only once.
            searched_until = cut.end if cut.end - cut.start > 100 else searched_until
            yield cut
        else:
            yield from _find_cuts_before(text, lowered, name)
            if name.is_password:
                positions.append(start)
    yield from _find_cuts_below(text, lowered, positions)


def _find_named_cut(text: str, lowered: str, name: _Name, sign_start: int) -> _Cut | None:
    """Return the span of the value after a name, or None.

    `sign_start` is the position of the next `_GENERATED_SIGN`.
    """
    end = name.word_start + len(name.word)
    reach = end + 250
    is_near_sign = sign_start < reach
    if name.is_strict and not (is_near_sign and _DIGIT.search(lowered, end, reach)):
        return None
    if not (is_near_sign or name.is_password) and text[end:reach] == lowered[end:reach]:
        return None
    is_option = text.startswith(("-", "/"), name.start)
    is_option = is_option or lowered.endswith(_SETTING_COMMANDS, 0, name.start)
    checks = [(_OPTION_VALUE if is_option else _ASSIGNED_VALUE, _is_assigned_secret)]
    if is_near_sign:
        checks.append((_STATED_VALUE, _is_stated_secret))
    for pattern, is_secret in checks:
        match = pattern.match(lowered, end)
        if match and not _describes_secret(text, match) and is_secret(text, name, match):
            is_option = text.startswith("-", name.start)
            return _whole_cut(match, "Secret Option" if is_option else "Secret Keyword")
    return None


def _read_name(text: str, lowered: str, word_start: int, word: str) -> _Name | None:
    """Return the name that contains a word, or None if it does not name a secret."""
    text_before, end = text[max(0, word_start - 60) : word_start], word_start + len(word)
    start = word_start - (len(text_before) - len(text_before.rstrip(_NAME_CHARACTERS)))
    is_attached = text_before[-1:].isalpha() and not text[word_start].isupper()
    if is_attached and word not in _PARTIAL_NAMES:
        return None
    parts = [part.lower() for part in _PARTS.findall(text_before[-30:])[-2:]]
    last_part = parts[-1] if parts else ""
    if last_part in _HARMLESS_QUALIFIERS or "public" in parts:
        return None
    is_key = word in _KEY_NAMES and not (
        last_part in _KEY_QUALIFIERS
        or (text[word_start:end].isupper() and text[start:word_start].endswith("_"))
        or _KEY_PURPOSE.search(lowered, end, end + 14)
    )
    if word in _WHOLE_NAMES and lowered[end : end + 1].isalpha():
        return None
    return _Name(word, word_start, start, word in _PASSWORD_NAMES, is_key)


def _describes_secret(text: str, match: re.Match[str]) -> bool:
    suffix = text[slice(*match.span("rest"))]
    return suffix != "" and any(part.lower() in _ATTRIBUTES for part in _PARTS.findall(suffix))


def _is_inflected(text: str, match: re.Match[str]) -> bool:
    """Return True if letters follow the word directly, as in `tokenizer` or `hasłem`."""
    start, end = match.span("rest")
    return end > start and text[start].isalpha() and not text[start].isupper()


class _Value(NamedTuple):
    """A value that may be a secret, with its randomness and the next character."""

    text: str
    degree: int
    is_quoted: bool
    following: str

    def is_key(self) -> bool:
        """Return True for a value that is certainly a key."""
        is_long = self.degree == 3 and len(self.text) >= 24
        return is_long and self.text.replace("-", "_").isidentifier()

    def names_secret(self) -> bool:
        """Return True for the name of a secret, such as `db_password2`."""
        return _NAME_OF_SECRET.fullmatch(self.text.lower()) is not None


def _value_of(text: str, match: re.Match[str]) -> _Value | None:
    """Return the value in a match, or None for a placeholder or a call."""
    start, end = _span(match)
    is_quoted = match["quoted"] is not None
    value, next_character = text[start:end], text[end : end + 1]
    if is_no_value(value) or (not is_quoted and next_character in ("(", "[")):
        return None
    return _Value(value, randomness(value), is_quoted, next_character)


def _is_assigned_secret(text: str, name: _Name, match: re.Match[str]) -> bool:
    value = _value_of(text, match)
    if value is None or name.is_strict:
        return value is not None and value.is_key()
    start, is_bare = _span(match)[0], not value.is_quoted
    separator = text[match.end("rest") : start].strip(" '\"`")
    calls = match["rest"] != "" and "(" in separator
    if " " in value.text or (is_bare and value.names_secret()) or calls:
        return False
    if _is_inflected(text, match) or (is_bare and _CODE_NAME.match(value.text)):
        return value.degree == 3
    if value.degree >= 2:
        is_address = value.degree == 2 and "arn:" in text[max(0, name.start - 99) : start]
        return len(value.text) >= 6 and not is_address
    if not name.is_password or _ASSIGNMENT.match(value.text) or value.names_secret():
        return False
    return _is_password(text, name, value, separator)


def _is_password(text: str, name: _Name, value: _Value, separator: str) -> bool:
    """Return True for an assigned password that does not look generated."""
    length, has_sign = len(value.text), bool(re.search(r"[\d!@#$%^]", value.text))
    if not separator:
        return has_sign and length >= (5 if text.startswith("-", name.start) else 7)
    if has_sign and (value.degree or ("=" in separator and length >= 6)):
        return True
    if re.fullmatch(r"[\d-]+", value.text):
        return length >= 4 and name.word != "pass"
    if value.is_quoted:
        return "," not in separator and length >= 4
    end_characters = ("", "\n", "\r", ",", ";", "&", "<", "}", " " if separator == "=" else "")
    is_word = length >= 6 and value.following in end_characters and "_" not in value.text
    line = text[max(0, name.start - 300) : name.start].rpartition("\n")[2]
    is_call = "(" in line
    return is_word and not is_call and "|" not in separator


def _is_stated_secret(text: str, name: _Name, match: re.Match[str]) -> bool:
    value = _value_of(text, match)
    if value is None or name.is_strict:
        return value is not None and value.is_key()
    words, sign = match["gap"].replace(",", " ").split(), match["sign"].strip()
    last_word = words[-1].strip("'’-") if words else ""
    in_code = not value.is_quoted and _CODE_NAME.match(value.text) is not None
    is_setting = (not words and sign in (":", "=")) or len(words) > 7
    is_other_word = value.degree < 3 and name.word in _INNER_NAMES and _is_inflected(text, match)
    if in_code or is_setting or is_other_word:
        return False
    if name.word in _PINS and value.text.isdigit():
        return len(words) < 3 and len(value.text) > 3
    if sign or last_word in _COPULAS or last_word[-1:] in _PARTICLES:
        return value.degree >= 2 or (name.is_password and _is_phrase(value))
    return value.degree >= _required_strength(name, words, match["gap"], len(value.text))


def _is_phrase(value: _Value) -> bool:
    """Return True for a password of words and a number, which is easy to remember."""
    is_long = len(value.text) >= 7 and any(map(str.isdigit, value.text))
    is_named = value.names_secret() or _TECHNICAL_NAME.match(value.text) is not None
    return is_long and value.text[0].isalpha() and not is_named


def _required_strength(name: _Name, words: list[str], gap: str, length: int) -> int:
    """Return the randomness that a value needs if no verb connects it with the name."""
    is_foreign = name.word not in _INNER_NAMES | _WHOLE_NAMES
    if re.search(rf"[{_UNSPACED}]", gap):
        return 1 if name.is_password and length >= 8 else 2
    if not words and name.is_password:
        return 1 if is_foreign and length >= 7 else 2
    is_near = not words or words[-1].strip("'’-") in _WEAK_WORDS or (len(words) < 4 and is_foreign)
    return 3 if is_near else 4


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Return True if a name such as `db_password` or `apiKey` always holds a secret."""
    lowered = name.lower()
    for start, word in _find_names(lowered):
        secret_name = _read_name(name, lowered, start, word)
        suffix_words = [part.lower() for part in _PARTS.findall(name[start + len(word) :])]
        if secret_name is None or not _ATTRIBUTES.isdisjoint(suffix_words):
            continue
        if suffix_words and suffix_words[0] not in ("s", "base", "key", "value"):
            continue
        is_whole_name = word not in ("token", "key") and not suffix_words
        if secret_name.is_password or word == "secret" or is_whole_name:
            return True
        parts = [part.lower() for part in _PARTS.findall(name[:start])]
        if parts and (word == "token" or parts[-1] in _OWNERS_OF_KEYS):
            return True
    return False


def _find_cuts_before(text: str, lowered: str, name: _Name) -> Iterator[_Cut]:
    """Yield the value that a sentence states before its name."""
    offset = max(0, name.word_start - 100)
    has_digit = _DIGIT.search(lowered, offset, name.word_start)
    match = _VALUE_BEFORE_NAME.search(lowered[offset : name.word_start]) if has_digit else None
    if match:
        start, end = (position + offset for position in match.span("secret"))
        if randomness(text[start:end]) == 3 and not is_no_value(text[start:end]):
            yield _Cut(start, end, "Secret Keyword")


def _find_cuts_below(text: str, lowered: str, starts: list[int]) -> Iterator[_Cut]:
    """Yield the values in table columns that are headed by the name of a password.

    `starts` are the positions of such names. Each line is read once.
    """
    end = 0
    for start, group in groupby(starts, lambda at: lowered.rfind("\n", max(0, at - 300), at) + 1):
        match = _TABLE.match(lowered, start) if start >= end else None
        if match is None:
            continue
        columns = {len(_CELL.findall(lowered, start, at)) for at in group if at < match.end("head")}
        count = len(_CELL.findall(match["head"]))
        for row in _ROW.finditer(text, match.end(), match.end() + 4000):
            cells = _CELL.split(row[0])
            if len(cells) != count + 1:
                break
            end = row.end()
            for column in columns:
                value = cells[column].strip(" '\"`")
                if randomness(value) and not is_no_value(value) and " " not in value:
                    at = row.start() + sum(len(cell) + 1 for cell in cells[:column])
                    at = text.index(value, at)
                    yield _Cut(at, at + len(value), "Secret Keyword")


def _compile_command(template: str) -> Cue:
    """Compile a command that contains `SECRET` to a cue."""
    pattern = re.escape(template).replace(r"\ ", r"\s{1,3}").replace("…", r"[^\n]{0,200}?")
    pattern = pattern.replace(r"\s{1,3}[^\n]{0,200}?\s{1,3}", r"\s[^\n]{0,200}?(?<=\s)")
    sign = re.split(r" |…|USER|SECRET", template)[0]
    # Stop where the same command begins again, so that each line is read once.
    pattern = pattern.replace("[^\\n]", rf"(?:(?!{re.escape(sign)}\s)[^\n])")
    pattern = pattern.replace("USER", r"['\"]?[^\s'\"/:%,|]{1,80}['\"]?")
    value = (
        r"['\"]?(?P<secret>(?=[^\s'\"]{0,99}[\d!@#%^*+=~&])(?![-/$<(]|\d{1,5}\b(?!\S))"
        r"[^\s'\"<>|]{4,200})"
    )
    secret_start = pattern.index("SECRET")
    tail = pattern[secret_start + 6 :]
    if tail.startswith("@"):
        value = value.replace(r"[^\s'\"<>|]{4,200}", r"[^\s'\"<>|@]{4,200}")
    pattern = pattern[:secret_start] + value + ("['\"]?" if tail else "") + tail
    return Cue("Password Option", (sign,), regex(rf"(?<![\w./-]){pattern}"))


def _read_cue(row: Mapping[str, Any]) -> Cue:
    pattern = "".join(row["pattern"]).replace("LONG", _LONG_VALUE)
    return Cue(row["kind"], tuple(row["signs"]), regex(pattern), row.get("strength", 0))


CUES = (*map(_read_cue, _DATA["cue"]), *map(_compile_command, COMMANDS))
_CUE_SIGNS = {sign for cue in CUES for sign in cue.signs}
_CUES_OF = {sign: [cue for cue in CUES if sign in cue.signs] for sign in _CUE_SIGNS}
_SIGN_FINDER = _build_finder(_CUES_OF)
