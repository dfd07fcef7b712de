"""promote, the second arrow: facts that recur become a pattern skill, and it grows with them.

Only facts of one domain and one trust are compared. A skill whose facts rest on one session
alone waits in proposed/.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning import sections
from skillvault.learning.account.reading import last_point
from skillvault.learning.expire import key_edits
from skillvault.learning.gate import archive_change, home_of
from skillvault.learning.promote.evidence import told_text
from skillvault.learning.promote.facts import (
    STEP,
    PromotionMaterial,
    PromotionState,
    clusters,
    statement_of,
)
from skillvault.learning.rejection import Rejection
from skillvault.learning.rules import Rules
from skillvault.model.brief import Draft, Recurrence
from skillvault.model.change import Change, Edit, Move, Rewrite, skill_series
from skillvault.model.policy import Policy, PromotePolicy
from skillvault.model.records import Fact, Ref, Skill, SkillKind, Status, link_id, link_of, stamp
from skillvault.model.text.text import inert, shorten, similarity, slug, theme

NO_GROUNDS = (
    "Too few of its facts are left that say the same and for which more runs speak than "
    "against them; `skillvault why` lists both."
)


Pool = tuple[str, str, SkillKind]  # facts of one domain, trust and ending


class Pattern(Struct, frozen=True, kw_only=True):
    """Facts that recur: a skill to be made of them, or one (`skill`) that grows.

    `fresh` are the facts that the skill does not rest on yet. `independent`: outcomes of
    enough different sessions stand behind them. `read` are the runs that the skill tells of, in the
    order of time, `against` how many spoke against it by then, `ended` when the last of them ended,
    `digest` of all that; none of them if nothing is weighed. `is_admitted`: the skill waited for a
    second session, and there is one.
    """

    facts: tuple[Fact, ...]
    fresh: tuple[Fact, ...]
    independent: bool
    kind: SkillKind = "pattern"
    skill: str | None = None
    read: tuple[str, ...] = ()
    against: int = 0
    ended: datetime | None = None
    digest: str | None = None
    is_admitted: bool = False


class Patterns(Struct, frozen=True):
    """The second arrow's work, and what a person rejected before; `left` are skills that leave.

    `refused` are the facts of what was rejected.
    """

    due: tuple[Pattern, ...]
    rejected: tuple[Rejection, ...]
    left: tuple[Skill, ...] = ()
    refused: frozenset[str] = frozenset()


def patterns(material: PromotionMaterial, skills: Mapping[str, Skill], policy: Policy) -> Patterns:
    """What the second arrow has to do.

    `skills` are those in skills/ and proposed/, and those that this step archived.
    """
    due: list[Pattern] = []
    rejected: set[tuple[Rejection, str]] = set()  # of which fact
    standing: set[str] = set()  # in service, or left to its end
    recurring = list(_recurring(material, policy))
    tells = skills_of_groups([facts for _, facts in recurring], material.skills_of)
    for (kind, facts), (skill, is_own) in zip(recurring, tells, strict=True):
        refused = [r for fact in facts if (r := _skill_taken_away(fact, material))]
        pattern = _pattern_of(kind, facts, skill, material=material, policy=policy)
        if (
            pattern.digest
            and kind == "warning"
            and material.counts.is_of_one_subject([f.id for f in facts])
        ):
            continue  # the subject's own warning tells it
        over = _is_over(pattern, material, policy)
        if skill is None and refused:
            rejected.update((one, fact.id) for one in refused for fact in facts)
        elif skill is None:
            due += [] if over else [pattern]
        else:
            standing.add(skill)
            if skill not in skills or over or not is_own:
                continue
            refusals = {f: r for f in pattern.fresh if (r := _unlinked(f, skill, material))}
            rejected.update((r, fact.id) for r in refusals.values() for fact in facts)
            linkable = tuple(fact for fact in pattern.fresh if fact not in refusals)
            admitted = (
                pattern.independent
                and _held_back(skills[skill])
                and policy.generate.gate != "always"
            )
            if linkable or admitted or _says_otherwise(skills[skill], pattern.digest):
                due.append(replace(pattern, fresh=linkable, is_admitted=admitted))
    return Patterns(
        due=tuple(due),
        rejected=tuple(sorted({refused for refused, _ in rejected})),
        left=_without_grounds(material, skills, standing),
        refused=frozenset(fact for _, fact in rejected),
    )


def _pattern_of(
    kind: SkillKind,
    facts: tuple[Fact, ...],
    skill: str | None,
    *,
    material: PromotionMaterial,
    policy: Policy,
) -> Pattern:
    """What recurs, with the skill of most of its facts, and what that is to tell now."""
    reading = _reading(facts, material) if material.rules.weighs else _Reading()
    return Pattern(
        facts=facts,
        fresh=tuple(f for f in facts if f.id not in material.skills_of),
        independent=len(material.sessions(facts)) >= policy.promote.min_sessions,
        kind=kind,
        skill=skill,
        **reading._asdict(),
    )


def told_patterns(
    material: PromotionMaterial, skills: Mapping[str, Skill], policy: Policy
) -> Iterator[Pattern]:
    """What recurs and stands in one of these skills as it is counted now."""
    recurring = list(_recurring(material, policy))
    tells = skills_of_groups([facts for _, facts in recurring], material.skills_of)
    for (kind, facts), (name, is_own) in zip(recurring, tells, strict=True):
        skill = skills.get(name or "")
        if skill is None or not is_own or skill.status in ("pinned", "retired"):
            continue
        pattern = _pattern_of(kind, facts, name, material=material, policy=policy)
        if not pattern.fresh and pattern.digest in (None, skill.account):
            yield pattern


def skills_of_groups(
    groups: Iterable[Sequence[Fact]], skills_of: Mapping[str, str]
) -> list[tuple[str | None, bool]]:
    """The skill of most facts of each group, and whether it is this group that the skill tells of.

    Facts that said the same may do so no more: of the groups that share a skill the one with the
    most of its facts has it, of equals the first, and the others wait for it to end.
    """
    named = [[skills_of[fact.id] for fact in facts if fact.id in skills_of] for facts in groups]
    skills = [max(sorted(set(names)), key=names.count, default=None) for names in named]
    owners: dict[str, int] = {}
    for place, skill in enumerate(skills):
        if skill is None:
            continue
        owner = owners.setdefault(skill, place)
        if named[place].count(skill) > named[owner].count(skill):
            owners[skill] = place
    return [(s, s is None or owners[s] == place) for place, s in enumerate(skills)]


def _ends(pattern: Pattern, policy: Policy) -> datetime | None:
    days = policy.days(pattern.kind)
    return pattern.ended + timedelta(days=days) if pattern.ended and days else None


def _is_over(pattern: Pattern, material: PromotionMaterial, policy: Policy) -> bool:
    """Whether its time to live would be over by its domain's clock."""
    ends, clock = _ends(pattern, policy), material.clock(pattern.facts[0].domain)
    return bool(ends and clock and ends < clock)


