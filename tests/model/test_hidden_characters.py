"""Hidden characters: what goes, what a script needs, and how the rest is shown."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.model.text.hidden_characters import (
    escape_hidden,
    escape_json,
    has_hidden,
    hidden_characters,
    name_of,
    remove_hidden,
)
from tests.hidden import SEQUENCES

# Texts as people write them, each with characters that hide elsewhere.
LEGITIMATE = {
    "Hindi with a joiner": "क्\u200dष और श्र\u200cी",
    "Marathi": "सुऱ्\u200dया",
    "Malayalam chillu at a word's end": "അവന്\u200d വന്നു",
    "Sinhala": "ක්\u200dෂ ශ්\u200dරී ලංකා",
    "Bengali": "র\u200d্যাব",
    "Persian": "می\u200cخواهم کتاب\u200cها را بخوانم",
    "Persian abbreviation": "سال ۱۴۰۳ ه\u200d.ش",
    "Arabic with a mark": "السعر 5\u200f% (تقريباً)",
    "Hebrew with marks": "מחיר: ABC\u200e (100) ש\u200f",
    "Urdu": "یہ کیا\u200c ہے",
    "Khmer with word breaks": "ខ្ញុំ\u200bទៅ\u200bផ្សារ",
    "Thai": "ภาษา\u200bไทย",
    "Mongolian with a selector": "ᠮᠣᠩᠭᠣᠯ ᠠ\u180b",
    "Chinese": "止损设在入场价下方 2%，不要追高。",
    "Japanese name with a variant": "葛\U000e0100城市、辻\U000e0101さん",
    "Korean": "손절매를 먼저 정한다",
    "family": "👨\u200d👩\u200d👧\u200d👦 at home",
    "profession with a skin tone": "👩🏽\u200d💻 and 🧑🏿\u200d🚀",
    "heart on fire": "❤\ufe0f\u200d🔥",
    "pride and pirates": "🏳\ufe0f\u200d🌈 🏴\u200d☠\ufe0f",
    "head shaking": "🙂\u200d↔\ufe0f",
    "black bird": "🐦\u200d⬛",
    "keycaps": "1\ufe0f\u20e3 #\ufe0f\u20e3 *\ufe0f\u20e3",
    "as text": "☀\ufe0e and ☎\ufe0e",
    "Wales": "🏴\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f",
    "flags and symbols": "🇩🇪 ©\ufe0f ™ ⚠\ufe0f ✅",
    "mathematics": "∩\ufe00 and ≨\ufe00",
    "typography": "“No…” – it’s 5 €; a\u00a0b\u2009c\u3000d ½",
    "tabs and lines": "a\tb\nc\r\nd",
    "combined letters": unicodedata.normalize("NFD", "é ü ñ Å"),
}


@pytest.mark.parametrize("text", LEGITIMATE.values(), ids=LEGITIMATE)
def test_what_people_write_stays(text: str) -> None:
    assert remove_hidden(text) == text.replace("\r\n", "\n")
    assert escape_hidden(text) == escape_json(text) == text
    assert not list(hidden_characters(text))


@pytest.mark.parametrize("sequence", SEQUENCES.values(), ids=SEQUENCES)
def test_what_hides_goes_and_is_shown(sequence: str) -> None:
    text = f"before{sequence}\nafter"
    assert not list(hidden_characters(remove_hidden(text)))
    assert remove_hidden(text).startswith("before")
    assert remove_hidden(text).endswith("\nafter")
    shown = escape_hidden(text)
    assert not list(hidden_characters(shown))
    assert "\\x" in shown or "\\u" in shown or "\\U" in shown
    assert list(hidden_characters(text))


def test_a_sequence_of_a_terminal_goes_whole() -> None:
    assert remove_hidden("\x1b[1;31mFAILED\x1b[0m test_a") == "FAILED test_a"
    assert remove_hidden("see \x1b]8;;https://evil.example\x1b\\this\x1b]8;;\x1b\\.") == "see this."
    assert remove_hidden("a\x1b]52;c;cm0gLXJmIH4K\x07b") == "ab"


def test_a_sequence_without_an_end_takes_no_text_with_it() -> None:
    assert remove_hidden("a\x1b]0;the rest\nof the text") == "a0;the rest\nof the text"


def test_lines_end_in_one_way() -> None:
    assert remove_hidden("a\r\nb\rc\x85d\u2028e\x0bf") == "a\nb\nc\nd\ne\nf"


def test_a_joiner_a_selector_and_a_mark_stay_only_beside_what_needs_them() -> None:
    assert (
        remove_hidden("pass\u200dword a\ufe0f 😀\ufe0f\ufe0e\ufe01\ufe02") == "password a 😀\ufe0f"
    )
    assert remove_hidden("می\u200c\u200c\u200cخواهم") == "می\u200cخواهم"
    assert remove_hidden("left\u200eright\u200f") == "leftright"
    assert remove_hidden("🏴\U000e0075\U000e0073\U000e007f") == "🏴"


def test_each_is_named_with_its_place() -> None:
    found = list(hidden_characters("ok\nab\u202ecd\n\x1b[m\U000e0041"))
    assert [(one.line, one.column, one.name) for one in found] == [
        (2, 3, "U+202E RIGHT-TO-LEFT OVERRIDE"),
        (3, 1, "U+001B ESC"),
        (3, 4, "U+E0041 TAG LATIN CAPITAL LETTER A"),
    ]
    assert name_of("\x7f") == "U+007F DEL"
    assert name_of("\x9d") == "U+009D OSC"
    assert name_of("\ud800") == "U+D800 not a character"


def test_an_escape_is_how_python_writes_it() -> None:
    assert escape_hidden("a\u202eb\x1bc\U000e0041d\x9b") == "a\\u202eb\\x1bc\\U000e0041d\\x9b"


def test_escapes_of_json_say_the_same() -> None:
    value = {"a\u202e": "\x7f\x9b\U000e0041 می\u200cخواهم"}
    text = escape_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    assert not has_hidden(text.replace("\u200c", ""))


_TEXTS = st.text(
    st.one_of(
        st.characters(exclude_categories=()),
        st.sampled_from("".join(SEQUENCES.values()) + "".join(LEGITIMATE.values()) + "[;m]c\r\n"),
    ),
    max_size=40,
)


@given(_TEXTS)
def test_cleaning_and_escaping_leave_nothing_and_do_it_once(text: str) -> None:
    for treat in (remove_hidden, escape_hidden):
        once = treat(text)
        assert not list(hidden_characters(once))
        assert treat(once) == once.replace("\r\n", "\n" if treat is remove_hidden else "\r\n")
    assert escape_hidden(remove_hidden(text)) == remove_hidden(text)
    visible = "".join(c for c in escape_hidden(text) if not has_hidden(c))
    assert has_hidden(text) or visible == text


@pytest.mark.parametrize(
    "part", ["\x1b[0", "\x1b]0;", "\u200d", "👩\u200d", "\r", "\x9b0 ", "م\u200c"]
)
def test_time_grows_with_the_length(part: str) -> None:
    """A text of a million characters made to be slow is read like any other."""
    text = part * (1_000_000 // len(part))
    assert not list(hidden_characters(remove_hidden(text)))
