"""Find the questions that an agent has not answered yet, and the texts that an answer rewrites.

An agent answers in its own time, so a run cannot wait: `question_queue` hands out these questions
and a later run uses the replies. To change the order of the questions, see `_RANKS` and the ranks
above it. To let agents reword another kind of text, add a function `…_texts`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from skillvault.judge.agent import AgentJudge
from skillvault.judge.claude import prompts
from skillvault.judge.claude.judge import ClaudeJudge
from skillvault.judge.claude.questions import JudgeRequest, Question
from skillvault.judge.offline.judge import OfflineJudge
from skillvault.learning.account.statements import calls_for_skill, digest
from skillvault.learning.distill.skill import excerpt_of, rewording_change
from skillvault.learning.generate import ExistingSkill
from skillvault.learning.merge import sessions_digest
from skillvault.learning.promote import general
from skillvault.learning.promote import skills as pattern_rules
from skillvault.learning.refresh import SkillRefresh
from skillvault.loop.clock import clock
from skillvault.loop.distill import living_skills, session_excerpts
from skillvault.loop.documents import decide_passage
from skillvault.loop.evaluate import case_of
from skillvault.loop.general import compose_general, living_general_patterns
from skillvault.loop.judging.judge_replies import (
    AnswerMetadata,
    brief_outcomes,
    metadata_of,
    metadata_of_brief,
)
from skillvault.loop.managed_skills import read_references, skill_folder
from skillvault.loop.next_versions import with_waiting_account
from skillvault.loop.promote import compose_pattern, living_patterns
from skillvault.loop.refresh import rewrite_skill
from skillvault.loop.run import Run
from skillvault.model.brief import (
    Brief,
    Case,
    Draft,
    Findings,
    InsightText,
    Passage,
    Recurrence,
    SessionExcerpt,
    blind_case,
)
from skillvault.model.change import Change
from skillvault.model.records import Answer, Evaluation, Outcome, Ref, Skill, stamp

# The order of the questions: the answers that change most come first.
(
    _SURPRISE, _SEEN_FAILURE, _CONTRAST, _INSIGHT, _GUIDE, _AGREEMENT, _STRATEGY, _TEXT, _VERDICT,
) = range(9)  # fmt: skip
_RANKS = {"contrast": _CONTRAST, "agreement": _AGREEMENT, "strategy": _STRATEGY}
_URGENT_SHARE = 0.75  # a guide is urgent if so many statements changed since its last answer


class RewritableText(NamedTuple):
    """A skill's text that an answer may replace, with the material for a new draft.

    `compose` returns the change that writes a draft, or None if nothing would change.
    """

    skill: str
    brief: Brief
    compose: Callable[[Draft], Change | None]


class OpenQuestion(NamedTuple):
    """A question without an answer.

    `about` is the name of a skill or the id of an outcome. `sessions` took part in the decision, so
    they may not judge it. `text` is the text that an answer rewrites, or None for an evaluation.
    `source_ids` has the outcomes from which the text was made. `changed_share` is the share of its
    statements that rest on outcomes after the latest answer.
    """

    judge_question: Question[Any]
    about: str
    rank: int
    metadata: AnswerMetadata
    sessions: frozenset[str] = frozenset()
    text: RewritableText | None = None
    source_ids: frozenset[str] = frozenset()
    changed_share: float = 0.0

    @property
    def is_verdict(self) -> bool:
        """True for a verdict, whose question may not show the result."""
        return self.rank == _VERDICT

    @property
    def is_urgent(self) -> bool:
        """True for a surprise, a failure that a person saw, and a guide that changed much."""
        is_guide = self.rank == _GUIDE and self.changed_share >= _URGENT_SHARE
        return self.rank in (_SURPRISE, _SEEN_FAILURE) or is_guide

    @property
    def is_lesson(self) -> bool:
        """True for the question about the lesson of an outcome."""
        return self.text is None and not self.is_verdict

    @property
    def request(self) -> JudgeRequest:
        """The prompt and the schema of the question."""
        return self.judge_question.request

    @property
    def answer_key(self) -> str:
        """The key under which the answer is stored."""
        return self.judge_question.topic.question


def find_open_questions(
    run: Run, judge: AgentJudge, *, untrusted: bool = False
) -> list[OpenQuestion]:
    """Return the questions about outcomes of the last `judge.patience` days, by rank.

    Without `untrusted`, leave out questions that quote untrusted records.
    """
    recent_ids: dict[str, list[str]] = {}
    for domain in sorted(run.snapshot.outcomes.domains("untrusted")):
        start = _earliest_time(run, domain)
        if ids := run.snapshot.outcomes.since(domain, start, None if untrusted else "local"):
            recent_ids[domain] = ids
    questions: dict[str, OpenQuestion] = {}
    for question in _find_questions(run, judge, recent_ids):
        is_allowed = untrusted or question.metadata.trust == "local"
        if is_allowed and question.answer_key not in run.snapshot.answers:
            questions.setdefault(question.answer_key, question)
    return sorted(
        questions.values(),
        key=lambda q: (q.rank, -q.changed_share, -q.metadata.at.timestamp(), q.answer_key),
    )


def is_independent(question: OpenQuestion, chosen: Sequence[OpenQuestion]) -> bool:
    """Return True if a question may be asked together with the chosen questions.

    Two questions must not be about one record. A text shows the results of its outcomes, which
    would influence a verdict; and the lesson of an outcome would change a text about the outcome.
    """
    return all(
        question.about != peer.about
        and (question.is_verdict or question.about not in peer.source_ids)
        and peer.about not in question.source_ids
        for peer in chosen
    )


def _find_questions(
    run: Run, judge: AgentJudge, recent_ids: Mapping[str, Sequence[str]]
) -> Iterator[OpenQuestion]:
    """Yield the questions about the recent outcomes of each domain, answered or not."""
    for domain, ids in recent_ids.items():
        outcomes = run.snapshot.outcomes.get_many(ids)
        for outcome_id, evaluation in run.snapshot.evaluations.get_many(outcomes).items():
            yield from _outcome_questions(run, judge, outcomes[outcome_id], evaluation)
        for text in texts_about(run, domain, ids):
            if _is_about(text.brief, ids):
                yield from _text_questions(run, judge, text)
    ids = list(chain.from_iterable(recent_ids.values()))
    for text in chain(general_texts(run) if ids else (), passage_texts(run)):
        if _is_about(text.brief, ids):
            yield from _text_questions(run, judge, text)
    for domain in sorted(run.snapshot.sessions.domains_of("untrusted")):
        start = _earliest_time(run, domain)
        for text in session_texts(run, domain):
            if metadata_of_brief(text.brief).at >= start:
                yield from _text_questions(run, judge, text)


def _is_about(brief: Brief, outcome_ids: Sequence[str]) -> bool:
    """Return False for the text of a recurrence that includes none of the outcomes."""
    if not isinstance(brief, Recurrence):
        return True
    return not set(_outcomes_of(brief)).isdisjoint(outcome_ids)


def _earliest_time(run: Run, domain: str) -> datetime:
    now = clock(run.snapshot, domain, run.now, run.profile) or run.now
    return now - timedelta(days=run.policy.judge.patience)


def _outcome_questions(
    run: Run, judge: AgentJudge, outcome: Outcome, evaluation: Evaluation
) -> Iterator[OpenQuestion]:
    """Yield the question for the lesson of an outcome, and the question for its verdict.

    Sessions that made the decision or saw its result may not give the verdict.
    """
    case, verdict = case_of(run, outcome), judge.questions.verdict_question(blind_case(outcome))
    insight = insight_question(judge, case)
    metadata = metadata_of([outcome])
    if insight is None:
        return
    if outcome.decision.reasoning.strip():
        witnesses = (answer.session for answer in run.snapshot.answers.about(outcome.id))
        sessions = frozenset(filter(None, [outcome.source.session, *witnesses]))
        yield OpenQuestion(verdict, outcome.id, _VERDICT, metadata, sessions)
    rank = _RANKS.get(insight.topic.kind, _INSIGHT)
    if run.profile.is_surprise(evaluation, run.policy):
        rank = _SURPRISE
    elif outcome.result.status == "failure" and outcome.observer == "person":
        rank = _SEEN_FAILURE
    yield OpenQuestion(insight, outcome.id, rank, metadata)


def insight_question(judge: AgentJudge, case: Case) -> Question[InsightText] | None:
    """Return the question about the lesson of an outcome, or None if it has no lesson."""
    return judge.questions.insight_question(case, judge.answered_verdict(blind_case(case.outcome)))


def _text_questions(run: Run, judge: AgentJudge, text: RewritableText) -> Iterator[OpenQuestion]:
    question = None if prompts.lacks_material(text.brief) else text_question(judge, text)
    if question is None:
        return
    rank, share = _RANKS.get(question.topic.kind, _TEXT), 0.0
    if isinstance(text.brief, Findings) and text.brief.kind == "guide":
        rank, share = _GUIDE, _changed_share(run, question.topic.subject, text.brief)
    metadata, outcomes = metadata_of_brief(text.brief), frozenset(_outcomes_of(text.brief))
    yield OpenQuestion(
        question, text.skill, rank, metadata, text=text, source_ids=outcomes, changed_share=share
    )


def _changed_share(run: Run, subject: str, findings: Findings) -> float:
    """Return the share (0..1) of statements that rest on outcomes since the latest answer."""
    answer_times = [answer.at for answer in run.snapshot.answers.about(subject)]
    if not answer_times or not findings.statements:
        return 1.0
    new_ids = {o.id for o in findings.account.outcomes if o.occurred_at > max(answer_times)}
    changed_statements = [s for s in findings.statements if new_ids & {*s.supporting, *s.against}]
    return len(changed_statements) / len(findings.statements)


def _outcomes_of(brief: Brief) -> list[str]:
    if isinstance(brief, Recurrence):
        return [evaluation.id for evaluation in brief.evaluations]
    return [outcome.id for outcome in brief_outcomes(brief)]


def text_question(judge: AgentJudge, text: RewritableText) -> Question[Any] | None:
    """Return the question for the text of a skill, or None if its material supports no text."""
    offline_text = OfflineJudge().write(text.brief)
    return None if offline_text is None else judge.questions.text_question(text.brief, offline_text)


# ── texts that an answer rewrites ────────────────────────────────────────────────────


def texts_about(run: Run, domain: str, outcome_ids: Sequence[str]) -> Iterator[RewritableText]:
    """Yield the texts of a domain that are about the outcomes, or that are made of facts."""
    yield from run.profile.account_texts(run, domain, outcome_ids)
    for material, pattern, skill in living_patterns(run, domain):
        brief = pattern_rules.pattern_brief(pattern, material)
        yield RewritableText(skill.name, brief, partial(compose_pattern, run, pattern))


def account_texts(run: Run, domain: str, outcome_ids: Sequence[str]) -> Iterator[RewritableText]:
    """Yield the guides and warnings about the outcomes, and the strategy of the domain."""
    strategy = filter(None, [run.accounts.strategy_account(domain)])
    for account in chain(run.accounts.accounts_of(outcome_ids), strategy):
        for findings, existing in run.accounts.find_skills(account):
            if existing.skill is not None and _is_current(findings, existing):
                task = SkillRefresh(what="refresh", findings=findings, existing=existing)
                yield RewritableText(
                    existing.skill.name, findings, partial(rewrite_skill, run, task)
                )


def _is_current(findings: Findings, existing: ExistingSkill) -> bool:
    """Return True if a skill is live, managed by skillvault, and has the latest counts."""
    skill = existing.skill
    if skill is None or existing.folder == "archive" or existing.archiver:
        return False
    is_managed = skill.status not in ("pinned", "retired") and skill.origin == "generated"
    return is_managed and calls_for_skill(findings) and skill.account == digest(findings)


def general_texts(run: Run) -> Iterator[RewritableText]:
    """Yield the texts of the general skills."""
    for material, pattern in living_general_patterns(run):
        brief = general.general_brief(pattern, material)
        if pattern.skill is not None:
            compose = partial(compose_general, run, pattern)
            yield RewritableText(pattern.skill.name, brief, compose)


def session_texts(run: Run, domain: str) -> Iterator[RewritableText]:
    """Yield the texts of a domain's skills that were distilled from finished sessions."""
    for name, skill in living_skills(run, domain):
        if skill.origin != "distilled" or skill.status in ("pinned", "retired"):
            continue
        if skill.replaces:
            continue  # a next version: its text is the text of the skill that it replaces
        excerpts = session_excerpts(run, name)
        if skill.kind != "evolved":
            links = run.snapshot.links.by_target([Ref("skill", name)])
            sources = {link.source.id for link in links if link.type == "distilled"}
            excerpts = [session for session in excerpts if session.id in sources]
        elif with_waiting_account(run.snapshot, skill).account != sessions_digest(excerpts):
            continue
        if excerpts:
            brief = excerpt_of(excerpts)
            yield RewritableText(name, brief, partial(_reword_session, run, brief, skill))


