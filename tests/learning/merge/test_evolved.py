"""evolved: one skill for several subjects: its text, its commits, a person's words untouched."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from skillvault.judge.offline.judge import OfflineJudge
from skillvault.learning.generate.warning_pattern import Present
from skillvault.learning.length import OVERFLOW, STATEMENTS, References
from skillvault.learning.merge import evolved
from skillvault.learning.merge.evolved import Merging
from skillvault.learning.merge.groups import Group, Voice, cause_keys
from skillvault.learning.naming import subject_key
from skillvault.learning.sections import Version, Written, theirs
from skillvault.model.brief import Agreement, Draft
from skillvault.model.change import Change, Edit, Move
from skillvault.model.policy import MergePolicy, Policy
from skillvault.model.records import Link, Outcome, Ref, Skill
from skillvault.model.text.text import tokens
from skillvault.model.written import sections_of
from tests.learning.accounts import CHECKED, PRICES, TENANT, ended, findings_of

TARGETS = ("billing", "checkout", "search")
LINES = ("- Say a.", "- Say b.", "- Say c.")
DRAFT = Draft(
    "Say it",
    "Says it.",
    (("Synthesized Insight", LINES[0]), ("Key Principles", "\n".join(LINES[1:]))),
)
OWN = tuple(f"skills/warning-coding-fix-flaky-test-{target}" for target in TARGETS)
NAMES = tuple(place.partition("/")[2] for place in OWN)


def _subject(day: int, target: str, reasoning: str = TENANT) -> list[Outcome]:
    return [
        ended(day, reasoning, decision__target=target),
        ended(day + 3, reasoning, decision__target=target),
    ]


def _brief(subjects: Sequence[Sequence[Outcome]]) -> Agreement:
    together = findings_of([one for outcomes in subjects for one in outcomes])
    return Agreement(together=together, apart=tuple(map(findings_of, subjects)))


BRIEF = _brief([_subject(day, target) for day, target in enumerate(TARGETS)])


def _merging(brief: Agreement = BRIEF, **changes: Any) -> Merging:
    voices = tuple(
        Voice(
            subject=subject_key(found.account.outcomes[0].subject),
            first=found.account.outcomes[0].id,
            causes=cause_keys(found),
        )
        for found in brief.apart
    )
    key = next((key for voice in voices for key in voice.causes), "guess-0123456789ab")
    fields: dict[str, Any] = {
        "group": Group(domain="coding", kind="warning", key=key, voices=voices),
        "brief": brief,
        "read": "0123456789ab",
        "present": Present(),
        "own": OWN,
        "fresh": evolved.fresh_of(brief, frozenset()),
    }
    return Merging(**{**fields, **changes})


def _made(
    due: Merging | None = None, draft: Draft = DRAFT, limit: int = 600, taken: Sequence[str] = ()
) -> Change:
    policy = Policy(merge=MergePolicy(max_tokens=limit))
    return evolved.merge_change(due or _merging(), draft, taken=taken.__contains__, policy=policy)


def _skill(change: Change) -> Skill:
    skill = change.writes[0]
    assert isinstance(skill, Skill)
    return skill


def _sources_file(change: Change) -> str:
    return next(data.decode() for path, data in change.files if path.endswith("/sources.md"))


# ── the skill ────────────────────────────────────────────────────────────────────────


def test_the_skill_its_links_and_what_stood_alone_are_one_commit() -> None:
    change = _made()
    skill = _skill(change)
    assert (skill.kind, skill.status, skill.origin) == ("evolved", "testing", "generated")
    assert (skill.domain, skill.trust) == ("coding", "local")
    assert change.moves == tuple(Move(f"skills/{name}", f"archive/{name}") for name in NAMES)
    links = [write for write in change.writes if isinstance(write, Link)]
    ids = [one.id for one in BRIEF.together.account.outcomes]
    assert [(w.type, w.source) for w in links] == [
        *(("merged", Ref("skill", name)) for name in NAMES),
        *(("generated", Ref("evaluation", outcome_id)) for outcome_id in ids),
    ]
    assert {link.target.id for link in links} == {skill.name}
    assert change.sources == tuple(link.source for link in links)
    assert change.targets == (Ref("skill", skill.name),)
    assert (change.headline, change.judge) == (f"merge: {skill.name}", "scripted 1")


def test_however_long_its_subjects_are_a_text_is_within_its_length_and_says_the_best() -> None:
    names = [f"比特币永续合约{number}" * 8 for number in range(12)]
    cause = f"I assume that {'无需检查' * 20}."
    brief = _brief([_subject(day, name, cause) for day, name in enumerate(names)])
    draft = OfflineJudge().write(brief)
    assert draft is not None
    body = _skill(_made(_merging(brief), draft, limit=400)).body
    assert tokens(body) <= 400
    assert "*Stands for 12 subjects: fix-flaky-test on 比特币" in body
    assert "无需检查" * 10 in body.partition("## ")[2]
    assert "more*" in body


def test_no_skill_of_a_subject_need_have_been_there() -> None:
    change = _made(_merging(own=()))
    assert change.moves == ()
    assert {ref.kind for ref in change.sources} == {"evaluation"}


def test_it_states_its_group_and_what_it_was_made_of() -> None:
    due = _merging()
    skill = _skill(_made(due))
    assert (skill.subject, skill.account) == (due.group.subject, due.read)
    assert skill.tags == ("coding", "fix-flaky-test", *TARGETS)


def test_it_is_as_old_as_the_latest_outcome_that_it_rests_on() -> None:
    skill = _skill(_made())
    assert (skill.created, skill.expires) == ("2026-11-06T09:00:00Z", "2027-05-05T09:00:00Z")


def test_its_name_comes_from_what_is_said_and_ends_in_hex_never_in_a_number() -> None:
    due = _merging()
    name = _skill(_made(due)).name
    assert name.startswith("evolved-coding-")
    assert name.endswith(f"-{due.group.key[-6:]}")
    again = _skill(_made(due, taken=[name])).name
    assert re.fullmatch(r"evolved-coding-[a-z0-9-]+-[0-9a-f]{6}", again)
    assert again != name


def test_only_outcomes_that_are_not_linked_yet_are_fresh() -> None:
    ids = [one.id for one in BRIEF.together.account.outcomes]
    assert evolved.fresh_of(BRIEF, frozenset(ids[:4])) == tuple(ids[4:])


# ── the text ─────────────────────────────────────────────────────────────────────────


def test_the_body_says_for_whom_it_stands_and_as_of_when() -> None:
    assert _skill(_made()).body.startswith(
        "# Evolved: Say it\n\n"
        "*Stands for 3 subjects: fix-flaky-test on billing, fix-flaky-test on checkout and "
        "fix-flaky-test on search*\n"
        "*As of 6 outcomes, 2026-11-06*\n"
        "*Domain: coding*\n\n"
        "## Synthesized Insight\n\n- Say a."
    )


def test_of_many_subjects_the_header_names_eight() -> None:
    brief = _brief([_subject(0, f"target-{number}") for number in range(11)])
    body = _skill(_made(_merging(brief))).body
    header = body.splitlines()[2]
    assert header.startswith("*Stands for 11 subjects: fix-flaky-test on target-0, ")
    assert header.endswith("fix-flaky-test on target-7 and 3 more*")


def test_it_has_at_most_so_many_tokens_and_names_the_file_of_the_rest() -> None:
    lines = "\n".join(f"- Statement {number} of a rather long list." for number in range(80))
    draft = Draft("Long", "d", (("Synthesized Insight", "- One."), ("Key Principles", lines)))
    change = _made(draft=draft, limit=300)
    body = _skill(change).body
    assert tokens(body) <= 300
    assert "*More: references/statements.md*" in body
    files = {path.rpartition("/")[2]: data.decode() for path, data in change.files}
    assert set(files) == {"sources.md", STATEMENTS}
    assert all(f"Statement {n} of" in body + files[STATEMENTS] for n in range(80))


def test_a_short_text_has_only_the_file_of_its_sources() -> None:
    change = _made()
    assert [path for path, _ in change.files] == [
        f"skills/{_skill(change).name}/references/sources.md"
    ]
    assert "More:" not in _skill(change).body


# ── what became of each statement ────────────────────────────────────────────────────


def _fates(brief: Agreement) -> list[str]:
    text = _sources_file(_made(_merging(brief)))
    return [line.removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]


def test_what_is_said_in_the_same_words_is_kept() -> None:
    assert _fates(BRIEF) == [f"kept     guess: “{TENANT}”"] * 3


def test_what_is_said_in_other_words_is_fused_with_those_that_stand() -> None:
    other = "I assume the cache key does not need a tenant."
    brief = _brief([*(_subject(0, t) for t in TARGETS), _subject(4, "web", other)])
    assert f"fused    guess: “{other}” -> “{TENANT}”" in _fates(brief)


def test_what_is_contested_together_is_dropped_with_its_reason() -> None:
    contested = [ended(day, PRICES, "success", decision__target="web") for day in range(3)]
    brief = _brief([*(_subject(0, t) for t in TARGETS[:2]), _subject(4, "search", PRICES),
                    contested])  # fmt: skip
    assert f"dropped  guess: “{PRICES}” (together as much speaks against it as for it)" in _fates(
        brief
    )


def test_what_is_no_cause_is_counted_anew() -> None:
    cured = [*_subject(0, "web"), ended(5, CHECKED, "success", decision__target="web")]
    brief = _brief([*(_subject(0, t) for t in TARGETS), cured])
    assert "fused    remedy -> counted anew for all of them" in _fates(brief)


def test_each_statement_of_each_subject_has_its_fate_in_the_file() -> None:
    text = _sources_file(_made())
    assert text.startswith("# What each subject says, and where it stands\n\n## fix-flaky-test on ")
    for target in TARGETS:
        assert f"## fix-flaky-test on {target}\n\n- kept     guess: “{TENANT}”" in text


def test_a_message_lists_all_statements_where_they_are_few() -> None:
    reason = _made().reason
    assert reason.splitlines()[0].endswith(
        "stands for 3 subjects that say the same: 6 of 6 outcomes are failures or losses."
    )
    assert all(f"{name} goes to archive/." in reason for name in NAMES)
    assert f"  fix-flaky-test on billing: kept     guess: “{TENANT}”" in reason
    assert "more in references" not in reason


def test_a_message_lists_at_most_20_statements_and_names_the_file_of_the_rest() -> None:
    brief = _brief([_subject(0, f"target-{number:02}") for number in range(23)])
    change = _made(_merging(brief, own=()))
    listed = [line for line in change.reason.splitlines() if line.startswith("  ")]
    assert len(listed) == 20
    assert change.reason.splitlines()[-1] == "3 more in references/sources.md."
    assert len(_fates(brief)) == 23


# ── growing ──────────────────────────────────────────────────────────────────────────

BODY = _skill(_made()).body
NO_FILES = References(set(), set())


def _grown(
    body: str = BODY,
    shelf: str = "skills",
    references: References = NO_FILES,
    said: Sequence[str] = ("Said.",),
    ends: Sequence[str] = (),
    **changes: Any,
) -> Change:
    """The change by which the evolved skill takes a third subject in."""
    skill = replace(_skill(_made()), name="evolved-x", body=body, description="Said.")
    ids = [one.id for one in BRIEF.together.account.outcomes]
    due = _merging(
        present=Present(skill=replace(skill, **changes), shelf=shelf),
        own=OWN[2:],
        fresh=tuple(ids[4:]),
        read="ba9876543210",
    )
    written = Written(
        bodies=[Version(None, BODY)],
        descriptions=[Version(None, text) for text in said],
        ends=[Version(None, text) for text in ends],
    )
    draft = replace(DRAFT, sections=(DRAFT.sections[0], ("Key Principles", "- Say b.\n- Say d.")))
    return evolved.growth_change(due, draft, written, references=references, policy=Policy())


def test_it_grows_in_place_and_only_what_is_new_is_linked_and_moves() -> None:
    change = _grown()
    assert change.headline == "merge: grow evolved-x"
    assert change.moves == (Move(OWN[2], f"archive/{NAMES[2]}"),)
    links = [write for write in change.writes if isinstance(write, Link)]
    assert [(link.type, link.source.kind) for link in links] == [
        ("merged", "skill"),
        *[("reinforced", "evaluation")] * 2,
    ]
    assert change.targets == (Ref("skill", "evolved-x"), *(Ref("link", w.id) for w in links))
    assert "- Say b.\n- Say d." in change.rewrites[0].body
    path = "skills/evolved-x/SKILL.md"
    assert change.edits == (
        Edit(path, ("description",), "Says it."),
        Edit(path, ("metadata", "account"), "ba9876543210"),
    )
    assert [name for name, _ in change.files] == ["skills/evolved-x/references/sources.md"]


def test_one_whose_time_was_over_comes_back() -> None:
    change = _grown(shelf="archive")
    assert change.moves[0] == Move("archive/evolved-x", "skills/evolved-x")
    assert change.headline == "merge: restore evolved-x"


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"expires": "2030-01-01T00:00:00Z"}, ("metadata", "expires")),
        ({"status": "pinned", "expires": "2026-11-01T00:00:00Z"}, ("metadata", "expires")),
        ({"said": ["Other words."]}, ("description",)),
    ],
)
def test_a_key_that_a_person_set_stays(changes: dict[str, Any], key: tuple[str, ...]) -> None:
    assert key not in {edit.key for edit in _grown(**changes).edits}


def test_an_end_that_it_was_given_and_what_it_does_not_state_yet_are_renewed() -> None:
    given_end = "2026-11-07T00:00:00Z"
    change = _grown(expires=given_end, ends=[given_end], subject=None, created=None)
    assert {edit.key[-1] for edit in change.edits} == {
        "description", "account", "subject", "created", "expires",
    }  # fmt: skip


def test_an_earlier_end_that_a_person_wrote_stays() -> None:
    change = _grown(expires="2026-11-07T00:00:00Z", ends=["2027-05-01T00:00:00Z"])
    assert "expires" not in {edit.key[-1] for edit in change.edits}


TEXTS = st.lists(
    st.sampled_from(["## Key Principles\n", "## Mine\n", "## Evidence\n", "- mine\n", "\n", "x "]),
    max_size=10,
).map("".join)


@given(TEXTS)
def test_a_persons_sections_keep_every_byte(edited: str) -> None:
    body = edited.strip()
    change = _grown(body)
    after = change.rewrites[0].body if change.rewrites else body
    mine = theirs([Version(None, BODY)], body)
    for key, text in sections_of(body).items():
        if key in mine:
            assert text.strip("\r\n") in after


def test_a_file_that_a_person_wrote_stays_and_the_sources_get_one_of_their_own() -> None:
    ((path, data),) = _grown(references=References(set(), {"sources.md", STATEMENTS})).files
    assert path.endswith("/references/sources-2.md")
    assert data.startswith(b"# What each subject says")


def test_a_file_that_has_nothing_more_to_hold_keeps_its_heading() -> None:
    files = dict(_grown(references=References({"sources.md", STATEMENTS}, set())).files)
    assert files[f"skills/evolved-x/references/{STATEMENTS}"] == f"{OVERFLOW}\n".encode()
    assert len(files) == 2


def test_one_whose_subjects_do_not_agree_any_more_leaves() -> None:
    skill = replace(_skill(_made()), name="evolved-x")
    change = evolved.leave_change(skill, "skills")
    assert change.moves == (Move("skills/evolved-x", "archive/evolved-x"),)
    assert change.headline == "merge: archive evolved-x"
    assert change.targets == (Ref("skill", "evolved-x"),)
