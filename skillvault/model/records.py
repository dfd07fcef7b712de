"""The nouns of the vault: frozen values. No I/O, no clock, no randomness.

Keys of an outcome that the format does not know are kept in `extra`. What comes from
outside becomes a record in `intake`.
"""

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NamedTuple, cast, get_args

from msgspec import Meta, Struct, field

from skillvault.model.text import text as texts

Scalar = str | int | float | bool | None
Status = Literal["success", "failure", "neutral"]
Trust = Literal["local", "untrusted"]
# Who saw how a decision ended, the strongest first.
Observer = Literal["ci", "tests", "verifier", "exit-code", "commit", "person", "agent"]
Via = Literal["hook"]
InsightType = Literal["timing", "sizing", "selection", "risk", "execution", "method", "context"]
Applicability = Literal["domain", "cross_domain", "general"]
# An `origin` is no record: what was installed from somewhere, by its content's digest.
RecordKind = Literal[
    "outcome", "evaluation", "recommendation", "session", "fact", "skill", "link", "answer",
    "retraction", "pattern", "origin",
]  # fmt: skip
SkillKind = Literal["guide", "warning", "pattern", "strategy", "evolved", "manual"]
SkillStatus = Literal["proposed", "testing", "proven", "pinned", "retired"]
Origin = Literal["seed", "generated", "distilled", "manual", "installed"]
Importance = Literal["high", "medium", "low"]
ReasoningAt = Literal["before", "after"]
FactKind = Literal["judge", "human", "learning", "distilled"]
LinkType = Literal[
    "promoted", "reinforced", "contradicted", "derived", "generated", "merged",
    "superseded", "distilled", "installed",
]  # fmt: skip

SKILL_KINDS: tuple[str, ...] = get_args(SkillKind)
SKILL_STATUSES: tuple[str, ...] = get_args(SkillStatus)
ORIGINS: tuple[str, ...] = get_args(Origin)
LINK_TYPES: tuple[str, ...] = get_args(LinkType)
OBSERVERS: tuple[Observer, ...] = get_args(Observer)
PROGRAM_ORIGINS = frozenset({"generated", "distilled"})  # origins of what the program wrote itself
IMPORTANCES: tuple[str, ...] = get_args(Importance)
FACT_KINDS: tuple[str, ...] = get_args(FactKind)

LEARNED = "learned"  # the name of the skill that holds the patterns; no other has it
CAPTURED = "skill_sync"  # how a pattern says that it was captured
MAX_TEXT = 64 * 1024  # bytes of one text
_PATTERN_WORDS = 40  # characters of a pattern's first words in its id
_SESSION_HEX = 6  # digits by which a session's id differs from others that read alike

