"""The questions that are open for an agent, the best first, and the answers behind a record.

Questions are computed from the tree. Nothing is stored but what was dropped here, and answers.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, NamedTuple

from skillvault.judge.agent import AgentJudge
from skillvault.judge.claude import prompts
from skillvault.judge.claude.judge import ClaudeJudge
from skillvault.judge.claude.questions import Question
from skillvault.judge.offline.judge import OfflineJudge
from skillvault.loop.clock import clock
from skillvault.loop.judging.cases import case_of
from skillvault.loop.judging.judge_replies import AnswerPlace, place_of, place_of_brief
from skillvault.loop.judging.texts import RewritableText, general_texts, session_texts, texts_about
from skillvault.loop.run import Run
from skillvault.model.brief import (
    Agreement,
    Brief,
    Case,
    Findings,
    InsightText,
    Period,
    Recurrence,
    SessionExcerpt,
    Verdict,
)
from skillvault.model.records import Answer, Evaluation, Outcome, Ref, stamp

# What is asked first; of equals the latest.
_SURPRISE, _CONTRAST, _INSIGHT, _AGREEMENT, _STRATEGY, _TEXT, _VERDICT = range(7)
_RANKS = {"contrast": _CONTRAST, "agreement": _AGREEMENT, "strategy": _STRATEGY}


class OpenQuestion(NamedTuple):
    """A question that nobody answered: what is asked, about what, and for whom it is not.

    `about` names a skill or an outcome. `sessions` made the decision that is judged, and may not
    answer. `text` is the skill's text that an answer rewrites, None for an evaluation. `told`
    names the outcomes that the text is written from.
    """

    asked: Question[Any]
    about: str
    rank: int
    place: AnswerPlace
    sessions: frozenset[str] = frozenset()
    text: RewritableText | None = None
    told: frozenset[str] = frozenset()

    @property
    def matter_key(self) -> str:
        """By which it is answered."""
        return self.asked.matter.question


def open_questions(run: Run, judge: AgentJudge, *, untrusted: bool = False) -> list[OpenQuestion]:
    """What an agent may be asked about what is not older than its patience, the best first."""
    recent = {
        domain: _recent(run, domain, untrusted=untrusted)
        for domain in sorted(run.view.outcomes.domains("untrusted"))
    }
    questions: dict[str, OpenQuestion] = {}
    for question in _all_questions(
        run, judge, {key: names for key, names in recent.items() if names}
    ):
        allowed = untrusted or question.place.trust == "local"
        if allowed and question.matter_key not in run.view.answers:
            questions.setdefault(question.matter_key, question)
    # The best first, of equals the latest.
    return sorted(questions.values(), key=lambda q: (q.rank, -q.place.at.timestamp(), q.matter_key))


def _all_questions(
    run: Run, judge: AgentJudge, recent: Mapping[str, Sequence[str]]
) -> Iterator[OpenQuestion]:
    """What may be asked about the recent outcomes of each domain, answered or not."""
    for domain, names in recent.items():
        outcomes = run.view.outcomes.get_many(names)
        for name, evaluation in run.view.evaluations.get_many(outcomes).items():
            yield from _of_outcome(run, judge, outcomes[name], evaluation)
        for text in texts_about(run, domain, names):
            if _is_about(text.brief, names):
                yield from _of_text(judge, text)
    names = list(chain.from_iterable(recent.values()))
    for text in general_texts(run) if names else ():
        if _is_about(text.brief, names):
            yield from _of_text(judge, text)
    for domain in sorted(run.view.sessions.domains_of("untrusted")):
        since = _since(run, domain)
        for text in session_texts(run, domain):
            if place_of_brief(text.brief).at >= since:
                yield from _of_text(judge, text)


def _is_about(brief: Brief, outcomes: Sequence[str]) -> bool:
    """Whether a text tells of any of these, as far as it may tell of others alone."""
    if not isinstance(brief, Recurrence):
        return True
    return not set(_outcomes_of(brief)).isdisjoint(outcomes)


def _recent(run: Run, domain: str, *, untrusted: bool) -> list[str]:
    """The evaluated outcomes of a domain within the patience, by its clock; latest first."""
    return run.view.outcomes.since(domain, _since(run, domain), None if untrusted else "local")


def _since(run: Run, domain: str) -> datetime:
    now = clock(run.view, domain, run.now, run.rules) or run.now
    return now - timedelta(days=run.policy.judge.patience)


def _of_outcome(
    run: Run, judge: AgentJudge, outcome: Outcome, evaluation: Evaluation
) -> Iterator[OpenQuestion]:
    """What it teaches, and what its decision is worth: not for who made it or saw its end."""
    case, blind = case_of(run, outcome), verdict_question(judge, outcome)
    insight = insight_question(judge, case)
    place = place_of([outcome])
    if insight is None:
        return
    if outcome.decision.reasoning.strip():
        saw = (answer.session for answer in run.view.answers.about(outcome.id))
        sessions = frozenset(filter(None, [outcome.source.session, *saw]))
        yield OpenQuestion(blind, outcome.id, _VERDICT, place, sessions)
    surprise = run.rules.is_surprise(evaluation, run.policy)
    rank = _SURPRISE if surprise else _RANKS.get(insight.matter.kind, _INSIGHT)
    yield OpenQuestion(insight, outcome.id, rank, place)


def verdict_question(judge: AgentJudge | ClaudeJudge, outcome: Outcome) -> Question[Verdict]:
    """The question how good a decision was."""
    return judge.questions.verdict_question(
        outcome.domain,
        outcome.decision,
        context=outcome.context,
        applied=outcome.applied,
        entry_value=outcome.result.entry_value,
    )


def insight_question(judge: AgentJudge, case: Case) -> Question[InsightText] | None:
    """The question what an outcome teaches; None where it supports no statement."""
    o, size = case.outcome, case.outcome.result.entry_value
    verdict = judge.verdict(o.domain, o.decision, o.context, o.applied, size)
    return judge.questions.insight_question(case, verdict)


def _of_text(judge: AgentJudge, text: RewritableText) -> Iterator[OpenQuestion]:
    """How a text might read; nothing where it can say no more."""
    asked = None if prompts.says_too_little(text.brief) else text_question(judge, text)
    if asked is not None:
        rank = _RANKS.get(asked.matter.kind, _TEXT)
        place, told = place_of_brief(text.brief), frozenset(_outcomes_of(text.brief))
        yield OpenQuestion(asked, text.skill, rank, place, text=text, told=told)


def _outcomes_of(brief: Brief) -> list[str]:
    match brief:
        case Findings():
            return [outcome.id for outcome in brief.account.outcomes]
        case Recurrence():
            return [evaluation.id for evaluation in brief.evaluations]
        case Period():
            return [outcome.id for outcome in brief.outcomes]
        case Agreement():
            return [outcome.id for outcome in brief.together.account.outcomes]
        case SessionExcerpt():
            return []


def text_question(judge: AgentJudge, text: RewritableText) -> Question[Any] | None:
    """The question for a skill's text; None where the material supports none."""
    plain = OfflineJudge().write(text.brief)
    return None if plain is None else judge.questions.text_question(text.brief, plain)


