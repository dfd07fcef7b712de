"""Build the judge that the policy of a vault names, and measure its accuracy.

A judge knows neither git nor a vault, so this module gives it the prompts, the stored answers and a
function that asks a model. Add a client to `CLIENTS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from skillvault.judge import Adviser, Judge, agent
from skillvault.judge.claude import judge as claude
from skillvault.judge.claude import prompts, questions
from skillvault.judge.client import Client, claude_code, codex
from skillvault.judge.offline import judge as offline
from skillvault.learning.accuracy import MAX_VERDICTS, Accuracy, accuracy, calibration
from skillvault.loop.judging import paid_calls
from skillvault.model.brief import Case
from skillvault.model.errors import NoAnswerError, UnavailableError
from skillvault.model.policy import JudgePolicy
from skillvault.model.records import Answer
from skillvault.vault.commit.store import Store
from skillvault.vault.files import redact
from skillvault.vault.index.snapshot import Snapshot

if TYPE_CHECKING:
    from skillvault.judge.claude.questions import JudgeRequest
    from skillvault.loop.run import Run

CLIENTS: dict[str, Client] = {"claude-code": claude_code.CLIENT, "codex": codex.CLIENT}
PROMPTS = "prompts"  # the vault's folder of prompts, which override those of the package


def policy_judge(
    store: Store, seconds: float | None = None, unasked: dict[str, JudgeRequest] | None = None
) -> Adviser:
    """Return the judge that the committed policy names.

    `seconds` replaces the policy's deadline for an answer. With `unasked`, the judge collects its
    questions there for a batch and sends none.
    """
    snapshot = store.snapshot()
    policy, distill_policy = snapshot.policy.judge, snapshot.policy.distill
    if seconds is not None:
        policy = replace(policy, deadline_seconds=seconds)
    if policy.provider == "offline":
        return offline.OfflineJudge()
    paths = {f"{PROMPTS}/{name}.md": name for name in prompts.NAMES}
    texts = snapshot.files.read(paths)
    vault_prompts = {
        paths[path]: content.decode(errors="replace") for path, content in texts.items()
    }
    prompt_questions = questions.Questions(
        policy,
        prompts.Prompts(vault_prompts, redact.redact_value),
        distill_policy,
        partial(calibration_of, store, policy.provider),
    )
    if policy.provider == "agent":
        return agent.AgentJudge(prompt_questions, partial(_load_answer, store))
    if policy.provider == "client":
        model = judge_name(policy)
        return agent.AgentJudge(prompt_questions, partial(_load_answer, store), "client", model)
    caller = paid_calls.Caller(store.ledger, policy, unasked=unasked)
    return claude.ClaudeJudge(
        prompt_questions, caller.ask_claude, caller.forget_reply, partial(_load_answer, store)
    )


def judge_name(policy: JudgePolicy) -> str:
    """Return the model of a judge, or the name of a client that chooses the model."""
    if policy.provider == "client":
        return policy.client_model or CLIENTS[policy.client].model or policy.client
    return policy.model


def _load_answer(store: Store, key: str) -> Answer | None:
    # Each thread that asks has its own connection.
    return store.staging.answers.get(key)


def calibration_of(store: Store, author: str, domain: str) -> dict[str, Any]:
    """Return the calibration of a judge in a domain, or {} before the first tested verdict."""
    snapshot = store.staging
    evaluations = snapshot.evaluations.latest_tested(author, domain, MAX_VERDICTS)
    return calibration(evaluations, snapshot.outcomes.get_many(e.id for e in evaluations))


def judge_for_case(judge: Judge, case: Case, provider: str) -> Judge:
    """Return the judge of an outcome: no new question for Claude if there is no lesson to learn.

    Stored answers always count.
    """
    if provider != "claude" or offline.insight_text(case) is not None:
        return judge
    if isinstance(judge, claude.ClaudeJudge):
        return agent.AgentJudge(judge.questions, judge.answers)
    return judge


def accuracy_of(judge: Judge, snapshot: Snapshot) -> Accuracy | None:
    """Return the accuracy of this version of a judge, or None without tested verdicts."""
    return accuracy(snapshot.evaluations.agreements(judge.info))


def collecting_judge(store: Store, unasked: dict[str, JudgeRequest]) -> Judge | None:
    """Return a judge that collects its questions for a batch, or None if it needs no batch."""
    if store.snapshot().policy.judge.provider != "claude":
        return None
    return policy_judge(store, unasked=unasked)


@contextmanager
def batch_questions(run: Run, unasked: dict[str, JudgeRequest]) -> Iterator[None]:
    """Collect the replies of ended batches before a run; send the `unasked` questions after it."""
    policy = run.policy.judge
    if policy.provider != "claude":
        yield
        return
    batches = paid_calls.Batches(run.store.ledger, policy)
    try:
        for batch in batches.collect():
            run.defer(f"batch {batch}", "not ended yet")
    except UnavailableError as error:
        run.defer_for_judge("batches", str(error))
    yield
    if not unasked:
        return
    try:
        batch, count = batches.send(list(unasked.values()))
    except (UnavailableError, NoAnswerError) as error:
        run.defer_for_judge("batches", str(error))
    else:
        run.defer(f"batch {batch}", f"{count} questions sent")
