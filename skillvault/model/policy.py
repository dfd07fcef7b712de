"""Policy: the settings of `vault.yaml`, with a section for each step and a sentence for each value.

`vault.yaml` holds only settings that differ from these defaults and from its profile.
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from skillvault.model.claude_models import FAST, MODELS, THOROUGH, Price
from skillvault.model.conversion import convert_stored
from skillvault.model.errors import BadInputError, key_error
from skillvault.model.records import SkillKind
from skillvault.model.text.tables import join_lines, read_sections
from skillvault.model.text.text import is_slug

Share = Annotated[float, Meta(ge=0, le=1)]
Chance = Annotated[float, Meta(gt=0, le=1)]
HeldShare = Annotated[float, Meta(ge=0, le=0.5)]
Amount = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]

ProfileName = Literal["lift", "seed", "wilson"]
# profile -> section -> key -> value, for values that are not the defaults
PROFILE_SETTINGS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "seed": {
        "promote": {"gate": "quality", "min_sessions": 0, "every": 5},
        "generate": {"strategy_max": 20},
        "recommend": {"bodies": None, "facts": 0, "budget": None, "task": 0.0},
        "effect": {"holdout": 0.0},
        "capture": {"budget": None},
    }
}

_CHECKS = tuple(join_lines(dict(read_sections("skillvault.model", "policy.txt"))["checks"]))
_SCORE_DIGITS = 9  # of a score; a computed score is not exact beyond them
# A branch name that git accepts and no command takes for an option or a revision.
_BRANCH = r"^(?![-/.])(?!.*(?:\.\.|@\{|//))[^\x00-\x20~^:?*\[\\\x7f]+$"
_UNKNOWN = re.compile(r"unknown field `(?P<name>[^`]+)`")
_HEADING = re.compile(r"(?=\S)[^\n\r#]{1,60}(?<=\S)")


class DailyQuota(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits of a day (UTC) for the number of files and the recorded bytes."""

    files: Annotated[int, Meta(ge=0)] = 100
    bytes: Annotated[int, Meta(ge=0)] = 1 << 20

    def __str__(self) -> str:
        return f"{{files: {self.files}, bytes: {self.bytes}}}"


class RolesPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The roles of persons, by the names of their keys in `allowed_signers`."""

    # Who may approve, and change vault.yaml, the keys and all else (docs/team.md).
    approve: tuple[str, ...] = ()
    # Who may only record.
    record: tuple[str, ...] = ()


class CommitPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The author of commits."""

    # The author of learned commits. program: skillvault <skillvault@localhost>; person: you.
    author: Literal["program", "person"] = "program"


class RecordPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings for the intake of outcomes."""

    # open: an outcome may name a new domain; closed: only a listed one.
    domains: Literal["open", "closed"] = "open"
    # bounded: refuses a score outside -1..1, which is probably a percentage.
    scores: Literal["bounded", "unbounded"] = "bounded"
    # Refuses an outcome dated more than so many days in the future.
    days_ahead: Amount = 1.0
    # Takes an inbox file once it has not changed for this long.
    settle_seconds: Annotated[float, Meta(ge=0, le=60)] = 0.5
    # The most that inbox/untrusted/ takes in a day (UTC); the rest waits.
    untrusted_per_day: DailyQuota = DailyQuota()


class EvaluatePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings for the evaluation of outcomes."""

    # What is learned about an action uses so many of its latest outcomes.
    peers: Annotated[int, Meta(ge=20)] = 200
    # Ignores an insight shorter than this, in characters.
    min_insight: Positive = 10
    # Decisions of one action so close to each other count as one.
    episode_minutes: Count = 10
    # The most untrusted outcomes that are judged in a day (UTC), after all others.
    untrusted_per_day: Count = 50


class PromotePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings for making facts from insights, and skills from facts."""

    # verdict: confirmed bad decisions teach too; quality: only good ones.
    gate: Literal["verdict", "quality"] = "verdict"
    # The least quality of a good decision; a bad one has at most 1 minus this.
    quality: Annotated[float, Meta(gt=0.5, le=1)] = 0.7
    # A fact at least this strong gets high importance.
    high_from: Share = 0.85
    # Under seed: an insight more similar to a fact than this repeats it.
    duplicate_above: Share = 0.6
    # A fact more similar than this to a cluster's first fact joins it.
    cluster_above: Share = 0.4
    # A pattern needs so many facts, or one fact from so many sessions.
    cluster_size: Annotated[int, Meta(ge=2)] = 3
    # How many sessions a pattern needs to be served without approval.
    min_sessions: Count = 2
    # A fact that recurs in so many domains can hold in all.
    general_domains: Annotated[int, Meta(ge=2)] = 2
    # Such a fact needs so many runs that support it.
    general_runs: Positive = 5
    # Such a fact needs this share of runs that ended well.
    general_rate: Share = 0.5
    # The daemon looks for patterns once in so many cycles.
    every: Positive = 1


class GeneratePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings for making skills from significant outcomes, and for their expiry."""

    # New skills that wait in proposed/ for your approval. unproven: those of one session; always:
    # all, and changes of approved ones; never: none. Untrusted ones always wait.
    gate: Literal["never", "unproven", "always"] = "unproven"
    # A score strictly below this makes a warning.
    warning_below: Annotated[float, Meta(lt=0)] = -0.10
    # A score strictly above this makes a pattern.
    pattern_above: Annotated[float, Meta(gt=0)] = 0.20
    # Days until a new warning expires.
    warning_days: Positive = 60
    # Days until a new pattern expires.
    pattern_days: Positive = 90
    # Days until an evolved skill expires after it last grew.
    evolved_days: Positive = 180
    # Days until a strategy expires after it was last written.
    strategy_days: Positive = 180
    # A domain gets a strategy after so many tries; under seed, after so many new ones.
    strategy_every: Annotated[int, Meta(ge=2)] = 10
    # Under seed: the most outcomes a strategy looks at.
    strategy_max: Positive = 200
    # The most tokens of a guide; the rest goes to references/.
    guide_tokens: Annotated[int, Meta(ge=100)] = 700
    # The most tokens of another learned skill; the rest goes to references/.
    max_tokens: Annotated[int, Meta(ge=100)] = 400
    # A domain's heading for its context, if not Market Context or Context.
    context_headings: dict[str, str] = field(default_factory=dict)

    def length(self, kind: str) -> int:
        """Return the maximum number of tokens for the text of a skill."""
        return self.guide_tokens if kind == "guide" else self.max_tokens

    def makes_warning(self, score: float) -> bool:
        """Return True if a score is so low that the outcome makes a warning.

        A difference as small as a rounding error does not count.
        """
        return round(score, _SCORE_DIGITS) < round(self.warning_below, _SCORE_DIGITS)

    def makes_pattern(self, score: float) -> bool:
        """Return True if a score is so high that the outcome makes a pattern.

        A difference as small as a rounding error does not count.
        """
        return round(score, _SCORE_DIGITS) > round(self.pattern_above, _SCORE_DIGITS)


class DistillPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings for the distillation of finished sessions."""

    # A session with so many different failures becomes a skill.
    min_failures: Positive = 2
    # A session with so many successes becomes a skill.
    min_successes: Positive = 5
    # The skill of a session mentions at most so many failures, the first ones.
    failures: Count = 5
    # The skill of a session mentions at most so many successes, the first ones.
    successes: Count = 5
    # A session's skill is merged with others if at least so many are similar (`merge.similarity`).
    min_similar: Positive = 1
    # The most tokens of a model's reply about a session.
    max_tokens: Annotated[int, Meta(ge=256)] = 1024


class MergePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings for merging skills that say the same."""

    # Two skills of sessions are similar if they share more than this part of the shorter one's
    # statements; under seed, other skills too.
    similarity: Share = 0.5
    # Under seed: a skill is merged with others if at least so many are similar.
    min_similar: Positive = 2
    # The most tokens of a merged skill; the rest goes to references/.
    max_tokens: Annotated[int, Meta(ge=100)] = 400


class CapturePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings for making patterns from noted rules, and for their share of a prompt."""

    # Folders of code that may support rules, relative to the vault.
    code: tuple[str, ...] = ()
    # Hours until the code is searched again.
    hours: Annotated[float, Meta(gt=0)] = 24
    # A rule that so many files support becomes a pattern.
    files: Positive = 3
    # A pattern that so many files support has high confidence.
    high: Positive = 5
    # Hours between the two misses that end a pattern.
    missed_hours: Amount = 24
    # The most tokens of patterns and rules in a prompt; None: 20 of each, and repeated rules too.
    budget: Count | None = 1000


class ShelfPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings for skills from outside the package and the vault."""

    # Folders of skills, later ones override earlier; outside the vault: docs/agents.md.
    dirs: tuple[str, ...] = ()
    # Domains in which the package's skills are recommended and found.
    seeds: tuple[str, ...] = ()
    # Skills of packages and folders that are never served.
    hidden: tuple[str, ...] = ()
    # Skills of packages and folders that are kept whatever their effect.
    pinned: tuple[str, ...] = ()


class Boost(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An addition to the relevance of the skills that meet all its conditions."""

    add: float
    kind: SkillKind | None = None
    when: dict[str, str | float | bool] = field(default_factory=dict)  # context keys and values
    above: dict[str, float] = field(default_factory=dict)  # context keys with a larger number
    unless: tuple[str, ...] = ()  # context keys that are not true
    says: tuple[str, ...] = ()  # any of these in the skill's text

    @property
    def name(self) -> str:
        """The conditions in words, such as `warning above recent_loss_count 0`."""
        parts: list[str] = [self.kind or ""]
        parts += [f"when {key} {value}" for key, value in self.when.items()]
        parts += [f"above {key} {value:g}" for key, value in self.above.items()]
        parts += [f"unless {key}" for key in self.unless]
        parts += [f"says {' or '.join(self.says)}"] if self.says else []
        return " ".join(filter(None, parts)) or "always"

    def __str__(self) -> str:
        return f"{self.name} {self.add:+g}"


BOOSTS = (
    Boost(add=0.2, kind="strategy"),
    Boost(add=0.15, kind="warning", above={"recent_loss_count": 0}),
    Boost(add=0.1, kind="pattern", unless=("has_open_positions",)),
    Boost(add=0.15, kind="evolved"),
    Boost(add=0.1, kind="warning", when={"volatility": "high"}),
    Boost(add=0.1, when={"trend": "bearish"}, says=("exit", "loss")),
)


class RecommendPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings for the selection of skills before a task."""

    # The most skills to recommend if no task is given.
    limit: Positive = 5
    # With a task: leaves out what has less evidence, from 0 to 1, that it answers the task.
    answers: Share = 0.14
    # With a task: leaves out skills about other actions with less than this share of the evidence
    # for the best one.
    beside: Share = 0.8
    # With a task: the most skills that are shown or named.
    named: Positive = 10
    # The most skills whose texts are shown, the best first; None: all.
    bodies: Count | None = 3
    # With a task: the most facts that answer it, a line each.
    facts: Count = 5
    # The most tokens of the whole answer; None: no limit.
    budget: Positive | None = 700
    # The relevance that every skill starts with.
    base: Share = 0.5
    # Added to the relevance if kind, context and text match; the sum is at most 1.
    boosts: tuple[Boost, ...] = BOOSTS
    # The relevance that the best match for a task gains and a skill without a match loses; 0: tasks
    # do not count.
    task: Share = 0.25
    # Leaves out a skill below this relevance.
    min_relevance: Share = 0.3
    # Added to the rank of a proven skill.
    proven: Amount = 0.1


class EffectPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings for measuring the effect of skills, and its consequences."""

    # The chance that a skill is left out of a decision, to measure its effect.
    holdout: HeldShare = 0.1
    # That chance for a proven skill; it falls as the skill is surer to help.
    holdout_proven: HeldShare = 0.02
    # The ranking uses the effect of so many latest applications.
    latest: Annotated[int, Meta(ge=10)] = 60
    # The share of decisions that show a new skill in the last place.
    explore: Share = 0.9
    # A skill applied less often than this is new.
    explore_until: Count = 7
    # Taken from a new skill's rank for that place, for each use.
    explore_cost: Amount = 0.2
    # How much of an effect's uncertainty randomizes the ranking.
    sampling: Share = 0.2
    # Added to a skill's rank for an effect of 1.
    bonus: Amount = 1.0
    # How far from 0 effects are expected to be. A larger value shrinks them less.
    scale: Chance = 0.15
    # The part of its effect that a rewritten skill is expected to keep.
    carry: Annotated[float, Meta(ge=0, lt=1)] = 0.5
    # A skill applied less often than this gets no verdict.
    min_applied: Positive = 3
    # A skill becomes proven above this chance that it helps.
    proven_above: Share = 0.95
    # The most chance that a skill without effect is ever called proven.
    proven_chance: Chance = 0.12
    # Below this chance that it helps, a skill is no longer proven.
    proven_below: Share = 0.8
    # Above this chance that it helps, the verdict is that a skill helps.
    helps_above: Share = 0.75
    # Below this chance that it helps, a skill is not recommended, unless it is new.
    hurts_below: Share = 0.27
    # Below this chance that it helps, a skill is retired.
    retired_below: Share = 0.05
    # The same by its latest uses.
    retired_lately: Share = 0.01
    # The most chance that a skill without effect is ever retired.
    retired_chance: Chance = 0.12
    # A skill applied less often than this is not retired.
    retire_after: Positive = 10
    # From this chance that it helps, a harmful or retired skill is tried again.
    restored_above: Share = 0.2
    # Days until a skill that was retired for its effect is tried again.
    trial_days: Positive = 90
    # Or decisions of its domain until then, whichever comes first.
    trial_decisions: Positive = 200
    # The least days between two trials of a skill.
    trial_pause: Positive = 365
    # The decisions that a trial shows a skill to.
    trial_shown: Positive = 10


class JudgePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings for the judge, its budget, and its bounds before acting."""

    # offline: free and deterministic; claude: asks the Anthropic API; agent: offline, until an
    # agent answers what `skillvault ask` prints; client: offline, until your client answers in the
    # background.
    provider: Literal["offline", "client", "claude", "agent"] = "offline"
    # The client that is asked in the background.
    client: Literal["claude-code", "codex"] = "claude-code"
    # The model that the client asks; empty: haiku in Claude Code, its own default in Codex.
    client_model: str = ""
    # The most calls of the client in a day (UTC).
    client_calls_per_day: Count = 20
    # The most tokens of the client's calls in a day (UTC).
    client_tokens_per_day: Count = 200_000
    # The seconds after which a call of the client is killed.
    client_seconds: Annotated[float, Meta(ge=1, le=600)] = 300.0
    # The Claude model that evaluates and writes.
    model: str = THOROUGH
    # The Claude model asked before acting if little is at stake, and about sessions.
    fast_model: str = FAST
    # The most tokens of a reply, thinking included.
    max_tokens: Annotated[int, Meta(ge=256)] = 8192
    # Sent if set. Only models up to generation 4.6 accept it.
    temperature: Share | None = None
    # The most dollars that this clone spends in a day (UTC).
    usd_per_day: Amount = 5.0
    # The most requests that this clone sends in a day (UTC).
    calls_per_day: Count = 1000
    # The most seconds for one question, retries included.
    deadline_seconds: Annotated[float, Meta(ge=1, le=600)] = 120.0
    # Sets an outcome aside after so many failed attempts.
    attempts: Positive = 5
    # Asks `model` before acting on an amount this large or larger.
    thorough_from: Amount = 1000.0
    # The most seconds to wait for an answer before acting.
    inline_seconds: Annotated[float, Meta(ge=1, le=600)] = 30.0
    # Before acting, a lower quality is a no.
    min_quality: Share = 0.4
    # Before acting, a lower confidence (agent's or judge's) is a no.
    min_confidence: Share = 0.5
    # Actions that do nothing; the judge is not asked before them.
    skip: tuple[str, ...] = ("hold", "wait", "none", "skip", "noop")
    # Agents are not asked about anything older, in days.
    patience: Count = 3
    # The most questions that one session of an agent answers.
    asks_per_session: Count = 2
    # The most outcomes judged at once.
    concurrency: Annotated[int, Meta(ge=1, le=32)] = 4
    # The most characters of a reasoning beside a skill's text.
    reasoning_characters: Annotated[int, Meta(ge=200)] = 2000
    # Dollars per million tokens in and out, for models without a known price.
    prices: dict[str, tuple[float, float]] = field(default_factory=dict)

    def price(self, model: str) -> Price:
        """Return the price of a model."""
        stated = self.prices.get(model)
        return Price(*stated) if stated else MODELS[model]


class TranscriptsPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Signs in a transcript that show how a prompt ended."""

    # Regular expressions for tests, builds, linters, migrations and deployments, matched at the
    # start of each part of a command.
    checks: tuple[str, ...] = _CHECKS


class HookPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings for the hooks of an agent's client."""

    # Path pattern (`~/work/shop*`): the domain of the folders that match it. Otherwise `--domain`,
    # or the repository's name.
    domains: dict[str, str] = field(default_factory=dict)
    # Sends an agent back, once a prompt, if it claims success although its last check failed. Only
    # in a terminal.
    insist: bool = False
    # The most tokens of skills at the start of a session; 0: none.
    briefing: Count = 300


class Policy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings of `vault.yaml`."""

    # The version of the vault's file format.
    format: Literal[1] = 1
    # The branch that learns. On any other branch, everything waits.
    branch: Annotated[str, Meta(pattern=_BRANCH)] = "main"
    # The clone that learns (docs/team.md), or all. Other clones only record. The first `skillvault
    # sync` sets it.
    learner: str | None = None
    # full: each commit survives a power loss; normal: the last seconds may be lost.
    durability: Literal["full", "normal"] = "full"
    # The domains that this vault expects.
    domains: tuple[str, ...] = ()
    # seed: the rules of the original designs; wilson: 5 uses at 55 % prove a skill.
    profile: ProfileName = "lift"
    roles: RolesPolicy = field(default_factory=RolesPolicy)
    commit: CommitPolicy = field(default_factory=CommitPolicy)
    record: RecordPolicy = field(default_factory=RecordPolicy)
    evaluate: EvaluatePolicy = field(default_factory=EvaluatePolicy)
    promote: PromotePolicy = field(default_factory=PromotePolicy)
    generate: GeneratePolicy = field(default_factory=GeneratePolicy)
    distill: DistillPolicy = field(default_factory=DistillPolicy)
    merge: MergePolicy = field(default_factory=MergePolicy)
    capture: CapturePolicy = field(default_factory=CapturePolicy)
    shelf: ShelfPolicy = field(default_factory=ShelfPolicy)
    recommend: RecommendPolicy = field(default_factory=RecommendPolicy)
    effect: EffectPolicy = field(default_factory=EffectPolicy)
    judge: JudgePolicy = field(default_factory=JudgePolicy)
    transcripts: TranscriptsPolicy = field(default_factory=TranscriptsPolicy)
    hook: HookPolicy = field(default_factory=HookPolicy)

    @property
    def ahead(self) -> timedelta:
        """The longest time into the future that an outcome may be dated."""
        return timedelta(days=self.record.days_ahead)

    def days(self, kind: str) -> int | None:
        """Return the days until a skill of this kind expires, or None."""
        days: int | None = getattr(self.generate, f"{kind}_days", None)
        return days


def parse_policy(raw: Any) -> Policy:
    """Return the policy in the parsed `vault.yaml`. Raise BadInputError with the wrong key."""
    if raw is None:
        raw = {}
    if not isinstance(raw, Mapping):
        raise BadInputError("expected keys and values, such as `format: 1`", code="wrong-type")
    _check_headings(raw)
    try:
        policy = convert_stored(_with_profile(raw), Policy)
    except BadInputError as error:
        raise _with_suggestion(error) from None
    _check_models(policy.judge)
    _check_patterns(policy.transcripts)
    for name in policy.domains:
        if not is_slug(name):
            problem = (
                f"{name!r} cannot be a folder name; use lower-case letters, digits "
                "and single hyphens"
            )
            raise key_error("domains", "bad-domain", problem)
    return policy


def _with_profile(raw: Mapping[Any, Any]) -> dict[Any, Any]:
    profile = raw.get("profile")
    settings = PROFILE_SETTINGS.get(profile, {}) if isinstance(profile, str) else {}
    merged = dict(raw)
    for section, defaults in settings.items():
        values = raw.get(section, {})
        merged[section] = {**defaults, **values} if isinstance(values, Mapping) else values
    return merged


def _check_headings(raw: Mapping[Any, Any]) -> None:
    rules = raw.get("generate")
    headings = rules.get("context_headings") if isinstance(rules, Mapping) else None
    for domain, heading in headings.items() if isinstance(headings, Mapping) else ():
        key = f"generate.context_headings.{domain}"
        if not (isinstance(domain, str) and is_slug(domain)):
            problem = f"{domain!r} is not a domain's name; use a slug such as perps"
            raise key_error(key, "bad-domain", problem)
        if not isinstance(heading, str) or not _HEADING.fullmatch(heading):
            problem = "expected a heading of one line, such as `Market Context`"
            raise key_error(key, "bad-value", problem)


def _check_patterns(transcripts: TranscriptsPolicy) -> None:
    for pattern in transcripts.checks:
        try:
            re.compile(pattern)
        except re.error as error:
            raise key_error(
                "transcripts.checks",
                "bad-value",
                f"{pattern[:80]!r} is not a regular expression ({error}); correct it, or quote it",
            ) from None


def _check_models(judge: JudgePolicy) -> None:
    """Refuse a model without a known price, and a temperature that a model does not accept.

    No budget can limit a model without a price.
    """
    for key, model in (("judge.model", judge.model), ("judge.fast_model", judge.fast_model)):
        if model not in {*MODELS, *judge.prices}:
            problem = (
                f"the price of {model!r} is unknown; choose one of {', '.join(MODELS)}, "
                f"or state its price: `prices: {{{model}: [2.0, 10.0]}}`"
            )
            raise key_error(key, "unknown-model", problem)
        if (
            judge.temperature is not None
            and model in MODELS
            and not MODELS[model].takes_temperature
        ):
            problem = f"{model} accepts none; remove the key, or choose another {key}"
            raise key_error("judge.temperature", "bad-value", problem)


def settings() -> Iterator[tuple[str, Any]]:
    """Yield (key, default) for every setting, in the order of `vault.yaml`."""
    for section, value in msgspec.structs.asdict(Policy()).items():
        if isinstance(value, Struct):
            for name, default in msgspec.structs.asdict(value).items():
                yield f"{section}.{name}", default
        else:
            yield section, value


def _with_suggestion(error: BadInputError) -> BadInputError:
    match = _UNKNOWN.search(error.message)
    if match is None:
        return error
    key = ".".join(filter(None, (error.key, match["name"])))
    names = [name for name, _ in settings()] + [*Policy.__struct_fields__]
    matches = difflib.get_close_matches(key, names, n=1)
    hint = f"did you mean {matches[0]!r}?" if matches else "see the policy table in docs/policy.md"
    return key_error(key, "unknown-key", f"no such setting; {hint}")
