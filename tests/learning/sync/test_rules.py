"""Rules between clones: equal with the sides exchanged, and in every order of three clones."""

import os
from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillvault.learning.sync.skill import FILE, SkillVersion, is_edited, merge_skill_versions
from skillvault.learning.sync.table import must_stay, read_undecided, rule_of
from skillvault.learning.sync.three_way import Versions, merge_sets
from skillvault.model import codec
from skillvault.model.errors import BadInputError
from skillvault.model.records import Fact, JudgeInfo, Skill
from skillvault.vault.commit.marks import encode_marked, mark_changed_sections
from tests.given import NOW, evaluation, outcome, raw
from tests.learning.sync.histories import met
from tests.thorough import examples

ORDERS = int(os.environ.get("SKILLVAULT_ORDERS", "4"))
PATH = "skills/x/SKILL.md"
BODY = "# X\n\nhead\n\n## One\n\n- a\n\n## Two\n\n- b"
PROGRAMS = encode_marked(
    Skill("x", "Says x.", BODY, kind="warning", domain="perps", origin="generated", account="a1")
)
BY_HAND = codec.encode(Skill("x", "Says x.", BODY, kind="guide"))


def rewritten(content: bytes, *pairs: tuple[str, str]) -> bytes:
    """Return a file as the program rewrites it."""
    text = content.decode()
    for old, new in pairs:
        text = text.replace(old, new)
    after = text.encode()
    return mark_changed_sections({PATH: after}, {PATH: content}, [PATH], {}).get(PATH, after)


def edited(content: bytes, *pairs: tuple[str, str]) -> bytes:
    """Return a file as a person edits it."""
    text = content.decode()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text.encode()


def both(kind: str, base: bytes | None, ours: bytes, theirs: bytes) -> str:
    """Return the merge of two versions by the rule of a kind, equal if the sides are exchanged."""
    merged = rule_of(kind)(Versions(base, ours, theirs))
    assert merged == rule_of(kind)(Versions(base, theirs, ours))
    return merged.decode()


def in_any_order(kind: str, base: bytes, leaves: Sequence[bytes]) -> str:
    """Return what three clones hold in the end, equal in every order that is tried."""

    def rule(first: bytes, second: bytes, third: bytes) -> bytes:
        return rule_of(kind)(Versions(first, second, third))

    ends: set[bytes] = {met(rule, base, leaves, seed) for seed in range(ORDERS)}
    assert len(ends) == 1
    return next(iter(ends)).decode()


# ── skills ───────────────────────────────────────────────────────────────────────────


def test_a_person_and_the_program_in_one_section_leaves_it_the_persons() -> None:
    ours = edited(PROGRAMS, ("- a", "- a, by hand"))
    text = both("skill", PROGRAMS, ours, rewritten(PROGRAMS, ("- a", "- a, anew"), ("- b", "- B")))
    assert "- a, by hand" in text
    assert "anew" not in text
    assert "- B" in text


def test_of_two_persons_the_statements_of_both_stay() -> None:
    ours = edited(PROGRAMS, ("- a", "- a\n- mine"))
    text = both("skill", PROGRAMS, ours, edited(PROGRAMS, ("- a", "- a\n- yours")))
    assert "## One\n\n- a\n- mine\n- yours\n\n## Two" in text


def test_of_two_texts_of_the_program_one_stays_and_is_written_anew() -> None:
    ours = rewritten(PROGRAMS, ("- a", "- c"), ("account: a1", "account: a2"))
    theirs = rewritten(PROGRAMS, ("- a", "- d"), ("account: a1", "account: a3"))
    text = both("skill", PROGRAMS, ours, theirs)
    assert "- d" in text
    assert "account: merged" in text, "as no account is: the learner writes it anew"
    assert is_edited(PROGRAMS, text.encode()) is False


def test_keys_that_both_changed_go_by_their_table() -> None:
    ours = edited(BY_HAND, ("status: testing", "status: pinned\n  tags: one two"))
    theirs = edited(BY_HAND, ("status: testing", "status: proven\n  tags: two three"))
    text = both("skill", BY_HAND, ours, theirs)
    assert "status: pinned" in text
    assert "tags: one three two" in text


LEAVES = [
    edited(PROGRAMS, ("- a", "- a\n- mine"), ("status: testing", "status: pinned")),
    rewritten(PROGRAMS, ("- a", "- c"), ("- b", "- d"), ("account: a1", "account: a2")),
    edited(PROGRAMS, ("- a", "- a\n- also")),
    rewritten(PROGRAMS, ("- b", "- e"), ("account: a1", "account: a3")),
    edited(PROGRAMS, ("## Two\n\n- b\n", "## Notes\n\nMy own.\n")),
    edited(PROGRAMS, ("head", "Head, by hand."), ("Says x.", "Says x. And y.")),
    rewritten(PROGRAMS, ("## Two\n\n- b\n", "")),
    edited(PROGRAMS, ("status: testing", "status: retired\n  tags: one")),
]


