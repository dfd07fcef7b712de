"""Policy: what `vault.yaml` may say, one section a step, every threshold with its sentence.

`vault.yaml` holds only what differs from these defaults. The README's table is made
from here (`table`), and a test compares the two.
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta, Struct, field

from skillvault.claude_models import FAST, MODELS, THOROUGH, Price
from skillvault.errors import BadInputError
from skillvault.intake import stored
from skillvault.records import SkillKind
from skillvault.text import is_slug

# What git takes for a branch's name, and what no command could take for anything else.
_BRANCH = r"^(?![-/.])(?!.*(?:\.\.|@\{|//))[^\x00-\x20~^:?*\[\\\x7f]+$"


class RecordPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which outcomes are taken in."""

    domains: Annotated[
        Literal["open", "closed"],
        Meta(description="open: an outcome may name a new domain; closed: only those listed."),
    ] = "open"
    scores: Annotated[
        Literal["bounded", "unbounded"],
        Meta(description="bounded: a score outside -1..1 is refused as a percent by mistake."),
    ] = "bounded"
    days_ahead: Annotated[
        float, Meta(ge=0, description="An outcome further in the future, in days, is refused.")
    ] = 1.0
    settle_seconds: Annotated[
        float,
        Meta(ge=0, le=60, description="An inbox file is taken when it has been still so long."),
    ] = 0.5


class EvaluatePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When the judge's words count."""

    peers: Annotated[
        int, Meta(ge=20, description="So many outcomes of its action one is compared with at most.")
    ] = 300
    min_insight: Annotated[
        int, Meta(ge=1, description="An insight of fewer characters is no insight.")
    ] = 10
    contrast_support: Annotated[
        int, Meta(ge=1, description="A condition must hold for so many outcomes of the group.")
    ] = 3
    contrast_false_discovery: Annotated[
        float,
        Meta(gt=0, lt=1, description="Share of named conditions that may be chance (BH)."),
    ] = 0.2


class PromotePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which insights become facts, and which facts a skill."""

    gate: Annotated[
        Literal["verdict", "quality"],
        Meta(description="verdict: confirmed bad decisions teach too; quality: good ones alone."),
    ] = "verdict"
    quality: Annotated[
        float,
        Meta(
            gt=0.5, le=1, description="A good decision's least quality; of a bad one 1 - quality."
        ),
    ] = 0.7
    high_from: Annotated[
        float, Meta(ge=0, le=1, description="Strength from which on a fact's importance is high.")
    ] = 0.85
    duplicate_above: Annotated[
        float, Meta(ge=0, le=1, description="An insight more similar to a fact repeats it.")
    ] = 0.6
    cluster_above: Annotated[
        float,
        Meta(ge=0, le=1, description="A fact more similar to a cluster's first one joins it."),
    ] = 0.4
    cluster_size: Annotated[
        int,
        Meta(
            ge=2, description="Facts that make a pattern; sessions that make one of a single fact."
        ),
    ] = 3
    min_sessions: Annotated[
        int, Meta(ge=1, description="Sessions behind a pattern that is served without approval.")
    ] = 2
    every: Annotated[
        int, Meta(ge=1, description="Patterns are looked for in each such cycle of the daemon.")
    ] = 1


class GeneratePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which outcomes are significant enough for a skill, and how long it lives."""

    warning_below: Annotated[
        float, Meta(lt=0, description="A score strictly below it makes a warning.")
    ] = -0.10
    pattern_above: Annotated[
        float, Meta(gt=0, description="A score strictly above it makes a pattern.")
    ] = 0.20
    warning_days: Annotated[
        int, Meta(ge=1, description="Days from its making to a warning's expiry date.")
    ] = 60
    pattern_days: Annotated[
        int, Meta(ge=1, description="Days from its making to a pattern's expiry date.")
    ] = 90
    evolved_days: Annotated[
        int, Meta(ge=1, description="Days from its last growth to an evolved skill's expiry date.")
    ] = 180
    strategy_days: Annotated[
        int, Meta(ge=1, description="Days from its last writing to a strategy's expiry date.")
    ] = 180
    strategy_every: Annotated[
        int, Meta(ge=2, description="Outcomes of a domain since its last strategy that make one.")
    ] = 10
    strategy_min: Annotated[
        int, Meta(ge=2, description="A strategy looks at so many outcomes, where there are.")
    ] = 20
    strategy_max: Annotated[
        int, Meta(ge=1, description="A strategy looks at the latest so many outcomes at most.")
    ] = 200
    context_headings: Annotated[
        dict[str, str],
        Meta(description="A domain's own heading for its context; else Market Context or Context."),
    ] = field(default_factory=dict)


class MergePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which skills say the same, and how long the one that stands for them may be."""

    similarity: Annotated[
        float,
        Meta(ge=0, le=1, description="Share of the shorter of two, above which they say the same."),
    ] = 0.5
    min_similar: Annotated[
        int, Meta(ge=1, description="So many skills that say the same as a new one merge with it.")
    ] = 2
    reread: Annotated[
        int,
        Meta(ge=2, description="So many sources are read again as one grows; of more, its text."),
    ] = 24
    max_tokens: Annotated[
        int, Meta(ge=100, description="An evolved skill's text; the rest stands in references/.")
    ] = 600


class ShelfPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where skills come from besides the package and the vault."""

    dirs: Annotated[
        tuple[str, ...],
        Meta(description="Folders of skills, from the vault's root; later ones override earlier."),
    ] = ()


class Boost(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is added to the relevance of the skills that all its conditions hold for."""

    add: float
    kind: SkillKind | None = None
    when: dict[str, str | float | bool] = field(default_factory=dict)  # context keys that are so
    above: dict[str, float] = field(default_factory=dict)  # context keys with a larger number
    unless: tuple[str, ...] = ()  # context keys that are not true
    says: tuple[str, ...] = ()  # any of these in the skill's text

    @property
    def name(self) -> str:
        """Its conditions in words, such as `warning above recent_loss_count 0`."""
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
    """Which skills earn a place before a task, and how many."""

    limit: Annotated[int, Meta(ge=1, description="At most so many skills are recommended.")] = 5
    budget: Annotated[
        int, Meta(ge=1, description="Their texts have at most so many tokens together.")
    ] = 2000
    base: Annotated[
        float, Meta(ge=0, le=1, description="The relevance of every skill to begin with.")
    ] = 0.5
    boosts: Annotated[
        tuple[Boost, ...],
        Meta(description="Added to it where kind, context and text are as said; 1 at most."),
    ] = BOOSTS
    task: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="Of a task, what the best text adds and one without a word of it loses.",
        ),
    ] = 0.25
    min_relevance: Annotated[
        float, Meta(ge=0, le=1, description="A skill below it is left out.")
    ] = 0.3
    proven: Annotated[
        float, Meta(ge=0, description="What a proven skill's order gains over its relevance.")
    ] = 0.1


class EffectPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How what a skill changes is learned, and what follows."""

    holdout: Annotated[
        float,
        Meta(ge=0, le=0.5, description="Share of a decision's skills not shown, to compare with."),
    ] = 0.1
    min_held_out: Annotated[
        int,
        Meta(ge=1, description="Held out so often, a skill is measured by whom it was offered to."),
    ] = 5
    explore: Annotated[
        float,
        Meta(
            ge=0, le=1, description="Share of decisions in which the last place is for a new skill."
        ),
    ] = 0.9
    explore_until: Annotated[int, Meta(ge=0, description="A skill applied less often is new.")] = 7
    explore_cost: Annotated[
        float,
        Meta(ge=0, description="What each use takes from the order in which new ones are tried."),
    ] = 0.2
    sampling: Annotated[
        float,
        Meta(ge=0, le=1, description="Share of a lift's uncertainty by which the order is drawn."),
    ] = 0.2
    bonus: Annotated[
        float, Meta(ge=0, description="What a lift of 1 adds to the order of a skill.")
    ] = 1.0
    scale: Annotated[
        float,
        Meta(
            gt=0, le=1, description="How far from 0 lifts are expected: larger shrinks them less."
        ),
    ] = 0.15
    carry: Annotated[
        float,
        Meta(ge=0, lt=1, description="How like its old text's lift that of a rewritten skill is."),
    ] = 0.5
    min_applied: Annotated[
        int, Meta(ge=1, description="Nothing is said of a skill that was applied less often.")
    ] = 3
    proven_above: Annotated[
        float, Meta(ge=0, le=1, description="P(lift > 0) above which a skill becomes proven.")
    ] = 0.95
    proven_below: Annotated[
        float, Meta(ge=0, le=1, description="P(lift > 0) below which it is proven no more.")
    ] = 0.8
    helps_above: Annotated[
        float, Meta(ge=0, le=1, description="P(lift > 0) above which a skill is said to help.")
    ] = 0.75
    hurts_below: Annotated[
        float,
        Meta(ge=0, le=1, description="P(lift > 0) below which a skill is at most tried while new."),
    ] = 0.27
    retired_below: Annotated[
        float, Meta(ge=0, le=1, description="P(lift > 0) below which a skill is retired.")
    ] = 0.05
    retire_after: Annotated[int, Meta(ge=1, description="Applications before that retires it.")] = (
        10
    )
    restored_above: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="P(lift > 0) that gives what seems to hurt, or was retired, a chance.",
        ),
    ] = 0.2
    streak_chance: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="Five or more failures in a row retire where the base makes them rarer.",
        ),
    ] = 0.01


class JudgePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who judges and writes, what it may cost, and when a judge says no."""

    provider: Annotated[
        Literal["offline", "claude"],
        Meta(description="offline: free and deterministic; claude: asks the Anthropic API."),
    ] = "offline"
    model: Annotated[str, Meta(description="The Claude model that evaluates and writes.")] = (
        THOROUGH
    )
    fast_model: Annotated[
        str,
        Meta(description="Asked before acting, where little is at stake."),
    ] = FAST
    max_tokens: Annotated[
        int, Meta(ge=256, description="A reply has at most so many tokens, thinking included.")
    ] = 8192
    temperature: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        Meta(description="Sent where given; only models of the 4.6 generation and older take one."),
    ] = None
    usd_per_day: Annotated[
        float, Meta(ge=0, description="Dollars that this clone spends in a day (UTC) at most.")
    ] = 5.0
    calls_per_day: Annotated[
        int, Meta(ge=0, description="Requests that this clone sends in a day (UTC) at most.")
    ] = 1000
    deadline_seconds: Annotated[
        float, Meta(ge=1, le=600, description="One question takes so long at most, with retries.")
    ] = 120.0
    attempts: Annotated[
        int, Meta(ge=1, description="An outcome that fails so often is set aside.")
    ] = 5
    thorough_from: Annotated[
        float,
        Meta(ge=0, description="Before acting on so large an amount, `model` is asked."),
    ] = 1000.0
    inline_seconds: Annotated[
        float, Meta(ge=1, le=600, description="Before acting, an answer is waited for so long.")
    ] = 30.0
    min_quality: Annotated[
        float, Meta(ge=0, le=1, description="Before acting, a quality below it is a no.")
    ] = 0.4
    min_confidence: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="Before acting, a stated confidence that the judge sees below it is a no.",
        ),
    ] = 0.5
    skip: Annotated[
        tuple[str, ...], Meta(description="Actions that are none, and need no judge before them.")
    ] = ("hold", "wait", "none", "skip", "noop")
    concurrency: Annotated[
        int, Meta(ge=1, le=32, description="So many outcomes are judged at once at most.")
    ] = 4
    prices: Annotated[
        dict[str, tuple[float, float]],
        Meta(description="Dollars per million tokens in and out, of models not in our table."),
    ] = field(default_factory=dict)

    def price(self, model: str) -> Price:
        """What a model costs."""
        stated = self.prices.get(model)
        return Price(*stated) if stated else MODELS[model]


class Policy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything `vault.yaml` may say."""

    format: Annotated[Literal[1], Meta(description="The version of the vault's file format.")] = 1
    branch: Annotated[
        str,
        Meta(pattern=_BRANCH, description="The branch that learns; on another one all waits."),
    ] = "main"
    durability: Annotated[
        Literal["full", "normal"],
        Meta(
            description="full: a commit lasts through a loss of power; normal: the system's pace."
        ),
    ] = "full"
    domains: Annotated[
        tuple[str, ...], Meta(description="The domains this vault is known to be about.")
    ] = ()
    profile: Annotated[
        Literal["lift", "seed", "wilson"],
        Meta(description="What proves a skill: its lift; seed: 3 uses at 50 %; wilson: 5 at 55 %."),
    ] = "lift"
    record: RecordPolicy = field(default_factory=RecordPolicy)
    evaluate: EvaluatePolicy = field(default_factory=EvaluatePolicy)
    promote: PromotePolicy = field(default_factory=PromotePolicy)
    generate: GeneratePolicy = field(default_factory=GeneratePolicy)
    merge: MergePolicy = field(default_factory=MergePolicy)
    shelf: ShelfPolicy = field(default_factory=ShelfPolicy)
    recommend: RecommendPolicy = field(default_factory=RecommendPolicy)
    effect: EffectPolicy = field(default_factory=EffectPolicy)
    judge: JudgePolicy = field(default_factory=JudgePolicy)

    @property
    def ahead(self) -> timedelta:
        """How far in the future an outcome may lie."""
        return timedelta(days=self.record.days_ahead)

    def days(self, kind: str) -> int | None:
        """Days a skill of this kind lives; None for one that does not expire."""
        return {
            "warning": self.generate.warning_days,
            "pattern": self.generate.pattern_days,
            "strategy": self.generate.strategy_days,
            "evolved": self.generate.evolved_days,
        }.get(kind)


