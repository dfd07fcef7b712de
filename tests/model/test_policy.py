"""policy: one table of settings; whatever vault.yaml gets wrong is named."""

import pytest

from skillvault.model.errors import BadInputError
from skillvault.model.policy import Policy, parse_policy
from tests.tables import policy_table, setting_sentences


def test_an_empty_vault_yaml_means_the_defaults() -> None:
    assert parse_policy(None) == Policy()


def test_only_what_differs_is_stated() -> None:
    policy = parse_policy({"generate": {"warning_below": -0.2}})
    assert policy.generate.warning_below == -0.2
    assert policy.generate.pattern_above == Policy().generate.pattern_above


@pytest.mark.parametrize(
    ("score", "warns", "shows"),
    [
        (-0.07 / 0.7, False, False),  # -0.10000000000000002
        (-0.100000001, True, False),
        (-0.1000000001, False, False),
        (0.07 / 0.35, False, False),  # 0.20000000000000004
        (0.200000001, False, True),
        (0.2000000001, False, False),
    ],
)
def test_a_computed_score_of_exactly_the_bound_is_not_beyond_it(
    score: float, warns: bool, shows: bool
) -> None:
    rules = Policy().generate
    assert (rules.makes_warning(score), rules.makes_pattern(score)) == (warns, shows)


def test_every_setting_has_its_sentence() -> None:
    assert all(sentence.endswith(".") for sentence in setting_sentences().values())
    assert "| `generate.warning_below` | `-0.1` |" in policy_table()


@pytest.mark.parametrize(
    ("raw", "key", "says"),
    [
        ({"generate": {"warning_belo": -0.1}}, "generate.warning_belo", "did you mean"),
        ({"colour": "red"}, "colour", "no such setting"),
        ({"generate": {"warning_below": 0.1}}, "generate.warning_below", "expected a number"),
        ({"generate": {"warning_below": "low"}}, "generate.warning_below", "found text"),
        ({"record": {"domains": "ajar"}}, "record.domains", "write open, closed"),
        ({"generate": {"gate": "ajar"}}, "generate.gate", "write never, unproven, always"),
        ({"domains": ["Perps"]}, "domains", "cannot be a folder name"),
        ({"format": 2}, "format", "not one of"),
        (["format"], None, "keys and values"),
    ],
)
def test_a_wrong_setting_is_named(raw: object, key: str | None, says: str) -> None:
    with pytest.raises(BadInputError, match=says) as caught:
        parse_policy(raw)
    assert caught.value.key == key
