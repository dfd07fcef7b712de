"""evaluate: every outcome without an evaluation gets one.

The judge may be asked about several at once; what is committed stands in the order of the ids.
What it cannot be asked now waits, and what it failed at too often is set aside.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from msgspec import Struct

from skillvault.judge import Judge
from skillvault.learning.evaluate import evaluate
from skillvault.loop import quota
from skillvault.loop.judging.cases import case_of
from skillvault.loop.judging.judge_replies import answer_record, check_reply, place_of
from skillvault.loop.judging.judges import judge_of
from skillvault.loop.run import Run, Waiting, flush_for_judge
from skillvault.model.brief import Case, InsightText, Verdict
from skillvault.model.change import BATCH, Change
from skillvault.model.errors import NoAnswerError, UnavailableError
from skillvault.model.policy import Policy
from skillvault.model.records import Answer, Evaluation, Outcome, Ref
from skillvault.vault.files import layout
from skillvault.vault.spending import FailedItem

STEP = "evaluate"
_PAGE = 4  # outcomes a place at the judge that are handed over together


class Judged(Struct, frozen=True):
    """An evaluation, and the answers that it rests on."""

    evaluation: Evaluation
    answers: tuple[Answer, ...] = ()


_Answer = Judged | UnavailableError | NoAnswerError


def step(run: Run) -> Iterator[Change]:
    """A change for every so many outcomes of a domain, of untrusted ones after all others."""
    batches, later = judged_today(run)
    if later:
        run.wait("evaluations", quota.why_outcomes(run.view, len(later), run.now), tomorrow=True)
    for domain, batch in batches:
        for judged in _judged(run, domain, batch):
            free = run.free(one.evaluation for one in judged)
            ready = [one for one in judged if free[layout.path_of(one.evaluation)]]
            if ready:
                evaluations = [one.evaluation for one in ready]
                behind = {answer.id: answer for one in ready for answer in one.answers}
                answers = [behind[key] for key in sorted(behind) if key not in run.view.answers]
                yield evaluate.evaluation_change(domain, evaluations, run.judge.info, answers)


def waiting(run: Run) -> int:
    """How many outcomes get an evaluation, without those that wait for another day."""
    return sum(len(batch) for _, batch in judged_today(run)[0])


def held(run: Run) -> int:
    """How many untrusted outcomes are not judged today."""
    return len(judged_today(run)[1])


def judged_today(run: Run) -> tuple[list[tuple[str, list[Outcome]]], list[Outcome]]:
    """(domain, its outcomes) in their turn, and the untrusted ones that there is no room for."""
    due = unevaluated(run)
    trusted = [outcome for outcome in due if outcome.trust == "local"]
    others = sorted((o for o in due if o.trust == "untrusted"), key=lambda o: o.id)
    room = quota.left_to_judge(run.view, run.now) if others else 0
    batches = [*by_domain(trusted).items(), *by_domain(others[:room]).items()]
    return batches, others[room:]


def unevaluated(run: Run) -> list[Outcome]:
    """The outcomes without an evaluation that are to get one.

    Without those of which nobody said what was decided, or in whose place another counts; those
    that a person took away, those that are set aside, and those whose evaluation's place is edited
    locally.
    """
    outcomes: list[Outcome] = []
    aside = set_aside(run)
    due = _judgeable(run)
    edited = local_edits(run, due)
    run.report.waiting += [Waiting(path, reason) for path, reason in sorted(edited.items())]
    for outcome in due:
        if _evaluation_path(outcome) in edited:
            continue
        refused = run.rejections.of_target(Ref("evaluation", outcome.id))
        if refused:
            run.report.rejected.append(refused)
        elif outcome.id not in aside:
            outcomes.append(outcome)
    return outcomes


def _judgeable(run: Run) -> list[Outcome]:
    """The due outcomes that say how a decision ended that somebody described."""
    outcomes = run.view.outcomes.get_many(run.view.due.keys(STEP))
    overruled = run.view.outcomes.overruled_ids(outcomes)
    return [o for o in outcomes.values() if o.is_described and o.id not in overruled]


def local_edits(run: Run, outcomes: Iterable[Outcome]) -> dict[str, str]:
    """path -> why none of these outcomes' evaluations can be written there now."""
    return run.store.local_edits({_evaluation_path(outcome): b"" for outcome in outcomes})


def _evaluation_path(outcome: Outcome) -> str:
    """Where an outcome's evaluation goes."""
    return layout.outcome_path(outcome.domain, outcome.id, "evaluations")


