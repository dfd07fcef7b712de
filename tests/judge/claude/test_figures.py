"""Figures of a reply: honest ones are believed, invented ones are not; an item goes, not a text."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from skillvault.judge.claude.figures import RecordFigures, find_unsupported
from skillvault.judge.claude.prompts import outcome_material
from skillvault.judge.claude.replies import (
    InsightReader,
    InsightReply,
    UnusableError,
)
from tests.given import outcome, trade

RECORD = json.dumps(
    {
        "decision": {
            "action": "open_long",
            "reasoning": "Funding is high at 0.08 %; I size 1,000 USD and pin Python 3.11.4.",
            "made_at": "2026-11-03T08:00:00Z",
            "entry_value": 1000.0,
            "confidence": 0.8,
        },
        "result": {
            "score": -0.112,
            "score_in_percent": "-11.2 %",
            "amount": -112.0,
            "summary": "HTTP 404 from the gateway after 25 s; 3 of 17 tests failed",
            "ended_at": "2026-11-03T09:00:00Z",
        },
        "statements": [
            {"if_it_holds": "losses: 5 of 55", "otherwise": "losses: 1 of 124"},
            {"shown_by": "failures: 2 of 2", "said_too_by": "successes: 0"},
            {"stood_out": "spread", "value": 7.34, "middle_half_of_others": [1.2, 2.6]},
        ],
        "outcomes_in_all": 179,
    },
    indent=1,
)
HONEST = (
    "Keep a 10% stop before chasing funding.",
    "With a 10% stop the cascade ends the trade early.",
    "None did otherwise: 0 of 2 had a way out.",
    "Pin Python 3.11 for the build.",
    "The suite needs Python 3.12 in CI.",
    "An HTTP 404 from the gateway is no outage.",
    "It answers HTTP 503 when it is overloaded.",
    "Longs lost in 5 of 55 such cases.",
    "Otherwise 1 of 124 lost.",
    "9.1 % of those decisions lost.",
    "About 9 % of those decisions lost.",
    "50 of 55 such decisions did not lose.",
    "It lost 11.2 % (112 USD).",
    "It lost 11 %.",
    "A spread of 7.3 stood out of 1.2 to 2.6.",
    "The gateway took 25 s.",
    "Both failures (2 of 2) chased funding of 0.08 %.",
    "3 of 17 tests failed, so 14 of 17 passed.",
    "The agent was 80 % sure.",
    "Size at most 500 USD while funding is above 0.05 %.",
    "Wait 30 minutes after a spike, then enter.",
    "Retry at most 3 times, with a pause of 60 s.",
    "Of 179 outcomes few met it.",
    "A position of 1000 USD was open for an hour.",
    "A position of 1,000 USD was open for an hour.",
    "On 2026-11-03 it was stopped out.",
    "The cascade began at 08:00.",
    "Use port 8080 for the mock gateway.",
    "2 steps are enough: check funding, then size.",
    "Halve the size above a spread of 2.6.",
)
INVENTED = (
    "Chasing fails in 87 % of all cases.",
    "It failed in 7 of 9 runs.",
    "5 of 50 such longs lost.",
    "Losses fell to 12 % with a stop.",
    "The win rate is 61 %.",
    "It lost 12.5 %.",
    "Such trades lose 340 USD on average.",
    "A spread of 9.9 stood out.",
    "14 losses followed the same pattern.",
    "It happened 23 times before.",
    "The gateway took 250 s.",
    "Only 1 of 12 recovered.",
    "Confidence of 0.95 was too high.",
    "Funding was 0.8 %.",
    "It cost 1,112 USD.",
    "Two thirds, 66 %, of the longs were closed late.",
    "A stop cuts losses by 40 %.",
    "Setting a stop raises the success rate to 75 %.",
    "Keep it: it won in 9 of 10 cases.",
    "Use it, as 90 % of runs succeed with it.",
    "Never chase: 33 of 35 lost.",
    "In 179 of 180 outcomes it held.",
    "17 of 17 tests failed.",
    "It was open for 4.5 hours.",
    "On 2026-10-01 it happened too.",
    "The cascade began at 14:30.",
    "55 % of them lost.",
    "It lost 124 USD.",
    "Volatility rose 3.4 times.",
    "124 of 125 kept their gain.",
)


def test_honest_figures_are_believed() -> None:
    shown = RecordFigures(RECORD)
    refused = {text: claims for text in HONEST if (claims := find_unsupported(text, shown))}
    assert refused == {}


def test_of_thirty_invented_figures_two_pass_at_most() -> None:
    shown = RecordFigures(RECORD)
    believed = [text for text in INVENTED if not find_unsupported(text, shown)]
    assert len(believed) <= 2, believed


READER = InsightReader(
    outcome(trade(decision__reasoning="Funding is high; I chase it.")),
    {"a-stop-1a2b3c": "A stop."},
)


def insight(said: str, better: str = "") -> InsightReply:
    """A reply that says so."""
    return InsightReply(said, "risk", "domain", better)


def test_every_invented_figure_is_named() -> None:
    with pytest.raises(UnusableError, match=r"7 of 9, 87 %, 340$"):
        READER.check_figures(
            insight("It fails in 87 % of all cases, in 7 of 9 runs.", "They lose 340 USD."),
            RecordFigures(RECORD),
            final=False,
        )


def test_at_last_the_sentence_goes_and_not_the_text() -> None:
    reply = READER.check_figures(
        insight("Chasing funding loses. It fails in 87 % of all cases.", "Set a stop at 10 %."),
        RecordFigures(RECORD),
        final=True,
    )
    assert reply.key_insight == "Chasing funding loses."
    assert reply.better_approach == "Set a stop at 10 %."
    with pytest.raises(UnusableError, match="87 %"):
        READER.check_figures(
            insight("It fails in 87 % of all cases."), RecordFigures(RECORD), final=True
        )


ADVICE = (
    "Check at least 100 runs before you call it stable.",
    "Trace what the test waits for; check at least 100 runs before you call it stable.",
    "Run it 200 times under load, until it fails.",
    "Reproduce it first, then repeat the test 100 times.",
    "Stop after 10 failures in a row.",
    "Size 0.5 % of the account until 20 trades are closed.",
    "Raise it to 512 MB.",
)
NO_ADVICE = (
    "Avoid it: it failed 14 times.",
    "Avoid it, because 14 runs lost.",
    "Use it, as it saves 75 % of the losses.",
    "Set a stop, which raises the win rate to 61 %.",
    "140 trades were closed late.",
)


def test_what_an_instruction_counts_is_no_claim() -> None:
    shown = RecordFigures(RECORD)
    refused = {text: c for text in ADVICE if (c := find_unsupported(text, shown, advice=True))}
    assert refused == {}
    assert [text for text in NO_ADVICE if not find_unsupported(text, shown, advice=True)] == []


@pytest.mark.parametrize(
    ("hours", "text"),
    [
        (2.5, "It was held for 2.5 hours."),
        (2.5, "After 150 minutes it was stopped out."),
        (60, "It was held for 2.5 days."),
    ],
)
def test_how_long_it_was_held_may_be_said_in_any_unit(hours: float, text: str) -> None:
    held = outcome(
        trade(decision__made_at="2026-11-01T00:00:00Z", occurred_at=_later(hours)),
    )
    assert find_unsupported(text, RecordFigures(json.dumps(outcome_material(held)))) == []


def _later(hours: float) -> str:
    return f"{datetime(2026, 11, 1, tzinfo=UTC) + timedelta(hours=hours):%Y-%m-%dT%H:%M:%SZ}"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ("Chasing loses.", None, None)),
        ({"evidence": "I chase it"}, ("Chasing loses.", None, None)),
        ({"evidence": "it was chased"}, ("Supposed: Chasing loses.", None, None)),
        ({"observed": False}, ("Supposed: Chasing loses.", None, None)),
        (
            {"relation": "repeats", "fact": "a-stop-1a2b3c"},
            ("Chasing loses.", "a-stop-1a2b3c", None),
        ),
        (
            {"relation": "contradicts", "fact": "a-stop-1a2b3c"},
            ("Chasing loses.", None, "a-stop-1a2b3c"),
        ),
    ],
)
def test_an_insight_says_how_it_stands_to_a_fact_and_on_what_it_rests(
    changes: dict[str, Any], expected: tuple[str, str | None, str | None]
) -> None:
    reply = replace(insight("Chasing loses."), slug="a stop before the entry", **changes)
    text = READER.insight_text(READER.check_figures(reply, RecordFigures(RECORD), final=False))
    assert (text.key_insight, text.repeats, text.contradicts) == expected
    assert text.slug == "a-stop-before-the"


def test_an_insight_without_a_usable_slug_is_called_by_its_words_or_its_domain() -> None:
    said = [replace(insight(words), slug="止损") for words in ("Chasing loses.", "追高会亏损。")]
    assert [READER.insight_text(reply).slug for reply in said] == ["chasing-loses", "perps"]


def test_a_fact_that_was_not_shown_is_refused_and_at_last_left_out() -> None:
    reply = replace(insight("Chasing loses."), relation="repeats", fact="another-1a2b3c")
    with pytest.raises(UnusableError, match="is no fact of the record"):
        READER.check_figures(reply, RecordFigures(RECORD), final=False)
    assert READER.check_figures(reply, RecordFigures(RECORD), final=True).relation == "new"


def test_what_is_new_keeps_the_shown_facts_with_words_like_its_own() -> None:
    chased = outcome(trade(decision__reasoning="Funding is high; I chase it."))
    shown = {"chase-1a2b3c": "Chasing high funding loses.", "sleep-1a2b3c": "Close on Friday."}
    reply = replace(insight("Chasing low funding loses."), slug="chase")
    kept = InsightReader(chased, shown).check_figures(reply, RecordFigures(RECORD), final=False)
    later = InsightReader(chased, {**shown, "low-1a2b3c": "Chasing low funding loses."})
    assert later.insight_text(kept).unlike == ("chase-1a2b3c",)
    repeated = replace(reply, relation="repeats", fact="chase-1a2b3c")
    assert (
        not InsightReader(chased, shown)
        .check_figures(repeated, RecordFigures(RECORD), final=False)
        .unlike
    )


def test_figures_of_a_fact_support_only_an_insight_that_names_the_fact() -> None:
    facts = {"dip": "A long at 7001 lost."}
    record = RecordFigures(f"<record>\n{json.dumps({'facts': facts, 'decision': {}})}\n</record>")
    reader, reply = (
        InsightReader(outcome(trade(0)), facts),
        insight("A long at 7001 leads to a loss."),
    )
    with pytest.raises(UnusableError, match="7001"):
        reader.check_figures(reply, record, final=True)
    named = replace(reply, relation="repeats", fact="dip")
    assert reader.check_figures(named, record, final=True) == named
