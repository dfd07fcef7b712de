"""A text without a list is read sentence by sentence: who is mentioned, and how.

The batches in `sentences/` are of many styles; the first line of each names its skills in the
order shown, so that S1 is the first.
"""

import json
from pathlib import Path

import pytest

from skillvault.learning.effect.detect import detect_all, handles_of
from skillvault.learning.effect.mentions import index_by_word

TVL = "warning-dlmm-low-tvl"
UNLOCK = "warning-dlmm-add-liquidity-unlock-token"
STOP = "evolved-trading-stop-loss-discipline"
BUDGET = "retry-budget"
SHOWN = {
    TVL: "# Warning: Low TVL\n",
    UNLOCK: "# Warning: Never add liquidity before an unlock\n",
    STOP: "",
    BUDGET: "# Stop after three\n",
    "xlsx": "",
}
SENTENCES = Path(__file__).parent / "sentences"


def read(text: str) -> tuple[list[str], list[str]]:
    """The skills that a text applied, and those that it overruled."""
    found = detect_all(text, None, index_by_word(SHOWN), SHOWN)
    applied = [name for name, one in found.items() if one.is_applied]
    return applied, [name for name, one in found.items() if one.match == "overruled"]


@pytest.mark.parametrize(
    "text",
    [
        f"I did not use {TVL}.",
        f"None of the skills shown ({TVL}, {BUDGET}) apply.",
        f"{TVL} was not relevant.",
        f"{TVL} is for another chain.",
        f"Neither {TVL} nor {BUDGET} was needed.",
        f"- {TVL}: n/a",
        f"- [ ] {TVL}",
        f"Not applied:\n- {TVL}\n",
        f"I read {TVL}; it does not apply.",
        f"I used neither. Shown: {TVL}",
    ],
)
def test_what_is_negated_or_turned_down_is_not_applied(text: str) -> None:
    assert read(text) == ([], [])


@pytest.mark.parametrize(
    "text",
    [
        f"I would have applied {TVL} with more time.",
        f"Had I used {TVL}, this would have worked.",
        f"If this fails I will fall back to {TVL}.",
        f"Next time I will use {TVL}.",
        f"I planned to apply {TVL}.",
        f"We should have followed {TVL}.",
        f"TODO: apply {TVL}.",
        f"Should I use {TVL}?",
    ],
)
def test_what_is_supposed_or_planned_is_not_applied(text: str) -> None:
    assert read(text)[0] == []


@pytest.mark.parametrize(
    "text",
    [
        f"The prompt listed {TVL}, {BUDGET}.",
        f"Available skills: {TVL}, {BUDGET}.",
        f"I was shown {TVL}.",
        f"> Applied {TVL}: half the size",
        f"Skills considered:\n- {TVL}\n",
        f"My colleague applied {TVL}.",
    ],
)
def test_what_is_listed_or_quoted_or_done_by_others_is_not_applied(text: str) -> None:
    assert read(text) == ([], [])


@pytest.mark.parametrize(
    "text",
    [
        f"Despite {TVL} I enter.",
        f"Even though {TVL} says to stay out, I enter.",
        f"I overrode {TVL}.",
        f"I won't follow {TVL}.",
        f"{TVL} told me to wait; I entered instead.",
        f"{TVL} warned me. I entered anyway.",
        f"I read {TVL} and ignored it.",
        f"{TVL} was violated.",
        "Entered despite the unlock-token warning.",
        "Ignored [S1] knowingly.",
    ],
)
def test_what_was_acted_against_is_overruled_and_not_applied(text: str) -> None:
    applied, overruled = read(text)
    assert (applied, len(overruled)) == ([], 1)


