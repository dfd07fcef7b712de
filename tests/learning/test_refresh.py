"""refresh: a skill says what its account says by now, and what a person wrote stays."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from skillvault.learning import refresh
from skillvault.learning.account.statements import digest, evidence_ids
from skillvault.learning.generate import (
    ExistingSkill,
    creation_time,
    expiry_of,
    skill_change,
)
from skillvault.learning.length import OVERFLOW, STATEMENTS, References
from skillvault.learning.refresh import SkillRefresh
from skillvault.learning.sections import Version, WrittenTexts, edited_sections
from skillvault.model.brief import Draft, Findings
from skillvault.model.change import Change, Edit, Move
from skillvault.model.policy import Policy
from skillvault.model.records import Link, Ref, Skill, SkillKind, stamp
from skillvault.model.section_marks import sections_of
from tests.learning.accounts import TENANT, findings_of, traded

POLICY = Policy()
NO_FILES = References(set(), set())
LOST = traded(0, TENANT, -0.3)
BEFORE = findings_of([LOST], "warning")
FOUND = findings_of([LOST, traded(3, TENANT, -0.2)], "warning")
SILENT = findings_of([traded(day, TENANT, -0.05) for day in range(2)], "warning")
FIRST = Draft("Keys", "Warns of keys.", (("What Went Wrong", "- a"), ("Checklist", "- [ ] b?")))
NEXT = Draft("Keys", "Warns more.", (("What Went Wrong", "- a\n- c"), ("Checklist", "- [ ] d?")))


def _own(found: Findings = BEFORE, draft: Draft = FIRST, **changes: Any) -> Skill:
    """A skill as `generate` made it, otherwise."""
    made = skill_change(found, draft, is_taken=frozenset[str]().__contains__, policy=POLICY)
    skill = made.writes[0]
    assert isinstance(skill, Skill)
    return replace(skill, **changes)


OWN = _own()
PATH = f"skills/{OWN.name}/SKILL.md"


def _due(
    found: Findings, skill: Skill | None = OWN, folder: str = "skills", **present: Any
) -> SkillRefresh | None:
    there = ExistingSkill(**{"skill": skill, "folder": folder, **present})
    return refresh.find_refresh(found, there, (), POLICY)


def _what(found: Findings, skill: Skill | None = OWN, **present: Any) -> str | None:
    due = _due(found, skill, **present)
    return due.what if due else None


# ── what is due ──────────────────────────────────────────────────────────────────────


def test_a_skill_whose_account_says_something_else_is_written_anew() -> None:
    assert _what(FOUND) == "refresh"


def test_one_whose_account_says_what_it_was_made_of_is_left() -> None:
    assert _what(BEFORE) is None
    assert _what(FOUND, _own(FOUND)) is None


def test_one_from_before_accounts_is_written_anew() -> None:
    assert _what(BEFORE, replace(OWN, account=None)) == "refresh"


def test_one_for_which_nothing_speaks_any_more_leaves() -> None:
    assert _what(SILENT) == "leave"
    assert _what(SILENT, folder="archive") is None


def test_an_archived_one_comes_back_when_its_account_speaks_again() -> None:
    assert _what(FOUND, folder="archive") == "restore"
    assert _what(BEFORE, folder="archive") == "restore"


@pytest.mark.parametrize("found", [FOUND, SILENT, BEFORE])
@pytest.mark.parametrize(
    "present",
    [
        {"skill": None, "folder": ""},
        {"skill": replace(OWN, status="pinned")},
        {"skill": replace(OWN, status="retired")},
        {"skill": replace(OWN, status="retired"), "folder": "archive"},
        {"folder": "archive", "archiver": "a person"},
    ],
)
def test_what_is_pinned_retired_or_put_away_is_left(
    found: Findings, present: dict[str, Any]
) -> None:
    assert _due(found, **{"skill": OWN, **present}) is None


@pytest.mark.parametrize("folder", ["skills", "archive"])
def test_one_whose_time_is_over_is_left_to_expire(folder: str) -> None:
    ends = creation_time(FOUND) + timedelta(days=60)
    assert _what(FOUND, folder=folder, clock=ends) is not None
    assert _what(FOUND, folder=folder, clock=ends + timedelta(seconds=1)) is None


def test_of_more_skills_of_a_subject_one_is_written_and_the_others_leave() -> None:
    due = _due(BEFORE, others=("skills/warning-perps-older",))
    assert due is not None
    assert (due.what, due.merged) == ("refresh", ("skills/warning-perps-older",))
    change = _rewritten(due)
    assert Move("skills/warning-perps-older", "archive/warning-perps-older") in change.moves
    assert "warning-perps-older said it before and goes to archive/." in change.reason


def test_only_what_is_not_linked_and_was_not_unlinked_by_a_person_is_linked() -> None:
    old, new = evidence_ids(FOUND)
    fresh = _due(FOUND, linked=frozenset({old}))
    assert fresh is not None
    assert fresh.fresh == (new,)
    there = ExistingSkill(skill=OWN, folder="skills", linked=frozenset({old}))
    unlinked = refresh.find_refresh(FOUND, there, {new}, POLICY)
    assert unlinked is not None
    assert unlinked.fresh == ()


# ── the changes ──────────────────────────────────────────────────────────────────────


def _refreshed(
    skill: Skill = OWN, found: Findings = FOUND, folder: str = "skills", **present: Any
) -> SkillRefresh:
    due = _due(found, skill, folder, **present)
    assert due is not None
    return due


def _rewritten(
    due: SkillRefresh,
    draft: Draft = NEXT,
    said: Sequence[str] = (OWN.description,),
    references: References = NO_FILES,
) -> Change:
    written = WrittenTexts(
        bodies=[Version(None, OWN.body)], descriptions=[Version(None, text) for text in said]
    )
    return refresh.rewrite_change(due, draft, written, references=references, policy=POLICY)


def test_its_text_and_its_keys_are_written_in_place() -> None:
    change = _rewritten(_refreshed())
    (rewrite,) = change.rewrites
    assert rewrite.path == PATH
    assert ": 2 outcomes, the last on 2026-11-04" in rewrite.body
    assert rewrite.body.endswith("## What Went Wrong\n\n- a\n- c\n\n## Checklist\n\n- [ ] d?")
    assert change.edits == (
        Edit(PATH, ("description",), "Warns more."),
        Edit(PATH, ("metadata", "account"), digest(FOUND)),
        Edit(PATH, ("metadata", "created"), "2026-11-04T09:00:00Z"),
        Edit(PATH, ("metadata", "expires"), "2027-01-03T09:00:00Z"),
    )
    assert change.moves == ()
    assert [path for path, _ in change.files] == [f"skills/{OWN.name}/references/evidence.yaml"]


def test_each_new_outcome_is_linked_as_support() -> None:
    old, new = evidence_ids(FOUND)
    change = _rewritten(_refreshed(linked=frozenset({old})))
    (link,) = change.writes
    assert isinstance(link, Link)
    assert (link.type, link.source.id, link.target.id) == ("reinforced", new, OWN.name)
    assert link.created_at == creation_time(FOUND)
    assert change.sources == (Ref("evaluation", new),)
    assert change.targets == (Ref("skill", OWN.name), Ref("link", link.id))


def test_its_commit_says_which_statements_came_and_went() -> None:
    change = _rewritten(_refreshed())
    assert change.headline == f"refresh: {OWN.name}"
    assert change.reason.startswith("open_long on SOL-PERP: 2 outcomes, the last on 2026-11-04; ")
    assert "\n  + c" in change.reason
    assert "\n  - [ ] b?" in change.reason
    assert "\n  + a" not in change.reason


def test_its_commit_lists_at_most_20_statements() -> None:
    lines = "\n".join(f"- Statement {number}." for number in range(30))
    change = _rewritten(_refreshed(), replace(NEXT, sections=(("What Went Wrong", lines),)))
    listed = [line for line in change.reason.splitlines() if line.startswith("  ")]
    assert len(listed) == 20
    assert change.reason.splitlines()[-1].endswith("more in the diff.")


def test_one_that_comes_back_moves_with_its_new_text() -> None:
    change = _rewritten(_refreshed(folder="archive"))
    assert change.moves == (Move(f"archive/{OWN.name}", f"skills/{OWN.name}"),)
    assert change.headline == f"refresh: restore {OWN.name}"
    assert [rewrite.path for rewrite in change.rewrites] == [f"archive/{OWN.name}/SKILL.md"]


def test_an_untrusted_one_comes_back_to_where_it_is_only_proposed() -> None:
    found = findings_of([replace(LOST, source=replace(LOST.source, trust="untrusted"))], "warning")
    skill = _own(found)
    change = _rewritten(_refreshed(skill, found, "archive"))
    assert change.moves == (Move(f"archive/{skill.name}", f"proposed/{skill.name}"),)


def test_one_that_a_person_renamed_keeps_its_name() -> None:
    skill = replace(OWN, name="warning-mine")
    change = _rewritten(_refreshed(skill))
    assert [rewrite.path for rewrite in change.rewrites] == ["skills/warning-mine/SKILL.md"]
    assert {write.target.id for write in change.writes if isinstance(write, Link)} == {
        "warning-mine"
    }


def test_one_that_leaves_goes_to_the_archive_with_its_text() -> None:
    change = refresh.withdrawal_change(_refreshed(found=SILENT))
    assert change.moves == (Move(f"skills/{OWN.name}", f"archive/{OWN.name}"),)
    assert (change.writes, change.rewrites, change.edits) == ((), (), ())
    assert change.headline == f"refresh: archive {OWN.name}"
    assert "As of 2 outcomes, 2026-11-02" in change.reason
    assert change.targets == (Ref("skill", OWN.name),)


# ── what a person wrote ──────────────────────────────────────────────────────────────


def test_a_section_that_a_person_wrote_stays_and_the_others_are_renewed() -> None:
    mine = OWN.body.replace("- [ ] b?", "- [ ] mine?")
    body = _rewritten(_refreshed(replace(OWN, body=mine))).rewrites[0].body
    assert "- a\n- c" in body
    assert body.endswith("## Checklist\n\n- [ ] mine?")


@pytest.mark.parametrize("said", [["Other words."], ["Warns.", OWN.description + " More."], []])
def test_a_description_that_a_person_changed_stays(said: list[str]) -> None:
    change = _rewritten(_refreshed(), said=said)
    assert ("description",) not in [edit.key for edit in change.edits]


@pytest.mark.parametrize("expires", ["2030-01-01T00:00:00Z", "2027-01-03T09:00:00Z"])
def test_a_later_end_stays(expires: str) -> None:
    change = _rewritten(_refreshed(replace(OWN, expires=expires)))
    assert ("metadata", "expires") not in [edit.key for edit in change.edits]


def test_the_end_that_it_was_given_is_renewed_by_new_outcomes() -> None:
    change = _rewritten(_refreshed())
    assert Edit(PATH, ("metadata", "expires"), expiry_of(FOUND, POLICY) or "") in change.edits


def test_an_end_that_a_person_wrote_stays() -> None:
    change = _rewritten(_refreshed(replace(OWN, expires=stamp(creation_time(BEFORE)))))
    assert not [edit for edit in change.edits if edit.key == ("metadata", "expires")]


def test_a_subject_that_a_skill_does_not_state_yet_is_written_to_it() -> None:
    change = _rewritten(_refreshed(replace(OWN, subject=None)))
    subject = "perps / open_long / SOL-PERP"
    assert Edit(PATH, ("metadata", "subject"), subject) in change.edits


def test_a_file_that_has_nothing_more_to_hold_keeps_its_heading() -> None:
    change = _rewritten(_refreshed(), references=References({STATEMENTS}, set()))
    place = f"skills/{OWN.name}/references/{STATEMENTS}"
    assert dict(change.files)[place] == f"{OVERFLOW}\n".encode()


def test_what_has_no_room_goes_to_its_file() -> None:
    lines = "\n".join(f"- Statement {number} of a rather long list." for number in range(200))
    draft = replace(NEXT, sections=(("What Went Wrong", lines),))
    change = _rewritten(_refreshed(), draft, references=References({STATEMENTS}, set()))
    place = f"skills/{OWN.name}/references/{STATEMENTS}"
    assert b"Statement 199 of" in dict(change.files)[place]


def test_a_file_that_a_person_wrote_stays_and_what_has_no_room_gets_one_of_its_own() -> None:
    lines = "\n".join(f"- Statement {number} of a rather long list." for number in range(200))
    draft = replace(NEXT, sections=(("What Went Wrong", lines),))
    edited = References(set(), {STATEMENTS, "mine.md"})
    change = _rewritten(_refreshed(), draft, references=edited)
    place = f"skills/{OWN.name}/references/"
    assert b"Statement 199 of" in dict(change.files)[f"{place}statements-2.md"]
    assert "*More: references/statements-2.md*" in change.rewrites[0].body
    short = _rewritten(_refreshed(), references=edited)
    assert [path for path, _ in short.files] == [f"{place}evidence.yaml"]


TEXTS = st.lists(
    st.sampled_from(
        ["## Checklist\n", "## Mine\n", "## Evidence\n", "- mine\n", "\n", "x ", "```\n"]
    ),
    max_size=10,
).map("".join)


@given(TEXTS)
def test_a_persons_sections_keep_every_byte(edited: str) -> None:
    body = edited.strip()
    change = _rewritten(_refreshed(replace(OWN, body=body)))
    after = change.rewrites[0].body if change.rewrites else body
    mine = edited_sections([Version(None, OWN.body)], body)
    for key, text in sections_of(body).items():
        if key in mine:
            assert text.strip("\r\n") in after


@pytest.mark.parametrize(("kind", "score"), [("pattern", 0.3), ("guide", 0.05)])
def test_a_pattern_and_a_guide_are_refreshed_like_a_warning(kind: SkillKind, score: float) -> None:
    trades = [traded(day, TENANT, score) for day in range(2)]
    skill = _own(findings_of(trades[:1], kind))
    assert _what(findings_of(trades, kind), skill) == "refresh"
    assert _what(findings_of(trades[:1], kind), skill) is None


def test_a_guide_is_told_with_every_try_each_time() -> None:
    trades = [traded(day, TENANT, 0.05) for day in range(2)]
    skill = _own(findings_of(trades[:1], "guide"))
    change = _rewritten(_refreshed(skill, findings_of(trades, "guide")))
    assert change.headline == "refresh: guide-perps-open-long"
    tried = dict(change.files)[f"skills/{skill.name}/references/tried.md"].decode()
    assert tried.count("\n- ") == 2
