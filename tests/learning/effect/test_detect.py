"""detect: a skill counts as applied if the decision names it, logs it or repeats its phrases.

Outcomes and what was shown are joined by the decision, whichever came first.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.effect.detect import (
    OVERRULED,
    Detection,
    decision_stats,
    detect,
    detect_all,
    detected_uses,
    key_phrases,
    weight,
)
from skillvault.learning.effect.lift import UNSEEN
from skillvault.learning.effect.mentions import index_by_word
from skillvault.model.records import Outcome, Recommendation, Trust
from tests.given import outcome, recommendation, trade
from tests.vectors import vectors

NAME = "warning-dlmm-low-tvl"
BODY = """# Warning: low tvl

## Checklist

**Pool Depth Check** before entry, **TVL** too.

- Verify 24h volume above twice the position
- Short one
* Avoid pools younger than one week

## Exit Plan First
"""


@pytest.mark.parametrize("row", vectors("detection"))
def test_uses_are_those_of_the_vectors(row: dict[str, Any]) -> None:
    found = detect(*row["args"])
    assert {"applied": found.is_applied, "match": found.match} == row["expect"]


@pytest.mark.parametrize(
    "text",
    [
        f"Applying '{NAME}', I stay out.",
        "Applying warning_dlmm_low_tvl now",
        "the warning dlmm low tvl applies",
        f"see skills/{NAME}/SKILL.md",
        f"**{NAME}** says no",
        f"First ignoring '{NAME}'. Then, after a look at the pool, {NAME} decides.",
        f"I avoid this pool, applying {NAME}",
        f"This is not a deep pool. {NAME}: stay out.",
    ],
)
def test_a_mention_is_a_use(text: str) -> None:
    assert detect(NAME, "", text).match == "explicit"


@pytest.mark.parametrize(
    "text",
    [
        f"I did not apply {NAME}",
        f"I didn't apply the '{NAME}' lesson",
        f"not using {NAME}",
        f"without applying {NAME}",
        f"I considered '{NAME}'",
        f"considering the skill {NAME}",
        f"skipping {NAME}",
        f"'{NAME}' does not apply",
        f"{NAME} doesn't apply",
        f"{NAME}-2 is another skill",
        f"my-{NAME} is another skill",
    ],
)
def test_a_mention_that_is_turned_down_is_none(text: str) -> None:
    assert detect(NAME, "", text) == Detection()


@pytest.mark.parametrize(
    "text",
    [
        "the xlsx skill has been loaded",
        "skill xlsx",
        "skill: `xlsx`",
        "using xlsx",
        "based on xlsx",
        "the `xlsx` way",
        "'xlsx' it is",
        "loaded skills: docx, xlsx, and pdf",
        "both the docx and xlsx skills",
        "cat /root/skills/xlsx/SKILL.md",
    ],
)
def test_a_name_of_one_word_counts_beside_a_cue_or_quoted(text: str) -> None:
    assert detect("xlsx", "", text).is_applied


@pytest.mark.parametrize("text", ["open gdp.xlsx", "the xlsx file", "an xlsx", "xlsx-files skill"])
def test_a_name_of_one_word_is_else_a_word(text: str) -> None:
    assert not detect("xlsx", "", text).is_applied


def test_two_words_with_a_space_between_need_a_cue() -> None:
    assert not detect("flood-detection", "", "this is flood detection by thresholds").is_applied
    assert detect("flood-detection", "", "the flood detection skill").is_applied
    assert detect("flood-detection", "", "flood_detection, then").is_applied


def test_the_quote_is_the_mention_with_what_stands_around_it() -> None:
    found = detect(NAME, "", f"{'x' * 80} using {NAME} {'y' * 80}")
    assert found.quote == f"{'x' * 43} using {NAME} {'y' * 49}"
    assert found.confidence == 0.95


# ── implicit ─────────────────────────────────────────────────────────────────────────


def test_key_phrases_are_bold_texts_items_and_headings_of_the_skills_own() -> None:
    assert key_phrases(BODY) == (
        "pool depth check",
        "verify 24h volume above twice",
        "avoid pools younger than one",
        "warning: low tvl",
        "exit plan first",
    )


def test_code_and_what_stands_between_two_bold_words_are_no_key_phrases() -> None:
    body = "**TVL** before and after **APR**\n\n```sh\n# Install the package\n- a flag of it\n```\n"
    assert key_phrases(body) == ()


def test_three_phrases_are_an_implicit_use_and_two_are_none() -> None:
    three = "Pool depth check done; exit plan first; AVOID pools younger than one week"
    found = detect(NAME, BODY, three)
    assert (found.match, found.confidence) == ("implicit", 0.6)
    assert found.quote is not None
    assert found.quote.startswith("Pool depth check")
    assert not detect(NAME, BODY, "pool depth check, exit plan first").is_applied


# ── many at once ─────────────────────────────────────────────────────────────────────


def test_the_list_of_an_outcome_is_final_also_an_empty_one() -> None:
    found = detect_all(f"ignoring '{NAME}'", [NAME], index_by_word([NAME]), {})
    assert detect_all(f"applying {NAME}", [], index_by_word([NAME]), {NAME: BODY}) == {}
    assert found == {NAME: Detection("tool", 1.0)}


def test_a_foreign_name_in_the_tool_log_counts() -> None:
    assert list(detect_all("", ["dialogue_graph"], index_by_word(["dialogue-graph"]), {})) == [
        "dialogue-graph"
    ]


def test_a_skill_that_is_not_known_any_more_and_was_shown_is_detected() -> None:
    assert list(detect_all(f"applying {NAME}", None, {}, {NAME: BODY})) == [NAME]
    assert detect_all("", [NAME], {}, {NAME: BODY})[NAME].match == "tool"


def test_an_unknown_name_in_the_tool_log_is_no_skill() -> None:
    assert detect_all("", ["ghost"], index_by_word([NAME]), {}) == {}


def test_the_longest_name_is_the_one_that_is_mentioned() -> None:
    known = index_by_word(["low-tvl", "low-tvl-pool", "tvl"])
    assert list(detect_all("applying the low tvl pool skill", None, known, {})) == ["low-tvl-pool"]


def test_only_what_was_shown_is_used_implicitly() -> None:
    said = "Pool depth check; exit plan first; avoid pools younger than one week"
    assert detect_all(said, None, index_by_word([NAME]), {}) == {}
    assert detect_all(said, None, {}, {NAME: BODY})[NAME].match == "implicit"


@given(st.text(alphabet="ab -_'`.,\n", max_size=60), st.permutations(["a-b", "a", "b-a-b", "b"]))
def test_the_order_of_the_names_changes_nothing(text: str, names: list[str]) -> None:
    known = index_by_word(names)
    assert known == index_by_word(sorted(names))
    in_order = dict.fromkeys(sorted(names), "")
    assert detect_all(text, None, known, dict.fromkeys(names, ""), handles={}) == detect_all(
        text, None, known, in_order, handles={}
    )


# ── real runs ────────────────────────────────────────────────────────────────────────


def test_the_uses_of_real_runs_are_found(shared: Path) -> None:
    def lines(path: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (shared / "bench" / path).read_text().splitlines()]

    texts = {run["id"]: run["text"] for run in lines("usage/trajectories.jsonl")}
    bodies = {
        skill["id"].replace("_", "-"): skill["body"] for skill in lines("routing/corpus.jsonl")
    }
    right = claimed = true = 0
    for pair in lines("usage/pairs.jsonl"):
        body = bodies.get(pair["skill"].replace("_", "-"), "")
        applied = detect(pair["skill"], body, texts[pair["traj"]]).is_applied
        right += applied and pair["label"]
        claimed += applied
        true += pair["label"]
    precision, recall = right / claimed, right / true
    assert precision >= 0.95
    assert 2 * precision * recall / (precision + recall) >= 0.95


# ── joined with what was shown ───────────────────────────────────────────────────────

TEXT = "**Pool Depth Check** first.\n\n- Verify 24h volume above twice\n\n## Exit Plan First\n"
IMPLICIT = "Pool depth check, verify 24h volume above twice our size, exit plan first."
KNOWN = index_by_word(["warning-perps-a", "guide-b", "guide-c"])


def ended(day: int = 0, score: float = 0.1, trust: Trust = "local", **changes: Any) -> Outcome:
    return outcome(trade(day, score, decision__id="d-2211", **changes), trust)


def uses(one: Outcome, *shown: Recommendation) -> list[tuple[str, str]]:
    found = detected_uses(one, shown, KNOWN, lambda skill, blob: TEXT if blob == "0" * 40 else "")
    return [(use.skill, use.match) for use in found if use.applied]


def test_an_outcome_alone_shows_what_it_names() -> None:
    one = ended(decision__reasoning="Applying 'guide-b', I wait.")
    assert uses(one) == [("guide-b", "explicit")]


def test_an_outcome_with_a_list_shows_that_and_no_more() -> None:
    reasoning = "Applying 'guide-b', I wait."
    listed = ended(applied=["guide-c", "ghost"], decision__reasoning=reasoning)
    assert uses(listed) == [("guide-c", "tool")]
    assert uses(ended(applied=[], decision__reasoning=reasoning), recommendation()) == []


def test_with_what_was_shown_an_unnamed_use_is_seen_by_the_text_of_that_version() -> None:
    one = ended(decision__reasoning=IMPLICIT)
    assert uses(one) == []
    assert uses(one, recommendation()) == [("warning-perps-a", "implicit")]


def test_an_untrusted_recommendation_says_nothing_of_a_trusted_outcome() -> None:
    shown = recommendation(trust="untrusted")
    assert uses(ended(decision__reasoning=IMPLICIT), shown) == []
    assert uses(ended(trust="untrusted", decision__reasoning=IMPLICIT), shown) != []


def offers(one: Outcome, *shown: Recommendation) -> list[tuple[str, str, float]]:
    found = detected_uses(one, shown, KNOWN, lambda *_: "")
    return [(use.skill, use.offer, use.confidence) for use in found if not use.applied]


def test_what_was_shown_and_is_not_named_may_have_been_applied_all_the_same() -> None:
    assert ("warning-perps-a", "shown", UNSEEN) in offers(ended(), recommendation())


def test_a_tool_log_says_what_was_not_applied() -> None:
    found = offers(ended(applied=[]), recommendation())
    assert ("warning-perps-a", "shown", 0.0) in found


def test_what_was_held_out_is_noted() -> None:
    shown = recommendation(held_out=[{"skill": "guide-b"}])
    assert ("guide-b", "held", 0.0) in offers(ended(), shown)


def test_a_decision_was_made_when_its_skills_were_shown() -> None:
    shown = recommendation()
    assert {use.made for use in detected_uses(ended(), [shown], KNOWN, lambda *_: "")} == {shown.at}


def row(found: dict[str, Any], skill: str) -> dict[str, Any]:
    return next(one for one in found["skills"] if one["skill"] == skill)


def test_a_decision_without_an_outcome_is_pending() -> None:
    found = decision_stats("d-2211", [recommendation()], [], [])
    assert (found["outcome"], found["score"], found["outcomes"]) == ("pending", None, [])
    assert row(found, "warning-perps-a") == {
        "skill": "warning-perps-a",
        "blob": "0" * 40,
        "shown": True,
        "held_out": False,
        "read": False,
        "overruled": False,
        "relevance": 0.6,
        "badge": "🆕 New",
        "applied": False,
        "match": "none",
        "confidence": 0.0,
        "quote": None,
        "contributed_to_success": None,
    }
    assert row(found, "guide-b")["held_out"] is True


def test_a_decision_tells_what_each_skill_had_to_do_with_its_end() -> None:
    one = ended(decision__reasoning="applying guide-b; applying warning-perps-a")
    found = decision_stats(
        "d-2211", [recommendation()], [one], detected_uses(one, [], KNOWN, lambda *_: "")
    )
    assert (found["domain"], found["outcome"], found["score"]) == ("perps", "success", 0.1)
    assert row(found, "warning-perps-a")["contributed_to_success"] is True
    assert (row(found, "guide-b")["applied"], row(found, "guide-b")["held_out"]) == (True, True)


def test_a_failed_decision_has_no_contribution_to_success() -> None:
    one = ended(score=-0.1, decision__reasoning="applying guide-b")
    found = decision_stats("d-2211", [], [one], detected_uses(one, [], KNOWN, lambda *_: ""))
    assert row(found, "guide-b")["contributed_to_success"] is False


def test_the_last_outcome_of_a_decision_is_its_end() -> None:
    found = decision_stats("d-2211", [], [ended(2, 0.1), ended(1, -0.1)], [])
    assert found["outcome"] == "success"
    assert len(found["outcomes"]) == 2


def test_what_was_overruled_is_no_application_and_weighs_against_its_end() -> None:
    one = ended(decision__reasoning="Despite warning-perps-a I open.")
    (use,) = detected_uses(one, [recommendation(held_out=[])], KNOWN, lambda *_: "")
    assert (use.match, use.applied, use.overruled, use.offer) == (
        "overruled",
        False,
        True,
        "shown",
    )
    assert weight(use.match, use.confidence) == OVERRULED < 0
    found = decision_stats("d-2211", [recommendation()], [one], [use])
    part = row(found, "warning-perps-a")
    assert (part["applied"], part["overruled"]) == (False, True)
    assert part["contributed_to_success"] is False


def test_what_is_said_not_to_be_applied_is_not_supposed_to_be() -> None:
    one = ended(decision__reasoning="I did not use warning-perps-a.")
    assert ("warning-perps-a", "shown", 0.0) in offers(one, recommendation())


def test_what_was_held_out_and_is_spoken_of_counts_as_shown() -> None:
    shown = recommendation(held_out=[{"skill": "guide-b"}])
    one = ended(decision__reasoning="applying guide-b")
    found = detected_uses(one, [shown], KNOWN, lambda *_: "")
    assert {use.skill: use.offer for use in found}["guide-b"] == "shown"
    assert row(decision_stats("d-2211", [shown], [one], found), "guide-b")["read"] is True


def test_a_handle_means_what_the_receipt_showed_under_it() -> None:
    one = ended(decision__reasoning="Applying [S1], I wait.")
    assert uses(one, recommendation()) == [("warning-perps-a", "explicit")]
    assert uses(one) == []
