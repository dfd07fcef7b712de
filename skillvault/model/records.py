"""The records of a vault as frozen values, without I/O, clock or randomness.

Unknown keys of an outcome are kept in `extra`. `intake` makes records from foreign data.
"""

import hashlib
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NamedTuple, cast, get_args

from msgspec import Meta, Struct, field

from skillvault.model.text import front_matter
from skillvault.model.text import text as texts

Scalar = str | int | float | bool | None
Status = Literal["success", "failure", "neutral"]
Trust = Literal["local", "untrusted"]
# Observers of how a decision ended, the strongest first.
Observer = Literal["ci", "tests", "verifier", "exit-code", "commit", "person", "agent"]
Via = Literal["hook"]
InsightType = Literal["timing", "sizing", "selection", "risk", "execution", "method", "context"]
Applicability = Literal["domain", "cross_domain", "general"]
# An `origin` is not a record but the digest of what was installed from elsewhere.
RecordKind = Literal[
    "outcome", "evaluation", "recommendation", "session", "fact", "skill", "link", "answer",
    "retraction", "correction", "pattern", "rule", "origin",
]  # fmt: skip
SkillKind = Literal["guide", "warning", "pattern", "strategy", "evolved", "manual"]
SkillStatus = Literal["proposed", "testing", "proven", "pinned", "retired"]
Origin = Literal["seed", "generated", "distilled", "manual", "installed"]
Importance = Literal["high", "medium", "low"]
ReasoningAt = Literal["before", "after"]
FactKind = Literal["judge", "human", "learning", "distilled", "correction"]
LinkType = Literal[
    "promoted", "reinforced", "contradicted", "derived", "generated", "merged",
    "superseded", "distilled", "installed",
]  # fmt: skip

SKILL_KINDS: tuple[str, ...] = get_args(SkillKind)
SKILL_STATUSES: tuple[str, ...] = get_args(SkillStatus)
ORIGINS: tuple[str, ...] = get_args(Origin)
LINK_TYPES: tuple[str, ...] = get_args(LinkType)
OBSERVERS: tuple[Observer, ...] = get_args(Observer)
PROGRAM_ORIGINS = frozenset({"generated", "distilled"})  # origins of skills that the program wrote
IMPORTANCES: tuple[str, ...] = get_args(Importance)
FACT_KINDS: tuple[str, ...] = get_args(FactKind)

LEARNED = "learned"  # the name reserved for the skill that holds the patterns
CAPTURED = "skill_sync"  # the source that a captured pattern states
MAX_TEXT = 64 * 1024  # bytes of one text

