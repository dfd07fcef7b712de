"""What surrounds a secret that does not name itself: options, headers, assignments, URLs, prose.

Each cue is a pattern whose group `secret` or `quoted` is what goes. None repeats within a
repetition, and each looks a bounded way ahead, so that a text made to be slow costs no more.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

# A value is no variable, no placeholder and no call, and has more than letters of one case.
_BARE = r"(?!/)(?=[^\s'\"`<>]{0,200}?[\d!@#%^*+=/~])[^\s'\"`<>{}()\[\]$,;&|\\]{6,400}"
_QUOTED = r"(?=[^\s'\"`]{0,200}?[\d!@#%^*+=/~&])[^\s'\"`<>{}$\\]{6,400}"
_VALUE = rf"\\{{0,4}}(?:['\"`](?P<quoted>{_QUOTED})(?=\\{{0,4}}['\"`])|(?P<secret>{_BARE}))"
_LONG = r"(?=[A-Za-z+/_=-]{0,200}?\d)[\w.+/=-]{12,400}"

_NAME = (
    r"(?:passw(?:or)?d|passwd|passphrase|pwd|dbpass|secret|token|credentials?|passwort|kennwort"
    r"|contraseña|senha|mot de passe|пароль|密码|密碼|パスワード|비밀번호"
    r"|(?:api|access|account|auth|private|signing|encryption|subscription|secret|functions|shared"
    r"|session)[-_ ]?(?:key|id|signature)|accesskey)"
)
_CLOSED = r"(?:[-_]?(?:key|base|value|hash))?\\{0,4}['\"`\])]{0,3}"


_NO_VALUE = re.compile(
    r"\w+(?:\.\w+)+[\[(]|(?:required|optional|missing|empty|none|null|unset|hidden|masked|invalid"
    r"|wrong|incorrect|expired)\W*\Z",
    re.IGNORECASE,
)
# A name has one of these in it: looked for first, at next to no cost.
_NAMED = (
    "passw", "passphrase", "pwd", "dbpass", "secret", "token", "credential", "key", "signature",
    "session", "kennwort", "contraseña", "senha", "mot de passe", "пароль", "密码", "密碼",
    "パスワード", "비밀번호",
)  # fmt: skip


class Cue(NamedTuple):
    """What a secret is called that stands so, one of the words around it, and all of it.

    The pattern is for a text in lower case: to look for either case takes ten times as long.
    `in_prose`: a value without quotation marks is one only in letters of both cases.
    """

    kind: str
    signs: tuple[str, ...]
    pattern: re.Pattern[str]
    in_prose: bool = False


def _cue(kind: str, signs: str | tuple[str, ...], *pattern: str, in_prose: bool = False) -> Cue:
    words = (signs,) if isinstance(signs, str) else signs
    return Cue(kind, words, re.compile("".join(pattern)), in_prose)


def with_markers(text: str) -> str:
    """The text with `[redacted: <kind>]` in place of each secret that a cue tells of."""
    lowered = _lowered(text)
    for cue in CUES:
        if any(sign in lowered for sign in cue.signs):
            parts = list(_cut_at_secrets(text, lowered, cue))
            if len(parts) > 1:
                text = "".join(parts)
                lowered = _lowered(text)
    return text


def _lowered(text: str) -> str:
    """The text in lower case, each character in its place."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(c if len(c.lower()) > 1 else c.lower() for c in text)


def _cut_at_secrets(text: str, lowered: str, cue: Cue) -> Iterator[str]:
    """The text cut at each secret, with a marker for it."""
    end = 0
    for match in cue.pattern.finditer(lowered):
        is_quoted = match.groupdict().get("quoted") is not None
        start, stop = match.span("quoted" if is_quoted else "secret")
        value = text[start:stop]
        if is_no_secret(value) or (cue.in_prose and not is_quoted and not _is_mixed(value)):
            continue
        yield text[end:start]
        yield f"[redacted: {cue.kind}]"
        end = stop
    yield text[end:]


def is_no_secret(value: str) -> bool:
    """Whether a marker stands there already, code that reads a secret, or a word about one."""
    return "[redacted: " in value or _NO_VALUE.match(value) is not None


def _is_mixed(value: str) -> bool:
    return value not in (value.lower(), value.upper())


