"""The rule for pattern skills: make or extend a skill from facts that recur in a domain.

Facts of one domain and one trust are compared. A skill whose facts rest on a single session waits
in proposed/. `loop/promote.py` calls `plan_patterns` and builds a change for each pattern;
`general.py` has the rule across domains.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning import sections
from skillvault.learning.account.reading import last_point
from skillvault.learning.expire import rewrite_skill
from skillvault.learning.gate import archive_change, home_of
from skillvault.learning.promote.facts import (
    STEP,
    PromotionRecords,
    PromotionState,
    clusters,
    statement_of,
    text_with_rate,
)
from skillvault.learning.rejection import Rejection
from skillvault.learning.rules import Rules
from skillvault.model.brief import Draft, Recurrence
from skillvault.model.change import Change, Edit, Move, skill_series
from skillvault.model.phrases import RESULT_WORDS
from skillvault.model.policy import Policy, PromotePolicy
from skillvault.model.records import Fact, Ref, Skill, SkillKind, Status, link_id, link_of, stamp
from skillvault.model.text.text import make_inert, shorten, similarity, slug, theme

_NO_SUPPORT = (
    "Too few of its facts are left that say the same and for which more runs speak than "
    "against them; `skillvault why` lists both."
)
FIXED_STATUSES = ("pinned", "retired")  # a skill with such a status is not rewritten
_WAITING = ("proposed", "local", "generated")  # status, trust, origin of a skill that may move
Pool = tuple[str, str, SkillKind]  # domain, trust and kind of facts that are compared


class Pattern(Struct, frozen=True, kw_only=True):
    """Facts that recur: they make a skill, or change the skill `skill`.

    `new_facts` are not part of the skill yet. `is_independent` is True if outcomes of enough
    sessions support the facts. `is_admitted` is True if the skill waited in proposed/ for that.
    `run_ids` has the runs that support the facts, by time; `opponents` counts the runs against
    them. `ended` is the end of the last run, and `digest` changes with the runs and facts. In a
    profile that does not weigh runs, these four are empty.
    """

    facts: tuple[Fact, ...]
    new_facts: tuple[Fact, ...]
    is_independent: bool
    kind: SkillKind = "pattern"
    skill: str | None = None
    run_ids: tuple[str, ...] = ()
    opponents: int = 0
    ended: datetime | None = None
    digest: str | None = None
    is_admitted: bool = False


class Patterns(Struct, frozen=True):
    """The patterns to write.

    `rejected` has rejections of earlier patterns, and `refused` the facts of these. `leaving` has
    the skills to archive.
    """

    due: tuple[Pattern, ...]
    rejected: tuple[Rejection, ...]
    leaving: tuple[Skill, ...] = ()
    refused: frozenset[str] = frozenset()


def plan_patterns(
    records: PromotionRecords, skills: Mapping[str, Skill], policy: Policy
) -> Patterns:
    """Return the patterns to write and the skills to archive.

    `skills` has the skills in skills/ and proposed/, and those that this step archived.
    """
    patterns: list[Pattern] = []
    rejected: set[tuple[Rejection, str]] = set()  # with the facts that they concern
    live_names: set[str] = set()  # the skills that stay
    for pattern, is_owner in _find_patterns(records, policy):
        facts, ids = pattern.facts, [fact.id for fact in pattern.facts]
        is_weighed_warning = pattern.digest and pattern.kind == "warning"
        if is_weighed_warning and records.counts.is_of_one_subject(ids):
            continue  # the warning about the subject says the same
        expiry, clock = _expiry(pattern, policy), records.clock(facts[0].domain)
        is_expired = expiry and clock and expiry < clock
        if pattern.skill is None:
            rejections = [r for fact in facts if (r := _skill_rejection(fact, records))]
            rejected.update((rejection, key) for rejection in rejections for key in ids)
            patterns += [] if rejections or is_expired else [pattern]
            continue
        live_names.add(pattern.skill)
        skill = skills.get(pattern.skill)
        if skill is None or is_expired or not is_owner:
            continue
        link_rejections = {f: link_rejection(f, skill.name, records) for f in pattern.new_facts}
        rejected.update((r, key) for r in filter(None, link_rejections.values()) for key in ids)
        new_facts = tuple(fact for fact, rejection in link_rejections.items() if not rejection)
        is_waiting = (skill.status, skill.trust, skill.origin) == _WAITING
        is_admitted = pattern.is_independent and is_waiting and policy.generate.gate != "always"
        is_outdated = pattern.digest not in (None, skill.account)
        if new_facts or is_admitted or (is_outdated and skill.status not in FIXED_STATUSES):
            patterns.append(replace(pattern, new_facts=new_facts, is_admitted=is_admitted))
    return Patterns(
        due=tuple(patterns),
        rejected=tuple(sorted({rejection for rejection, _ in rejected})),
        leaving=_unsupported_skills(records, skills, live_names),
        refused=frozenset(fact for _, fact in rejected),
    )


def _find_patterns(records: PromotionRecords, policy: Policy) -> Iterator[tuple[Pattern, bool]]:
    groups = list(_find_recurring(records, policy))
    assignments = assign_skills([facts for _, facts in groups], records.skills_of)
    for (kind, facts), (skill, is_owner) in zip(groups, assignments, strict=True):
        pattern = Pattern(
            facts=facts,
            new_facts=tuple(fact for fact in facts if fact.id not in records.skills_of),
            is_independent=len(records.sessions(facts)) >= policy.promote.min_sessions,
            kind=kind,
            skill=skill,
        )
        yield (_with_runs(pattern, records) if records.rules.weighs else pattern), is_owner


def current_patterns(
    records: PromotionRecords, skills: Mapping[str, Skill], policy: Policy
) -> Iterator[Pattern]:
    """Yield the patterns whose skill is up to date."""
    for pattern, is_owner in _find_patterns(records, policy):
        skill = skills.get(pattern.skill or "")
        if skill is None or not is_owner or skill.status in FIXED_STATUSES:
            continue
        if not pattern.new_facts and pattern.digest in (None, skill.account):
            yield pattern


def assign_skills(
    groups: Iterable[Sequence[Fact]], skills_of: Mapping[str, str]
) -> list[tuple[str | None, bool]]:
    """Return for each group (skill of most of its facts, True if the group owns the skill).

    Facts that said the same earlier may differ now, so groups may share a skill. Then the group
    with most of its facts owns the skill, and the other groups wait until the skill is archived.
    """
    names_by_group = [
        [skills_of[fact.id] for fact in facts if fact.id in skills_of] for facts in groups
    ]
    skills = [max(sorted(set(names)), key=names.count, default=None) for names in names_by_group]
    owners: dict[str, int] = {}
    for index, skill in enumerate(skills):
        if skill is not None:
            owner = owners.setdefault(skill, index)
            if names_by_group[index].count(skill) > names_by_group[owner].count(skill):
                owners[skill] = index
    return [(s, s is None or owners[s] == index) for index, s in enumerate(skills)]


def _expiry(pattern: Pattern, policy: Policy) -> datetime | None:
    days = policy.days(pattern.kind)
    return pattern.ended + timedelta(days=days) if pattern.ended and days else None


def _with_runs(pattern: Pattern, records: PromotionRecords) -> Pattern:
    """Add the runs that support the facts up to a reading point, and the digest."""
    facts = pattern.facts
    run_ids, runs = _runs_at_reading([fact.id for fact in facts], records)
    opponents = len(runs) - len(run_ids)
    last = run_ids[-1] if run_ids else ""
    outcome = records.outcomes.get(last)
    times = [fact.created_at for fact in facts if fact.created_at]
    lines = [f"{len(run_ids)} {last} {opponents}", *(f"{fact.id} {fact.text}" for fact in facts)]
    return replace(
        pattern,
        run_ids=run_ids,
        opponents=opponents,
        ended=outcome.occurred_at if outcome else max(times, default=None),
        digest=sha256("\n".join(lines).encode()).hexdigest()[:12],
    )


def _runs_at_reading(
    facts: Sequence[str], records: PromotionRecords
) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return (runs for the facts, runs for and against them), both up to a reading point."""
    supporters = set(records.counts.supporters(facts))
    runs = sorted(supporters.union(records.counts.opponents(facts)))
    runs = runs[: last_point(len(runs))]
    return tuple(run for run in runs if run in supporters), frozenset(runs)


