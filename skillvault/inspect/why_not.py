"""`skillvault why-not`: at each step, why an outcome, a fact or a domain taught nothing.

This module reads the records; the sentences are in `learning/why_not.py`.
"""

from collections.abc import Mapping, Sequence

from skillvault.inspect import lookup
from skillvault.learning import why_not as sentences
from skillvault.learning.generate import SkillState
from skillvault.learning.rejection import REJECT
from skillvault.learning.why_not import ActionOutcomes, StepAnswer
from skillvault.loop import distill, evaluate, learned, promote
from skillvault.loop.general import general_state, records_of_facts
from skillvault.loop.run import Run
from skillvault.model.errors import SkillvaultError, UsageError
from skillvault.model.records import Correction, Fact, IndexedOutcome, Outcome, Ref
from skillvault.model.text.text import join_items, rule_key
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import parse_record

_MIN_LENGTH = 6  # characters of the beginning of an id or the part of a text


def find_answers(run: Run, text: str) -> tuple[tuple[str, str], list[StepAnswer]]:
    """Return the (kind, id) of the record that a text names, and the answer of each step.

    See `Vault.why_not`.
    """
    if text in run.snapshot.domains:
        return ("domain", text), why_no_strategy(run, text)
    if (rule := learned.find_rule(run.store, run.snapshot, text)) is not None:
        return ("rule", rule), [learned.explain_rule(run, rule)]
    if stated_rule := _find_stated_rule(run, text):
        rule_id, answer = stated_rule
        return ("rule", rule_id), [answer]
    try:
        ref = lookup.resolve(run.store, run.snapshot, text, forward=True)
    except UsageError:
        learned.refuse_ambiguous_rule(run.store, run.snapshot, text)
        raise
    if ref.kind == "evaluation":
        ref = Ref("outcome", ref.id)
    return (ref.kind, ref.id), why_not(run, ref)


def _find_stated_rule(run: Run, text: str) -> tuple[str, StepAnswer] | None:
    """Return the id and the state of the stated rule that `text` names, or None.

    The beginning of its id or a part of its text names a rule. UsageError if several match.
    """
    rules = {
        rule.id: (rule.text, sentences.stated_rule_answer(rule))
        for rule in run.snapshot.corrections.of_scope(None)
    }
    for fact in run.snapshot.facts.approved_corrections():
        rules[fact.id] = fact.text, sentences.APPROVED_RULE
    return _choose_rule(text, rules) or _choose_rule(text, _rejected_rules(run))


def _choose_rule(
    text: str, rules: Mapping[str, tuple[str, StepAnswer]]
) -> tuple[str, StepAnswer] | None:
    key = rule_key(text)
    matches = [name for name, (words, _) in rules.items() if text == name or key == rule_key(words)]
    if not matches and len(key) >= _MIN_LENGTH:
        matches = [
            name
            for name, (words, _) in rules.items()
            if name.startswith(text) or key in rule_key(words)
        ]
    if len(matches) > 1:
        names = join_items(matches)
        raise UsageError(f"{text}: is in {len(matches)} rules ({names}); name one of them")
    return next(((name, rules[name][1]) for name in matches), None)


def _rejected_rules(run: Run) -> dict[str, tuple[str, StepAnswer]]:
    """Map the ids of the rules that a person rejected to their text and the last rejection."""
    git, rules = run.store.git, dict[str, tuple[str, StepAnswer]]()
    for commit in run.snapshot.history.commits_of_step(REJECT):
        if not any(target.startswith("correction:") for target in commit.targets):
            continue
        for path in git.history.diff_trees(f"{commit.sha}^", commit.sha):
            ref = layout.ref_of(path)
            if ref is not None and ref.kind == "correction":
                name = f"{commit.sha}^:{path}"
                rule = parse_record(path, git.objects.read_files([name])[name])
                text = rule.text if isinstance(rule, Correction) else ""
                rules.setdefault(ref.id, (text, sentences.rejected_rule_answer(commit)))
    return rules