_UNKNOWN = re.compile(r"unknown field `(?P<name>[^`]+)`")
_HEADING = re.compile(r"(?=\S)[^\n\r#]{1,60}(?<=\S)")


def policy_from(raw: Any) -> Policy:
    """The policy that the parsed `vault.yaml` states; BadInputError names the key."""
    if raw is None:
        raw = {}
    if not isinstance(raw, Mapping):
        raise BadInputError("expected keys and values, such as `format: 1`", code="wrong-type")
    _check_headings(raw)
    try:
        policy = stored(raw, Policy)
    except BadInputError as error:
        raise _with_suggestion(error) from None
    _check_models(policy.judge)
    for name in policy.domains:
        if not is_slug(name):
            raise BadInputError(
                f"domains: {name!r} cannot be a folder name; use lower-case letters, digits "
                "and single hyphens",
                code="bad-domain",
                key="domains",
            )
    return policy


def _check_headings(raw: Mapping[Any, Any]) -> None:
    """The keys of this one mapping are no settings, so a bad one is named here."""
    rules = raw.get("generate")
    headings = rules.get("context_headings") if isinstance(rules, Mapping) else None
    for domain, heading in headings.items() if isinstance(headings, Mapping) else ():
        key = f"generate.context_headings.{domain}"
        if not (isinstance(domain, str) and is_slug(domain)):
            raise BadInputError(
                f"{key}: {domain!r} is not a domain's name; use a slug such as perps",
                code="bad-domain",
                key=key,
            )
        if not isinstance(heading, str) or not _HEADING.fullmatch(heading):
            raise BadInputError(
                f"{key}: expected a heading of one line, such as `Market Context`",
                code="bad-value",
                key=key,
            )


def _check_models(judge: JudgePolicy) -> None:
    """A model whose price nobody knows has no cap; one that takes no temperature refuses all."""
    for key, model in (("judge.model", judge.model), ("judge.fast_model", judge.fast_model)):
        if model not in {*MODELS, *judge.prices}:
            raise BadInputError(
                f"{key}: the price of {model!r} is unknown; choose one of {', '.join(MODELS)}, "
                f"or state its price: `prices: {{{model}: [2.0, 10.0]}}`",
                code="unknown-model",
                key=key,
            )
        if judge.temperature is not None and model in MODELS and not MODELS[model].tempered:
            raise BadInputError(
                f"judge.temperature: {model} accepts none; remove the key, or choose another {key}",
                code="bad-value",
                key="judge.temperature",
            )


def rows() -> Iterator[tuple[str, str, str]]:
    """(key, default, sentence) of every setting, in the order of `vault.yaml`."""
    for name, default, meta in _settings(Policy):
        if isinstance(default, Struct):
            for key, value, inner in _settings(type(default)):
                yield f"{name}.{key}", _default_text(value), inner
        else:
            yield name, _default_text(default), meta


def table() -> str:
    """The policy as the table of docs/policy.md."""
    lines = ["| key | default | what it means |", "|---|---|---|"]
    lines += [f"| `{key}` | `{default}` | {sentence} |" for key, default, sentence in rows()]
    return "\n".join(lines)


def _settings(kind: type[Struct]) -> Iterator[tuple[str, Any, str]]:
    for setting in msgspec.structs.fields(kind):
        metas = [a for a in get_args(setting.type) if isinstance(a, Meta)]
        default = (
            setting.default
            if setting.default is not msgspec.NODEFAULT
            else setting.default_factory()
        )
        yield setting.name, default, (metas[0].description or "") if metas else ""


def _default_text(value: Any) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)


def _with_suggestion(error: BadInputError) -> BadInputError:
    unknown = _UNKNOWN.search(error.message)
    if unknown is None:
        return error
    key = ".".join(filter(None, (error.key, unknown["name"])))
    names = [name for name, _, _ in rows()] + [f.name for f in msgspec.structs.fields(Policy)]
    close = difflib.get_close_matches(key, names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "see the policy table in docs/policy.md"
    return BadInputError(f"{key}: no such setting; {hint}", code="unknown-key", key=key)
