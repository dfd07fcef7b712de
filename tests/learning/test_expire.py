"""expire: past its time a skill goes; proven and used, or brought back, it stays."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from skillvault.learning import expire
from skillvault.model.policy import GeneratePolicy, Policy
from skillvault.model.records import Skill, stamp
from tests.given import NOW

POLICY = Policy(generate=GeneratePolicy(warning_days=60))
MADE = NOW - timedelta(days=60)
WARNING = Skill(
    "warning-a",
    kind="warning",
    origin="generated",
    created=stamp(MADE),
    expires=stamp(NOW),
)


def expired(
    skill: Skill,
    *,
    after: timedelta = timedelta(seconds=1),
    applied: datetime | None = None,
    archived: Skill | None = None,
) -> list[str | None]:
    """The new end of a skill that stays, None where it goes; empty for one that is not due."""
    change = expire.expiry_change(
        skill,
        "skills",
        load_archived=lambda: archived,
        last_applied=applied,
        clock=NOW + after,
        policy=POLICY,
    )
    if change is None:
        return []
    if change.moves:
        assert not change.edits
        return [None]
    return [str(edit.value) for edit in change.edits]


def changed(**changes: Any) -> Skill:
    """The warning, otherwise."""
    return msgspec.structs.replace(WARNING, **changes)


def test_older_by_any_amount_and_not_at_the_very_end() -> None:
    assert expired(WARNING) == [None]
    assert expired(WARNING, after=timedelta()) == []


def test_an_explicit_expiry_wins() -> None:
    assert expired(changed(expires=stamp(NOW + timedelta(days=1)))) == []
    manual = Skill("mine", origin="manual", expires=stamp(NOW))
    assert expired(manual) == [None]


def test_without_one_a_generated_skill_lives_its_days_from_its_making() -> None:
    assert expired(changed(expires=None)) == [None]
    assert expired(changed(expires=None, created=stamp(NOW))) == []


@pytest.mark.parametrize(
    "skill",
    [
        changed(status="pinned"),
        changed(origin="manual", expires=None),
        changed(kind="guide", expires=None),
        changed(expires="soon", origin="manual"),
    ],
)
def test_some_do_not_expire(skill: Skill) -> None:
    assert expired(skill, after=timedelta(days=1000)) == []


@pytest.mark.parametrize(("days", "stays"), [(29, True), (30, True), (31, False)])
def test_a_proven_skill_applied_in_the_last_half_of_its_time_stays(days: int, stays: bool) -> None:
    used = NOW - timedelta(days=days)
    (renewed,) = expired(changed(status="proven"), applied=used)
    assert (renewed is not None) is stays


def test_a_skill_in_testing_goes_although_it_was_applied() -> None:
    assert expired(WARNING, applied=NOW - timedelta(days=1)) == [None]


def test_what_a_person_brought_back_begins_its_time_anew() -> None:
    (renewed,) = expired(WARNING, after=timedelta(days=2), archived=WARNING)
    assert renewed is not None
    before = changed(expires=stamp(MADE))
    assert expired(WARNING, archived=before) == [None]


def test_a_renewed_skill_gets_its_kinds_days() -> None:
    renewed = expired(changed(status="proven"), after=timedelta(days=3), applied=NOW)
    assert renewed == [stamp(NOW + timedelta(days=63))]
