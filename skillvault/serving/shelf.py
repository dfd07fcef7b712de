"""Serve skills to agents: by name, tag or role, as recommendations, and with their usage.

A question changes no file; the uses that it computes are stored in the index.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec.structs import replace

from skillvault.clients.notes import domain_of
from skillvault.learning import skill_stats
from skillvault.learning.assess import STEP as ASSESS
from skillvault.learning.effect import detect
from skillvault.learning.effect import verdict as effect
from skillvault.learning.recommend import recommend, relevance, render, shelf
from skillvault.learning.rules import Rules
from skillvault.loop.clock import clock
from skillvault.loop.effects import Uses, load_assessed_skill, read_version
from skillvault.loop.profiles import rules_of
from skillvault.loop.registry import TASKS
from skillvault.model import decision_outcomes
from skillvault.model.errors import UsageError
from skillvault.model.records import (
    Outcome,
    Problem,
    Recommendation,
    Record,
    Ref,
    ShelfSkill,
    Skill,
)
from skillvault.serving import background
from skillvault.serving.folders import Folders
from skillvault.vault import arguments
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layers, layout
from skillvault.vault.index.skills import SkillRow, SkillStatusRow
from skillvault.vault.index.snapshot import Snapshot, Staging
from skillvault.vault.index.uses import SkillUse
from skillvault.vault.search import vectors
from skillvault.vault.search.ranking import Near

if TYPE_CHECKING:
    from skillvault.learning.assess import AssessedSkill
    from skillvault.learning.effect.verdict import Evidence
    from skillvault.learning.recommend.recommend import Candidate, Others, Query, Selection
    from skillvault.learning.recommend.relevance import Match
    from skillvault.learning.recommend.shelf import Strategy

_Answer = TypeVar("_Answer")
FIRST_DOMAIN = "general"  # of a vault that has none yet
_MAX_HITS = 200  # skills that a search for a task returns
_PAGE_SIZE = 500  # skills that are indexed by their tasks at once
_MAX_OUTCOMES = 100  # outcomes by whose tasks a skill is found
_LIFT_DIGITS = 9  # of a lift that order skills


class _Cache(NamedTuple):
    """The candidates of each domain in one state of the vault: by name, and ranked.

    `special` has the candidates for any task (used, pinned, of the package), and the number of all.
    """

    key: object
    candidates: dict[str, list[Candidate]]
    ranked: dict[str | None, list[Candidate]]
    special: dict[str, tuple[list[Candidate], int]]

    def at(self, snapshot: Snapshot) -> _Cache:
        """Return the cache for this state of the vault; the same cache while nothing changes."""
        key = (snapshot.commit, snapshot.uses.state, snapshot.layers.state)
        return self if self.key == key else _Cache(key, {}, {}, {})


class Shelf:
    """The skills that may be served, by layer: the package's, the domains', the vault's own.

    A later layer overrides an earlier layer by name. `problems` are the unreadable files of the
    other layers. All threads share the caches: each reads or replaces them as a whole.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._folders = Folders(store)
        self.uses = Uses(store)
        self._cache = _Cache(None, {}, {}, {})

    def add_dir(self, folder: Path | str) -> list[Problem]:
        """Add a folder of skills above the other domain layers; return its problems.

        Raise UsageError for a folder of the vault that is never served.
        """
        if layers.is_never_served(self._store.root, Path(folder)):
            raise UsageError(f"{folder}: {layers.NEVER_SERVED}; add another folder")
        path = layout.real_path(Path(folder))
        self._folders.add_folder(path)
        return [problem for problem in self.problems if Path(problem.path).is_relative_to(path)]

    def reload(self) -> None:
        """Read the folders again; the vault's own skills are always those of HEAD."""
        self._folders.reload()

    @property
    def problems(self) -> list[Problem]:
        """Return the problems of the layers outside the vault."""
        return self._folders.problems(self._snapshot())

    def layers(self) -> list[list[ShelfSkill]]:
        """Return the skills of each layer; the last layer is the vault."""
        snapshot = self._snapshot()
        return [*self._folders.layers(snapshot), list(_vault_skills(snapshot))]

    def skills(self) -> list[Skill]:
        """Return the served skills, by name."""
        snapshot = self._snapshot()
        return _served_skills(snapshot, snapshot.skills.serving())

    def get(self, name: str) -> Skill | None:
        """Return the served skill with this name; `_` stands for `-`."""
        return shelf.get(_served_skills(self._snapshot(), {name, name.replace("_", "-")}), name)

    def layer_skill(self, name: str) -> ShelfSkill | None:
        """Return the skill with this name from the package or a shared folder, hidden or not.

        Return None if a skill of the vault has this name and takes precedence.
        """
        snapshot = self._snapshot()
        for spelling in dict.fromkeys((name, name.replace("_", "-"))):
            entry = snapshot.layers.of_name(spelling)
            if entry is None:
                continue
            if snapshot.layers.is_served(spelling) or snapshot.skills.find(spelling) is None:
                return entry
        return None

    def get_by_tags(self, tags: Iterable[str] | str) -> list[Skill]:
        """Return the skills with any of these tags, by name; a text may have several tags."""
        names = list(arguments.tag_list("tags", tags))
        labels = [("tags", tag) for tag in names]
        return shelf.get_by_tags(_labelled_skills(self._snapshot(), labels), names)

    def get_by_role(self, role: str) -> list[Skill]:
        """Return the skills for a role, by name."""
        return shelf.get_by_role(_labelled_skills(self._snapshot(), [("roles", role)]), role)

    def get_by_pipeline_stage(self, stage: str) -> list[Skill]:
        """Return the skills for a stage, by name."""
        skills = _labelled_skills(self._snapshot(), [("stages", stage)])
        return shelf.get_by_pipeline_stage(skills, stage)

    def top_k(
        self,
        task: str = "",
        role: str | None = None,
        k: int = 5,
        strategy: Strategy = "tag",
        *,
        stage: str | None = None,
        pins: Sequence[str] = (),
    ) -> list[Skill]:
        """Return at most `k` skills for a role or stage: pins, then the most applied or nearest.

        Raise UsageError for another strategy, and warn of a pin without a skill.
        """
        if strategy not in shelf.STRATEGIES:
            raise UsageError(f"strategy {strategy!r}: there are {', '.join(shelf.STRATEGIES)}")
        pins = arguments.text_list("pins", pins)
        snapshot = self.ready()
        elsewhere = snapshot.skills.external_uses().items()
        usage = Counter({name: effect.cap_counters(uses).times_applied for name, uses in elsewhere})
        usage.update({name: n.times_applied for name, n in self.uses.evidence(snapshot).items()})
        scores: dict[str, float] | None = None
        if strategy == "semantic" and task:
            matches = _match_skills(snapshot, task, None, nearness_measure())
            scores = {name: match.score for name, match in matches.items()}
        labels = [] if strategy == "semantic" else [("roles", role), ("stages", stage)]
        pinned_names = {name for pin in pins for name in (pin, pin.replace("_", "-"))}
        unpinned = [name for name in _labelled_names(snapshot, labels) if name not in pinned_names]
        shortlist = shelf.shortlist(unpinned, k=k, strategy=strategy, usage=usage, scores=scores)
        skills = _served_skills(snapshot, [*shortlist, *pinned_names])
        for pin in shelf.split_pins(skills, pins)[1]:
            warnings.warn(f"{pin}: no skill in force has this name", stacklevel=2)
        return shelf.top_k(
            skills,
            role=role,
            stage=stage,
            task=task,
            k=k,
            strategy=strategy,
            pins=pins,
            usage=usage,
            scores=scores,
        )

    def render(self, skills: Iterable[Skill | str] | Skill | str) -> str:
        """Return skills, given by value or by name, as the `<skills>` block of a prompt.

        Raise UsageError for a name without a served skill.
        """
        values: list[Skill] = []
        for member in [skills] if isinstance(skills, Skill | str) else skills:
            skill = member if isinstance(member, Skill) else self.get(member)
            if skill is None:
                raise UsageError(f"{member}: no skill in force has this name")
            values.append(skill)
        return render.skills_xml(values)

    # ── recommending ─────────────────────────────────────────────────────────────────

    def recommend(self, query: Query, task: str = "") -> Selection:
        """Return the best skills and facts for a task, with the reason to omit each other skill.

        See `learning.recommend`. A misspelt domain gets nothing, and a new domain gets skills
        without a domain.
        """
        return answer_question(self, lambda snapshot: self._recommend(snapshot, query, task))

    def _recommend(self, snapshot: Snapshot, query: Query, task: str) -> Selection:
        if near_domain := background.unknown_domain(snapshot, query.domain):
            return recommend.empty_selection(query, near_domain)
        ranks = (
            bool(task.strip()) and query.strategy != "tag" and snapshot.policy.recommend.task > 0
        )
        domains = (query.domain, None)
        nearness = nearness_measure() if ranks and query.strategy == "semantic" else None
        scores = _match_skills(snapshot, task, domains, nearness) if ranks else None
        guides = background.guide_lines(snapshot, scores or {}, query)
        actions = background.find_actions(snapshot, scores or {})
        if scores is not None:
            answers = snapshot.policy.recommend.answers
            scores = background.with_line_evidence(task, scores, guides, answers)
            scores = background.with_named_subjects(
                snapshot, query.domain, task, scores, answers=answers
            )
        read_text = _text_reader(snapshot)
        task_matches = None if scores is None else (task, scores)
        query_background = background.background_of(
            snapshot, query, task_matches, actions, nearness
        )
        cuts = {name: guide.excerpt(task) for name, guide in guides.items()}
        excerpts = {name: text for name, text in cuts.items() if text != guides[name].body}
        needs_all = query.explain or query.role is not None or query.stage is not None
        names: set[str] | None = None
        if scores is not None and not needs_all:
            names = {*scores, *query_background.leads, *recommend.pin_places(query)}
        candidates, others = self._candidates(snapshot, query, names)
        selection = recommend.recommend(
            candidates,
            query,
            rules_of(snapshot.policy),
            read_text,
            scores=scores,
            background=replace(query_background, excerpts=excerpts),
            others=others,
        )
        selection = replace(selection, prompt=render.prompt(selection))
        if not (query.explain and query.context):
            return selection
        texts = (read_text(candidate.name) for candidate in candidates)
        unknown_keys = background.unknown_context(snapshot.policy, query.context, texts)
        return replace(selection, unknown_context=unknown_keys)

    def live(self, domain: str | None = None) -> Sequence[Candidate]:
        """Return the skills that may be served, the best first.

        With a domain, return only its skills and skills without a domain. A skill of the package
        counts only if a person or the policy asks for it. The answer is cached while nothing
        changes, because ranking 10,000 skills takes 30 ms, and hooks need them.
        """
        snapshot = self.ready()
        cache = self._cache = self._cache.at(snapshot)
        if domain not in cache.ranked:
            candidates = _candidates_of(snapshot, self.uses.evidence(snapshot), domain)
            cache.ranked[domain] = recommend.rank_by_effect(candidates, rules_of(snapshot.policy))
        return cache.ranked[domain]

    def _candidates(
        self, snapshot: Snapshot, query: Query, names: set[str] | None = None
    ) -> tuple[list[Candidate], Others]:
        """Return the served skills of a domain and of no domain by name, then the pins.

        With `names`, only those skills and the skills that count for any task are read: of 10,000
        skills a task concerns 200, and to read all takes longer than to rank their texts.
        """
        cache = self._cache = self._cache.at(snapshot)
        evidence, domain = self.uses.evidence(snapshot), query.domain
        if names is None:
            if domain not in cache.candidates:
                cache.candidates[domain] = _candidates_of(snapshot, evidence, domain)
            candidates = cache.candidates[domain]
            if not query.pins:
                return candidates, recommend.NO_OTHERS
            pins = recommend.pin_places(query).keys() - {c.name for c in candidates}
            pinned = _named_candidates(snapshot, evidence, domain, pins)
            return [*candidates, *pinned], recommend.NO_OTHERS
        if domain not in cache.special:
            special = {*evidence, *snapshot.policy.shelf.pinned, *snapshot.layers.served_seeds()}
            special_candidates = list(_named_candidates(snapshot, evidence, domain, special))
            cache.special[domain] = special_candidates, snapshot.layers.count_live(domain)
        special_candidates, count = cache.special[domain]
        names = names - {candidate.name for candidate in special_candidates}
        candidates = [*special_candidates, *_named_candidates(snapshot, evidence, domain, names)]
        candidates.sort(key=lambda candidate: candidate.name)
        in_domain = [c for c in candidates if c.domain in (domain, None)]
        live_count = sum(c.status not in recommend.NOT_LIVE for c in in_domain)

        def read_others() -> Iterator[Candidate]:
            near_names = {candidate.name for candidate in candidates}
            all_candidates, _ = self._candidates(snapshot, recommend.Query(domain=domain))
            live = (c for c in all_candidates if c.status not in recommend.NOT_LIVE)
            return (c for c in live if c.name not in near_names)

        return candidates, recommend.Others(count - live_count, read_others)

    # ── usage ────────────────────────────────────────────────────────────────────────

    def effects(
        self, skill: str | None = None, domain: str | None = None, *, now: datetime
    ) -> list[skill_stats.SkillStats]:
        """Return the numbers of one skill, or of all used skills (of a domain), best lift first."""
        snapshot = self.ready()
        evidence = self.uses.evidence(snapshot)
        names = sorted(evidence)
        if skill:
            name = skill.replace("_", "-")
            names = [snapshot.history.former_names().get(name, name)]
        merged: dict[str, list[str]] = {}
        for source, successor in snapshot.uses.merges().items():
            merged.setdefault(successor, []).append(source)
        rules = rules_of(snapshot.policy)
        rows = [
            skill_stats.skill_stats(
                entry,
                _assess_skill(snapshot, entry, evidence, now),
                rules,
                merged=merged.get(entry.name, ()),
                qualified_at=_proven_date(snapshot, entry),
            )
            for entry in self._find_skills(snapshot, names)
            if domain in (None, entry.domain)
        ]
        if not rows:
            snapshot.check_domain(domain)
        if skill and not rows:
            place = "" if domain is None else f" in {domain}"
            advice = "`skillvault skill list --layers` lists them"
            raise UsageError(f"{skill}: no such skill{place}; {advice}")
        # Lifts that differ by a rounding error are sorted by name, alike on any machine.
        return sorted(
            rows, key=lambda row: (row.lift is None, -round(row.lift or 0, _LIFT_DIGITS), row.skill)
        )

    def _find_skills(self, snapshot: Snapshot, names: Iterable[str]) -> Iterator[Skill]:
        for name in names:
            skill = snapshot.skills.find(name)
            if skill is None and (entry := snapshot.layers.of_name(name)) is not None:
                evidence = self.uses.evidence(snapshot).get(name, effect.NO_EVIDENCE)
                status = _earned_status(
                    name, entry.skill.status, evidence, rules_of(snapshot.policy)
                )
                skill = replace(entry.skill, status=status)
            if skill is not None:
                yield replace(skill, name=name)

    def stats(self, decision: str, agent: str | None = None) -> dict[str, Any]:
        """Return the skills that a decision was shown and applied, from trusted records.

        The default agent is the agent that asked, else the one with the first outcome. `others` are
        other agents that use the same id. See `detect`.
        """
        snapshot = self._store.snapshot()
        offers = [r for r in snapshot.recommendations.by_decision(decision) if r.trust == "local"]
        outcomes = [o for o in snapshot.outcomes.by_decision(decision) if o.trust == "local"]
        claims = snapshot.outcomes.ends(decision)
        groups = decision_outcomes.group_by_agent(offers, claims)
        if not groups or (agent is not None and agent not in groups):
            suffix = "" if agent is None else f" of {agent}"
            raise UsageError(
                f"{decision}: no recommendation and no outcome{suffix} that is trusted has "
                "this decision; pass the decision.id of one"
            )
        name = next(iter(groups)) if agent is None else agent
        skill_names, read_text = self.uses.skill_names(snapshot), partial(read_version, snapshot)
        results = [outcome for outcome in outcomes if outcome.source.agent == name]
        uses = [
            use
            for outcome in results
            for use in detect.detected_uses(outcome, offers, skill_names, read_text, claims=claims)
        ]
        summary = detect.decision_stats(decision, groups[name], results, uses)
        other_ends = [detect.end_of(user, outcomes) for user in groups if user != name]
        return {**summary, "agent": name, "others": other_ends}

    def find_uses(self, records: Iterable[Record]) -> list[SkillUse]:
        """Return the uses of skills by the decisions of these outcomes or receipts."""
        snapshot = self.ready()
        outcomes: set[str] = set()
        for record in records:
            if isinstance(record, Outcome):
                outcomes.add(record.id)
            elif isinstance(record, Recommendation):
                reported = snapshot.outcomes.by_decision(record.decision)
                outcomes.update(o.id for o in reported if record.agent in (None, o.source.agent))
        return snapshot.uses.by_outcome(outcomes)

    def ready(self) -> Snapshot:
        """Return the committed vault with its uses computed and the other layers indexed."""
        return self._follow_head(self.follow)

    def follow(self, snapshot: Staging) -> None:
        """Update the uses and the other layers in the index."""
        self._folders.follow(snapshot)  # before the uses, which need the names of all skills
        self.uses.count_uses(snapshot)
        _index_tasks(snapshot)

    def _snapshot(self) -> Snapshot:
        """Return the committed vault with the other layers up to date."""
        return self._follow_head(self._folders.follow)

    def _follow_head(self, follow: Callable[[Staging], None]) -> Snapshot:
        self._store.follow()
        follow(self._store.staging)
        self._store.save_index()
        return self._store.snapshot()


