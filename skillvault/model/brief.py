"""What a judge is given, and what it gives back: frozen values, no I/O.

A brief is the material of one skill's text; `Judge.write` takes any of them.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from skillvault.model import section_marks
from skillvault.model.conditions import Separation
from skillvault.model.records import (
    Answer,
    Applicability,
    Evaluation,
    Fact,
    Fraction,
    InsightType,
    JudgeInfo,
    Outcome,
    Session,
    Skill,
    SkillKind,
    question_key,
)
from skillvault.model.text.text import flatten, shorten
from skillvault.model.tries import Try

RULES = "Rules and Leads"  # the section of a guide that has them
AVOID = "Avoid"  # the one of what failed
WARNING = 200  # characters of what is said before acting

InsightKind = Literal[
    "lesson",  # what the agent says that it learned
    "error",  # what the result says went wrong
    "answer",  # what was answered
    "stopped",  # the step that was announced last, and not carried out
    "unchecked",  # what it went on with unchecked
    "exposed",  # what it went into without a way out
    "guess",  # what was guessed and never settled
    "certainty",  # certainty in place of grounds
    "claim",  # what was reported as done
    "risk",  # a risk that was named
    "ground",  # what the decision rested on
    "found",  # what was found on the way
    "check",  # how it was checked
]


class Insight(Struct, frozen=True, kw_only=True):
    """What one outcome shows, about itself alone: of which kind, and the words that it quotes.

    A lesson is `supposed` if no words of its outcome bear it out.
    """

    kind: InsightKind
    quote: str
    supposed: bool = False


class Case(Struct, frozen=True, kw_only=True):
    """What a judge is told of an outcome after its blind verdict.

    `failures` are those of its subject that it ended, oldest first: what separates it from them is
    asked instead of what it teaches by itself. `earlier` is what was tried on its subject before,
    `facts` what the domain holds to be true, by id, in a line each.
    """

    outcome: Outcome
    insights: tuple[Insight, ...] = ()
    failures: tuple[Outcome, ...] = ()
    earlier: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()


class RefusedAnswers(Struct, frozen=True, kw_only=True):
    """The answers that were refused for one task: (value, runs), the most frequent first.

    `task` is "" if none was recorded; `shown_by` are the outcomes that gave them, oldest first.
    `accepted` are the answers that were accepted since.
    """

    task: str
    answers: tuple[tuple[str, int], ...]
    shown_by: tuple[str, ...]
    accepted: tuple[str, ...] = ()


class Outlier(Struct, frozen=True, kw_only=True):
    """A number of the greatest loss or gain that is far from those of the others.

    `low` to `high` is the middle half of the `of` others; `at` is when it ended.
    """

    outcome: str
    at: datetime
    key: str
    value: float
    low: float
    high: float
    of: int


StatementKind = Literal[
    "rule",  # what separates the outcomes of the action
    "lesson",  # what should have been done, as a person, an agent or the judge says
    "worked",  # what was done and succeeded
    "failed",  # what was done and failed
    "tools",  # what those used that succeeded, and few of the others
    "claimed",  # success was claimed and refused
    "answers",  # what was refused as the answer to a task
    "entry",  # what was recorded before the greatest loss or gain
    "extreme",  # the greatest loss or gain
    "outlier",  # what stood out of it
    "tried",  # one try that nothing else tells; of a strategy, how those of an action ended
]


class Statement(Struct, frozen=True, kw_only=True):
    """One sentence of a skill, and the outcomes that it is counted of, oldest first.

    `supporting` are those for it, `against` those against it. `others` are, of a rule, the failed
    ones and the remaining ones of those that do not meet it; of what failed, () and what worked
    instead. `rule` is what a statement of that kind counts, `gist` what a title may say of it.
    """

    kind: StatementKind
    text: str
    supporting: tuple[str, ...]
    against: tuple[str, ...] = ()
    others: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    rule: Separation | None = None
    gist: str = ""


class Account(Struct, frozen=True, kw_only=True):
    """What is known of an action, a subject or a domain, as of so many outcomes, oldest first.

    `tries` is what each outcome says in one line, `evaluations` are theirs by id, `tasks` is what
    was asked, of those of which it is known. `rules` are what separates outcomes of each action.
    """

    outcomes: tuple[Outcome, ...]
    tries: tuple[Try, ...]
    evaluations: Mapping[str, Evaluation]
    tasks: Mapping[str, str]
    rules: tuple[Separation, ...] = ()


class AnswerCost(Struct, frozen=True):
    """What an answer took of a judge that is paid."""

    tokens: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: "AnswerCost | None") -> "AnswerCost":
        return (
            AnswerCost(self.tokens + other.tokens, self.cost_usd + other.cost_usd)
            if other
            else self
        )


def answer_cost(info: JudgeInfo) -> AnswerCost | None:
    """What the answers of a judge took; None if they are free."""
    return None if info.tokens is None else AnswerCost(info.tokens, info.cost_usd or 0.0)


def add_cost(info: JudgeInfo, spent: AnswerCost) -> JudgeInfo:
    """A judge, with what its answers took."""
    usd = round(spent.cost_usd, 6)
    return replace(info, tokens=spent.tokens, cost_usd=usd)


class QuestionTopic(Struct, frozen=True):
    """What a question is about, whatever its wording; its answer holds until that changes.

    `material` is a digest of what it tells of its `subject`.
    """

    kind: str
    subject: str
    material: str

    @property
    def question(self) -> str:
        """By which the question is known, and its answer."""
        return question_key(self.kind, self.subject, self.material)


class AcceptedAnswer(Struct, frozen=True, kw_only=True):
    """An answer as it was accepted, to be kept beside what it makes."""

    matter: QuestionTopic
    reply: dict[str, Any]
    judge: JudgeInfo


class Verdict(Struct, frozen=True, kw_only=True):
    """How good the decision was, said before the result is known."""

    was_good_decision: bool
    quality_score: Fraction
    strengths: tuple[str, ...] = ()
    weaknesses: tuple[str, ...] = ()
    missed_factors: tuple[str, ...] = ()
    spent: AnswerCost | None = None
    answer: AcceptedAnswer | None = None


class InsightText(Struct, frozen=True, kw_only=True):
    """What the outcome teaches, in a judge's words, said after the verdict.

    An empty `key_insight` teaches nothing. `repeats` or `contradicts` is the fact that it does so
    to, `unlike` are facts like it in words that say something else; `slug` says in a few words what
    a fact of it is called.
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
    """What a judge says of a decision before it is carried out; see `learning.advise`."""

    quality: Fraction
    confidence: Fraction
    warnings: tuple[str, ...] = ()
    suggestion: str = ""
    insight: str = ""


