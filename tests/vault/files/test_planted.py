"""Planted secrets: what comes through is little, and each form of it is named in the documents."""

import re
from pathlib import Path
from typing import Any

import pytest

from skillvault.api import Vault
from skillvault.model.text.hidden_characters import remove_hidden
from skillvault.vault.files import redact, secret_cues
from skillvault.vault.files.redact import FORMATS, redact_text
from skillvault.vault.files.secret_cues import COMMANDS, CUES
from skillvault.vault.git.repository import Git
from tests.given import NOW, as_file, raw
from tests.thorough import THOROUGH
from tests.vault.files.planted import FORMS, HARMLESS, LATER, PLANTED, TOKENS, WORD, WRITTEN

SAFETY = Path(__file__).parents[3] / "docs/safety.md"
_PLAIN = {code + 0xFEE0: code for code in range(0x21, 0x7F)}  # full-width letters are read too
THROUGH = {"without a cue", "without a digit"}
# One of an alphabet in a vendor's format, with a digit in it.
_SAMPLES = {
    "digit": "8675309", "hex": "0f1e2d3c4b5a6978", "hexdash": "0f1e2d3c4b5a6978",
    "lower": "a3b5c7d9e1",
    "upper": "A3B5C7D9E1", "upperdash": "A3B5C7D9E1", "alnum": "aB3dE5fG7h", "word": "aB3dE5fG7h",
    "base64": "aB3dE5fG7h", "any": "aB3dE5fG7h", "azure": "aB3dE5fG7h", "slash": "aB3dE5fG7h",
    "slashat": "aB3dE5fG7h",
}  # fmt: skip


