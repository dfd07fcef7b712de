"""generate: where an account stands with its guide, warning or pattern, and its commit."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from skills_ref import validate  # type: ignore[import-untyped]

from skillvault.judge.offline.judge import OfflineJudge
from skillvault.learning import generate
from skillvault.learning.account.statements import digest
from skillvault.learning.generate import ExistingSkill, skill_state
from skillvault.learning.rejection import Rejection
from skillvault.model.brief import Draft, Findings
from skillvault.model.change import Change
from skillvault.model.codec import encode
from skillvault.model.policy import GeneratePolicy, Policy
from skillvault.model.records import Link, Outcome, Ref, Skill, SkillKind
from skillvault.model.text.text import count_tokens
from tests.given import outcome, raw, trade
from tests.learning.accounts import CHECKED, PRICES, TENANT, ended, findings_of, traded

DRAFT = Draft("Timeouts hide races", "Warns of raising timeouts.", (("What Went Wrong", "- x"),))
OWN = Skill("guide-coding-fix-flaky-test", kind="guide", origin="generated")
FAILED = [ended(0, TENANT)]


def _state(found: Findings, policy: Policy | None = None, **present: Any) -> tuple[str, str]:
    answer = skill_state(found, ExistingSkill(**present), policy or Policy())
    return answer.state, answer.reason


# ── where a subject stands ───────────────────────────────────────────────────────────


def test_a_failure_that_says_something_is_due() -> None:
    state, reason = _state(findings_of([*FAILED, ended(1, TENANT, "neutral")]))
    assert state == "due"
    assert reason == "2 outcomes; `skillvault run`"
    lost = findings_of([outcome(trade(0, -0.2)), outcome(trade(1, 0.01))], "warning")
    assert _state(lost)[1] == "1 of 2 outcomes are failures or losses; `skillvault run`"


def test_a_loss_beyond_the_bound_is_due_though_nothing_is_said_of_it() -> None:
    bare = raw(decision__reasoning="", decision__made_at=None, result={"score": -0.2})
    assert _state(findings_of([outcome(bare)], "warning"))[0] == "due"


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("warning", "a warning needs a score below -10 %"),
        ("pattern", "a pattern needs a score above +20 %"),
    ],
)
def test_what_is_not_significant_says_what_it_would_take(kind: SkillKind, says: str) -> None:
    found = findings_of([ended(0, CHECKED, "success")], kind)
    assert _state(found) == ("between", says)


def test_the_bound_that_is_told_is_the_policys() -> None:
    policy = Policy(generate=GeneratePolicy(warning_below=-0.055))
    found = findings_of([outcome(trade(score=-0.05))], "warning", policy)
    assert _state(found, policy)[1].endswith("a score below -5.5 %")


def test_an_account_that_changes_no_decision_is_silent() -> None:
    found = findings_of([ended(0, "", result={"summary": "failed"})])
    assert _state(found)[0] == "silent"


@pytest.mark.parametrize(
    ("present", "state", "says"),
    [
        ({"skill": OWN, "folder": "skills"}, "done", f"generated {OWN.name}"),
        ({"skill": OWN, "folder": "proposed"}, "done", f"generated {OWN.name}"),
        ({"skill": OWN, "folder": "archive"}, "archived", "is in archive/ until it says more"),
        (
            {"skill": OWN, "folder": "archive", "archiver": "a person"},
            "archived",
            f"{OWN.name} was archived by a person",
        ),
        (
            {"rejection": Rejection("skill:guide-coding-x", "0123456789abcdef")},
            "rejected",
            "made guide-coding-x in 0123456789, which was removed since",
        ),
    ],
)
def test_what_there_is_already_is_not_made_again(
    present: dict[str, Any], state: str, says: str
) -> None:
    answer = _state(findings_of(FAILED), **present)
    assert answer[0] == state
    assert says in answer[1]


@pytest.mark.parametrize(("kind", "days"), [("warning", 60), ("pattern", 90)])
def test_what_would_be_expired_at_birth_by_its_domains_clock_is_over(
    kind: SkillKind, days: int
) -> None:
    found = findings_of([traded(0, TENANT, -0.3), traded(1, CHECKED, 0.3)], kind)
    at = generate.creation_time(found)
    assert _state(found, clock=at + timedelta(days=days))[0] == "due"
    state, reason = _state(found, clock=at + timedelta(days=days, seconds=1))
    assert (state, reason) == (
        "over", f"its time would have ended on {at + timedelta(days=days):%Y-%m-%d}",
    )  # fmt: skip


def test_without_a_clock_nothing_is_over() -> None:
    old = traded(0, TENANT, -0.3, occurred_at="2018-01-01T00:00:00Z", decision__made_at=None)
    assert _state(findings_of([old], "warning"))[0] == "due"


def test_a_guide_is_never_over() -> None:
    found = findings_of(FAILED)
    assert generate.expiry_of(found, Policy()) is None
    assert _state(found, clock=generate.creation_time(found) + timedelta(days=9999))[0] == "due"


# ── the skill ────────────────────────────────────────────────────────────────────────


def _made(found: Findings, draft: Draft = DRAFT, policy: Policy | None = None) -> Change:
    return generate.skill_change(
        found, draft, is_taken=frozenset[str]().__contains__, policy=policy or Policy()
    )


def _skill(found: Findings, draft: Draft = DRAFT, policy: Policy | None = None) -> Skill:
    skill = _made(found, draft, policy).writes[0]
    assert isinstance(skill, Skill)
    return skill


def test_however_long_its_subject_is_a_text_is_within_its_length_and_says_the_best() -> None:
    names: dict[str, Any] = {
        "decision__action": "修复支付服务" * 20,
        "decision__target": "比特币永续合约" * 20,
    }
    found = findings_of(
        [ended(day, f"I assume that {'无需检查' * 20}.", **names) for day in (0, 1)]
    )
    draft = OfflineJudge().write(found)
    assert draft is not None
    body = _skill(found, draft).body
    assert count_tokens(body) <= 700
    assert "无需检查" * 10 in body.partition("## ")[2]


def _linked(change: Change) -> list[str]:
    return [write.source.id for write in change.writes if isinstance(write, Link)]


def test_a_skill_of_local_outcomes_gets_its_chance() -> None:
    skill = _skill(findings_of(FAILED))
    assert (skill.status, skill.trust, skill.origin) == ("testing", "local", "generated")


def test_a_skill_of_untrusted_outcomes_is_proposed() -> None:
    lines = "\n".join(f"- Statement {number} of a long list." for number in range(200))
    draft = Draft("Long", "d", (("What Went Wrong", lines),))
    found = findings_of([ended(0, TENANT, trust="untrusted")])
    change = _made(found, draft)
    skill = change.writes[0]
    assert isinstance(skill, Skill)
    assert (skill.status, skill.trust) == ("proposed", "untrusted")
    assert [path for path, _ in change.files] == [
        f"proposed/{skill.name}/references/{name}"
        for name in ("evidence.yaml", "statements.md", "tried.md")
    ]


def test_it_is_named_and_tagged_by_its_subject_and_states_it() -> None:
    skill = _skill(findings_of(FAILED))
    assert skill.name == "guide-coding-fix-flaky-test"
    assert skill.tags == ("coding", "fix-flaky-test", "checkout")
    assert (skill.domain, skill.subject) == ("coding", "coding / fix-flaky-test")
    lost = _skill(findings_of([outcome(trade(0, -0.2))], "warning"))
    assert lost.name == "warning-perps-open-long-sol-perp"
    assert lost.subject == "perps / open_long / SOL-PERP"


def test_it_states_of_which_account_it_was_made() -> None:
    found = findings_of(FAILED)
    assert _skill(found).account == digest(found)


def test_it_is_made_when_the_latest_outcome_was_that_it_rests_on() -> None:
    """Later outcomes that only count, and when it is learned, do not make it younger."""
    later = [traded(8, PRICES, 0.01), traded(9, "", -0.02)]
    found = findings_of([traded(0, TENANT, -0.2), traded(3, TENANT, -0.2), *later], "warning")
    skill = _skill(found)
    assert (skill.created, skill.expires) == ("2026-11-04T09:00:00Z", "2027-01-03T09:00:00Z")
    links = [write for write in _made(found).writes if isinstance(write, Link)]
    assert {link.created_at for link in links} == {generate.creation_time(found)}


def test_a_pattern_lives_its_own_days() -> None:
    found = findings_of([traded(1, CHECKED, 0.3)], "pattern")
    assert _skill(found).expires == "2027-01-31T09:00:00Z"
    policy = Policy(generate=GeneratePolicy(pattern_days=1))
    assert _skill(found, policy=policy).expires == "2026-11-03T09:00:00Z"


def test_only_losses_beyond_the_bound_and_those_behind_a_statement_are_linked() -> None:
    lost, small = traded(0, TENANT, -0.3), traded(1, PRICES, -0.02)
    change = _made(findings_of([lost, small], "warning"))
    assert _linked(change) == [lost.id]
    assert change.sources == (Ref("evaluation", lost.id),)
    told = [ended(day, TENANT) for day in (2, 3)]
    assert _linked(_made(findings_of([*told, ended(4, "", "neutral")]))) == [o.id for o in told]


def test_each_link_leads_from_an_evaluation_to_the_skill() -> None:
    change = _made(findings_of([ended(0, TENANT), ended(1, TENANT)]))
    skill, *links = change.writes
    assert isinstance(skill, Skill)
    assert change.targets == (Ref("skill", skill.name),)
    assert {(w.type, w.source.kind, w.target.id) for w in links if isinstance(w, Link)} == {
        ("generated", "evaluation", skill.name)
    }


def test_its_commit_says_of_what_it_is_made() -> None:
    change = _made(findings_of([ended(0, TENANT), ended(2, TENANT), ended(3, "", "neutral")]))
    assert change.headline == "generate: guide-coding-fix-flaky-test"
    assert change.reason.startswith("fix-flaky-test: 3 outcomes, 2026-11-01 to 2026-11-04.")
    assert change.judge == "scripted 1"


def test_the_body_says_of_what_as_of_when_and_in_which_domain() -> None:
    trades = [outcome(trade(0)), outcome(trade(2, 0.01))]
    body = _skill(findings_of(trades, "warning")).body
    assert body == (
        "# Warning: Timeouts hide races\n\n"
        "*open_long on SOL-PERP: 2 outcomes, the last on 2026-11-03*\n"
        "*Domain: perps*\n\n"
        "## What Went Wrong\n\n- x"
    )
    assert ": 1 outcome, on 2026-11-01" in _skill(findings_of(FAILED)).body


def test_a_name_that_was_used_is_not_used_again() -> None:
    taken = {"guide-coding-fix-flaky-test"}
    change = generate.skill_change(
        findings_of(FAILED), DRAFT, is_taken=taken.__contains__, policy=Policy()
    )
    assert re.fullmatch(r"guide-coding-fix-flaky-test-[0-9a-f]{6}", change.targets[0].id)


@pytest.mark.parametrize("limit", [120, 300, 400])
def test_it_has_at_most_so_many_tokens_and_a_file_of_the_rest(limit: int) -> None:
    lines = "\n".join(f"- Statement {number} of a rather long list." for number in range(200))
    draft = Draft("Long", "d", (("Avoid", lines), ("Do", "- Ask.")))
    policy = Policy(generate=GeneratePolicy(max_tokens=limit, guide_tokens=limit))
    change = _made(findings_of(FAILED), draft, policy)
    skill = change.writes[0]
    assert isinstance(skill, Skill)
    assert count_tokens(skill.body) <= limit
    assert "*More: references/statements.md*" in skill.body
    files = dict(change.files)
    text = skill.body + files[f"skills/{skill.name}/references/statements.md"].decode()
    assert all(f"Statement {number} of" in text for number in range(200))


def test_beside_a_short_text_stand_its_evidence_and_every_try_of_a_guide() -> None:
    change = _made(findings_of(FAILED))
    files = {path.rpartition("/")[2]: data.decode() for path, data in change.files}
    assert list(files) == ["evidence.yaml", "tried.md"]
    assert FAILED[0].id in files["evidence.yaml"]
    assert files["tried.md"] == f"# Tried\n\n- 2026-11-01 failed: {TENANT}\n"
    lost = _made(findings_of([outcome(trade(0, -0.2))], "warning"))
    assert [path.rpartition("/")[2] for path, _ in lost.files] == ["evidence.yaml"]


def test_a_description_is_cut_to_what_the_specification_allows() -> None:
    draft = Draft("t", "word " * 400, DRAFT.sections)
    assert len(_skill(findings_of(FAILED), draft).description) <= 1024


NAMES = st.text(min_size=1, max_size=90).filter(str.strip)


@settings(max_examples=40)  # each writes a folder
@given(NAMES, st.none() | NAMES, st.text(min_size=1, max_size=60))
def test_whatever_its_subject_a_skill_is_valid_by_the_specification(
    tmp_path_factory: pytest.TempPathFactory, action: str, target: str | None, title: str
) -> None:
    one = _about(action, target)
    skill = _skill(findings_of([one]), Draft(title, "Warns of it.", DRAFT.sections))
    folder: Path = tmp_path_factory.mktemp("skill") / skill.name
    folder.mkdir()
    (folder / "SKILL.md").write_bytes(encode(skill))
    assert validate(folder) == []


def _about(action: str, target: str | None) -> Outcome:
    one = FAILED[0]
    return replace(one, decision=replace(one.decision, action=action, target=target))


# ── which links make a skill ─────────────────────────────────────────────────────────