@pytest.mark.parametrize("part", range(4))
def test_three_versions_of_a_skill_end_alike_in_every_order(part: int) -> None:
    for leaves in [*combinations(LEAVES, 3)][part::4]:
        in_any_order("skill", PROGRAMS, leaves)


# ── where a skill stands ─────────────────────────────────────────────────────────────


def standing(content: bytes, folder: str = "skills", *, decided: bool = False) -> SkillVersion:
    """A skill of one file in a folder."""
    if folder != "skills":
        content = edited(content, ("metadata:\n", "metadata:\n  internal: true\n"))
    return SkillVersion(folder, {FILE: content}, decided)


EDIT = edited(PROGRAMS, ("- a", "- a, by hand"))
RETIRED = edited(PROGRAMS, ("status: testing", "status: retired"))
NEW = rewritten(PROGRAMS, ("- b", "- B"))
BASE = standing(PROGRAMS)


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "folder"),
    [
        (BASE, standing(EDIT), standing(PROGRAMS, "archive"), "skills"),
        (BASE, standing(NEW), standing(PROGRAMS, "archive"), "archive"),
        (BASE, standing(EDIT), standing(RETIRED, "archive", decided=True), "archive"),
        (None, standing(PROGRAMS), standing(PROGRAMS, "archive"), "archive"),
        (None, standing(EDIT), standing(PROGRAMS, "archive"), "skills"),
        (None, standing(PROGRAMS, decided=True), standing(NEW, "archive"), "skills"),
        (
            standing(PROGRAMS, "proposed"),
            standing(PROGRAMS, decided=True),
            standing(PROGRAMS, "archive"),
            "skills",
        ),
        (BASE, None, standing(NEW), None),
        (BASE, None, standing(EDIT), "skills"),
        (BASE, None, BASE, None),
        (BASE, None, None, None),
    ],
)
def test_where_a_skill_stands(
    base: SkillVersion | None,
    ours: SkillVersion | None,
    theirs: SkillVersion | None,
    folder: str | None,
) -> None:
    merged = merge_skill_versions(base, ours, theirs)
    assert merged == merge_skill_versions(base, theirs, ours)
    assert (merged.folder if merged else None) == folder
    if merged:
        assert (b"internal: true" in merged.skill_file) == (merged.folder != "skills")
        sides = [side.skill_file for side in (ours, theirs) if side]
        assert (b"by hand" in merged.skill_file) == any(b"by hand" in side for side in sides)


PLACES = [
    standing(EDIT),
    standing(PROGRAMS, "archive"),
    standing(NEW),
    BASE,
    None,
    standing(edited(PROGRAMS, ("status: testing", "status: pinned"))),
]


# Where one takes it away, what the program writes meanwhile stays or goes with that.
@pytest.mark.parametrize(
    "leaves",
    [
        three
        for three in combinations(PLACES, 3)
        if not {id(None), id(PLACES[2])} <= {*map(id, three)}
    ],
)
def test_three_places_of_a_skill_end_alike_in_every_order(
    leaves: tuple[SkillVersion | None, ...],
) -> None:
    ends = {repr(met(merge_skill_versions, BASE, leaves, seed)) for seed in range(ORDERS)}
    assert len(ends) == 1
    if any(side and b"by hand" in side.skill_file for side in leaves):
        assert "by hand" in ends.pop()


# ── what is written once ─────────────────────────────────────────────────────────────


A, B, C, D = (f"- {{type: promoted, to: fact/{name}, at: '{NOW}'}}\n".encode() for name in "abcd")


@pytest.mark.parametrize(
    ("base", "one", "two", "merged"),
    [
        (None, A + C, B, A + B + C),
        (A, A + C, A + B, A + B + C),
        (A + B, B + C, A + B + D, B + C + D),
        (A + B, B, A, b""),
        (A, A + b"# mine\n", A + B, None),
    ],
)
def test_links_are_the_union_of_the_lines_without_those_that_one_side_took_away(
    base: bytes | None, one: bytes, two: bytes, merged: bytes | None
) -> None:
    text = both("links", base, one, two)
    assert merged is None or text == merged.decode()
    assert ("# mine" in text) == (b"# mine" in one)


def test_two_copies_of_an_outcome_have_the_least_trust_and_the_keys_of_both() -> None:
    local = codec.encode(outcome(raw()))
    other = edited(local, ("trust: local", "trust: untrusted\n  more: 1"))
    text = both("outcome", None, edited(local, ("domain: coding", "domain: coding\nnew: 2")), other)
    assert "trust: untrusted" in text
    assert "new: 2" in text
    assert "more: 1" in text


