"""promote, the second arrow: facts that recur become a pattern skill, and it grows with them.

Only facts of one domain and one trust are compared. A skill whose facts rest on one session
alone waits in proposed/.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from skillvault.brief import Draft, Recurrence
from skillvault.change import Change, Edit, Move, Rewrite
from skillvault.learning import sections
from skillvault.learning.naming import free_name
from skillvault.learning.promote.facts import (
    STEP,
    PromotionMaterial,
    PromotionState,
    clusters,
    statement_of,
)
from skillvault.learning.rejection import Rejection
from skillvault.policy import Policy, PromotePolicy
from skillvault.records import Fact, Ref, Skill, link_id, link_of, stamp
from skillvault.text import inert, shorten, similarity, slug, theme


class Pattern(Struct, frozen=True, kw_only=True):
    """Facts that recur: a skill to be made of them, or one (`skill`) that grows.

    `fresh` are the facts that the skill does not rest on yet. `independent`: outcomes of
    enough different sessions stand behind them.
    """

    facts: tuple[Fact, ...]
    fresh: tuple[Fact, ...]
    independent: bool
    skill: str | None = None


class Patterns(Struct, frozen=True):
    """The second arrow's work, and what a person rejected before."""

    due: tuple[Pattern, ...]
    rejected: tuple[Rejection, ...]


def patterns(material: PromotionMaterial, skills: Mapping[str, Skill], policy: Policy) -> Patterns:
    """What the second arrow has to do; `skills` are those in skills/ and proposed/."""
    due: list[Pattern] = []
    rejected: list[Rejection] = []
    for facts in _recurring(material, policy.promote):
        refused = [r for fact in facts if (r := _skill_taken_away(fact, material))]
        named = [material.skills_of[f.id] for f in facts if f.id in material.skills_of]
        skill = max(sorted(set(named)), key=named.count, default=None)
        independent = len(material.sessions(facts)) >= policy.promote.min_sessions
        fresh = tuple(f for f in facts if f.id not in material.skills_of)
        if skill is None and refused:
            rejected += refused
        elif skill is None:
            due.append(Pattern(facts=facts, fresh=facts, independent=independent))
        elif skill in skills:
            linkable = tuple(f for f in fresh if not _unlinked(f, skill, material, rejected))
            if linkable or (independent and _held_back(skills[skill])):
                due.append(
                    Pattern(facts=facts, fresh=linkable, independent=independent, skill=skill)
                )
    return Patterns(tuple(due), tuple(sorted(set(rejected))))


def _recurring(material: PromotionMaterial, rules: PromotePolicy) -> Iterator[tuple[Fact, ...]]:
    """Clusters, and facts that enough evaluations of different sessions support."""
    groups: dict[tuple[str, str], list[Fact]] = defaultdict(list)
    for fact in material.current_facts:
        groups[fact.domain, fact.trust].append(fact)
    for _, facts in sorted(groups.items()):
        used: set[str] = set()
        texts = [statement_of(fact) for fact in facts]
        for places in clusters(texts, rules.cluster_above, rules.cluster_size):
            cluster = tuple(facts[i] for i in places)
            used.update(fact.id for fact in cluster)
            yield cluster
        for fact in facts:
            if fact.id not in used and _supported(fact, material, rules):
                yield (fact,)


def fact_state(
    fact: Fact, material: PromotionMaterial, skills: Collection[str], rules: PromotePolicy
) -> PromotionState:
    """Where one fact stands with the second arrow; `skills` are the living ones."""
    if fact.id in material.superseded:
        return PromotionState("superseded", f"by {material.superseded[fact.id]}")
    if skill := material.skills_of.get(fact.id):
        where = "" if skill in skills else ", which is not in service any more"
        return PromotionState("done", f"derived {skill}{where}")
    if refused := _skill_taken_away(fact, material):
        skill = refused.target.partition(":")[2]
        return PromotionState(
            "rejected", f"made {skill} in {refused.commit[:10]}, taken away since"
        )
    if any(fact in cluster for cluster in _recurring(material, rules)):
        return PromotionState("due", "recurs; `skillvault run`")
    return PromotionState("alone", _too_few(fact, material, rules))


def _too_few(fact: Fact, material: PromotionMaterial, rules: PromotePolicy) -> str:
    """How many facts are like this one, and what is missing, in numbers."""
    peers = [
        other
        for other in material.current_facts
        if (other.domain, other.trust) == (fact.domain, fact.trust) and other.id != fact.id
    ]
    near = sorted(((similarity(fact.text, o.text), o.id) for o in peers), key=lambda n: -n[0])
    like = sum(value > rules.cluster_above for value, _ in near)
    nearest = f"; the nearest is {near[0][1]} at {near[0][0]:.2f}" if near else ""
    sessions = len(material.sessions([fact]))
    return (
        f"other facts more than {rules.cluster_above:.2f} similar: {like}, a pattern needs "
        f"{rules.cluster_size - 1}{nearest}; sessions that support it: {sessions}, alone it "
        f"needs {rules.cluster_size}"
    )


def _supported(fact: Fact, material: PromotionMaterial, rules: PromotePolicy) -> bool:
    return len(material.sessions([fact])) >= rules.cluster_size


def _skill_taken_away(fact: Fact, material: PromotionMaterial) -> Rejection | None:
    return material.rejections.of_source(STEP, Ref("fact", fact.id), "skill")


def _unlinked(
    fact: Fact, skill: str, material: PromotionMaterial, rejected: list[Rejection]
) -> bool:
    """Whether a person took away the link by which this fact joined the skill before."""
    link = link_id("derived", Ref("fact", fact.id), Ref("skill", skill))
    refused = material.rejections.of_target(Ref("link", link))
    rejected += [refused] if refused else []
    return refused is not None


