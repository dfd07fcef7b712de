"""Whatever the wire does or an agent's file holds, there is the right verdict or none, in time.

`SKILLVAULT_FAULTS=50 pytest tests/judge/test_faults.py` repeats each fault so often.
"""

import json
from email.utils import formatdate
from functools import partial
from math import nan
from pathlib import Path
from typing import NamedTuple

import pytest

from skillvault.api import Vault
from skillvault.model.brief import AnswerCost
from skillvault.model.errors import NoAnswerError, UnavailableError
from tests.judge.given import REPEATS, Clock, ask, asking, put_client_on_path
from tests.judge.providers import ByAgent, ByClaude, ByClient, Provider
from tests.judge.server import VERDICT, Answer, Body, Server, asked_for, claude, error, message
from tests.machine.given import until
from tests.thorough import one_of

DEADLINE = 0.4  # seconds, where a fault takes all there are
_WHOLE = claude({"output_config": {"format": {"schema": {"required": ["quality_score"]}}}}).body
_LATER = formatdate(4e9, usegmt=True)
_JSON = {"content-type": "application/json"}
_NO_USAGE = {k: v for k, v in json.loads(_WHOLE).items() if k != "usage"}


class Fault(NamedTuple):
    """A fault of the wire, the number of requests that follow, and the error it ends in, if any."""

    answer: Answer
    requests: int
    ends: type[Exception] | None


HELD, FAILED = UnavailableError, NoAnswerError
FAULTS = {
    "400": Fault(error(400, "invalid_request_error"), 1, FAILED),
    "400-credit": Fault(error(400, "invalid_request_error", "credit balance is too low"), 1, HELD),
    "401": Fault(error(401, "authentication_error"), 1, HELD),
    "402": Fault(error(402, "billing_error"), 1, HELD),
    "403": Fault(error(403, "permission_error"), 1, HELD),
    "404": Fault(error(404, "not_found_error", "model: claude-x"), 1, HELD),
    "408": Fault(error(408, "timeout_error"), 3, HELD),
    "409": Fault(error(409, "conflict_error"), 3, HELD),
    "413": Fault(error(413, "request_too_large"), 1, FAILED),
    "429": Fault(error(429, "rate_limit_error"), 3, HELD),
    "429-soon": Fault(error(429, "rate_limit_error", retry_after="2"), 3, HELD),
    "429-late": Fault(error(429, "rate_limit_error", retry_after="600"), 1, HELD),
    "429-day": Fault(error(429, "rate_limit_error", retry_after=_LATER), 1, HELD),
    "429-spend": Fault(error(429, "rate_limit_error", "spend limit reached"), 1, HELD),
    "500": Fault(error(500, "api_error"), 3, HELD),
    "503-html": Fault(Answer(503, b"<html>busy</html>", {"content-type": "text/html"}), 3, HELD),
    "529": Fault(error(529, "overloaded_error"), 3, HELD),
    "reset": Fault(Answer(how="reset"), 3, HELD),
    "short-body": Fault(Answer(body=_WHOLE, how="short"), 3, HELD),
    "hang": Fault(Answer(how="hang"), 1, HELD),
    "drip": Fault(Answer(body=_WHOLE, how="drip"), 1, HELD),
    "html": Fault(
        Answer(body=b"<html>hello</html>", headers={"content-type": "text/html"}), 3, HELD
    ),
    "garbage": Fault(Answer(body=b"\x00\xff\xfe{", headers=_JSON), 3, HELD),
    "truncated": Fault(Answer(body=_WHOLE[:-30], headers=_JSON), 3, HELD),
    "missing-fields": Fault(Answer(body=json.dumps(_NO_USAGE).encode()), 3, HELD),
    "error-with-200": Fault(error(200, "overloaded_error"), 3, HELD),
    "refusal": Fault(message("", "refusal"), 2, FAILED),
    "cut-off": Fault(message('{"quality_score": 0.9', "max_tokens"), 2, FAILED),
    "off-schema": Fault(message({"quality": 0.9}), 2, FAILED),
    "empty": Fault(message(""), 2, FAILED),
    "text": Fault(message("It was a good decision: 0.9"), 2, FAILED),
    "two": Fault(message(2 * json.dumps(VERDICT)), 2, FAILED),
    "not-a-number": Fault(message(json.dumps({**VERDICT, "quality_score": nan})), 2, FAILED),
    "not-utf-8": Fault(Answer(body=_WHOLE.decode().encode("utf-16"), headers=_JSON), 3, HELD),
    "deep": Fault(message("[" * 20_000 + "]" * 20_000), 2, FAILED),
    "slow": Fault(Answer(body=_WHOLE, how="slow"), 1, None),
}
# What reaches an agent's file whole: it holds the text alone, and the vault waits for nobody.
IN_A_FILE = ("missing-fields", "slow")


