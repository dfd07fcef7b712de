"""codec: records become text and come back; a person's bytes stay."""

import contextlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skills_ref import validate  # type: ignore[import-untyped]

from skillvault.model.codec import decode, encode, outcome_values, parse_incoming
from skillvault.model.errors import BadInputError
from skillvault.model.intake import parse_outcome
from skillvault.model.records import (
    Evaluation,
    ExternalUse,
    Fact,
    JudgeInfo,
    Outcome,
    Ref,
    Skill,
)
from skillvault.model.text.front_matter import read_document as front_matter
from skillvault.model.text.front_matter import (
    split,
    text_of,
    with_body,
    with_key,
    with_mapping,
    without_key,
)
from skillvault.vault.files import layout
from tests.given import NOW, as_file, outcome, raw
from tests.thorough import examples
from tests.vault.given import DATA, HAND_MADE, TEXTS, front_matters, nested, spliced

STATUS = ("metadata", "status")
SKILL = Ref("skill", "a-skill")


def refused(call: Any, *args: Any) -> BadInputError:
    with pytest.raises(BadInputError) as caught:
        call(*args)
    return caught.value


# ── front matter ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("front", "left"),
    [
        ("a: 1\nb: 2\n", "b: 2\n"),
        ("b: 2\na: |\n  x\n\n  y\n", "b: 2\n"),
        ("# of a\na: {x: 1}\n# of b\nb: 2\n", "# of a\n# of b\nb: 2\n"),
        ("b: 2\na:\n- 1\n- 2\n\nc: 3", "b: 2\n\nc: 3"),
        ("b: 2\n", "b: 2\n"),
    ],
)
def test_a_key_goes_and_every_other_byte_stays(front: str, left: str) -> None:
    for eol in ("\n", "\r\n"):
        before = f"\ufeff---\n{front}\n---\n\n# Body\n".replace("\n", eol)
        after = f"\ufeff---\n{left}\n---\n\n# Body\n".replace("\n", eol)
        assert without_key(before.encode(), ("a",)) == after.encode()


def test_a_key_of_a_mapping_on_one_line_goes_with_its_comma() -> None:
    assert without_key(b"---\n{a: 1, b: 2}\n---\n", ("a",)) == b"---\n{b: 2}\n---\n"


@pytest.mark.parametrize(
    ("text", "meta", "body"),
    [
        ("---\na: 1\n---\nbody\n", {"a": 1}, "body"),
        ("---\r\na: 1\r\n---\r\nbody\r\n", {"a": 1}, "body"),
        ("---\na: 1\n---\n\none\n\n---\n\ntwo\n", {"a": 1}, "one\n\n---\n\ntwo"),
        ("---\na: 1\n---", {"a": 1}, ""),
        ("---\n\n# c\na: 1\n---\nb", {"a": 1}, "b"),
        ("---\na: '--- b'\n---\nb", {"a": "--- b"}, "b"),
        ("---\na: |\n  ---\n  x\n---\nb", {"a": "---\nx\n"}, "b"),
        ("---\ncontent: 1\non: 2\n---\nb", {"content": 1, "on": 2}, "b"),
    ],
)
def test_front_matter_ends_at_its_own_line_and_the_body_may_hold_rules(
    text: str, meta: dict[str, Any], body: str
) -> None:
    assert front_matter(text) == (meta, body)


def test_a_byte_order_mark_hides_nothing() -> None:
    assert front_matter(text_of(b"\xef\xbb\xbf---\na: 1\n---\nb")) == ({"a": 1}, "b")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("no front matter\n", "no-front-matter"),
        ("", "no-front-matter"),
        ("\n---\na: 1\n---\n", "no-front-matter"),
        ("---\na: 1\nbody\n", "truncated"),
        ("---\na: " + "x" * 70_000 + "\n---\n", "too-large"),
    ],
)
def test_a_text_without_whole_front_matter_is_refused(text: str, code: str) -> None:
    assert refused(split, text).code == code


def test_front_matter_that_is_a_list_is_refused() -> None:
    assert refused(front_matter, "---\n- a\n---\n").code == "wrong-type"


@given(
    front_matters(),
    st.lists(st.sampled_from(["", "---", "a: 1", "```", "Do it — ü 🎉", " x ", "\t"]), max_size=6),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=examples(150))
