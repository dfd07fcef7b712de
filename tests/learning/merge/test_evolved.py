"""evolved: a text within its length, a commit that says all, a person's words untouched."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.brief import Draft, Fate
from skillvault.change import Edit, Move
from skillvault.learning.merge import evolved
from skillvault.learning.merge.groups import Merge
from skillvault.learning.sections import Version, parts, theirs
from skillvault.policy import MergePolicy, Policy
from skillvault.records import JudgeInfo, Link, Skill
from skillvault.text import tokens
from tests.given import NOW

JUDGE = JudgeInfo(name="scripted", version="1")
SOURCES = tuple(
    Skill(
        f"warning-ops-{name}", body=f"- Say {name}.", kind="warning", tags=("ops", name, "release")
    )
    for name in "abc"
)
NAMES = tuple(skill.name for skill in SOURCES)
MERGE = Merge(domain="ops", fresh=NAMES, alike=((NAMES[2], NAMES[0], 0.5678),))
LINES = tuple(f"- Say {name}." for name in "abc")
DRAFT = Draft(
    "Say it",
    "Says it.",
    (("Synthesized Insight", LINES[0]), ("Key Principles", "\n".join(LINES[1:]))),
    fates=(
        Fate(NAMES[0], "Say a.", "kept"),
        Fate(NAMES[1], "Say b.", "fused", "Say b and c."),
        Fate(NAMES[2], "Say c.", "dropped", "of no use"),
    ),
)


def made(draft: Draft = DRAFT, limit: int = 600, taken: tuple[str, ...] = ()) -> Any:
    """The change that merges the sources."""
    return evolved.merge_change(
        MERGE,
        SOURCES,
        draft,
        judge=JUDGE,
        taken=taken.__contains__,
        now=NOW,
        policy=Policy(merge=MergePolicy(max_tokens=limit)),
    )


def test_the_skill_its_links_and_its_sources_are_one_commit() -> None:
    change = made()
    skill, *links = change.writes
    assert (skill.name, skill.kind, skill.status) == ("evolved-ops-say-it", "evolved", "testing")
    assert skill.tags == ("ops", "release", "a", "b", "c")
    assert skill.expires == "2027-05-19T12:00:00Z"
    assert [(link.source.id, link.target.id) for link in links] == [(n, skill.name) for n in NAMES]
    assert change.moves == tuple(Move(f"skills/{n}", f"archive/{n}") for n in NAMES)
    assert [ref.id for ref in change.sources] == list(NAMES)
    assert [str(ref) for ref in change.targets] == [f"skill:{skill.name}"]
    assert change.judge == "scripted 1"


def test_the_commit_tells_each_statement_on_a_line_of_its_own() -> None:
    message = made().message
    assert "0.57 with warning-ops-a" in message
    assert (
        "  warning-ops-a\n    kept     Say a.\n"
        "  warning-ops-b\n    fused    Say b. -> Say b and c.\n"
        "  warning-ops-c\n    dropped  Say c. (of no use)\n"
    ) in message


def test_a_name_that_was_used_is_not_used_again() -> None:
    assert made(taken=("evolved-ops-say-it",)).writes[0].name == "evolved-ops-say-it-2"


def test_a_title_in_another_script_gives_way_to_what_all_sources_are_about() -> None:
    assert made(Draft("说吧", "d", DRAFT.sections)).writes[0].name == "evolved-ops-release"


# ── the text ─────────────────────────────────────────────────────────────────────────

BULLETS = st.lists(
    st.text("ab \n-c。", min_size=1, max_size=60).map(lambda t: "- x" + t), max_size=12
)
PARTS = st.lists(st.tuples(st.sampled_from("ABCD"), BULLETS.map("\n".join)), min_size=1, max_size=5)


def bare(texts: list[tuple[str, str]]) -> list[str]:
    """The lines of texts under their headings, without those that point elsewhere."""
    lines = ((name, line.strip()) for name, text in texts for line in text.splitlines())
    return sorted(
        f"{name} {line}" for name, line in lines if line and "- See references" not in line
    )


@given(PARTS, st.integers(0, 400))
def test_what_has_no_room_moves_and_is_not_lost(
    given_parts: list[tuple[str, str]], room: int
) -> None:
    kept, moved = evolved.fitted(given_parts, room)
    assert bare([*kept, *moved]) == bare(given_parts)
    told = [text for _, text in kept if "See references" not in text]
    assert not told or sum(tokens(t) for t in told) <= room


@given(PARTS)
def test_what_has_room_stays_as_it_is(given_parts: list[tuple[str, str]]) -> None:
    texts = [(name, text.strip()) for name, text in given_parts if text.strip()]
    assert evolved.fitted(texts, 10**6) == (texts, [])


def test_a_block_of_code_moves_whole() -> None:
    code = "```sh\nmake\n\n# - no item\nmake test\n```"
    text = f"- Build first.\n- Then so:\n\n{code}"
    assert evolved.fitted([("A", text)], 12) == (
        [("A", "- Build first.\n- Then so:")],
        [("A", code)],
    )


def test_an_evolved_skill_has_at_most_so_many_tokens_and_names_the_rest() -> None:
    lines = "\n".join(f"- Statement {number} of a rather long list." for number in range(80))
    draft = Draft("Long", "d", (("Insight", "- One."), ("Principles", lines)))
    change = made(draft, 300)
    body = change.writes[0].body
    assert tokens(body) <= 300
    assert "*More: references/statements.md*" in body
    ((path, data),) = change.files
    assert path == "skills/evolved-ops-long/references/statements.md"
    assert all(f"Statement {n} of" in body + data.decode() for n in range(80))


def test_a_short_text_has_no_reference_file() -> None:
    assert made().files == ()
    assert "More:" not in made().writes[0].body


def test_a_judges_own_files_are_written_under_safe_names() -> None:
    change = made(Draft("T", "d", DRAFT.sections, (("../Evil Name.md", "x"),)))
    assert [path for path, _ in change.files] == ["skills/evolved-ops-t/references/evil-name.md"]


# ── growing ──────────────────────────────────────────────────────────────────────────

NOW_BODY = (
    "# Evolved: Say it\n\n*head*\n\n"
    "## Synthesized Insight\n\n- Say a.\n\n## Key Principles\n\n- Say b."
)


def grown(body: str = NOW_BODY, **changes: Any) -> Any:
    """The change by which the evolved skill takes the third source in."""
    skill = Skill(
        "evolved-ops-say-it", "Said.", body, tags=("ops",), expires="2026-12-01T00:00:00Z"
    )
    fields: dict[str, Any] = {
        "skill": skill,
        "versions": (Version(None, NOW_BODY),),
        "untouched": frozenset({"description", "tags", "expires"}),
        "files": {},
        "edited": frozenset(),
    }
    merge = Merge(domain="ops", evolved=skill.name, earlier=NAMES[:2], fresh=NAMES[2:])
    present = evolved.PresentSkill(**{**fields, **changes})
    draft = changes.pop("draft", DRAFT)
    return evolved.growth_change(
        merge, SOURCES, draft, present, judge=JUDGE, now=NOW, policy=Policy()
    )


def test_it_grows_in_place_and_only_what_is_new_moves() -> None:
    change = grown()
    (link,) = change.writes
    assert isinstance(link, Link)
    assert [str(ref) for ref in change.targets] == ["skill:evolved-ops-say-it", f"link:{link.id}"]
    assert change.moves == (Move(f"skills/{NAMES[2]}", f"archive/{NAMES[2]}"),)
    assert [ref.id for ref in change.sources] == [NAMES[2]]
    assert "- Say b.\n- Say c." in change.rewrites[0].body
    assert [edit.key for edit in change.edits] == [
        ("description",), ("metadata", "tags"), ("metadata", "expires"),
    ]  # fmt: skip


@pytest.mark.parametrize("key", ["description", "tags", "expires"])
def test_a_key_that_a_person_set_stays(key: str) -> None:
    untouched = frozenset({"description", "tags", "expires"} - {key})
    edits: tuple[Edit, ...] = grown(untouched=untouched).edits
    assert key not in {edit.key[-1] for edit in edits}
    assert len(edits) == 2


TEXTS = st.lists(
    st.sampled_from(["## Key Principles\n", "## Mine\n", "## Evidence\n", "- mine\n", "\n", "x "]),
    max_size=10,
).map("".join)


@given(TEXTS)
def test_a_persons_sections_keep_every_byte_and_nothing_is_lost(edited: str) -> None:
    body = edited.strip()
    change = grown(body)
    after = change.rewrites[0].body if change.rewrites else body
    mine = theirs([Version(None, NOW_BODY)], body)
    for key, text in parts(body).items():
        if key in mine:
            assert text.strip("\r\n") in after
    files = "".join(data.decode() for _, data in change.files)
    assert "Say a." in after + files
    assert "Say b and c." in after + files


def test_a_persons_file_stays_and_what_has_no_place_gets_one_of_its_own() -> None:
    present = {"statements.md": "mine", "statements-2.md": "mine too"}
    mine = NOW_BODY.replace("- Say b.", "- Nothing.")
    change = grown(mine, files=present, edited=frozenset(present))
    ((path, data),) = change.files
    assert path.endswith("/statements-3.md")
    assert "Say b and c." in data.decode()


def test_a_file_as_the_program_left_it_is_written_anew() -> None:
    mine = NOW_BODY.replace("- Say b.", "- Nothing.")
    ((path, data),) = grown(mine, files={"statements-2.md": "- Say old."}).files
    assert path.endswith("/statements-2.md")
    assert b"Say old" not in data
