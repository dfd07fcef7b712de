"""The step `evaluate`: ask the judge for a verdict and a lesson for each outcome.

A judge may take several outcomes at once. An outcome waits if the judge cannot be asked, and is set
aside if the judge fails too often. `case_of` builds the material of a judge; `learning/evaluate.py`
builds the evaluation.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from msgspec import Struct

from skillvault.judge import Judge
from skillvault.learning import evaluate
from skillvault.learning.account import sentences
from skillvault.learning.tries import tries
from skillvault.loop import untrusted_quota as quota
from skillvault.loop.judging.judge_replies import answer_record, check_reply, metadata_of
from skillvault.loop.judging.judges import judge_for_case
from skillvault.loop.run import Run, WaitingWork, flush_for_judge
from skillvault.model.brief import Case, InsightText, Verdict, blind_case
from skillvault.model.change import INTAKE_BATCH, Change
from skillvault.model.claude_models import cacheable_length
from skillvault.model.errors import NoAnswerError, UnavailableError
from skillvault.model.policy import Policy
from skillvault.model.records import Answer, Evaluation, Outcome, Ref
from skillvault.model.text.text import flatten, shorten
from skillvault.vault.files import layout
from skillvault.vault.spending import FailedItem

STEP = "evaluate"
_CASES_PER_PLACE = 4  # outcomes to queue at a time for each question that the judge takes at once
_MAX_FACTS = 20  # facts of a domain that a judge reads
_MAX_FACT_LENGTH = 160
_MAX_CACHED_FACTS = 150  # facts that Claude reads if it caches them between questions
_MAX_EARLIER_OUTCOMES = 8  # earlier outcomes of the subject that a judge reads


class Judgment(Struct, frozen=True):
    """An evaluation, and the judge's answers that the vault stores with it."""

    evaluation: Evaluation
    answers: tuple[Answer, ...] = ()


_Answer = Judgment | UnavailableError | NoAnswerError


def step(run: Run) -> Iterator[Change]:
    """Yield a change for each batch of outcomes of a domain, untrusted outcomes last."""
    batches, excess = split_by_quota(run)
    if excess:
        run.defer(
            "evaluations", quota.wait_reason(run.snapshot, len(excess), run.now), tomorrow=True
        )
    for domain, batch in batches:
        for judgments in _judge_batch(run, domain, batch):
            paths = run.find_writable(judgment.evaluation for judgment in judgments)
            writable = [j for j in judgments if layout.path_of(j.evaluation) in paths]
            if writable:
                evaluations = [judgment.evaluation for judgment in writable]
                index = {answer.id: answer for judgment in writable for answer in judgment.answers}
                answers = [index[key] for key in sorted(index) if key not in run.snapshot.answers]
                yield evaluate.evaluation_change(domain, evaluations, run.judge.info, answers)


def count_work(run: Run) -> int:
    """Return the number of outcomes to evaluate today."""
    return sum(len(batch) for _, batch in split_by_quota(run)[0])


def count_over_quota(run: Run) -> int:
    """Return the number of untrusted outcomes that wait for another day."""
    return len(split_by_quota(run)[1])


def split_by_quota(run: Run) -> tuple[list[tuple[str, list[Outcome]]], list[Outcome]]:
    """Return the batches (domain, outcomes) to judge, and the untrusted outcomes over the quota."""
    outcomes = find_unevaluated(run)
    trusted = [outcome for outcome in outcomes if outcome.trust == "local"]
    untrusted = sorted((o for o in outcomes if o.trust == "untrusted"), key=lambda o: o.id)
    quota_left = quota.remaining_outcomes(run.snapshot, run.now) if untrusted else 0
    batches = [*by_domain(trusted).items(), *by_domain(untrusted[:quota_left]).items()]
    return batches, untrusted[quota_left:]