def warnings_of(skills: Sequence[Skill]) -> tuple[str, ...]:
    """Return what warnings say and what guides tell first to avoid, a line each."""
    texts = ((skill.name, _warning_of(skill)) for skill in skills)
    return tuple(shorten(f"{name}: {text}", WARNING) for name, text in texts if text)


def _warning_of(skill: Skill) -> str:
    if skill.kind == "warning":
        return flatten(skill.description)
    avoided = (
        section_marks.sections_of(skill.body).get((AVOID, 1), "") if skill.kind == "guide" else ""
    )
    return next((flatten(line) for line in avoided.splitlines() if line.startswith("- ")), "")


class Draft(Struct, frozen=True):
    """The text of a skill before it has a name.

    `title` stands without its kind. `sections` are (heading, text). `note` says if the text is not
    the appointed judge's own. `tags`, `roles` and `stages` are slugs, where it says any. `record`
    is the answer that it was made of, as the vault keeps it.
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


class Findings(Struct, frozen=True, kw_only=True):
    """An account, for a guide, a warning, a pattern, an evolved skill or a strategy.

    `statements` are what it says, the most useful first; `significant` the outcomes that it is
    about, oldest first.
    """

    kind: SkillKind
    account: Account
    statements: tuple[Statement, ...]
    significant: tuple[Outcome, ...]


class Recurrence(Struct, frozen=True, kw_only=True):
    """Facts that say the same, for a pattern skill.

    `facts` stand in their order, `evaluations` are those that support them, `outcomes` are
    theirs by id, `theme` is what the facts share. `against` counts the runs that speak against
    any of them.
    """

    kind: SkillKind = "pattern"
    domain: str
    theme: str
    facts: tuple[Fact, ...]
    evaluations: tuple[Evaluation, ...]
    outcomes: Mapping[str, Outcome]
    against: int = 0


class Period(Struct, frozen=True, kw_only=True):
    """The latest outcomes of a domain, oldest first, of which profile `seed` makes a strategy.

    `rules` are what separates those of each action;
    `episodes` says in how many they were decided, "" if each is one. `heading` is the domain's word
    for its context; `graded` says whether the results have scores; `outliers` are what stood out of
    the greatest loss and gain. A model is told too which text the strategy has now (`current`), and
    what the domain holds to be true (`facts`): by id, in a line each.
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

    `together` is what the outcomes of all of them say, `apart` what those of each do.
    """

    together: Findings
    apart: tuple[Findings, ...]


class SessionExcerpt(Struct, frozen=True, kw_only=True):
    """What of finished sessions is told: of one, or of several that say the same.

    `sessions` are cut to that, oldest first.
    """

    kind: SkillKind
    domain: str
    sessions: tuple[Session, ...]


Brief = Findings | Recurrence | Period | Agreement | SessionExcerpt
