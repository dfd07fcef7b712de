"""generate: what a subject's outcomes say becomes its warning and its pattern."""

from collections.abc import Iterator
from functools import partial

from skillvault.learning.generate import warning_pattern as generate
from skillvault.learning.generate.warning_pattern import STEP
from skillvault.loop import strategy
from skillvault.loop.accounts import DueAccount
from skillvault.loop.each_outcome import outcome_changes, outcomes_due
from skillvault.loop.judging.judge_replies import draft_by, told_by
from skillvault.loop.run import Run
from skillvault.model.brief import Findings
from skillvault.model.change import Change


def step(run: Run) -> Iterator[Change]:
    """One change a new skill."""
    by_outcome = run.policy.choices.skills == "outcome"
    yield from outcome_changes(run) if by_outcome else _subject_changes(run)
    yield from strategy.due(run)


def _subject_changes(run: Run) -> Iterator[Change]:
    for reading, every in list(due_by_account(run)):
        is_changed = False
        for findings in every:
            name = f"{findings.kind}-{findings.account.outcomes[0].domain}"
            for change in run.written(partial(new_skill, run, findings), name):
                is_changed = True
                yield change
        # What says the same as something rejected is not written again at each run.
        if not is_changed and not run.report.unavailable:
            run.settle(STEP, reading.keys)


def waiting(run: Run) -> int:
    """How many skills are made, strategies included."""
    by_outcome = run.policy.choices.skills == "outcome"
    skills = outcomes_due(run) if by_outcome else due(run)
    return len(list(skills)) + strategy.waiting(run)


def due(run: Run) -> Iterator[Findings]:
    """What is to become a skill; settles what is not."""
    for _, every in due_by_account(run):
        yield from every


def due_by_account(run: Run) -> Iterator[tuple[DueAccount, list[Findings]]]:
    """The accounts of which something is to become a skill, with that; settles the others."""
    accounts, idle = run.accounts.due(STEP)
    run.settle(STEP, idle)
    for reading in accounts:
        kept = False
        wanted: list[Findings] = []
        for findings, present in run.accounts.both(reading.account):
            state = generate.standing(findings, present, run.policy).state
            kept = kept or state == "due"
            if present.rejection and findings.significant:
                run.report.rejected.append(present.rejection)
            elif state == "due":
                wanted.append(findings)
        if wanted:
            yield reading, wanted
        elif not kept:
            run.settle(STEP, reading.keys)


def new_skill(run: Run, findings: Findings) -> Change | None:
    """The commit that adds a skill; None if the judge writes no text."""
    draft = draft_by(run.judge, findings)
    if draft is None:
        return None
    change = generate.skill_change(
        findings, draft, taken=run.view.skills.is_name_taken, policy=run.policy
    )
    return told_by(change, draft, run.view)