def find_unevaluated(run: Run) -> list[Outcome]:
    """Return the outcomes to evaluate.

    Leave out an outcome without a description, one that another outcome overrules, one that was set
    aside, and one whose evaluation a person removed or is editing.
    """
    due_outcomes = run.snapshot.outcomes.get_many(run.snapshot.due.keys(STEP))
    overruled_ids = run.snapshot.outcomes.overruled_ids(due_outcomes)
    candidates = [o for o in due_outcomes.values() if o.is_described and o.id not in overruled_ids]
    edits = local_edits(run, candidates)
    run.report.waiting += [WaitingWork(path, reason) for path, reason in sorted(edits.items())]
    failed_items = abandoned_outcomes(run)
    outcomes: list[Outcome] = []
    for outcome in candidates:
        if _evaluation_path(outcome) in edits:
            continue
        if rejection := run.rejections.of_target(Ref("evaluation", outcome.id)):
            run.report.rejected.append(rejection)
        elif outcome.id not in failed_items:
            outcomes.append(outcome)
    return outcomes


def local_edits(run: Run, outcomes: Iterable[Outcome]) -> dict[str, str]:
    """Return the paths of evaluations that cannot be written now, each with the reason."""
    return run.store.local_edits({_evaluation_path(outcome): b"" for outcome in outcomes})


def _evaluation_path(outcome: Outcome) -> str:
    return layout.outcome_path(outcome.domain, outcome.id, "evaluations")


def abandoned_outcomes(run: Run) -> dict[str, FailedItem]:
    """Return the outcomes for which the judge failed too often, by id."""
    return _failed_items(run, run.policy.judge.attempts)


def _failed_items(run: Run, attempts: int) -> dict[str, FailedItem]:
    if run.policy.judge.provider != "claude":
        return {}
    try:
        return run.store.ledger.failed_items(attempts)
    except UnavailableError:
        return {}


def _judge_batch(run: Run, domain: str, batch: Sequence[Outcome]) -> Iterator[list[Judgment]]:
    """Judge outcomes and yield the judgments in pages for one change; report the others.

    Outcomes for which the judge failed before come last, because it may fail again.
    """
    failures = _failed_items(run, 0)
    untried = [o for o in batch if o.id not in failures]
    failed = sorted((o for o in batch if o.id in failures), key=lambda o: failures[o.id].attempts)
    judgments: list[Judgment] = []
    refusals: list[UnavailableError] = []
    parts = filter(None, (untried, failed))  # a step without outcomes shows no progress
    for outcome, answer in chain(*(_answers(run, domain, part) for part in parts)):
        if isinstance(answer, Judgment):
            judgments.append(answer)
            if len(judgments) == INTAKE_BATCH:
                yield sorted(judgments, key=lambda judgment: judgment.evaluation.id)
                judgments = []
        elif isinstance(answer, NoAnswerError):
            run.store.ledger.count_failure(outcome.id, str(answer), service=False)
            next_step = "tried again"
            if outcome.id in abandoned_outcomes(run):
                next_step = "set aside, `skillvault run --retry` tries again"
            run.defer(layout.path_of(outcome), f"{answer}; {next_step}")
        else:
            refusals.append(answer)
            if answer.tried:
                run.store.ledger.count_failure(outcome.id, str(answer), service=True)
    if refusals:
        run.defer_for_judge(f"outcomes/{domain}", f"{len(refusals)} not evaluated: {refusals[-1]}")
    if judgments:
        yield sorted(judgments, key=lambda judgment: judgment.evaluation.id)


