"""Which judge a vault's policy appoints, put together of what it needs of the vault.

A judge knows neither git nor a vault; it is handed a caller, prompts and what cleans.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from skillvault.judge import Adviser, Judge, agent
from skillvault.judge.claude import judge as claude
from skillvault.judge.offline import judge as offline
from skillvault.learning.accuracy import Accuracy, accuracy
from skillvault.loop.judging import paid_calls
from skillvault.model.brief import Case
from skillvault.model.errors import NoAnswerError, UnavailableError
from skillvault.model.records import Answer
from skillvault.vault.commit.store import Store
from skillvault.vault.index.snapshot import Topics

if TYPE_CHECKING:
    from skillvault.judge.claude.questions import JudgeRequest
    from skillvault.loop.run import Run

PROMPTS = "prompts"  # the vault's folder of prompts that stand before the package's own


def policy_judge(
    store: Store, seconds: float | None = None, unasked: dict[str, JudgeRequest] | None = None
) -> Adviser:
    """The judge that the committed policy names; a model is not asked before it must be.

    `seconds`: how long an answer is waited for, if that is not the policy's to say. `unasked`
    takes a model's questions, for a batch, and then none is asked.
    """
    head = store.head()
    rules, distilling = head.policy.judge, head.policy.distill
    if seconds is not None:
        rules = replace(rules, deadline_seconds=seconds)
    if rules.provider == "offline":
        from skillvault.judge.offline.judge import OfflineJudge

        return OfflineJudge()
    from skillvault.judge.claude import judge, prompts, questions
    from skillvault.vault.files.redact import redact_value

    paths = {f"{PROMPTS}/{name}.md": name for name in prompts.NAMES}
    texts = head.files.read(paths)
    own = {paths[path]: content.decode(errors="replace") for path, content in texts.items()}
    asked = questions.Questions(rules, prompts.Prompts(own, redact_value), distilling)
    if rules.provider == "agent":
        return agent.AgentJudge(asked, partial(_answer, store))
    caller = paid_calls.Caller(store.ledger, rules, unasked=unasked)
    return judge.ClaudeJudge(asked, caller.ask, caller.forget_reply, partial(_answer, store))


def _answer(store: Store, key: str) -> Answer | None:
    """What the vault holds of a question, asked by whatever thread, each with its connection."""
    return store.staging.answers.get(key)


def judge_of(judge: Judge, case: Case, provider: str) -> Judge:
    """Who judges an outcome: Claude is not asked about one of which nothing could be learned.

    What was answered counts all the same. A verdict stays blind: its question holds nothing of how
    the decision ended, asked or not.
    """
    if provider != "claude" or offline.insight_text(case) is not None:
        return judge
    asking = judge if isinstance(judge, claude.ClaudeJudge) else None
    return agent.AgentJudge(asking.questions, asking.answers) if asking else judge


def accuracy_of(judge: Judge, head: Topics) -> Accuracy | None:
    """How often the verdicts of a judge, as it is now, agree with the results in this vault."""
    return accuracy(head.evaluations.agreements(judge.info))


def unasked_judge(store: Store, unasked: dict[str, JudgeRequest]) -> Judge | None:
    """The judge that leaves its questions for a batch; None if the policy's needs none."""
    if store.head().policy.judge.provider != "claude":
        return None
    return policy_judge(store, unasked=unasked)


@contextmanager
def batching(run: Run, unasked: dict[str, JudgeRequest]) -> Iterator[None]:
    """Around a run: replies of batches that ended are taken before.

    What its judge left `unasked` is sent as a batch afterwards.
    """
    rules = run.policy.judge
    if rules.provider != "claude":
        yield
        return
    batches = paid_calls.Batches(run.store.ledger, rules)
    try:
        for batch in batches.collect():
            run.wait(f"batch {batch}", "not ended yet")
    except UnavailableError as error:
        run.unavailable("batches", str(error))
    yield
    if not unasked:
        return
    try:
        batch, count = batches.send(list(unasked.values()))
    except (UnavailableError, NoAnswerError) as error:
        run.unavailable("batches", str(error))
    else:
        run.wait(f"batch {batch}", f"{count} questions sent")
