"""change: a commit's message carries the step, its ends and the reason."""

from hypothesis import given
from hypothesis import strategies as st

from skillvault.change import Change
from skillvault.records import Fact, Ref, link_of
from tests.given import NOW


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
