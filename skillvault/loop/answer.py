"""The step `answer`: use the answers of an agent that arrive after the evaluation.

An answer changes an evaluation or the text of a skill, with the same result in each clone.
`judging/question_queue.py` receives the answers, `judging/questions.py` finds the texts to rewrite,
and `learning/answer.py` builds the changes.
"""

from collections.abc import Iterator
from itertools import chain

from skillvault.judge.agent import AgentJudge
from skillvault.judge.claude import prompts
from skillvault.judge.claude.judge import ClaudeJudge
from skillvault.learning import answer as answer_rules
from skillvault.learning.answer import STEP, Rewording
from skillvault.learning.corrections import path_of
from skillvault.learning.promote.evaluated_runs import evaluated_run
from skillvault.loop.evaluate import Judgment, case_of, judge_case
from skillvault.loop.judging.judge_replies import check_reply
from skillvault.loop.judging.questions import (
    general_texts,
    passage_texts,
    session_texts,
    text_question,
    texts_about,
)
from skillvault.loop.next_versions import gate_change
from skillvault.loop.promote import run_book
from skillvault.loop.run import Run
from skillvault.model.brief import Draft, blind_case
from skillvault.model.change import REVERT, Change
from skillvault.model.errors import NoAnswerError
from skillvault.model.records import Answer, Evaluation, Link, Outcome, Ref, ref_of
from skillvault.model.sameness.comparison import is_same
from skillvault.model.text.text import pluralize
from skillvault.vault.commit.store import edit_link_lists
from skillvault.vault.files import layout

_LESSON_KINDS = ("insight", "contrast")


def step(run: Run) -> Iterator[Change]:
    """Yield a change for each new answer of an agent, and for each recorded answer that is due.

    If a person edits an affected file, a new answer is committed alone and its effect waits. A
    clone that does not learn only commits answers; the learner uses them.
    """
    new_answers = [
        answer for answer in run.options.answers if answer.id not in run.snapshot.answers
    ]
    if run.report.learner:  # the answers stay due, because this clone may become the learner
        yield from (answer_rules.answer_change(answer) for answer in new_answers)
        return
    due_keys = set(run.snapshot.due.keys(STEP))
    waiting_refs: set[str] = set()
    for answer in new_answers:
        change = _find_effect(run, answer, is_new=True)
        if change is None or _find_edits(run, change):
            if change:
                waiting_refs.add(answer.id)
            change = answer_rules.answer_change(answer)
        yield change
    for answer in run.snapshot.answers.get_many(due_keys).values():
        change = _find_effect(run, answer, is_new=False)
        if change is not None and (edits := _find_edits(run, change)):
            waiting_refs.add(answer.id)
            for path, reason in edits.items():
                run.defer(path, reason)
        elif change is not None:
            yield change
    yield from _decide_passages(run)
    run.settle(STEP, {*due_keys, *(answer.id for answer in new_answers)} - waiting_refs)


def _decide_passages(run: Run) -> Iterator[Change]:
    """Yield a change for each passage of a document if Claude judges, or withdraw them offline.

    With another judge they wait for an agent's answers.
    """
    for text in passage_texts(run) if isinstance(run.judge, ClaudeJudge) else ():
        yield from run.write_skill(text.skill, text.brief, text.compose)
    passages = run.snapshot.corrections.passages()
    if passages and run.policy.judge.provider == "offline":
        yield Change(
            step=REVERT,
            subject=f"propose: {pluralize(len(passages), 'passage')} of documents",
            reason="The offline judge reads no passages. With another judge, `skillvault learn` of "
            "the same documents proposes them again.",
            removes=tuple(map(path_of, passages)),
            sources=tuple(Ref("correction", passage.id) for passage in passages),
        )


def _find_edits(run: Run, change: Change) -> dict[str, str]:
    """Return the affected paths that a person edits, each with the reason to wait."""
    paths = [layout.path_of(record) for record in change.writes if not isinstance(record, Link)]
    paths += [*change.removes, *edit_link_lists(change, run.snapshot)]
    paths += [rewrite.path for rewrite in change.rewrites] + [edit.path for edit in change.edits]
    return run.store.local_edits(dict.fromkeys(paths, b""))


def _find_effect(run: Run, answer: Answer, *, is_new: bool) -> Change | None:
    if not isinstance(run.judge, AgentJudge):
        return None  # any other judge used the answer itself
    load_answer = run.judge.answers
    judge = AgentJudge(
        run.judge.questions, lambda key: answer if key == answer.id else load_answer(key)
    )
    if answer.kind != "verdict" and answer.kind not in _LESSON_KINDS:
        return _find_rewrite(run, judge, answer, is_new=is_new)
    outcomes = _judged_outcomes(run, judge, answer)
    rewordings = [r for outcome in outcomes if (r := _reword(run, judge, outcome))]
    return answer_rules.evaluation_change(answer, rewordings, is_new=is_new) if rewordings else None


