"""english: function words, and irregular forms."""

import pytest

from skillvault.model.english import FUNCTION_WORDS, base_form, other_forms, translate


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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("我想設計一個新產品", ["design", "product"]),
        ("请分析数据库", ["analyze", "data", "database"]),
        ("наш процесс оплаты", ["payment", "process"]),
        ("보고서를 써 줘", ["report"]),
        ("ошибка, ошибки; отчёты", ["bug", "report"]),
        ("безошибочно", []),
        ("design a product", []),
    ],
)
def test_common_words_of_requests_are_translated(text: str, words: list[str]) -> None:
    assert sorted(translate(text)) == sorted(words)