Time = Annotated[datetime, Meta(tz=True)]
Text = Annotated[str, Meta(min_length=1)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
Extra = dict[str, Any]
Subject = tuple[str, str, str | None]  # what a decision is about: domain, action, target


class Ref(Struct, frozen=True, order=True):
    """The address of a record: what it is and its id (a skill's name is its id)."""

    kind: RecordKind
    id: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"


class Problem(Struct, frozen=True):
    """A mistake in a file, as a value: where, which key, a stable code, one sentence."""

    path: str
    key: str | None
    code: str
    message: str

    @property
    def order(self) -> tuple[str, str, str, str]:
        """Position in a list; what concerns the whole file comes before what concerns a key."""
        return (self.path, self.key or "", self.code, self.message)


class Decision(Struct, frozen=True, kw_only=True):
    """What was decided, before anything was known of how it ended, but for the `report`.

    `task` is what was asked, in the asker's words. `reasoning_at`: when the reasoning was
    written, before the result or after it; None where that is not said. Only what somebody else
    saw of a decision may leave out its `action`.
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
    """How it ended. `score` is a fraction (-0.112 is -11.2 %); `amount` is in `unit`.

    `observed_by` saw it, the agent itself where nobody is named; `via` a hook of its client, whose
    payload an agent with a shell can forge. `claim` is what the agent said of it, `claimed` how it
    ended by that.
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
    extra: Extra = field(default_factory=dict)


class Lesson(Struct, frozen=True, kw_only=True):
    """What the agent itself learned, after the result; `do` or `when` is there.

    `observed` is its own word on it, None where it says nothing.
    """

    when: str = ""
    do: str = ""
    because: str = ""
    evidence: str = ""
    observed: bool | None = None
    extra: Extra = field(default_factory=dict)


class Source(Struct, frozen=True, kw_only=True):
    """Who reported it, from which run. Without a session an outcome is its own.

    A `batch` is no session: a backtest, a benchmark's job, a CI run.
    """

    agent: Text | None = None
    session: Text | None = None
    batch: Text | None = None
    trust: Trust = "local"
    extra: Extra = field(default_factory=dict)


class Outcome(Struct, frozen=True, kw_only=True):
    """What happened. `id` and `received` (a sha256) derive from the record as it arrived."""

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
        """The vault's word on its source."""
        return self.source.trust

    @property
    def session(self) -> str:
        """The run it came from; its own id if none was named."""
        return self.source.session or self.id

    @property
    def order(self) -> tuple[datetime, str]:
        """Position in time; simultaneous outcomes stand in the order of their ids."""
        return (self.occurred_at, self.id)

    @property
    def subject(self) -> Subject:
        """What it is about."""
        return (self.domain, self.decision.action, self.decision.target)

    @property
    def observer(self) -> Observer:
        """Who saw how it ended."""
        return self.result.observed_by or "agent"

    @property
    def is_described(self) -> bool:
        """Whether anybody said what was decided; else it is a result alone."""
        return bool(self.decision.action)

    @property
    def only_teaches(self) -> bool:
        """Return True if it adds a lesson to its decision and does not say how that ended."""
        silent = Result(status="neutral", observed_by=self.result.observed_by)
        return self.lesson is not None and not self.is_described and self.result == silent

    @property
    def is_claim_refused(self) -> bool:
        """Whether the agent claimed a success that somebody else saw fail."""
        result = self.result
        return self.observer != "agent" and (result.claimed, result.status) == (
            "success",
            "failure",
        )

    @property
    def is_lesson_supposed(self) -> bool:
        """Whether its lesson is a guess: no word of the outcome's own is the evidence."""
        if self.lesson is None:
            return False
        return self.lesson.observed is False or not self.contains_quote(self.lesson.evidence)

    def contains_quote(self, quote: str) -> bool:
        """Whether it says a quote, word for word."""
        words = _folded(quote)
        return bool(words) and any(words in _folded(text) for text in self._said())

    def _said(self) -> Iterator[str]:
        """What an agent's lesson may quote."""
        decision, result = self.decision, self.result
        yield from (decision.reasoning, decision.report, result.summary, result.evidence)
        yield from (str(value) for value in self.context.values() if value is not None)

    @property
    def ungraded_failure(self) -> bool:
        """A failure that counts as the first or a repeat, for one warning stands for all."""
        return self.result.score is None and self.result.status == "failure"


class IndexedOutcome(NamedTuple):
    """An outcome among those of its subject, unread.

    `at` is when it happened, in microseconds; `marks` what of it decides when its subject's account
    is read, None as long as nobody looked.
    """

    at: int
    id: str
    evaluated: bool
    marks: tuple[str, ...] | None = None


class Position(NamedTuple):
    """How many outcomes of an account were counted, and the last of them.

    `until` is the last that is read, `point` the last at a reading point: (when, id), as `last`.
    """

    outcomes: int = 0
    last: tuple[int, str] = (-(2**63), "")
    until: tuple[int, str] = (-(2**63), "")
    point: tuple[int, str] = (-(2**63), "")


OFFLINE = "offline"  # the judge without a model: its insight only says deed and result again


class JudgeInfo(Struct, frozen=True, kw_only=True):
    """Which judge spoke, and what it cost."""

    name: str
    version: str
    model: str | None = None
    prompt: str | None = None
    tokens: int | None = None
    cost_usd: float | None = None


class Evaluation(Struct, frozen=True, kw_only=True):
    """What the judge concluded of one outcome; its id is the outcome's.

    `repeats` or `contradicts` is the fact that its insight does so to, in the judge's word;
    `unlike` are facts like it in words that the judge was shown and found to say something else.
    `slug` is what a fact of it is called.
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
        """True if a model concluded its insight, whoever gave the verdict."""
        return self.judge.name != OFFLINE or self.slug is not None


class Answer(Struct, frozen=True, kw_only=True):
    """What a judge answered to one question, as its reply was accepted; `id` is the question's key.

    `kind` is the prompt that asked, `subject` what it asked about, `material` a digest of what it
    told, without its wording. `at` is when the latest outcome of that ended; `session` who
    answered, if that was an agent. `reply` holds words and numbers in the shape of its kind.
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
    """An outcome that was wrong: it stays as written and counts nowhere; why, when, who says so."""

    outcome: str
    domain: str
    reason: Text
    at: Time
    by: Text

    @property
    def id(self) -> str:
        """It has the id of its outcome."""
        return self.outcome


def question_key(kind: str, subject: str, material: str) -> str:
    """The key of a question: its kind, and twelve hex digits of what it is about."""
    about = f"{kind}\0{subject}\0{material}".encode(errors="replace")
    return f"{kind}-{hashlib.sha256(about).hexdigest()[:12]}"


class ShownSkill(Struct, frozen=True, kw_only=True):
    """A skill that was shown for a decision, at which version, as how relevant.

    `handle` stood for its name in that answer; `how` much of it was given: whole, part or named.
    """

    skill: Text
    blob: str = ""
    relevance: Fraction | None = None
    badge: str = ""
    handle: str = ""
    how: str = ""


class HeldOutSkill(Struct, frozen=True, kw_only=True):
    """A skill that would have been shown and was not, to compare with."""

    skill: Text
    blob: str = ""


class NextSkill(Struct, frozen=True, kw_only=True):
    """A skill that came next, and why it was not shown."""

    skill: Text
    reason: str = ""


class ShownFact(Struct, frozen=True, kw_only=True):
    """A fact that was shown for a decision, at which version."""

    fact: Text
    blob: str = ""
    handle: str = ""


class ShownCounts(Struct, frozen=True, kw_only=True):
    """How many skills were considered, and how many left out for what."""

    considered: int = 0
    low_effectiveness: int = 0
    low_relevance: int = 0
    budget: int = 0


class Recommendation(Struct, frozen=True, kw_only=True):
    """What was shown for a decision. What became of it is computed by joining outcomes.

    `agent` is who asked, `task` what was asked. `id` and `received` (a sha256) derive from the
    record as it arrived.
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
    """What failed in a session: on what, why, and what had been tried."""

    lemma: Text
    reason: str = ""
    attempt: str = ""
    extra: Extra = field(default_factory=dict)


class SessionSuccess(Struct, frozen=True, kw_only=True):
    """What worked in a session: on what, and how."""

    lemma: Text
    text: str = ""
    extra: Extra = field(default_factory=dict)


class Session(Struct, frozen=True, kw_only=True):
    """A finished session: what failed in it and what worked, each in its order.

    `name` is what outcomes call it (`source.session`); `id` is made of it, `received` (a sha256)
    derives from the record as it arrived. `transcript` names the client that wrote down what this
    is an extract of.
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
        """What it is about, as its failures and successes name it."""
        return [failure.lemma for failure in self.failures] + [s.lemma for s in self.successes]

    @property
    def order(self) -> tuple[datetime, str]:
        """Position in time; those that ended at once stand in the order of their ids."""
        return (self.ended_at, self.id)


class Fact(Struct, frozen=True, kw_only=True):
    """One thing the vault holds to be true; `text` may have several lines.

    Written by hand it needs only a text: `id` and `domain` are where its file stands.
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

    @property
    def order(self) -> tuple[datetime, str]:
        """Position in time; one without a time was there before all others."""
        return (self.created_at or datetime.min.replace(tzinfo=UTC), self.id)


class MissedEvidence(Struct, frozen=True):
    """When the evidence for a pattern was missing, and in which versions of the code bases."""

    at: str
    code: str


class ExternalUse(Struct, frozen=True):
    """What another tool counted of a skill; the rate is a fraction, None if it is not told."""

    times_applied: int
    success_rate: float | None = None


class Skill(Struct, frozen=True):
    """A skill as it is read. Names are not validated here (`integrity` does that)."""

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
    subject: str | None = None  # what a skill is about; it stays when the skill is renamed
    account: str | None = None  # which statements of its subject's account it was written from
    foreign: tuple[str, ...] = ()  # top-level keys outside the specification
    elsewhere: ExternalUse | None = None  # read of another tool's counters, never written
    retired: str | None = None  # by its domain's time, when its use retired it
    trial: str | None = None  # and since when it is tried again, or was last
    replaces: str | None = None  # the skill in skills/ whose next version it is
    internal: bool = False  # hosts that walk a whole tree leave it out
    written: str | None = None  # which sections the program wrote, by a digest of each


class ShelfSkill(Struct, frozen=True):
    """A skill as a layer of the shelf holds it. `blob` is the version: git's id of its bytes."""

    skill: Skill
    layer: str  # `seed`, `domain` or `vault`
    path: str
    blob: str = ""


class Link(Struct, frozen=True, kw_only=True):
    """Where a fact or skill came from; immutable."""

    id: str
    type: LinkType
    source: Ref
    target: Ref
    created_at: Time
    metadata: dict[str, Any] = field(default_factory=dict)


class LearnedPattern(Struct, frozen=True, kw_only=True):
    """A rule that files of code bear out, an entry of expertise.yaml.

    `occurrences` are distinct files, `lines` those of them that say so, `code` the code bases as
    `name@version`. `missed`: when and where the evidence was missing last. `scope`: the patterns of
    the only files that count, YAML and markdown among them; () for all code.
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
        """What it has in common with a rule that says the same."""
        return texts.rule_key(self.pattern)

    @property
    def id(self) -> str:
        """Its first words and the hex of its key."""
        digest = hashlib.sha256(self.key.encode()).hexdigest()[:6]
        return f"{texts.slug(self.pattern, limit=_PATTERN_WORDS)}-{digest}".lstrip("-")


class EvolutionEntry(Struct, frozen=True, kw_only=True):
    """A line of the log of expertise.yaml."""

    date: str
    change: str
    patterns_added: int = 0
    extra: Extra = field(default_factory=dict)


class Expertise(Struct, frozen=True, kw_only=True):
    """What stands in expertise.yaml; `version` is that of its form."""

    version: Scalar = "0.2.0"
    patterns: tuple[LearnedPattern, ...] = ()
    evolution_log: tuple[EvolutionEntry, ...] = ()
    extra: Extra = field(default_factory=dict)


Record = Outcome | Evaluation | Recommendation | Session | Fact | Skill | Link | Answer | Retraction


def kind_of(record: Record) -> str:
    """The kind that a record's address names."""
    return type(record).__name__.lower()


def ref_of(record: Record) -> Ref:
    """The address of a record."""
    kind = cast("RecordKind", kind_of(record))
    return Ref(kind, record.name if isinstance(record, Skill) else record.id)


class Commit(Struct, frozen=True):
    """What a step did in one of the program's commits, read back from its trailers."""

    sha: str
    step: str
    subject: str
    date: str
    sources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


def link_id(link_type: LinkType, source: Ref, target: Ref) -> str:
    """The id that a link of this type between these ends has."""
    ends = f"{link_type}\n{source}\n{target}"
    return f"{link_type}-{hashlib.sha256(ends.encode()).hexdigest()[:10]}"


def link_of(link_type: LinkType, source: Ref, target: Ref, at: datetime) -> Link:
    """A link whose id derives from its type and ends."""
    derived_id = link_id(link_type, source, target)
    return Link(id=derived_id, type=link_type, source=source, target=target, created_at=at)


def session_id(name: str, trust: Trust = "local") -> str:
    """The id of the session that outcomes of this trust call so: the name if it can be a file's.

    Else, or of an untrusted one, as much of it as can, with hex that tells it from others that
    read alike: who is not trusted takes no other's id.
    """
    plain_name = name.replace("_", "-")
    if trust == "local" and texts.is_slug(plain_name):
        return plain_name
    whole = name if trust == "local" else f"{trust} {name}"
    digits = hashlib.sha256(whole.encode(errors="replace")).hexdigest()[:_SESSION_HEX]
    return f"{texts.slug(name, limit=texts.MAX_SLUG - 1 - _SESSION_HEX) or 'session'}-{digits}"


def moment_of(at: datetime) -> str:
    """A time as an outcome's id begins with it: `20261120t101500z`."""
    return at.astimezone(UTC).strftime("%Y%m%dt%H%M%Sz")


def stamp(at: datetime) -> str:
    """A time in UTC as it stands in files: `2026-11-20T10:15:00Z`."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _folded(text: str) -> str:
    return " ".join(text.split())
