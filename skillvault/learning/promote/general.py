"""promote, across domains: a fact that recurs in several of them becomes one skill of no domain.

Which facts say the same does not depend on their order. What is not trusted has no part in it.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning import sections
from skillvault.learning.account.reading import last_point
from skillvault.learning.expire import key_edits
from skillvault.learning.gate import home_of
from skillvault.learning.naming import general_name
from skillvault.learning.promote.facts import STEP, PromotionMaterial, PromotionState, statement_of
from skillvault.learning.rejection import GENERAL, Rejection
from skillvault.learning.tries.insight import insights_of, specific_values
from skillvault.model.brief import Draft, Recurrence
from skillvault.model.change import Change, Edit, Move, Rewrite, skill_series
from skillvault.model.policy import Policy, PromotePolicy
from skillvault.model.records import Fact, Outcome, Ref, Skill, Status, link_id, link_of, stamp
from skillvault.model.sameness.form import Form, normal_form
from skillvault.model.sameness.forms import components
from skillvault.model.text.text import count_of, inert, listed, shorten, slug, theme

_TITLE = 70  # characters
NOT_SHOWN = (
    "Its facts are not borne out any more: too few domains, sessions or runs say the same, or too "
    "few of the runs ended well; `skillvault why` lists them."
)


class Recurring(Struct, frozen=True, kw_only=True):
    """Facts of several domains that say the same, in their order; `gist` is what the first quotes.

    `read` are the runs behind them as far as their count is told, `succeeded` how many of these
    ended well, of those that ended well or badly (`decided`).
    """

    facts: tuple[Fact, ...]
    gist: str
    read: tuple[str, ...]
    succeeded: int
    decided: int

    @property
    def seen_in(self) -> list[str]:
        """The domains of its facts, by name."""
        return sorted({fact.domain for fact in self.facts})

    @property
    def digest(self) -> str:
        """Twelve hex digits of what a skill tells of it."""
        lines = [f"{len(self.read)} {self.succeeded}", *(f"{f.id} {f.text}" for f in self.facts)]
        return sha256("\n".join(lines).encode()).hexdigest()[:12]

    def is_enough(self, rules: PromotePolicy) -> bool:
        """Whether it is of enough domains and runs, of which enough ended well."""
        return (
            len(self.seen_in) >= rules.general_domains
            and len(self.read) >= rules.general_runs
            and self.succeeded >= rules.general_rate * max(self.decided, 1)
        )


class GeneralPattern(Struct, frozen=True, kw_only=True):
    """What recurs and is to become a skill, or to be told anew by the one (`skill`) there is.

    `fresh` are the facts that the skill does not rest on yet; `ended` is when the last run that it
    tells of ended.
    """

    recurring: Recurring
    fresh: tuple[Fact, ...]
    skill: Skill | None
    ended: datetime


class FactRuns(NamedTuple):
    """The runs behind facts: fact -> the outcome of the run that made it, run -> its status."""

    makers: Callable[[Collection[str]], Mapping[str, Outcome]]
    statuses: Callable[[Collection[str]], Mapping[str, Status]]


def recurrences(material: PromotionMaterial, runs: FactRuns) -> Iterator[Recurring]:
    """Trusted facts that say the same in more than one domain, whatever their order."""
    facts = [
        fact
        for fact in material.current_facts
        if fact.trust == "local" and fact.id not in material.contested
    ]
    makers = runs.makers([fact.id for fact in facts])
    for places in components([form_of(fact, makers.get(fact.id)) for fact in facts]):
        group = tuple(facts[place] for place in places)
        if len({fact.domain for fact in group}) > 1:
            gist = _gist(group[0], makers.get(group[0].id))
            yield _recurring(group, gist, material, runs)


def _gist(fact: Fact, outcome: Outcome | None) -> str:
    """What a fact quotes of its run; without a run all that it states."""
    insights = insights_of(outcome) if outcome else ()
    quotes = (insight.quote.rstrip(".") for insight in insights)
    return next((quote for quote in quotes if quote in fact.text), statement_of(fact))


def form_of(fact: Fact, outcome: Outcome | None) -> Form:
    """What a fact says without what its run alone had, its domain and its action among that."""
    if outcome is None:
        return normal_form(statement_of(fact))
    own = (*specific_values(outcome), outcome.domain, outcome.decision.action)
    return normal_form(statement_of(fact), own)


def _recurring(
    facts: tuple[Fact, ...], gist: str, material: PromotionMaterial, runs: FactRuns
) -> Recurring:
    supporters = material.counts.supporters([fact.id for fact in facts])
    read = tuple(supporters[: last_point(len(supporters))])
    statuses = list(runs.statuses(read).values())
    succeeded, failed = statuses.count("success"), statuses.count("failure")
    return Recurring(
        facts=facts, gist=gist, read=read, succeeded=succeeded, decided=succeeded + failed
    )


def general_pattern(
    recurring: Recurring,
    material: PromotionMaterial,
    skills: Mapping[str, Skill],
    policy: Policy,
) -> GeneralPattern | Rejection | None:
    """What is to be done about facts that recur; the rejection of what a person took away.

    `skills` are those in service that facts made across domains, by fact. With less than enough
    sessions behind it nothing is done.
    """
    present = [skills[fact.id] for fact in recurring.facts if fact.id in skills]
    skill = max(sorted(present, key=lambda one: one.name), key=present.count, default=None)
    if skill is None and (refused := _taken_away(recurring, material)):
        return refused
    if not is_shown(recurring, material, policy.promote):
        return None
    if skill and not _is_told_anew(skill, recurring):
        return None
    last = material.outcomes[recurring.read[-1]]
    fresh = (f for f in recurring.facts if f.id not in skills and not _unlinked(f, skill, material))
    return GeneralPattern(
        recurring=recurring,
        fresh=tuple(fresh),
        skill=skill,
        ended=last.occurred_at,
    )


def told_pattern(
    recurring: Recurring, material: PromotionMaterial, skills: Mapping[str, Skill]
) -> GeneralPattern | None:
    """What recurs and stands in one of these skills, by fact, as it is counted now."""
    skill = next((skills[fact.id] for fact in recurring.facts if fact.id in skills), None)
    if skill is None or skill.status in ("pinned", "retired"):
        return None
    if skill.account != recurring.digest or not recurring.read:
        return None
    ended = material.outcomes[recurring.read[-1]].occurred_at
    return GeneralPattern(recurring=recurring, fresh=(), skill=skill, ended=ended)


def is_shown(recurring: Recurring, material: PromotionMaterial, rules: PromotePolicy) -> bool:
    """Whether enough domains, runs and sessions bear out what recurs."""
    sessions = len(material.sessions(recurring.facts))
    return sessions >= rules.min_sessions and recurring.is_enough(rules)


def _is_told_anew(skill: Skill, recurring: Recurring) -> bool:
    return skill.account != recurring.digest and skill.status not in ("pinned", "retired")


def _taken_away(recurring: Recurring, material: PromotionMaterial) -> Rejection | None:
    """What was made of any of these facts across domains, and a person took away."""
    refs = (Ref("fact", fact.id) for fact in recurring.facts)
    refused = (material.rejections.of_source(GENERAL, ref, "skill") for ref in refs)
    return next(filter(None, refused), None)


def _unlinked(fact: Fact, skill: Skill | None, material: PromotionMaterial) -> bool:
    """Whether a person took away the link by which this fact joined the skill before."""
    if skill is None:
        return False
    link = link_id("derived", Ref("fact", fact.id), Ref("skill", skill.name))
    return material.rejections.of_target(Ref("link", link)) is not None


def general_state(
    fact: Fact, recurring: Recurring | None, skill: str | None, policy: Policy
) -> PromotionState:
    """Where a fact stands with other domains; `skill` is what was made of it across them."""
    rules = policy.promote
    if skill:
        return PromotionState("done", f"in every domain: derived {skill}")
    if recurring is None:
        return PromotionState("alone", f"in every domain: no fact but {fact.domain}'s says it")
    if recurring.is_enough(rules):
        return PromotionState("due", "in every domain: recurs; `skillvault run`")
    good = count_of(recurring.succeeded, recurring.decided)
    return PromotionState(
        "alone",
        f"in every domain: said in {listed(recurring.seen_in)} by {len(recurring.read)} runs, "
        f"{good} ended well; it takes {rules.general_domains} domains, {rules.general_runs} runs "
        f"and a rate of {rules.general_rate:g}",
    )


# ── the text and the changes ─────────────────────────────────────────────────────────


def general_brief(pattern: GeneralPattern, material: PromotionMaterial) -> Recurrence:
    """What a judge is given to write the skill: each wording once."""
    recurring = pattern.recurring
    wordings = {fact.text: fact for fact in reversed(recurring.facts)}
    facts = tuple(fact for fact in recurring.facts if wordings[fact.text] is fact)
    read = set(recurring.read)
    support = [e for e in material.support([f.id for f in recurring.facts]) if e.id in read]
    return Recurrence(
        domain=listed(recurring.seen_in),
        theme=inert(theme([statement_of(fact) for fact in facts]), _TITLE),
        facts=facts,
        evaluations=tuple(support),
        outcomes=material.outcomes_of([e.id for e in support]),
    )


def general_body(pattern: GeneralPattern, draft: Draft) -> str:
    """The skill's text: what is said everywhere, where, and how the runs behind it ended."""
    recurring = pattern.recurring
    count, good = len(recurring.facts), count_of(recurring.succeeded, recurring.decided)
    header = (
        f"*From {count} memory facts in {listed(recurring.seen_in)}; {good} runs behind them "
        "ended well*"
    )
    title = inert(recurring.gist, _TITLE)
    parts = [f"# Pattern: {title}", header]
    parts += [f"## {heading}\n\n{text.strip()}" for heading, text in draft.sections]
    return "\n\n".join(parts)