def _unsupported_skills(
    records: PromotionRecords, skills: Mapping[str, Skill], live_names: Collection[str]
) -> tuple[Skill, ...]:
    """Return the skills whose facts no longer recur: they are contested or reworded."""
    if not records.rules.weighs:
        return ()
    other_skills = (skill for name, skill in sorted(skills.items()) if name not in live_names)
    generated_skills = (skill for skill in other_skills if skill.origin == "generated")
    return tuple(skill for skill in generated_skills if skill.status not in FIXED_STATUSES)


def pools(records: PromotionRecords) -> dict[str, Pool]:
    """Map each uncontested current fact to the pool of facts with which it is compared."""
    statuses: Mapping[str, Status] = {}
    current_facts = [fact for fact in records.current_facts if fact.id not in records.contested]
    if records.rules.weighs:
        statuses = records.counts.endings([fact.id for fact in current_facts])
    kinds: Mapping[bool, SkillKind] = {True: "warning", False: "pattern"}
    return {
        f.id: (f.domain, f.trust, kinds[statuses.get(f.id) == "failure"]) for f in current_facts
    }


def _find_recurring(
    records: PromotionRecords, policy: Policy
) -> Iterator[tuple[SkillKind, tuple[Fact, ...]]]:
    """Yield clusters of similar facts, and single facts that enough sessions support.

    Facts about failures make a warning. Contested facts are left out.
    """
    groups: dict[Pool, list[Fact]] = defaultdict(list)
    settings, fact_pools = policy.promote, pools(records)
    for fact in records.current_facts:
        if fact.id in fact_pools:
            groups[fact_pools[fact.id]].append(fact)
    for (_, _, kind), facts in sorted(groups.items()):
        used_facts: set[str] = set()
        texts = [statement_of(fact) for fact in facts]
        for indices in clusters(texts, settings.cluster_above, settings.cluster_size):
            cluster = tuple(facts[index] for index in indices)
            used_facts.update(fact.id for fact in cluster)
            yield kind, cluster
        for fact in facts if records.rules.weighs else ():
            sessions = records.sessions([fact]) if fact.id not in used_facts else ()
            if len(sessions) >= settings.cluster_size:
                yield kind, (fact,)


