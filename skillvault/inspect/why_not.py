"""`skillvault why-not`: say at each step why an outcome, a fact or a domain taught nothing.

This module reads the records of a question. The sentences are in `learning/why_not.py`.
"""

from collections.abc import Sequence

from skillvault.inspect import lookup
from skillvault.learning import why_not as rules
from skillvault.learning.generate.warning_pattern import SkillState
from skillvault.loop import distill, evaluate, learned
from skillvault.loop import promote as promoting
from skillvault.loop.general import general_state, material_of_facts
from skillvault.loop.run import Run
from skillvault.model.errors import SkillvaultError, UsageError
from skillvault.model.records import IndexedOutcome, Ref


def find_answers(run: Run, text: str) -> tuple[tuple[str, str], list[rules.StepAnswer]]:
    """Return the (kind, id) of the record that a text names, and the answer of each step.

    See `Vault.why_not`.
    """
    if text in run.view.domains:
        return ("domain", text), why_no_strategy(run, text)
    if (rule := learned.find_rule(run.store, run.view, text)) is not None:
        return ("rule", rule), [learned.why_no_pattern(run, rule)]
    try:
        ref = lookup.resolve(run.store, run.view, text, forward=True)
    except UsageError:
        learned.refuse_rule(run.store, run.view, text)
        raise
    if ref.kind == "evaluation":
        ref = Ref("outcome", ref.id)
    return (ref.kind, ref.id), why_not(run, ref)


def why_no_strategy(run: Run, domain: str) -> list[rules.StepAnswer]:
    """Say with numbers what a domain lacks for a strategy."""
    if not run.view.outcomes.count_evaluated(domain):
        return [rules.StepAnswer("generate", "waiting", "no trusted outcome is evaluated yet")]
    state = run.rules.strategy_standing(run, domain)
    return [rules.StepAnswer("generate", state.state, state.reason)]


def why_not(run: Run, ref: Ref) -> list[rules.StepAnswer]:
    """Return the answer of each step about an outcome, a fact or a session, with numbers."""
    view = run.view
    if ref.kind == "fact" and (fact := view.facts.get(ref.id)):
        memory = material_of_facts(run, view.facts.by_domain([fact.domain]))
        live = view.skills.live(set(memory.skills_of.values()))
        general = general_state(run, fact)
        return rules.fact_answers(fact, memory, live, run.policy, general=general)
    if ref.kind == "outcome" and (retraction := view.retractions.get(ref.id)):
        why = f"{retraction.reason} ({retraction.by}, {retraction.at:%Y-%m-%d})"
        return [rules.StepAnswer("retract", "retracted", f"counts nowhere: {why}")]
    if ref.kind == "outcome" and (outcome := view.outcomes.get(ref.id)):
        material = _accounts(run, view.subjects.history(ref.id, "action"))
        memory = promoting.material_of_evaluations(run, [ref.id])
        letter = evaluate.set_aside(run).get(ref.id)
        aside = letter.reason if letter else None
        unevaluated = [] if ref.id in view.evaluations else [outcome]
        edits = [": ".join(edit) for edit in evaluate.local_edits(run, unevaluated).items()]
        return rules.answers(
            outcome,
            material,
            memory,
            promoting.state(run, ref.id),
            aside=aside,
            edited=next(iter(edits), None),
        )
    if ref.kind == "session" and (session := view.sessions.get(ref.id)):
        return rules.session_answers(session, distill.find_standing(run, session)[0])
    if ref.kind in ("outcome", "fact", "session"):
        raise SkillvaultError(f"{ref.id}: cannot be read; `skillvault check` says why")
    raise UsageError(
        f"{ref.id}: why-not takes an outcome, a fact or a session; for a {ref.kind} ask why"
    )


def _accounts(run: Run, history: Sequence[IndexedOutcome]) -> rules.AccountMaterial:
    outcomes = run.view.outcomes.get_many(entry.id for entry in history)
    standings = run.rules.standings(run, history, outcomes)
    waiting = {
        entry.id: SkillState("retracted", "counts nowhere")
        if entry.id in run.view.retractions
        else SkillState("waiting", "not evaluated")
        for entry in history
        if entry.id in outcomes and not entry.evaluated
    }
    return rules.AccountMaterial(
        outcomes=outcomes,
        evaluations=run.view.evaluations.get_many(outcomes),
        standings={**waiting, **standings},
    )


def reasons(run: Run) -> dict[str, list[str]]:
    """Return the reasons why a run made no skill and no fact, grouped, with counts."""
    histories = run.accounts.histories(run.view.outcomes, "action")
    materials = (_accounts(run, history) for history in histories)
    summaries = {"skill": rules.summary(materials, run.policy, len(run.view.sessions))}
    if len(run.view.evaluations):
        pages = promoting.pages(run, run.view.evaluations)
        summaries["fact"] = rules.memory_summary(pages, run.rules)
    return summaries