def _skill_of(pattern: GeneralPattern, draft: Draft, name: str, policy: Policy) -> Skill:
    days = timedelta(days=policy.days("pattern") or 0)
    return Skill(
        name=name,
        description=shorten(draft.description, 1024),
        body=general_body(pattern, draft),
        tags=tuple(map(slug, pattern.recurring.seen_in)),
        kind="pattern",
        status="testing",
        origin="generated",
        created=stamp(pattern.ended),
        expires=stamp(pattern.ended + days),
        account=pattern.recurring.digest,
    )


def general_change(
    pattern: GeneralPattern, draft: Draft, *, taken: Callable[[str], bool], policy: Policy
) -> Change:
    """The commit that makes one skill of no domain."""
    facts = pattern.recurring.facts
    name = general_name(pattern.recurring.gist, (fact.id for fact in facts), taken)
    skill = _skill_of(pattern, draft, name, policy)
    return _derived(pattern, name, writes=(skill,))


def retold_change(
    pattern: GeneralPattern,
    draft: Draft,
    skill: Skill,
    written: sections.Written,
    *,
    shelf: str,
    policy: Policy,
) -> Change:
    """The commit by which it tells of more facts or runs; what a person changed in it stays.

    `shelf` is where it stands: from archive/ it comes back into service.
    """
    path = f"{shelf}/{skill.name}/SKILL.md"
    new = _skill_of(pattern, draft, skill.name, policy)
    grown = replace(new, status=skill.status, subject=skill.subject)
    body = sections.rewritten(skill.body, written.bodies, grown.body)
    edits: Sequence[Edit] = tuple(key_edits(path, skill, grown, written, policy=policy))
    rewrites = (Rewrite(path, body),) if body != skill.body else ()
    home = home_of(skill)
    back = (Move(f"archive/{skill.name}", f"{home}/{skill.name}"),) if shelf == "archive" else ()
    change = _derived(pattern, skill.name)
    return replace(change, edits=tuple(edits), rewrites=rewrites, moves=back)


def _derived(pattern: GeneralPattern, name: str, writes: tuple[Skill, ...] = ()) -> Change:
    """A commit with a `derived` link from each fresh fact."""
    recurring, target = pattern.recurring, Ref("skill", name)
    sources = tuple(Ref("fact", fact.id) for fact in pattern.fresh)
    links = tuple(link_of("derived", source, target, pattern.ended) for source in sources)
    good = count_of(recurring.succeeded, recurring.decided)
    counts = f"{len(recurring.facts)} facts, {len(recurring.read)} runs, {good} ended well"
    lines = [f"The same holds in {listed(recurring.seen_in)}: {counts}."]
    lines += [f"- {fact.domain}: {shorten(fact.text, 200)}" for fact in pattern.fresh]
    return Change(
        step=STEP,
        subject=name if writes else f"grow {name}",
        commit_with=skill_series(STEP, None),
        reason="\n".join(lines),
        writes=(*writes, *links),
        sources=sources,
        targets=(target, *(() if writes else (Ref("link", link.id) for link in links))),
    )
