"""generate: what a subject's outcomes say becomes its warning and its pattern."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from skillvault.learning import why_not
from skillvault.learning.generate import warning_pattern as generate
from skillvault.learning.generate.warning_pattern import STEP, Present, Standing
from skillvault.loop import strategy
from skillvault.loop.accounts import DueAccount
from skillvault.loop.judging.judge_replies import draft_by, told_by
from skillvault.loop.next_versions import waiting_version
from skillvault.loop.refusals import refused
from skillvault.loop.run import Run
from skillvault.model.brief import Findings
from skillvault.model.change import Change
from skillvault.model.records import Outcome, Placed


def step(run: Run) -> Iterator[Change]:
    """One change a new skill."""
    yield from _subject_changes(run)
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
    return len(list(due(run))) + strategy.waiting(run)


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


def standings(
    run: Run, history: Sequence[Placed], outcomes: Mapping[str, Outcome]
) -> dict[str, Standing]:
    """Where each evaluated outcome stands with its subject's skills."""
    read = run.accounts.read_part(history)
    kinds = list(run.accounts.both(run.accounts.account(read))) if read else []
    ids = {outcome.id for outcome in read}
    rejection = _refused_standing(run, kinds)
    by_outcome = {
        placed.id: why_not.outcome_standing(outcomes[placed.id], ids, kinds, run.policy)
        for placed in history
        if placed.evaluated and placed.id in outcomes
    }
    note = _version_note(run, kinds)
    return {
        name: rejection if rejection and standing.state == "due" else _with_note(standing, note)
        for name, standing in by_outcome.items()
    }


def _version_note(run: Run, kinds: Sequence[tuple[Findings, Present]]) -> str:
    """What became of what the program would say by now in a skill that a person let in."""
    if run.policy.generate.gate != "always":
        return ""
    for _, present in kinds:
        name = present.skill.name if present.skill else ""
        if waiting := waiting_version(run.view, name):
            return f"what is known by now is in {waiting.name}, which waits for you"
        for refusal in run.rejections.said:
            if refusal.replaces and refusal.replaces == name:
                because = f": {refusal.reason}" if refusal.reason else ""
                return f"{refusal.skill} was rejected in {refusal.commit[:10]}{because}"
    return ""


def _with_note(standing: Standing, note: str) -> Standing:
    if not note or standing.state not in ("done", "counted"):
        return standing
    return Standing(standing.state, f"{standing.reason}; {note}")


def _refused_standing(run: Run, kinds: Sequence[tuple[Findings, Present]]) -> Standing | None:
    """That what would be made of a subject says the same as what a person rejected.

    Of a judge that costs nothing its text is asked for once more.
    """
    if not run.rejections.said or run.judge.info.name != "offline":
        return None
    for findings, present in kinds:
        if generate.standing(findings, present, run.policy).state == "due":
            change = new_skill(run, findings)
            if change and refused(change, run.rejections, run.report.rejected):
                return Standing("rejected", run.report.rejected[-1].sentence)
    return None