CUES = (
    _cue(
        "Authorization",
        "authorization",
        r"\bauthorization['\"]?\s{0,3}[:=]\s{0,3}['\"]?(?:[a-z][\w-]{1,20}\s{1,3})?",
        rf"(?P<secret>{_LONG})",
    ),
    _cue(
        "Cookie",
        "cookie",
        r"\b(?:set-)?cookie['\"]?:\s{0,3}['\"]?(?P<secret>[\w.-]{1,80}=[^\r\n'\"]{4,})",
    ),
    _cue(
        "Cookie",
        "curl",
        r"\bcurl\b[^\n]{0,300}?\s(?:-b|--cookie)[ =]?['\"]?",
        r"(?P<secret>[\w.-]{1,80}=[^\s'\"]{4,})",
    ),
    _cue(
        "Basic Auth Credentials",
        ("curl", "wget", "http"),
        r"\b(?:curl|wget|https?)\b[^\n]{0,300}?\s(?:-u|--user)[ =]?['\"]?[^\s:'\"$]{1,80}:",
        r"(?P<secret>(?!\[redacted)[^\s'\"$]{3,400})",
    ),
    _cue(
        "Basic Auth Credentials",
        "://",
        r"://[^\s:@/'\"<>]{0,80}:(?P<secret>[^\s:@/'\"<>$\[]{3,200})@",
    ),
    _cue(
        "Basic Auth Credentials",
        "://",
        r"://(?P<secret>(?=[a-z_-]{0,99}\d)[\w-]{16,200})@",
    ),
    _cue(
        "Basic Auth Credentials",
        "auth",
        r"(?:\bauth['\"]\s{0,3}:|\b_auth\s{0,3}=)\s{0,3}['\"]?",
        rf"(?P<secret>{_LONG})",
    ),
    _cue(
        "Password Option",
        ("login", "sshpass", "mysql", "redis-cli", "mongo"),
        r"\b(?:(?:docker|podman|registry)\s{1,3}login|sshpass|mysql\w{0,9}|redis-cli|mongo\w{0,9})\b",
        rf"[^\n]{{0,200}}?\s-[pa]\s{{0,3}}['\"]?(?P<secret>{_BARE})",
    ),
    _cue(
        "Secret Option",
        (*_NAMED, "pass", "auth"),
        r"(?<![\w-])--?(?:[a-z]{1,20}-){0,3}(?:password|passwd|passphrase|pass|pwd|dbpass|token",
        r"|secret|api-?key|access-?key|secret-?key|auth|credentials?)",
        rf"(?:=|\s{{1,3}}){_VALUE}",
    ),
    _cue(
        "Password Option",
        ("ssh-keygen", "unzip", "zip", "smbclient", "rabbitmqctl"),
        r"\b(?:ssh-keygen\b[^\n]{0,200}?\s-n|(?:un)?zip\b[^\n]{0,200}?\s-p(?!\s{0,3}\S{0,99}\.zip)",
        r"|smbclient\b[^\n]{0,200}?\s-u\s{1,3}[^\s%]{1,80}%",
        r"|rabbitmqctl\s{1,3}(?:add_user|change_password)\s{1,3}\S{1,80})",
        rf"\s{{0,3}}['\"]?(?P<secret>{_BARE})",
    ),
    _cue(
        "Secret Keyword",
        ("identified", "pass"),
        r"(?:\bidentified\s{1,3}by\s{1,3}['\"]?|(?<![a-z])pass['\"]?\s{0,3}[:=]\s{0,3}['\"]?)",
        rf"(?P<secret>{_BARE})",
    ),
    _cue(
        "Signed URL",
        "=",
        r"[?&#;](?:api[-_]?key|key|access_token|token|auth|sig|signature|x-amz-signature",
        r"|x-amz-security-token|password|secret|client_secret)=",
        r"(?P<secret>(?=[^\s&#'\"<>]{0,200}?\d)[^\s&#'\"<>$]{8,})",
    ),
    _cue(
        "Webhook",
        "webhooks/",
        r"\bdiscord(?:app)?\.com/api/webhooks/\d{5,25}/(?P<secret>[\w-]{20,})",
    ),
    _cue("Webhook", "webhookb2/", r"\bwebhook\.office\.com/webhookb2/(?P<secret>[^\s'\"]{20,})"),
    _cue(
        "Private Key",
        "private-lines",
        r"\bprivate-lines: \d{1,4}\r?\n(?P<secret>[A-Za-z0-9+/=\r\n]{20,})",
    ),
    _cue(
        "Secret Keyword",
        _NAMED,
        rf"{_NAME}{_CLOSED}\s{{0,3}}(?:=>|:=|[:=])\s{{0,3}}{_VALUE}",
    ),
    _cue("Secret Keyword", "</", rf"{_NAME}>\s{{0,3}}(?P<secret>{_BARE})</"),
    _cue(
        "Secret Keyword",
        _NAMED,
        rf"{_NAME}['\"]",
        r"(?:\s{1,3}value=|,\s{0,3}|\s{1,3}\{\s{0,9}default\s{0,3}=\s{0,3})",
        _VALUE,
    ),
    _cue("Secret Keyword", "|", rf"{_NAME}\s{{1,3}}\|\s{{0,3}}{_VALUE}"),
    _cue(
        "Secret Keyword",
        "set",
        rf"\bset\s{{1,3}}(?:-\w{{1,3}}\s{{1,3}}){{0,3}}\w{{0,40}}?{_NAME}\s{{1,3}}{_VALUE}",
    ),
    _cue(
        "Secret Keyword",
        _NAMED,
        rf"{_NAME}\s{{0,3}}(?:is|was|to|ist|es|est|é|是|为)?\s{{0,3}}\(?",
        r"(?:['\"`](?P<quoted>(?=[^\s'\"`]{0,99}?\d)[^\s'\"`<>{}$]{8,400})(?=['\"`])",
        r"|(?<=[\s(])(?P<secret>(?=\S{0,99}?[a-z])(?=\S{0,99}?\d)",
        r"[^\s'\"`<>{}()\[\]$,;&|\\:/.=]{8,400}))",
        in_prose=True,
    ),
)
