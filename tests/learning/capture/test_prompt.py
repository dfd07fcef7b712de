"""prompt: the room that patterns, rules and corrections have in a prompt."""

from datetime import UTC, datetime

from skillvault.learning.capture.prompt import StatedRule, select_learned
from skillvault.model.records import LearnedPattern
from skillvault.model.text.text import count_tokens

NOW = datetime(2026, 11, 28, tzinfo=UTC)
LONG = [
    LearnedPattern(pattern=f"pattern {n}: {'words of a pattern ' * 10}", confidence="high")
    for n in range(20)
]
RULES = [f"Rule {n} of this repository says what to do." for n in range(20)]
STATED = [StatedRule(f"Correction {n}: never do this again, do that.", NOW) for n in range(20)]


def test_patterns_leave_a_quarter_of_the_budget_for_the_newest_rules() -> None:
    learned = select_learned(LONG, RULES, 1000)
    assert learned.patterns
    assert learned.rules == tuple(RULES[-len(learned.rules) :])
    assert 200 <= count_tokens("\n".join(learned.rules)) <= 250


def test_rules_and_corrections_share_their_part() -> None:
    learned = select_learned(LONG, RULES, 1000, STATED)
    assert learned.stated == tuple(STATED[: len(learned.stated)])
    assert len(learned.stated) > 3 < len(learned.rules)


def test_without_patterns_rules_have_the_whole_budget() -> None:
    learned = select_learned([], RULES, 1000, STATED[:3])
    assert (len(learned.rules), len(learned.stated)) == (20, 3)


def test_what_is_cut_is_counted() -> None:
    learned = select_learned(LONG, RULES, 400, STATED)
    assert learned.cut_patterns == 20 - len(learned.patterns) > 0
    assert learned.cut_rules == 20 - len(learned.rules) > 0
    assert learned.cut_stated == 20 - len(learned.stated) > 0