def _example(start: str, tail: str) -> str:
    """A made-up token of a vendor's format."""

    def sample(part: re.Match[str]) -> str:
        length = int(part[2])
        return (_SAMPLES[part[1]] * (length // 7 + 1))[:length]

    return start + re.sub(r"\{(\w+):(\d+)(?:-\d+)?\}", sample, tail)


def _found(text: str) -> str:
    return redact_text(remove_hidden(text)).translate(_PLAIN)


def test_at_most_3_percent_come_through_and_each_is_named() -> None:
    through = {name for name, (text, secret) in PLANTED.items() if secret in _found(text)}
    assert through == THROUGH
    assert len(PLANTED) >= 120
    assert len(through) <= 0.03 * len(PLANTED)
    safety = SAFETY.read_text(encoding="utf-8")
    assert f"{len(PLANTED)} forms" in safety
    assert f"{len(through)} ({100 * len(through) / len(PLANTED):.1f} %)" in safety
    quoted = (PLANTED[name][0].partition("\n")[0] for name in THROUGH)
    assert all(re.sub(r"\s+", " ", text) in re.sub(r"\s+", " ", safety) for text in quoted)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact_text(text) == text


def test_the_words_around_a_secret_stay() -> None:
    text, token = PLANTED["Hugging Face"]
    assert redact_text(text) == text.replace(token, "[redacted: Hugging Face Token]")
    text, word = FORMS["--token"]
    assert redact_text(text) == text.replace(word, "[redacted: Secret Option]")
    text, word = FORMS["redis"]
    assert redact_text(text) == text.replace(word, "[redacted: Basic Auth Credentials]")


def test_full_width_signs_stay_where_there_is_no_secret() -> None:
    text, word = FORMS["full-width sign"]
    mixed = f"止损：２％；不要追高。\n{text}\n好：是"
    found = redact_text(mixed)
    assert word not in found
    assert found.splitlines()[0] == mixed.splitlines()[0]
    assert found.splitlines()[2] == mixed.splitlines()[2]


def test_redacting_twice_changes_nothing_more() -> None:
    for text, _ in (*PLANTED.values(), *WRITTEN.values()):
        once = redact_text(remove_hidden(text))
        assert redact_text(once) == once


@pytest.mark.parametrize(("start", "kind", "tail"), FORMATS)
def test_a_token_of_each_vendor_is_found(start: str, kind: str, tail: str) -> None:
    token = _example(start, tail)
    found = redact_text(f"I called it with {token} and it failed")
    assert token[len(start) :] not in found
    assert found.startswith("I called it with [redacted: ")


def test_a_token_is_called_by_its_vendor() -> None:
    for name, kind in (("npm", "NPM tokens"), ("xAI", "xAI Key"), ("Terraform", "Terraform Token")):
        assert redact_text(f"it is {TOKENS[name]}") == f"it is [redacted: {kind}]"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_secret_in_a_command_is_found(command: str) -> None:
    text = command.replace("USER", "ada").replace("…", "x").replace("SECRET", WORD)
    assert WORD not in redact_text(text)


@pytest.mark.parametrize("text", WRITTEN)
def test_a_secret_in_a_sentence_or_a_shape_is_found(text: str) -> None:
    given, secret = WRITTEN[text]
    assert secret not in _found(given)


def test_no_planted_secret_but_the_named_reaches_an_object(vault: Vault) -> None:
    places = ("decision__reasoning", "result__evidence", "result__summary", "decision__task")
    files = []
    for number, (text, _) in enumerate(PLANTED.values()):
        changes: dict[str, Any] = {places[number % 4]: text, "event_id": f"event-{number}"}
        given = raw(**changes)
        files.append((f"{number}.json", as_file(given)))
    report = vault.record(files, now=NOW)
    assert not report.quarantined
    git = Git(vault.root)
    lines = git.run("rev-list", "--all", "--objects").decode().splitlines()
    outcomes = [line.split(" ")[0] for line in lines if line.endswith(".yaml")]
    texts = [re.sub(r"\s", "", blob.decode()) for blob in git.blobs(outcomes).values()]
    left: set[str] = set()
    for number, (name, (_, secret)) in enumerate(PLANTED.items()):
        (text,) = (text for text in texts if f"event-{number}domain" in text)
        if re.sub(r"\s", "", secret) in text.translate(_PLAIN):
            left.add(name)
    assert left == THROUGH


_SLOW = [
    "password=", "password,a\n", "user|password|\n", "API_KEY\n", "пароль ", "パスワードは",
    "credentials ", "akia", "a1B2-",
    "name: password value: ", "echo a | ", "key_", "aA1_", "MIIEowIBAAK", "LS0tLS1CRUdJTi",
    "prod:a",
    "token=", "token ", "--token ", "password: '", "curl -u ", "curl ", "docker login ", "secret`",
    "cookie: a", "://a:", "://aaaa", "authorization: b ", "set a", "key ", "0a", "passwd|", "hf_",
    "Private-Lines: 1\n", "?key=", 'token\\"\\', "set -x -x -x ", "密码", "--a-b-c-token ",
    '"token" value=', "token to 'a1", "pwd>a1", "zip -P", "smbclient -U a", "dp.pt.", "1//0", "sk-",
]  # fmt: skip


def test_no_pattern_repeats_within_a_repetition_or_looks_ahead_without_a_bound() -> None:
    """Of such a pattern the time grows faster than the text, whatever machine reads it."""
    modules = (*vars(redact).values(), *vars(secret_cues).values())
    patterns = [value for value in modules if isinstance(value, re.Pattern)]
    for pattern in (*patterns, *(cue.pattern for cue in CUES)):
        ahead = re.findall(r"\(\?=[^()]*?\\S?\*|\(\?=[^()]*?\]\*", pattern.pattern)
        nested = re.findall(r"[+*]\)[+*{]", pattern.pattern)
        assert (ahead, nested) == ([], []), pattern.pattern


@pytest.mark.parametrize("unit", _SLOW)
def test_a_text_made_to_be_slow_is_read_to_its_end(unit: str) -> None:
    size = 65_536 if THOROUGH else 16_384
    text = (unit * size)[:size]
    assert redact_text(f"{text}\n{TOKENS['npm']}").endswith("[redacted: NPM tokens]")


def test_the_later_ones_count_too() -> None:
    assert len(LATER) == 50
    assert set(LATER) <= set(PLANTED)
