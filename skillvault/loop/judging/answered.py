"""Which answers stand behind a record: what was asked, who answered, in which words."""

from collections.abc import Iterator, Sequence
from typing import Any

from skillvault.judge.agent import AgentJudge
from skillvault.judge.claude import prompts
from skillvault.judge.claude.judge import ClaudeJudge
from skillvault.loop.judging.questions import verdict_asked
from skillvault.loop.run import Run
from skillvault.model.records import Answer, Outcome, Ref, stamp


def answers_behind(run: Run, ref: Ref) -> list[dict[str, Any]]:
    """`[{key, question, by, session, at, reply}]` of a skill, a fact, an evaluation, an outcome."""
    if not len(run.view.answers):
        return []
    answers = {answer.id: answer for answer in _behind(run, ref)}
    return [_as_shown(answer) for _, answer in sorted(answers.items())]


def _behind(run: Run, ref: Ref) -> Iterator[Answer]:
    if ref.kind in ("evaluation", "outcome"):
        yield from _of_outcomes(run, [ref.id])
    if ref.kind == "fact":
        links = run.view.links.by_target([ref])
        yield from _of_outcomes(run, [link.source.id for link in links if link.type == "promoted"])
    if ref.kind == "skill":
        commits = run.view.history.commits_changing(ref)
        ends = [end for commit in commits[:1] for end in (*commit.sources, *commit.targets)]
        keys = [end.partition(":")[2] for end in ends if end.startswith("answer:")]
        yield from run.view.answers.get_many(keys).values()


def _of_outcomes(run: Run, names: Sequence[str]) -> Iterator[Answer]:
    for outcome in run.view.outcomes.get_many(names).values():
        yield from run.view.answers.about(outcome.id)
        yield from _verdicts(run, outcome)


def _verdicts(run: Run, outcome: Outcome) -> Iterator[Answer]:
    """The verdict on the decision of an outcome, which may be that of others too."""
    if not isinstance(run.judge, AgentJudge | ClaudeJudge):
        return
    question = verdict_asked(run.judge, outcome)
    about = prompts.about(outcome.domain, outcome.decision)
    yield from (a for a in run.view.answers.about(about) if a.id == question.matter.question)


def _as_shown(answer: Answer) -> dict[str, Any]:
    return {
        "key": answer.id,
        "question": f"{answer.kind} of {answer.subject}",
        "by": answer.judge.name,
        "session": answer.session,
        "at": stamp(answer.at),
        "reply": answer.reply,
    }