@pytest.mark.parametrize(
    "text",
    [
        f"I did not ignore {TVL}.",
        f"I did not want to go against {TVL}, so I wait.",
        f"Entering would violate {TVL}, so I pass.",
        f"Without {TVL} I would have entered.",
        f"I did not only use {TVL}.",
        f"I don't enter such pools, following {TVL}.",
        f"I decided against the pool because {TVL} says so.",
        f"If it had not been for {TVL} I would be in.",
    ],
)
def test_two_negations_and_a_negated_deed_leave_a_use(text: str) -> None:
    assert read(text) == ([TVL], [])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"Skills used: {TVL}, {BUDGET}.", [BUDGET, TVL]),
        ("dlmm-low-tvl applied.", [TVL]),
        ("Per the low-TVL warning I wait.", [TVL]),
        ("The unlock-token warning made me pass.", [UNLOCK]),
        ("The warning about unlock tokens made me pass.", [UNLOCK]),
        ("Followed the evolved stop-loss skill.", [STOP]),
        ("Following 'never add liquidity before an unlock', I pass.", [UNLOCK]),
        ("Never add liquidity before an unlock: so I pass.", [UNLOCK]),
        ("[S1] applied, [S2] not relevant.", [TVL]),
        ("S1: applied. S2: skipped.", [TVL]),
        ("Used S1 and S4.", [BUDGET, TVL]),
        (f"| skill | used |\n| {TVL} | no |\n| {BUDGET} | yes |", [BUDGET]),
    ],
)
def test_a_skill_is_known_by_handle_title_and_short_form(text: str, names: list[str]) -> None:
    assert read(text)[0] == names


@pytest.mark.parametrize(
    "text",
    [
        "Stop after three retries.",  # a title of few words
        "The stop loss was hit.",
        "This is a low tvl pool.",
        "I uploaded it to S3 and S4.",
        "See section S1.",
        "The dlmm warning is old.",  # fits two
        "I like the xlsx file.",
    ],
)
def test_words_of_a_name_alone_are_no_mention(text: str) -> None:
    assert read(text) == ([], [])


def test_the_last_word_on_a_skill_counts() -> None:
    assert read(f"I will apply {TVL}. In the end I did not use {TVL}.") == ([], [])
    assert read(f"First I ignored {TVL}. Then I applied {TVL}.") == ([TVL], [])
    assert read(f"I applied {TVL} to one pool. For the other {TVL} was not needed.") == ([TVL], [])


@pytest.mark.parametrize("verb", ["should use", "will use", "need to use"])
def test_what_should_be_used_is_used_if_work_follows(verb: str) -> None:
    said = f"I {verb} the xlsx skill for this task."
    assert read(f"{said} The sheet has 14 rows.") == (["xlsx"], [])
    assert read(f"{said} The sheet has 14 rows. In the end I did not use the xlsx skill.") == (
        [],
        [],
    )
    assert read(f"Next time {said}") == ([], [])


@pytest.mark.parametrize(
    "text",
    ["Guided by xlsx, I wrote formulas.", "xlsx did the job.", f"I combined {BUDGET} with xlsx."],
)
def test_a_single_word_is_a_mention_beside_a_word_of_use(text: str) -> None:
    assert "xlsx" in read(text)[0]


def test_what_should_be_used_is_open_if_nothing_follows() -> None:
    assert read("I should use the xlsx skill for this task.") == ([], [])


@pytest.mark.parametrize("batch", sorted(SENTENCES.glob("*.jsonl")), ids=lambda path: path.stem)
def test_sentences_of_many_styles_are_read_right(batch: Path) -> None:
    first, *rows = map(json.loads, batch.read_text(encoding="utf-8").splitlines())
    shown = dict.fromkeys(first["skills"], "")
    found = [
        (name, detection.is_applied, row)
        for row in rows
        for name, detection in detect_all(
            row["text"], None, index_by_word(shown), shown, handles=handles_of(shown)
        ).items()
        if detection.is_applied
    ]
    right = sum(name in row["applied"] for name, _, row in found)
    assert right >= 0.95 * len(found)
    assert right >= 0.9 * sum(len(row["applied"]) for row in rows)
