"""The limits of a judge's requests and costs: caps, the circuit, outages, what is set aside.

A day of simulated time passes in seconds; each request is counted by the server.
"""

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.judge.claude.judge import ClaudeJudge
from skillvault.judge.claude.prompts import Prompts
from skillvault.judge.claude.questions import Questions
from skillvault.loop.judging.paid_calls import Caller
from skillvault.model.claude_models import MODELS, THOROUGH, Usage, cost
from skillvault.model.errors import NoAnswerError, UnavailableError
from skillvault.model.policy import DistillPolicy, JudgePolicy
from skillvault.vault.files.redact import redact_value
from skillvault.vault.spending import Ledger
from tests.conftest import NOW
from tests.given import START, as_file, passing, trade
from tests.judge.conftest import appoint
from tests.judge.given import HOUR, Clock, ask, asking
from tests.judge.providers import PROVIDERS, ByAgent, Provider, answer_all
from tests.judge.server import (
    VERDICT,
    Answer,
    Body,
    Server,
    asked_for,
    claude,
    error,
    message,
    told,
)

DAY = 24 * HOUR
by_both = pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)


def tried(act: Callable[[], object]) -> bool:
    """Return True if a call is answered, False if the judge refuses it."""
    try:
        act()
    except (UnavailableError, NoAnswerError):
        return False
    return True


def most_in_an_hour(times: list[float]) -> int:
    """Return the largest number of these times within any one hour."""
    return max((sum(0 <= t - first < HOUR for t in times) for first in times), default=0)


OUTAGES = {
    "overloaded": error(529, "overloaded_error"),
    "retry-after": error(429, "rate_limit_error", retry_after="900"),
    "no-key": error(401, "authentication_error"),
    "reset": Answer(how="reset"),
}


@pytest.mark.parametrize(
    ("name", "concurrency"),
    [("overloaded", 1), ("overloaded", 8), ("retry-after", 4), ("no-key", 4), ("reset", 4)],
)
def test_an_outage_of_a_day_costs_four_requests_an_hour(
    name: str, concurrency: int, tmp_path: Path, api: Server
) -> None:
    fault, clock = OUTAGES[name], Clock()
    judge, ledger = asking(tmp_path, clock, concurrency=concurrency)
    times: list[float] = []
    api.script = lambda _: (times.append(clock.wall()), fault)[1]  # type: ignore[func-returns-value]
    with ThreadPoolExecutor(concurrency) as pool:
        while clock.now() < DAY:
            asked = range(concurrency)
            assert not any(pool.map(lambda n: tried(lambda: ask(judge, n)), asked))
            clock.sleep(1200)
    assert 20 <= len(times) <= (4 + 24 if name == "no-key" else 96)
    assert most_in_an_hour(times) <= 4
    api.script = claude
    clock.sleep(HOUR)
    assert ask(judge, 0).quality_score == VERDICT["quality_score"]
    assert ledger.closed_reason() is None