def answer_question(shelf: Shelf, answer: Callable[[Snapshot], _Answer]) -> _Answer:
    """Return the vault's answer, and ask again if its index was rebuilt meanwhile.

    A new index, built from git alone, has no uses and no other layers.
    """
    snapshot = shelf.ready()
    state = snapshot.layers.state
    result = answer(snapshot)
    return result if snapshot.layers.state == state else answer(shelf.ready())


def _text_reader(snapshot: Snapshot) -> Callable[[str], str]:
    @cache  # a question compares each text with up to twenty others
    def read(name: str) -> str:
        vault_skill = snapshot.skills.get(name)
        entry = None if vault_skill else snapshot.layers.of_name(name)
        skill = vault_skill or (entry and entry.skill)
        return skill.body if skill else ""

    return read


def _index_tasks(snapshot: Staging) -> None:
    """Index skills by the tasks of the outcomes that they rest on."""
    names = snapshot.due.keys(TASKS)
    for start in range(0, len(names), _PAGE_SIZE):
        page = names[start : start + _PAGE_SIZE]
        served = {row.name for row in snapshot.skills.candidates_named(page)}
        snapshot.tasks.keep_tasks(
            {**dict.fromkeys(page, ""), **dict(_tasks_behind(snapshot, sorted(served)))}
        )
        snapshot.due.mark_done(TASKS, page)