def _held_back(skill: Skill) -> bool:
    """Whether a skill waits in proposed/ for a second session alone."""
    return skill.status == "proposed" and skill.trust == "local" and skill.origin == "generated"


def pattern_brief(pattern: Pattern, material: PromotionMaterial) -> Recurrence:
    """What a judge is given to write the skill."""
    support = [e for fact in pattern.facts for e in material.support(fact.id)]
    unique = {e.id: e for e in support}
    texts = [statement_of(fact) for fact in pattern.facts]
    if len(texts) == 1:  # what its repeats share says more than its own first words
        texts = [e.key_insight for e in support if e.key_insight] or texts
    return Recurrence(
        domain=pattern.facts[0].domain,
        theme=_plain(theme(texts)),
        facts=pattern.facts,
        evaluations=tuple(unique[key] for key in sorted(unique)),
        outcomes={key: material.outcomes[key] for key in unique if key in material.outcomes},
    )


def _plain(shared_theme: str) -> str:
    """A theme without the punctuation of the facts it was taken from."""
    return inert("-".join(re.findall(r"\w+(?:[.']\w+)*", shared_theme)), 70)


# ── the changes ──────────────────────────────────────────────────────────────────────


def skill_change(
    pattern: Pattern,
    draft: Draft,
    *,
    taken: Callable[[str], bool],
    now: datetime,
    policy: Policy,
) -> Change:
    """The commit that makes a pattern skill of facts."""
    lead = pattern.facts[0]
    served = pattern.independent and lead.trust == "local"
    about = f"{slug(lead.domain, limit=32)}-{slug(draft.title) or lead.id}"
    name = free_name("pattern", about, (fact.id for fact in pattern.facts), taken)
    skill = Skill(
        name=name,
        description=shorten(draft.description, 1024),
        body=pattern_body(pattern, draft),
        tags=_pattern_tags(lead.domain, draft.title),
        kind="pattern",
        domain=lead.domain,
        status="testing" if served else "proposed",
        origin="generated",
        created=stamp(now),
        expires=stamp(now + timedelta(days=policy.generate.pattern_days)),
        trust=lead.trust,
    )
    return _derived(pattern, skill.name, now, writes=(skill,))


def growth_change(
    pattern: Pattern,
    draft: Draft,
    skill: Skill,
    written: sections.Written,
    *,
    now: datetime,
) -> Change:
    """The commit by which a pattern skill takes in more facts, or is let into service.

    What a person changed in its text stays.
    """
    shelf = "proposed" if skill.status == "proposed" else "skills"
    path = f"{shelf}/{skill.name}/SKILL.md"
    admitted = pattern.independent and _held_back(skill)
    edits: list[Edit] = []
    if pattern.fresh and sections.untouched(written.descriptions, skill.description):
        edits.append(Edit(path, ("description",), shorten(draft.description, 1024)))
    if admitted:
        edits.append(Edit(path, ("metadata", "status"), "testing"))
    body = sections.rewritten(skill.body, written.bodies, pattern_body(pattern, draft))
    return _derived(
        pattern,
        skill.name,
        now,
        edits=tuple(edits),
        rewrites=(Rewrite(path, body),) if body != skill.body else (),
        moves=(Move(f"proposed/{skill.name}", f"skills/{skill.name}"),) if admitted else (),
    )


def _derived(pattern: Pattern, name: str, now: datetime, **changes: Any) -> Change:
    """A commit with its `derived` links, one a fresh fact."""
    target = Ref("skill", name)
    sources = tuple(Ref("fact", fact.id) for fact in pattern.fresh)
    links = tuple(link_of("derived", source, target, now) for source in sources)
    targets = (target, *(Ref("link", link.id) for link in links)) if pattern.skill else (target,)
    return Change(
        step=STEP,
        subject=name if pattern.skill is None else f"grow {name}",
        reason=_pattern_reason(pattern),
        sources=sources,
        targets=targets,
        **{**changes, "writes": (*changes.get("writes", ()), *links)},
    )


def pattern_body(pattern: Pattern, draft: Draft) -> str:
    """The skill's text: title, header lines, sections."""
    days = sorted({f"{f.created_at:%Y-%m-%d}" for f in pattern.facts if f.created_at})
    when = f", {' to '.join(dict.fromkeys((days[0], days[-1])))}" if days else ""
    count = len(pattern.facts)
    header = [
        f"*From {count} memory fact{'s' * (count > 1)}{when}*",
        f"*Domain: {pattern.facts[0].domain}*",
    ]
    parts = [f"# Pattern: {draft.title}", "\n".join(header)]
    parts += [f"## {heading}\n\n{text.strip()}" for heading, text in draft.sections]
    return "\n\n".join(parts)


def _pattern_tags(domain: str, title: str) -> tuple[str, ...]:
    names = (domain, *(slug(word) for word in title.split("-")))
    return tuple(dict.fromkeys(filter(None, names)))


def _pattern_reason(pattern: Pattern) -> str:
    count = len(pattern.facts)
    lines = [f"{count} related memory fact{'s' * (count > 1)} say the same."]
    if count == 1:
        lines = ["One memory fact that evaluations of several sessions support."]
    if pattern.skill is not None and pattern.fresh:
        lines = [f"{len(pattern.fresh)} more of {count} related memory facts."]
    if pattern.skill is not None and not pattern.fresh:
        lines = ["Its facts rest on more than one session now."]
    if not pattern.independent:
        lines.append("All of it rests on one session, so it waits for approval in proposed/.")
    return "\n".join(lines + [f"- {shorten(f.text, 200)}" for f in pattern.fresh])
