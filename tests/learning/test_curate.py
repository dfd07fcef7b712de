"""curate: what a person may decide about a skill in which folder."""

from collections.abc import Callable
from functools import partial

import pytest
from msgspec.structs import replace

from skillvault.learning import curate
from skillvault.model.change import Change, Edit, Move, Rewrite
from skillvault.model.errors import UsageError
from skillvault.model.policy import Policy
from skillvault.model.records import Ref, Skill
from tests.given import NOW

SKILL = Skill("w", "does", kind="warning", status="testing", expires="2026-12-01T00:00:00Z")
restore = partial(curate.restore, now=NOW, policy=Policy())


@pytest.mark.parametrize(
    ("act", "folder", "move", "status"),
    [
        (curate.approve, "proposed", Move("proposed/w", "skills/w"), "testing"),
        (curate.retire, "skills", Move("skills/w", "archive/w"), "retired"),
        (curate.retire, "proposed", Move("proposed/w", "archive/w"), "retired"),
        (restore, "archive", Move("archive/w", "skills/w"), "testing"),
    ],
)
def test_a_decision_moves_the_folder_and_sets_the_status(
    act: Callable[[Skill, str], Change], folder: str, move: Move, status: str
) -> None:
    change = act(SKILL, folder)
    assert change.moves == (move,)
    assert (change.edits[0].path, change.edits[0].value) == (f"{folder}/w/SKILL.md", status)


def test_a_pin_stays_where_it_is() -> None:
    change = curate.pin(SKILL, "skills")
    assert (change.moves, change.edits[0].value) == ((), "pinned")


def test_restoring_starts_the_time_to_live_again() -> None:
    assert restore(SKILL, "archive").edits[1].value == "2027-01-19T12:00:00Z"


def test_restoring_a_skill_that_never_expires_gives_it_no_date() -> None:
    assert len(restore(Skill("w", "does"), "archive").edits) == 1


@pytest.mark.parametrize(
    ("act", "folder"),
    [
        (curate.approve, "skills"),
        (curate.approve, "archive"),
        (curate.retire, "archive"),
        (curate.pin, "proposed"),
        (curate.pin, "archive"),
        (restore, "skills"),
    ],
)
def test_a_decision_that_makes_no_sense_says_what_would(
    act: Callable[[Skill, str], Change], folder: str
) -> None:
    with pytest.raises(UsageError, match="w: "):
        act(SKILL, folder)


# ── put ──────────────────────────────────────────────────────────────────────────────

NEW = Skill("w", "does more", "New text.", tags=("a", "b"), kind="guide")


def test_a_new_skill_is_written_whole() -> None:
    change = curate.put(NEW, None)
    assert change is not None
    assert (change.writes, change.targets) == ((NEW,), (Ref("skill", "w"),))


def test_over_a_skill_only_what_differs_is_set() -> None:
    change = curate.put(NEW, Skill("w", "does", "Old text.", kind="guide"))
    assert change is not None
    assert change.edits == (
        Edit("skills/w/SKILL.md", ("description",), "does more"),
        Edit("skills/w/SKILL.md", ("metadata", "tags"), "a b"),
    )
    assert change.rewrites == (Rewrite("skills/w/SKILL.md", "New text."),)
    assert change.reason == "Changed: description, tags and text."


def test_the_same_skill_again_is_no_change() -> None:
    assert curate.put(NEW, NEW) is None


def test_status_origin_and_trust_are_not_put_over() -> None:
    assert curate.put(replace(NEW, status="pinned", origin="seed", trust="untrusted"), NEW) is None


@pytest.mark.parametrize(
    ("skill", "folder", "says"),
    [
        (NEW, "archive", "skill restore"),
        (replace(NEW, name="../w"), "skills", "lower-case"),
        (replace(NEW, description=""), "skills", "what it does"),
        (replace(NEW, description="x" * 1025), "skills", "1025 characters"),
    ],
)
def test_what_cannot_be_put_says_why(skill: Skill, folder: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        curate.put(skill, None, folder)


def test_a_pinned_skill_is_not_pinned_twice() -> None:
    with pytest.raises(UsageError, match="pinned already"):
        curate.pin(Skill("w", "does", status="pinned"), "skills")
