"""strategy of the profile `seed`: when one is due, of what, and what a person keeps."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from skillvault.learning.generate import SkillState
from skillvault.learning.rejection import Rejection
from skillvault.learning.sections import Version, WrittenTexts
from skillvault.learning.seed import strategy
from skillvault.learning.seed.strategy import period_of
from skillvault.model.brief import Draft, Period
from skillvault.model.change import Change, Edit, Move
from skillvault.model.errors import BadInputError
from skillvault.model.policy import GeneratePolicy, Policy, parse_policy
from skillvault.model.records import Link, Outcome, Ref, Skill, stamp
from tests.given import NOW, evaluation, outcome, raw

DRAFT = Draft("coding", "What outcomes in coding say together.", (("Context", "- x"),))
NONE: frozenset[str] = frozenset()
OWN = Skill(
    "strategy-coding",
    description="Says so.",
    body="# Strategy: coding",
    kind="strategy",
    domain="coding",
    origin="generated",
    created=stamp(NOW - timedelta(days=100)),
    expires=stamp(NOW + timedelta(days=80)),
)
PATH = "skills/strategy-coding/SKILL.md"
ARCHIVED = "archive/strategy-coding/SKILL.md"


def _outcomes(count: int) -> tuple[Outcome, ...]:
    made = [outcome(raw(0, occurred_at=_minute(number))) for number in range(count)]
    return tuple(sorted(made, key=lambda o: o.order))


def _minute(number: int) -> str:
    return (datetime(2026, 11, 1, 9, 0, tzinfo=UTC) + timedelta(minutes=number)).isoformat()


def _records(outcomes: Sequence[Outcome], **changes: Any) -> strategy.StrategyRecords:
    fields: dict[str, Any] = {
        "domain": "coding",
        "read": tuple(o.id for o in outcomes),
        "unread": len(outcomes),
        "made_at": NOW,
    }
    return strategy.StrategyRecords(**{**fields, **changes})


def _standing(records: strategy.StrategyRecords) -> SkillState:
    return strategy.strategy_state(records, NOW, Policy())


def _ids(outcomes: Sequence[Outcome]) -> frozenset[str]:
    return frozenset(o.id for o in outcomes)


# ── is one due, and of what ──────────────────────────────────────────────────────────


def _counted(count: int, policy: Policy | None = None, **changes: Any) -> SkillState:
    """Return the state of a domain that has so many outcomes."""
    records = _records(_outcomes(count), **changes)
    return strategy.strategy_state(records, NOW, policy or Policy())


def test_ten_outcomes_make_one_and_nine_do_not() -> None:
    assert _counted(10).state == "due"
    nine = _counted(9)
    assert (nine.state, nine.reason) == ("waiting", "9 outcomes so far; needs 10")
    assert _counted(1).reason == "1 outcome so far; needs 10"


def test_one_that_was_made_of_what_is_read_waits_until_ten_more_are_there() -> None:
    own = replace(OWN, account=_records(_outcomes(20)).account)
    waits = _counted(27, skill=own, path=PATH, unread=7)
    assert (waits.state, waits.reason) == (
        "waiting",
        "7 outcomes since its last strategy; needs 10",
    )
    assert _counted(30, skill=own, path=PATH, unread=10).state == "due"


def test_a_retraction_makes_it_due_though_there_are_no_more() -> None:
    outcomes = _outcomes(21)
    own = replace(OWN, account=_records(outcomes[:20]).account)
    fields: dict[str, Any] = {"skill": own, "path": PATH, "unread": 0}
    assert _standing(_records(outcomes[1:], **fields)).state == "waiting"
    assert _standing(_records(outcomes[1:], is_recounted=True, **fields)).state == "due"


def test_nothing_is_due_where_it_looked_at_all_of_them_before() -> None:
    """A text that a person took back is therefore not written again."""
    outcomes = _outcomes(20)
    own = replace(OWN, account="0" * 12)
    changes: dict[str, Any] = {"skill": own, "path": PATH}
    assert _standing(_records(outcomes, linked=_ids(outcomes), **changes)).state == "waiting"
    assert _standing(_records(outcomes, linked=_ids(outcomes[1:]), **changes)).state == "due"


def test_how_many_make_one_is_the_policys() -> None:
    policy = Policy(generate=GeneratePolicy(strategy_every=3))
    assert _counted(3, policy).state == "due"
    assert _counted(2, policy).reason == "2 outcomes so far; needs 3"


@pytest.mark.parametrize(
    ("skill", "path", "says"),
    [
        (replace(OWN, origin="manual"), PATH, "not the program's own (origin manual"),
        (replace(OWN, kind="guide"), PATH, "kind guide"),
        (replace(OWN, domain="other"), PATH, "not the program's own"),
        (replace(OWN, status="pinned"), PATH, "is pinned"),
        (None, PATH, "cannot be read"),
        (replace(OWN, status="retired"), ARCHIVED, "was archived"),
        (OWN, ARCHIVED, "was archived"),
    ],
)
def test_what_is_a_persons_is_left(skill: Skill | None, path: str, says: str) -> None:
    found = _standing(_records(_outcomes(30), skill=skill, path=path, expired=True))
    assert found.state == "archived"
    assert says in found.reason


@pytest.mark.parametrize(("by_its_age", "state"), [(True, "due"), (False, "archived")])
def test_an_expired_one_comes_back_unless_a_person_put_it_away(
    by_its_age: bool, state: str
) -> None:
    over = replace(OWN, expires=stamp(NOW - timedelta(days=1)))
    records = _records(_outcomes(30), skill=over, path=ARCHIVED, expired=by_its_age)
    assert _standing(records).state == state


def test_one_that_a_person_took_away_is_not_redone() -> None:
    gone = Rejection("skill:strategy-coding", "0123456789abcdef")
    found = _standing(_records(_outcomes(30), rejection=gone))
    assert found.state == "rejected"
    assert "0123456789" in found.reason


# ── the changes ──────────────────────────────────────────────────────────────────────


def _brief(outcomes: Sequence[Outcome]) -> Period:
    evaluations = {o.id: evaluation(o) for o in outcomes}
    return period_of("coding", outcomes, evaluations, Policy())


def _first(outcomes: Sequence[Outcome]) -> Change:
    return strategy.first_change(_records(outcomes), _brief(outcomes), DRAFT, policy=Policy())


def _rewritten(
    outcomes: Sequence[Outcome],
    bodies: Sequence[str] = (),
    said: Sequence[str] = ("Says so.",),
    **present: Any,
) -> Change:
    written = WrittenTexts(
        bodies=[Version(None, body) for body in bodies or (OWN.body,)],
        descriptions=[Version(None, text) for text in said],
    )
    records = _records(outcomes, **{"skill": OWN, "path": PATH, **present})
    return strategy.next_change(records, _brief(outcomes), DRAFT, written, policy=Policy())


def test_the_first_one_is_a_skill_that_gets_its_chance() -> None:
    outcomes = _outcomes(12)
    change = _first(outcomes)
    skill = change.writes[0]
    assert isinstance(skill, Skill)
    assert (skill.name, skill.kind, skill.origin) == ("strategy-coding", "strategy", "generated")
    assert (skill.status, skill.trust, skill.domain) == ("testing", "local", "coding")
    assert skill.account == _records(outcomes).account
    assert skill.tags == ("coding", "fix-flaky-test")
    assert change.headline == "generate: strategy-coding"


def test_its_life_counts_from_the_run_that_made_it() -> None:
    skill = _first(_outcomes(12)).writes[0]
    assert isinstance(skill, Skill)
    assert (skill.created, skill.expires) == (stamp(NOW), stamp(NOW + timedelta(days=180)))


def test_each_evaluation_is_linked_once() -> None:
    outcomes = _outcomes(12)
    first = _first(outcomes)
    links = [w for w in first.writes if isinstance(w, Link)]
    assert [link.source.id for link in links] == [o.id for o in outcomes]
    assert {(link.type, link.target.id) for link in links} == {("generated", "strategy-coding")}
    assert first.sources == tuple(Ref("evaluation", o.id) for o in outcomes)
    assert first.targets == (Ref("skill", "strategy-coding"),)
    later = _rewritten(outcomes, linked=_ids(outcomes[:10]))
    assert [ref.id for ref in later.sources] == [o.id for o in outcomes[10:]]


def test_the_header_says_from_what_and_when_with_result_and_domain() -> None:
    scored = [
        outcome(raw(day, result={"score": score})) for day, score in ((0, 0.1), (1, 0.2), (2, -0.3))
    ]
    body = strategy.strategy_body(_brief([*scored, outcome(raw(3, result={"score": 0.0}))]), DRAFT)
    assert body.startswith(
        "# Strategy: coding\n\n"
        "*From 4 outcomes of 2026-11-01 to 2026-11-04*\n"
        "*Win rate 50 % (2 of 4); average win +15.0 %; average loss -30.0 %; 1 neutral*\n"
        "*Domain: coding*\n\n## Context"
    )


def test_a_rewriting_keeps_what_a_person_wrote_and_renews_the_rest() -> None:
    wrote = "# Strategy: coding\n\nhead\n\n## Context\n\n- a\n\n## Exit Rules\n\n- b"
    edited = wrote.replace("- b", "- mine,\n  over two lines")
    skill = replace(OWN, body=edited)
    change = _rewritten(_outcomes(12), [wrote], skill=skill)
    (rewrite,) = change.rewrites
    assert "## Context\n\n- x" in rewrite.body
    assert rewrite.body.endswith("## Exit Rules\n\n- mine,\n  over two lines")
    assert change.edits == (
        Edit(PATH, ("description",), DRAFT.description),
        Edit(PATH, ("metadata", "account"), _records(_outcomes(12)).account),
        Edit(PATH, ("metadata", "created"), stamp(NOW)),
        Edit(PATH, ("metadata", "expires"), stamp(NOW + timedelta(days=180))),
    )
    assert change.headline == "generate: rewrite strategy-coding"


@pytest.mark.parametrize("said", [["Other words."], ["Says.", "Says so."], []])
def test_a_description_that_a_person_changed_stays(said: list[str]) -> None:
    change = _rewritten(_outcomes(12), said=said)
    assert ("description",) not in [edit.key for edit in change.edits]


@pytest.mark.parametrize("expires", [stamp(NOW + timedelta(days=400)), None])
def test_a_later_end_or_none_that_a_person_gave_stays(expires: str | None) -> None:
    skill = replace(OWN, expires=expires, created=None)
    change = _rewritten(_outcomes(12), skill=skill)
    assert ("metadata", "expires") not in [edit.key for edit in change.edits]


def test_an_equal_text_still_links_what_it_was_made_of() -> None:
    outcomes = _outcomes(12)
    same = replace(OWN, body=strategy.strategy_body(_brief(outcomes), DRAFT))
    change = _rewritten(outcomes, [same.body], skill=same)
    assert change.rewrites == ()
    assert len(change.writes) == 12


def test_an_archived_one_moves_back_with_its_new_text() -> None:
    change = _rewritten(_outcomes(12), path=ARCHIVED)
    assert change.moves == (Move(f"archive/{OWN.name}", f"skills/{OWN.name}"),)
    assert change.rewrites[0].path == ARCHIVED


# ── its words ────────────────────────────────────────────────────────────────────────


def _scored(scores: Sequence[float]) -> list[Outcome]:
    return [outcome(raw(day, result={"score": score})) for day, score in enumerate(scores)]


@pytest.mark.parametrize(
    ("scored", "named", "heading"),
    [
        (True, {}, "Market Context"),
        (False, {}, "Context"),
        (False, {"coding": "Code Base"}, "Code Base"),
    ],
)
def test_the_first_heading_is_the_domains_own_word(
    scored: bool, named: dict[str, str], heading: str
) -> None:
    outcomes = _scored([0.1, 0.2]) if scored else list(_outcomes(2))
    policy = Policy(generate=GeneratePolicy(context_headings=named))
    period = period_of("coding", outcomes, {}, policy)
    assert period.heading == heading


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"coding": ""}, "coding"),
        ({"coding": "two\nlines"}, "coding"),
        ({"coding": "# Code"}, "coding"),
        ({"coding": 3}, "coding"),
        ({"Coding": "Code"}, "Coding"),
    ],
)
def test_a_heading_that_is_none_is_named_with_its_key(given: dict[str, Any], key: str) -> None:
    with pytest.raises(BadInputError) as caught:
        parse_policy({"generate": {"context_headings": given}})
    assert caught.value.key == f"generate.context_headings.{key}"