def test_one_key_of_a_skill_is_set_and_every_other_byte_stays(
    front: str, body: list[str], crlf: bool, bom: bool
) -> None:
    text = "\n".join(["---", front + "---", *body])
    before = (b"\xef\xbb\xbf" if bom else b"") + (
        text.replace("\n", "\r\n") if crlf else text
    ).encode()
    after = with_key(before, STATUS, "pinned")
    assert b"\n" not in spliced(before, after)
    assert front_matter(text_of(after))[1] == front_matter(text_of(before))[1]
    found = decode(SKILL, after)
    assert isinstance(found, Skill)
    assert found.status == "pinned"


def test_a_key_is_set_in_front_matter_that_is_empty() -> None:
    assert with_key(b"---\n---\nb\n", ("a",), "x") == b"---\na: x\n---\nb\n"


# ── what agents drop ─────────────────────────────────────────────────────────────────


def test_the_same_record_is_read_from_yaml_json_and_markdown() -> None:
    yaml = b"domain: coding\ndecision:\n  action: x\n  reasoning: Because.\n"
    as_json = b'{"decision": {"reasoning": "Because.", "action": "x"}, "domain": "coding"}'
    markdown = b"---\ndomain: coding\ndecision:\n  action: x\n---\n\nBecause.\n"
    names = ("o.yaml", "o.yml", "o.json", "o.md")
    found = [
        parse_incoming(n, d) for n, d in zip(names, (yaml, yaml, as_json, markdown), strict=True)
    ]
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize("name", ["o.yaml", "o.json", "o.md"])
def test_a_byte_order_mark_and_crlf_are_taken(name: str) -> None:
    text = {"o.yaml": "a: 1\r\n", "o.json": '{"a":\r\n 1}', "o.md": "---\r\na: 1\r\n---\r\n"}[name]
    assert parse_incoming(name, b"\xef\xbb\xbf" + text.encode()) == {"a": 1}


DEEP = nested(20)


@pytest.mark.parametrize(
    ("name", "data", "code", "line"),
    [
        ("o.yaml", b"", "truncated", None),
        ("o.md", b" \n\n", "truncated", None),
        ("o.json", b"", "truncated", None),
        ("o.json", b'{"a": 1, "b"', "truncated", 1),
        ("o.json", b'{"a": [1,\n', "truncated", 2),
        ("o.json", b'{"a": 1\n "b": 2}', "json", 2),
        ("o.json", b'{"a": 1} x', "json", 1),
        ("o.md", b"---\na: 1\nHalf", "truncated", 1),
        ("o.yaml", b"a: 1\nb: [1, ", "yaml", 3),
        ("o.yaml", "a: 1\nb: \xe9t\xe9".encode("latin-1"), "not-utf8", 2),
        ("o.json", '{"a": "\xe9"}'.encode("latin-1"), "not-utf8", 1),
        ("o.md", b"---\na: 1\n---\n\xff", "not-utf8", 4),
        ("o.yaml", b"a: 1\nb: x\0y", "nul", 2),
        ("o.json", b'{"a": "\0"}', "nul", 1),
        ("o.json", b'{"a": "x\\u0000y"}', "nul", None),
        ("o.json", b'{"a": {"b": [{"c\\u0000": 1}]}}', "nul", None),
        ("o.yaml", b'a: "x\\0y"', "nul", None),
        ("o.md", b'---\na: "x\\0y"\n---\n', "nul", None),
        ("o.json", b'{"a": 1, "a": 1}', "duplicate-key", None),
        ("o.json", b'{"a": {"b": 1, "c": 2, "b": 3}}', "duplicate-key", None),
        ("o.yaml", b"a: 1\na: 1", "duplicate-key", 2),
        ("o.json", b'{"a": NaN}', "bad-value", None),
        ("o.json", b'{"a": -Infinity}', "bad-value", None),
        ("o.json", b'{"a": ' + b"9" * 5000 + b"}", "bad-value", None),
        ("o.json", b'{"a": ' + b"9" * 301 + b"}", "bad-value", None),
        ("o.json", b'{"a": 1e999}', "bad-value", None),
        ("o.json", b'{"a": "\\ud800"}', "json", None),
        ("o.json", as_file(DEEP), "too-deep", None),
        ("o.json", b'{"a": ' * 100_000, "too-deep", None),
        ("o.yaml", as_file(DEEP), "too-deep", 1),
        ("o.json", b"[1]", "wrong-type", None),
        ("o.json", b'"text"', "wrong-type", None),
        ("o.yaml", b"- a", "wrong-type", None),
        ("o.yaml", b"just text", "wrong-type", None),
        ("o.yaml", b"# a comment", "wrong-type", None),
        ("o.md", b"---\n---\nbody", "wrong-type", None),
        ("o.md", b"# A heading", "no-front-matter", 1),
    ],
)
def test_what_cannot_be_taken_is_refused_with_its_code(
    name: str, data: bytes, code: str, line: int | None
) -> None:
    error = refused(parse_incoming, name, data)
    assert (error.code, error.line) == (code, line)
    assert len(error.message) < 250
    assert "\n" not in error.message