def fact_state(
    fact: Fact, records: PromotionRecords, skills: Collection[str], policy: Policy
) -> PromotionState:
    """Return the state of a fact on its way to a skill; `skills` has the unarchived skills."""
    if fact.id in records.successors:
        return PromotionState("superseded", f"by {records.successors[fact.id]}")
    skill = records.skills_of.get(fact.id)
    if skill and (skill in skills or fact.id not in records.contested):
        absence_note = "" if skill in skills else ", which is no longer live"
        return PromotionState("done", f"derived {skill}{absence_note}")
    if rejection := _skill_rejection(fact, records):
        return PromotionState("rejected", rejection.sentence)
    if fact.id in records.contested:
        runs = records.counts.supporter_counts([fact.id]).get(fact.id, 0)
        opponents = records.counts.opponent_counts([fact.id])[fact.id]
        removal = f"; {skill} no longer live" if skill else ""
        counts = f"{runs} for it, {opponents} against it{removal}"
        return PromotionState("contested", f"as many runs are against it as for it: {counts}")
    if any(fact in cluster for _, cluster in _find_recurring(records, policy)):
        return PromotionState("due", "recurs; `skillvault run`")
    return PromotionState("alone", _explain_alone(fact, records, policy.promote))


def _explain_alone(fact: Fact, records: PromotionRecords, settings: PromotePolicy) -> str:
    other_facts = (other for other in records.current_facts if other.id != fact.id)
    peers = (o for o in other_facts if (o.domain, o.trust) == (fact.domain, fact.trust))
    neighbours = sorted(((similarity(fact.text, o.text), o.id) for o in peers), key=lambda n: -n[0])
    count = sum(value > settings.cluster_above for value, _ in neighbours)
    remark = f"; the nearest is {neighbours[0][1]} at {neighbours[0][0]:.2f}" if neighbours else ""
    sessions = len(records.sessions([fact]))
    alone_note = f"; sessions that support it: {sessions}, alone it needs {settings.cluster_size}"
    return (
        f"other facts more than {settings.cluster_above:.2f} similar: {count}, a pattern needs "
        f"{settings.cluster_size - 1}{remark}{alone_note if records.rules.weighs else ''}"
    )