def passage_texts(run: Run) -> Iterator[RewritableText]:
    """Yield the passages of documents; the judge says which correction a passage states."""
    for passage in run.snapshot.corrections.passages():
        yield RewritableText(passage.id, Passage(passage), partial(decide_passage, run, passage))


def _reword_session(run: Run, brief: SessionExcerpt, skill: Skill, draft: Draft) -> Change | None:
    folder = skill_folder(run, skill)
    return rewording_change(
        brief,
        draft,
        skill,
        run.written_texts(skill.name),
        folder=folder,
        references=read_references(run, folder, skill),
        policy=run.policy,
    )


# ── answers ──────────────────────────────────────────────────────────────────────────


def answers_behind(run: Run, ref: Ref) -> list[dict[str, Any]]:
    """Return `[{key, question, by, session, at, reply}]` for each answer that a record rests on.

    The record is a skill, a fact, an evaluation or an outcome.
    """
    answers = {answer.id: answer for answer in _find_answers(run, ref)}
    return [
        {
            "key": key,
            "question": f"{answer.kind} of {answer.subject}",
            "by": answer.judge.name,
            "session": answer.session,
            "at": stamp(answer.at),
            "reply": answer.reply,
        }
        for key, answer in sorted(answers.items())
    ]


def _find_answers(run: Run, ref: Ref) -> Iterator[Answer]:
    if ref.kind in ("evaluation", "outcome"):
        yield from _answers_about(run, [ref.id])
    if ref.kind == "fact":
        links = run.snapshot.links.by_target([ref])
        sources = [link.source.id for link in links if link.type == "promoted"]
        yield from _answers_about(run, sources)
    if ref.kind == "skill":
        commits = run.snapshot.history.commits_changing(ref)
        parts = run.snapshot.history.parts_of(commits[0].sha) if commits else []
        refs = [text for part in parts for text in (*part.sources, *part.targets)]
        keys = [text.partition(":")[2] for text in refs if text.startswith("answer:")]
        yield from run.snapshot.answers.get_many(keys).values()


def _answers_about(run: Run, outcome_ids: Sequence[str]) -> Iterator[Answer]:
    for outcome in run.snapshot.outcomes.get_many(outcome_ids).values():
        yield from run.snapshot.answers.about(outcome.id)
        if isinstance(run.judge, AgentJudge | ClaudeJudge):
            # Several outcomes may share the verdict on their decision.
            key = run.judge.questions.verdict_question(blind_case(outcome)).topic.question
            subject = prompts.subject_line(*outcome.subject)
            yield from (
                answer for answer in run.snapshot.answers.about(subject) if answer.id == key
            )