def _slow(name: str) -> float:
    """Return the seconds that a question may take with a fault of this name."""
    return DEADLINE if name in ("hang", "drip") else 60.0


def _of(fault: Fault, body: Body) -> Answer:
    """Return the fault for a verdict, and a sensible answer for anything else."""
    return fault.answer if asked_for(body) == "verdict" else claude(body)


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        *((name, ByClaude) for name in FAULTS),
        # To an agent most of them are the same: a text of no use.
        *((name, ByAgent) for name in sorted({*one_of(4, list(FAULTS)), *IN_A_FILE})),
    ],
)
def test_a_fault_that_stays_ends_in_time_without_a_verdict(
    name: str, provider: type[Provider], vault: Vault, tmp_path: Path, api: Server
) -> None:
    fault = FAULTS[name]
    ends, requests = fault.ends, fault.requests
    if provider is ByAgent:
        ends, requests = None if name in IN_A_FILE else FAILED, 0
    for repeat in range(REPEATS):
        clock = Clock()
        asker = provider(api).asker(vault, tmp_path / str(repeat), clock, seconds=_slow(name))
        api.requests.clear()
        api.script = partial(_of, fault)
        if ends:
            with pytest.raises(ends):
                asker.ask(repeat)
        else:
            assert asker.ask(repeat).quality_score == VERDICT["quality_score"]
        assert clock.now() < _slow(name) + 50  # a server that hangs does so for 60 s
        until(lambda: len(api.requests) >= requests)  # who hung up may be heard later
        assert len(api.requests) == requests == asker.calls


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        *((name, ByClaude) for name in FAULTS),
        *((name, ByAgent) for name in one_of(6, list(FAULTS))),
        *((name, ByClient) for name in one_of(6, list(FAULTS))),
    ],
)
def test_a_fault_that_passes_is_overcome_or_waited_for(
    name: str,
    provider: type[ByClaude | ByAgent | ByClient],
    vault: Vault,
    tmp_path: Path,
    api: Server,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", put_client_on_path(tmp_path))
    fault = FAULTS[name]
    for repeat in range(REPEATS):
        clock = Clock()
        asker = provider(api).asker(vault, tmp_path / str(repeat), clock, seconds=_slow(name))
        answers = iter([fault.answer])
        api.script = lambda body, left=answers: next(left, None) or claude(body)  # type: ignore[misc]
        try:
            verdict = asker.ask(repeat)
        except (HELD, FAILED):
            clock.sleep(3700)
            verdict = asker.ask(repeat)
        assert verdict.quality_score == VERDICT["quality_score"]
        assert asker.closed is None
        assert isinstance(verdict.spent, AnswerCost) is asker.pays


def test_what_may_have_cost_counts_as_if_it_had(tmp_path: Path, api: Server) -> None:
    judge, ledger = asking(tmp_path, Clock())
    api.script = lambda _: error(500, "api_error")
    with pytest.raises(UnavailableError):
        ask(judge, "an error that costs nothing")
    assert ledger.spent_today().usd == 0
    judge, ledger = asking(tmp_path / "other", Clock())
    api.script = lambda _: Answer(how="reset")
    with pytest.raises(UnavailableError):
        ask(judge, "a reply that may be on its way")
    assert ledger.spent_today().usd > 0.2


def test_a_second_reply_that_is_of_no_use_is_asked_for_anew_later(
    tmp_path: Path, api: Server
) -> None:
    judge, _ = asking(tmp_path, Clock())
    api.script = lambda _: message("no")
    with pytest.raises(NoAnswerError):
        ask(judge, "one thing")
    api.script = claude
    assert ask(judge, "one thing").quality_score == VERDICT["quality_score"]
    assert len(api.requests) == 3


def test_a_repair_says_what_was_wrong(tmp_path: Path, api: Server) -> None:
    answers = [message("", "refusal"), message(VERDICT)]
    judge, _ = asking(tmp_path, Clock())
    api.script = lambda _: answers.pop(0)
    found = ask(judge, "one thing")
    said: Body = api.requests[1]["messages"][-1]
    assert '"of_no_use": "the reply was refused"' in said["content"]
    assert found.spent
    assert found.spent.tokens == 2 * 1200
