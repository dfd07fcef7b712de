"""The values that a judge receives and returns. They are frozen and do no I/O.

A brief is the material for the text of one skill. `Judge.write` takes each kind of brief.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from skillvault.model import section_marks
from skillvault.model.conditions import Separation, conditions_of
from skillvault.model.records import (
    Answer,
    Applicability,
    Correction,
    Decision,
    Evaluation,
    Fact,
    Fraction,
    InsightType,
    JudgeInfo,
    Outcome,
    Scalar,
    Session,
    Skill,
    SkillKind,
    Status,
    Time,
    question_key,
)
from skillvault.model.text.text import flatten, shorten

RULES = "Rules and Leads"  # the section of a guide with rules and leads
AVOID = "Avoid"  # the section of a guide with failures
MAX_WARNING = 200  # the most characters of a warning before a decision

InsightKind = Literal[
    "lesson",  # the agent's own lesson
    "error",  # the error in the result
    "answer",  # the answer that the agent gave
    "stopped",  # the last announced step, which the agent did not take
    "unchecked",  # an assumption that the agent relied on without a check
    "exposed",  # a step without a way out
    "guess",  # a guess that was never settled
    "certainty",  # certainty in place of grounds
    "claim",  # the report that the work is done
    "risk",  # a risk that the agent named
    "ground",  # the reason for the decision
    "found",  # an observation during the work
    "check",  # the check of the work
]


class Insight(Struct, frozen=True, kw_only=True):
    """An observation about one outcome, with the words that it quotes.

    A lesson is `supposed` if no words of its outcome support it.
    """

    kind: InsightKind
    quote: str
    supposed: bool = False


class BlindCase(Struct, frozen=True):
    """A decision without its result, as the judge sees it first."""

    domain: str
    decision: Decision
    context: Mapping[str, Scalar] = {}
    applied: tuple[str, ...] | None = None
    entry_value: float | None = None


def blind_case(outcome: Outcome) -> BlindCase:
    """Return the decision of an outcome without the result."""
    size = outcome.result.entry_value
    return BlindCase(
        outcome.domain, outcome.decision, conditions_of(outcome), outcome.applied, size
    )


class Case(Struct, frozen=True, kw_only=True):
    """The material about an outcome that the judge gets after the blind verdict.

    `failures` are earlier failures of the same subject, oldest first, and the judge is asked how
    this success differs from them. `earlier` are the earlier tries of the subject, `facts` the
    facts of the domain as (id, line).
    """

    outcome: Outcome
    insights: tuple[Insight, ...] = ()
    failures: tuple[Outcome, ...] = ()
    earlier: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()


class RefusedAnswers(Struct, frozen=True, kw_only=True):
    """The answers to a task that were refused, as (value, number of runs), most frequent first.

    `task` is "" if no task was recorded. `shown_by` are the outcomes with these answers, oldest
    first. `accepted` are answers to the task that were accepted later.
    """

    task: str
    answers: tuple[tuple[str, int], ...]
    shown_by: tuple[str, ...]
    accepted: tuple[str, ...] = ()


class Outlier(Struct, frozen=True, kw_only=True):
    """An unusual number that was recorded with the greatest loss or gain.

    In the `of` other outcomes, the middle half of this number is between `low` and `high`. `at` is
    the time at which the outcome ended.
    """

    outcome: str
    at: datetime
    key: str
    value: float
    low: float
    high: float
    of: int


StatementKind = Literal[
    "rule",  # a rule that separates the outcomes of the action
    "lesson",  # advice of a person, an agent or the judge
    "worked",  # a deed that succeeded
    "failed",  # a deed that failed
    "tools",  # tools that most successful runs used, and few of the others
    "claimed",  # a success that was claimed and refused
    "answers",  # the refused answers to a task
    "entry",  # the conditions before the greatest loss or gain
    "extreme",  # the greatest loss or gain
    "outlier",  # an unusual number of the greatest loss or gain
    "tried",  # a try without another statement; of a strategy, the results of an action
]


class Statement(Struct, frozen=True, kw_only=True):
    """One sentence of a skill, with the outcomes that support it, oldest first.

    `against` are outcomes that contradict it. `others` are two lists. For a rule, they are the
    failed and the other outcomes that do not meet the rule. For a failed deed, they are an empty
    list and the outcomes that worked instead. `rule` is the separation that a rule states, `gist` a
    short form of the sentence.
    """

    kind: StatementKind
    text: str
    supporting: tuple[str, ...]
    against: tuple[str, ...] = ()
    others: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    rule: Separation | None = None
    gist: str = ""


Adviser = Literal["person", "agent", "judge"]


class Advice(Struct, frozen=True, kw_only=True):
    """A sentence about a better action. `supposed` advice has no evidence."""

    text: str
    by: Adviser
    supposed: bool = False


class Try(Struct, frozen=True, kw_only=True):
    """The action of the agent in an outcome (`deed`), with its result and later advice.

    `deed` and `answer` are "" if the outcome has none. `error` is the signature of a failure.
    `result` names the score. `insight`, `strengths` and `weaknesses` are a judge's words. `claims`
    quotes claims of the reasoning. `tried` are attempts of the same run that failed before.
    `observed` has the figures in `claims` that the context or the result confirms; they are not
    part of the deed. `repair` is the try of the next prompt, if that prompt was about this failure
    and its run worked. `unexplained` is true if only the report of a whole run has the deed, and no
    text has the cause of the result.
    """

    id: str
    at: Time
    target: str | None = None
    status: Status
    score: float | None = None
    deed: str = ""
    result: str = ""
    error: str = ""
    answer: str = ""
    advice: tuple[Advice, ...] = ()
    insight: str = ""
    strengths: tuple[str, ...] = ()
    weaknesses: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    observed: tuple[str, ...] = ()
    repair: "Try | None" = None
    unexplained: bool = False


class Account(Struct, frozen=True, kw_only=True):
    """The outcomes of an action, a subject or a domain, oldest first, with rules and tasks.

    `tries` has a line for each outcome. `evaluations` and `tasks` have the evaluation and the
    recorded task of outcomes by id. `rules` separate good from bad outcomes of each action.
    """

    outcomes: tuple[Outcome, ...]
    tries: tuple[Try, ...]
    evaluations: Mapping[str, Evaluation]
    tasks: Mapping[str, str]
    rules: tuple[Separation, ...] = ()


class AnswerCost(Struct, frozen=True):
    """The tokens and dollars of an answer from a paid judge."""

    tokens: int = 0
    cost_usd: float = 0.0

    def __add__(self, cost: "AnswerCost") -> "AnswerCost":
        return AnswerCost(self.tokens + cost.tokens, self.cost_usd + cost.cost_usd)


def answer_cost(info: JudgeInfo) -> AnswerCost | None:
    """Return the cost of a judge's answers, or None if they are free."""
    return None if info.tokens is None else AnswerCost(info.tokens, info.cost_usd or 0.0)