def _says_otherwise(skill: Skill, digest: str | None) -> bool:
    """Whether the program has written something else, and it is not in a person's hand."""
    return (
        digest is not None and skill.account != digest and skill.status not in ("pinned", "retired")
    )


def _reading(facts: Sequence[Fact], material: PromotionMaterial) -> "_Reading":
    """What a skill of these facts tells of; of what persons wrote, when they did."""
    read, runs = _counted_runs([fact.id for fact in facts], material)
    against = len(runs) - len(read)
    last = read[-1] if read else ""
    outcome = material.outcomes.get(last)
    written = [fact.created_at for fact in facts if fact.created_at]
    lines = [f"{len(read)} {last} {against}", *(f"{fact.id} {fact.text}" for fact in facts)]
    return _Reading(
        read=read,
        against=against,
        ended=outcome.occurred_at if outcome else max(written, default=None),
        digest=sha256("\n".join(lines).encode()).hexdigest()[:12],
    )


def _counted_runs(
    facts: Sequence[str], material: PromotionMaterial
) -> tuple[tuple[str, ...], frozenset[str]]:
    """The runs for facts up to a reading point, in the order of time, and all runs up to it."""
    supporters = set(material.counts.supporters(facts))
    runs = sorted(supporters.union(material.counts.opponents(facts)))
    runs = runs[: last_point(len(runs))]
    return tuple(run for run in runs if run in supporters), frozenset(runs)


