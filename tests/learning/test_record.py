"""record: which outcomes are admitted."""

import pytest

from skillvault.learning import record
from skillvault.model.errors import BadInputError
from skillvault.model.policy import Policy, RecordPolicy
from tests.given import outcome, raw


def test_a_new_domain_is_admitted_where_domains_are_open() -> None:
    record.check_domain("cooking", {"perps", "coding"}, Policy())


def test_a_misspelt_domain_is_asked_about() -> None:
    with pytest.raises(BadInputError, match="did you mean coding"):
        record.check_domain("codnig", {"perps", "coding"}, Policy())


def test_members_of_a_numbered_series_are_no_misspellings() -> None:
    assert record.near_domain("strategytestv3", {"strategytestv2"}) is None


def test_closed_domains_admit_only_those_listed() -> None:
    closed = Policy(domains=("coding", "perps"), record=RecordPolicy(domains="closed"))
    record.check_domain("coding", (), closed)
    with pytest.raises(BadInputError, match="not one of coding or perps"):
        record.check_domain("cooking", {"cooking"}, closed)


def test_an_event_id_means_one_event_of_one_agent() -> None:
    first = outcome(raw(event_id="e-1"))
    same = outcome(raw(event_id="e-1"))
    other = outcome(raw(event_id="e-1", result__summary="other"))
    untrusted = outcome(raw(event_id="e-1", result__summary="other"), "untrusted")
    elsewhere = outcome(raw(event_id="e-1", source__agent="coder-2"))
    events = {record.event_of(first): first}
    record.check_event(same, events)
    record.check_event(elsewhere, events)
    record.check_event(untrusted, events)
    with pytest.raises(BadInputError) as caught:
        record.check_event(other, events)
    assert caught.value.code == "conflicting-duplicate"


def test_the_commit_counts_what_it_records() -> None:
    batch = [outcome(raw(0)), outcome(raw(1, result__status="success"))]
    change = record.record_change("coding", batch, ["a.json", "b.json"])
    assert change.headline == "record: 2 outcomes in coding"
    assert change.reason == "1 success and 1 failure, reported by coder-1."
    assert change.takes == ("a.json", "b.json")