def set_aside(run: Run) -> dict[str, FailedItem]:
    """The outcomes that the judge failed at so often that it is not asked again."""
    return _failed_items(run, run.policy.judge.attempts)


def _failed_items(run: Run, attempts: int) -> dict[str, FailedItem]:
    """What the judge failed at so often; nothing where its ledger does not serve."""
    if run.policy.judge.provider != "claude":
        return {}
    try:
        return run.store.ledger.failed_items(attempts)
    except UnavailableError:
        return {}


def _judged(run: Run, domain: str, batch: Sequence[Outcome]) -> Iterator[list[Judged]]:
    """The evaluations that the judge gives, as many as a change holds; the others wait.

    What failed before is asked after all others are answered: it may be what the service fails at.
    """
    tried = _failed_items(run, 0)
    fresh = [outcome for outcome in batch if outcome.id not in tried]
    again = sorted((o for o in batch if o.id in tried), key=lambda o: tried[o.id].attempts)
    ready: list[Judged] = []
    refusals: list[UnavailableError] = []
    for outcome, answer in chain(_answers(run, domain, fresh), _answers(run, domain, again)):
        if isinstance(answer, Judged):
            ready.append(answer)
            if len(ready) == BATCH:
                yield sorted(ready, key=_id)
                ready = []
        elif isinstance(answer, NoAnswerError):
            _failed(run, outcome, answer)
        else:
            refusals.append(answer)
            if answer.tried:
                run.store.ledger.count_failure(outcome.id, str(answer), service=True)
    if refusals:
        run.unavailable(f"outcomes/{domain}", f"{len(refusals)} not evaluated: {refusals[-1]}")
    if ready:
        yield sorted(ready, key=_id)


def _id(judged: Judged) -> str:
    return judged.evaluation.id


def _failed(run: Run, outcome: Outcome, error: NoAnswerError) -> None:
    """Count a failure against an outcome, and say what becomes of it."""
    run.store.ledger.count_failure(outcome.id, str(error), service=False)
    aside = outcome.id in set_aside(run)
    what = "set aside, `skillvault run --retry` tries again" if aside else "tried again"
    run.report.waiting.append(Waiting(layout.path_of(outcome), f"{error}; {what}"))


def _answers(run: Run, what: str, batch: Sequence[Outcome]) -> Iterator[tuple[Outcome, _Answer]]:
    """What the judge says of each, in the order of the batch, several being asked at once."""
    if run.judge.at_once == 1:  # it waits for nothing
        for outcome in run.track(batch, f"evaluating {what}"):
            flush_for_judge(run)
            yield outcome, judged_by(run.judge, case_of(run, outcome), run.policy)
        return
    if not batch:
        return
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 (a question asks no judge)

    tracked = run.track(batch, f"evaluating {what}")
    with ThreadPoolExecutor(max_workers=run.judge.at_once) as pool:
        for page in _pages(tracked, _PAGE * run.judge.at_once):
            flush_for_judge(run)
            cases = [case_of(run, outcome) for outcome in page]
            answers = pool.map(lambda case: judged_by(run.judge, case, run.policy), cases)
            yield from zip(page, answers, strict=True)


def _pages(outcomes: Iterable[Outcome], size: int) -> Iterator[list[Outcome]]:
    page: list[Outcome] = []
    for outcome in outcomes:
        page.append(outcome)
        if len(page) == size:
            yield page
            page = []
    yield page


def judged_by(judge: Judge, case: Case, policy: Policy) -> _Answer:
    """The judge's word on one outcome: the verdict first and blind, then the insight."""
    outcome = case.outcome
    judge = judge_of(judge, case, policy.judge.provider)
    try:
        reply = judge.verdict(
            outcome.domain,
            outcome.decision,
            outcome.context,
            outcome.applied,
            outcome.result.entry_value,
        )
        verdict = check_reply(reply, Verdict, "verdict")
        insight = judge.insight(case, verdict)
        if insight is not None:
            insight = check_reply(insight, InsightText, "insight")
    except (UnavailableError, NoAnswerError) as error:
        return error
    evaluation = evaluate.evaluation_of(outcome, judge.info, verdict, insight, policy=policy)
    place = place_of([outcome])
    given = filter(None, (verdict.answer, insight.answer if insight else None))
    return Judged(evaluation, tuple(answer_record(one, place) for one in given))


def by_domain(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """The outcomes of each domain, in the order of their ids."""
    domains: dict[str, list[Outcome]] = {}
    for outcome in sorted(outcomes, key=lambda outcome: (outcome.domain, outcome.id)):
        domains.setdefault(outcome.domain, []).append(outcome)
    return domains
