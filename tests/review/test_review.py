"""Tests of review: the skills that wait, the meaning of a rejection, and its withdrawal."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from skillvault.api import Vault, proposals, question
from skillvault.model.errors import UncommittedEditError, UsageError
from skillvault.review.proposal import text_pair
from tests.conftest import NOW, Person
from tests.given import as_file, raw, trade
from tests.review.given import before_commit

LATER = NOW + timedelta(days=1)


def with_gate(vault: Vault, person: Person, gate: str) -> None:
    """Let the policy say which new skills wait."""
    person.write("vault.yaml", f"format: 1\ngenerate: {{gate: {gate}}}\n")
    person.git("commit", "-qam", "a gate")


def recorded(vault: Vault, *outcomes: dict[str, object]) -> None:
    """Record outcomes, and do what is due."""
    files = [(f"{number}.json", as_file(one)) for number, one in enumerate(outcomes)]
    vault.record(files, now=NOW)
    vault.run(now=NOW)


@pytest.fixture
def waiting(prepared: Callable[[Callable[[Vault], object]], Vault]) -> Vault:
    """A vault in which every new skill waits for approval; one skill waits."""
    return prepared(_wait)


def _wait(vault: Vault) -> None:
    with_gate(vault, Person(vault.root), "always")
    recorded(vault, raw(0), raw(1))


# ── two at once ──────────────────────────────────────────────────────────────────────


def test_a_decision_does_not_overwrite_a_commit_that_came_meanwhile(
    waiting: Vault, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    (skill,) = waiting.skills("proposed")
    text = (waiting.root / skill.path).read_text(encoding="utf-8")

    def edit() -> None:
        person.write(skill.path, text.replace("# Guide", "# My guide"))
        person.git("commit", "-qam", "my words")

    before_commit(monkeypatch, edit)
    with pytest.raises(UncommittedEditError, match="changed by a commit meanwhile; run again"):
        waiting.curate.approve(skill.name)
    waiting.curate.approve(skill.name)
    approved = waiting.root / f"skills/{skill.name}/SKILL.md"
    assert "# My guide" in approved.read_text(encoding="utf-8")


def test_a_fact_is_not_kept_with_words_that_a_commit_replaced_meanwhile(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.memory.add_fact("The checkout closes at noon.", "coding", now=NOW)
    (fact,) = vault.memory.facts()
    second = Vault(vault.root)
    before_commit(monkeypatch, lambda: second.memory.keep(fact.id, "It closes at one.", now=NOW))
    with pytest.raises(UncommittedEditError, match="changed by a commit meanwhile; run again"):
        vault.memory.keep(fact.id, "It closes at two.", now=NOW)
    assert vault.memory.facts()[0].text == "It closes at one."


# ── the gate ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("gate", "folder"), [("always", "proposed"), ("unproven", "skills")])
def test_the_gate_says_where_a_new_skill_stands(
    vault: Vault, person: Person, gate: str, folder: str
) -> None:
    with_gate(vault, person, gate)
    recorded(vault, raw(0), trade(1), trade(2, score=0.4))
    places = {name: [one.path for one in vault.skills(name)] for name in ("skills", "proposed")}
    assert len(places.pop(folder)) == 4
    assert list(places.values()) == [[]]
    assert not vault.run(now=LATER).done
    assert vault.check().problems == []


def test_never_lets_in_what_rests_on_one_session_and_nothing_untrusted(
    vault: Vault, person: Person
) -> None:
    with_gate(vault, person, "never")
    vault.inbox.create_folders()
    (vault.root / "inbox/untrusted/a.json").write_bytes(as_file(trade(0)))
    vault.run(now=NOW)
    assert [one.kind for one in vault.skills("proposed")] == ["guide", "warning"]
    assert vault.skills() == []


def test_what_waits_goes_on_with_its_subject(waiting: Vault) -> None:
    """It is refreshed where it stands: a person decides about what is true now."""
    before = proposals(waiting)[0].body
    recorded(waiting, raw(2, result__evidence="ERROR: connection refused"), raw(3), raw(4))
    (after,) = proposals(waiting)
    assert after.body != before
    assert waiting.skills() == []


def test_an_approved_skill_is_served_and_goes_on(waiting: Vault) -> None:
    name = proposals(waiting)[0].name
    waiting.curate.approve(name, now=LATER)
    assert [one.name for one in waiting.skills()] == [name]
    assert proposals(waiting) == []
    assert not waiting.run(now=LATER).done


# ── a proposal ───────────────────────────────────────────────────────────────────────


def test_a_proposal_is_shown_with_what_it_rests_on(waiting: Vault) -> None:
    (proposal,) = proposals(waiting)
    assert proposal.basis.sentence == "2 outcomes (2 failed) in 2 sessions, on 2 occasions"
    assert len(proposal.supporting) == 2
    assert (proposal.replaces, proposal.diff, proposal.nearest, proposal.stats) == (
        (),
        (),
        None,
        None,
    )


def test_the_diff_of_a_proposal_is_all_of_it_if_it_replaces_nothing(waiting: Vault) -> None:
    pair = text_pair(question(waiting), proposals(waiting)[0].name)
    assert (pair.old, pair.before) == ("/dev/null", "")
    assert all(line.startswith(("+", "@@", "---")) for line in pair.diff)


def test_the_diff_of_a_live_skill_is_with_itself_before(waiting: Vault, person: Person) -> None:
    name = proposals(waiting)[0].name
    waiting.curate.approve(name, now=LATER)
    path = waiting.root / "skills" / name / "SKILL.md"
    path.write_text(path.read_text() + "\n## Mine\n\nAsk first.\n")
    person.git("commit", "-qam", "mine")
    assert [line for line in text_pair(question(waiting), name).diff[2:] if line[0] in "+-"] == [
        "+", "+## Mine", "+", "+Ask first.",
    ]  # fmt: skip
    assert text_pair(question(waiting), name, "HEAD").diff == []
    with pytest.raises(UsageError, match="no such commit"):
        text_pair(question(waiting), name, "--all")


def guides(vault: Vault) -> list[str]:
    """Return the names of the guides that wait."""
    return [one.name for one in proposals(vault) if one.kind == "guide"]


def alike() -> list[dict[str, object]]:
    """Make two failures of another action that say the same."""
    return [raw(day, decision__action="fix-flaky-test-2") for day in (2, 3)]


# ── rejected ─────────────────────────────────────────────────────────────────────────


def test_a_rejection_is_a_commit_with_its_reason(waiting: Vault, person: Person) -> None:
    name = proposals(waiting)[0].name
    waiting.curate.reject(name, reason="one flaky machine,\nnot a rule", now=LATER)
    message = person.git("log", "-1", "--format=%an: %B")
    assert message.startswith(f"Ada Person: reject: {name}\n")
    assert "Skillvault-Why: one flaky machine, not a rule" in message
    assert (proposals(waiting), waiting.skills("archive")) == ([], [])
    assert waiting.check().problems == []


def test_what_was_rejected_does_not_come_back_and_why_not_says_why(waiting: Vault) -> None:
    name = proposals(waiting)[0].name
    waiting.curate.reject(name, reason="one flaky machine", now=LATER)
    report = waiting.run(now=LATER)
    assert [one.reason for one in report.rejected] == ["one flaky machine"]
    recorded(waiting, raw(2), raw(3), raw(4))
    assert proposals(waiting) == []
    outcome = next(iter(waiting.store.snapshot().outcomes))
    (answer,) = [one for one in waiting.why_not(outcome)[1] if one.step == "generate"]
    assert (answer.state, answer.reason.endswith(": one flaky machine")) == ("rejected", True)


def test_what_says_the_same_is_not_made_and_not_written_at_each_run(waiting: Vault) -> None:
    """Another action, the same lesson: the rejection holds by what it says."""
    name = proposals(waiting)[0].name
    waiting.curate.reject(name, reason="known", now=LATER)
    recorded(waiting, *alike())
    assert guides(waiting) == []
    assert not waiting.store.snapshot().due.keys("generate")
    outcome = max(waiting.store.snapshot().outcomes)
    (answer,) = [one for one in waiting.why_not(outcome)[1] if one.step == "generate"]
    assert answer.reason.startswith(f"says the same as {name}, rejected in ")
    assert answer.reason.endswith(": known")


def test_a_rejection_is_taken_back_with_what_was_like_it(waiting: Vault) -> None:
    name = proposals(waiting)[0].name
    waiting.curate.reject(name, reason="known", now=LATER)
    recorded(waiting, *alike())
    waiting.curate.forget(name, now=LATER)
    waiting.run(now=LATER)
    assert guides(waiting) == [name, f"{name}-2"]
    with pytest.raises(UsageError, match="is not rejected"):
        waiting.curate.forget(name, now=LATER)


def test_a_rejection_taken_back_stays_so_when_the_skill_goes(
    waiting: Vault, person: Person
) -> None:
    """A person takes the file away: that is about this skill, and not about what it says."""
    name = proposals(waiting)[0].name
    waiting.curate.reject(name, reason="known", now=LATER)
    waiting.curate.forget(name, now=LATER)
    person.git("rm", "-rq", f"proposed/{name}")
    person.remove_links(f"skill/{name},")
    recorded(waiting, *alike())
    assert guides(waiting) == [f"{name}-2"]
    report = waiting.run(now=LATER)
    assert [(one.target, one.reason) for one in report.rejected] == []
    with pytest.raises(UsageError, match="is not rejected"):
        waiting.curate.forget(name, now=LATER)


def test_a_rejection_after_one_taken_back_counts(waiting: Vault) -> None:
    name = proposals(waiting)[0].name
    waiting.curate.reject(name, reason="known", now=LATER)
    waiting.curate.forget(name, now=LATER)
    waiting.curate.reject(name, reason="known for good", now=LATER)
    recorded(waiting, *alike())
    assert guides(waiting) == []
    outcome = max(waiting.store.snapshot().outcomes)
    (answer,) = [one for one in waiting.why_not(outcome)[1] if one.step == "generate"]
    assert answer.reason.endswith(": known for good")


def test_only_what_waits_is_rejected_and_with_a_reason(waiting: Vault) -> None:
    name = proposals(waiting)[0].name
    with pytest.raises(UsageError, match="--reason"):
        waiting.curate.reject(name, reason=" ", now=LATER)
    waiting.curate.approve(name, now=LATER)
    with pytest.raises(UsageError, match="served already; `skillvault undo"):
        waiting.curate.reject(name, reason="no", now=LATER)