def _skill_rejection(fact: Fact, records: PromotionRecords) -> Rejection | None:
    return records.rejections.of_source(STEP, Ref("fact", fact.id), "skill")


def link_rejection(fact: Fact, skill: str, records: PromotionRecords) -> Rejection | None:
    """Return the rejection of the link from a fact to a skill, or None."""
    link = link_id("derived", Ref("fact", fact.id), Ref("skill", skill))
    return records.rejections.of_target(Ref("link", link))


def pattern_brief(pattern: Pattern, records: PromotionRecords) -> Recurrence:
    """Return the brief for the judge that writes the skill."""
    fact_ids = [fact.id for fact in pattern.facts]
    support = records.support(fact_ids)
    if pattern.digest is not None:
        run_ids = set(pattern.run_ids)
        support = [evaluation for evaluation in support if evaluation.id in run_ids]
    texts = [statement_of(fact) for fact in pattern.facts]
    if len(texts) == 1:  # the words that its repeats share make a better theme
        texts = [e.key_insight for e in support if e.key_insight] or texts
    texts = [" ".join(w for w in text.split() if w not in RESULT_WORDS) for text in texts]
    return Recurrence(
        kind=pattern.kind,
        domain=pattern.facts[0].domain,
        # without the punctuation of the facts
        theme=make_inert("-".join(re.findall(r"\w+(?:[.']\w+)*", theme(texts))), 70),
        facts=_facts_with_rates(pattern, records),
        evaluations=tuple(support),
        outcomes=records.outcomes_of([evaluation.id for evaluation in support]),
        against=pattern.opponents,
    )


def _facts_with_rates(pattern: Pattern, records: PromotionRecords) -> tuple[Fact, ...]:
    if pattern.digest is None:
        return pattern.facts
    _, runs = _runs_at_reading([fact.id for fact in pattern.facts], records)
    tally = records.counts.counts_until([fact.id for fact in pattern.facts], max(runs, default=""))
    is_counted = len(pattern.facts) > 1
    return tuple(
        replace(fact, text=text_with_rate(fact, *tally.get(fact.id, (0, 0)), is_counted=is_counted))
        for fact in pattern.facts
    )


# ── the changes ──────────────────────────────────────────────────────────────────────


def skill_change(
    pattern: Pattern, draft: Draft, *, is_taken: Callable[[str], bool], now: datetime, rules: Rules
) -> Change:
    """Return the change that adds a pattern skill."""
    lead = pattern.facts[0]
    is_served = pattern.is_independent and lead.trust == "local"
    subject = f"{slug(lead.domain, limit=32)}-{slug(draft.title) or lead.id}"
    fact_ids = [fact.id for fact in pattern.facts]
    time = pattern.ended or now
    skill = Skill(
        name=rules.pattern_name(pattern.kind, subject, fact_ids, is_taken),
        description=shorten(draft.description, 1024),
        body=_pattern_body(pattern, draft),
        tags=tuple(dict.fromkeys(filter(None, (lead.domain, *map(slug, draft.title.split("-")))))),
        kind=pattern.kind,
        domain=lead.domain,
        status="testing" if is_served else "proposed",
        origin="generated",
        created=stamp(time),
        expires=stamp(time + timedelta(days=rules.policy.days(pattern.kind) or 0)),
        trust=lead.trust,
        account=pattern.digest,
    )
    reason = _pattern_reason(pattern)
    return linked_change(pattern.new_facts, now, skill, reason=reason, is_new=True)


def growth_change(
    pattern: Pattern,
    draft: Draft,
    skill: Skill,
    versions: sections.WrittenTexts,
    *,
    folder: str,
    now: datetime,
    policy: Policy,
) -> Change:
    """Return the change that adds facts or runs to a skill, or moves it out of proposed/.

    `folder` is the top folder of the skill. A person's edits stay.
    """
    expiry = _expiry(pattern, policy)
    new_skill = replace(
        skill,
        description=shorten(draft.description, 1024),
        body=_pattern_body(pattern, draft),
        status="testing" if pattern.is_admitted else skill.status,
        account=pattern.digest or skill.account,
        created=stamp(pattern.ended) if pattern.ended else skill.created,
        expires=stamp(expiry) if expiry else skill.expires,
    )
    parts = rewrite_parts(skill, new_skill, versions, folder=folder, policy=policy)
    return linked_change(pattern.new_facts, now, skill, reason=_pattern_reason(pattern), **parts)


