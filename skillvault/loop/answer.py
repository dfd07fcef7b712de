"""answer: what was answered changes what it is about, whoever brought it into the branch."""

from collections.abc import Iterator, Sequence
from itertools import chain

from skillvault.judge.agent import AgentJudge
from skillvault.judge.claude import prompts
from skillvault.learning import answer as answers
from skillvault.learning.answer import STEP, Rewording
from skillvault.learning.promote.evaluated_runs import evaluated_run
from skillvault.loop.evaluate import Judged, judged_by
from skillvault.loop.judging.cases import case_of
from skillvault.loop.judging.judge_replies import check_reply
from skillvault.loop.judging.questions import text_question, verdict_question
from skillvault.loop.judging.texts import general_texts, session_texts, texts_about
from skillvault.loop.promote import run_book
from skillvault.loop.run import Run
from skillvault.model.brief import Draft
from skillvault.model.change import Change
from skillvault.model.errors import NoAnswerError
from skillvault.model.records import Answer, Decision, Evaluation, Fact, Link, Outcome, Ref, ref_of
from skillvault.model.sameness.comparison import is_same
from skillvault.vault.commit.store import edit_link_lists
from skillvault.vault.files import layout

_OF_OUTCOMES = ("insight", "contrast")


def step(run: Run) -> Iterator[Change]:
    """One change an answer; what agents answered just now is in it.

    Where somebody edits what it is about, a new answer is committed alone, and the rest waits. A
    clone that does not learn commits answers alone: what follows from them is the learner's.
    """
    fresh = [answer for answer in run.options.answers if answer.id not in run.view.answers]
    if run.report.learner:  # they stay due, as this clone may be the learner one day
        yield from (answers.bare_change([answer]) for answer in fresh)
        return
    due = set(run.view.due.keys(STEP))
    held: set[str] = set()
    for answer in fresh:
        change = _effect(run, answer, new=True)
        if change is None or _edited(run, change):
            held |= {answer.id} if change else set()
            change = answers.bare_change([answer])
        yield change
    for answer in run.view.answers.get_many(due).values():
        change = _effect(run, answer, new=False)
        if change is not None and (edited := _edited(run, change)):
            held.add(answer.id)
            for path, reason in edited.items():
                run.wait(path, reason)
        elif change is not None:
            yield change
    run.settle(STEP, {*due, *(answer.id for answer in fresh)} - held)


def _edited(run: Run, change: Change) -> dict[str, str]:
    """path -> why a change cannot be made now."""
    lists = edit_link_lists(change, run.view)
    paths = [layout.path_of(record) for record in change.writes if not isinstance(record, Link)]
    paths += [*change.removes, *lists, *(rewrite.path for rewrite in change.rewrites)]
    paths += [edit.path for edit in change.edits]
    return run.store.local_edits(dict.fromkeys(paths, b""))


def _effect(run: Run, answer: Answer, *, new: bool) -> Change | None:
    """What an answer changes; None for nothing."""
    judge = run.judge
    if not isinstance(judge, AgentJudge):
        return None  # who asks by himself has used it
    kept = judge.answers
    knowing = AgentJudge(judge.questions, lambda key: answer if key == answer.id else kept(key))
    if answer.kind == "verdict" or answer.kind in _OF_OUTCOMES:
        outcomes = _judged_outcomes(run, knowing, answer)
        reworded = [
            rewording for outcome in outcomes if (rewording := _reworded(run, knowing, outcome))
        ]
        return answers.evaluation_change(answer, reworded, is_new=new) if reworded else None
    return _text_effect(run, knowing, answer, new=new)


def _judged_outcomes(run: Run, judge: AgentJudge, answer: Answer) -> list[Outcome]:
    """The outcomes that an answer is about; a verdict of all that decided the same."""
    if answer.kind in _OF_OUTCOMES:
        return list(run.view.outcomes.get_many([answer.subject]).values())
    names = [
        name
        for name, action, target in run.view.outcomes.domain_subjects(answer.domain)
        if prompts.about(answer.domain, Decision(action=action, target=target)) == answer.subject
    ]
    outcomes = run.view.outcomes.get_many(names).values()
    return [
        outcome
        for outcome in outcomes
        if verdict_question(judge, outcome).matter.question == answer.id
    ]


def _reworded(run: Run, judge: AgentJudge, outcome: Outcome) -> Rewording | None:
    """An evaluation with the words of the answers; None for the same, or a person's."""
    before = run.view.evaluations.get_many([outcome.id]).get(outcome.id)
    if before is None or _is_persons(run, Ref("evaluation", outcome.id)):
        return None
    judged = judged_by(judge, case_of(run, outcome), run.policy)
    if not isinstance(judged, Judged) or judged.evaluation == before:
        return None
    ref = Ref("evaluation", outcome.id)
    links = [link for link in run.view.links.by_source([ref]) if link.target.kind == "fact"]
    supports = (link for link in links if link.type in ("promoted", "reinforced"))
    later = _told_later(run, judged.evaluation, outcome)
    facts = _told_facts(run, [*(link.target.id for link in supports), *later])
    refs = [Ref("fact", name) for name in facts]
    around = [*run.view.links.by_source(refs), *run.view.links.by_target(refs)]
    paths = {ref: path for ref in refs if (path := run.view.records.path_of(ref))}
    paths |= {ref_of(link): str(ref_of(link)) for link in (*links, *around)}
    return Rewording(
        before=before,
        after=judged.evaluation,
        links=links,
        facts=facts,
        around=around,
        paths=paths,
    )


def _is_persons(run: Run, ref: Ref) -> bool:
    """Whether a person was the last to change a record."""
    commits = run.view.history.commits_touching([ref])
    return bool(commits) and not commits[0].step


def _told_later(run: Run, evaluation: Evaluation, outcome: Outcome) -> list[str]:
    """The facts that a later run made of what this one says now: they are its own from then on."""
    judged = evaluated_run(evaluation, outcome)
    if judged is None:
        return []
    book = run_book(run.view)
    alike = [
        words for words, claim in book.find_similar(judged).items() if is_same(claim, judged.claim)
    ]
    made_by = book.first_facts(judged.domain, alike)
    sources = book.load(made_by.values())
    return [
        fact
        for fact, name in made_by.items()
        if name in sources
        and sources[name].ending == judged.ending
        and sources[name].order > judged.order
    ]


def _told_facts(run: Run, names: Sequence[str]) -> dict[str, Fact]:
    """Those of these facts that still say what the program made of evaluations."""
    facts = run.view.facts.get_many(names)
    return {
        name: fact
        for name, fact in facts.items()
        if fact.kind == "judge" and not _is_persons(run, Ref("fact", name))
    }


def _text_effect(run: Run, judge: AgentJudge, answer: Answer, *, new: bool) -> Change | None:
    """The text of a skill as an answer has it; None where its material has changed since."""
    names = run.view.outcomes.since(answer.domain, answer.at, answer.trust)
    texts = (texts_about(run, answer.domain, names), general_texts(run))
    for text in chain(*texts, session_texts(run, answer.domain)):
        question = text_question(judge, text)
        if question is None or question.matter.question != answer.id:
            continue
        try:
            draft = check_reply(question.value_of(answer.reply), Draft, "text")
        except NoAnswerError:
            return None  # `check` says what is wrong with it
        change = text.rewritten(draft)
        change = run.gate.passed(change) if change else None
        return (
            answers.text_change(answer, change, is_new=new) if change and _writes(change) else None
        )
    return None


def _writes(change: Change) -> bool:
    return bool(change.rewrites or change.edits or change.files or change.moves)
