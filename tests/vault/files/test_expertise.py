"""expertise.yaml: what is read is written again, unknown keys too; what is broken is named."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from skillvault.model.errors import BadInputError
from skillvault.model.records import EvolutionEntry, Expertise, LearnedPattern, MissedEvidence
from skillvault.model.text.strict_yaml import comments
from skillvault.vault.files import learnings
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
    found = learnings.decode_expertise(FILE)
    assert found.patterns[0].extra == {"reviewed": True}
    assert found.extra == {"owner": "ada"}
    assert learnings.encode_expertise(found) == FILE


def test_another_reader_of_yaml_reads_the_same() -> None:
    assert yaml.safe_load(FILE)["patterns"][0]["promoted_at"] == "2026-01-31T14:23:00"


@given(st.lists(st.tuples(TEXTS.filter(bool), st.integers(0, 9), DATA), max_size=3))
def test_what_is_written_is_read_again(entries: list[tuple[str, int, object]]) -> None:
    patterns = tuple(
        LearnedPattern(
            pattern=text, occurrences=n, extra={"other": data}, missed=MissedEvidence("t", "c")
        )
        for text, n, data in entries
    )
    whole = Expertise(patterns=patterns, evolution_log=(EvolutionEntry(date="d", change="c"),))
    assert learnings.decode_expertise(learnings.encode_expertise(whole)) == whole


def test_nothing_is_an_expertise_without_patterns() -> None:
    assert learnings.decode_expertise(b"") == Expertise()


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
        learnings.decode_expertise(content)
    assert caught.value.key == key


COMMENTED = """\
# Reviewed by Ann on Fridays.
version: "0.2.0"
patterns:   # the best first
  - pattern: Keep `one`.   # a person's word
    confidence: high
    # five files, all in core/
    occurrences: 5
  # Two was argued about.
  - pattern: "Keep `two`."
    confidence: medium
    occurrences: 3
    owner: Ben

# Nobody edits what is below.
evolution_log: []
notes: {kept: here} # as it is
"""


def states(content: bytes, wanted: Expertise) -> bool:
    """Return True if the bytes state exactly that expertise."""
    return learnings.decode_expertise(content) == wanted


def test_what_a_person_wrote_beside_the_patterns_stays() -> None:
    before = learnings.decode_expertise(COMMENTED.encode())
    one, two = before.patterns
    three = LearnedPattern(pattern="Keep `three`.", occurrences=4)
    log = EvolutionEntry(date="2026-11-20", change="Promoted 1 patterns", patterns_added=1)
    grown = replace(before, patterns=(one, two, three), evolution_log=(log,))
    content = learnings.rewrite_expertise(COMMENTED.encode(), grown)
    assert states(content, grown)
    # Every line stays but the one with the empty log, and its place in the order.
    lines = iter(content.decode().splitlines())
    stays = [line for line in COMMENTED.splitlines() if line != "evolution_log: []"]
    assert [line for line in stays if line not in lines] == []  # in their order
    again = replace(grown, patterns=(replace(one, occurrences=7), three))
    smaller = learnings.rewrite_expertise(content, again)
    assert states(smaller, again)
    assert comments(smaller.decode()) == comments(COMMENTED)
    empty = learnings.rewrite_expertise(smaller, replace(again, patterns=()))
    assert states(empty, replace(again, patterns=()))
    assert comments(empty.decode()) == comments(COMMENTED)
    assert states(learnings.rewrite_expertise(empty, grown), grown)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "# alone\n",
        "patterns: # none yet\n",
        "patterns: [] # none yet",
        "patterns: [{pattern: Keep `one`., occurrences: 5}, # first\n  {pattern: Keep `two`.}]\n",
        "{patterns: [{pattern: Keep `one`.}]} # all in one line\n",
        "patterns:\r\n- pattern: |\r\n    Keep `one`.\r\n    # no comment\r\n# a comment\r\n",
        "patterns:\n-   # odd\n    pattern: Keep `one`.\n-\n    pattern: Keep `two`. # last",
        "evolution_log:\n- date: d\n  change: c # x\npatterns:\n- pattern: a b\n",
    ],
)
def test_every_form_of_the_file_is_changed_and_keeps_its_comments(content: str) -> None:
    before = learnings.decode_expertise(content.encode())
    log = (*before.evolution_log, EvolutionEntry(date="e", change="f", patterns_added=2))
    for patterns in (
        (*before.patterns, LearnedPattern(pattern="# Keep: 'three'")),
        tuple(replace(pattern, occurrences=9) for pattern in before.patterns),
        before.patterns[1:],
        (),
    ):
        changes = replace(before, patterns=patterns, evolution_log=log)
        changed = learnings.rewrite_expertise(content.encode(), changes)
        assert states(changed, changes)
        assert sorted(comments(changed.decode())) == sorted(comments(content))


@given(data=st.data())
def test_any_comments_outlive_any_change(data: st.DataObject) -> None:
    entries = st.integers(0, 9).map(lambda n: LearnedPattern(pattern=f"Keep `term_{n}`."))
    patterns = data.draw(st.lists(entries, max_size=5, unique_by=lambda p: p.pattern))
    lines = learnings.encode_expertise(Expertise(patterns=tuple(patterns))).decode().splitlines()
    lines = [
        text
        for number, line in enumerate(lines)
        for text in (
            *([f"{' ' * data.draw(st.integers(0, 4))}# above {number}"]
              if data.draw(st.booleans()) else []),
            line + (f" # at {number}" if data.draw(st.booleans()) else ""),
        )
    ]  # fmt: skip
    content = "\n".join(lines) + "\n"
    before = learnings.decode_expertise(content.encode())
    chosen = [p for p in before.patterns if data.draw(st.booleans())]
    after = [replace(p, confidence="high") if data.draw(st.booleans()) else p for p in chosen]
    changes = replace(before, patterns=(*after, LearnedPattern(pattern="Keep `new`.")))
    changed = learnings.rewrite_expertise(content.encode(), changes)
    assert states(changed, changes)
    assert sorted(comments(changed.decode())) == sorted(comments(content))