def _tasks_behind(snapshot: Staging, skills: list[str]) -> Iterator[tuple[str, str]]:
    # A strategy rests on all of its domain, so that any task there would find it.
    kinds = {name: skill.kind for name in skills if (skill := snapshot.skills.get(name))}
    skills = [name for name in skills if kinds.get(name) != "strategy"]
    for name in skills:
        makers = snapshot.tasks.latest_sources(name, _MAX_OUTCOMES)
        users = snapshot.tasks.latest_users(name, _MAX_OUTCOMES)
        rows = snapshot.tasks.of_outcomes(sorted(makers | users, reverse=True)[:_MAX_OUTCOMES])
        latest = sorted(rows, key=lambda id_: (rows[id_][0], id_), reverse=True)
        tasks = dict.fromkeys(" ".join(rows[id_][1].split()) for id_ in latest)
        yield name, "\n".join(tasks)


def choose_domain(shelf: Shelf, folder: Path, task: str = "", *, must_fit: bool = True) -> str:
    """Return the domain of a question without one.

    It is the domain of the folder's repository, else the only domain of the vault, else the domain
    whose skill or fact answers the task best. A vault without a domain gets `general`. If none of
    several domains fits, raise UsageError, or without `must_fit` return the first.
    """
    snapshot = shelf.ready()
    repository = domain_of(folder, snapshot.policy.hook.domains, None)
    if domain := repository if repository in snapshot.domains else snapshot.only_domain:
        return domain
    if not snapshot.domains:
        return FIRST_DOMAIN
    for hit in snapshot.search(task, _MAX_HITS, kinds=("skill", "fact")):
        kind, _, name = hit.id.partition(":")
        record = snapshot.skills.get(name) if kind == "skill" else snapshot.facts.get(name)
        if record is not None and record.domain is not None:
            return record.domain
    if not must_fit:
        return snapshot.domains[0]
    raise UsageError(
        f"several domains fit; add --domain NAME: pass one of {', '.join(snapshot.domains)}"
    )