def why_no_strategy(run: Run, domain: str) -> list[StepAnswer]:
    """Return the reasons why a domain has no strategy, with numbers."""
    if not run.snapshot.outcomes.count_evaluated(domain):
        return [StepAnswer("generate", "waiting", "no trusted outcome is evaluated yet")]
    state = run.profile.strategy_state(run, domain)
    return [StepAnswer("generate", state.state, f"a strategy of the domain: {state.reason}")]


def why_not(run: Run, ref: Ref) -> list[StepAnswer]:
    """Return the answer of each step about an outcome, a fact or a session, with numbers."""
    snapshot = run.snapshot
    if ref.kind not in ("outcome", "fact", "session"):
        raise UsageError(
            f"{ref.id}: why-not takes an outcome, a fact or a session; for a {ref.kind} ask why"
        )
    if ref.kind == "fact" and (fact := snapshot.facts.get(ref.id)):
        return _fact_answers(run, fact)
    if ref.kind == "outcome" and (retraction := snapshot.retractions.get(ref.id)):
        reason = f"{retraction.reason} ({retraction.by}, {retraction.at:%Y-%m-%d})"
        return [StepAnswer("retract", "retracted", f"counts nowhere: {reason}")]
    if ref.kind == "outcome" and (outcome := snapshot.outcomes.get(ref.id)):
        return _outcome_answers(run, outcome)
    if ref.kind == "session" and (session := snapshot.sessions.get(ref.id)):
        return sentences.session_answers(session, distill.find_state(run, session)[0])
    raise SkillvaultError(f"{ref.id}: cannot be read; `skillvault check` says why")


def _fact_answers(run: Run, fact: Fact) -> list[StepAnswer]:
    records = records_of_facts(run, run.snapshot.facts.by_domain([fact.domain]))
    live_skills = run.snapshot.skills.live(set(records.skills_of.values()))
    state = general_state(run, fact)
    return sentences.fact_answers(fact, records, live_skills, run.policy, general=state)


def _outcome_answers(run: Run, outcome: Outcome) -> list[StepAnswer]:
    failed_item = evaluate.abandoned_outcomes(run).get(outcome.id)
    unevaluated = [] if outcome.id in run.snapshot.evaluations else [outcome]
    edits = [": ".join(edit) for edit in evaluate.local_edits(run, unevaluated).items()]
    return sentences.answers(
        outcome,
        _action_outcomes(run, run.snapshot.subjects.history(outcome.id, "action")),
        run.rejections,
        promote.promotion_state(run, outcome.id),
        judge_failure=failed_item.reason if failed_item else None,
        edited=next(iter(edits), None),
    )


def _action_outcomes(run: Run, history: Sequence[IndexedOutcome]) -> ActionOutcomes:
    outcomes = run.snapshot.outcomes.get_many(entry.id for entry in history)
    states = {
        entry.id: SkillState("retracted", "counts nowhere")
        if entry.id in run.snapshot.retractions
        else SkillState("waiting", "not evaluated")
        for entry in history
        if entry.id in outcomes and not entry.evaluated
    }
    return ActionOutcomes(
        outcomes=outcomes,
        evaluations=run.snapshot.evaluations.get_many(outcomes),
        states={**states, **run.profile.outcome_states(run, history, outcomes)},
    )


def reasons(run: Run) -> dict[str, list[str]]:
    """Return the reasons why a run made no skill and no fact, grouped, with counts."""
    histories = run.accounts.account_histories(run.snapshot.outcomes, "action")
    actions = (_action_outcomes(run, history) for history in histories)
    summaries = {"skill": sentences.summary(actions, run.policy, len(run.snapshot.sessions))}
    if len(run.snapshot.evaluations):
        pages = promote.record_pages(run, run.snapshot.evaluations)
        summaries["fact"] = sentences.memory_summary(pages, run.profile)
    return summaries