# ── answers ──────────────────────────────────────────────────────────────────────────


def answers_behind(run: Run, ref: Ref) -> list[dict[str, Any]]:
    """Return `[{key, question, by, session, at, reply}]` of what stands behind a record.

    The record is a skill, a fact, an evaluation or an outcome.
    """
    answers = {answer.id: answer for answer in _find_answers(run, ref)}
    return [_answer_shape(answer) for _, answer in sorted(answers.items())]


def _find_answers(run: Run, ref: Ref) -> Iterator[Answer]:
    if ref.kind in ("evaluation", "outcome"):
        yield from _answers_about(run, [ref.id])
    if ref.kind == "fact":
        links = run.view.links.by_target([ref])
        yield from _answers_about(
            run, [link.source.id for link in links if link.type == "promoted"]
        )
    if ref.kind == "skill":
        commits = run.view.history.commits_changing(ref)
        parts = run.view.history.parts_of(commits[0].sha) if commits else []
        ends = [end for part in parts for end in (*part.sources, *part.targets)]
        keys = [end.partition(":")[2] for end in ends if end.startswith("answer:")]
        yield from run.view.answers.get_many(keys).values()


def _answers_about(run: Run, names: Sequence[str]) -> Iterator[Answer]:
    for outcome in run.view.outcomes.get_many(names).values():
        yield from run.view.answers.about(outcome.id)
        yield from _verdict_answers(run, outcome)


def _verdict_answers(run: Run, outcome: Outcome) -> Iterator[Answer]:
    """The verdict on the decision of an outcome, which may be that of others too."""
    if not isinstance(run.judge, AgentJudge | ClaudeJudge):
        return
    question = verdict_question(run.judge, outcome)
    about = prompts.about(outcome.domain, outcome.decision)
    yield from (a for a in run.view.answers.about(about) if a.id == question.matter.question)


def _answer_shape(answer: Answer) -> dict[str, Any]:
    return {
        "key": answer.id,
        "question": f"{answer.kind} of {answer.subject}",
        "by": answer.judge.name,
        "session": answer.session,
        "at": stamp(answer.at),
        "reply": answer.reply,
    }
