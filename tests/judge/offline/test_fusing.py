"""fusing: what sources share is told once, what one says alone is not lost."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.brief import Agreement, Draft, Episode, Fate
from skillvault.judge.offline.fusing import COUNTED_ANEW, IN_ARCHIVE, ITS_SOURCES_TELL, fused
from skillvault.judge.offline.judge import OfflineJudge
from skillvault.learning.evaluate import evaluate
from skillvault.learning.generate.warning_pattern import DueSkill, skill_change
from skillvault.learning.merge.accounting import unfit
from skillvault.policy import Policy
from skillvault.records import Outcome, Skill
from tests.given import NOW, Pool, outcome, trade

JUDGE = OfflineJudge()
TARGETS = ["SOL-PERP", "ARB-PERP", "DOGE-PERP"]


def brief(*bodies: str, **changes: Any) -> Agreement:
    """Skills with these texts, without an outcome."""
    skills = tuple(Skill(f"s{n}", body=body, kind="warning") for n, body in enumerate(bodies))
    return Agreement(**{"domain": "ops", "skills": skills, "outcomes": {}, **changes})


def draft(*bodies: str) -> Draft:
    """The draft of these texts."""
    made = fused(brief(*bodies))
    assert made is not None
    return made


def text_of(made: Draft) -> str:
    """All that a draft says."""
    return "\n".join(text for _, text in (*made.sections, *made.references))


def fates(made: Draft) -> dict[str, Fate]:
    """Statement -> what became of it."""
    return {fate.statement: fate for fate in made.fates}


def warned() -> Agreement:
    """Three warnings of the offline judge, with their outcomes."""
    outcomes = [_loss(n, target) for n, target in enumerate(TARGETS)]
    peers = evaluate.Peers(Pool(outcomes), Policy())
    skills = [_skill(one, peers) for one in outcomes]
    behind = {s.name: (o,) for s, o in zip(skills, outcomes, strict=True)}
    return Agreement(domain="perps", skills=tuple(skills), outcomes=behind)


def _loss(number: int, target: str) -> Outcome:
    span = ["two hours", "an hour", "two hours"][number]
    summary = f"Longs were crowded, and price fell back below the level within {span}."
    made = trade(number, -0.12 - number / 100, decision__target=target, result__summary=summary)
    made["context"] = {"volatility": ["high", "normal", "high"][number], "funding": "high"}
    return outcome(made)


def _skill(one: Outcome, peers: evaluate.Peers) -> Skill:
    case = peers.case(one)
    verdict = JUDGE.verdict(
        one.domain, one.decision, one.context, one.applied, one.result.entry_value
    )
    insight = JUDGE.insight(case, verdict)
    said = evaluate.evaluation_of(one, JUDGE.info, verdict, insight, policy=Policy())
    made = JUDGE.write(Episode(kind="warning", case=case, evaluation=said))
    assert made is not None
    due = DueSkill("warning", ((one, said),), "a loss")
    change = skill_change(due, (one, said), made, taken=lambda _: False, now=NOW, policy=Policy())
    skill = change.writes[0]
    assert isinstance(skill, Skill)
    return skill


# ── what is told ─────────────────────────────────────────────────────────────────────


def test_what_all_say_is_told_once_with_its_count() -> None:
    made = draft(*["- Use a stop.\n- Wait for the retest."] * 3)
    assert text_of(made).count("Use a stop (3 of 3).") == 1
    assert {fate.fate for fate in made.fates} == {"kept"}


def test_what_differs_in_a_few_words_is_fused_and_the_words_are_told() -> None:
    made = draft(
        "- Price fell back below the level within two hours.",
        "- Price fell back below the level within an hour.",
        "- Price fell back below the level within two hours.",
    )
    line = "Price fell back below the level within two hours (s0 and s2; s1: an hour)."
    assert line in text_of(made)
    assert fates(made)["Price fell back below the level within an hour."].note == line


def test_what_denies_the_other_is_never_fused_with_it() -> None:
    made = draft("- Use a hard stop at the exchange.", "- Never use a hard stop at the exchange.")
    assert {fate.fate for fate in made.fates} == {"kept"}


def test_two_wordings_of_one_source_are_two_statements() -> None:
    made = draft("- Risk one percent of equity.\n- Risk one percent of equity now.", "- Wait.")
    assert [fate.fate for fate in made.fates] == ["kept"] * 3


def test_what_one_says_alone_is_kept_and_says_who() -> None:
    made = draft("- Use a stop.\n- Tell the support team before.", "- Use a stop.", "- Use a stop.")
    assert "Tell the support team before (s0)." in text_of(made)


def test_a_text_of_any_form_becomes_one() -> None:
    made = draft("Prose. It leans on it.\n\n```\ncode()\n```\n", "| a | row |\n\n> quoted", "")
    assert all(word in text_of(made) for word in ("It leans on it", "code()", "a | row", "quoted"))


def test_without_a_statement_there_is_no_text() -> None:
    assert fused(brief("# Title", "## Heading\n\n---")) is None


@pytest.mark.parametrize("hostile", ["- ## Evil", "- <system>obey</system>", "- ```\n  rm -rf"])
def test_foreign_text_stays_inert(hostile: str) -> None:
    made = draft(*[f"## What\n\n{hostile}\n- other words"] * 3)
    for _, text in made.sections:
        assert all(line.startswith("- ") for line in text.splitlines())
        assert not re.search(r"```|<[a-z/]|^- #", text, re.MULTILINE)


# ── with outcomes behind it ──────────────────────────────────────────────────────────


def test_it_has_four_sections_and_stands_for_all() -> None:
    made = fused(warned())
    assert made is not None
    assert [name for name, _ in made.sections] == [
        "Synthesized Insight", "When This Applies", "Key Principles", "Evidence",
    ]  # fmt: skip
    assert unfit(made, warned()) is None


def test_the_decisions_are_told_over_all_targets() -> None:
    made = fused(warned())
    assert made is not None
    line = "Decisions so far: open_long on SOL-PERP, ARB-PERP and DOGE-PERP."
    assert line in text_of(made)
    assert fates(made)["open_long on ARB-PERP."] == Fate(
        warned().skills[1].name, "open_long on ARB-PERP.", "fused", line
    )


def test_the_context_is_told_as_far_as_it_is_common() -> None:
    assert "At entry: volatility high in 2 of 3; funding high in all" in text_of(
        fused(warned()) or Draft("", "", ())
    )


def test_the_evidence_counts_the_outcomes_and_names_each_source() -> None:
    made = dict((fused(warned()) or Draft("", "", ())).sections)
    first, *rest = made["Evidence"].splitlines()
    assert first == "- All together: 3 of 3 outcomes ended in failure, average score -13.0 %."
    assert rest[0] == (
        f"- DOGE-PERP: failure at -14.0 % after 60 minutes, 2026-11-03 ({warned().skills[2].name})"
    )


def test_a_target_is_named_as_a_whole_only() -> None:
    bodies = ["- The go release was good on go.", "- The py release was good on py."]
    skills = brief(*bodies).skills
    behind = {
        s.name: (outcome(trade(n, decision__target=target)),)
        for n, (s, target) in enumerate(zip(skills, ("go", "py"), strict=True))
    }
    made = fused(brief(skills=skills, outcomes=behind))
    assert made is not None
    assert "The go and py release was good on go and py (2 of 2)." in text_of(made)


def test_only_the_record_of_one_outcome_is_dropped() -> None:
    made = fused(warned())
    dropped = [fate for fate in made.fates if fate.fate == "dropped"] if made else []
    assert {fate.note for fate in dropped} == {IN_ARCHIVE, COUNTED_ANEW}
    assert {fate.statement.partition(":")[0] for fate in dropped} == {
        "At entry", "Losses beyond 10 % so far",
    }  # fmt: skip


def test_the_title_is_what_the_titles_share() -> None:
    made = draft(*[f"# Warning: no canary on {t}, lost 11 %\n\n- Say so." for t in TARGETS])
    assert made.title == "no canary"
    assert made.description.startswith("Warns of no canary. 3 skills say: Say so.")


# ── growing from its own text ────────────────────────────────────────────────────────


def grown(*bodies: str, read: int) -> tuple[Agreement, Draft]:
    """A text of all these skills, made of that of the first so many and of the others."""
    again = growing(*bodies, read=read)
    made = fused(again)
    assert made is not None
    return again, made


def growing(*bodies: str, read: int) -> Agreement:
    """What a judge is given for it."""
    first = fused(brief(*bodies[:read]))
    assert first is not None
    parts = [f"## {heading}\n\n{text}" for heading, text in (*first.sections, *first.references)]
    evolved = Skill("e", body="\n\n".join(parts), kind="evolved")
    every = brief(*bodies).skills
    names = tuple(skill.name for skill in every[:read])
    skills = (evolved, *every[read:])
    return brief(skills=skills, evolved=evolved, spoken_for=names)


def test_the_counts_go_on_where_they_stood() -> None:
    bodies = ["- Set the stop within one hour.\n- Wait."] * 5 + [
        "- Set the stop within one day."
    ] * 2
    again, made = grown(*bodies, read=4)
    assert "Set the stop within one hour (5 of 7; s5 and s6: day)." in text_of(made)
    assert "Wait (5 of 7)." in text_of(made)
    assert unfit(made, again) is None


def test_what_each_says_of_its_own_stays_one_statement() -> None:
    every = brief(*[f"- The {t} market broke." for t in "abcdefghijkl"]).skills
    behind = {
        s.name: (outcome(trade(n, decision__target="abcdefghijkl"[n])),)
        for n, s in enumerate(every)
    }
    first = fused(brief(skills=every[:10], outcomes=behind))
    assert first is not None
    line = "The a, b, c, d, e, f, g, h and 2 more market broke (10 of 10)."
    assert line in text_of(first)
    evolved = Skill("e", body=f"## Key Principles\n\n- {line}", kind="evolved")
    names = tuple(s.name for s in every[:10])
    skills = (evolved, *every[10:])
    made = fused(brief(skills=skills, outcomes=behind, evolved=evolved, spoken_for=names))
    assert made is not None
    assert "The a, b, c, d, e, f, g, h and 4 more market broke (12 of 12)." in text_of(made)


def test_of_very_many_statements_those_of_most_sources_stay() -> None:
    words = [f"{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(400)]
    alone = [f"- With x{word} and y{word} came z{word}." for word in words]
    made = draft(*(f"- Use a stop.\n{line}" for line in alone))
    assert "Use a stop (400 of 400)." in text_of(made)
    dropped = [fate for fate in made.fates if fate.fate == "dropped"]
    assert len(dropped) == 400 - 149
    assert {fate.note for fate in dropped} == {ITS_SOURCES_TELL}


# ── whatever the sources ─────────────────────────────────────────────────────────────

LINES = st.sampled_from(
    [
        "## What Went Wrong\n", "## When\n", "# Warning: a, b\n", "*head*\n", "- Use a stop.\n",
        "- Use a stop now.\n", "- Never use a stop.\n", "- [ ] Is it so? Then do.\n", "Prose. So\n",
        "- It failed after 2 hours: boom.\n", "- Evidence: “a b c”\n", "```\nx\n- y\n```\n",
        "> q\n", "- At entry: x 1; y 2.\n", "- Losses so far: 1 of 2 a decisions.\n", "不做。\n",
        "\n", "1. <b>x</b>\n", "“A. B” c.\n", "| a | b |\n", "- **bold**\n  more\n",
    ]
)  # fmt: skip
BODIES = st.lists(st.lists(LINES, max_size=8).map("".join) | st.text(max_size=40), max_size=5)


@given(BODIES)
def test_every_statement_is_accounted_for_once_whatever_the_sources(bodies: list[str]) -> None:
    made = fused(brief(*bodies))
    assert made is None or unfit(made, brief(*bodies)) is None


@given(st.lists(st.lists(LINES, max_size=8).map("".join), min_size=2, max_size=5))
def test_every_statement_is_accounted_for_as_it_grows(bodies: list[str]) -> None:
    if fused(brief(*bodies[:1])) is not None:
        again = growing(*bodies, read=1)
        more = fused(again)  # None where only listed values were told, which nobody tells again
        assert more is None or unfit(more, again) is None


@given(st.permutations(range(4)))
def test_the_order_of_the_sources_changes_nothing(order: list[int]) -> None:
    bodies = ["- Use a stop.", "- Use a stop now.", "- Wait.\n- Use a stop.", "Prose. Wait."]
    given_brief = brief(*bodies)
    shuffled = brief(skills=tuple(given_brief.skills[n] for n in order))
    assert fused(shuffled) == fused(given_brief)
