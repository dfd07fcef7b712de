"""Why an outcome, a fact or a session taught nothing, or what it taught, in numbers."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from skillvault.learning.account.account import shown_by
from skillvault.learning.distill.excerpt import SessionState
from skillvault.learning.distill.skill import STEP as DISTILL
from skillvault.learning.generate.warning_pattern import STEP, Present, Standing, standing
from skillvault.learning.promote import facts as promote
from skillvault.learning.promote import skills as recurrence
from skillvault.learning.rules import Rules
from skillvault.model.brief import Findings
from skillvault.model.policy import Policy
from skillvault.model.records import Evaluation, Fact, Outcome, Ref, Session
from skillvault.model.text.text import how_many, percent


class StepAnswer(Struct, frozen=True):
    """Where one outcome stands with one step: done, waiting, rejected and so on."""

    step: str
    state: str
    reason: str


class AccountMaterial(Struct, frozen=True, kw_only=True):
    """What is known of the subjects of some outcomes.

    `evaluations` are the outcomes' own; `standings` says of each outcome where it stands with its
    subject's skills: each kind that it is significant for, or what it would take.
    """

    outcomes: Mapping[str, Outcome]
    evaluations: Mapping[str, Evaluation]
    standings: Mapping[str, Standing]


def answers(
    outcome: Outcome,
    material: AccountMaterial,
    memory: promote.PromotionMaterial,
    fact: promote.PromotionState | None,
    *,
    aside: str | None = None,
    edited: str | None = None,
) -> list[StepAnswer]:
    """The steps of the loop in order, each with its answer for this outcome.

    `fact` is where its evaluation stands with memory. `aside`: why the judge failed at it, too
    often to be asked again; `edited`: the place of its evaluation that a person edited.
    """
    steps = [StepAnswer("record", "done", f"trust {outcome.trust}")]
    evaluation = material.evaluations.get(outcome.id)
    if evaluation is None:
        refused = memory.rejections.of_target(Ref("evaluation", outcome.id))
        if refused:
            reason = f"its evaluation was made in {refused.commit[:10]} and taken away since"
            return [*steps, StepAnswer("evaluate", "rejected", reason)]
        if aside:
            reason = f"the judge failed: {aside}; `skillvault run --retry` tries again"
            return [*steps, StepAnswer("evaluate", "aside", reason)]
        wish = f"{edited}; commit or undo it" if edited else "not evaluated yet; `skillvault run`"
        return [*steps, StepAnswer("evaluate", "waiting", wish)]
    verdict = "good" if evaluation.was_good_decision else "bad"
    agrees = {True: "agrees with", False: "contradicts", None: "is not tested by"}
    steps.append(
        StepAnswer(
            "evaluate",
            "done",
            f"{verdict} decision, quality {evaluation.quality_score:.2f}; the verdict "
            f"{agrees[evaluation.judge_was_right]} the result ({outcome.result.status})",
        )
    )
    if fact is not None:
        steps.append(StepAnswer(promote.STEP, fact.state, fact.reason))
    standing = material.standings[outcome.id]
    return [*steps, StepAnswer(STEP, standing.state, standing.reason)]


def fact_answers(
    fact: Fact,
    memory: promote.PromotionMaterial,
    skills: Collection[str],
    policy: Policy,
    *,
    general: promote.PromotionState | None = None,
) -> list[StepAnswer]:
    """Where a fact stands: what supports it, and the skill it made or why it makes none.

    `general` is where it stands with other domains, if there are any.
    """
    support = memory.support(fact.id)
    sessions = len(memory.sessions([fact]))
    support_text = (
        f"rests on {how_many(len(support), 'evaluation')} of {how_many(sessions, 'session')}"
    )
    if fact.kind == "human" and not support:
        support_text = "written by a person"
    pattern = recurrence.fact_state(fact, memory, skills, policy)
    return [
        StepAnswer("memory", "done", support_text),
        StepAnswer(promote.STEP, pattern.state, pattern.reason),
        *([StepAnswer(promote.STEP, general.state, general.reason)] if general else []),
    ]


def session_answers(session: Session, state: SessionState) -> list[StepAnswer]:
    """Where a session stands: the skill it made, or why it makes none."""
    return [
        StepAnswer("record", "done", f"trust {session.trust}"),
        StepAnswer(DISTILL, state.state, state.reason),
    ]


def memory_summary(memory: Iterable[promote.PromotionMaterial], rules: Rules) -> list[str]:
    """Why no insight becomes a fact, grouped, with counts and the nearest numbers."""
    groups: dict[str, list[Evaluation]] = {}
    for part in memory:
        for evaluation in part.evaluations.values():
            state = rules.insight_standing(evaluation, part, rules.policy).state
            groups.setdefault(state, []).append(evaluation)
    return [
        f"{how_many(len(evaluations), 'evaluation')}: {_why_no_fact(state, evaluations, rules)}"
        for state, evaluations in sorted(groups.items())
    ]


def _why_no_fact(state: str, evaluations: Sequence[Evaluation], rules: Rules) -> str:
    if state == "weak":
        numbers = rules.policy.promote
        bound = numbers.quality
        near = max(evaluations, key=lambda e: promote.strength(e, numbers))
        alone = ", nor do two sessions say the same with less against it" if rules.weighs else ""
        bad = f", a bad one {1 - bound:.2f} or less" if numbers.gate == "verdict" else ""
        return (
            f"confirmed, but not strong: a good decision needs quality {bound:.2f} or more{bad}; "
            f"the nearest has {near.quality_score:.2f}{alone}"
        )
    return {
        "done": "a fact, or support of one, already",
        "rejected": "what was made of it was taken away by a person",
        "not confirmed": "the result does not confirm the verdict",
        "silent": "no insight, or none that tells more than how its own run ended",
        "untrusted": "from a source that is not trusted",
        "without outcome": "its outcome is not here",
        "due": "due",
    }[state]


def summary(subjects: Iterable[AccountMaterial], policy: Policy, sessions: int = 0) -> list[str]:
    """Why there is nothing to generate, grouped, with counts and the nearest numbers.

    `sessions` is how many finished ones a vault has.
    """
    groups: dict[str, list[Outcome]] = {}
    for material in subjects:
        for outcome_id, stands in material.standings.items():
            groups.setdefault(stands.state, []).append(material.outcomes[outcome_id])
    if not groups and sessions:
        count = how_many(sessions, "session")
        return [f"{count}: in a skill, or too little for one; `skillvault why-not ID` says which"]
    if not groups:
        return [
            "no outcomes yet: drop one into inbox/, or start with `skillvault record --example`"
        ]
    return [
        f"{how_many(len(outcomes), 'outcome')}: {_why(state, outcomes, policy)}"
        for state, outcomes in sorted(groups.items())
    ]


def outcome_standing(
    outcome: Outcome,
    read: Collection[str],
    told: Sequence[tuple[Findings, Present]],
    policy: Policy,
) -> Standing:
    """Where one outcome stands with its subject's skills.

    `read` are the outcomes as far as its account is read, `told` what that says for each kind of
    skill, and what there is of that skill.
    """
    if outcome.id not in read:
        return Standing("unread", "its subject is read again when a few more outcomes are there")
    of = [pair for pair in told if outcome.id in {o.id for o in pair[0].significant}]
    if not of:
        return _insignificant(outcome, policy)
    findings, present = of[0]
    stands = standing(findings, present, policy)
    name = present.group or (present.skill.name if present.skill else "")
    if stands.state not in ("done", "merged"):
        return stands
    if outcome.id in shown_by(findings):
        return Standing(stands.state, f"told by {name}")
    return Standing("counted", f"counted in {name}; what it shows by itself is not told there")


def _insignificant(outcome: Outcome, policy: Policy) -> Standing:
    rules, score = policy.generate, outcome.result.score
    if score is not None:
        shown, low, high = (
            f"{value * 100:+.6g} %" for value in (score, rules.warning_below, rules.pattern_above)
        )
        reason = f"score {shown} lies between {low} (warning) and {high} (pattern)"
        return Standing("between", reason)
    if outcome.result.status == "neutral":
        return Standing("not new", "a neutral outcome without a score teaches no skill")
    return Standing("not new", "a success counts once its subject has failed; it had not")


def _why(state: str, outcomes: Sequence[Outcome], policy: Policy) -> str:
    if state == "between":
        scores = [o.result.score or 0.0 for o in outcomes]
        span = " to ".join(dict.fromkeys((percent(min(scores)), percent(max(scores)))))
        return (
            f"score {span}; a warning needs less than {percent(policy.generate.warning_below)}, "
            f"a pattern more than {percent(policy.generate.pattern_above)}"
        )
    return {
        "counted": "counted in what their subjects' skills say",
        "done": "told by a skill of their subject",
        "rejected": "what was made of it was taken away by a person",
        "merged": "a skill that stands for several subjects tells them",
        "put away": "the skill of their subject was put away",
        "over": "too old by the clock of their domain",
        "not new": "a success counts once its subject has failed; a neutral outcome teaches none",
        "silent": "nothing that they say would change a decision",
        "unread": "waiting for the next reading of their subject's account",
        "waiting": "not evaluated",
        "retracted": "retracted, and counted nowhere",
        "due": "due",
    }[state]
