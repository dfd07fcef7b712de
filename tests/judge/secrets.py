"""Secrets of forty formats, put together here so that no scanner takes this file for a leak."""

import base64
import random
import string
from collections.abc import Callable
from typing import NamedTuple

_WORD = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_UPPER = string.ascii_uppercase + string.digits


class Planted(NamedTuple):
    """A text with a secret in it, and the part that must be nowhere."""

    text: str
    secret: str


def _of(chance: random.Random, letters: str, count: int) -> str:
    """Random characters, a digit among the first of them."""
    return chance.choice("23456789") + "".join(chance.choices(letters, k=count - 1))


# What stands before the secret, its alphabet, its length, what stands behind.
_TOKENS = (
    ("AKIA", _UPPER, 16, ""), ("ASIA", _UPPER, 16, ""), ("ghp" + "_", _WORD, 36, ""),
    ("gho" + "_", _WORD, 36, ""), ("ghs" + "_", _WORD, 36, ""),
    ("github" + "_pat_", _WORD, 40, ""), ("glpat" + "-", _WORD, 20, ""),
    ("xoxb" + "-123456789012-", _WORD, 24, ""), ("xoxp" + "-123456789012-", _WORD, 24, ""),
    ("sk" + "_live_", _WORD, 24, ""), ("rk" + "_live_", _WORD, 24, ""),
    ("sk" + "-ant-api03-", _WORD, 40, ""), ("sk" + "-proj-", _WORD, 40, ""),
    ("sk" + "-svcacct-", _WORD, 40, ""), ("AIza", _WORD, 35, ""),
    ("SG." + "a1b2c3d4e5f6g7h8i9j0k1" + ".", _WORD, 43, ""),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx", _WORD, 24, ".c2lnbmF0dXJl"),
    ("//registry.npmjs.org/:_authToken=" + "npm_", _WORD, 36, ""),
    ("pypi-AgEIcHlwaS5vcmc", _WORD, 80, ""), ("SK", _HEX, 32, ""),
    ("password: ", _WORD, 14, ""), ("PASSWORD=", _WORD, 14, ""),
    ('"db_password": "', _WORD, 14, '"'),
    ("export API_KEY='", _WORD, 24, "'"), ("the password is ", _WORD, 12, ""),
    ("api_key = ", _WORD, 24, ""), ("client_secret: ", _WORD, 24, ""), ("passwd=", _WORD, 12, ""),
    ("postgres://ada:", _WORD, 14, "@db/x"), ("https://bot:", _WORD, 20, "@git.example.org/x.git"),
    ("mysql://root:", _WORD, 16, "@10.0.0.1/db"), ("redis://user:", _WORD, 16, "@cache:6379"),
    ("Authorization: Bearer ", _WORD, 32, ""), ("authorization: bearer ", _WORD, 24, ""),
    ("curl -H 'X-Token: ", _WORD, 24, "'"), ("access_token=", _WORD, 32, ""),
    ("refresh_token: ", _WORD, 32, ""), ("secret = ", _WORD, 20, ""),
)  # fmt: skip


def _token(chance: random.Random, form: tuple[str, str, int, str]) -> Planted:
    before, letters, count, behind = form
    secret = _of(chance, letters, count)
    return Planted(f"{before}{secret}{behind}", secret)


def _key(kind: str) -> Callable[[random.Random], Planted]:
    def made(chance: random.Random) -> Planted:
        inside = _of(chance, _WORD, 48)
        head, tail = (
            f"-----BEGIN {kind}PRIVATE " + "KEY-----",
            f"-----END {kind}PRIVATE " + "KEY-----",
        )
        return Planted(f"{head}\n{inside}\n{tail}", inside)

    return made


def _basic(chance: random.Random) -> Planted:
    inside = base64.b64encode(f"ada:{_of(chance, _WORD, 14)}".encode()).decode().rstrip("=")
    return Planted(f"authorization: Basic {inside}=", inside)


FORMATS: list[Callable[[random.Random], Planted]] = [
    *(lambda chance, form=form: _token(chance, form) for form in _TOKENS),
    _key("RSA "), _key("OPENSSH "), _key("EC "), _basic,
]  # fmt: skip