@pytest.mark.parametrize("number", ["9" * 300, "-0", "1E5", "-0.0", "1.0", "12"])
def test_a_number_is_the_same_in_json_and_yaml(number: str) -> None:
    text = f'{{"a": {number}}}'.encode()
    assert repr(parse_incoming("o.json", text)) == repr(parse_incoming("o.yaml", text))


def test_nineteen_levels_are_taken_in_every_form() -> None:
    deep = nested(19)
    assert (
        parse_incoming("o.json", as_file(deep)) == parse_incoming("o.yaml", as_file(deep)) == deep
    )


def test_reasoning_in_the_front_matter_and_in_the_body_is_one_too_many() -> None:
    error = refused(parse_incoming, "o.md", b"---\ndecision: {reasoning: a}\n---\nb\n")
    assert (error.code, error.key) == ("duplicate-key", "decision.reasoning")


def test_a_decision_that_is_no_mapping_is_left_to_the_intake_to_refuse() -> None:
    assert parse_incoming("o.md", b"---\ndecision: sell\n---\nb\n") == {"decision": "sell"}


@given(st.binary(max_size=200), st.sampled_from(["o.yaml", "o.json", "o.md"]))
@settings(max_examples=examples(200))
def test_no_bytes_at_all_raise_anything_but_a_refusal(data: bytes, name: str) -> None:
    with contextlib.suppress(BadInputError):
        assert isinstance(parse_incoming(name, data), dict)


@given(st.data())
@settings(max_examples=examples(150))
def test_a_mutilated_outcome_is_taken_or_refused_and_never_a_crash(data: st.DataObject) -> None:
    whole = encode(outcome(raw(context={"a": 1, "b": "x"})))
    cut = data.draw(st.integers(0, len(whole)))
    junk = data.draw(st.binary(max_size=3))
    until = data.draw(st.integers(cut, len(whole)))
    with contextlib.suppress(BadInputError):
        found = parse_incoming("o.yaml", whole[:cut] + junk + whole[until:])
        parse_outcome(found, trust="local", now=NOW)


# ── records ──────────────────────────────────────────────────────────────────────────

# Foreign text without NUL, which the intake refuses.
WORDS = TEXTS.map(lambda text: text.replace("\0", ""))
SCALAR = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9) | WORDS


@given(
    st.fixed_dictionaries(
        {
            "domain": st.just("coding"),
            "occurred_at": st.datetimes(
                datetime(1990, 1, 1),  # noqa: DTZ001
                datetime(2026, 1, 1),  # noqa: DTZ001
                timezones=st.just(UTC),
            ).map(datetime.isoformat),
            "decision": st.fixed_dictionaries(
                {"action": WORDS.filter(bool), "reasoning": WORDS, "unknown": DATA}
            ),
            "result": st.fixed_dictionaries(
                {"status": st.sampled_from(["success", "failure"]), "evidence": WORDS, "more": DATA}
            ),
            "context": st.dictionaries(WORDS, SCALAR, max_size=4),
            "source": st.fixed_dictionaries({"agent": WORDS.filter(bool)}, optional={"x": DATA}),
            "own": DATA,
        },
        optional={
            "event_id": WORDS.filter(bool),
            "applied": st.lists(WORDS, max_size=3),
        },
    )
)
@settings(max_examples=examples(100))
def test_an_outcome_reads_back_as_it_was_recorded(given: dict[str, Any]) -> None:
    made = parse_outcome(given, trust="local", now=NOW)
    data = encode(made)
    found = decode(Ref("outcome", made.id), data)
    assert isinstance(found, Outcome)
    assert outcome_values(found) == outcome_values(made)
    assert encode(found) == data


