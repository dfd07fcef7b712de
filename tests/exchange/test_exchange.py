"""The room's one door: every format by its name, errors as values or sentences."""

from pathlib import Path

import pytest

from skillvault.exchange import formats
from skillvault.model.errors import BadInputError, UsageError
from skillvault.model.text.text import is_slug
from tests.exchange.given import refused, shared, written

REAL = [
    ("freqtrade", "freqtrade/backtest-result.json"),
    ("harbor", "harbor"),
    ("ctrf", "harbor/exoplanet-detection-period__32bfa7/verifier/ctrf.json"),
    ("jsonl", "agent-runs/outcomes.jsonl"),
]


def test_an_unknown_format_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="ctrf, freqtrade, harbor, jsonl or junit"):
        formats.read_outcomes("csv", Path("x.csv"))


@pytest.mark.parametrize(("format_name", "name"), REAL)
def test_the_same_file_gives_the_same_mappings_in_the_same_order(
    format_name: str, name: str
) -> None:
    path = shared(name)
    assert list(formats.read_outcomes(format_name, path)) == list(
        formats.read_outcomes(format_name, path)
    )


@pytest.mark.parametrize(("format_name", "name"), REAL)
def test_labels_are_distinct_slugs(format_name: str, name: str) -> None:
    labels = [label for label, _ in formats.read_outcomes(format_name, shared(name))]
    assert len(set(labels)) == len(labels)
    assert all(is_slug(label) for label in labels)


@pytest.mark.parametrize(("format_name", "name"), REAL)
def test_a_given_domain_stands_where_the_file_names_none(format_name: str, name: str) -> None:
    found = formats.read_outcomes(format_name, shared(name), "given")
    domains = {item["domain"] for _, item in found if isinstance(item, dict)}
    assert domains == {"office" if format_name == "jsonl" else "given"}


@pytest.mark.parametrize("format_name", sorted(formats.FORMATS))
def test_an_absent_file_is_named_with_the_next_step(tmp_path: Path, format_name: str) -> None:
    error = refused(format_name, tmp_path / "gone.json")
    assert error.code == "unreadable"
    assert "gone.json: no such file or directory; check the path" in error.message


@pytest.mark.parametrize("format_name", ["freqtrade", "harbor", "ctrf"])
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "truncated"),
        ("[1]", "wrong-type"),
        ('{"results": 1, "results": 2}', "duplicate-key"),
        ('{"results": 1e999}', "bad-value"),
        (f'{{"results": {"1" * 400}}}', "bad-value"),
        ('{"results": "\\ud800"}', "json"),
        ("[" * 200_000, "too-deep"),
    ],
    ids=["cut", "list", "doubled", "infinite", "huge", "half-a-pair", "deep"],
)
def test_what_is_not_plain_json_is_refused_with_a_code(
    tmp_path: Path, format_name: str, text: str, code: str
) -> None:
    assert refused(format_name, written(tmp_path / "result.json", text)).code == code


def test_bytes_that_are_not_utf_8_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "ctrf.json"
    path.write_bytes(b'{"a": "\xff"}')
    error = refused("ctrf", path)
    assert isinstance(error, BadInputError)
    assert "save it as UTF-8" in error.message
