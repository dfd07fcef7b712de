"""records: what the intake takes, what it refuses, and what an id derives from."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillvault.model.codec import outcome_of, outcome_values, parse_incoming
from skillvault.model.errors import BadInputError
from skillvault.model.intake import parse_outcome
from skillvault.model.records import Ref, Trust, link_id, link_of
from skillvault.model.text.strict_yaml import dump
from tests.given import NOW, outcome, raw, trade


def refused(given: dict[str, Any], **options: Any) -> BadInputError:
    with pytest.raises(BadInputError) as caught:
        parse_outcome(given, **{"trust": "local", "now": NOW, **options})
    return caught.value


def result(**values: Any) -> dict[str, Any]:
    return raw(result=values)


# ── refusals ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("given", "key", "code", "says"),
    [
        (result(score=-11.2), "result.score", "score-range", "was percent meant? Write -0.112"),
        (result(score=35), "result.score", "score-range", "Write 0.35 for 35 %"),
        (
            result(score=-11.2, amount=-112, entry_value=1000),
            "result.score",
            "score-mismatch",
            "amount / entry_value = -0.112; was percent meant?",
        ),
        (
            result(score=-0.2, amount=-112, entry_value=1000),
            "result.score",
            "score-mismatch",
            "differs from amount / entry_value = -0.112",
        ),
        (
            result(status="success", score=-0.1),
            "result.status",
            "contradiction",
            "success contradicts result.score -0.1, which means failure",
        ),
        (result(status="neutral", score=0.1), "result.status", "contradiction", "means success"),
        (result(status="success", score=0), "result.status", "contradiction", "means neutral"),
        (result(status="won"), "result.status", "bad-value", "write success, failure, neutral"),
        (result(summary="x"), "result.status", "missing-key", "or give result.score"),
        (result(score="high"), "result.score", "wrong-type", "a number"),
        (result(status="failure", score="-0.1"), "result.score", "wrong-type", "a number"),
        (result(status="failure", score=True), "result.score", "wrong-type", "found true"),
        (raw(result="lost"), "result", "wrong-type", "a mapping of keys to values"),
        (raw(result=None), "result", "missing-key", "missing; add it"),
        (raw(decision=None), "decision", "missing-key", "missing"),
        (raw(decision__action=None), "decision.action", "missing-key", "missing"),
        (raw(decision__action=""), "decision.action", "wrong-type", "text that is not empty"),
        (raw(decision__action=5), "decision.action", "wrong-type", "expected text, found 5"),
        (raw(decision__confidence=80), "decision.confidence", "bad-value", "at most 1"),
        (raw(decision__confidence="high"), "decision.confidence", "wrong-type", 'text "high"'),
        (raw(decision__made_at="yesterday"), "decision.made_at", "wrong-type", "timezone"),
        (raw(occurred_at=None), "occurred_at", "missing-key", "missing"),
        (raw(occurred_at="2026-11-02T10:00:00"), "occurred_at", "wrong-type", "its timezone"),
        (raw(occurred_at="2026-11-02"), "occurred_at", "wrong-type", "2026-11-20T10:15:00Z"),
        (raw(occurred_at=1762077600), "occurred_at", "wrong-type", "timezone"),
        (raw(occurred_at="2026-12-24T10:00:00Z"), "occurred_at", "future", "lies in the future"),
        (raw(domain=None), "domain", "missing-key", "missing"),
        (raw(domain=5), "domain", "wrong-type", "expected text, found 5"),
        (raw(domain="../../etc"), "domain", "bad-domain", "cannot be a folder name"),
        (raw(domain="a/b"), "domain", "bad-domain", "lower-case letters"),
        (raw(domain="perps\n"), "domain", "bad-domain", "cannot be a folder name"),
        (raw(domain=""), "domain", "bad-domain", "cannot be a folder name"),
        (raw(domain="x" * 65), "domain", "bad-domain", "at most 64"),
        (raw(result__evidence="é" * 33_000), "result.evidence", "too-large", "64 KiB"),
        (raw(context=["high"]), "context", "wrong-type", "a mapping"),
        (raw(context={"a": {"b": 1}}), "context.a", "wrong-type", "keys of their own"),
        (raw(context={"a": [1]}), "context.a", "wrong-type", "expected one value, found a list"),
        (raw(applied="warning-x"), "applied", "wrong-type", "a list"),
        (raw(source="coder-1"), "source", "wrong-type", "a mapping"),
        (raw(source__trust="full"), "source.trust", "bad-value", "write local, untrusted"),
        (raw(event_id=17), "event_id", "wrong-type", "expected text, found 17"),
    ],
)
def test_a_refusal_names_the_key_and_says_what_was_expected(
    given: dict[str, Any], key: str, code: str, says: str
) -> None:
    error = refused(given)
    assert (error.key, error.code) == (key, code)
    assert error.message.startswith(f"{key}: ")
    assert says in error.message
    assert len(error.message) < 250


@pytest.mark.parametrize("key", ["occurred_at", "decision__made_at"])
@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+23:00", "9999-12-31T23:59:59-23:00"])
def test_a_time_that_no_calendar_has_in_utc_is_refused(key: str, at: str) -> None:
    assert refused(raw(0, **{key: at})).key == key.replace("__", ".")


def test_a_score_that_overflows_is_refused() -> None:
    keys = ("result.score", "result.amount", "result.entry_value")
    assert refused(result(amount=1e300, entry_value=1e-300)).key in keys


# ── what is taken ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("values", "status", "score"),
    [
        ({"score": 0.3}, "success", 0.3),
        ({"score": -0.3}, "failure", -0.3),
        ({"score": 0}, "neutral", 0),
        ({"amount": -112, "entry_value": 1000}, "failure", -0.112),
        ({"amount": 2500, "entry_value": 1000}, "success", 2.5),
        ({"status": "failure"}, "failure", None),
        ({"status": "success", "amount": 5}, "success", None),
        ({"status": "success", "amount": 5, "entry_value": 0}, "success", None),
        ({"score": -0.1125, "amount": -112, "entry_value": 1000}, "failure", -0.1125),
        ({"score": 1}, "success", 1),
        ({"score": -1}, "failure", -1),
    ],
)
def test_status_and_score_are_derived_where_they_are_missing(
    values: dict[str, Any], status: str, score: float | None
) -> None:
    made = outcome(result(**values)).result
    assert (made.status, made.score) == (status, score)


def test_unbounded_scores_are_taken_where_the_policy_lifts_the_limit() -> None:
    assert (
        parse_outcome(result(score=35), trust="local", now=NOW, unbounded=True).result.score == 35
    )


def test_a_time_ahead_is_taken_within_a_day() -> None:
    soon = (NOW + timedelta(hours=23)).isoformat()
    assert outcome(raw(occurred_at=soon)).occurred_at == NOW + timedelta(hours=23)
    assert refused(raw(occurred_at=soon), ahead=timedelta(hours=1)).code == "future"


@pytest.mark.parametrize(
    ("door", "claimed", "given"),
    [
        ("local", None, "local"),
        ("local", "local", "local"),
        ("local", "untrusted", "untrusted"),
        ("untrusted", None, "untrusted"),
        ("untrusted", "local", "untrusted"),
        ("untrusted", "untrusted", "untrusted"),
    ],
)
def test_a_record_can_only_lower_the_trust_of_its_door(
    door: Trust, claimed: str | None, given: str
) -> None:
    assert outcome(raw(source__trust=claimed), door).trust == given


def test_evidence_of_64_kib_is_taken() -> None:
    assert len(outcome(raw(result__evidence="x" * 65_536)).result.evidence) == 65_536


def test_unknown_keys_are_kept_at_every_level() -> None:
    given = raw(
        own={"a": [1, {"b": None}]}, extra="top", decision__fee=2, decision__extra={"x": 1},
        result__extra=[1], result__more="m", source__host="h", context={"x": 1, "extra": None},
    )  # fmt: skip
    found = outcome_values(outcome(given))
    assert (found["own"], found["extra"]) == ({"a": [1, {"b": None}]}, "top")
    assert (found["decision"]["fee"], found["decision"]["extra"]) == (2, {"x": 1})
    assert (found["result"]["extra"], found["result"]["more"]) == ([1], "m")
    assert (found["source"]["host"], found["context"]) == ("h", {"x": 1, "extra": None})


def test_id_and_received_of_a_file_are_not_believed() -> None:
    assert outcome(raw(id="x", received="y")) == outcome()


# ── ids ──────────────────────────────────────────────────────────────────────────────


def test_an_id_is_the_time_and_ten_digits_of_what_was_received() -> None:
    made = outcome()
    assert made.id == f"20261101t090000z-{made.received[:10]}"
    assert len(made.received) == 64


def test_the_same_record_has_the_same_id_in_yaml_json_and_markdown() -> None:
    given = trade(context={"a": 1, "b": 1.5, "c": None, "d": True, "e": "12:30"})
    reasoning = given["decision"].pop("reasoning")
    front = dump(given)
    full = {**given, "decision": {**given["decision"], "reasoning": reasoning}}
    forms = {
        "o.yaml": dump(full), "o.json": json.dumps(full, indent=1),
        "o.md": f"---\n{front}---\n\n{reasoning}\n",
    }  # fmt: skip
    ids = {outcome(parse_incoming(name, text.encode())).id for name, text in forms.items()}
    assert ids == {outcome(full).id}


@given(st.randoms())
@settings(max_examples=50)
def test_the_order_of_keys_does_not_matter(random: Any) -> None:
    def shuffled(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        items = [(key, shuffled(item)) for key, item in value.items()]
        random.shuffle(items)
        return dict(items)

    given_order = trade(own={"x": 1, "y": {"z": 2, "w": 3}})
    assert outcome(shuffled(given_order)).id == outcome(given_order).id


@pytest.mark.parametrize(
    "same",
    [
        {"occurred_at": "2026-11-01T10:00:00+01:00"},
        {"source__trust": "untrusted"},
        {"result__summary": ""},
        {"context": {}},
        {"type": "outcome"},
        {"id": "x"},
    ],
)
def test_what_means_the_same_has_the_same_id(same: dict[str, Any]) -> None:
    assert outcome(raw(**same)).id == outcome().id


@pytest.mark.parametrize(
    "other",
    [
        {"event_id": "e"},
        {"decision__action": "other"},
        {"context": {"a": 1}},
        {"context": {"a": "1"}},
        {"applied": []},
        {"source__session": "s"},
        {"own": 1},
        {"result__status": "success"},
    ],
)
def test_what_differs_has_another_id(other: dict[str, Any]) -> None:
    assert outcome(raw(**other)).id not in (outcome().id, outcome(raw(context={"b": 1})).id)


def test_a_recorded_outcome_reads_back() -> None:
    made = outcome(trade(own={"x": 1}))
    assert outcome_of(outcome_values(made), made.id) == made


def test_a_link_s_id_derives_from_its_type_and_ends() -> None:
    a, b = Ref("evaluation", "a"), Ref("skill", "b")
    assert link_of("generated", a, b, NOW).id == link_id("generated", a, b)
    ids = {link_id("generated", a, b), link_id("generated", b, a), link_id("merged", a, b)}
    assert len(ids) == 3