def an_evaluation(**given: Any) -> Evaluation:
    fields: dict[str, Any] = {
        "outcome": outcome().id,
        "domain": "coding",
        "judge": JudgeInfo(name="offline", version="1"),
        "was_good_decision": False,
        "quality_score": 0.2,
        "key_insight": "12:30 is no time: wait",
        "insight_type": "timing",
        "applicability": "domain",
        "strengths": ("on", "a: b"),
        "judge_was_right": None,
    }
    return Evaluation(**{**fields, **given})


@pytest.mark.parametrize("right", [True, False, None])
def test_an_evaluation_reads_back_and_says_when_its_judge_cannot_be_right(
    right: bool | None,
) -> None:
    made = an_evaluation(judge_was_right=right)
    text = encode(made).decode()
    assert decode(Ref("evaluation", made.id), text.encode()) == made
    assert text.endswith(f"judge_was_right: {json.dumps(right)}\n")


SKILLS = (
    Skill("a-skill", "Does it: when asked.", "# Title\n\n---\n\nText.", kind="warning"),
    Skill("on", 'Says "no"\nto # all', "x", domain="perps", expires="2026-11-20T10:15:00Z"),
    Skill("a-1", "é" * 1024, "b", tags=("no", "1"), roles=("r",), stages=("s", "t")),
    Skill("12", "1.0", "b", version="1.10", created="2026-11-20", trust="untrusted"),
    Skill("renamed", "d", "b", subject="perps open_long SOL-PERP", origin="generated"),
    Skill("x" * 64, "a --- b", "b", origin="generated", status="proven"),
    Skill("waiting", "d", "b", status="proposed", internal=True),
)


@pytest.mark.parametrize("made", SKILLS, ids=lambda skill: skill.name[:8])
def test_a_skill_we_write_reads_back_and_the_reference_validator_takes_it(
    made: Skill, tmp_path: Path
) -> None:
    data = encode(made)
    assert decode(Ref("skill", made.name), data) == made
    folder = tmp_path / made.name
    folder.mkdir()
    (folder / "SKILL.md").write_bytes(data)
    assert validate(folder) == []


def test_a_hand_made_skill_needs_only_name_and_description() -> None:
    found = decode(SKILL, HAND_MADE.format(name="a-skill").encode())
    assert found == Skill("a-skill", "What it does, and when.", "Do it.")


@pytest.mark.parametrize(
    ("change", "key", "code"),
    [
        (("name: a-skill\n", ""), "name", "missing-key"),
        (("name: a-skill\n", "name:\n"), "name", "missing-key"),
        (("name: a-skill\n", "name: [a]\n"), "name", "wrong-type"),
        (("description: What it does, and when.\n", ""), "description", "missing-key"),
        (("Do it", "<<<<<<< HEAD\nDo it"), None, "conflict"),
        (("Do it.\n", "Do it.\n>>>>>>> theirs\n"), None, "conflict"),
        (("name: a-skill\n", "name: a-skill\nmetadata: x\n"), "metadata", "wrong-type"),
        (
            ("name: a-skill\n", "name: a-skill\nmetadata: {tags: [a]}\n"),
            "metadata.tags",
            "wrong-type",
        ),
        (
            ("name: a-skill\n", "name: a-skill\nmetadata: {kind: hint}\n"),
            "metadata.kind",
            "bad-value",
        ),
        (
            ("name: a-skill\n", "name: a-skill\nmetadata: {status: done}\n"),
            "metadata.status",
            "bad-value",
        ),
    ],
)
def test_a_mistake_in_a_skill_is_named_by_its_key(
    change: tuple[str, str], key: str | None, code: str
) -> None:
    error = refused(decode, SKILL, HAND_MADE.format(name="a-skill").replace(*change).encode())
    assert (error.key, error.code) == (key, code)


def test_a_conflict_marker_within_evidence_is_only_text() -> None:
    made = outcome(raw(result__evidence="<<<<<<< HEAD\na\n=======\nb\n>>>>>>> theirs\n"))
    assert outcome_values(decode(Ref("outcome", made.id), encode(made))) == outcome_values(made)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["outcome", "evaluation"])
def test_a_conflict_left_in_a_record_is_found_with_its_line(kind: Any) -> None:
    error = refused(decode, Ref(kind, "x"), b"a: 1\n<<<<<<< HEAD\nb: 1\n")
    assert (error.code, error.line) == ("conflict", 2)