def add_cost(info: JudgeInfo, cost: AnswerCost) -> JudgeInfo:
    """Return a judge that includes the cost of its answers."""
    return replace(info, tokens=cost.tokens, cost_usd=round(cost.cost_usd, 6))


class QuestionTopic(Struct, frozen=True):
    """The topic of a question in any wording. An answer is valid until the topic changes.

    `material` is a digest of the content about the `subject`.
    """

    kind: str
    subject: str
    material: str

    @property
    def question(self) -> str:
        """The key of the question, which is also the key of its answer."""
        return question_key(self.kind, self.subject, self.material)


class AcceptedAnswer(Struct, frozen=True, kw_only=True):
    """An accepted answer of a judge, which is stored with the skill or insight made from it."""

    topic: QuestionTopic
    reply: dict[str, Any]
    judge: JudgeInfo


class Verdict(Struct, frozen=True, kw_only=True):
    """A judge's assessment of a decision before the result is known."""

    was_good_decision: bool
    quality_score: Fraction
    strengths: tuple[str, ...] = ()
    weaknesses: tuple[str, ...] = ()
    missed_factors: tuple[str, ...] = ()
    spent: AnswerCost | None = None
    answer: AcceptedAnswer | None = None


class InsightText(Struct, frozen=True, kw_only=True):
    """A judge's insight about an outcome, written after the verdict.

    An empty `key_insight` teaches nothing. `repeats` or `contradicts` names a fact. `unlike` are
    facts with similar words that say something else. `slug` names a fact made from the insight.
    """

    key_insight: str
    insight_type: InsightType
    applicability: Applicability = "domain"
    better_approach: str | None = None
    repeats: str | None = None
    contradicts: str | None = None
    unlike: tuple[str, ...] = ()
    slug: str | None = None
    spent: AnswerCost | None = None
    answer: AcceptedAnswer | None = None


