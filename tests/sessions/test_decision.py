"""The Python door: an outcome as a value, a decision as a `with` block, values in a notebook."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from skillvault.api import Vault
from skillvault.model.errors import BadInputError, UsageError
from skillvault.model.records import Outcome
from tests.conftest import NOW, Person
from tests.given import raw

TASK = "Fix the flaky test of the checkout service"


def _only(vault: Vault) -> Outcome:
    (outcome,) = vault.store.snapshot().outcomes.values()
    return outcome


def _of(vault: Vault, decision: str) -> Outcome:
    (outcome,) = vault.store.snapshot().outcomes.by_decision(decision)
    return outcome


# ── one outcome ──────────────────────────────────────────────────────────────────────


def test_an_outcome_is_recorded_as_a_mapping_with_a_time_of_python(vault: Vault) -> None:
    report = vault.record({**raw(), "occurred_at": NOW}, now=NOW)
    assert [done.change.step for done in report.done] == ["record"]
    assert _only(vault).occurred_at == NOW


def test_an_outcome_of_one_vault_is_the_same_in_another(vault: Vault, tmp_path: Path) -> None:
    vault.record(raw(), now=NOW)
    other, _ = Vault.init(tmp_path / "other", ["coding"], now=NOW)
    other.record(_only(vault), now=NOW)
    assert _only(other) == _only(vault)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"domain": "No Slug"}, "domain: "),
        ({"result": {"status": "failure", "score": float("nan")}}, "JSON cannot hold"),
        ({"context": {"of": object()}}, "object is not a value of JSON"),
        ({"result": {"status": "fine"}}, "result.status"),
        ({"occurred_at": datetime(2026, 1, 1)}, "occurred_at"),  # noqa: DTZ001 (what is refused)
    ],
)
def test_a_bad_outcome_is_raised_and_nothing_of_it_is_kept(
    vault: Vault, changes: dict[str, object], sentence: str
) -> None:
    with pytest.raises(BadInputError, match=sentence):
        vault.record({**raw(), **changes}, now=NOW)
    assert (vault.inbox.names(), vault.quarantine.files()) == ([], [])


def test_a_dry_record_of_a_mapping_writes_nothing(vault: Vault) -> None:
    assert vault.record(raw(), now=NOW, dry=True).done
    assert not vault.store.snapshot().outcomes


# ── a decision ───────────────────────────────────────────────────────────────────────


def test_a_decision_is_shown_skills_and_recorded_with_what_it_applied(learned: Vault) -> None:
    about: dict[str, Any] = {"id": "d-1", "agent": "coder-1", "target": "checkout"}
    with learned.decision("coding", TASK, now=NOW, **about) as d:
        (skill,) = d.skills
        assert skill.name in d.prompt
        d.reason("I wait for the event instead of raising the timeout.")
        d.applied(skill.name)
        d.succeed("12 passed", observed_by="tests")
    learned.run(now=NOW)
    outcome = _of(learned, d.id)
    assert (outcome.decision.action, outcome.decision.task) == ("fix", TASK)
    assert (outcome.result.status, outcome.observer) == ("success", "tests")
    (row,) = learned.stats(decision=d.id)["skills"]
    assert (row["skill"], row["shown"], row["applied"]) == (skill.name, True, True)


def test_an_exception_is_a_failure_with_its_message_and_goes_on(vault: Vault) -> None:
    def work() -> None:
        with vault.decision("coding", TASK, id="d-1", now=NOW) as d:
            d.succeed()
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        work()
    result = _of(vault, "d-1").result
    assert (result.status, result.evidence) == ("failure", "ZeroDivisionError: division by zero")


def test_leaving_without_a_word_is_neutral(vault: Vault) -> None:
    with vault.decision("coding", TASK, id="d-1", now=NOW):
        """Nothing is said."""
    outcome = _of(vault, "d-1")
    assert (outcome.result.status, outcome.applied) == ("neutral", None)


def test_an_interrupt_says_nothing_of_the_decision(vault: Vault) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        vault.decision("coding", TASK, id="d-1", now=NOW),
    ):
        raise KeyboardInterrupt
    assert not vault.store.snapshot().outcomes


def test_what_cannot_be_recorded_hides_no_exception(vault: Vault, person: Person) -> None:
    def work() -> None:
        with vault.decision("coding", TASK, id="d-1", now=NOW):
            person.git("checkout", "-q", "--detach")
            raise LookupError("gone")

    with pytest.raises(LookupError) as caught:
        work()
    (note,) = caught.value.__notes__
    assert note.startswith("skillvault: the decision d-1 was not recorded: ")
    person.git("checkout", "-q", "main")
    vault.run(now=NOW)
    assert _of(vault, "d-1").result.status == "failure"


def test_a_domain_that_is_misspelt_is_said_before_the_work(vault: Vault) -> None:
    with (
        pytest.raises(UsageError, match="did you mean coding"),
        vault.decision("codng", TASK, now=NOW),
    ):
        pytest.fail("the block is not entered")


def test_an_observer_that_there_is_not_is_refused_where_it_is_named(vault: Vault) -> None:
    with (
        pytest.raises(UsageError, match="observed_by 'me'"),
        vault.decision("coding", TASK, now=NOW) as d,
    ):
        d.succeed(observed_by="me")


# ── stats, and how values look ───────────────────────────────────────────────────────


def test_stats_takes_a_skill_or_a_decision_as_the_command_does(learned: Vault) -> None:
    name = learned.skills()[0].name
    assert [entry.skill for entry in learned.stats(name)] == [name]
    with pytest.raises(UsageError, match="no such skill"):
        learned.stats("nothing")
    with pytest.raises(UsageError, match="excludes a skill and a domain"):
        learned.inquiry.stats(name, decision="d-1")  # type: ignore[call-overload]
    with pytest.raises(UsageError, match="pass its id too"):
        learned.inquiry.stats(agent="coder-1")  # type: ignore[call-overload]


def test_a_notebook_shows_a_vault_an_answer_and_a_decision(learned: Vault) -> None:
    assert repr(learned) == f"Vault({str(learned.root)!r})"
    assert "<tr><td>outcomes</td><td>1</td></tr>" in learned._repr_html_()
    name = learned.skills()[0].name
    assert name in learned.recommend("coding", TASK)._repr_html_()
    with learned.decision("coding", TASK, id="<d-1>", now=NOW) as d:
        assert "&lt;d-1&gt;" in d._repr_html_()
        assert repr(d) == f"<decision <d-1> in coding: neutral; {name}>"
