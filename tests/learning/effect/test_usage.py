"""usage: outcomes and what was shown are joined by the decision, whichever came first."""

from typing import Any

from skillvault.learning.effect.detect import by_first_word
from skillvault.learning.effect.exposure import UNSEEN
from skillvault.learning.effect.usage import decision, exposed
from skillvault.records import Outcome, Recommendation, Trust
from tests.given import outcome, recommendation, trade

TEXT = "**Pool Depth Check** first.\n\n- Verify 24h volume above twice\n\n## Exit Plan First\n"
IMPLICIT = "Pool depth check, verify 24h volume above twice our size, exit plan first."
KNOWN = by_first_word(["warning-perps-a", "guide-b", "guide-c"])


def ended(day: int = 0, score: float = 0.1, trust: Trust = "local", **changes: Any) -> Outcome:
    return outcome(trade(day, score, decision__id="d-2211", **changes), trust)


def uses(one: Outcome, *shown: Recommendation) -> list[tuple[str, str]]:
    found = exposed(one, shown, KNOWN, lambda skill, blob: TEXT if blob == "0" * 40 else "")
    return [(use.skill, use.match) for use in found if use.applied]


def test_an_outcome_alone_shows_what_it_names() -> None:
    one = ended(decision__reasoning="Applying 'guide-b', I wait.", applied=["guide-c", "ghost"])
    assert uses(one) == [("guide-b", "explicit"), ("guide-c", "tool")]


def test_with_what_was_shown_an_unnamed_use_is_seen_by_the_text_of_that_version() -> None:
    one = ended(decision__reasoning=IMPLICIT)
    assert uses(one) == []
    assert uses(one, recommendation()) == [("warning-perps-a", "implicit")]


def test_an_untrusted_recommendation_says_nothing_of_a_trusted_outcome() -> None:
    shown = recommendation(trust="untrusted")
    assert uses(ended(decision__reasoning=IMPLICIT), shown) == []
    assert uses(ended(trust="untrusted", decision__reasoning=IMPLICIT), shown) != []


def offers(one: Outcome, *shown: Recommendation) -> list[tuple[str, str, float]]:
    found = exposed(one, shown, KNOWN, lambda *_: "")
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
    assert {use.made for use in exposed(ended(), [shown], KNOWN, lambda *_: "")} == {shown.at}


def row(found: dict[str, Any], skill: str) -> dict[str, Any]:
    return next(one for one in found["skills"] if one["skill"] == skill)


def test_a_decision_without_an_outcome_is_pending() -> None:
    found = decision("d-2211", [recommendation()], [], [])
    assert (found["outcome"], found["score"], found["outcomes"]) == ("pending", None, [])
    assert row(found, "warning-perps-a") == {
        "skill": "warning-perps-a",
        "blob": "0" * 40,
        "shown": True,
        "held_out": False,
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
    found = decision("d-2211", [recommendation()], [one], exposed(one, [], KNOWN, lambda *_: ""))
    assert (found["domain"], found["outcome"], found["score"]) == ("perps", "success", 0.1)
    assert row(found, "warning-perps-a")["contributed_to_success"] is True
    assert (row(found, "guide-b")["applied"], row(found, "guide-b")["held_out"]) == (True, True)


def test_a_failed_decision_has_no_contribution_to_success() -> None:
    one = ended(score=-0.1, decision__reasoning="applying guide-b")
    found = decision("d-2211", [], [one], exposed(one, [], KNOWN, lambda *_: ""))
    assert row(found, "guide-b")["contributed_to_success"] is False


def test_the_last_outcome_of_a_decision_is_its_end() -> None:
    found = decision("d-2211", [], [ended(2, 0.1), ended(1, -0.1)], [])
    assert found["outcome"] == "success"
    assert len(found["outcomes"]) == 2
