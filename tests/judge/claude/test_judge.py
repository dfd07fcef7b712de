"""Claude as the judge, through the real SDK and a real socket."""

import json
import sys
from asyncio import AbstractEventLoop
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from skillvault.api import Vault
from skillvault.judge.claude.questions import JudgeRequest
from skillvault.judge.claude.wire import _event_loop, _start_loop, request_body
from skillvault.model.claude_models import BATCH_RATE, MODELS, THOROUGH, Usage, cost
from skillvault.model.errors import BadInputError
from skillvault.model.policy import parse_policy
from skillvault.model.records import Evaluation
from tests.conftest import NOW, Person
from tests.given import as_file, trade
from tests.judge.conftest import appoint
from tests.judge.server import (
    INSIGHT,
    VERDICT,
    Answer,
    Body,
    Server,
    asked_for,
    claude,
    message,
    record,
    told,
)

PAGE = Path(__file__).resolve().parents[3] / "docs" / "judges.md"


def learn(vault: Vault, *given: Body) -> Vault:
    """Record these outcomes and run the loop."""
    vault.record([(f"{n}.json", as_file(one)) for n, one in enumerate(given)], now=NOW)
    vault.run(now=NOW)
    return vault


def evaluation(vault: Vault) -> Evaluation:
    """The vault's only evaluation."""
    (found,) = vault.store.snapshot().evaluations.values()
    return found


def test_an_evaluation_says_who_judged_and_what_it_cost(claudes: Vault, api: Server) -> None:
    found = evaluation(learn(claudes, trade()))
    usage = Usage(1000, 200)
    assert (found.judge.name, found.judge.model) == ("claude", THOROUGH)
    assert found.judge.tokens == 2 * usage.tokens
    assert found.judge.cost_usd == pytest.approx(2 * cost(MODELS[THOROUGH], usage))
    assert found.judge.prompt
    assert (found.quality_score, found.was_good_decision) == (0.2, False)
    assert found.key_insight == INSIGHT["key_insight"]
    assert found.judge_was_right is True


def test_the_verdict_is_asked_for_without_the_result(claudes: Vault, api: Server) -> None:
    learn(claudes, trade())
    first, second = api.requests[:2]
    assert (asked_for(first), asked_for(second)) == ("verdict", "insight")
    assert "result" not in record(first)
    for said in ("-0.112", "-112", "stopped out", "failure", "cascade"):
        assert said in told(second)
        assert said not in told(first)


def test_the_verdict_is_asked_for_in_the_same_bytes_whatever_the_result(
    claudes: Vault, api: Server
) -> None:
    learn(claudes, trade(score=-0.112))
    learn(claudes, trade(score=0.31))
    verdicts = [json.dumps(body) for body in api.requests if asked_for(body) == "verdict"]
    assert len(verdicts) == 1  # the second is the kept reply to the same question


@pytest.mark.parametrize(("said", "kept"), [(1.7, 1.0), (-3, 0.0), (1e300, 1.0), (0.333, 0.33)])
def test_quality_is_clamped_and_what_is_good_follows_from_it(
    claudes: Vault, api: Server, said: float, kept: float
) -> None:
    def script(body: Body) -> Answer:
        if asked_for(body) == "verdict":
            return message({**VERDICT, "quality_score": said})
        return claude(body)

    api.script = script
    found = evaluation(learn(claudes, trade()))
    assert found.quality_score == kept
    assert found.was_good_decision is (kept >= 0.5)


def test_a_figure_that_the_record_does_not_hold_is_not_believed(
    claudes: Vault, api: Server
) -> None:
    def script(body: Body) -> Answer:
        if asked_for(body) == "insight" and "could not be used" not in told(body):
            return message({**INSIGHT, "key_insight": "Chasing fails in 87 % of all cases."})
        return claude(body)

    api.script = script
    assert evaluation(learn(claudes, trade())).key_insight == INSIGHT["key_insight"]
    assert "87 %" in told(api.requests[2])