def _answers(run: Run, domain: str, batch: Sequence[Outcome]) -> Iterator[tuple[Outcome, _Answer]]:
    """Yield (outcome, answer) in order; the judge may work on several outcomes at once."""
    tracked_outcomes = run.track(batch, f"evaluating {domain}")
    if run.judge.at_once == 1:
        for outcome in tracked_outcomes:
            flush_for_judge(run)
            yield outcome, judge_case(run.judge, case_of(run, outcome), run.policy)
    else:
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 (a question asks no judge)

        with ThreadPoolExecutor(max_workers=run.judge.at_once) as pool:
            remaining_outcomes = iter(tracked_outcomes)
            while page := list(islice(remaining_outcomes, _CASES_PER_PLACE * run.judge.at_once)):
                flush_for_judge(run)
                cases = [case_of(run, outcome) for outcome in page]
                answers = pool.map(lambda case: judge_case(run.judge, case, run.policy), cases)
                yield from zip(page, answers, strict=True)


def judge_case(judge: Judge, case: Case, policy: Policy) -> _Answer:
    """Ask the judge for the verdict without the result, then for the lesson with the result.

    Return the judgment, or the error that kept the judge from answering.
    """
    outcome = case.outcome
    judge = judge_for_case(judge, case, policy.judge.provider)
    try:
        verdict = check_reply(judge.verdict(blind_case(outcome)), Verdict, "verdict")
        insight = judge.insight(case, verdict)
        if insight is not None:
            insight = check_reply(insight, InsightText, "insight")
    except (UnavailableError, NoAnswerError) as error:
        return error
    evaluation = evaluate.evaluation_of(outcome, judge.info, verdict, insight, policy=policy)
    metadata = metadata_of([outcome])
    answers = filter(None, (verdict.answer, insight.answer if insight else None))
    return Judgment(evaluation, tuple(answer_record(answer, metadata) for answer in answers))


def by_domain(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """Return the outcomes of each domain, in the order of their ids."""
    domains: dict[str, list[Outcome]] = {}
    for outcome in sorted(outcomes, key=lambda outcome: (outcome.domain, outcome.id)):
        domains.setdefault(outcome.domain, []).append(outcome)
    return domains


# ── what a judge reads ───────────────────────────────────────────────────────────────


def case_of(run: Run, outcome: Outcome) -> Case:
    """Return the judge's material about an outcome. A model also gets earlier outcomes and facts.

    The facts that the outcome itself made are left out.
    """
    if run.policy.judge.provider == "offline":
        return evaluate.case_of(outcome)
    ids = [indexed.id for indexed in run.snapshot.subjects.history(outcome.id)]
    earlier_ids = ids[: ids.index(outcome.id)][-_MAX_EARLIER_OUTCOMES:] if outcome.id in ids else []
    records = run.snapshot.outcomes.get_many(earlier_ids)
    earlier_outcomes = [records[key] for key in earlier_ids if key in records]
    lines = [sentences.tried_sentence(tries.try_of(record), {}) for record in earlier_outcomes]
    links = run.snapshot.links.by_source([Ref("evaluation", outcome.id)])
    own_facts = {link.target.id for link in links if link.type == "promoted"}
    facts = [fact for fact in domain_facts(run, outcome.domain) if fact[0] not in own_facts]
    return evaluate.case_of(outcome, earlier_outcomes, lines, facts)


def domain_facts(run: Run, domain: str) -> list[tuple[str, str]]:
    """Return (id, line) of the latest current facts of a domain, oldest first.

    Claude gets more facts if they are long enough for its cache, because many cached facts cost
    less than a few facts without the cache.
    """
    facts = run.snapshot.facts.by_domain([domain])
    superseded_ids = {fact.supersedes for fact in facts.values()}
    candidates = [f for f in facts.values() if f.id not in superseded_ids and f.trust == "local"]
    latest_facts = sorted(candidates, key=lambda fact: fact.order)[-_MAX_CACHED_FACTS:]
    lines = [(fact.id, shorten(flatten(fact.text), _MAX_FACT_LENGTH)) for fact in latest_facts]
    size = sum(len(fact_id) + len(line) for fact_id, line in lines)
    judge = run.policy.judge
    is_cached = judge.provider == "claude" and size >= cacheable_length(judge.model)
    return lines if is_cached else lines[-_MAX_FACTS:]
