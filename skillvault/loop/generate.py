"""generate: what an account says becomes a skill."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from skillvault.learning import why_not
from skillvault.learning.generate import warning_pattern as generate
from skillvault.learning.generate.warning_pattern import STEP, ExistingSkill, SkillState
from skillvault.loop.judging.judge_replies import draft_by, told_by
from skillvault.loop.next_versions import waiting_version
from skillvault.loop.refusals import refused
from skillvault.loop.run import Run
from skillvault.model.brief import Findings
from skillvault.model.change import Change
from skillvault.model.conditions import Separation
from skillvault.model.records import IndexedOutcome, Outcome
from skillvault.model.text.text import pluralize


def step(run: Run) -> Iterator[Change]:
    """Yield one change a new skill."""
    changed: set[str] = set()
    quiet: set[str] = set()
    for findings, keys in list(due(run)):
        name = f"{findings.kind}-{findings.account.outcomes[0].domain}"
        changes = list(run.written(partial(new_skill, run, findings), name))
        (changed if changes else quiet).update(keys)
        yield from changes
    # What says the same as something rejected is not written again at each run.
    if not run.report.unavailable:
        run.settle(STEP, quiet - changed)
    if changed:
        deque(due(run), maxlen=0)  # which settles the outcomes of what was made


def due(run: Run) -> Iterator[tuple[Findings, frozenset[str]]]:
    """Yield what is to become a skill, and the keys by which it is due; settle the others."""
    accounts, idle = run.accounts.due(STEP)
    kept: set[str] = set()
    keys = set(idle)
    for account in accounts:
        keys |= account.keys
        for findings, present in run.accounts.of_kinds(account):
            if present.rejection and findings.significant:
                run.report.rejected.append(present.rejection)
            elif generate.skill_state(findings, present, run.policy).state == "due":
                kept |= account.keys
                yield findings, account.keys
    run.settle(STEP, keys - kept)


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
    run: Run, history: Sequence[IndexedOutcome], outcomes: Mapping[str, Outcome]
) -> dict[str, SkillState]:
    """Return where each evaluated outcome stands with the skills of its accounts."""
    evaluated = [placed.id for placed in history if placed.evaluated and placed.id in outcomes]
    accounts = list(run.accounts.accounts_of(evaluated))
    kinds = [pair for one in accounts for pair in run.accounts.of_kinds(one)]
    rejection = _refused_standing(run, kinds)
    by_outcome = {
        name: why_not.outcome_state(outcomes[name], kinds, run.policy) for name in evaluated
    }
    note = _version_note(run, kinds)
    return {
        name: rejection if rejection and standing.state == "due" else _with_note(standing, note)
        for name, standing in by_outcome.items()
    }


def strategy_standing(run: Run, domain: str) -> SkillState:
    """Return where a domain stands with its strategy, and why."""
    if (account := run.accounts.strategy(domain)) is not None:
        ((findings, present),) = run.accounts.of_kinds(account)
        return generate.skill_state(findings, present, run.policy)
    count, least = run.view.outcomes.count_evaluated(domain), run.policy.generate.strategy_every
    if count < least:
        return SkillState("waiting", f"{pluralize(count, 'outcome')} so far; needs {least}")
    return SkillState("waiting", "none of its actions has a rule or a lead")


def strategy_rules(run: Run, domain: str) -> Iterator[Separation]:
    """Yield what a strategy tells of the actions of its domain, as their guides do."""
    if (account := run.accounts.strategy(domain)) is not None:
        for findings, _ in run.accounts.of_kinds(account):
            yield from (one.rule for one in findings.statements if one.rule)


def _version_note(run: Run, kinds: Sequence[tuple[Findings, ExistingSkill]]) -> str:
    """What became of what the program would say by now in a skill that a person let in."""
    if run.policy.generate.gate != "always":
        return ""
    for _, present in kinds:
        name = present.skill.name if present.skill else ""
        if waiting := waiting_version(run.view, name):
            return f"what is known by now is in {waiting.name}, which waits for you"
        for refusal in run.rejections.proposals:
            if refusal.replaces and refusal.replaces == name:
                because = f": {refusal.reason}" if refusal.reason else ""
                return f"{refusal.skill} was rejected in {refusal.commit[:10]}{because}"
    return ""


def _with_note(standing: SkillState, note: str) -> SkillState:
    if not note or standing.state not in ("done", "counted"):
        return standing
    return SkillState(standing.state, f"{standing.reason}; {note}")


def _refused_standing(
    run: Run, kinds: Sequence[tuple[Findings, ExistingSkill]]
) -> SkillState | None:
    """That what would be made of a subject says the same as what a person rejected.

    Of a judge that costs nothing its text is asked for once more.
    """
    if not run.rejections.proposals or run.judge.info.name != "offline":
        return None
    for findings, present in kinds:
        if generate.skill_state(findings, present, run.policy).state == "due":
            change = new_skill(run, findings)
            if change and refused(change, run.rejections, run.report.rejected):
                return SkillState("rejected", run.report.rejected[-1].sentence)
    return None
