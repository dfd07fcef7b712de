"""The sentences of `why-not`: what each step did with a record, or why it did nothing.

`inspect/why_not.py` reads the records and calls these functions. Add the sentence for a new state
here.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from skillvault.learning.account.statements import mentioned_ids
from skillvault.learning.distill.skill import STEP as DISTILL
from skillvault.learning.generate import STEP as GENERATE
from skillvault.learning.generate import ExistingSkill, SkillState, skill_state
from skillvault.learning.promote import facts as promote
from skillvault.learning.promote import skills as recurrence
from skillvault.learning.rejection import Rejections
from skillvault.learning.rules import Rules
from skillvault.model.brief import Findings
from skillvault.model.policy import Policy
from skillvault.model.records import Commit, Correction, Evaluation, Fact, Outcome, Ref, Session
from skillvault.model.skill_evidence import TRIED
from skillvault.model.text.text import format_percent, join_items, pluralize


class StepAnswer(Struct, frozen=True):
    """The state of a record at one step: done, waiting, rejected and so on."""

    step: str
    state: str
    reason: str


class ActionOutcomes(Struct, frozen=True, kw_only=True):
    """The outcomes of an action with their evaluations.

    `states` has the state of each outcome on its way to a skill.
    """

    outcomes: Mapping[str, Outcome]
    evaluations: Mapping[str, Evaluation]
    states: Mapping[str, SkillState]


def answers(
    outcome: Outcome,
    action: ActionOutcomes,
    rejections: Rejections,
    fact: promote.PromotionState | None,
    *,
    judge_failure: str | None = None,
    edited: str | None = None,
) -> list[StepAnswer]:
    """Return the answer of each step of the loop for an outcome, in order.

    `fact` is the state of the evaluation on its way to a fact. `judge_failure` is set if the judge
    is not asked again. `edited` is the path of the evaluation if a person edits it.
    """
    steps = [StepAnswer("record", "done", f"trust {outcome.trust}")]
    evaluation = action.evaluations.get(outcome.id)
    if evaluation is None:
        rejection = rejections.of_target(Ref("evaluation", outcome.id))
        if rejection:
            reason = f"its evaluation was made in {rejection.commit[:10]} and removed since"
            return [*steps, StepAnswer("evaluate", "rejected", reason)]
        if judge_failure:
            reason = f"the judge failed: {judge_failure}; `skillvault run --retry` tries again"
            return [*steps, StepAnswer("evaluate", "aside", reason)]
        reason = f"{edited}; commit or undo it" if edited else "not evaluated yet; `skillvault run`"
        if not outcome.is_described:
            reason = UNDESCRIBED.format(outcome.decision.id)
        return [*steps, StepAnswer("evaluate", "waiting", reason)]
    verdict = "good" if evaluation.was_good_decision else "bad"
    agrees = {True: "agrees with", False: "contradicts", None: "is not tested by"}
    reason = (
        f"{verdict} decision, quality {evaluation.quality_score:.2f}; the verdict "
        f"{agrees[evaluation.judge_was_right]} the result ({outcome.result.status})"
    )
    steps.append(StepAnswer("evaluate", "done", reason))
    if fact is not None:
        steps.append(StepAnswer(promote.STEP, fact.state, fact.reason))
    skill = action.states[outcome.id]
    return [*steps, StepAnswer(GENERATE, skill.state, skill.reason)]


UNDESCRIBED = (
    "no record says what was done; record an outcome with `decision: {{id: {}, action: ACTION}}`"
)
APPROVED_RULE = StepAnswer("review", "done", "approved; every agent gets it")


def stated_rule_answer(rule: Correction) -> StepAnswer:
    """Return the state of a stated rule without a decision."""
    if rule.state == "withdrawn":
        return StepAnswer("review", "withdrawn", "later words of a person contradict it")
    reason = f"for review since {rule.created_at:%Y-%m-%d}; `skillvault fact approve {rule.id}`"
    return StepAnswer("review", "waiting", reason)


def rejected_rule_answer(commit: Commit) -> StepAnswer:
    """Return the state of a rule that a commit rejected."""
    sha = commit.sha[:10]
    reason = f"in {sha} on {commit.date:.10}; `skillvault undo {sha}` lets it wait again"
    return StepAnswer("review", "rejected", reason)


def fact_answers(
    fact: Fact,
    records: promote.PromotionRecords,
    live_skills: Collection[str],
    policy: Policy,
    *,
    general: promote.PromotionState | None = None,
) -> list[StepAnswer]:
    """Return the evidence of a fact, and its skill or the reason for no skill.

    `general` is its state on the way to a general skill, or None in a vault of one domain.
    """
    support = records.support([fact.id])
    sessions = pluralize(len(records.sessions([fact])), "session")
    support_text = f"rests on {pluralize(len(support), 'evaluation')} of {sessions}"
    if fact.kind in ("human", "correction") and not support:
        support_text = "said by a person"
    pattern = recurrence.fact_state(fact, records, live_skills, policy)
    return [
        StepAnswer("memory", "done", support_text),
        StepAnswer(promote.STEP, pattern.state, pattern.reason),
        *([StepAnswer(promote.STEP, general.state, general.reason)] if general else []),
    ]


def session_answers(session: Session, state: SkillState) -> list[StepAnswer]:
    """Return the skill of a session, or the reason for no skill."""
    return [
        StepAnswer("record", "done", f"trust {session.trust}"),
        StepAnswer(DISTILL, state.state, state.reason),
    ]


def memory_summary(pages: Iterable[promote.PromotionRecords], rules: Rules) -> list[str]:
    """Return a sentence for each reason why insights do not become facts, with counts."""
    groups: dict[str, list[Evaluation]] = {}
    for records in pages:
        for evaluation in records.evaluations.values():
            state = rules.insight_state(evaluation, records, rules.policy).state
            groups.setdefault(state, []).append(evaluation)
    return [
        f"{pluralize(len(evaluations), 'evaluation')}: {_why_no_fact(state, evaluations, rules)}"
        for state, evaluations in sorted(groups.items())
    ]


def _why_no_fact(state: str, evaluations: Sequence[Evaluation], rules: Rules) -> str:
    if state == "weak":
        numbers = rules.policy.promote
        bound = numbers.quality
        nearest = max(evaluations, key=lambda evaluation: promote.strength(evaluation, numbers))
        note = ", nor do two sessions say the same with less against it" if rules.weighs else ""
        bad = f", a bad one {1 - bound:.2f} or less" if numbers.gate == "verdict" else ""
        return (
            f"confirmed, but not strong: a good decision needs quality {bound:.2f} or more{bad}; "
            f"the nearest has {nearest.quality_score:.2f}{note}"
        )
    return {
        "done": "a fact, or support of one, already",
        "rejected": "what was made of it was removed by a person",
        "not confirmed": "the result does not confirm the verdict",
        "silent": "no insight, or it only says how its own run ended",
        "untrusted": "from an untrusted source",
        "without outcome": "its outcome is not in this vault",
        "due": "due",
    }[state]


def summary(actions: Iterable[ActionOutcomes], policy: Policy, sessions: int = 0) -> list[str]:
    """Return a sentence for each reason why no skill is due, with counts.

    `sessions` is the number of finished sessions in the vault.
    """
    groups: dict[str, list[Outcome]] = {}
    for action in actions:
        for outcome_id, state in action.states.items():
            groups.setdefault(state.state, []).append(action.outcomes[outcome_id])
    if not groups and sessions:
        total = pluralize(sessions, "session")
        return [f"{total}: in a skill, or too little for one; `skillvault why-not ID` says which"]
    if not groups:
        start = "drop one into inbox/, or start with `skillvault record --example`"
        return [f"no outcomes yet: {start}"]
    return [
        f"{pluralize(len(outcomes), 'outcome')}: {_why_no_skill(state, outcomes, policy)}"
        for state, outcomes in sorted(groups.items())
    ]


def outcome_state(
    outcome: Outcome, accounts: Sequence[tuple[Findings, ExistingSkill]], policy: Policy
) -> SkillState:
    """Return the state of an outcome on its way to the skills of its action and subject.

    `accounts` has the findings and the existing skill for each kind of skill, the guide first.
    """
    pairs = [
        (findings, existing)
        for findings, existing in accounts
        if any(significant.id == outcome.id for significant in findings.significant)
    ]
    if not pairs:
        return _unread_state(outcome, [findings for findings, _ in accounts], policy)
    states = [skill_state(findings, existing, policy) for findings, existing in pairs]
    names = [
        existing.skill.name
        for (findings, existing), state in zip(pairs, states, strict=True)
        if state.state == "done" and existing.skill and outcome.id in mentioned_ids(findings)
    ]
    if names:
        return SkillState("done", f"it is in {join_items(names)}")
    first_state = next((state for state in states if state.state == "due"), states[0])
    if first_state.state != "done":
        return first_state
    findings, existing = pairs[0]
    name = existing.skill.name if existing.skill else ""
    if findings.kind == "guide":
        return SkillState("counted", f"listed in references/{TRIED} of {name}, not in its text")
    return SkillState("counted", f"counted in {name}; its own result is not in the text")


def _unread_state(outcome: Outcome, findings: Sequence[Findings], policy: Policy) -> SkillState:
    """Return the state of an outcome that the findings of its action do not include."""
    outcomes = [o for guide in findings if guide.kind == "guide" for o in guide.account.outcomes]
    if any(o.order > outcome.order for o in outcomes if o.trust == outcome.trust):
        peers = policy.evaluate.peers
        return SkillState("older", f"its action's skills are of its latest {peers} outcomes")
    return SkillState("unread", "its action is read again after a few more outcomes")


def _why_no_skill(state: str, outcomes: Sequence[Outcome], policy: Policy) -> str:
    if state == "between":
        scores = [outcome.result.score or 0.0 for outcome in outcomes]
        ends = format_percent(min(scores)), format_percent(max(scores))
        span = " to ".join(dict.fromkeys(ends))
        low, high = policy.generate.warning_below, policy.generate.pattern_above
        return (
            f"score {span}; a warning needs less than {format_percent(low)}, "
            f"a pattern more than {format_percent(high)}"
        )
    return {
        "counted": "counted in a skill or listed beside it, not in its text",
        "done": "it is in a skill",
        "rejected": "what was made of it was removed by a person",
        "archived": "their skill was archived",
        "over": "too old for their domain",
        "not new": "a success counts right after a failure; a neutral outcome teaches none",
        "silent": "nothing that they say would change a decision",
        "unread": "waiting until their action is read again",
        "older": "older than the outcomes of their action that its skills are of",
        "waiting": "not evaluated; `skillvault why-not ID` says why",
        "retracted": "retracted, and counted nowhere",
        "due": "due",
    }[state]
