"""Policy: the settings of `vault.yaml`, a section for each step, a sentence for each threshold.

`vault.yaml` holds only settings that differ from these defaults and from its profile.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from skillvault.model.claude_models import FAST, MODELS, THOROUGH, Price
from skillvault.model.records import SkillKind

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
    },
}

_DIGITS = 9  # of a score; a computed score is not exact beyond them
# A branch name that git accepts and no command takes for an option or a revision.
_BRANCH = r"^(?![-/.])(?!.*(?:\.\.|@\{|//))[^\x00-\x20~^:?*\[\\\x7f]+$"


def doc(sentence: str) -> Meta:
    """Return the metadata that documents a setting."""
    return Meta(description=sentence)


class DailyQuota(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The most files, and the most bytes recorded of them, in a day (UTC)."""

    files: Annotated[int, Meta(ge=0)] = 100
    bytes: Annotated[int, Meta(ge=0)] = 1 << 20

    def __str__(self) -> str:
        return f"{{files: {self.files}, bytes: {self.bytes}}}"


class CommitPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The author of commits."""

    author: Annotated[
        Literal["program", "person"],
        doc(
            "The author of learned commits. program: skillvault <skillvault@localhost>; "
            "person: you."
        ),
    ] = "program"


class RecordPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Intake of outcomes."""

    domains: Annotated[
        Literal["open", "closed"],
        doc("open: an outcome may name a new domain; closed: only a listed one."),
    ] = "open"
    scores: Annotated[
        Literal["bounded", "unbounded"],
        doc("bounded: refuses a score outside -1..1, which is probably a percentage."),
    ] = "bounded"
    days_ahead: Annotated[
        Amount, doc("Refuses an outcome dated more than so many days in the future.")
    ] = 1.0
    settle_seconds: Annotated[
        float, Meta(ge=0, le=60), doc("Takes an inbox file once it has not changed for this long.")
    ] = 0.5
    untrusted_per_day: Annotated[
        DailyQuota, doc("The most that inbox/untrusted/ takes in a day (UTC); the rest waits.")
    ] = DailyQuota()


class EvaluatePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Evaluation of outcomes."""

    peers: Annotated[
        int, Meta(ge=20), doc("An account and its rules use so many of the latest outcomes.")
    ] = 200
    min_insight: Annotated[
        Positive, doc("Ignores an insight shorter than this, in characters.")
    ] = 10
    episode_minutes: Annotated[
        Count, doc("Decisions of one action so close to each other count as one.")
    ] = 10
    untrusted_per_day: Annotated[
        Count, doc("The most untrusted outcomes that are judged in a day (UTC), after all others.")
    ] = 50


class PromotePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Promotion of insights to facts, and of facts to skills."""

    gate: Annotated[
        Literal["verdict", "quality"],
        doc("verdict: confirmed bad decisions teach too; quality: only good ones."),
    ] = "verdict"
    quality: Annotated[
        float,
        Meta(gt=0.5, le=1),
        doc("The least quality of a good decision; a bad one has at most 1 minus this."),
    ] = 0.7
    high_from: Annotated[Share, doc("A fact at least this strong gets high importance.")] = 0.85
    duplicate_above: Annotated[
        Share, doc("Under seed: an insight more similar to a fact than this repeats it.")
    ] = 0.6
    cluster_above: Annotated[
        Share, doc("A fact more similar than this to a cluster's first fact joins it.")
    ] = 0.4
    cluster_size: Annotated[
        int, Meta(ge=2), doc("A pattern needs so many facts, or one fact from so many sessions.")
    ] = 3
    min_sessions: Annotated[
        Count, doc("How many sessions a pattern needs to be served without approval.")
    ] = 2
    general_domains: Annotated[
        int, Meta(ge=2), doc("A fact that recurs in so many domains can hold in all.")
    ] = 2
    general_runs: Annotated[Positive, doc("Such a fact needs so many runs that support it.")] = 5
    general_rate: Annotated[Share, doc("Such a fact needs this share of runs that ended well.")] = (
        0.5
    )
    every: Annotated[Positive, doc("The daemon looks for patterns once in so many cycles.")] = 1


class GeneratePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Generation of skills from significant outcomes, and their expiry."""

    gate: Annotated[
        Literal["never", "unproven", "always"],
        doc(
            "New skills that wait in proposed/ for your approval. unproven: those of one "
            "session; always: all, and changes of approved ones; never: none. Untrusted "
            "ones always wait."
        ),
    ] = "unproven"
    warning_below: Annotated[
        float, Meta(lt=0), doc("A score strictly below this makes a warning.")
    ] = -0.10
    pattern_above: Annotated[
        float, Meta(gt=0), doc("A score strictly above this makes a pattern.")
    ] = 0.20
    warning_days: Annotated[Positive, doc("Days until a new warning expires.")] = 60
    pattern_days: Annotated[Positive, doc("Days until a new pattern expires.")] = 90
    evolved_days: Annotated[
        Positive, doc("Days until an evolved skill expires after it last grew.")
    ] = 180
    strategy_days: Annotated[
        Positive, doc("Days until a strategy expires after it was last written.")
    ] = 180
    strategy_every: Annotated[
        int,
        Meta(ge=2),
        doc("A domain gets a strategy after so many tries; under seed, after so many new ones."),
    ] = 10
    strategy_max: Annotated[Positive, doc("Under seed: the most outcomes a strategy looks at.")] = (
        200
    )
    guide_tokens: Annotated[
        int, Meta(ge=100), doc("The most tokens of a guide; the rest goes to references/.")
    ] = 700
    max_tokens: Annotated[
        int,
        Meta(ge=100),
        doc("The most tokens of another learned skill; the rest goes to references/."),
    ] = 400
    context_headings: Annotated[
        dict[str, str], doc("A domain's heading for its context, if not Market Context or Context.")
    ] = field(default_factory=dict)

    def length(self, kind: str) -> int:
        """Return the most tokens of a text."""
        return self.guide_tokens if kind == "guide" else self.max_tokens

    def makes_warning(self, score: float) -> bool:
        """Return True if a score is below its bound by more than a rounding error."""
        return round(score, _DIGITS) < round(self.warning_below, _DIGITS)

    def makes_pattern(self, score: float) -> bool:
        """Return True if a score is above its bound by more than a rounding error."""
        return round(score, _DIGITS) > round(self.pattern_above, _DIGITS)


class DistillPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Distillation of finished sessions."""

    min_failures: Annotated[
        Positive, doc("A session with so many different failures becomes a skill.")
    ] = 2
    min_successes: Annotated[Positive, doc("A session with so many successes becomes a skill.")] = 5
    failures: Annotated[
        Count, doc("The skill of a session mentions at most so many failures, the first ones.")
    ] = 5
    successes: Annotated[
        Count, doc("The skill of a session mentions at most so many successes, the first ones.")
    ] = 5
    min_similar: Annotated[
        Positive,
        doc(
            "A session's skill is merged with others if at least so many are similar "
            "(`merge.similarity`)."
        ),
    ] = 1
    max_tokens: Annotated[
        int, Meta(ge=256), doc("The most tokens of a model's reply about a session.")
    ] = 1024


class MergePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Merging of skills that say the same."""

    similarity: Annotated[
        Share,
        doc(
            "Two skills of sessions are similar if they share more than this part of the "
            "shorter one's statements; under seed, other skills too."
        ),
    ] = 0.5
    min_similar: Annotated[
        Positive, doc("Under seed: a skill is merged with others if at least so many are similar.")
    ] = 2
    max_tokens: Annotated[
        int, Meta(ge=100), doc("The most tokens of a merged skill; the rest goes to references/.")
    ] = 400


class CapturePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Promotion of noted rules to patterns, and their share of a prompt."""

    code: Annotated[
        tuple[str, ...], doc("Folders of code that may support rules, relative to the vault.")
    ] = ()
    hours: Annotated[float, Meta(gt=0), doc("Hours until the code is searched again.")] = 24
    files: Annotated[Positive, doc("A rule that so many files support becomes a pattern.")] = 3
    high: Annotated[Positive, doc("A pattern that so many files support has high confidence.")] = 5
    missed_hours: Annotated[Amount, doc("Hours between the two misses that end a pattern.")] = 24
    budget: Annotated[Count, doc("The most tokens of patterns and rules in a prompt.")] = 1000


class ShelfPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Skills from outside the package and the vault."""

    dirs: Annotated[
        tuple[str, ...],
        doc("Folders of skills, later ones override earlier; outside the vault: docs/agents.md."),
    ] = ()
    seeds: Annotated[
        tuple[str, ...], doc("Domains in which the package's skills are recommended and found.")
    ] = ()
    hidden: Annotated[
        tuple[str, ...], doc("Skills of packages and folders that are never served.")
    ] = ()
    pinned: Annotated[
        tuple[str, ...], doc("Skills of packages and folders that are kept whatever their effect.")
    ] = ()


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
    """Selection of skills before a task."""

    limit: Annotated[Positive, doc("The most skills to recommend if no task is given.")] = 5
    answers: Annotated[
        Share, doc("With a task: leaves out what matches less than this share of it.")
    ] = 0.14
    beside: Annotated[
        Share,
        doc(
            "With a task: leaves out skills about other actions that match less than this "
            "share of what the best one matches."
        ),
    ] = 0.8
    named: Annotated[Positive, doc("With a task: the most skills that are shown or named.")] = 10
    bodies: Annotated[
        Count | None, doc("The most skills whose texts are shown, the best first; None: all.")
    ] = 3
    facts: Annotated[Count, doc("With a task: the most facts that answer it, a line each.")] = 5
    budget: Annotated[
        Positive | None, doc("The most tokens of the whole answer; None: no limit.")
    ] = 700
    base: Annotated[Share, doc("The relevance that every skill starts with.")] = 0.5
    boosts: Annotated[
        tuple[Boost, ...],
        doc("Added to the relevance if kind, context and text match; the sum is at most 1."),
    ] = BOOSTS
    task: Annotated[
        Share,
        doc(
            "The relevance that the best match for a task gains and a skill without a match"
            " loses; 0: tasks do not count."
        ),
    ] = 0.25
    min_relevance: Annotated[Share, doc("Leaves out a skill below this relevance.")] = 0.3
    proven: Annotated[Amount, doc("Added to the rank of a proven skill.")] = 0.1


class EffectPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Measurement of the effect of skills, and its consequences."""

    holdout: Annotated[
        HeldShare, doc("The chance that a skill is held out of a decision, to measure its effect.")
    ] = 0.1
    holdout_proven: Annotated[
        HeldShare, doc("That chance for a proven skill; it falls as P(lift > 0) grows.")
    ] = 0.02
    latest: Annotated[
        int,
        Meta(ge=10),
        doc("The ranking uses the effect of so many latest applications."),
    ] = 60
    explore: Annotated[
        Share, doc("The share of decisions that show a new skill in the last place.")
    ] = 0.9
    explore_until: Annotated[Count, doc("A skill applied less often than this is new.")] = 7
    explore_cost: Annotated[
        Amount, doc("Taken from a new skill's rank for that place, for each use.")
    ] = 0.2
    sampling: Annotated[Share, doc("How much of a lift's uncertainty randomizes the ranking.")] = (
        0.2
    )
    bonus: Annotated[Amount, doc("Added to a skill's rank for a lift of 1.")] = 1.0
    scale: Annotated[
        Chance, doc("How far from 0 lifts are expected to be. A larger value shrinks them less.")
    ] = 0.15
    carry: Annotated[
        float,
        Meta(ge=0, lt=1),
        doc("The part of its lift that a rewritten skill is expected to keep."),
    ] = 0.5
    min_applied: Annotated[
        Positive, doc("A skill applied less often than this gets no verdict.")
    ] = 3
    proven_above: Annotated[Share, doc("P(lift > 0) above which a skill becomes proven.")] = 0.95
    proven_chance: Annotated[
        Chance, doc("The most chance that a skill without effect is ever called proven.")
    ] = 0.12
    proven_below: Annotated[Share, doc("P(lift > 0) below which it is no longer proven.")] = 0.8
    helps_above: Annotated[
        Share, doc("P(lift > 0) above which the verdict is that a skill helps.")
    ] = 0.75
    hurts_below: Annotated[
        Share, doc("P(lift > 0) below which a skill is left out, unless it is new.")
    ] = 0.27
    retired_below: Annotated[Share, doc("P(lift > 0) below which a skill is retired.")] = 0.05
    retired_lately: Annotated[
        Share, doc("P(lift > 0) of the latest applications below which a skill is retired.")
    ] = 0.01
    retired_chance: Annotated[
        Chance, doc("The most chance that a skill without effect is ever retired.")
    ] = 0.12
    retire_after: Annotated[
        Positive, doc("A skill applied less often than this is not retired.")
    ] = 10
    restored_above: Annotated[
        Share, doc("P(lift > 0) from which a harmful or retired skill is tried again.")
    ] = 0.2
    trial_days: Annotated[
        Positive, doc("Days until a skill that was retired for its effect is tried again.")
    ] = 90
    trial_decisions: Annotated[
        Positive, doc("Or decisions of its domain until then, whichever comes first.")
    ] = 200
    trial_pause: Annotated[Positive, doc("The least days between two trials of a skill.")] = 365
    trial_shown: Annotated[Positive, doc("The decisions that a trial shows a skill to.")] = 10


class JudgePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The judge, its budget, and its bounds before acting."""

    provider: Annotated[
        Literal["offline", "claude", "agent"],
        doc(
            "offline: free and deterministic; claude: asks the Anthropic API; agent: offline, "
            "until an agent answers what `skillvault ask` prints."
        ),
    ] = "offline"
    model: Annotated[str, doc("The Claude model that evaluates and writes.")] = THOROUGH
    fast_model: Annotated[
        str, doc("The Claude model asked before acting if little is at stake, and about sessions.")
    ] = FAST
    max_tokens: Annotated[
        int, Meta(ge=256), doc("The most tokens of a reply, thinking included.")
    ] = 8192
    temperature: Annotated[
        Share | None, doc("Sent if set. Only models up to generation 4.6 accept it.")
    ] = None
    usd_per_day: Annotated[
        Amount, doc("The most dollars that this clone spends in a day (UTC).")
    ] = 5.0
    calls_per_day: Annotated[
        Count, doc("The most requests that this clone sends in a day (UTC).")
    ] = 1000
    deadline_seconds: Annotated[
        float, Meta(ge=1, le=600), doc("The most seconds for one question, retries included.")
    ] = 120.0
    attempts: Annotated[Positive, doc("Sets an outcome aside after so many failed attempts.")] = 5
    thorough_from: Annotated[
        Amount, doc("Asks `model` before acting on an amount this large or larger.")
    ] = 1000.0
    inline_seconds: Annotated[
        float, Meta(ge=1, le=600), doc("The most seconds to wait for an answer before acting.")
    ] = 30.0
    min_quality: Annotated[Share, doc("Before acting, a lower quality is a no.")] = 0.4
    min_confidence: Annotated[
        Share, doc("Before acting, a lower confidence (agent's or judge's) is a no.")
    ] = 0.5
    skip: Annotated[
        tuple[str, ...], doc("Actions that do nothing; the judge is not asked before them.")
    ] = ("hold", "wait", "none", "skip", "noop")
    patience: Annotated[Count, doc("Agents are not asked about anything older, in days.")] = 3
    asks_per_session: Annotated[
        Count, doc("The most questions that one session of an agent answers.")
    ] = 2
    concurrency: Annotated[int, Meta(ge=1, le=32), doc("The most outcomes judged at once.")] = 4
    reasoning_characters: Annotated[
        int, Meta(ge=200), doc("The most characters of a reasoning beside a skill's text.")
    ] = 2000
    prices: Annotated[
        dict[str, tuple[float, float]],
        doc("Dollars per million tokens in and out, for models without a known price."),
    ] = field(default_factory=dict)

    def price(self, model: str) -> Price:
        """Return the price of a model."""
        stated = self.prices.get(model)
        return Price(*stated) if stated else MODELS[model]


class TranscriptsPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Signs in a transcript of how a prompt ended."""

    checks: Annotated[
        tuple[str, ...],
        doc(
            "Regular expressions for tests, builds, linters, migrations and deployments, "
            "matched at the start of each part of a command."
        ),
    ] = (
        r"(?:python[\d.]* -m )?(?:pytest|unittest|nose2|tox|nox|mypy|ruff check|pylint|flake8)\b",
        r"(?:python[\d.]* -m )?(?:bandit|compileall|py_compile|coverage run|black --check)\b",
        r"python[\d.]* (?:-m build|(?:setup|manage|runtests)\.py (?:test|check))\b",
        r"python[\d.]* manage\.py (?:make)?migrate\w*\b",
        r"(?:alembic (?:up|down)grade|flask db (?:up|down)grade|(?:rails|rake) db:\w+)\b",
        r"(?:prisma (?:migrate|db push)|(?:knex|sequelize|typeorm|drizzle-kit) \S*migrat\S*)",
        r"(?:flyway|liquibase|goose|dbmate|diesel migration|sqlx migrate|php artisan) \S*migrate\b",
        r"(?:dbmate|goose|diesel migration|sqlx migrate) (?:up|run)\b|mix ecto\.migrate\b",
        r"(?:(?:terraform|tofu|pulumi) (?:apply|up)|kubectl (?:apply|rollout|set image))\b",
        r"(?:helm (?:install|upgrade)|ansible-playbook|cdk deploy|docker push|npm publish)\b",
        r"(?:serverless|sls|sst|vercel|netlify|flyctl|fly|firebase|wrangler|gcloud) .*\bdeploy\b",
        r"(?:(?:npm|pnpm|yarn|bun)(?: run)?|make|just|task) (?:db:)?(?:deploy|migrate)\b",
        r"(?:py\.test|pytest-\d|isort --check\S*)",
        r"(?:(?:python[\d.]*|node|ruby|php) )?(?:test_\w+|\w+_test|run_?tests?)\.(?:py|rb|php|js)",
        r"(?:npm|pnpm|yarn|bun)(?: (?:run|-\S+(?:[= ]\S+)?|workspace \S+))* (?:t|test|lint)\b",
        r"(?:npm|pnpm|yarn|bun)(?: (?:run|-\S+(?:[= ]\S+)?|workspace \S+))* build\b",
        r"(?:npm|pnpm|yarn|bun)(?: (?:run|-\S+(?:[= ]\S+)?))* (?:check|verify|type-?check|tsc)\b",
        r"(?:npm|pnpm|yarn|bun)(?: (?:run|-\S+(?:[= ]\S+)?))* (?:jest|vitest|eslint|mocha)\b",
        r"(?:jest|vitest|mocha|ava|eslint|tsc|vue-tsc|pyright|oxlint|stylelint|karma start)\b",
        r"(?:biome (?:check|lint|ci)|prettier (?:--check|-c)|playwright test|cypress run)\b",
        r"(?:vite build|next build|webpack|node --(?:test|check))\b",
        r"(?:ng|nx|turbo|lerna)(?: run)? (?:test|build|lint|check)\b",
        r"(?:go|cargo|swift|dotnet|mix|bazel|deno|zig) (?:test|build|vet|check|clippy|lint)\b",
        r"(?:cargo nextest run|(?:sbt|stack|cabal|dune|gleam) (?:test|build|check|runtest))\b",
        r"(?:lein|meson|rails|forge) (?:test|build|check|compile)\b",
        r"(?:flutter|dart) (?:test|analyze|build)\b",
        r"(?:xcodebuild\b.* (?:test|build)\b|nix (?:flake check|build)\b)",
        r"(?:mvn|mvnw|gradle|gradlew)\b.*\b(?:test|verify|build|check|package|compile\w*)\b",
        r"make(?: -C \S+| -\S+)*(?: (?:test|check|lint|build|all|ci|verify)\b|$)",
        r"(?:just|task|rake|invoke)(?: -\S+)* (?:test|spec|check|lint|build|all|ci|verify)\b",
        r"(?:ctest|cmake --build|ninja|rspec|rubocop|phpunit|pest|phpstan|bats|prove|robot)\b",
        r"(?:composer|php artisan) (?:test|check|lint)\b",
        r"(?:shellcheck|golangci-lint run|staticcheck|swiftlint|ktlint|pre-commit run)\b",
        r"(?:hadolint|actionlint|yamllint|ansible-lint|helm lint|markdown-link-check|lychee)\b",
        r"(?:(?:terraform|tofu) (?:validate|plan)|dbt (?:test|build|compile))\b",
        r"(?:mkdocs build|sphinx-build)\b",
        r"(?:docker|podman)(?: buildx| compose|-compose)? build\b",
        r"(?:(?:ba|z)?sh )?(?:\S*/)?(?:\w+[-_])*(?:tests?|check|lint|build)(?:[-_]\w+)*\.sh\b",
        r"(?:(?:ba|z)?sh )?(?:\S*/)?(?:\w+[-_])*(?:deploy|migrate)(?:[-_]\w+)*\.sh\b",
        r"(?:\./|scripts?/|bin/|tools/)\S*\b(?:run[-_])?(?:tests?|lint|check)(?=\s|$)",
    )


class HookPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Behaviour of the hooks of an agent's client."""

    domains: Annotated[
        dict[str, str],
        doc(
            "Path pattern (`~/work/shop*`): the domain of the folders that match it. "
            "Otherwise `--domain`, or the repository's name."
        ),
    ] = field(default_factory=dict)
    insist: Annotated[
        bool,
        doc(
            "Sends an agent back, once a prompt, if it claims success although its last "
            "check failed. Only in a terminal."
        ),
    ] = False
    briefing: Annotated[
        Count, doc("The most tokens of skills at the start of a session; 0: none.")
    ] = 300


class Policy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings of `vault.yaml`."""

    format: Annotated[Literal[1], doc("The version of the vault's file format.")] = 1
    branch: Annotated[
        str,
        Meta(pattern=_BRANCH),
        doc("The branch that learns. On any other branch, everything waits."),
    ] = "main"
    learner: Annotated[
        str | None,
        doc(
            "The clone that learns (docs/team.md), or all. Other clones only record. The "
            "first `skillvault sync` sets it."
        ),
    ] = None
    durability: Annotated[
        Literal["full", "normal"],
        doc("full: each commit survives a power loss; normal: the last seconds may be lost."),
    ] = "full"
    domains: Annotated[tuple[str, ...], doc("The domains that this vault expects.")] = ()
    profile: Annotated[
        ProfileName,
        doc("seed: the rules of the original designs; wilson: 5 uses at 55 % prove a skill."),
    ] = "lift"
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
        expiring = ("warning", "pattern", "strategy", "evolved")
        days: int | None = getattr(self.generate, f"{kind}_days") if kind in expiring else None
        return days
