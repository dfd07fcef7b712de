"""intake: what a task, a report, a lesson and a batch may say, and how a refusal of one reads."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillvault.model import codec
from skillvault.model.errors import BadInputError
from skillvault.model.intake import (
    MAX_SHOWN,
    parse_outcome,
    parse_recommendation,
)
from skillvault.model.records import Lesson, Outcome, Recommendation, ShownFact, ref_of
from tests.given import NOW, outcome, raw, recommendation, redacted, shown
from tests.thorough import examples

SECRET = "AKIA" + "IOSFODNN7EXAMPLE"
LESSON: dict[str, Any] = {
    "when": "funding is above 0.1 %",
    "do": "halve the size",
    "because": "the cascade came through the stop",
    "evidence": "assert  504\n== 200",
    "observed": True,
}
FULL: dict[str, Any] = {
    "decision__task": "fix the flaky test",
    "decision__reasoning_at": "after",
    "decision__report": "The pool was empty.",
    "result__answer": "24",
    "lesson": {**LESSON, "own": [1]},
    "source__batch": "b-3",
}


def reread(record: Outcome | Recommendation) -> Any:
    return codec.decode(ref_of(record), codec.encode(record))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("aé \n", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from([*LESSON, "own"]), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(key=st.sampled_from(sorted(FULL)), value=JSON)
@settings(max_examples=examples(300))
def test_anything_there_is_taken_or_refused_by_its_key(key: str, value: Any) -> None:
    changes: dict[str, Any] = {key: {} if value is None else value}
    changed = raw(**changes)
    path = key.replace("__", ".")
    with suppress(BadInputError):
        made = parse_outcome(changed, trust="local", now=NOW)
        assert reread(made) == made
        return
    with pytest.raises(BadInputError) as caught:
        parse_outcome(changed, trust="local", now=NOW)
    assert (caught.value.key or "").startswith(path)


def test_the_keys_are_read_and_written_in_the_format_s_order() -> None:
    made = outcome(raw(decision__id="d-1", decision__confidence=0.5, result__summary="s", **FULL))
    assert (made.decision.task, made.decision.reasoning_at) == ("fix the flaky test", "after")
    assert (made.decision.report, made.result.answer) == ("The pool was empty.", "24")
    assert made.lesson == Lesson(**LESSON, extra={"own": [1]})
    assert (made.source.batch, made.session) == ("b-3", made.id)
    written = codec.outcome_values(made)
    assert list(written) == [
        "domain", "occurred_at", "decision", "result", "lesson", "source", "received",
    ]  # fmt: skip
    assert list(written["decision"]) == [
        "id", "task", "action", "target", "reasoning", "confidence", "made_at", "reasoning_at",
        "report",
    ]  # fmt: skip
    assert list(written["result"]) == ["status", "summary", "answer", "evidence"]
    assert list(written["lesson"]) == ["when", "do", "because", "evidence", "observed", "own"]
    assert list(written["source"]) == ["agent", "batch", "trust"]
    assert reread(made) == made


def test_a_recommendation_keeps_the_task_and_the_facts_that_were_shown() -> None:
    made = recommendation(task="open a position", facts=[{"fact": "f-1", "blob": "0" * 40}])
    assert (made.task, made.facts) == ("open a position", (ShownFact(fact="f-1", blob="0" * 40),))
    assert reread(made) == made
    text = codec.encode(made).decode()
    keys = ["decision", "domain", "at", "task", "context", "facts", "shown"]
    assert [line.partition(":")[0] for line in text.splitlines() if line[:1].isalpha()][:7] == keys


def test_a_recommendation_without_them_has_no_such_keys() -> None:
    made = recommendation()
    assert (made.task, made.facts) == ("", ())
    assert not {"task", "facts"} & set(codec.recommendation_values(made))


@pytest.mark.parametrize(
    ("changes", "key", "says"),
    [
        ({"decision__task": 5}, "decision.task", "expected text, found 5; write what was asked"),
        ({"decision__reasoning_at": "noon"}, "decision.reasoning_at", "write before, or after"),
        ({"decision__report": ["x"]}, "decision.report", "found a list; write what was said"),
        ({"result__answer": 24}, "result.answer", "found 24; put the answer between quotes"),
        ({"source__batch": 7}, "source.batch", "found 7; name the backtest"),
        ({"lesson": "halve"}, "lesson", "a mapping of keys to values, found text"),
        ({"lesson": {"because": "of it"}}, "lesson.do", "missing; write what to do"),
        ({"lesson": {}}, "lesson.do", "missing; write what to do"),
        ({"lesson": {"do": ["x"]}}, "lesson.do", "found a list; write it as text"),
        ({"lesson": {"do": "x", "observed": "yes"}}, "lesson.observed", "write true if"),
        ({"decision__task": "é" * 33_000}, "decision.task", "longer than 64 KiB; keep"),
        ({"decision__report": "é" * 33_000}, "decision.report", "longer than 64 KiB; keep"),
        ({"result__answer": "é" * 33_000}, "result.answer", "longer than 64 KiB; keep"),
        ({"lesson": {"do": "é" * 33_000}}, "lesson.do", "longer than 64 KiB; say it"),
    ],
)
def test_a_refusal_names_the_key_and_what_to_write(
    changes: dict[str, Any], key: str, says: str
) -> None:
    with pytest.raises(BadInputError) as caught:
        parse_outcome(raw(**changes), trust="local", now=NOW)
    assert caught.value.key == key
    assert caught.value.message.startswith(f"{key}: ")
    assert says in caught.value.message


@pytest.mark.parametrize(
    ("changes", "key", "says"),
    [
        ({"task": ["x"]}, "task", "expected text, found a list; write what was asked"),
        ({"task": "é" * 33_000}, "task", "longer than 64 KiB"),
        ({"facts": "f-1"}, "facts", 'found text "f-1"; write a list of'),
        ({"facts": [{"blob": "0"}]}, "facts[0].fact", "missing"),
        ({"facts": [{"fact": "f"}] * (MAX_SHOWN + 1)}, "facts", "more than 1000 facts"),
    ],
)
def test_a_refused_recommendation_names_the_key_too(
    changes: dict[str, Any], key: str, says: str
) -> None:
    with pytest.raises(BadInputError) as caught:
        parse_recommendation(shown(**changes), trust="local", now=NOW)
    assert caught.value.key == key
    assert says in caught.value.message


@pytest.mark.parametrize(
    "changes",
    [
        {"decision__task": SECRET},
        {"decision__report": SECRET},
        {"result__answer": SECRET},
        {"source__batch": SECRET},
        *({"lesson": {"do": "x", key: SECRET}} for key in ("when", "do", "because", "evidence")),
        {"lesson": {"do": "x", "own": [SECRET]}},
    ],
)
def test_a_secret_in_any_of_them_goes(changes: dict[str, Any]) -> None:
    assert SECRET not in str(redacted(raw(**changes)))


def test_a_secret_in_the_task_of_a_recommendation_goes() -> None:
    assert SECRET not in str(redacted(shown(task=f"use {SECRET}")))


@pytest.mark.parametrize(
    ("lesson", "supposed"),
    [
        (LESSON, False),
        ({"do": "x", "evidence": "assert 504 == 200"}, False),
        ({"do": "x", "evidence": " assert\n504 == 200 "}, False),
        ({"do": "x", "evidence": "assert 504 == 200", "observed": False}, True),
        ({"do": "x", "evidence": "because the CI machine is slow"}, False),
        ({"do": "x", "evidence": "The pool was empty."}, False),
        ({"do": "x", "evidence": "in the nightly run"}, False),
        ({"do": "x", "evidence": "0.08"}, False),
        ({"do": "x", "evidence": "the pool was empty."}, True),
        ({"do": "x", "evidence": "fix-flaky-test"}, True),
        ({"do": "x", "observed": True}, True),
    ],
)
def test_a_lesson_is_supposed_unless_the_outcome_says_its_evidence(
    lesson: dict[str, Any], supposed: bool
) -> None:
    said: dict[str, Any] = {
        "decision__report": "The pool was empty.",
        "result__summary": "failed in the nightly\nrun",
        "context": {"funding": 0.08, "none": None},
    }
    assert outcome(raw(lesson=lesson, **said)).is_lesson_supposed is supposed
    assert outcome().is_lesson_supposed is False
