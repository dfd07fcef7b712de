"""The strategy of the profile `seed`: one skill from the latest outcomes of a domain.

`strategy_state` decides when to write it, `period_of` collects its material, and `first_change` and
`next_change` build the commits. Sections that a person wrote stay.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import islice
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning import sections
from skillvault.learning.account.reading import is_graded
from skillvault.learning.account.rules import action_rules, group_by_action, outliers
from skillvault.learning.account.sentences import balance_parts
from skillvault.learning.contrast.episodes import episode_words
from skillvault.learning.expire import lifetime, rewrite_skill
from skillvault.learning.gate import home_of
from skillvault.learning.generate import STEP, SkillState, expiry_time, judges_of
from skillvault.learning.naming import strategy_name
from skillvault.learning.promote.skills import skill_body
from skillvault.learning.rejection import Rejection
from skillvault.model.brief import Draft, Outlier, Period
from skillvault.model.change import Change, Move
from skillvault.model.conditions import describe_rule
from skillvault.model.policy import Policy
from skillvault.model.records import Evaluation, Outcome, Ref, Skill, link_of, stamp
from skillvault.model.text.text import count_of, pluralize, shorten, slug

_NO_CONDITION = "No condition is known to separate losses or wins from the others."
_MAX_OUTLIERS = 2  # outliers of one outcome
_MAX_ACTIONS = 3  # actions that become tags


class StrategyRecords(Struct, frozen=True, kw_only=True):
    """The records that decide on the strategy of a domain.

    `read` has the ids of the latest trusted outcomes with an evaluation, oldest first; no strategy
    covers the last `unread` outcomes. `linked` has the evaluations of earlier strategies. `skill`
    and `path` belong to the existing strategy, or are None. `expired` is True if the step `expire`
    changed it last. `is_recounted` is True if an outcome of it no longer counts. `made_at` is the
    time of the new strategy.
    """

    domain: str
    read: tuple[str, ...]
    unread: int
    made_at: datetime
    linked: frozenset[str] = frozenset()
    skill: Skill | None = None
    path: str | None = None
    expired: bool = False
    rejection: Rejection | None = None
    is_recounted: bool = False

    @property
    def name(self) -> str:
        """The name of the domain's strategy."""
        return strategy_name(self.domain)

    @property
    def account(self) -> str:
        """Twelve hex digits of the outcomes that the strategy covers."""
        return sha256("\n".join(self.read).encode()).hexdigest()[:12]


# ── state ────────────────────────────────────────────────────────────────────────────


def strategy_state(records: StrategyRecords, clock: datetime, policy: Policy) -> SkillState:
    """Return the state of a strategy and the reason; `clock` is the domain's time."""
    if records.rejection:
        return SkillState("rejected", records.rejection.sentence)
    if reason := _why_unwritable(records, clock, policy):
        return SkillState("archived", reason)
    skill = records.skill
    has_changed = skill is None or skill.account != records.account
    if skill is not None and records.is_recounted and has_changed:
        return SkillState("due", "its sources no longer count")
    interval = policy.generate.strategy_every
    # Without new outcomes, a strategy that a person reverted is not written again.
    is_news = skill is None or (has_changed and not records.linked.issuperset(records.read))
    if records.unread < interval or not is_news:
        period = "so far" if skill is None else "since its last strategy"
        count = pluralize(records.unread, "outcome")
        return SkillState("waiting", f"{count} {period}; needs {interval}")
    return SkillState("due", f"{len(records.read)} outcomes to look at; `skillvault run`")


def _why_unwritable(records: StrategyRecords, clock: datetime, policy: Policy) -> str | None:
    skill, path = records.skill, records.path
    if path is None:
        return None
    if skill is None:
        return f"{path} cannot be read; `skillvault check` says why"
    if skill.origin != "generated" or (skill.kind, skill.domain) != ("strategy", records.domain):
        return f"{path} is not the program's own (origin {skill.origin}, kind {skill.kind})"
    if skill.status == "pinned":
        return f"{path} is pinned: it stays as it is"
    life = lifetime(skill, policy) if records.expired and skill.status != "retired" else None
    has_expired = life is not None and life.end < clock
    if path.startswith("archive/") and not has_expired:
        return f"{path} was archived; `skillvault skill restore {records.name}` brings it back"
    return None


# ── records ─────────────────────────────────────────────────────────────────────────


def period_of(
    domain: str, outcomes: Sequence[Outcome], evaluations: Mapping[str, Evaluation], policy: Policy
) -> Period:
    """Return the brief of a strategy; `outcomes` are oldest first."""
    graded = is_graded(outcomes)
    default_heading = "Market Context" if graded else "Context"
    groups = group_by_action(outcomes).values()
    return Period(
        domain=domain,
        heading=policy.generate.context_headings.get(domain, default_heading),
        outcomes=tuple(outcomes),
        evaluations={o.id: evaluations[o.id] for o in outcomes if o.id in evaluations},
        graded=graded,
        rules=tuple(rule for group in groups for rule in action_rules(group, policy)),
        episodes=episode_words(outcomes, policy.evaluate.episode_minutes),
        outliers=tuple(_outliers(outcomes)),
    )