def has_model() -> bool:
    """Return True if the extra `semantic` is installed."""
    return find_spec("wordllama") is not None


def nearness_measure() -> Near | None:
    """Return the measure of similar meaning, or None without the extra `semantic`."""
    return vectors.compute_nearness if has_model() else None


def _labelled_skills(snapshot: Snapshot, labels: Iterable[tuple[str, str | None]]) -> list[Skill]:
    return _served_skills(snapshot, _labelled_names(snapshot, labels))


def _labelled_names(snapshot: Snapshot, labels: Iterable[tuple[str, str | None]]) -> list[str]:
    """Return the served names with any of these (role, stage or tag; value), sorted.

    All names if no value is given.
    """
    pairs = [(column, value) for column, value in labels if value is not None]
    if not pairs:
        return snapshot.skills.serving()
    labelled_names = (snapshot.skills.with_label(column, value) for column, value in pairs)
    return sorted({name for names in labelled_names for name in names})


def _served_skills(snapshot: Snapshot, names: Iterable[str]) -> list[Skill]:
    names = list(names)
    skills = {
        entry.skill.name: entry.skill for entry in snapshot.layers.get_many(names, serving=True)
    }
    skills |= snapshot.skills.get_many(names)
    return [replace(skills[name], name=name) for name in sorted(skills)]


