"""redact: secrets leave before anything is written, and nothing else does."""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillvault.api import Vault
from skillvault.model.codec import outcome_values
from skillvault.vault.files.redact import redact_text
from tests.conftest import Person
from tests.given import NOW, as_file, ended, outcome, raw, redacted, shown
from tests.thorough import examples

# Put together here so that no scanner takes this file for a leak.
AWS = "AKIA" + "IOSFODNN7EXAMPLE"
GITHUB = "ghp" + "_" + "a1B2" * 9
SLACK = "xoxb" + "-123456789012-" + "abcdefghijklmnop"
STRIPE = "sk" + "_live_" + "a1" * 12
ANTHROPIC = "sk" + "-ant-api03-" + "Ab1_" * 6
OPENAI = "sk" + "-proj-" + "Ab1_" * 6
GOOGLE = "AIza" + "b" * 35
JWT = "eyJhbGciOiJIUzI1NiJ9" + "." + "eyJzdWIiOiIxMjM0In0" + "." + "c2lnbmF0dXJl"
KEY = "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIEow\nIBAAK\n-----END RSA PRIVATE " + "KEY-----"
PASSWORD = "hunter2" + "hunter2"
SECRETS = {
    "AWS Access Key": AWS, "GitHub Token": GITHUB, "Slack Token": SLACK,
    "Stripe Access Key": STRIPE, "Anthropic API Key": ANTHROPIC, "OpenAI Token": OPENAI,
    "Google API Key": GOOGLE, "JSON Web Token": JWT, "Private Key": KEY,
}  # fmt: skip


@pytest.mark.parametrize(("kind", "secret"), SECRETS.items())
def test_a_marker_names_the_kind_and_the_words_around_it_stay(kind: str, secret: str) -> None:
    assert redact_text(f"before {secret} after") == f"before [redacted: {kind}] after"


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        (f"password: {PASSWORD}", PASSWORD),
        (f"PASSWORD={PASSWORD}", PASSWORD),
        (f'"db_password": "{PASSWORD}"', PASSWORD),
        (f"export API_KEY='{PASSWORD}'", PASSWORD),
        (f"the password is {PASSWORD}", PASSWORD),
        (f"postgres://ada:{PASSWORD}@db/x", PASSWORD),
        (f"Authorization: Bearer {PASSWORD}{PASSWORD}", PASSWORD),
        ("authorization: Basic YWRhOmh1bnRlcjI=", "YWRhOmh1bnRlcjI"),
        (f"curl -H 'X-Token: {PASSWORD}{PASSWORD}'", PASSWORD),
        (f"one\nsecret = {PASSWORD}\r\ntwo", PASSWORD),
        (KEY.partition("\n-----END")[0], "MIIEow"),
    ],
)
def test_a_secret_given_to_a_name_is_found(text: str, gone: str) -> None:
    found = redact_text(text)
    assert gone not in found
    assert "[redacted: " in found


@pytest.mark.parametrize(
    "key",
    "password db_password PASSWD pwd api_key apiKey x-api-key client_secret access_token "
    "accessToken user_access_token session_token github_token passphrase".split(),
)
def test_what_stands_under_a_key_named_like_a_secret_goes_whole(key: str) -> None:
    given = raw(context={key: "plain", "kept": "plain"})
    assert redacted(given).context == {key: "[redacted: Secret Keyword]", "kept": "plain"}


def test_text_and_long_numbers_below_such_a_key_go_at_any_depth() -> None:
    given = raw(own={"password": {"value": "a", "list": ["b", 12345678], "tries": 3}})
    marker = "[redacted: Secret Keyword]"
    assert redacted(given).extra["own"] == {
        "password": {"value": marker, "list": [marker, marker], "tries": 3}
    }


def test_a_value_beside_the_name_of_a_secret_goes() -> None:
    other = {"name": "A", "value": "b"}
    given = raw(own={"env": [{"name": "DB_PASSWORD", "value": "plain"}, other]})
    changed = {"name": "DB_PASSWORD", "value": "[redacted: Secret Keyword]"}
    assert redacted(given).extra["own"] == {"env": [changed, other]}


def test_redaction_loads_no_client_of_http() -> None:
    code = "import sys; from skillvault.vault.files.redact import redact_text; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"requests", "urllib3", "http.client", "ssl"} & set(done.stdout.split())


def test_a_secret_that_is_a_key_goes_too() -> None:
    made = redacted(raw(context={AWS: 1}))
    assert made.context == {"[redacted: AWS Access Key]": 1}