def _outliers(outcomes: Sequence[Outcome]) -> Iterator[Outlier]:
    scores = {o.id: o.result.score for o in outcomes if o.result.score is not None}
    by_score = sorted((o for o in outcomes if o.id in scores), key=lambda o: (scores[o.id], o.id))
    for outcome in by_score[:1] + by_score[1:][-1:]:
        peers = [o for o in outcomes if o.decision.action == outcome.decision.action]
        yield from islice(outliers(outcome, peers), _MAX_OUTLIERS)


# ── the changes ──────────────────────────────────────────────────────────────────────


def first_change(
    records: StrategyRecords, period: Period, draft: Draft, *, policy: Policy
) -> Change:
    """Return the change that adds the strategy of a domain."""
    actions = list(group_by_action(period.outcomes))[:_MAX_ACTIONS]
    skill = Skill(
        name=records.name,
        description=shorten(draft.description, 1024),
        body=strategy_body(period, draft),
        tags=tuple(dict.fromkeys(filter(None, map(slug, (period.domain, *actions))))),
        kind="strategy",
        domain=records.domain,
        origin="generated",
        created=stamp(records.made_at),
        expires=expiry_time(records.made_at, policy.generate.strategy_days),
        account=records.account,
    )
    return _strategy_change(records, period, records.name, writes=(skill,))


def next_change(
    records: StrategyRecords,
    period: Period,
    draft: Draft,
    old_texts: sections.WrittenTexts,
    *,
    policy: Policy,
) -> Change:
    """Return the change that rewrites or restores a strategy.

    The sections, the description and the end of the time to live that a person wrote stay.
    """
    skill, path = records.skill, records.path
    if skill is None or path is None:
        raise ValueError(f"{records.name}: is not there to be rewritten")
    new_skill = replace(
        skill,
        body=strategy_body(period, draft),
        description=shorten(draft.description, 1024),
        account=records.account,
        created=stamp(records.made_at),
        expires=expiry_time(records.made_at, policy.generate.strategy_days),
    )
    edits, rewrites = rewrite_skill(path, skill, new_skill, old_texts, policy=policy)
    body = rewrites[0].body if rewrites else skill.body
    is_archived = path.startswith("archive/")
    restoring_move = Move(f"archive/{records.name}", f"{home_of(skill)}/{records.name}")
    return _strategy_change(
        records,
        period,
        f"{'restore' if is_archived else 'rewrite'} {records.name}",
        statement_changes=sections.statement_changes(skill.body, body),
        edits=edits,
        rewrites=rewrites,
        moves=(restoring_move,) if is_archived else (),
    )


def _strategy_change(
    records: StrategyRecords,
    period: Period,
    subject: str,
    statement_changes: Sequence[str] = (),
    **changes: Any,
) -> Change:
    """Return a change with a `generated` link from each evaluation without a link."""
    target = Ref("skill", records.name)
    new_ids = [outcome.id for outcome in period.outcomes if outcome.id not in records.linked]
    sources = tuple(Ref("evaluation", outcome_id) for outcome_id in new_ids)
    links = tuple(link_of("generated", source, target, records.made_at) for source in sources)
    reasons = [f"What separates: {describe_rule(rule)}; p {rule.p:.2g}." for rule in period.rules]
    lines = [
        f"{_outcomes_line(period)}, {len(new_ids)} of them not in an earlier strategy.",
        f"{_results(period)}.",
        *(reasons or [_NO_CONDITION]),
    ]
    return Change(
        step=STEP,
        subject=subject,
        reason="\n".join([*lines, *statement_changes]),
        sources=sources,
        targets=(target,),
        judge=judges_of(period.outcomes, period.evaluations),
        **{**changes, "writes": (*changes.get("writes", ()), *links)},
    )


# ── the text ─────────────────────────────────────────────────────────────────────────


def strategy_body(period: Period, draft: Draft) -> str:
    """Return the text of a strategy: title, header lines, sections."""
    header = [
        f"*From {_outcomes_line(period)}*",
        f"*{_results(period)}*",
        f"*Domain: {period.domain}*",
    ]
    return skill_body(f"Strategy: {draft.title}", "\n".join(header), draft)


def _outcomes_line(period: Period) -> str:
    days = [f"{o.occurred_at:%Y-%m-%d}" for o in (period.outcomes[0], period.outcomes[-1])]
    count_words = pluralize(len(period.outcomes), "outcome")
    return f"{count_words}{period.episodes} of {' to '.join(dict.fromkeys(days))}"


def _results(period: Period) -> str:
    success_count = sum(outcome.result.status == "success" for outcome in period.outcomes)
    name, count = "Win rate" if period.graded else "Success rate", len(period.outcomes)
    rate = f"{name} {success_count / count * 100:.0f} % ({count_of(success_count, count)})"
    return "; ".join([rate, *balance_parts(period.outcomes)])
