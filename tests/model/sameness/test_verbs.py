"""same, opposite: lessons of one template and another verb never say the same."""

from itertools import product

import pytest

from skillvault.model.sameness.comparison import is_opposite, is_same
from skillvault.model.sameness.form import normal_form

# Each names the sides of several axes beside its verb.
TEMPLATES = [
    "{} the {} when the queue grows.",
    "{} the {} to 40 when the queue grows.",
    "When the load increases, {} the {}.",
    "{} the {} before the queue shrinks below the threshold.",
    "If the error rate rises, {} the {} first.",
    "You should {} the {} after the price falls.",
    "Once a pool opens, {} the {} until it closes.",
    "{} the {} in the nightly import of the ledger.",
]
CONTRARY = [
    "increase reduce limit", "raise lower limit", "grow shrink pool", "enable disable cache",
    "add remove index", "open close position", "start stop worker", "allow block request",
    "include exclude field", "expand collapse tree", "widen tighten stop", "pause resume feed",
    "keep discard column", "accept reject order", "buy sell coin", "merge split batch",
    "improve spoil score", "lock unlock row", "show hide panel", "pin unpin version",
    "scale|in scale|out fleet", "phase|out phase|in flag",
]  # fmt: skip
OTHER = [
    "keep drop column", "hold close position", "hold hedge position", "restart kill worker",
    "restart restore worker", "use skip index", "test run migration", "read write file",
    "check skip balance", "cache bypass response", "pad trim batch", "save delete row",
    "double halve size", "retry abort call", "push revert commit", "encrypt log token",
    "follow ignore trend", "build pull image", "send hold message",
    "ask tell user", "set clear flag", "cut add|to position", "overwrite append|to file",
    "transform transfer record",
]  # fmt: skip
ALIKE = [
    "verify check balance", "fix repair index", "send transmit report", "choose select column",
    "fetch retrieve page", "increase raise limit", "cut slice batch",
]  # fmt: skip
RESULTS = [
    "works fails", "improves spoils", "helps hurts", "wins loses", "succeeds breaks",
    "boosts degrades", "improves worsens", "pays off|backfires", "works does harm", "helps fails",
]  # fmt: skip
ENDED = [
    "A larger batch {} on the staging cluster.",
    "Label smoothing {} on small data.",
    "Entering after a sharp rise {} when funding is high.",
    "Raising the limit {} when the queue grows.",
    "Retrying failed payments {} after a timeout.",
    "A larger batch {} the accuracy.",
]


def _lessons(template: str, line: str) -> tuple[str, str]:
    first, second, thing = (part.replace("|", " ") for part in line.split())
    said = (template.format(verb, thing) for verb in (first, second))
    one, other = (text[0].upper() + text[1:] for text in said)
    return one, other


@pytest.mark.parametrize(("template", "line"), [*product(TEMPLATES, CONTRARY)])
def test_a_contrary_verb_makes_the_opposite(template: str, line: str) -> None:
    a, b = map(normal_form, _lessons(template, line))
    assert not is_same(a, b)
    assert is_opposite(a, b)


@pytest.mark.parametrize(("template", "line"), [*product(TEMPLATES, OTHER)])
def test_another_verb_in_its_place_makes_another_lesson(template: str, line: str) -> None:
    assert not is_same(*map(normal_form, _lessons(template, line)))


@pytest.mark.parametrize(("template", "line"), [*product(TEMPLATES, ALIKE)])
def test_a_known_synonym_makes_the_same(template: str, line: str) -> None:
    assert is_same(*map(normal_form, _lessons(template, line)))


@pytest.mark.parametrize(("template", "line"), [*product(ENDED, RESULTS)])
def test_results_that_end_otherwise_are_opposites(template: str, line: str) -> None:
    first, _, second = line.partition("|" if "|" in line else " ")
    a, b = normal_form(template.format(first)), normal_form(template.format(second))
    assert not is_same(a, b)
    assert is_opposite(a, b) or "wins" in line


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Retry failed payments.", "Retry failed payments: that helps."),
        ("Increase the limit.", "Increase the limit, as the load falls."),
        ("Close a long position.", "Close a long position before the short one."),
        ("Check the client certificate.", "Check the client certificate on the server."),
    ],
)
def test_a_side_beyond_those_of_the_other_makes_it_another_text(a: str, b: str) -> None:
    assert not is_same(normal_form(a), normal_form(b))
    assert not is_opposite(normal_form(a), normal_form(b))


def test_a_side_may_be_said_twice() -> None:
    once = "Increase the limit of the import queue when the load grows."
    twice = "Increase the limit of the import queue when the load grows; increase it slowly."
    assert is_same(normal_form(once), normal_form(twice))
