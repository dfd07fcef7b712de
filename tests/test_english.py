"""english: function words, and irregular forms."""

import pytest

from skillvault.model.english import FUNCTION_WORDS, base_form, other_forms


@pytest.mark.parametrize(
    ("word", "base", "others"),
    [
        ("went", "go", ["go", "gone", "goes"]),
        ("froze", "freeze", ["freeze", "frozen"]),
        ("deploy", "deploy", []),
    ],
)
def test_an_irregular_form_leads_to_its_word(word: str, base: str, others: list[str]) -> None:
    assert base_form(word) == base
    assert other_forms(word) == others
    assert word not in FUNCTION_WORDS