def test_two_outcomes_of_one_id_that_differ_are_a_problem() -> None:
    local = codec.encode(outcome(raw()))
    other = edited(local, ("status: failure", "status: success"))
    with pytest.raises(BadInputError, match=r"result\.status: 'failure' in one clone"):
        rule_of("outcome")(Versions(None, local, other))


def test_a_paid_verdict_stands_before_an_offline_one_whole() -> None:
    offline, paid = (
        codec.encode(
            evaluation(outcome(), key_insight=f"{n} says so", judge=JudgeInfo(name=n, version="1"))
        )
        for n in ("offline", "claude")
    )
    assert both("evaluation", None, offline, paid) == paid.decode()


# ── facts, settings, rules ───────────────────────────────────────────────────────────

FACT = codec.encode(Fact(id="f", domain="perps", text="One thing.\n\nAnother.", created_at=NOW))


def test_a_fact_keeps_the_statements_of_both_and_the_higher_importance() -> None:
    ours = edited(FACT, ("One thing.", "One thing, surely."), ("medium", "low"))
    theirs = edited(FACT, ("Another.", "Another.\n\nA third."), ("medium", "high"))
    text = both("fact", FACT, ours, theirs)
    assert "importance: high" in text
    assert "One thing, surely.\n\nAnother.\n\nA third." in text


def test_a_fact_that_was_deleted_stays_so_but_for_a_persons_words() -> None:
    assert not must_stay("fact", FACT, edited(FACT, ("medium", "high")))
    assert must_stay("fact", FACT, edited(FACT, ("Another.", "Another one.")))


SETTINGS = b"# mine\nformat: 1\nbranch: main\ndomains: [coding]\npromote:\n  every: 1\n"


def test_a_key_that_both_changed_keeps_its_value_and_tells_both() -> None:
    ours = edited(SETTINGS, ("every: 1", "every: 2"), ("[coding]", "[coding, perps]"))
    theirs = edited(SETTINGS, ("every: 1", "every: 3"), ("[coding]", "[coding, ads]"))
    text = both("vault.yaml", SETTINGS, ours, theirs)
    assert text.startswith("# mine\nformat: 1\nbranch: main\ndomains: [coding, ads, perps]\n")
    assert "  every: 1\n" in text
    assert read_undecided(text) == {"promote.every": ["2", "3"]}


def test_settings_end_alike_in_every_order() -> None:
    values = [edited(SETTINGS, ("every: 1", f"every: {n}")) for n in (2, 3, 2)]
    assert "every: 1\n" in in_any_order("vault.yaml", SETTINGS, values)
    text = in_any_order(
        "vault.yaml", SETTINGS, [*values[:2], edited(SETTINGS, ("[coding]", "[coding, x]"))]
    )
    assert read_undecided(text) == {"promote.every": ["2", "3"]}


def test_rules_of_both_stay_each_once() -> None:
    base = b"# Learnings\n\n---\nUse one logger everywhere.\n---\n"
    ours = base + b"Never sleep in a test.\n---\n"
    theirs = base.replace(b"Use one logger everywhere.\n---\n", b"") + b"Quote all paths.\n---\n"
    text = both("LEARNINGS.md", base, ours, theirs)
    assert text == "# Learnings\n\n---\nNever sleep in a test.\n---\nQuote all paths.\n---\n"


def test_patterns_of_both_stay_and_of_one_the_better_counted() -> None:
    base = b"version: 0.2.0\npatterns: []\nevolution_log: []\n"
    pattern = "patterns:\n- pattern: {}\n  occurrences: {}\n"
    first = edited(base, ("patterns: []\n", pattern.format("Use get_log", 3)))
    second = edited(base, ("patterns: []\n", pattern.format("Use get_log", 5)))
    text = both("expertise.yaml", base, first, second)
    assert text.count("Use get_log") == 1
    assert "occurrences: 5" in text


SETS = st.lists(st.sampled_from("abcdef"), unique=True)


@settings(max_examples=examples(60))
@given(SETS, SETS, SETS)
def test_a_set_is_the_same_with_the_sides_exchanged(
    base: list[str], ours: list[str], theirs: list[str]
) -> None:
    merged = merge_sets(base, ours, theirs)
    assert merged == merge_sets(base, theirs, ours)
    assert set(merged) == (set(ours) & set(theirs)) | ((set(ours) ^ set(theirs)) - set(base))


def test_comments_in_expertise_of_both_stay() -> None:
    sides = [
        f"# ours to keep\nversion: 1\npatterns: []  # {name} wrote this\n".encode()
        for name in ("ada", "bo")
    ]
    base = b"# ours to keep\nversion: 1\npatterns: []\n"
    merged = both("expertise.yaml", base, *sides)
    assert merged == both("expertise.yaml", base, *reversed(sides))
    lines = merged.splitlines()
    assert {"# ours to keep", "# ada wrote this", "# bo wrote this"} <= set(lines)