def _candidates_of(
    snapshot: Snapshot, evidence: Mapping[str, Evidence], domain: str | None
) -> list[Candidate]:
    """Return the served skills by name: of a domain and of no domain, or all."""
    rows = snapshot.skills.candidates(domain)
    return list(_convert_rows(snapshot, rows, evidence, domain))


def _named_candidates(
    snapshot: Snapshot, evidence: Mapping[str, Evidence], domain: str, names: Iterable[str]
) -> Iterator[Candidate]:
    """Yield the served skills with these names, of any domain."""
    rows = snapshot.skills.candidates_named(sorted(names))
    return _convert_rows(snapshot, rows, evidence, domain)


def _convert_rows(
    snapshot: Snapshot,
    rows: Iterable[SkillRow],
    evidence_by_name: Mapping[str, Evidence],
    domain: str | None,
) -> Iterator[Candidate]:
    """Yield the served skills as candidates; a later row with the same name is skipped.

    A skill of another layer has the status that it earned.
    """
    rules = rules_of(snapshot.policy)
    counts, scale = snapshot.skills.external_uses(), snapshot.policy.effect.scale
    lifts = {name: effect.expected_lift(uses, scale) for name, uses in counts.items()}
    seed_domains = rules.policy.shelf.seeds
    serves_seeds = bool(seed_domains) if domain is None else domain in seed_domains
    names: set[str] = set()
    for name, kind, size, skill_domain, status, roles, stages, blob, layer in rows:
        if name in names:
            continue
        names.add(name)
        evidence = evidence_by_name.get(name, effect.NO_EVIDENCE)
        earned = status if layer == "vault" else _earned_status(name, status, evidence, rules)
        # A skill that hurts is left out with its numbers, not for its status.
        served_status = status if earned == "retired" else earned
        labels = (_split_names(roles), _split_names(stages))
        seed = layer == "seed" and not serves_seeds
        lift = lifts.get(name, 0.0)
        yield recommend.Candidate(
            name, kind, size, skill_domain, served_status, *labels, blob, evidence, seed, lift
        )


