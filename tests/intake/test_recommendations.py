"""intake: what was shown before a decision becomes a record, or is refused by name."""

from datetime import timedelta
from typing import Any

import pytest

from skillvault.learning.recommend import render as pack
from skillvault.learning.recommend.recommend import Candidate, Query, recommend
from skillvault.loop.profiles import rules_of
from skillvault.model import codec
from skillvault.model.errors import BadInputError
from skillvault.model.intake import MAX_SHOWN, parse_recommendation
from skillvault.model.policy import Policy
from skillvault.model.records import Recommendation, Ref
from tests.given import NOW, recommendation, redacted, shown


def test_its_id_is_its_time_and_a_digest_of_what_it_says() -> None:
    one = recommendation()
    assert one.id.startswith("20261120t100000z-")
    assert one.received.startswith(one.id[-10:])
    assert recommendation(next=[]).id != one.id


def test_the_trust_of_the_door_is_no_part_of_its_id() -> None:
    local, other = recommendation(), recommendation(trust="untrusted")
    assert (other.id, other.trust, local.trust) == (local.id, "untrusted", "local")


def test_a_file_can_only_lower_its_trust() -> None:
    assert recommendation(trust="local").trust == "local"
    found = parse_recommendation({**shown(), "trust": "untrusted"}, trust="local", now=NOW)
    assert found.trust == "untrusted"
    found = parse_recommendation({**shown(), "trust": "local"}, trust="untrusted", now=NOW)
    assert found.trust == "untrusted"


@pytest.mark.parametrize(
    "changes", [{}, {"next": None, "held_out": None, "context": None}, {"mood": "calm"}]
)
def test_it_comes_back_from_its_text(changes: dict[str, Any]) -> None:
    one = recommendation(**changes)
    assert codec.decode(Ref("recommendation", one.id), codec.encode(one)) == one


def test_unknown_keys_are_kept() -> None:
    assert recommendation(mood="calm").extra == {"mood": "calm"}


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"decision": None}, "decision"),
        ({"decision": ""}, "decision"),
        ({"domain": "../x"}, "domain"),
        ({"at": "yesterday"}, "at"),
        ({"at": "2026-11-20T10:00:00"}, "at"),
        ({"at": (NOW + timedelta(days=2)).isoformat()}, "at"),
        ({"shown": [{"blob": "x"}]}, "shown[0].skill"),
        ({"shown": [{"skill": "a", "relevance": 2}]}, "shown[0].relevance"),
        ({"shown": [{"skill": "a"}] * (MAX_SHOWN + 1)}, "shown"),
        ({"counts": {"considered": "many"}}, "counts.considered"),
    ],
)
def test_what_cannot_be_taken_is_named(changes: dict[str, Any], key: str) -> None:
    given = {**shown(), **changes}
    given = {name: value for name, value in given.items() if value is not None}
    with pytest.raises(BadInputError) as caught:
        parse_recommendation(given, trust="local", now=NOW)
    assert caught.value.key == key


def test_secrets_go_and_versions_stay() -> None:
    token = "ghp_" + "a1B2" * 9
    one = redacted(shown(context={"note": f"token {token}"}))
    assert token not in str(one)
    assert one.shown == recommendation().shown


def test_the_record_of_an_answer_is_taken() -> None:
    query = Query(domain="perps", decision="d-1")
    answer = recommend([Candidate("a", "guide", 10)], query, rules_of(Policy()), lambda _: "Text.")
    raw = pack.record(answer, query, NOW)
    found = parse_recommendation(raw, trust="local", now=NOW)
    assert isinstance(found, Recommendation)
    assert (found.decision, found.at, found.counts.considered) == ("d-1", NOW, 1)
