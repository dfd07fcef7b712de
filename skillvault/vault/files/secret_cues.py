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
# What a secret is for, and the words that give its value: `for the backup was set to`.
_FOR = r"(?:\s{1,3}(?:for|of|on|to|in)(?:\s{1,3}[\w.@'-]{1,40}){1,5}?)?"
_BECAME = (
    r"\s{0,3}(?:[:=]|(?:is|was|has\sbeen|had\sbeen|got)(?:\s{1,3}(?:now|still))?"
    r"(?:\s{1,3}(?:set|changed|reset|updated)\s{1,3}to)?|(?:set|changed|reset)\s{1,3}to)\s{0,3}"
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
    _cue(
        "Secret Keyword",
        (*_NAMED, "pw"),
        rf"(?:{_NAME}|\bpw){_FOR}{_BECAME}",
        rf"(?:['\"`](?P<quoted>{_QUOTED})(?=['\"`])|(?P<secret>(?=\S{{0,99}}?\d){_BARE}))",
        in_prose=True,
    ),
    _cue(
        "Passphrase",
        ("passphrase", "password"),
        rf"(?:--?pass(?:phrase|word)[=\s]\s{{0,3}}|\bpassphrase{_FOR}{_BECAME})",
        r"['\"`](?P<secret>[^'\"`\n<>{}$]{1,200}\s[^'\"`\n<>{}$]{1,200})['\"`]",
    ),
    _cue(
        "PIN",
        ("pin", "passcode"),
        rf"\b(?:pin|passcode)(?:\s{{1,3}}(?:code|number))?{_FOR}{_BECAME}(?P<secret>\d{{4,12}})(?![\w.:/-])",
    ),
    _cue(
        "Password",
        "machine",
        r"\bmachine\s{1,9}\S{1,200}\s{1,9}login\s{1,9}\S{1,200}\s{1,9}password\s{1,9}",
        r"(?P<secret>(?!\[redacted)\S{3,400})",
    ),
    _cue(
        "One-Time Password Seed",
        ("otp", "2fa", "mfa"),
        r"\b(?:t?otp|2fa|mfa)\s{1,3}(?:seed|secret|key)(?:\s{1,3}(?:is|was))?\s{0,3}[:=]?\s{0,3}",
        r"(?P<secret>(?=[a-z]{0,63}[2-7])[a-z2-7]{16,64}\b)",
    ),
    _cue(
        "Recovery Phrase",
        ("mnemonic", "phrase"),
        r"\b(?:mnemonic|(?:seed|recovery|backup)\s{1,3}phrase)\s{0,3}(?:[:=]|is|was)\s{0,3}['\"`]?",
        r"(?P<secret>(?:[a-z]{3,8}\s){11,23}[a-z]{3,8})\b",
    ),
)
