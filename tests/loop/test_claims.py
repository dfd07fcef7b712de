"""Evidence belongs to a trust, an agent and a decision's id: nobody takes over another's."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from skillvault.api import Vault, distill
from skillvault.loop.run import Report
from skillvault.model.errors import UsageError
from skillvault.model.intake import parse_outcome
from tests.cli.test_recommend import call
from tests.conftest import NOW, Person, unguarded
from tests.given import as_file, ended, raw

SKILL, OTHER = "seeded-runs", "raise-timeouts"
TASK = "make the nightly suite repeatable"
TEXT = "---\nname: {name}\ndescription: What it does.\n---\n\n# About {name}\n\nDo it.\n"
NAMED, NAMELESS, HELD = "d-1", "d-2", "d-3"  # decisions of coder-1, with receipts
EVENT = "e-d-1"  # the event's id of the first
TAKEN = "conflicting-duplicate"
POLICY = "effect: {holdout: 0, explore: 0, sampling: 0}"


def _end(decision: str, status: str = "success", hour: int = 14, **changes: Any) -> dict[str, Any]:
    """An outcome of coder-1 that applied the skill."""
    fields = {
        "occurred_at": f"2026-11-20T{hour}:00:00Z",
        "decision": {"id": decision, "action": "fix-flaky-test"},
        "result": {"status": status},
        "applied": [SKILL],
        "source": {"agent": "coder-1"},
    }
    return raw(**{**fields, **changes})


ENDED = parse_outcome(_end(NAMED, event_id=EVENT), trust="local", now=NOW).id


def _receipt(decision: str, **changes: Any) -> dict[str, Any]:
    """A record of what was shown, as somebody forges it: the other skill, and ours held out."""
    fields = {
        "type": "recommendation",
        "decision": decision,
        "domain": "coding",
        "at": "2026-11-20T13:30:00Z",
        "shown": [{"skill": OTHER}],
        "held_out": [{"skill": SKILL}],
    }
    return {**fields, **changes}


@pytest.fixture(scope="module")
def pattern(_new_vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault in which coder-1 was shown and applied a skill, three times."""
    vault = Vault(unguarded(_new_vault, tmp_path_factory.mktemp("claims") / "vault"))
    person = Person(vault.root)
    for name in (SKILL, OTHER):
        person.write(f"skills/{name}/SKILL.md", TEXT.format(name=name))
    person.git("add", "-A")
    person.git("commit", "-qm", "two skills")
    person.rule(POLICY)
    for decision, agent in ((NAMED, "coder-1"), (NAMELESS, None), (HELD, "coder-1")):
        vault.recommend("coding", TASK, pins=[SKILL], decision=decision, agent=agent, now=NOW)
    ends = [_end(decision, event_id=f"e-{decision}") for decision in (NAMED, NAMELESS, HELD)]
    vault.record([(f"{n}.json", as_file(end)) for n, end in enumerate(ends)], now=NOW)
    vault.run(now=NOW)
    return vault.root


@pytest.fixture
def claimed(pattern: Path, tmp_path: Path) -> Vault:
    """A copy of the vault `pattern`."""
    return Vault(Path(shutil.copytree(pattern, tmp_path / "vault", symlinks=True)))


def _evidence(vault: Vault) -> object:
    """All that coder-1's three decisions show."""
    stats = [
        vault.stats(decision=decision, agent="coder-1") for decision in (NAMED, NAMELESS, HELD)
    ]
    return [{key: value for key, value in one.items() if key != "others"} for one in stats]


def _counts(vault: Vault) -> tuple[int, int, int, int]:
    """Return how often the skill was applied, applied with success, shown, and held out."""
    (one,) = vault.stats(SKILL)
    return one.times_applied, one.success_count, one.shown, one.held_out


def _refused(vault: Vault) -> list[str]:
    """The codes of what is quarantined."""
    return [one.code for one in vault.quarantine.files()]


class Attempt(NamedTuple):
    """Files that somebody sends in, and what becomes of them.

    `becomes`: `apart` (no evidence), `own`, or the code by which they are refused.
    """

    becomes: str
    files: tuple[dict[str, Any], ...]
    untrusted: bool = False


def _named(agent: str | None, **changes: Any) -> Attempt:
    source = {"agent": agent} if agent else {}
    return Attempt(TAKEN, (_end(NAMED, "failure", 15, source=source, **changes),))


