"""notes: who says a statement is read again as it was written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.judge.offline.notes import BEFORE, Note, Voices, noted, read

KNOWN = frozenset({"SOL-PERP", "a", "the b", "c d", BEFORE})
NAMES = st.lists(st.sampled_from(sorted(KNOWN)), min_size=1, max_size=3, unique=True)
VOICES = NAMES.map(lambda names: Voices(len(names), tuple(names))) | st.builds(
    Voices, st.integers(1, 900)
)
COUNTS = st.just(0) | st.integers(1, 99)
WORDS = st.sampled_from(["an hour", "two, 3", "5 %", "17:00", "never so"])
NOTES = st.builds(
    Note,
    VOICES,
    st.dictionaries(WORDS, VOICES, max_size=4),
    st.just(Voices()) | VOICES,
    COUNTS,
    COUNTS,
)


@given(NOTES, st.sampled_from(["Use a stop.", "不做。", "Is it (5 of 6)?", "No end"]))
def test_a_note_is_read_as_it_was_written(note: Note, text: str) -> None:
    of = note.count + 1
    said, again = read(noted(text, note, of), KNOWN)
    assert said == text
    assert again == note


def nameless(note: Note) -> Note:
    """A note that only counts."""
    others = {words: Voices(voices.count) for words, voices in note.others.items()}
    alike = Voices(note.alike.count)
    return Note(Voices(note.same.count), others, alike, note.worded, note.figured)


@given(NOTES.map(nameless), NOTES.map(nameless), WORDS | st.just(""))
def test_no_voice_is_lost_when_notes_are_joined(one: Note, other: Note, words: str) -> None:
    joined = one.join(other, words)
    assert joined.count == joined.brief().count == one.count + other.count


def test_a_source_that_is_named_twice_is_one_voice() -> None:
    both = Voices(2, ("a", "c d")).join(Voices(2, ("c d", "the b")))
    assert both == Voices(3, ("a", "c d", "the b"))


@pytest.mark.parametrize(
    "line",
    ["Use a stop (at the exchange).", "Wait (see issue 5; or 6).", "Wait (a; then: b).", "Wait."],
)
def test_what_a_person_put_in_brackets_is_no_note(line: str) -> None:
    assert read(line, KNOWN) == (line, Note(Voices(1, (BEFORE,))))


def test_of_many_variants_some_are_told_and_the_rest_counted() -> None:
    words = {f"word {'x' * n}": Voices(1, ("a",)) for n in range(14)}
    figures = {f"{n} %": Voices(2) for n in range(7)}
    line = noted("So.", Note(Voices(30), words | figures), 60)
    assert line.count("a: word") == 12
    assert line.endswith("; 2 more in other words; 4 more with other figures).")
    assert read(line, KNOWN)[1].count == 30 + 14 + 14


def test_brackets_in_a_name_do_not_end_a_note() -> None:
    assert noted("So.", Note(Voices(1, ("a (b)",))), 2) == "So (a [b])."
