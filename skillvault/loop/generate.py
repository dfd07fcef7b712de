"""The step `generate`: make skills from findings about an action, a subject or a domain.

`accounts.py` finds the due findings; `learning/generate.py` decides on them and builds the skill.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from skillvault.learning import generate, why_not
from skillvault.learning.generate import STEP, ExistingSkill, SkillState
from skillvault.loop.judging.judge_replies import write_draft
from skillvault.loop.next_versions import waiting_version
from skillvault.loop.rejected_skills import find_rejection
from skillvault.loop.run import Run, perform_due_tasks
from skillvault.model.brief import Draft, Findings
from skillvault.model.change import Change
from skillvault.model.conditions import Separation
from skillvault.model.records import IndexedOutcome, Outcome
from skillvault.model.text.text import pluralize


def step(run: Run) -> Iterator[Change]:
    """Yield a change for each new skill."""
    is_changed = False
    decide = partial(_select_due, run)
    for change in perform_due_tasks(run, STEP, decide, partial(_write_findings, run)):
        is_changed = True
        yield change
    if is_changed:
        # Settle the outcomes of the new skills.
        deque(run.accounts.find_due(STEP, decide), maxlen=0)


def _write_findings(run: Run, findings: Findings) -> Iterator[Change]:
    name = f"{findings.kind}-{findings.account.outcomes[0].domain}"
    return run.write_skill(name, findings, partial(_compose, run, findings))


def _select_due(run: Run, findings: Findings, existing: ExistingSkill) -> Findings | None:
    if existing.rejection and findings.significant:
        run.report.rejected.append(existing.rejection)
        return None
    is_due = generate.skill_state(findings, existing, run.policy).state == "due"
    return findings if is_due else None


def _compose(run: Run, findings: Findings, draft: Draft) -> Change | None:
    is_taken = run.snapshot.skills.is_name_taken
    return generate.skill_change(findings, draft, is_taken=is_taken, policy=run.policy)


def outcome_states(
    run: Run, history: Sequence[IndexedOutcome], outcomes: Mapping[str, Outcome]
) -> dict[str, SkillState]:
    """Return the state of each outcome on its way to a skill, for `why-not`."""
    evaluated_ids = [o.id for o in history if o.evaluated and o.id in outcomes]
    accounts = list(run.accounts.accounts_of(evaluated_ids))
    kinds = [pair for account in accounts for pair in run.accounts.find_skills(account)]
    rejection = _rejected_state(run, kinds)
    states = {key: why_not.outcome_state(outcomes[key], kinds, run.policy) for key in evaluated_ids}
    note = _version_note(run, kinds)
    for key, state in states.items():
        if rejection and state.state == "due":
            states[key] = rejection
        elif note and state.state in ("done", "counted"):
            states[key] = SkillState(state.state, f"{state.reason}; {note}")
    return states


def strategy_state(run: Run, domain: str) -> SkillState:
    """Return the state of a domain on its way to a strategy, for `why-not`."""
    if (account := run.accounts.strategy_account(domain)) is not None:
        ((findings, existing),) = run.accounts.find_skills(account)
        return generate.skill_state(findings, existing, run.policy)
    count = run.snapshot.outcomes.count_evaluated(domain)
    bound = run.policy.generate.strategy_every
    if count < bound:
        return SkillState("waiting", f"{pluralize(count, 'outcome')} so far; needs {bound}")
    return SkillState("waiting", "none of its actions has a rule or a lead")


def strategy_rules(run: Run, domain: str) -> Iterator[Separation]:
    """Yield the rules in the strategy of a domain."""
    if (account := run.accounts.strategy_account(domain)) is not None:
        for findings, _ in run.accounts.find_skills(account):
            yield from (statement.rule for statement in findings.statements if statement.rule)


def _version_note(run: Run, kinds: Sequence[tuple[Findings, ExistingSkill]]) -> str:
    if run.policy.generate.gate != "always":
        return ""
    for _, existing in kinds:
        name = existing.skill.name if existing.skill else ""
        if version := waiting_version(run.snapshot, name):
            return f"what is known by now is in {version.name}, which waits for you"
        for proposal in run.rejections.proposals:
            if proposal.replaces and proposal.replaces == name:
                reason_text = f": {proposal.reason}" if proposal.reason else ""
                return f"{proposal.skill} was rejected in {proposal.commit[:10]}{reason_text}"
    return ""


def _rejected_state(run: Run, kinds: Sequence[tuple[Findings, ExistingSkill]]) -> SkillState | None:
    """Return a state that names the rejection that a new skill would repeat, or None.

    The comparison needs the text of the skill, so it is made only for a judge without costs.
    """
    if not run.rejections.proposals or run.judge.info.name != "offline":
        return None
    for findings, existing in kinds:
        if generate.skill_state(findings, existing, run.policy).state == "due":
            draft = write_draft(run.judge, findings)
            change = _compose(run, findings, draft) if draft else None
            rejection = find_rejection(change, run.rejections) if change else None
            if rejection:
                run.report.rejected.append(rejection)
                return SkillState("rejected", rejection.sentence)
    return None