def expensive(body: Body) -> Answer:
    """A reply that uses all it may."""
    return message(VERDICT, output_tokens=body["max_tokens"], input_tokens=len(told(body)) // 2)


def test_four_at_once_never_spend_more_than_the_cap(tmp_path: Path, api: Server) -> None:
    clock = Clock()
    judge, ledger = asking(tmp_path, clock, usd_per_day=1.0)
    api.script = expensive
    with ThreadPoolExecutor(4) as pool:
        answered = list(pool.map(lambda n: tried(lambda: ask(judge, n)), range(40)))
    usages = (Usage(len(told(body)) // 2, body["max_tokens"]) for body in api.requests)
    spent = sum(cost(MODELS[THOROUGH], usage) for usage in usages)
    assert 0.8 < spent <= 1.0
    assert ledger.spent_today().usd == pytest.approx(spent)
    assert sum(answered) == len(api.requests) < 40
    again, _ = asking(tmp_path, clock, usd_per_day=1.0)  # as another process would
    assert not tried(lambda: ask(again, "one more"))
    clock.sleep(DAY)
    assert tried(lambda: ask(again, "one more"))


def test_no_more_calls_a_day_than_the_cap(tmp_path: Path, api: Server) -> None:
    judge, ledger = asking(tmp_path, Clock(), calls_per_day=3)
    assert [tried(lambda n=n: ask(judge, n)) for n in range(6)] == [True] * 3 + [False] * 3  # type: ignore[misc]
    assert len(api.requests) == ledger.spent_today().calls == 3


def test_nothing_is_sent_where_the_ledger_cannot_be_written(tmp_path: Path, api: Server) -> None:
    judge, _ = asking(tmp_path, Clock())
    (tmp_path / "judge.db").write_bytes(b"no database, and longer than its header" * 100)
    with pytest.raises(UnavailableError, match=r"judge\.db cannot be used .*remove the file"):
        ask(judge, 1)
    assert api.requests == []


def test_a_paid_reply_is_not_paid_for_again(tmp_path: Path, api: Server) -> None:
    clock = Clock()
    first, second = (asking(tmp_path, clock)[0] for _ in range(2))
    assert ask(first, "the same") == ask(second, "the same")
    assert len(api.requests) == 1


def test_a_call_that_a_killed_process_left_is_paid_for_and_blocks_nobody(
    tmp_path: Path, api: Server
) -> None:
    clock = Clock()
    judge, ledger = asking(tmp_path, clock)
    for _ in range(5):
        ledger.reserve(0.1, JudgePolicy(usd_per_day=9, calls_per_day=99))
    clock.sleep(700)
    assert tried(lambda: ask(judge, 1))
    assert ledger.spent_today().usd > 0.4


# ── in a vault ───────────────────────────────────────────────────────────────────────


def wound(vault: Vault, clock: Clock) -> Vault:
    """The vault, with a judge and a ledger that go by a clock of ours."""
    ledger = Ledger(vault.store.ledger.path, clock.wall)
    rules = JudgePolicy(provider="claude")
    caller = Caller(ledger, rules, now=clock.now, sleep=clock.sleep)
    questions = Questions(rules, Prompts({}, redact_value), DistillPolicy())
    judge = ClaudeJudge(questions, caller.ask_claude, caller.forget_reply, lambda key: None)
    found = Vault(vault.root, judge)
    found.store.ledger = ledger
    return found


def given(vault: Vault, *reasons: str) -> list[str]:
    """Outcomes of these reasonings in the vault; their ids in the order of the reasons."""
    outcomes = (
        trade(day, decision__reasoning=reason, decision__target=f"T{day}")
        for day, reason in enumerate(reasons)
    )
    vault.record([(f"{day}.json", as_file(one)) for day, one in enumerate(outcomes)], now=NOW)
    return sorted(vault.store.snapshot().outcomes)


def poisoned(answer: Answer) -> Callable[[Body], Answer]:
    """Return a script that answers so to requests that speak of poison, and sensibly to others."""
    return lambda body: answer if "poison" in told(body) else claude(body)


@pytest.mark.parametrize(
    "fault", [error(400, "invalid_request_error"), error(500, "api_error"), message("")],
    ids=["bad-request", "service-error", "empty"],
)  # fmt: skip
def test_what_fails_five_times_is_set_aside_and_the_others_are_judged(
    fault: Answer, claudes: Vault, api: Server
) -> None:
    clock = Clock()
    vault = wound(claudes, clock)
    api.script = poisoned(fault)
    for number in range(8):
        given(vault, "it was poison", *(f"ground {n} to buy" for n in range(number + 1)))
        vault.run(["evaluate"], now=NOW)
        clock.sleep(2 * HOUR)
    status = vault.status()
    assert len(status.judge.aside) == 1
    assert status.evaluations == status.outcomes - 1 == 8
    assert status.waiting["evaluate"] == 0
    (aside,) = status.judge.aside
    (_, answers) = vault.why_not(aside)
    assert answers[1].state == "aside"
    assert "`skillvault run --retry`" in answers[1].reason
    count = len(api.requests)
    assert vault.run(["evaluate"], now=NOW).waiting == []
    assert len(api.requests) == count
    api.script = claude
    vault.store.ledger.forget_failures()
    assert vault.run(["evaluate"], now=NOW).unavailable is None
    assert vault.status().evaluations == 9


@by_both
def test_an_outage_sets_nothing_aside(provider: type[Provider], vault: Vault, api: Server) -> None:
    appoint(vault, provider=provider.name)
    clock = Clock()
    judging = provider(api)
    vault = wound(vault, clock) if judging.pays else vault
    given(vault, "one reason", "another reason")
    api.script = lambda _: error(503, "api_error")
    for _ in range(30):
        assert (judging.evaluate(vault).unavailable is not None) is judging.pays
        clock.sleep(HOUR)
    assert vault.status().judge.aside == []
    api.script = claude
    judging.evaluate(vault)
    evaluations = vault.store.snapshot().evaluations.values()
    assert [one.judge.name for one in evaluations] == [provider.name] * 2
    assert (api.requests != []) is judging.pays


@pytest.mark.parametrize("fault", [message(""), message("no"), error(500, "api_error")])
def test_an_answer_that_is_refused_again_and_again_stays_open_and_the_others_are_kept(
    fault: Answer, vault: Vault, api: Server
) -> None:
    appoint(vault, provider="agent", patience=30)
    judging = ByAgent(api)
    api.script = poisoned(fault)
    for number in range(6):
        given(vault, "it was poison", *(f"ground {n} to buy" for n in range(number)))
        assert judging.evaluate(vault).waiting == []
    open_now = vault.queue.next_questions(99)
    assert {"poison" in question.record for question in open_now} == {True}
    judges = [one.judge.name for one in vault.store.snapshot().evaluations.values()]
    assert sorted(judges) == ["agent"] * 5 + ["offline"]
    assert vault.status().judge.aside == []
    api.script = claude
    judging.evaluate(vault)
    assert {e.judge.name for e in vault.store.snapshot().evaluations.values()} == {"agent"}


def test_an_agent_that_answers_nobody_costs_nothing_and_its_questions_go(
    vault: Vault, api: Server
) -> None:
    appoint(vault, provider="agent", patience=2)
    given(vault, "one reason", "another reason")
    counts: list[int] = []
    for day in range(4):
        vault.record(
            [("w.json", as_file(passing("perps", START + timedelta(days=day + 1))))], now=NOW
        )
        assert vault.run(now=NOW).waiting == []
        counts.append(len(vault.queue.next_questions(99)))
    assert counts[0] > counts[-1] == 0
    assert {one.judge.name for one in vault.store.snapshot().evaluations.values()} == {"offline"}
    assert api.requests == []


def test_what_cannot_be_judged_waits_and_nothing_else_does(claudes: Vault, api: Server) -> None:
    api.script = lambda _: error(429, "rate_limit_error", retry_after="600")
    claudes.record([("o.json", as_file(trade()))], now=NOW)
    shell = CliRunner()
    done = shell.invoke(cli, ["--vault", str(claudes.root), "run", "--now", "2026-11-20"])
    assert done.exit_code == 6
    assert "1 not evaluated: Claude refuses (429): no" in done.stderr
    said = shell.invoke(cli, ["--vault", str(claudes.root), "status"]).stdout
    assert f"judge: {THOROUGH}; today 1 call, 0 tokens, $0.0000" in said
    assert "not asked now: Claude refuses (429): no; asked again at 20" in said
    assert shell.invoke(cli, ["--vault", str(claudes.root), "check"]).exit_code == 0
    assert len(api.requests) == 1
    api.script = claude
    again = shell.invoke(cli, ["--vault", str(claudes.root), "run", "--retry"])
    assert again.exit_code == 0
    status = claudes.status().judge
    assert (status.calls, status.closed) == (5, None)


def test_without_its_ledger_an_agent_is_asked_and_its_answers_are_kept(
    vault: Vault, api: Server
) -> None:
    appoint(vault, provider="agent")
    given(vault, "one reason")
    vault.store.ledger.path.write_bytes(b"no database, and longer than its header" * 100)
    ByAgent(api).evaluate(vault)
    assert {one.judge.name for one in vault.store.snapshot().evaluations.values()} == {"agent"}


def test_without_its_ledger_the_judge_waits_and_the_vault_is_usable(
    claudes: Vault, api: Server
) -> None:
    given(claudes, "one reason")
    claudes.store.ledger.path.write_bytes(b"no database, and longer than its header" * 100)
    report = claudes.run(now=NOW)
    assert "judge.db cannot be used" in (report.unavailable or "")
    assert "judge.db cannot be used" in (claudes.status().judge.closed or "")
    assert api.requests == []
    appoint(claudes, provider="offline")
    assert claudes.run(now=NOW).waiting == []
    assert claudes.status().evaluations == 1


def learned(root: Path, concurrency: int, judging: Provider) -> tuple[dict[str, str], list[str]]:
    """(path -> blob, subjects of the commits) of a vault in which so many were asked at once."""
    vault, _ = Vault.init(root, ["perps"], now=NOW)
    appoint(vault, provider=judging.name, concurrency=concurrency)
    given(vault, *(f"ground {n}" for n in range(12)))
    judging.evaluate(vault, concurrency)
    vault.run(["promote", "generate"], now=NOW)
    files = {path: blob for path, blob in vault.store.snapshot().files.items() if "/" in path}
    subjects = [commit.subject for commit in vault.log()]
    if judging.pays:
        return files, subjects
    # Each answer of an agent is a commit of its own, in the order in which they came. Where the
    # commit of another one touches the same lists, what follows from it is a second commit.
    return files, sorted({subject for subject in subjects if subject.startswith("answer:")})


@by_both
def test_what_is_committed_does_not_depend_on_who_answers_first(
    provider: type[Provider], tmp_path: Path, api: Server
) -> None:
    chance = random.Random(5)
    api.script = lambda body: claude(body)._replace(how=chance.choice(["whole", "slow"]))
    judging = provider(api)
    several = 8 if judging.pays else 3
    assert learned(tmp_path / "one", 1, judging) == learned(tmp_path / "several", several, judging)


def test_a_skill_stands_at_once_and_says_later_what_an_agent_answers(
    vault: Vault, api: Server
) -> None:
    appoint(vault, provider="agent")
    api.script = lambda body: message("") if asked_for(body) == "text" else claude(body)
    given(vault, "funding is high, I chase it")
    vault.run(now=NOW)
    answer_all(api.script, vault.root)
    names = {skill.name for skill in vault.skills()}
    assert {name.partition("-")[0] for name in names} == {"guide", "warning"}
    assert not any("Claude on" in vault.skill(name)[0].body for name in names)
    answer_all(claude, vault.root)
    assert all("Claude on" in vault.skill(name)[0].body for name in names)


def test_skills_wait_for_their_text(claudes: Vault, api: Server) -> None:
    overloaded = error(529, "overloaded_error")
    api.script = lambda body: overloaded if asked_for(body) == "text" else claude(body)
    clock = Clock()
    vault = wound(claudes, clock)
    given(vault, "funding is high, I chase it")
    report = vault.run(now=NOW)
    assert [one.path for one in report.waiting] == ["skills/guide-perps", "skills/warning-perps"]
    assert vault.skills() == []
    api.script = claude
    clock.sleep(HOUR)
    assert len(vault.run(now=NOW).done) == 2
    assert {skill.kind for skill in vault.skills()} == {"guide", "warning"}