class _Reading(NamedTuple):
    """The runs for and against facts as of a point, when the last ended, and a digest of it."""

    read: tuple[str, ...] = ()
    against: int = 0
    ended: datetime | None = None
    digest: str | None = None


def _without_grounds(
    material: PromotionMaterial, skills: Mapping[str, Skill], standing: Collection[str]
) -> tuple[Skill, ...]:
    """The skills whose facts recur no more: contested, or told since in words that differ."""
    if not material.rules.weighs:
        return ()
    return tuple(
        skill
        for name, skill in sorted(skills.items())
        if name not in standing
        and skill.origin == "generated"
        and skill.status not in ("pinned", "retired")
    )


def pools(material: PromotionMaterial) -> dict[str, Pool]:
    """Fact -> with which it is compared, of those that are told."""
    endings: Mapping[str, Status] = {}
    current = [fact for fact in material.current_facts if fact.id not in material.contested]
    if material.rules.weighs:
        endings = material.counts.endings([fact.id for fact in current])
    kinds: Mapping[bool, SkillKind] = {True: "warning", False: "pattern"}
    return {f.id: (f.domain, f.trust, kinds[endings.get(f.id) == "failure"]) for f in current}


def _recurring(
    material: PromotionMaterial, policy: Policy
) -> Iterator[tuple[SkillKind, tuple[Fact, ...]]]:
    """Clusters, and facts that enough evaluations of different sessions support.

    What failures taught is a warning. What has as much against it as for it supports nothing.
    """
    groups: dict[Pool, list[Fact]] = defaultdict(list)
    rules, by_fact = policy.promote, pools(material)
    for fact in material.current_facts:
        if fact.id in by_fact:
            groups[by_fact[fact.id]].append(fact)
    for (_, _, kind), facts in sorted(groups.items()):
        used: set[str] = set()
        texts = [statement_of(fact) for fact in facts]
        for places in clusters(texts, rules.cluster_above, rules.cluster_size):
            cluster = tuple(facts[i] for i in places)
            used.update(fact.id for fact in cluster)
            yield kind, cluster
        for fact in facts:
            if fact.id not in used and _recurs_alone(fact, material, policy):
                yield kind, (fact,)


def fact_state(
    fact: Fact, material: PromotionMaterial, skills: Collection[str], policy: Policy
) -> PromotionState:
    """Where one fact stands with the second arrow; `skills` are the living ones."""
    if fact.id in material.superseded:
        return PromotionState("superseded", f"by {material.superseded[fact.id]}")
    skill = material.skills_of.get(fact.id)
    if skill and (skill in skills or fact.id not in material.contested):
        where = "" if skill in skills else ", which is not in service any more"
        return PromotionState("done", f"derived {skill}{where}")
    if refused := _skill_taken_away(fact, material):
        return PromotionState("rejected", refused.sentence)
    if fact.id in material.contested:
        runs, against = (
            material.counts.supporter_counts([fact.id]),
            material.counts.opponent_counts([fact.id]),
        )
        sides = f"{runs.get(fact.id, 0)} for it, {against[fact.id]} against it"
        left = f"; {skill} left service" if skill else ""
        return PromotionState("contested", f"as much speaks against it as for it: {sides}{left}")
    if any(fact in cluster for _, cluster in _recurring(material, policy)):
        return PromotionState("due", "recurs; `skillvault run`")
    return PromotionState("alone", _too_few(fact, material, policy.promote))


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
    by_itself = f"; sessions that support it: {sessions}, alone it needs {rules.cluster_size}"
    return (
        f"other facts more than {rules.cluster_above:.2f} similar: {like}, a pattern needs "
        f"{rules.cluster_size - 1}{nearest}{by_itself if material.rules.weighs else ''}"
    )


