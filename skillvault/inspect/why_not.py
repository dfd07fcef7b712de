"""Why nothing came of an outcome, a fact or a domain: what each step says of it.

The same rules that make a step due say why something is not.
"""

from collections.abc import Mapping, Sequence

from skillvault.learning import why_not as rules
from skillvault.learning.capture.adoption import STEP as CAPTURE
from skillvault.learning.generate.warning_pattern import Present, Standing, standing
from skillvault.loop import distill, evaluate, generate, strategy
from skillvault.loop import promote as promoting
from skillvault.loop.each_outcome import outcome_standings
from skillvault.loop.general import general_state
from skillvault.loop.next_versions import waiting_version
from skillvault.loop.refusals import refused
from skillvault.loop.run import Run
from skillvault.model.brief import Findings
from skillvault.model.errors import SkillvaultError, UsageError
from skillvault.model.records import Outcome, Placed, Ref


def why_no_strategy(run: Run, domain: str) -> list[rules.StepAnswer]:
    """How far a domain is with its strategy, with its numbers."""
    progress = strategy.standings(run).get(domain)
    if progress is None:
        return [rules.StepAnswer("generate", "waiting", "no trusted outcome is evaluated yet")]
    return [rules.StepAnswer("generate", progress.state, progress.reason)]


def why_not(run: Run, ref: Ref) -> list[rules.StepAnswer]:
    """What each step says of an outcome, a fact or a session, with its numbers."""
    view = run.view
    if ref.kind == "fact" and (fact := view.facts.get(ref.id)):
        memory = promoting.of_facts(run, [fact.domain])
        live = view.skills.live(set(memory.skills_of.values()))
        general = general_state(run, fact, promoting.of_some)
        return rules.fact_answers(fact, memory, live, run.policy, general=general)
    if ref.kind == "outcome" and (retraction := view.retractions.get(ref.id)):
        why = f"{retraction.reason} ({retraction.by}, {retraction.at:%Y-%m-%d})"
        return [rules.StepAnswer("retract", "retracted", f"counts nowhere: {why}")]
    if ref.kind == "outcome" and (outcome := view.outcomes.get(ref.id)):
        material = _accounts(run, view.subjects.history(ref.id))
        memory = promoting.of_evaluations(run, [ref.id])
        letter = evaluate.set_aside(run).get(ref.id)
        aside = letter.reason if letter else None
        unevaluated = [] if ref.id in view.evaluations else [outcome]
        edited = [": ".join(edit) for edit in evaluate.local_edits(run, unevaluated).items()]
        return rules.answers(
            outcome,
            material,
            memory,
            promoting.state(run, ref.id),
            aside=aside,
            edited=next(iter(edited), None),
        )
    if ref.kind == "session" and (session := view.sessions.get(ref.id)):
        return rules.session_answers(session, distill.standing(run, session)[0])
    if ref.kind in ("outcome", "fact", "session"):
        raise SkillvaultError(f"{ref.id}: cannot be read; `skillvault check` says why")
    raise UsageError(
        f"{ref.id}: why-not asks about an outcome, a fact or a session; for a {ref.kind} ask why"
    )


def _accounts(run: Run, history: Sequence[Placed]) -> rules.AccountMaterial:
    """What is known of the outcomes of one subject."""
    outcomes = run.view.outcomes.get_many(outcome.id for outcome in history)
    by_outcome = run.policy.choices.skills == "outcome"
    standings = _alone(run, history) if by_outcome else _together(run, history, outcomes)
    waiting = {
        placed.id: Standing("retracted", "counts nowhere")
        if placed.id in run.view.retractions
        else Standing("waiting", "not evaluated")
        for placed in history
        if placed.id in outcomes and not placed.evaluated
    }
    return rules.AccountMaterial(
        outcomes=outcomes,
        evaluations=run.view.evaluations.get_many(outcomes),
        standings={**waiting, **standings},
    )


def _alone(run: Run, history: Sequence[Placed]) -> dict[str, Standing]:
    """Where each evaluated outcome stands with a skill of its own."""
    ids = [placed.id for placed in history if placed.evaluated]
    return {name: standing for name, standing, _ in outcome_standings(run, history, ids)}


def _together(
    run: Run, history: Sequence[Placed], outcomes: Mapping[str, Outcome]
) -> dict[str, Standing]:
    """Where each evaluated outcome stands with its subject's skills."""
    read = run.accounts.read_part(history)
    kinds = list(run.accounts.both(run.accounts.account(read))) if read else []
    ids = {outcome.id for outcome in read}
    refused = _refused_standing(run, kinds)
    standings = {
        placed.id: rules.outcome_standing(outcomes[placed.id], ids, kinds, run.policy)
        for placed in history
        if placed.evaluated and placed.id in outcomes
    }
    note = _version_note(run, kinds)
    return {
        name: refused if refused and standing.state == "due" else _with_note(standing, note)
        for name, standing in standings.items()
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
        if standing(findings, present, run.policy).state == "due":
            change = generate.new_skill(run, findings)
            if change and refused(change, run.rejections, run.report.rejected):
                return Standing("rejected", run.report.rejected[-1].sentence)
    return None


def reasons(run: Run) -> dict[str, list[str]]:
    """Why a run made no skill and no fact, grouped, with counts; empty if it made any.

    Who asked for capture alone asked for none.
    """
    kinds = {ref.kind for done in run.report.done for ref in done.change.targets}
    if kinds & {"skill", "fact"} or set(run.options.steps) == {CAPTURE}:
        return {}
    histories = run.accounts.histories(run.view.outcomes, set())
    materials = (_accounts(run, history) for history in histories)
    summaries = {"skill": rules.summary(materials, run.policy, len(run.view.sessions))}
    if len(run.view.evaluations):
        pages = promoting.pages(run, run.view.evaluations)
        summaries["fact"] = rules.memory_summary(pages, run.policy)
    return summaries