def test_the_model_writes_the_skills_and_the_rule_its_counts(claudes: Vault, api: Server) -> None:
    learn(claudes, trade())
    warning, guide = sorted(claudes.skills(), key=lambda skill: skill.kind, reverse=True)
    for name, heading in ((guide.name, "do"), (warning.name, "better approach")):
        body = claudes.skill(name)[0].body
        assert f"Claude on {heading}" in body
        assert ": 1 outcome, on 2026-11-01" in body
    assert warning.name == "warning-perps-open-long-sol-perp"
    assert guide.name == "guide-perps-open-long"


def test_a_prompt_of_the_vault_stands_before_the_packages(claudes: Vault, api: Server) -> None:
    learn(claudes, trade(0))
    person = Person(claudes.root)
    person.write("prompts/verdict.md", "Judge as a risk officer would.\n")
    person.git("add", "prompts")
    person.git("commit", "-q", "-m", "Our own prompt")
    learn(claudes, trade(1, decision__reasoning="I buy as it falls, with a stop at 3 %."))
    asked = [body["system"][0]["text"] for body in api.requests if asked_for(body) == "verdict"]
    assert asked[1:] == ["Judge as a risk officer would.\n"]
    prompts = {one.judge.prompt for one in claudes.store.snapshot().evaluations.values()}
    assert len(prompts) == 2


def test_the_key_comes_from_the_environment_alone(
    claudes: Vault, api: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    claudes.record([("o.json", as_file(trade()))], now=NOW)
    report = claudes.run(now=NOW)
    assert report.unavailable
    assert "ANTHROPIC_API_KEY is not set; export it" in report.unavailable
    assert claudes.status().outcomes == 1
    assert claudes.status().waiting["evaluate"] == 1
    assert claudes.skills() == []
    assert api.requests == []
    assert claudes.store.ledger.spent_today().calls == 0
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
    assert len(claudes.run(now=NOW).done) == 4


def test_a_missing_package_is_named_with_the_next_step(
    claudes: Vault, api: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    claudes.record([("o.json", as_file(trade()))], now=NOW)
    assert "pip install '.[claude]'" in (claudes.run(now=NOW).unavailable or "")


def test_a_model_whose_price_is_given_may_judge(claudes: Vault, api: Server) -> None:
    appoint(claudes, model="claude-next", usd_per_day=100, prices="{claude-next: [100, 1000]}")
    found = evaluation(learn(claudes, trade()))
    assert found.judge.model == "claude-next"
    assert found.judge.cost_usd == pytest.approx(2 * 0.3)


def test_a_model_that_takes_a_temperature_gets_it(claudes: Vault, api: Server) -> None:
    older = "claude-haiku-4-5"
    appoint(claudes, model=older, fast_model=older, temperature=0.2, max_tokens=900)
    learn(claudes, trade())
    assert {body["temperature"] for body in api.requests} == {0.2}
    assert {(body["model"], body["max_tokens"]) for body in api.requests} == {(older, 900)}


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        ({"temperature": 0.2}, "judge.temperature: claude-sonnet-5-5 accepts none"),
        ({"model": "claude-next"}, "the price of 'claude-next' is unknown"),
        ({"provider": "gpt"}, "judge.provider"),
    ],
)
def test_a_policy_that_cannot_be_kept_is_refused(judge: Body, said: str) -> None:
    with pytest.raises(BadInputError, match=said):
        parse_policy({"judge": judge})


# What a beginning must have, in characters, for these models; of one that is not known the most.
CACHED_FROM = {"claude-opus-5-5": 2_048, "claude-sonnet-5-5": 4_096, "claude-opus-4-7": 8_192,
    "claude-haiku-4-5": 16_384, "claude-next": 16_384}  # fmt: skip