def _judged_outcomes(run: Run, judge: AgentJudge, answer: Answer) -> list[Outcome]:
    """Return the outcomes that an answer is about: all outcomes of a decision for a verdict."""
    if answer.kind in _LESSON_KINDS:
        return list(run.snapshot.outcomes.get_many([answer.subject]).values())
    ids = [
        outcome_id
        for outcome_id, action, target in run.snapshot.outcomes.domain_subjects(answer.domain)
        if prompts.subject_line(answer.domain, action, target) == answer.subject
    ]
    outcomes = run.snapshot.outcomes.get_many(ids).values()
    question_of = judge.questions.verdict_question
    return [o for o in outcomes if question_of(blind_case(o)).topic.question == answer.id]


def _reword(run: Run, judge: AgentJudge, outcome: Outcome) -> Rewording | None:
    """Return an evaluation with new answers, or None if it is unchanged or was edited."""
    ref = Ref("evaluation", outcome.id)
    evaluation = run.snapshot.evaluations.get_many([outcome.id]).get(outcome.id)
    if evaluation is None or _is_personal(run, ref):
        return None
    judgment = judge_case(judge, case_of(run, outcome), run.policy)
    if not isinstance(judgment, Judgment) or judgment.evaluation == evaluation:
        return None
    links = [link for link in run.snapshot.links.by_source([ref]) if link.target.kind == "fact"]
    fact_ids = [link.target.id for link in links if link.type in ("promoted", "reinforced")]
    fact_ids += _find_later_facts(run, judgment.evaluation, outcome)
    facts = {
        key: fact
        for key, fact in run.snapshot.facts.get_many(fact_ids).items()
        if fact.kind == "judge" and not _is_personal(run, Ref("fact", key))
    }
    refs = [Ref("fact", key) for key in facts]
    fact_links = [*run.snapshot.links.by_source(refs), *run.snapshot.links.by_target(refs)]
    paths = {ref: path for ref in refs if (path := run.snapshot.records.path_of(ref))}
    paths |= {ref_of(link): str(ref_of(link)) for link in (*links, *fact_links)}
    return Rewording(
        old=evaluation,
        new=judgment.evaluation,
        links=links,
        facts=facts,
        fact_links=fact_links,
        paths=paths,
    )


def _is_personal(run: Run, ref: Ref) -> bool:
    commits = run.snapshot.history.commits_touching([ref])
    return bool(commits) and not commits[0].step


def _find_later_facts(run: Run, evaluation: Evaluation, outcome: Outcome) -> list[str]:
    """Return the facts of later runs that say the same as the new words of an evaluation.

    These facts become facts of this evaluation, because it is earlier.
    """
    new_run = evaluated_run(evaluation, outcome)
    if new_run is None:
        return []
    book = run_book(run.snapshot)
    claims = book.find_similar(new_run)
    digests = [digest for digest, claim in claims.items() if is_same(claim, new_run.claim)]
    makers = book.first_facts(new_run.domain, digests)
    sources = book.load(makers.values())
    return [
        fact
        for fact, run_id in makers.items()
        if run_id in sources
        and sources[run_id].outcome_status == new_run.outcome_status
        and sources[run_id].order > new_run.order
    ]


def _find_rewrite(run: Run, judge: AgentJudge, answer: Answer, *, is_new: bool) -> Change | None:
    """Return the change that rewrites a text with an answer, or None.

    An answer is not used if the material of the text has changed since the question.
    """
    outcome_ids = run.snapshot.outcomes.since(answer.domain, answer.at, answer.trust)
    texts = (texts_about(run, answer.domain, outcome_ids), general_texts(run), passage_texts(run))
    for text in chain(*texts, session_texts(run, answer.domain)):
        question = text_question(judge, text)
        if question is None or question.topic.question != answer.id:
            continue
        try:
            draft = check_reply(question.value_of(answer.reply), Draft, "text")
        except NoAnswerError:
            return None  # the command `check` reports the error
        change = text.compose(draft)
        change = gate_change(run.context, change) if change else None
        effects = change and (*change.rewrites, *change.edits, *change.files, *change.moves)
        if change and (effects or change.removes):
            return answer_rules.text_change(answer, change, is_new=is_new)
        return None
    return None