def _assess_skill(
    snapshot: Snapshot, skill: Skill, evidence_by_name: Mapping[str, Evidence], now: datetime
) -> AssessedSkill:
    """Return a skill as input of `assess`; a skill of another layer has its status already."""
    evidence = evidence_by_name.get(skill.name, effect.NO_EVIDENCE)
    layer_row = SkillStatusRow(skill.name, "skills", skill.status, skill.domain, skill.kind)
    (*_, row) = [layer_row, *snapshot.skills.statuses([skill.name])]
    at = clock(snapshot, skill.domain, now, rules_of(snapshot.policy)) or now
    return load_assessed_skill(snapshot, row, evidence, at)


def _proven_date(snapshot: Snapshot, skill: Skill) -> datetime | None:
    """Return the date since which a skill is proven, or None if no commit of the program has it."""
    if skill.status != "proven":
        return None
    commits = snapshot.history.commits_changing(Ref("skill", skill.name))  # newest first
    dates = (commit.date for commit in commits if commit.step == ASSESS)
    return next(map(datetime.fromisoformat, dates), None)


def _split_names(column: str) -> tuple[str, ...]:
    return tuple(column.split("\n")) if column else ()


def _vault_skills(snapshot: Snapshot) -> Iterator[ShelfSkill]:
    blobs = {row.name: row.blob for row in snapshot.skills.candidates()}
    for name, skill in snapshot.skills.items():
        path = background.skill_path(name)
        yield ShelfSkill(replace(skill, name=name), "vault", path, blobs.get(name, ""))


def _earned_status(name: str, status: str, evidence: Evidence, rules: Rules) -> str:
    """Compute the status of a skill of another layer, because no commit of the vault has it."""
    if name in rules.policy.shelf.pinned:
        return "pinned"
    if evidence is effect.NO_EVIDENCE or status not in ("testing", "proven"):
        return status
    return effect.next_status(status, evidence, rules).status


def _match_skills(
    snapshot: Snapshot, task: str, domains: tuple[str | None, ...] | None, nearness: Near | None
) -> dict[str, Match]:
    hits = snapshot.search(task, _MAX_HITS, kinds=("skill",), domains=domains, nearness=nearness)
    return {hit.id.partition(":")[2]: relevance.Match(hit.score, hit.evidence) for hit in hits}
