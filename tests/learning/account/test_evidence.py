"""evidence: which outcomes stand behind each statement, and whether the records give that."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from skillvault.learning.account.evidence import find_miscounts, to_text
from skillvault.learning.account.statements import KINDS
from skillvault.learning.account.statements import findings_of as say
from skillvault.model.brief import Account, Findings
from skillvault.model.errors import BadInputError
from skillvault.model.policy import Policy
from skillvault.model.records import Outcome, SkillKind
from skillvault.model.skill_evidence import from_text
from tests.learning.accounts import CHECKED, PRICES, TENANT, account, ended, findings_of, traded
from tests.rules import context

POLICY = Policy()
RUNS = [
    ended(0, TENANT, context={"mode": "strict"}),
    ended(1, TENANT, context={"mode": "strict"}),
    ended(2, CHECKED, "success", context={"mode": "loose"}),
    ended(3, "", result={"answer": "24"}),
    ended(4, "", lesson={"do": "give each test a port"}),
]
TRADES = [traded(day, f"Buy it at {day}.", score) for day, score in
          enumerate((-0.3, 0.4, -0.2, 0.05))]  # fmt: skip
STRICT = context("mode", "strict", result="failures", action="fix-flaky-test")
DEPLOYS = [
    ended(day, CHECKED, "success", decision__action="deploy", context={"mode": "strict"})
    for day in (3, 4)
]


def ruled(outcomes: list[Outcome] = RUNS) -> Account:
    """An account with a rule."""
    return replace(account(outcomes), rules=(STRICT,))


def recounted(text: str, outcomes: list[Outcome] = RUNS) -> list[str]:
    """Return the statements of a text that these records do not give; rules are not recounted."""
    return find_miscounts(from_text(text), account(outcomes), POLICY)


def test_the_file_says_which_outcomes_stand_behind_each_statement() -> None:
    found = findings_of(RUNS[:3])
    evidence = from_text(to_text(found))
    assert (evidence.kind, evidence.read) == ("guide", tuple(one.id for one in RUNS[:3]))
    assert [(one.statement, one.kind, *one.sides) for one in evidence.statements] == [
        (one.text, one.kind, one.supporting, one.against, *one.others) for one in found.statements
    ]


@pytest.mark.parametrize(
    "found",
    [
        say(ruled(), "guide", POLICY),
        findings_of(TRADES, "warning"),
        findings_of(TRADES, "pattern"),
        findings_of(TRADES),
        say(ruled([*RUNS, *DEPLOYS]), "strategy", POLICY),
    ],
    ids=["guide with a rule", "warning", "pattern", "guide of trades", "strategy"],
)
def test_the_records_give_what_was_written(found: Findings) -> None:
    assert recounted(to_text(found), list(found.account.outcomes)) == []


@given(st.lists(st.sampled_from([*RUNS, *TRADES]), unique_by=lambda one: one.id, min_size=1),
       st.sampled_from(KINDS))  # fmt: skip
def test_whatever_is_written_is_counted_alike(outcomes: list[Outcome], kind: SkillKind) -> None:
    assert recounted(to_text(findings_of(outcomes, kind)), outcomes) == []


def _told(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


TAMPERINGS: dict[str, Callable[[str], str]] = {
    "an id less": lambda text: _told(text, f'for: ["{RUNS[0].id}", "{RUNS[1].id}"]',
                                     f'for: ["{RUNS[0].id}"]'),
    "an id more": lambda text: _told(text, f'for: ["{RUNS[0].id}", "{RUNS[1].id}"]',
                                     f'for: ["{RUNS[0].id}", "{RUNS[1].id}", "{RUNS[3].id}"]'),
    "a side turned": lambda text: _told(text, f'for: ["{RUNS[3].id}"]',
                                        f'against: ["{RUNS[3].id}"]'),
    "another count": lambda text: _told(text, "(2 of 2 runs failed", "(2 of 9 runs failed"),
    "another condition": lambda text: _told(text, '"value": "strict"', '"value": "loose"'),
    "another result": lambda text: _told(text, '"result": "failures"', '"result": "successes"'),
}  # fmt: skip


@pytest.mark.parametrize("tampering", TAMPERINGS)
def test_what_was_changed_in_the_file_is_found(tampering: str) -> None:
    text = to_text(say(ruled(), "guide", POLICY))
    assert len(recounted(TAMPERINGS[tampering](text))) == 1


def test_an_outcome_that_ended_otherwise_since_is_found() -> None:
    text = to_text(findings_of(RUNS[:3]))
    corrected = replace(RUNS[1], result=replace(RUNS[1].result, status="success"))
    (found,) = recounted(text, [RUNS[0], corrected, RUNS[2]])
    assert found.startswith(TENANT.rstrip("."))


@pytest.mark.parametrize(
    "text", ["- a", "kind: guide", "kind: guide\nread: 3\n", "kind: x\nread: []"]
)
def test_what_is_no_evidence_is_refused(text: str) -> None:
    with pytest.raises(BadInputError, match="cannot be read as evidence"):
        from_text(text)


def test_the_ids_of_a_statement_stand_in_one_line_however_many_there_are() -> None:
    """A diff shows which outcome came."""
    few, many = (to_text(findings_of([ended(day, PRICES) for day in range(n)])) for n in (2, 3))
    assert len(few.splitlines()) == len(many.splitlines())
