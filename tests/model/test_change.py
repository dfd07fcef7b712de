"""change: a commit's message carries the step, its ends and the reason."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from skillvault.model.change import (
    INTAKE,
    INTAKE_BATCH,
    MAX_SEPARATE,
    SHARED,
    Change,
    Part,
    group_by_commit,
    headline_of,
    message_of,
    parse_parts,
    parts_of,
    skill_series,
)
from skillvault.model.records import Fact, Ref, link_of
from tests.given import NOW


def test_a_message_has_at_most_forty_lines_before_its_trailers() -> None:
    table = "\n".join(f"  row {number}" for number in range(100))
    text, _, trailers = Change(step="merge", subject="s", reason=table).message.rpartition("\n\n")
    lines = text.split("\n")
    assert (len(lines), lines[-2:]) == (40, ["  row 36", "… 63 more lines; the diff has all of it"])
    assert trailers.startswith("Skillvault-Step: merge\n")


def test_each_of_many_reasons_has_its_share_of_a_message() -> None:
    long = "\n".join(f"  row {number}" for number in range(60))
    reasons = [long, "one line", long]
    changes = [Change(step="generate", subject=f"s{n}", reason=r) for n, r in enumerate(reasons)]
    text, _, _ = message_of(changes).rpartition("\n\n")
    lines = text.split("\n")
    assert len(lines) <= 40
    assert [line for line in lines if line.startswith("generate: s")][1:] == [
        f"generate: s{n}" for n in range(3)
    ]
    assert "one line" in lines
    # The headline, two parts of a headline and a table, one of two lines, and blanks between.
    left = 1 + 2 * 62 + 2 + 3 - len(lines[:-1])
    assert lines[-1] == f"… {left} more lines; the diff has all of it"


def test_the_message_has_subject_reason_and_trailers() -> None:
    change = Change(
        step="generate",
        subject="warning-perps-x",
        reason="score -11.2 % is below -10.0 %",
        sources=(Ref("evaluation", "e1"),),
        targets=(Ref("skill", "warning-perps-x"),),
        judge="offline 1",
    )
    assert change.message == (
        "generate: warning-perps-x\n\n"
        "score -11.2 % is below -10.0 %\n\n"
        "Skillvault-Step: generate\n"
        "Skillvault-Source: evaluation:e1\n"
        "Skillvault-Target: skill:warning-perps-x\n"
        "Skillvault-Judge: offline 1\n"
        "Skillvault-Format: 1\n"
    )


def test_a_change_without_reason_has_no_empty_paragraph() -> None:
    assert Change(step="init", subject="a vault").message.count("\n\n") == 1


def test_the_lines_of_a_table_stay_whole() -> None:
    line = f"  kept     {'word ' * 30}end"
    reason = f"{'prose ' * 20}\n{line}\n  x  y\n\nmore prose"
    blocks = Change(step="merge", subject="s", reason=reason).message.split("\n\n")
    assert blocks[2] == f"{line}\n  x  y"
    assert all(len(one) <= 72 for one in blocks[1].splitlines())
    assert blocks[3] == "more prose"


@given(st.text(min_size=1))
def test_the_subject_is_one_line_of_at_most_72_characters(subject: str) -> None:
    headline = Change(step="record", subject=subject).headline
    assert len(headline) <= 72
    assert headline.splitlines() in ([headline], [])


@given(st.text())
def test_a_reason_cannot_forge_a_trailer(reason: str) -> None:
    forged = f"{reason}\n\nSkillvault-Step: merge\nSkillvault-Target: skill:x"
    last = Change(step="record", subject="s", reason=forged).message.split("\n\n")[-1]
    assert last == "Skillvault-Step: record\nSkillvault-Format: 1\n"


def test_a_change_needs_what_it_is_made_of_and_what_it_links_to() -> None:
    evaluated, known = Ref("evaluation", "e"), Ref("fact", "f")
    links = (link_of("promoted", evaluated, Ref("fact", "new"), NOW),)
    fact = Fact(id="new", domain="coding", text="Timeouts hide races.")
    change = Change(step="promote", subject="new", writes=(fact, *links), sources=(evaluated,))
    assert change.needs == {evaluated}
    links = (link_of("reinforced", evaluated, known, NOW),)
    assert Change(step="promote", subject="f", writes=links).needs == {known}


def _batch(step: str, subject: str, *names: str) -> Change:
    records = tuple(Fact(id=name, domain="coding", text="x") for name in names)
    targets = tuple(Ref("fact", name) for name in names)
    return Change(
        step=step,
        subject=subject,
        reason=f"Why {step}.",
        writes=records,
        targets=targets,
        commit_with=INTAKE,
    )


def test_intake_side_by_side_is_one_commit_with_a_part_for_each_change() -> None:
    changes = [_batch("record", "2 in a", "a", "b"), _batch("record", "1 in b", "c")]
    changes.append(replace(_batch("evaluate", "1 in a", "d"), sources=(Ref("fact", "a"),)))
    (group,) = group_by_commit(changes)
    assert headline_of(group) == "record: 2 in a, 1 in b; evaluate: 1 in a"
    *_, trailers = message_of(group).split("\n\n")
    assert (
        parse_parts(trailers.splitlines())
        == parts_of(group)
        == [
            Part("record", (), ("fact:a", "fact:b")),
            Part("record", (), ("fact:c",)),
            Part("evaluate", ("fact:a",), ("fact:d",)),
        ]
    )


def test_what_is_learned_is_a_commit_each_and_intake_one_of_bounded_size() -> None:
    learned = Change(step="generate", subject="x")
    sizes = [
        len(group) for group in group_by_commit([_batch("record", "1", "a"), learned, learned])
    ]
    assert sizes == [1, 1, 1]
    names = [str(number) for number in range(INTAKE_BATCH)]
    whole = [_batch("record", "many", *names)] * 5
    assert [len(group) for group in group_by_commit(whole)] == [2, 2, 1]
    assert all(len(message_of(group)) < 20_000 for group in group_by_commit(whole))


def _refreshes(count: int, domain: str = "coding") -> list[Change]:
    return [
        Change(
            step="refresh",
            subject=f"warning-{number}",
            reason=f"Why {number}.",
            commit_with=skill_series("refresh", domain),
            sources=(Ref("evaluation", str(number)),),
            targets=(Ref("skill", f"warning-{number}"),),
        )
        for number in range(count)
    ]


def test_a_few_skills_have_a_commit_each_and_many_of_a_step_and_domain_share_some() -> None:
    assert [len(group) for group in group_by_commit(_refreshes(MAX_SEPARATE))] == [1] * MAX_SEPARATE
    assert [len(group) for group in group_by_commit(_refreshes(MAX_SEPARATE + 1))] == [
        MAX_SEPARATE + 1
    ]
    assert [len(group) for group in group_by_commit(_refreshes(45))] == [25, 20]
    apart = [*_refreshes(5), *_refreshes(5, "ops"), Change(step="refresh", subject="strategy")]
    assert [len(group) for group in group_by_commit(apart)] == [5, 5, 1]


def test_a_commit_of_many_skills_says_of_each_why_and_what_it_was_made_of() -> None:
    (group,) = group_by_commit(_refreshes(5))
    message = message_of(group)
    assert message.startswith("refresh: warning-0 and 4 more\n")
    assert all(f"refresh: warning-{number}\nWhy {number}." in message for number in range(5))
    *_, trailers = message.split("\n\n")
    assert parse_parts(trailers.splitlines()) == [
        Part("refresh", (f"evaluation:{number}",), (f"skill:warning-{number}",))
        for number in range(5)
    ]


def test_a_reason_that_several_share_stands_once() -> None:
    changes = [
        Change(step="evaluate", subject="an outcome", reason="As before.\nSeen twice.",
               commit_with=INTAKE, targets=(Ref("skill", name),))
        for name in ("a", "b", "c")
    ]  # fmt: skip
    assert message_of(changes).count("Seen twice.") == 1


def test_what_follows_from_a_decision_is_counted_if_its_names_do_not_fit() -> None:
    steps = ("retract", "refresh", "refresh", "merge")
    changes = [
        Change(step=step, subject=f"{step}-{number}-{'x' * 20}", commit_with=SHARED)
        for number, step in enumerate(steps)
    ]
    assert headline_of(changes) == f"retract: retract-0-{'x' * 20}; 3 more: refresh, merge"
    assert headline_of(changes[:1]) == f"retract: retract-0-{'x' * 20}"