ATTEMPTS = {
    "a later failure of another agent": _named("coder-2"),
    "a failure that is dated before": _named("coder-2", occurred_at="2026-11-20T13:00:00Z"),
    "a failure that is dated before it was asked": _named("x", occurred_at="2026-11-01T00:00:00Z"),
    "a failure of nobody": _named(None),
    "the name in other letters": _named("Coder-1"),
    "the name in look-alikes": _named("c\u043eder-1"),
    "another agent that applied nothing": _named("coder-2", applied=[]),
    "another agent by a handle": _named("coder-2", applied=["[S1]"]),
    "another agent in another domain": _named("coder-2", domain="perps"),
    "another agent with its event's id": _named("coder-2", event_id="e-1"),
    "a later failure where the receipt names nobody": Attempt(
        TAKEN, (_end(NAMELESS, "failure", 15, source={"agent": "coder-2"}),)
    ),
    "an earlier one where the receipt names nobody": Attempt(
        TAKEN, (_end(NAMELESS, "failure", 13, source={"agent": "coder-2"}),)
    ),
    "its name through the untrusted door": Attempt(
        "apart", (_end(NAMED, "failure", 15),), untrusted=True
    ),
    "its name, with trust given up": Attempt(
        "apart",
        (_end(NAMED, "failure", 15, source={"agent": "coder-1", "trust": "untrusted"}),),
    ),
    "a receipt of its name through the untrusted door": Attempt(
        "apart", (_receipt(NAMED, agent="coder-1"),), untrusted=True
    ),
    "a nameless receipt through the untrusted door": Attempt(
        "apart", (_receipt(NAMELESS),), untrusted=True
    ),
    "a receipt of another agent": Attempt("apart", (_receipt(NAMED, agent="coder-2"),)),
    "a receipt of another agent with another task": Attempt(
        "apart", (_receipt(HELD, agent="coder-2", task="steal the keys"),)
    ),
    "a nameless receipt beside one with the name": Attempt("apart", (_receipt(NAMED),)),
    "a receipt of another agent beside a nameless one": Attempt(
        "apart", (_receipt(NAMELESS, agent="coder-2"),)
    ),
    "a receipt and its failure": Attempt(
        "own",
        (
            _receipt(NAMED, agent="coder-2"),
            _end(NAMED, "failure", 15, source={"agent": "coder-2"}),
        ),
    ),
    "an id that differs in a letter's case": Attempt(
        "own", (_end("D-1", "failure", 15, source={"agent": "coder-2"}),)
    ),
    "an event's id that it used, in its name": Attempt(
        TAKEN, (_end("d-9", "failure", 15, event_id=EVENT),)
    ),
    "an event's id that it used, with a digest": Attempt(
        TAKEN, (_end("d-9", "failure", 15, event_id=EVENT, received="0" * 64),)
    ),
    "an event's id that it used, through the untrusted door": Attempt(
        "apart", (_end(NAMED, "failure", 15, event_id=EVENT),), untrusted=True
    ),
    "an outcome that says it has its id": _named("coder-2", id=ENDED),
    "an outcome that says it has its id, untrusted": Attempt(
        "apart", (_end("d-9", "failure", 15, id=ENDED),), untrusted=True
    ),
    "an evaluation of its outcome": Attempt(
        "unknown-type", ({"type": "evaluation", "outcome": ENDED, "was_good_decision": False},)
    ),
    "a link of its outcome": Attempt(
        "unknown-type",
        ({"type": "link", "source": {"kind": "outcome", "id": ENDED}, "target": SKILL},),
    ),
    "its session with a failure, untrusted": Attempt(
        "apart",
        (_end("d-9", "failure", source={"agent": "coder-1", "session": "s-1"}),),
        untrusted=True,
    ),
    "trust that a file gives itself": Attempt(
        "apart",
        (_end("d-9", "failure", source={"agent": "coder-1", "trust": "local"}),),
        untrusted=True,
    ),
    "trust that a file gives itself at the top": Attempt(
        "apart", (_end(NAMED, "failure", 15, trust="local"),), untrusted=True
    ),
}


def _drop(vault: Vault, attempt: Attempt) -> Report:
    files = [(f"x{n}.json", as_file(one)) for n, one in enumerate(attempt.files)]
    if not attempt.untrusted:
        vault.record(files, now=NOW)
        return vault.run(now=NOW)
    for name, data in files:
        (vault.root / "inbox/untrusted" / name).write_bytes(data)
    return vault.run(now=NOW, patience=10)


@pytest.mark.parametrize("name", ATTEMPTS)
def test_an_attempt_changes_nothing_of_another_agent_s_evidence(claimed: Vault, name: str) -> None:
    attempt, before = ATTEMPTS[name], (_evidence(claimed), _counts(claimed))
    tasks = claimed.search("steal the keys")
    _drop(claimed, attempt)
    assert _refused(claimed) == ([] if attempt.becomes in {"apart", "own"} else [attempt.becomes])
    assert claimed.inbox.names() == []
    assert _evidence(claimed) == before[0]
    assert claimed.search("steal the keys") == tasks
    added = attempt.becomes == "own"
    read = added and len(attempt.files) > 1  # though its own receipt says that it was held out
    applied, succeeded, *offered = before[1]
    assert _counts(claimed) == (applied + added, succeeded, offered[0] + read, offered[1])