def rewrite_parts(
    skill: Skill, new_skill: Skill, versions: sections.WrittenTexts, *, folder: str, policy: Policy
) -> dict[str, Any]:
    """Return the fields of the change that turns a skill into a new version, by name.

    `folder` is the top folder of the skill. The change moves a skill that is in archive/ or has a
    new status. It leaves a person's edits as they are.
    """
    path, has_new_status = f"{folder}/{skill.name}/SKILL.md", new_skill.status != skill.status
    status_edits = (Edit(path, ("metadata", "status"), new_skill.status),) if has_new_status else ()
    edits, rewrites = rewrite_skill(path, skill, new_skill, versions, policy=policy)
    move = Move(f"{folder}/{skill.name}", f"{home_of(new_skill)}/{skill.name}")
    return {
        "edits": (*status_edits, *edits),
        "rewrites": rewrites,
        "moves": (move,) if folder == "archive" or has_new_status else (),
    }


def leave_change(skill: Skill, folder: str, reason: str = _NO_SUPPORT) -> Change:
    """Return the change that archives a skill."""
    return archive_change(STEP, skill, folder, reason)


def linked_change(
    facts: Sequence[Fact],
    at: datetime,
    skill: Skill,
    *,
    reason: str,
    is_new: bool = False,
    **parts: Any,
) -> Change:
    """Return a change that makes or grows a skill, with a `derived` link from each fact.

    `parts` are further fields of the change.
    """
    target = Ref("skill", skill.name)
    sources = tuple(Ref("fact", fact.id) for fact in facts)
    links = tuple(link_of("derived", source, target, at) for source in sources)
    return Change(
        step=STEP,
        subject=skill.name if is_new else f"grow {skill.name}",
        commit_with=skill_series(STEP, skill.domain),
        reason=reason,
        sources=sources,
        targets=(target, *(() if is_new else (Ref("link", link.id) for link in links))),
        writes=(*([skill] if is_new else []), *links),
        **parts,
    )


def skill_body(title: str, header: str, draft: Draft) -> str:
    """Render the text of a skill: title, header lines, sections."""
    sections_text = [f"## {heading}\n\n{text.strip()}" for heading, text in draft.sections]
    return "\n\n".join([f"# {title}", header, *sections_text])


def _pattern_body(pattern: Pattern, draft: Draft) -> str:
    count = len(pattern.facts)
    days = sorted({f"{fact.created_at:%Y-%m-%d}" for fact in pattern.facts if fact.created_at})
    span = f", {' to '.join(dict.fromkeys((days[0], days[-1])))}" if days else ""
    origin = f"From {count} memory fact{'s' * (count > 1)}{span}"
    if pattern.digest is None:  # nothing was weighed
        origin = f"Generated from {count} related memory facts"
    header = f"*{origin}*\n*Domain: {pattern.facts[0].domain}*"
    return skill_body(f"{pattern.kind.capitalize()}: {draft.title}", header, draft)


def _pattern_reason(pattern: Pattern) -> str:
    count = len(pattern.facts)
    lines = [f"{count} related memory fact{'s' * (count > 1)} say the same."]
    if count == 1:
        lines = ["One memory fact that evaluations of several sessions support."]
    if pattern.skill is not None and pattern.new_facts:
        lines = [f"{len(pattern.new_facts)} more of {count} related memory facts."]
    elif pattern.is_admitted:
        lines = ["Its facts rest on more than one session now."]
    elif pattern.skill is not None:
        lines = ["More runs are for its facts or against them."]
    if not pattern.is_independent:
        lines.append("All of it rests on one session, so it waits for approval in proposed/.")
    return "\n".join(lines + [f"- {shorten(fact.text, 200)}" for fact in pattern.new_facts])