@pytest.mark.parametrize(
    ("key", "value"),
    [("max_tokens", 4096), ("token", "SOL"), ("tokens_used", 123456), ("passed", "yes"),
     ("secrets_found", 3), ("key", "value"), ("keyboard", "qwerty"), ("author", "ada"),
     ("secret_scanning", "enabled"), ("session_key", "order-2026-11"), ("secrets", "inherit")],
)  # fmt: skip
def test_a_key_that_only_sounds_like_a_secret_keeps_its_value(key: str, value: Any) -> None:
    assert redacted(raw(context={key: value})).context == {key: value}


@pytest.mark.parametrize(
    "text",
    [
        "The token expired, so I asked for a new one.",
        "tokens: 4096",
        "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "run 0b7c2c0e-8f0e-4c1e-9f8a-1c2d3e4f5a6b",
        "FAILED tests/test_auth.py::test_password_reset - assert 504 == 200",
        "the secret of a good entry is patience",
        "https://example.org/a?b=c#d and ada@example.org at 10.0.0.1:8080",
        "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact_text(text) == text


WORDS = st.sampled_from(
    "I raise the timeout from 2 s to 5 because funding is high; a test fails - see test_payment.py "
    "token tokens key keys open_long SOL-PERP 0.08 % basic bearer of news pass passed author "
    "日本 ü 🎉 \n \r\n \u2028 \x85 \t # --- http://example.org".split(" ")
)


@given(st.lists(WORDS, max_size=40))
@settings(max_examples=examples(150))
def test_prose_stays_byte_for_byte(words: list[str]) -> None:
    text = " ".join(words)
    assert redact_text(text) == text


def test_the_id_does_not_depend_on_what_was_redacted() -> None:
    given = raw(decision__reasoning=f"with {GITHUB}")
    made, clean = outcome(given), redacted(given)
    assert (clean.id, clean.received) == (made.id, made.received)
    assert clean.decision.reasoning == "with [redacted: GitHub Token]"


def test_an_outcome_without_secrets_is_unchanged() -> None:
    given = raw(context={"a": None, "b": 1.5, "c": True}, own={"x": [1, {"y": "z"}]})
    assert outcome_values(redacted(given)) == outcome_values(outcome(given))


@pytest.mark.parametrize("given", [raw(), shown(), ended()], ids=lambda given: given.get("type"))
def test_a_domain_that_is_a_secret_is_refused_and_holds_nothing_up(
    vault: Vault, given: dict[str, Any]
) -> None:
    secret = "sk" + "-ant-" + "a1" * 12
    files = [("bad.json", as_file({**given, "domain": secret})), ("good.json", as_file(raw()))]
    report = vault.record(files, now=NOW)
    assert [one.code for one in report.quarantined] == ["bad-domain"]
    assert secret not in report.quarantined[0].message
    assert [done.subject for done in report.done] == ["record: 1 outcome in coding"]


def test_no_secret_reaches_any_object_of_the_repository(vault: Vault, person: Person) -> None:
    given = raw(
        event_id=f"e {AWS}",
        decision={"action": f"use {GITHUB}", "target": STRIPE, "reasoning": f"a\n{KEY}\nb"},
        result__evidence=f"curl -u ada:x https://ada:{PASSWORD}@example.org\n{SLACK}",
        result__summary=f"token was {JWT}",
        context={"api_key": PASSWORD, ANTHROPIC: OPENAI},
        applied=[GOOGLE],
        source={"agent": f"agent {GOOGLE}", "session": AWS},
        own={"deep": [{"password": PASSWORD}, AWS]},
    )
    for name in ("a.json", "broken.json"):
        data = as_file(given)
        (vault.root / "inbox" / name).write_bytes(data if name == "a.json" else data[:-1])
    vault.run(now=NOW)
    objects = person.git("cat-file", "--batch-all-objects", "--batch")
    assert "redacted: GitHub Token" in objects
    left = [kind for kind, secret in SECRETS.items() if secret in objects]
    assert (left, PASSWORD in objects, "MIIEow" in objects) == ([], False, False)
    assert len(person.git("rev-list", "--all").splitlines()) > 2
    for path in Path(vault.root / "outcomes").rglob("*.yaml"):
        assert AWS not in path.read_text()


@pytest.mark.parametrize(
    "unit", ["a", "password ", "password=", "eyJ", "QUJD", "secret: ", "token=", "x\n", "'\""]
)
def test_a_long_text_of_anything_is_read_in_reasonable_time(unit: str) -> None:
    text = (unit * 65_536)[:65_536]
    start = time.perf_counter()
    redact_text(text)
    assert time.perf_counter() - start < 20  # seconds; it takes one
