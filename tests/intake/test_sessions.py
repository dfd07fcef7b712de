"""intake: a finished session becomes a record, or is refused by name."""

from datetime import timedelta
from typing import Any

import pytest

from skillvault.api import Vault
from skillvault.model import codec
from skillvault.model.aliases import session_id
from skillvault.model.errors import BadInputError
from skillvault.model.intake import MAX_SESSION_PARTS, parse_session
from skillvault.model.records import MAX_TEXT, Ref
from skillvault.model.text.text import is_slug
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import parse_record
from tests.conftest import Person
from tests.given import NOW, as_file, ended, raw, redacted, session

SECRET = "sk-ant-api03-" + "Zk9x" * 8
SECRETS = (SECRET, "ghp_" + "a1B2" * 9, "password = hunter2-but-longer-9")


def test_it_stands_under_the_day_on_which_it_ended() -> None:
    assert layout.path_of(session()) == "sessions/2026/11/20/s-77.yaml"
    late = session(ended_at="2026-11-20T01:00:00+09:00")
    assert layout.path_of(late) == "sessions/2026/11/19/s-77.yaml"


@pytest.mark.parametrize(
    ("name", "expected"),
    [("s-77", "s-77"), ("s_77", "s-77"), ("0c1f9a52-aaaa-4bbb-8ccc-0123456789ab", None)],
)
def test_its_id_is_its_name_where_that_can_be_a_files(name: str, expected: str | None) -> None:
    assert session_id(name) == (expected or name)


@pytest.mark.parametrize("name", ["Run 7", "run 7", "../x", "週次", "a" * 300])
def test_any_other_name_gets_an_id_of_its_own(name: str) -> None:
    others = {session_id(other) for other in ("run-7", "Run-7", "x", "a" * 64)}
    assert is_slug(session_id(name))
    assert session_id(name) not in others


def test_its_content_and_not_the_trust_of_the_door_is_what_was_received() -> None:
    assert session(trust="untrusted").received == session().received
    assert session(tags=["billing"]).received != session().received


def test_a_file_can_only_lower_its_trust() -> None:
    found = parse_session({**ended(), "trust": "untrusted"}, trust="local", now=NOW)
    assert (found.trust, found.id == "s-77") == ("untrusted", False)
    found = parse_session({**ended(), "trust": "local"}, trust="untrusted", now=NOW)
    assert found.trust == "untrusted"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"trust": "untrusted", "transcript": "claude-code", "roles": ["builder"]},
        {"mood": "calm", "failures": [{"lemma": "x", "reason": "y", "seen": 3}]},
        {"failures": None, "tags": None, "agent": None},
    ],
)
def test_it_comes_back_from_its_text_with_every_key(changes: dict[str, Any]) -> None:
    one = session(**changes)
    path = layout.path_of(one)
    assert parse_record(path, codec.encode(one)) == one
    assert layout.ref_of(path) == Ref("session", one.id)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"id": None}, "id"),
        ({"id": ""}, "id"),
        ({"id": 7}, "id"),
        ({"id": "x" * (MAX_TEXT + 1)}, "id"),
        ({"domain": None}, "domain"),
        ({"domain": "../x"}, "domain"),
        ({"ended_at": None}, "ended_at"),
        ({"ended_at": "2026-11-20T10:00:00"}, "ended_at"),
        ({"ended_at": (NOW + timedelta(days=2)).isoformat()}, "ended_at"),
        ({"ended_at": "9999-12-31T23:59:59-05:00"}, "ended_at"),
        ({"trust": "full"}, "trust"),
        ({"failures": None, "successes": None}, "failures"),
        ({"failures": [], "successes": []}, "failures"),
        ({"failures": {"lemma": "x"}}, "failures"),
        ({"failures": ["x"]}, "failures[0]"),
        ({"failures": [{"lemma": "x"}, {"reason": "y"}]}, "failures[1].lemma"),
        ({"successes": [{"lemma": "x", "text": ["y"]}]}, "successes[0].text"),
        ({"failures": [{"lemma": "x"}] * (MAX_SESSION_PARTS + 1)}, "failures"),
        ({"failures": [{"lemma": "x", "reason": "é" * (MAX_TEXT // 2 + 1)}]}, "failures[0].reason"),
        ({"tags": "payments"}, "tags"),
    ],
)
def test_what_cannot_be_taken_is_named(changes: dict[str, Any], key: str) -> None:
    with pytest.raises(BadInputError) as caught:
        parse_session(ended(**{"name": "s-77", **changes}), trust="local", now=NOW)
    assert caught.value.key == key
    assert caught.value.message.startswith(f"{key}: ")


@pytest.mark.parametrize("secret", SECRETS)
def test_no_secret_of_it_is_kept_in_text_or_name(secret: str) -> None:
    one = redacted(
        ended(
            secret,
            failures=[{"lemma": secret, "reason": f"x {secret}", "attempt": secret, "k": secret}],
            successes=[{"lemma": "a", "text": f"exported {secret}"}],
            tags=[secret],
            note={"deep": [secret]},
        )
    )
    written = f"{layout.path_of(one)}\n{codec.encode(one).decode()}".lower()
    assert secret.lower() not in written
    assert secret.lower().replace("_", "-") not in written
    assert parse_record(layout.path_of(one), codec.encode(one)) == one


def test_a_vault_takes_it_in_once_and_leads_to_its_outcomes(vault: Vault) -> None:
    of = raw(source={"agent": "builder-1", "session": "s-77"})
    report = vault.record([("s.json", as_file(ended())), ("o.json", as_file(of))], now=NOW)
    assert [done.subject for done in report.done] == ["record: 1 outcome and 1 session in coding"]
    again = vault.record([("again.json", as_file(ended()))], now=NOW)
    assert (again.done, again.known) == ([], ["s-77"])
    (branch,) = vault.why("s-77")["sources"]
    assert branch["ref"]["kind"] == "outcome"
    (ahead,) = vault.impact(branch["ref"]["id"])["targets"]
    assert ahead["ref"]["path"] == "sessions/2026/11/20/s-77.yaml"
    assert vault.check().problems == []


def test_other_content_under_its_id_is_refused(vault: Vault) -> None:
    vault.record([("s.json", as_file(ended()))], now=NOW)
    other = ended(tags=["other"], ended_at="2026-11-19T10:00:00Z")
    report = vault.record([("other.json", as_file(other))], now=NOW)
    (refused,) = report.quarantined
    assert refused.code == "conflicting-duplicate"
    assert "s-77 is in the vault already, as it was on 2026-11-20" in refused.message


def test_of_two_that_arrive_at_once_with_other_content_one_is_taken(vault: Vault) -> None:
    files = [(f"{tag}.json", as_file(ended(tags=[tag]))) for tag in ("a", "b")]
    report = vault.record(files, now=NOW)
    assert [len(done.change.writes) for done in report.done] == [1]
    assert [refused.file for refused in report.quarantined] == ["b.json"]


def test_a_session_that_was_taken_away_is_not_recorded_again(vault: Vault, person: Person) -> None:
    vault.record([("s.json", as_file(ended()))], now=NOW)
    person.git("rm", "-q", "sessions/2026/11/20/s-77.yaml")
    person.git("commit", "-qm", "away with it")
    report = vault.record([("s.json", as_file(ended()))], now=NOW)
    assert report.done == []
    assert [str(rejection.target) for rejection in report.rejected] == ["session:s-77"]