class Opinion(Struct, frozen=True, kw_only=True):
    """A judge's opinion of a decision before it is carried out; see `learning.advise`."""

    quality: Fraction
    confidence: Fraction
    warnings: tuple[str, ...] = ()
    suggestion: str = ""
    insight: str = ""


def warnings_of(skills: Sequence[Skill]) -> tuple[str, ...]:
    """Return a warning in one line for each skill that has one.

    The warning of a guide is the first thing to avoid.
    """
    texts = ((skill.name, _warning_of(skill)) for skill in skills)
    return tuple(shorten(f"{name}: {text}", MAX_WARNING) for name, text in texts if text)


def _warning_of(skill: Skill) -> str:
    if skill.kind == "warning":
        return flatten(skill.description)
    avoided = (
        section_marks.sections_of(skill.body).get((AVOID, 1), "") if skill.kind == "guide" else ""
    )
    return next((flatten(line) for line in avoided.splitlines() if line.startswith("- ")), "")


class Draft(Struct, frozen=True):
    """The text of a skill before it has a name.

    `title` omits the kind. `sections` are (heading, text). `note` says that another judge wrote the
    text. `tags`, `roles` and `stages` are slugs. `record` is the stored answer that contained the
    text. `rules` are the rules of a passage.
    """

    title: str
    description: str
    sections: tuple[tuple[str, str], ...]
    note: str = ""
    tags: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    answer: AcceptedAnswer | None = None
    record: Answer | None = None
    rules: tuple[str, ...] = ()


class Findings(Struct, frozen=True, kw_only=True):
    """An account for a guide, a warning, a pattern, an evolved skill or a strategy.

    `statements` are sorted by use, the most useful first. `significant` are the outcomes that the
    skill is about, oldest first.
    """

    kind: SkillKind
    account: Account
    statements: tuple[Statement, ...]
    significant: tuple[Outcome, ...]


class Recurrence(Struct, frozen=True, kw_only=True):
    """Facts that say the same, for a pattern skill.

    `evaluations` support the `facts`, and `outcomes` are the evaluated outcomes by id. `theme` has
    the words that the facts share. `against` counts the runs that contradict any of the facts.
    """

    kind: SkillKind = "pattern"
    domain: str
    theme: str
    facts: tuple[Fact, ...]
    evaluations: tuple[Evaluation, ...]
    outcomes: Mapping[str, Outcome]
    against: int = 0


class Period(Struct, frozen=True, kw_only=True):
    """The latest outcomes of a domain, oldest first, for a strategy of profile `seed`.

    `heading` is the domain's word for the context. `graded` is True if the results have scores.
    `rules` separate good from bad outcomes of each action. `episodes` states the number of
    episodes, or is "" if each outcome is an episode. `outliers` are unusual numbers of the greatest
    loss and gain. A model also gets the `current` text of the strategy, and the `facts` of the
    domain as (id, line).
    """

    domain: str
    heading: str
    outcomes: tuple[Outcome, ...]
    evaluations: Mapping[str, Evaluation]
    graded: bool = False
    rules: tuple[Separation, ...] = ()
    episodes: str = ""
    outliers: tuple[Outlier, ...] = ()
    current: str = ""
    facts: tuple[tuple[str, str], ...] = ()


class Agreement(Struct, frozen=True, kw_only=True):
    """Actions or subjects whose outcomes say the same, for one evolved skill.

    `together` has the findings for all outcomes, `apart` the findings for each action or subject.
    """

    together: Findings
    apart: tuple[Findings, ...]


class SessionExcerpt(Struct, frozen=True, kw_only=True):
    """An excerpt of a finished session, or of several that say the same, oldest first."""

    kind: SkillKind
    domain: str
    sessions: tuple[Session, ...]


class Passage(Struct, frozen=True):
    """A passage of a document, which states rules, steps or neither."""

    source: Correction


Brief = Findings | Recurrence | Period | Agreement | SessionExcerpt | Passage
