"""`skillvault why-not`: at each step, why an outcome, a fact or a domain taught nothing.

This module reads the records; the sentences are in `learning/why_not.py`.
"""

from collections.abc import Sequence

from skillvault.inspect import lookup
from skillvault.learning import why_not as sentences
from skillvault.learning.generate import SkillState
from skillvault.learning.why_not import ActionOutcomes, StepAnswer
from skillvault.loop import distill, evaluate, learned, promote
from skillvault.loop.general import general_state, material_of_facts
from skillvault.loop.run import Run
from skillvault.model.errors import SkillvaultError, UsageError
from skillvault.model.records import Fact, IndexedOutcome, Outcome, Ref


def find_answers(run: Run, text: str) -> tuple[tuple[str, str], list[StepAnswer]]:
    """Return the (kind, id) of the record that a text names, and the answer of each step.

    See `Vault.why_not`.
    """
    if text in run.view.domains:
        return ("domain", text), why_no_strategy(run, text)
    if (rule := learned.find_rule(run.store, run.view, text)) is not None:
        return ("rule", rule), [learned.explain_rule(run, rule)]
    try:
        ref = lookup.resolve(run.store, run.view, text, forward=True)
    except UsageError:
        learned.refuse_ambiguous_rule(run.store, run.view, text)
        raise
    if ref.kind == "evaluation":
        ref = Ref("outcome", ref.id)
    return (ref.kind, ref.id), why_not(run, ref)


def why_no_strategy(run: Run, domain: str) -> list[StepAnswer]:
    """Return what a domain lacks for a strategy, with numbers."""
    if not run.view.outcomes.count_evaluated(domain):
        return [StepAnswer("generate", "waiting", "no trusted outcome is evaluated yet")]
    state = run.profile.strategy_state(run, domain)
    return [StepAnswer("generate", state.state, state.reason)]


def why_not(run: Run, ref: Ref) -> list[StepAnswer]:
    """Return the answer of each step about an outcome, a fact or a session, with numbers."""
    view = run.view
    if ref.kind not in ("outcome", "fact", "session"):
        raise UsageError(
            f"{ref.id}: why-not takes an outcome, a fact or a session; for a {ref.kind} ask why"
        )
    if ref.kind == "fact" and (fact := view.facts.get(ref.id)):
        return _fact_answers(run, fact)
    if ref.kind == "outcome" and (retraction := view.retractions.get(ref.id)):
        reason = f"{retraction.reason} ({retraction.by}, {retraction.at:%Y-%m-%d})"
        return [StepAnswer("retract", "retracted", f"counts nowhere: {reason}")]
    if ref.kind == "outcome" and (outcome := view.outcomes.get(ref.id)):
        return _outcome_answers(run, outcome)
    if ref.kind == "session" and (session := view.sessions.get(ref.id)):
        return sentences.session_answers(session, distill.find_state(run, session)[0])
    raise SkillvaultError(f"{ref.id}: cannot be read; `skillvault check` says why")


def _fact_answers(run: Run, fact: Fact) -> list[StepAnswer]:
    material = material_of_facts(run, run.view.facts.by_domain([fact.domain]))
    live_skills = run.view.skills.live(set(material.skills_of.values()))
    general = general_state(run, fact)
    return sentences.fact_answers(fact, material, live_skills, run.policy, general=general)


def _outcome_answers(run: Run, outcome: Outcome) -> list[StepAnswer]:
    failed_item = evaluate.abandoned_outcomes(run).get(outcome.id)
    unevaluated = [] if outcome.id in run.view.evaluations else [outcome]
    edits = [": ".join(edit) for edit in evaluate.local_edits(run, unevaluated).items()]
    return sentences.answers(
        outcome,
        _action_outcomes(run, run.view.subjects.history(outcome.id, "action")),
        run.rejections,
        promote.promotion_state(run, outcome.id),
        judge_failure=failed_item.reason if failed_item else None,
        edited=next(iter(edits), None),
    )


def _action_outcomes(run: Run, history: Sequence[IndexedOutcome]) -> ActionOutcomes:
    outcomes = run.view.outcomes.get_many(entry.id for entry in history)
    waiting = {
        entry.id: SkillState("retracted", "counts nowhere")
        if entry.id in run.view.retractions
        else SkillState("waiting", "not evaluated")
        for entry in history
        if entry.id in outcomes and not entry.evaluated
    }
    return ActionOutcomes(
        outcomes=outcomes,
        evaluations=run.view.evaluations.get_many(outcomes),
        states={**waiting, **run.profile.outcome_states(run, history, outcomes)},
    )


def reasons(run: Run) -> dict[str, list[str]]:
    """Return the reasons why a run made no skill and no fact, grouped, with counts."""
    histories = run.accounts.histories(run.view.outcomes, "action")
    actions = (_action_outcomes(run, history) for history in histories)
    summaries = {"skill": sentences.summary(actions, run.policy, len(run.view.sessions))}
    if len(run.view.evaluations):
        materials = promote.material_pages(run, run.view.evaluations)
        summaries["fact"] = sentences.memory_summary(materials, run.profile)
    return summaries