@pytest.mark.parametrize(("model", "least"), CACHED_FROM.items())
def test_what_stands_first_is_marked_if_the_model_caches_so_little(model: str, least: int) -> None:
    rules = parse_policy({}).judge
    for length, is_cached in ((least - 1, False), (least, True)):
        fixed_alone = JudgeRequest(key="k", model=model, system="x" * length, user="u", schema={})
        (fixed,) = request_body(fixed_alone, rules)["system"]
        assert ("cache_control" in fixed) is is_cached
        shared = length - 100  # behind a prompt that would not be cached alone
        both = JudgeRequest(
            key="k", model=model, system="x" * 100, user="u" * length, schema={}, shared=shared
        )
        body = request_body(both, rules)
        assert "cache_control" not in body["system"][0]
        content = body["messages"][0]["content"]
        assert isinstance(content, list) is is_cached
        if is_cached:
            assert [len(part["text"]) for part in content] == [shared, 100]
            assert ["cache_control" in part for part in content] == [True, False]


def test_the_page_says_what_each_model_caches() -> None:
    shown = PAGE.read_text(encoding="utf-8").partition("<!-- cached:begin -->")[2]
    said, _, _ = shown.partition("<!-- cached:end -->")
    for name, price in MODELS.items():
        (line,) = (line for line in said.splitlines() if f"`{name}`" in line)
        assert line.startswith(f"| {price.cacheable:,} |")


def test_what_questions_of_one_domain_share_stands_first(claudes: Vault, api: Server) -> None:
    learn(claudes, trade(0))
    learn(claudes, *(trade(number) for number in (1, 2)))
    learn(claudes, trade(3))
    keys = [list(record(body)) for body in api.requests if asked_for(body) == "insight"]
    assert keys[-1][:2] == ["facts", "earlier"]
    assert keys[0][0] == "decision"


def test_many_facts_are_told_and_cached_apart_from_what_differs(
    claudes: Vault, api: Server
) -> None:
    learn(claudes, trade(0))
    person = Person(claudes.root)
    for number in range(160):
        text = f"Fact {number}: " + f"pair {number} moves with funding and volume " * 4
        person.write(f"memory/perps/fact-{number:03}.md", f"{text}\n")
    person.git("add", "memory")
    person.git("commit", "-q", "-m", "What we know", "--no-verify")
    api.requests.clear()
    learn(claudes, trade(1), trade(2))
    asked = [body for body in api.requests if asked_for(body) == "insight"]
    parts = [body["messages"][0]["content"] for body in asked]
    assert len(parts) == 2
    (first, rest), (again, other) = parts
    assert first == again
    assert rest["text"] != other["text"]
    assert first["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in rest
    told_facts = json.loads((first["text"] + rest["text"]).split("\n", 1)[1].rpartition("\n")[0])
    assert len(told_facts["facts"]) == 150
    assert len(first["text"]) >= 16_384
    assert '"decision"' not in first["text"]


def test_the_prices_that_are_shown_are_the_programs() -> None:
    shown = PAGE.read_text(encoding="utf-8").partition("<!-- prices:begin -->")[2]
    for name, price in MODELS.items():
        one = 2 * cost(price, Usage(1500, 1000))
        batch = one * BATCH_RATE
        row = f"| `{name}` | ${price.read:g}, ${price.write:g} | ${one:.4f} | ${batch:.4f} |"
        assert row in shown


def test_an_idle_vault_sends_nothing(claudes: Vault, api: Server) -> None:
    learn(claudes, trade())
    count = len(api.requests)
    for _ in range(3):
        assert claudes.run(now=NOW).done == []
        claudes.status()
    assert len(api.requests) == count == 4


def test_threads_that_ask_first_together_share_one_event_loop() -> None:
    threads, rounds = 8, 5
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(threads) as pool:
            for _ in range(rounds):
                _start_loop.cache_clear()
                barrier = Barrier(threads)

                def first(barrier: Barrier = barrier) -> AbstractEventLoop:
                    barrier.wait()
                    return _event_loop()

                jobs = [pool.submit(first) for _ in range(threads)]
                assert len({id(job.result()) for job in jobs}) == 1
    finally:
        sys.setswitchinterval(interval)
