"""expertise.yaml: what is read is written again, unknown keys too; what is broken is named."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from skillvault.errors import BadInputError
from skillvault.records import EvolutionEntry, Expertise, LearnedPattern, Missed
from skillvault.vault.files import expertise
from tests.vault.given import DATA, TEXTS

FILE = b"""\
version: 0.2.0
patterns:
- pattern: 'Always use `type: "module"`.'
  confidence: high
  occurrences: 5
  evidence: a/package.json, b/package.json (+3 more)
  learned_from: skill_sync
  promoted_at: '2026-01-31T14:23:00'
  lines: 7
  code: app@0123456789
  reviewed: true
evolution_log:
- date: '2026-01-31'
  change: Promoted 1 patterns from Tier 1
  patterns_added: 1
owner: ada
"""


def test_a_file_is_written_as_it_was_read() -> None:
    found = expertise.decode(FILE)
    assert found.patterns[0].extra == {"reviewed": True}
    assert found.extra == {"owner": "ada"}
    assert expertise.encode(found) == FILE


def test_another_reader_of_yaml_reads_the_same() -> None:
    assert yaml.safe_load(FILE)["patterns"][0]["promoted_at"] == "2026-01-31T14:23:00"


@given(st.lists(st.tuples(TEXTS.filter(bool), st.integers(0, 9), DATA), max_size=3))
def test_what_is_written_is_read_again(entries: list[tuple[str, int, object]]) -> None:
    patterns = tuple(
        LearnedPattern(pattern=text, occurrences=n, extra={"other": data}, missed=Missed("t", "c"))
        for text, n, data in entries
    )
    whole = Expertise(patterns=patterns, evolution_log=(EvolutionEntry(date="d", change="c"),))
    assert expertise.decode(expertise.encode(whole)) == whole


def test_nothing_is_an_expertise_without_patterns() -> None:
    assert expertise.decode(b"") == Expertise()


@pytest.mark.parametrize(
    ("content", "key"),
    [
        (b"- a\n", None),
        (b"patterns: {}\npatterns: []\n", "patterns"),
        (b"patterns: text\n", "patterns"),
        (b"patterns:\n- text\n", "patterns"),
        (b"patterns:\n- {pattern: x, occurrences: many}\n", "patterns[0].occurrences"),
        (b"patterns:\n- {confidence: high}\n", "patterns[0].pattern"),
        (b"<<<<<<< HEAD\nversion: 1\n", None),
    ],
)
def test_a_broken_file_is_named_with_its_key(content: bytes, key: str | None) -> None:
    with pytest.raises(BadInputError) as caught:
        expertise.decode(content)
    assert caught.value.key == key