def _recurs_alone(fact: Fact, material: PromotionMaterial, policy: Policy) -> bool:
    """Whether so many sessions support a fact that it is a pattern by itself."""
    enough = policy.promote.cluster_size
    return material.rules.weighs and len(material.sessions([fact])) >= enough


def _skill_taken_away(fact: Fact, material: PromotionMaterial) -> Rejection | None:
    return material.rejections.of_source(STEP, Ref("fact", fact.id), "skill")


def _unlinked(fact: Fact, skill: str, material: PromotionMaterial) -> Rejection | None:
    """The link by which this fact joined the skill before, if a person took it away."""
    link = link_id("derived", Ref("fact", fact.id), Ref("skill", skill))
    return material.rejections.of_target(Ref("link", link))


def _held_back(skill: Skill) -> bool:
    """Whether a skill waits in proposed/ for a second session alone."""
    return skill.status == "proposed" and skill.trust == "local" and skill.origin == "generated"


def pattern_brief(pattern: Pattern, material: PromotionMaterial) -> Recurrence:
    """What a judge is given to write the skill."""
    names = [fact.id for fact in pattern.facts]
    support = material.support(names)
    if pattern.digest is not None:
        read = set(pattern.read)
        support = [e for e in support if e.id in read]
    texts = [statement_of(fact) for fact in pattern.facts]
    if len(texts) == 1:  # what its repeats share says more than its own first words
        texts = [e.key_insight for e in support if e.key_insight] or texts
    return Recurrence(
        kind=pattern.kind,
        domain=pattern.facts[0].domain,
        theme=_plain(theme(texts)),
        facts=_told_facts(pattern, material),
        evaluations=tuple(support),
        outcomes=material.outcomes_of([e.id for e in support]),
        against=pattern.against,
    )


def _told_facts(pattern: Pattern, material: PromotionMaterial) -> tuple[Fact, ...]:
    """The facts with their counts, as of what the skill tells of."""
    if pattern.digest is None:
        return pattern.facts
    _, runs = _counted_runs([fact.id for fact in pattern.facts], material)
    sides = material.counts.counts_until([fact.id for fact in pattern.facts], max(runs, default=""))
    is_counted = len(pattern.facts) > 1
    return tuple(
        replace(fact, text=told_text(fact, *sides.get(fact.id, (0, 0)), is_counted=is_counted))
        for fact in pattern.facts
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
    rules: Rules,
) -> Change:
    """The commit that makes a pattern skill of facts."""
    lead = pattern.facts[0]
    served = pattern.independent and lead.trust == "local"
    about = f"{slug(lead.domain, limit=32)}-{slug(draft.title) or lead.id}"
    created = pattern.ended or now
    skill = Skill(
        name=rules.pattern_name(pattern.kind, about, [fact.id for fact in pattern.facts], taken),
        description=shorten(draft.description, 1024),
        body=pattern_body(pattern, draft),
        tags=_pattern_tags(lead.domain, draft.title),
        kind=pattern.kind,
        domain=lead.domain,
        status="testing" if served else "proposed",
        origin="generated",
        created=stamp(created),
        expires=stamp(created + timedelta(days=rules.policy.days(pattern.kind) or 0)),
        trust=lead.trust,
        account=pattern.digest,
    )
    return _derived(pattern, skill.name, now, writes=(skill,))