def test_the_keys_of_eurekaclaw_are_read_as_aliases() -> None:
    text = (
        "---\nname: a-skill\ndescription: d\ntags: [proof, lemma]\nagent_roles: [theory]\n"
        "pipeline_stages: [theory, writing]\nsource: distilled\nversion: '1.2'\n"
        "created_at: 2026-01-02T00:00:00Z\nusage_count: 7\nsuccess_rate: 0.5\n---\nBody\n"
    )
    found = decode(SKILL, text.encode())
    assert found == Skill(
        "a-skill", "d", "Body", ("proof", "lemma"), ("theory",), ("theory", "writing"),
        origin="distilled", version="1.2", created="2026-01-02T00:00:00Z",
        elsewhere=ExternalUse(7, 0.5),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("metadata: {usage_count: '40', success_rate: '0.9'}", ExternalUse(40, 0.9)),
        ("usage_count: 3\nsuccess_rate: null", ExternalUse(3)),
        ("usage_count: 3\nsuccess_rate: 90", ExternalUse(3)),
        ("usage_count: 0\nsuccess_rate: 0.5", None),
        ("usage_count: many", None),
        ("usage_count: [1]", None),
        ("success_rate: 0.5", None),
    ],
)
def test_the_counters_of_other_tools_are_read_where_they_tell_something(
    lines: str, told: ExternalUse | None
) -> None:
    found = decode(SKILL, f"---\nname: a\ndescription: d\n{lines}\n---\nBody\n".encode())
    assert isinstance(found, Skill)
    assert found.elsewhere == told


def test_our_own_metadata_wins_over_an_alias() -> None:
    text = "---\nname: a\ndescription: d\ntags: [x]\nmetadata: {tags: y z}\n---\n"
    found = decode(Ref("skill", "a"), text.encode())
    assert isinstance(found, Skill)
    assert found.tags == ("y", "z")


@pytest.mark.parametrize(
    "made", [*SKILLS, outcome(), an_evaluation()], ids=lambda made: made.__class__.__name__
)
def test_every_text_we_write_is_utf8_with_lf_and_a_final_newline(made: Any) -> None:
    text = encode(made).decode("utf-8")
    assert layout.path_of(made)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert "\r" not in text


FACT = Fact(
    id="retry-the-upload-0a1b2c",
    domain="coding",
    text="Retry the upload.\n\nAt most twice: the server counts.",
    importance="high",
    kind="judge",
    created_at=NOW,
    insight_type="method",
    supersedes="never-retry-0a1b2c",
    review_by="2027-01-31",
)


def test_a_fact_reads_back_as_it_was_written() -> None:
    assert decode(Ref("fact", FACT.id), encode(FACT), "coding") == FACT


def test_a_fact_by_hand_needs_only_a_text() -> None:
    found = decode(Ref("fact", "by-hand"), b"Reproduce before you retry.\n", "coding")
    assert found == Fact(id="by-hand", domain="coding", text="Reproduce before you retry.")


def test_a_fact_without_text_is_refused() -> None:
    with pytest.raises(BadInputError, match="no text"):
        decode(Ref("fact", "by-hand"), b"---\nimportance: high\n---\n\n", "coding")


def test_a_bad_value_of_a_fact_is_named() -> None:
    text = b"---\nimportance: urgent\n---\nReproduce first.\n"
    with pytest.raises(BadInputError, match="importance") as caught:
        decode(Ref("fact", "by-hand"), text, "coding")
    assert caught.value.key == "importance"


@given(front=front_matters(), body=TEXTS)
@settings(max_examples=examples(300))
def test_another_body_leaves_every_other_byte(front: str, body: str) -> None:
    data = f"---\n{front}---\n\n{body}\n".encode(errors="surrogatepass")
    _, old = front_matter(data.decode())
    after = with_body(data, "# New\n\nbody")
    assert after.startswith(f"---\n{front}---\n".encode())
    assert front_matter(after.decode())[1] == "# New\n\nbody"
    assert with_body(after, old) == data or not old


def test_a_list_in_a_mapping_that_becomes_a_text_keeps_its_place() -> None:
    content = b"---\nm:\n  a: 1\n  b:\n  - x\n  c: 2\n---\n\nText.\n"
    edited = with_mapping(content, {"m": {"a": 1, "b": "x", "c": 2}})
    assert edited == b"---\nm:\n  a: 1\n  b: x\n  c: 2\n---\n\nText.\n"