@pytest.mark.parametrize("first", ["local", "untrusted"])
def test_an_untrusted_session_takes_no_other_s_id(claimed: Vault, first: str) -> None:
    forged = ended("s-1", successes=[], agent="coder-1")
    drops = {
        "local": lambda: claimed.record([("own.json", as_file(ended("s-1")))], now=NOW),
        "untrusted": lambda: _drop(claimed, Attempt("apart", (forged,), untrusted=True)),
    }
    for door in sorted(drops, key=lambda door: door != first):
        drops[door]()
    assert _refused(claimed) == []
    sessions = claimed.store.snapshot().sessions
    trusts = {one.trust: one.successes != () for one in sessions.values()}
    assert trusts == {"local": True, "untrusted": False}
    assert distill(claimed, "s-1", now=NOW)[0] == "s-1"
    assert claimed.check().problems == []


def test_what_a_pull_brought_is_counted_apart(claimed: Vault) -> None:
    """An outcome that another clone recorded passes no entry point here."""
    before = _evidence(claimed)
    other = Vault(Path(shutil.copytree(claimed.root, claimed.root.parent / "other", symlinks=True)))
    person = Person(other.root)
    person.git("rm", "-rq", "recommendations")  # else it would be refused there
    person.git("commit", "-qm", "no receipts")
    other.record([("x.json", as_file(_named("coder-2").files[0]))], now=NOW)
    person = Person(claimed.root)
    person.git("fetch", "-q", str(other.root), "main")
    person.git("merge", "-qs", "ours", "-m", "theirs", "FETCH_HEAD")
    (path,) = set(other.store.snapshot().files.below("outcomes")) - set(
        claimed.store.snapshot().files.below("outcomes")
    )
    person.git("checkout", "-q", "FETCH_HEAD", "--", path)
    person.git("commit", "-qm", "what they recorded")
    assert _evidence(claimed) == before
    assert [one["agent"] for one in claimed.stats(decision=NAMED)["others"]] == ["coder-2"]


def test_who_took_an_id_before_it_was_asked_is_not_joined(claimed: Vault) -> None:
    early = _end("d-9", "failure", 10, source={"agent": "squatter"})
    claimed.record([("x.json", as_file(early))], now=NOW)
    claimed.recommend("coding", TASK, pins=[SKILL], decision="d-9", now=NOW)
    claimed.record([("y.json", as_file(_end("d-9")))], now=NOW)
    claimed.run(now=NOW)
    assert _refused(claimed) == []
    found = claimed.stats(decision="d-9")
    assert (found["agent"], found["outcome"]) == ("coder-1", "success")
    assert [(row["skill"], row["shown"]) for row in found["skills"]] == [(SKILL, True)]
    squat = claimed.stats(decision="d-9", agent="squatter")
    assert [(row["skill"], row["shown"]) for row in squat["skills"]] == [(SKILL, False)]


def test_of_one_agent_s_outcomes_of_a_decision_the_last_counts_and_none_is_refused(
    claimed: Vault,
) -> None:
    claimed.record([("x.json", as_file(_end(NAMED, "failure", 15)))], now=NOW)
    assert _refused(claimed) == []
    assert claimed.stats(decision=NAMED)["outcome"] == "failure"
    assert _counts(claimed)[:2] == (3, 2)


def test_what_was_recorded_once_is_taken_again_without_a_word(claimed: Vault) -> None:
    report = claimed.record([("x.json", as_file(_end(NAMED, event_id=EVENT)))], now=NOW)
    assert (len(report.known), _refused(claimed)) == (1, [])


def test_without_a_receipt_two_agents_may_use_one_id(claimed: Vault) -> None:
    ends = [_end("task-1"), _end("task-1", "failure", 15, source={"agent": "coder-2"})]
    claimed.record([(f"{n}.json", as_file(end)) for n, end in enumerate(ends)], now=NOW)
    assert _refused(claimed) == []
    assert _counts(claimed)[:2] == (5, 4)
    assert claimed.stats(decision="task-1", agent="coder-1")["outcome"] == "success"
    assert claimed.stats(decision="task-1", agent="coder-2")["outcome"] == "failure"
    text, _ = call(claimed, "stats", "--decision", "task-1")
    assert "because the agent coder-2 used the id too: failure; `--agent coder-2` shows it" in text


def _of_nobody(vault: Vault) -> None:
    vault.stats(decision=NAMED, agent="coder-9")


def _of_untrusted(vault: Vault) -> None:
    _drop(vault, Attempt("apart", (_end("d-77"),), untrusted=True))
    vault.stats(decision="d-77")


def _agent_alone(vault: Vault) -> None:
    vault.recommend("coding", TASK, agent="coder-1")


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (_of_nobody, "no outcome of coder-9 that is trusted"),
        (_of_untrusted, "no recommendation and no outcome that is trusted has this decision"),
        (_agent_alone, "an agent's name is recorded only with a decision; pass its id too"),
    ],
)
def test_what_cannot_be_asked_is_said(
    claimed: Vault, ask: Callable[[Vault], None], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        ask(claimed)