def growth_change(
    pattern: Pattern,
    draft: Draft,
    skill: Skill,
    written: sections.Written,
    *,
    shelf: str,
    now: datetime,
    policy: Policy,
) -> Change:
    """The commit by which a skill takes in more facts or more of their runs, or is served.

    `shelf` is where it stands. What a person changed in its text stays.
    """
    path = f"{shelf}/{skill.name}/SKILL.md"
    served = pattern.is_admitted or shelf == "archive"
    home = "skills" if pattern.is_admitted else home_of(skill)
    body = sections.rewritten(skill.body, written.bodies, pattern_body(pattern, draft))
    return _derived(
        pattern,
        skill.name,
        now,
        edits=tuple(_key_edits(pattern, draft, skill, written, path=path, policy=policy)),
        rewrites=(Rewrite(path, body),) if body != skill.body else (),
        moves=(Move(f"{shelf}/{skill.name}", f"{home}/{skill.name}"),) if served else (),
    )


def _key_edits(
    pattern: Pattern,
    draft: Draft,
    skill: Skill,
    written: sections.Written,
    *,
    path: str,
    policy: Policy,
) -> Iterator[Edit]:
    """The keys to set; a description, and an end, that a person wrote stay."""
    if pattern.is_admitted:
        yield Edit(path, ("metadata", "status"), "testing")
    ends = _ends(pattern, policy)
    grown = replace(
        skill,
        description=shorten(draft.description, 1024),
        account=pattern.digest or skill.account,
        created=stamp(pattern.ended) if pattern.ended else skill.created,
        expires=stamp(ends) if ends else skill.expires,
    )
    yield from key_edits(path, skill, grown, written, policy=policy)


def leave_change(skill: Skill, shelf: str, reason: str = NO_GROUNDS) -> Change:
    """The commit that archives a skill, as its facts do not recur any more or for this reason."""
    return archive_change(STEP, skill, shelf, reason)


def _derived(pattern: Pattern, name: str, now: datetime, **changes: Any) -> Change:
    """A commit with its `derived` links, one a fresh fact."""
    target = Ref("skill", name)
    sources = tuple(Ref("fact", fact.id) for fact in pattern.fresh)
    links = tuple(link_of("derived", source, target, now) for source in sources)
    targets = (target, *(Ref("link", link.id) for link in links)) if pattern.skill else (target,)
    return Change(
        step=STEP,
        subject=name if pattern.skill is None else f"grow {name}",
        commit_with=skill_series(STEP, pattern.facts[0].domain),
        reason=_pattern_reason(pattern),
        sources=sources,
        targets=targets,
        **{**changes, "writes": (*changes.get("writes", ()), *links)},
    )


def pattern_body(pattern: Pattern, draft: Draft) -> str:
    """The skill's text: title, header lines, sections."""
    header = [
        f"*{_made_from(pattern)}*",
        f"*Domain: {pattern.facts[0].domain}*",
    ]
    parts = [f"# {pattern.kind.capitalize()}: {draft.title}", "\n".join(header)]
    parts += [f"## {heading}\n\n{text.strip()}" for heading, text in draft.sections]
    return "\n\n".join(parts)


def _made_from(pattern: Pattern) -> str:
    """Of what it is made; if nothing was weighed, in the designs' words."""
    count = len(pattern.facts)
    if pattern.digest is None:
        return f"Generated from {count} related memory facts"
    days = sorted({f"{f.created_at:%Y-%m-%d}" for f in pattern.facts if f.created_at})
    when = f", {' to '.join(dict.fromkeys((days[0], days[-1])))}" if days else ""
    return f"From {count} memory fact{'s' * (count > 1)}{when}"


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
    elif pattern.is_admitted:
        lines = ["Its facts rest on more than one session now."]
    elif pattern.skill is not None:
        lines = ["More runs speak for its facts or against them."]
    if not pattern.independent:
        lines.append("All of it rests on one session, so it waits for approval in proposed/.")
    return "\n".join(lines + [f"- {shorten(f.text, 200)}" for f in pattern.fresh])