Time = Annotated[datetime, Meta(tz=True)]
Text = Annotated[str, Meta(min_length=1)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
Extra = dict[str, Any]
Subject = tuple[str, str, str | None]  # of a decision: domain, action, target


class Ref(Struct, frozen=True, order=True):
    """The address of a record: its kind and its id (for a skill, its name)."""

    kind: RecordKind
    id: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"


class Problem(Struct, frozen=True):
    """A mistake in a file, as a value: its path and key, a stable code, and one sentence."""

    path: str
    key: str | None
    code: str
    message: str

    @property
    def order(self) -> tuple[str, str, str, str]:
        """Sort key that puts mistakes of a whole file before mistakes of a key."""
        return (self.path, self.key or "", self.code, self.message)


class Decision(Struct, frozen=True, kw_only=True):
    """A decision before its result was known, except for the `report`.

    `task` quotes the request. `reasoning_at` says if the reasoning was written before or after the
    result, if that is known. Only a result that somebody else observed may omit the `action`.
    """

    id: Text | None = None
    task: str = ""
    action: str = ""
    target: Text | None = None
    reasoning: str = ""
    confidence: Fraction | None = None
    made_at: Time | None = None
    reasoning_at: ReasoningAt | None = None
    report: str = ""
    extra: Extra = field(default_factory=dict)


class Result(Struct, frozen=True, kw_only=True):
    """The result of a decision. `score` is a fraction (-0.112 is -11.2 %); `amount` is in `unit`.

    Without `observed_by` the agent itself is the observer. `via` is a hook of its client, whose
    payload an agent with a shell can forge. `claim` is the agent's report, `claimed` the status
    that it reports. `next_words` is what a person typed next, if it corrects the agent.
    """

    status: Status
    score: float | None = None
    amount: float | None = None
    unit: Text | None = None
    entry_value: float | None = None
    summary: str = ""
    answer: str = ""
    evidence: str = ""
    observed_by: Observer | None = None
    via: Via | None = None
    claim: str = ""
    claimed: Status | None = None
    next_words: str = ""
    extra: Extra = field(default_factory=dict)


class Lesson(Struct, frozen=True, kw_only=True):
    """A lesson that the agent states after the result. At least `do` or `when` is set.

    `observed` is None if the agent does not say whether it saw this happen.
    """

    when: str = ""
    do: str = ""
    because: str = ""
    evidence: str = ""
    observed: bool | None = None
    extra: Extra = field(default_factory=dict)


class Source(Struct, frozen=True, kw_only=True):
    """The agent that reports an outcome, with its session and its run.

    A `batch` is a backtest, a benchmark's job or a CI run. `person` is the e-mail of the user who
    typed the prompts in an attended session, or None if it is unknown.
    """

    agent: Text | None = None
    session: Text | None = None
    batch: Text | None = None
    person: Text | None = None
    trust: Trust = "local"
    extra: Extra = field(default_factory=dict)


class Outcome(Struct, frozen=True, kw_only=True):
    """A decision and its result. `id` and `received` (a sha256) derive from the arrived record."""

    id: str
    event_id: Text | None = None
    domain: str
    occurred_at: Time
    decision: Decision
    result: Result
    context: dict[str, Scalar] = field(default_factory=dict)
    applied: tuple[str, ...] | None = None
    lesson: Lesson | None = None
    source: Source = field(default_factory=Source)
    received: str
    extra: Extra = field(default_factory=dict)

    @property
    def trust(self) -> Trust:
        """The trust of the source."""
        return self.source.trust

    @property
    def session(self) -> str:
        """The session of the outcome, or its own id if no session is named."""
        return self.source.session or self.id

    @property
    def order(self) -> tuple[datetime, str]:
        """Sort key by time, with ties broken by id."""
        return (self.occurred_at, self.id)

    @property
    def subject(self) -> Subject:
        """The domain, action and target."""
        return (self.domain, self.decision.action, self.decision.target)

    @property
    def observer(self) -> Observer:
        """The observer of the result."""
        return self.result.observed_by or "agent"

    @property
    def is_described(self) -> bool:
        """True if the decision is described, False if there is only a result."""
        return bool(self.decision.action)

    @property
    def only_teaches(self) -> bool:
        """True if the record adds only a lesson to its decision."""
        neutral_result = Result(status="neutral", observed_by=self.result.observed_by)
        return self.lesson is not None and not self.is_described and self.result == neutral_result

    @property
    def is_claim_refused(self) -> bool:
        """True if the agent claimed a success and somebody else saw it fail."""
        statuses = (self.result.claimed, self.result.status)
        return self.observer != "agent" and statuses == ("success", "failure")

    @property
    def is_lesson_supposed(self) -> bool:
        """True if its lesson quotes no evidence from the outcome itself."""
        if self.lesson is None:
            return False
        return self.lesson.observed is False or not self.contains_quote(self.lesson.evidence)

    def contains_quote(self, quote: str) -> bool:
        """Return True if a quote occurs word for word in reasoning, report, result or context."""
        phrase = " ".join(quote.split())
        decision, result = self.decision, self.result
        sources = [decision.reasoning, decision.report, result.summary, result.evidence]
        sources += [str(value) for value in self.context.values() if value is not None]
        return bool(phrase) and any(phrase in " ".join(text.split()) for text in sources)

    @property
    def ungraded_failure(self) -> bool:
        """True for a failure without a score. One warning is enough for all of them."""
        return self.result.score is None and self.result.status == "failure"


class IndexedOutcome(NamedTuple):
    """An outcome as a row of the index. `at` is in microseconds.

    `marks` are the news that decide when its account is read, or None if they are not known yet.
    """

    at: int
    id: str
    evaluated: bool
    marks: tuple[str, ...] | None = None


class Position(NamedTuple):
    """The number of outcomes that an account has counted, and three outcomes as (time, id).

    `last` is the last counted outcome, `until` the last one read, and `point` the last one judged.
    """

    outcomes: int = 0
    last: tuple[int, str] = (-(2**63), "")
    until: tuple[int, str] = (-(2**63), "")
    point: tuple[int, str] = (-(2**63), "")


OFFLINE = "offline"  # the judge without a model; its insights repeat deed and result
# Its version, which rises when its verdicts or the rules for facts change.
OFFLINE_VERSION = "2"


class JudgeInfo(Struct, frozen=True, kw_only=True):
    """A judge and its cost."""

    name: str
    version: str
    model: str | None = None
    prompt: str | None = None
    tokens: int | None = None
    cost_usd: float | None = None


class Evaluation(Struct, frozen=True, kw_only=True):
    """A judge's conclusion about one outcome, which has the same id.

    `repeats` or `contradicts` names a fact, if the judge says so. `unlike` are facts with similar
    words that say something else. `slug` is the name of a fact that is made from the insight.
    """

    outcome: str
    domain: str
    judge: JudgeInfo
    was_good_decision: bool
    quality_score: Fraction
    key_insight: str | None = None
    insight_type: InsightType | None = None
    applicability: Applicability | None = None
    strengths: tuple[str, ...] = ()
    weaknesses: tuple[str, ...] = ()
    missed_factors: tuple[str, ...] = ()
    better_approach: str | None = None
    repeats: str | None = None
    contradicts: str | None = None
    unlike: tuple[str, ...] = ()
    slug: str | None = None
    judge_was_right: bool | None = None

    @property
    def id(self) -> str:
        """The outcome's id."""
        return self.outcome

    @property
    def is_by_model(self) -> bool:
        """True if a model wrote the insight, even if the verdict is not the model's."""
        return self.judge.name != OFFLINE or self.slug is not None

    @property
    def is_outdated(self) -> bool:
        """True if an earlier version of the program judged and weighed the outcome."""
        return self.judge.name == OFFLINE and self.judge.version != OFFLINE_VERSION


class Answer(Struct, frozen=True, kw_only=True):
    """An accepted answer of a judge to one question. `id` is the key of the question.

    `kind` names the prompt, `subject` its topic, and `material` is a digest of its content. `at` is
    the end of the latest outcome in the content. `session` is the session that answered. `reply`
    has words and numbers in the shape of the kind.
    """

    id: str
    domain: str
    kind: Text
    subject: str
    material: str
    at: Time
    judge: JudgeInfo
    session: str | None = None
    trust: Trust = "local"
    reply: dict[str, Any]


class Retraction(Struct, frozen=True, kw_only=True):
    """The retraction of a wrong outcome. Its file stays, but it no longer counts."""

    outcome: str
    domain: str
    reason: Text
    at: Time
    by: Text

    @property
    def id(self) -> str:
        """The outcome's id."""
        return self.outcome


def question_key(kind: str, subject: str, material: str) -> str:
    """Return the key of a question: its kind and twelve hex digits of its topic."""
    topic = f"{kind}\0{subject}\0{material}".encode(errors="replace")
    return f"{kind}-{hashlib.sha256(topic).hexdigest()[:12]}"


class ShownSkill(Struct, frozen=True, kw_only=True):
    """A skill that was shown for a decision, with its version and relevance.

    `handle` is its short name in that answer. `how` is whole, part (an excerpt) or named.
    """

    skill: Text
    blob: str = ""
    relevance: Fraction | None = None
    badge: str = ""
    handle: str = ""
    how: str = ""


class HeldOutSkill(Struct, frozen=True, kw_only=True):
    """A skill that was not shown, to measure its effect."""

    skill: Text
    blob: str = ""


class NextSkill(Struct, frozen=True, kw_only=True):
    """A skill that ranked next, with the reason why it was not shown."""

    skill: Text
    reason: str = ""


class ShownFact(Struct, frozen=True, kw_only=True):
    """A fact that was shown for a decision, with its version."""

    fact: Text
    blob: str = ""
    handle: str = ""


class ShownCounts(Struct, frozen=True, kw_only=True):
    """The number of skills that were considered, and of skills omitted for each reason."""

    considered: int = 0
    low_effectiveness: int = 0
    low_relevance: int = 0
    budget: int = 0


class Recommendation(Struct, frozen=True, kw_only=True):
    """The skills and facts that were shown to an `agent` for a decision about a `task`.

    `id` and `received` (a sha256) derive from the record as it arrived.
    """

    id: str
    decision: Text
    agent: Text | None = None
    domain: str
    at: Time
    task: str = ""
    context: dict[str, Scalar] = field(default_factory=dict)
    facts: tuple[ShownFact, ...] = ()
    shown: tuple[ShownSkill, ...] = ()
    held_out: tuple[HeldOutSkill, ...] = ()
    next: tuple[NextSkill, ...] = ()
    counts: ShownCounts = field(default_factory=ShownCounts)
    trust: Trust = "local"
    received: str
    extra: Extra = field(default_factory=dict)


class SessionFailure(Struct, frozen=True, kw_only=True):
    """A failure in a session, with its subject, its reason, and the attempt."""

    lemma: Text
    reason: str = ""
    attempt: str = ""
    extra: Extra = field(default_factory=dict)


class SessionSuccess(Struct, frozen=True, kw_only=True):
    """A success in a session, with its subject and its method."""

    lemma: Text
    text: str = ""
    extra: Extra = field(default_factory=dict)


class Session(Struct, frozen=True, kw_only=True):
    """A finished session with its failures and successes in order.

    `name` is its name in outcomes (`source.session`), from which `id` is made. `received` (a
    sha256) derives from the record as it arrived. `transcript` names the client that wrote it, if
    any.
    """

    id: str
    name: Text
    domain: str
    ended_at: Time
    agent: Text | None = None
    failures: tuple[SessionFailure, ...] = ()
    successes: tuple[SessionSuccess, ...] = ()
    tags: tuple[Text, ...] = ()
    roles: tuple[Text, ...] = ()
    stages: tuple[Text, ...] = ()
    transcript: Text | None = None
    trust: Trust = "local"
    received: str
    extra: Extra = field(default_factory=dict)

    @property
    def lemmas(self) -> list[str]:
        """The subjects of its failures and successes."""
        return [failure.lemma for failure in self.failures] + [s.lemma for s in self.successes]

    @property
    def order(self) -> tuple[datetime, str]:
        """Sort key by end, with ties broken by id."""
        return (self.ended_at, self.id)


class Fact(Struct, frozen=True, kw_only=True):
    """A statement that the vault takes to be true. `text` may have several lines.

    A fact written by hand needs only a text: its path gives `id` and `domain`. A `correction` is a
    rule that a person stated in a `session` for the repository `scope`; `about` has words of the
    run that it corrected.
    """

    id: str
    domain: str
    text: str
    importance: Importance = "medium"
    kind: FactKind = "human"
    created_at: Time | None = None
    insight_type: InsightType | None = None
    trust: Trust = "local"
    supersedes: str | None = None
    review_by: str | None = None
    scope: str | None = None
    session: str | None = None
    about: str | None = None
    state: Literal["rule"] | None = None

    @property
    def order(self) -> tuple[datetime, str]:
        """Sort key by time. Facts without a time come first."""
        return (self.created_at or datetime.min.replace(tzinfo=UTC), self.id)


class Correction(Struct, frozen=True, kw_only=True):
    """A rule in a person's words that waits for approval. An approved rule is a fact.

    A person stated it for the repository `scope` in `session` after the run `about`, and again in
    the `confirmed` sessions. Before approval only the person `said_by`, an e-mail, gets the rule.
    """

    id: str
    domain: str
    text: str
    scope: str
    session: str
    created_at: Time
    kind: Literal["correction"] = "correction"
    state: Literal["proposed", "withdrawn", "undecided"] = "proposed"  # a passage is undecided
    said_by: str | None = None
    confirmed: tuple[str, ...] = ()
    about: str | None = None
    supersedes: str | None = None  # an approved rule that it contradicts


class MissedEvidence(Struct, frozen=True):
    """The time at which a pattern had no evidence, and the versions of the code bases."""

    at: str
    code: str


class ExternalUse(Struct, frozen=True):
    """The uses of a skill that another tool counted. The rate is a fraction, or None."""

    times_applied: int
    success_rate: float | None = None


class Skill(Struct, frozen=True):
    """A skill with the content of its file. `integrity` checks its names."""

    name: str
    description: str = ""
    body: str = ""
    tags: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    kind: str = "manual"
    domain: str | None = None
    status: str = "testing"
    origin: str = "manual"
    version: str = "1.0"
    created: str | None = None
    expires: str | None = None
    trust: str = "local"
    subject: str | None = None  # survives a rename of the skill
    account: str | None = None  # the statements of its subject's account in it
    foreign: tuple[str, ...] = ()  # top-level keys outside the specification
    elsewhere: ExternalUse | None = None  # another tool's counters, never written
    retired: str | None = None  # the time in its domain at which use retired it
    trial: str | None = None  # the start of its latest trial after that
    replaces: str | None = None  # the skill in skills/ that this next version replaces
    formerly: tuple[str, ...] = ()  # its earlier names, oldest first
    internal: bool = False  # omitted by hosts that walk a whole tree
    written: str | None = None  # digests of the sections that the program wrote

    @property
    def path(self) -> str:
        """The path by the status. `Vault.skill` knows the path of an archived skill."""
        folder = {"proposed": "proposed", "retired": "archive"}.get(self.status, "skills")
        return f"{folder}/{self.name}/SKILL.md"

    @property
    def markdown(self) -> str:
        """The text of a new file of the skill."""
        metadata = {key: getattr(self, key) for key in front_matter.METADATA_KEYS}
        metadata |= {key: " ".join(getattr(self, key)) for key in front_matter.WORD_KEYS}
        values = {key: value for key, value in metadata.items() if value}
        meta = {"name": self.name, "description": self.description, "metadata": values}
        return front_matter.compose(meta, self.body)


class ShelfSkill(Struct, frozen=True):
    """A skill that may be served, with its layer. Its version `blob` is git's id of the bytes."""

    skill: Skill
    layer: str  # `seed`, `domain` or `vault`
    path: str
    blob: str = ""


class Link(Struct, frozen=True, kw_only=True):
    """An immutable link from a record to a fact or skill that was made from it."""

    id: str
    type: LinkType
    source: Ref
    target: Ref
    created_at: Time
    metadata: dict[str, Any] = field(default_factory=dict)


class LearnedPattern(Struct, frozen=True, kw_only=True):
    """A rule that files of code support, which is an entry of expertise.yaml.

    `occurrences` counts files, `lines` the lines in them, `code` lists the code bases as
    `name@version`. `missed` is the last time that evidence was missing. `scope` has the path
    patterns of the files that count, including YAML and markdown; () means all code.
    """

    pattern: Text
    confidence: str = "medium"
    occurrences: int = 0
    evidence: str = ""
    learned_from: str = CAPTURED
    promoted_at: str = ""
    lines: int | None = None
    code: str = ""
    missed: MissedEvidence | None = None
    scope: tuple[str, ...] = ()
    extra: Extra = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The key that equal rules share."""
        return texts.rule_key(self.pattern)

    @property
    def id(self) -> str:
        """The first words of the pattern, with a digest of its key."""
        digest = hashlib.sha256(self.key.encode()).hexdigest()[:6]
        return f"{texts.slug(self.pattern, limit=40)}-{digest}".lstrip("-")


class EvolutionEntry(Struct, frozen=True, kw_only=True):
    """An entry in the log of expertise.yaml."""

    date: str
    change: str
    patterns_added: int = 0
    extra: Extra = field(default_factory=dict)


class Expertise(Struct, frozen=True, kw_only=True):
    """The content of expertise.yaml. `version` is the version of its format."""

    version: Scalar = "0.2.0"
    patterns: tuple[LearnedPattern, ...] = ()
    evolution_log: tuple[EvolutionEntry, ...] = ()
    extra: Extra = field(default_factory=dict)


Record = (
    Outcome | Evaluation | Recommendation | Session | Fact | Correction | Skill | Link | Answer
    | Retraction
)  # fmt: skip


def kind_of(record: Record) -> str:
    """Return the name of a record's kind in addresses, such as "skill"."""
    return type(record).__name__.lower()


def ref_of(record: Record) -> Ref:
    """Return the address of a record."""
    kind = cast("RecordKind", kind_of(record))
    return Ref(kind, record.name if isinstance(record, Skill) else record.id)


class Commit(Struct, frozen=True):
    """The work of a step in a commit of the program, as read from the commit's trailers."""

    sha: str
    step: str
    subject: str
    date: str
    sources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


def link_id(link_type: LinkType, source: Ref, target: Ref) -> str:
    """Return the id of a link, a digest of its type and its ends."""
    ends = f"{link_type}\n{source}\n{target}"
    return f"{link_type}-{hashlib.sha256(ends.encode()).hexdigest()[:10]}"


def link_of(link_type: LinkType, source: Ref, target: Ref, at: datetime) -> Link:
    """Return a link with the id that derives from its type and ends."""
    derived_id = link_id(link_type, source, target)
    return Link(id=derived_id, type=link_type, source=source, target=target, created_at=at)


def moment_of(at: datetime) -> str:
    """Format a time as at the start of an outcome's id: `20261120t101500z`."""
    return at.astimezone(UTC).strftime("%Y%m%dt%H%M%Sz")


def stamp(at: datetime) -> str:
    """Return a UTC time in the format of files: `2026-11-20T10:15:00Z`."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
