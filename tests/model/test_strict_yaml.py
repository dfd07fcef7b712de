"""strict_yaml: data only, strings stay what they look like, edits touch one value."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skillvault.model.errors import BadInputError
from skillvault.model.text.strict_yaml import dump, load, resolve, scalar, with_value, without_key
from tests.thorough import examples
from tests.vault.given import DATA, ODD_TEXTS, TEXTS, front_matters, spliced

STATUS = ("metadata", "status")


@pytest.mark.parametrize(
    "text",
    "on off yes no y n 017 0o17 12:30 12:30:45 2026-11-20 2026-11-20T10:15:00Z 0x1f 0b11 1_000 "
    ".inf -.inf .nan .NaN Infinity NaN + . 1.2.3 1e 0.1.0 = 1,000 ١٢".split(),
)
def test_what_looks_like_text_stays_text(text: str) -> None:
    assert load(f"a: {text}") == {"a": text}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12), ("-3", -3), ("+3", 3), ("0", 0), ("1.5", 1.5), ("-.5", -0.5), ("1e5", 1e5),
        ("1.", 1.0), ("true", True), ("FALSE", False), ("~", None), ("null", None), ("", None),
        ("'12'", "12"), ('"true"', "true"), ("'~'", "~"),
    ],
)  # fmt: skip
def test_numbers_booleans_and_nothing_are_the_only_other_scalars(text: str, value: object) -> None:
    found = load(f"a: {text}")["a"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("a: 1\nb: !!python/object/apply:os.system [id]", "tag", 2),
        ("a: !!str 1", "tag", 1),
        ("a: !mine 1", "tag", 1),
        ("!!map {a: 1}", "tag", 1),
        ("a: &x 1\nb: 2", "anchor", 1),
        ("&x a: 1", "anchor", 1),
        ("a: 1\nb: *x", "anchor", 2),
        ("a: 1\n<<: {b: 2}", "anchor", 2),
        ("a: 1\nb:\n  c: 1\n  c: 2", "duplicate-key", 4),
        ("a: 1\n'a': 2", "duplicate-key", 2),
        ("? [a, b]\n: 1", "bad-key", 1),
        ("a: 1\n? {b: 1}\n: 1", "bad-key", 2),
        ("x: 1\na: " + "[" * 20 + "1" + "]" * 20, "too-deep", 2),
        ("a: 1\n---\nb: 2", "yaml", 2),
        ("a: 1\nb: " + "9" * 301, "yaml", 2),
        ("a: 1\n\nb: 1e999", "yaml", 3),
        ("a: 1\nb: -1e999", "yaml", 2),
        ("a: 1\nb: x\0y", "yaml", 2),
        ("é: 1\nb: \x07", "yaml", 2),
        ("a: [1, 2", "yaml", 2),
        ("a: 1\n\tb: 2", "yaml", 2),
        ("a: 'x", "yaml", 1),
        ("a: b: c", "yaml", 1),
        ('a: "\\ud800"', "yaml", 1),
        ("@a: 1", "yaml", 1),
    ],
)
def test_what_is_refused_is_refused_with_its_code_and_line(text: str, code: str, line: int) -> None:
    with pytest.raises(BadInputError) as caught:
        load(text)
    assert (caught.value.code, caught.value.line) == (code, line)
    assert caught.value.message.startswith(f"line {line}: ")


def test_a_bomb_of_aliases_is_refused_before_it_grows() -> None:
    rows = ["a0: &a0 [x, x]", *(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 60))]
    with pytest.raises(BadInputError, match="anchors"):
        load("\n".join(rows))


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_ten_thousand_levels_are_refused_and_not_a_crash(opening: str) -> None:
    with pytest.raises(BadInputError) as caught:
        load(opening * 10_000)
    assert caught.value.code in ("too-deep", "yaml")


def test_twenty_levels_are_taken() -> None:
    assert load("[" * 19 + "1" + "]" * 19) is not None


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n", "~"])
def test_an_empty_document_is_nothing(text: str) -> None:
    assert load(text) is None


def test_a_quoted_merge_sign_is_a_key_like_any_other() -> None:
    assert load('"<<": 1') == {"<<": 1}


@given(DATA)
@settings(max_examples=examples(300))
def test_what_is_written_reads_back_the_same(data: Any) -> None:
    assert repr(load(dump(data))) == repr(data)


@pytest.mark.parametrize("text", ODD_TEXTS)
@pytest.mark.parametrize("shape", ["value", "key", "item", "deep"])
def test_every_odd_text_reads_back_the_same_wherever_it_stands(text: str, shape: str) -> None:
    shapes: dict[str, Any] = {
        "value": {"a": text, "b": 1}, "key": {text: 1, "b ": 2}, "item": [text, text],
        "deep": {"a": {"b": [{"c": text}, {"d": text}]}, "z": text},
    }  # fmt: skip
    assert load(dump(shapes[shape])) == shapes[shape]


@given(st.text(alphabet="0123456789+-._eExXoOinfaNuly~:", max_size=8))
@settings(max_examples=examples(250))
def test_a_text_that_could_be_a_number_is_quoted(text: str) -> None:
    assert load(dump({"a": text})) == {"a": text}


def test_long_text_is_a_literal_block_and_other_scripts_stay_readable() -> None:
    assert dump({"a": "one\ntwo\n", "b": "日本 ü"}) == "a: |\n  one\n  two\nb: 日本 ü\n"


def test_the_keys_stand_in_the_order_given_and_nothing_is_folded() -> None:
    assert dump({"b": "x " * 200 + "x", "a": 1}) == "b: " + "x " * 200 + "x\na: 1\n"


def test_the_same_list_twice_is_written_out_twice() -> None:
    twice = ["x"]
    assert load(dump({"a": twice, "b": twice})) == {"a": ["x"], "b": ["x"]}


@pytest.mark.parametrize("text", ["9" * 400, "1e400"])
def test_a_number_too_large_to_keep_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"digits|finite"):
        resolve(text)


# ── edits ────────────────────────────────────────────────────────────────────────────


@given(front_matters(), st.booleans(), st.sampled_from(["testing", "on", "1.0", "a: b", "ü 🎉"]))
@example('metadata:\n  status: "x"\n', False, "proven")
@settings(max_examples=examples(250))
def test_an_edit_changes_one_value_and_every_other_byte_stays(
    text: str, crlf: bool, value: str
) -> None:
    before = text.replace("\n", "\r\n") if crlf else text
    after = with_value(before, STATUS, value)
    data = load(before)
    data["metadata"] = {**(data.get("metadata") or {}), "status": value}
    assert load(after) == data
    assert b"\n" not in spliced(before.encode(), after.encode())
    assert ("\r\n" in after, after.count("\n") - after.count("\r\n")) == (
        (True, 0) if crlf else (False, after.count("\n"))
    )
    assert after.count("\n") - before.count("\n") <= 2


@given(TEXTS)
@settings(max_examples=examples(150))
def test_an_edit_sets_any_text_or_leaves_the_file_to_the_person(value: str) -> None:
    before = "a: 1\nm: {status: x, k: v}\nz: 2\n"
    refusals: list[str] = []
    for key in (("a",), ("new",), ("m", "status"), ("m", "new")):
        try:
            after = with_value(before, key, value)
        except BadInputError as error:
            refusals.append(error.code)
            continue
        found = load(after)
        for name in key[:-1]:
            found = found[name]
        assert found[key[-1]] == value
    assert set(refusals) <= {"edit"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "metadata:\n  status: x\n"),
        ("name: a", "name: a\nmetadata:\n  status: x\n"),
        ("name: a\n# end\n", "name: a\n# end\nmetadata:\n  status: x\n"),
        ("metadata:\n  kind: a\nz: 1\n", "metadata:\n  status: x\n  kind: a\nz: 1\n"),
        ("metadata: {a: b}\n", "metadata: {status: x, a: b}\n"),
        ("metadata:\nz: 1\n", "metadata:\n  status: x\nz: 1\n"),
        ("{name: a}\n", "{metadata: {status: x}, name: a}\n"),
        ("metadata:\n  status: |\n    old\n  k: v\n", "metadata:\n  status: x\n  k: v\n"),
        ("metadata:\n  status: >-\n    a\n    b\n", "metadata:\n  status: x\n"),
        ("metadata:\n  status: 'a\n    b'  # c\n", "metadata:\n  status: x  # c\n"),
    ],
)
def test_an_edit_reads_like_the_text_around_it(before: str, after: str) -> None:
    assert with_value(before, STATUS, "x") == after


ORDER = ("kind", "status", "trust")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("m:\n  kind: a\n  trust: b\nz: 1\n", "m:\n  kind: a\n  status: x\n  trust: b\nz: 1\n"),
        ("m:\n  kind: a  # c\nz: 1\n", "m:\n  kind: a  # c\n  status: x\nz: 1\n"),
        ("m:\r\n  kind: a", "m:\r\n  kind: a\r\n  status: x\r\n"),
        ("m:\n  mine: c\n  trust: b\n", "m:\n  mine: c\n  status: x\n  trust: b\n"),
        ("m:\n  kind: |\n    a\n", "m:\n  status: x\n  kind: |\n    a\n"),
        ("m: {trust: b}\n", "m: {status: x, trust: b}\n"),
    ],
)
def test_a_new_key_stands_where_the_order_of_its_siblings_has_it(before: str, after: str) -> None:
    assert with_value(before, ("m", "status"), "x", order=ORDER) == after


@pytest.mark.parametrize(
    "before",
    [
        "metadata: text\n",
        "metadata: ''\n",
        "metadata: [a]\n",
        "metadata: {status: [a]}\n",
        "metadata:\n  status:\n    a: b\n",
        "just text\n",
        "- a\n",
        "name: a\n...\n",
    ],
)
def test_where_the_place_is_no_scalar_of_a_mapping_the_edit_is_left_to_the_person(
    before: str,
) -> None:
    with pytest.raises(BadInputError) as caught:
        with_value(before, STATUS, "x")
    assert (caught.value.code, caught.value.key) == ("edit", "metadata.status")


@pytest.mark.parametrize("before", ["a: [1\n", "a: &x 1\n", "a: 1\na: 2\n"])
def test_a_text_that_cannot_be_read_is_not_edited(before: str) -> None:
    with pytest.raises(BadInputError):
        with_value(before, STATUS, "x")


@pytest.mark.parametrize(("text", "shown"), [("perps", "perps"), ("on", "'on'"), ("12", "'12'")])
def test_a_scalar_is_quoted_where_it_must_be(text: str, shown: str) -> None:
    assert scalar(text) == shown


HIDDEN = ("shelf", "hidden")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("format: 1\n", "format: 1\nshelf:\n  hidden: [a, b]\n"),
        ("shelf: {dirs: [x]}\n", "shelf: {hidden: [a, b], dirs: [x]}\n"),
        ("shelf:\n  hidden: [a]  # mine\n", "shelf:\n  hidden: [a, b]  # mine\n"),
        ("shelf:\n  hidden:\n  - a\n  dirs: [x]\n", "shelf:\n  hidden: [a, b]\n  dirs: [x]\n"),
        ("shelf:\n  hidden:\n    - a\n# end\n", "shelf:\n  hidden: [a, b]\n# end\n"),
        ("shelf:\r\n  hidden: []\r\n", "shelf:\r\n  hidden: [a, b]\r\n"),
    ],
)
def test_a_list_is_set_where_it_stands(before: str, after: str) -> None:
    assert with_value(before, HIDDEN, ("a", "b")) == after


@pytest.mark.parametrize("name", ["null", "1", "true", "on", "1e5", "a-b"])
def test_a_name_in_a_list_stays_a_text(name: str) -> None:
    assert load(with_value("format: 1\n", HIDDEN, (name,)))["shelf"]["hidden"] == [name]


@pytest.mark.parametrize(
    "before",
    ["shelf: x\n", "shelf:\n  hidden: {a: 1}\n", "shelf:\n  hidden:\n  - a # why\n  - b\n"],
)
def test_a_list_that_would_cost_other_text_is_left_to_the_person(before: str) -> None:
    with pytest.raises(BadInputError, match="edit it by hand"):
        with_value(before, HIDDEN, ("a",))


def test_an_emoji_is_written_as_it_is_if_something_joins_it_to_another() -> None:
    joined = {"text": "👩\u200d💻: x", "lines": "one\n👩\u200d💻\n"}
    text = dump(joined)
    assert text.count("👩\u200d💻") == 2
    assert load(text) == joined
    odd = {"text": "👩\u200d💻 \x85\u2028\ufeff"}
    assert load(dump(odd)) == odd


# ── removing ─────────────────────────────────────────────────────────────────────────

INTERNAL = ("metadata", "internal")


@given(front_matters(), st.booleans())
@settings(max_examples=examples(150))
def test_a_key_that_was_set_goes_again_and_every_other_byte_stays(text: str, crlf: bool) -> None:
    before = text.replace("\n", "\r\n") if crlf else text
    after = without_key(with_value(before, INTERNAL, value=True), INTERNAL)
    data = load(before)
    if not data.get("metadata"):  # an empty one went along
        data.pop("metadata", None)
        assert load(after) == data
    else:
        assert after == before


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("name: a\nmetadata:\n  internal: true\n", "name: a\n"),
        ("metadata:\n  internal: true  # c\n  kind: a\nz: 1\n", "metadata:\n  kind: a\nz: 1\n"),
        ("metadata:\n  kind: a\n  internal: true", "metadata:\n  kind: a\n"),
        ("metadata:\n  a: 1\n  internal: true\n# end\n", "metadata:\n  a: 1\n# end\n"),
        ("metadata: {internal: true, a: b}\n", "metadata: {a: b}\n"),
        ("metadata: {a: b, internal: true}  # c\n", "metadata: {a: b}  # c\n"),
        ("name: a\nmetadata: {internal: true}\nz: 1\n", "name: a\nz: 1\n"),
        ("{metadata: {internal: true}, name: a}\n", "{name: a}\n"),
        ("a: 1\r\nmetadata:\r\n  internal: true\r\nz: 1\r\n", "a: 1\r\nz: 1\r\n"),
    ],
)
def test_a_removed_key_leaves_the_text_around_it(before: str, after: str) -> None:
    assert without_key(before, INTERNAL) == after


@pytest.mark.parametrize("text", ["name: a\n", "metadata:\n  kind: a\n", "metadata:\n", ""])
def test_a_key_that_is_not_there_needs_no_removal(text: str) -> None:
    assert without_key(text, INTERNAL) == text


def test_a_key_cannot_be_removed_from_what_is_no_mapping() -> None:
    with pytest.raises(BadInputError, match="edit it by hand"):
        without_key("metadata: x\n", INTERNAL)


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\u2029"])
def test_what_ends_a_line_to_some_is_kept_beside_an_emoji(end: str) -> None:
    data = {"face": "\U0001f469\u200d\U0001f4bb", "text": end, "more": f"a{end}b\nc"}
    assert load(dump(data)) == data
