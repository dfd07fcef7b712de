"""Erased texts are found in each spelling, by their digests alone."""

import pytest

from skillvault.model.text import erasure
from skillvault.model.text.erasure import Eraser

KEY = "0f" * 32


def eraser_of(*texts: str) -> Eraser:
    """The eraser of some texts."""
    normal_texts = map(erasure.normalize, texts)
    return Eraser(KEY, frozenset((len(t), erasure.sign_text(KEY, t)) for t in normal_texts))


@pytest.mark.parametrize(
    ("text", "clean_text"),
    [
        ("so says Zoë Quill.", "so says erased."),
        ("agent: ZOE_QUILL", "agent: erased"),
        ("memory/coding/zoe-quill-knows-0a1b2c.md", "memory/coding/erased-knows-0a1b2c.md"),
        ("Zoë\n    Quill's turn", "erased's turn"),
        ("zoe.quill@example.org", "erased@example.org"),
        ('{"by": "Zo\\u00eb\\nQuill"}', '{"by": "erased"}'),
        ('"line\\nZoe Quill"', '"line\\nerased"'),
        ("Zoe\u0308 Quill and ZoeQuill", "erased and erased"),
        ("Zoe Quillon", "Zoe Quillon"),
        ("Zoe, of course, and a long time later also Mr Quill", None),
    ],
)
def test_a_name_is_found_in_each_spelling(text: str, clean_text: str | None) -> None:
    assert eraser_of("Zoë Quill").replace(text) == (clean_text or text)


def test_a_name_in_a_script_without_spaces_is_found() -> None:
    assert eraser_of("山田太郎").replace("山田太郎さんに聞く") == "erasedさんに聞く"


def test_a_secret_is_found_beside_signs() -> None:
    text = 'url = "https://ada:aX9/k+q3==@host/"'
    assert "aX9" not in eraser_of("aX9/k+q3==").replace(text)


def test_of_texts_that_begin_together_the_longest_goes() -> None:
    assert eraser_of("Zoe", "Zoe Quill").replace("Zoe Quill and Zoe") == "erased and erased"


def test_another_key_finds_nothing() -> None:
    eraser = eraser_of("Zoe Quill")
    assert not Eraser("1" * 64, eraser.texts).has_erased("Zoe Quill")


@pytest.mark.parametrize(("text", "is_short"), [("Al", True), ("Bob", False), ("山田", False)])
def test_a_text_that_would_match_by_chance_is_too_short(text: str, is_short: bool) -> None:
    assert erasure.is_too_short(erasure.normalize(text)) is is_short
