"""What agents are served: the shelf with its layers, recommendations, search, usage.

Asking changes no file; what was computed of uses is kept in the index.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct

from skillvault.learning import stats
from skillvault.learning.assess import STEP as ASSESS
from skillvault.learning.effect import detect
from skillvault.learning.effect import verdict as effect
from skillvault.learning.recommend import TASK, recommend, relevance, shelf
from skillvault.learning.rules import Rules
from skillvault.loop.clock import clock
from skillvault.loop.effects import Uses, load_assessed
from skillvault.loop.profiles import rules_of
from skillvault.model import decision_outcomes
from skillvault.model.errors import UsageError
from skillvault.model.records import (
    Evaluation,
    Fact,
    Outcome,
    Problem,
    Recommendation,
    Record,
    Ref,
    ShelfSkill,
    Skill,
)
from skillvault.model.text.text import shorten
from skillvault.serving import background as ground
from skillvault.serving.folders import Folders
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layers as shelves
from skillvault.vault.files import layout
from skillvault.vault.index.records import parse_ref
from skillvault.vault.index.skills import SkillRow, SkillStatusRow
from skillvault.vault.index.snapshot import Snapshot, Staged, Topics
from skillvault.vault.index.uses import SkillUse
from skillvault.vault.search import vectors
from skillvault.vault.search.ranking import Hit, Near

if TYPE_CHECKING:
    from skillvault.learning.assess import AssessedSkill
    from skillvault.learning.effect.verdict import Evidence
    from skillvault.learning.recommend.recommend import Candidate, Query, Selection
    from skillvault.learning.recommend.relevance import Match
    from skillvault.learning.recommend.shelf import Strategy

KINDS = ("skill", "fact", "evaluation")
_Answer = TypeVar("_Answer")
_TASKS = 200  # skills of which is asked how well they answer a task
_SHOWN = 200  # characters of a text that was found
_PAGE = 500  # skills of which is asked at once by which tasks they are found
_LATEST = 100  # outcomes by whose tasks a skill is found
_LIFT_DIGITS = 9  # of a lift that order skills


class Found(Struct, frozen=True):
    """A record that answers a search; `score` is the share of the query that it carries, 0..1.

    A skill that a person let in keeps the `trust` of what it was made of.
    """

    kind: str
    id: str
    domain: str | None
    score: float
    text: str
    path: str
    trust: str


class Shelf:
    """The skills that may be served, by layer: the package's, the domains', the vault's own.

    A later layer overrides an earlier one by name. `problems` are the files of the layers before
    the vault's that cannot be read. What is kept between questions, all threads share: each takes
    it as a whole or puts another in its place.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._folders = Folders(store)
        self.uses = Uses(store)
        self._known: tuple[object, dict[str, list[Candidate]]] | None = None

    def add_dir(self, folder: Path | str) -> list[Problem]:
        """Put a folder of skills above the other domain layers; what of it cannot be read.

        UsageError for a folder of the vault that is never served.
        """
        if shelves.is_never_served(self._store.root, Path(folder)):
            raise UsageError(f"{folder}: {shelves.SHUT}; add another folder")
        place = layout.real_path(Path(folder))
        self._folders.add_folder(place)
        return [one for one in self.problems if Path(one.path).is_relative_to(place)]

    def reload(self) -> None:
        """Read the folders again; the vault's own skills are always those of HEAD."""
        self._folders.reload()

    @property
    def problems(self) -> list[Problem]:
        """What cannot be read of the layers before the vault's."""
        return self._folders.problems(self._head())

    def layers(self) -> list[list[ShelfSkill]]:
        """The skills of each layer, from the first to the last, which is the vault."""
        head = self._head()
        return [*self._folders.layers(head), list(_own(head))]

    def skills(self) -> list[Skill]:
        """The skills in force, by name."""
        head = self._head()
        return _in_force(head, head.skills.serving())

    def get(self, name: str) -> Skill | None:
        """The skill in force of this name; `_` stands for `-`."""
        return shelf.get(_in_force(self._head(), {name, name.replace("_", "-")}), name)

    def beside(self, name: str) -> ShelfSkill | None:
        """The skill of this name of the layers before the vault's, also one that is hidden.

        None if the vault has one of its own in any folder, but for a name that serves here.
        """
        head = self._head()
        for wanted in dict.fromkeys((name, name.replace("_", "-"))):
            found = head.layers.of_name(wanted)
            if found is not None and head.layers.is_served(wanted):
                return found
            if found is not None and head.skills.find(wanted) is None:
                return found
        return None

    def get_by_tags(self, tags: Iterable[str]) -> list[Skill]:
        """The skills with any of these tags, by name."""
        wanted = list(tags)
        return shelf.get_by_tags(self._labelled([("tags", tag) for tag in wanted]), wanted)

    def get_by_role(self, role: str) -> list[Skill]:
        """The skills for a role, by name."""
        return shelf.get_by_role(self._labelled([("roles", role)]), role)

    def get_by_pipeline_stage(self, stage: str) -> list[Skill]:
        """The skills for a stage, by name."""
        return shelf.get_by_pipeline_stage(self._labelled([("stages", stage)]), stage)

    def _labelled(self, labels: Iterable[tuple[str, str | None]]) -> list[Skill]:
        head = self._head()
        return _in_force(head, _labelled_names(head, labels))

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
        """At most `k` skills for a role or stage: pins, then most applied, or nearest the task.

        UsageError for another strategy; a pin that no skill has is warned of.
        """
        if strategy not in shelf.STRATEGIES:
            raise UsageError(f"strategy {strategy!r}: there are {', '.join(shelf.STRATEGIES)}")
        head = self.ready()
        elsewhere = head.skills.counted_elsewhere().items()
        usage = Counter({name: effect.cap_counters(one).times_applied for name, one in elsewhere})
        usage.update({name: n.times_applied for name, n in self.uses.evidence(head).items()})
        asked = strategy == "semantic" and task
        matches = _scores(head, task, None, _near()) if asked else {}
        scores = {name: match.score for name, match in matches.items()} if asked else None
        labels = [("roles", role), ("stages", stage)][: 2 * (strategy != "semantic")]
        places = {name for pin in pins for name in (pin, pin.replace("_", "-"))}
        unpinned = [name for name in _labelled_names(head, labels) if name not in places]
        chosen = shelf.shortlist(
            unpinned,
            k=k,
            strategy=strategy,
            usage=usage,
            scores=scores,
        )
        skills = _in_force(head, [*chosen, *places])
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

    # ── recommending ─────────────────────────────────────────────────────────────────

    def recommend(self, query: Query, task: str = "") -> Selection:
        """The few skills and facts for a task, and why not the others; see `learning.recommend`.

        A domain that the vault does not know has none.
        """
        return _ask(self, lambda head: self._recommended(head, query, task))

    def _recommended(self, head: Topics, query: Query, task: str) -> Selection:
        if (near_domain := ground.unknown_domain(head, query.domain)) is not None:
            return recommend.empty(query, near_domain)
        asked = bool(task.strip()) and query.strategy != "tag" and head.policy.recommend.task > 0
        domains = (query.domain, None)
        near = _near() if asked and query.strategy == "semantic" else None
        scores = _scores(head, task, domains, near) if asked else None
        guides = ground.guide_lines(head, scores or {}, query)
        if scores:
            scores = ground.with_line_shares(task, scores, guides, head.policy.recommend.answers)
        candidates = self._candidates(head, query)
        read = _read_text(head)
        background = ground.background_of(head, query, None if scores is None else (task, scores))
        cuts = {name: one.cut_excerpt(task) for name, one in guides.items()}
        excerpts = {name: text for name, text in cuts.items() if text != guides[name].body}
        background = msgspec.structs.replace(background, excerpts=excerpts)
        answer = recommend.recommend(
            candidates, query, rules_of(head.policy), read, scores=scores, background=background
        )
        if not (query.explain and query.context):
            return answer
        texts = (read(candidate.name) for candidate in candidates)
        unknown = ground.unknown_context(head.policy, query.context, texts)
        return msgspec.structs.replace(answer, unknown_context=unknown)

    def _candidates(self, head: Topics, query: Query) -> list[Candidate]:
        """What is asked of the skills in force of a domain and of none, by name, then the pins.

        Kept while nothing changes.
        """
        key = (head.commit, head.uses.state, head.layers.state)
        candidates = self._known
        if candidates is None or candidates[0] != key:
            candidates = self._known = key, {}
        by_domain = candidates[1]
        known = self.uses.evidence(head)
        if query.domain not in by_domain:
            by_domain[query.domain] = _candidates_of(head, known, query.domain)
        found = by_domain[query.domain]
        if not query.pins:
            return found
        there = {one.name for one in found}
        rows = head.skills.candidates_named(recommend.pin_places(query))
        pinned = _rows(rows, known, rules_of(head.policy), query.domain)
        return [*found, *(one for one in pinned if one.name not in there)]

    # ── searching ────────────────────────────────────────────────────────────────────

    def search(
        self,
        text: str,
        *,
        kind: str | None = None,
        domain: str | None = None,
        k: int = 10,
        semantic: bool = True,
        untrusted: bool = False,
    ) -> list[Found]:
        """The skills, facts and evaluations that answer a text best; UsageError for a bad kind.

        Of another domain than the one asked only facts that are said to hold there too.
        `semantic`: what is near in meaning comes first, where the extra of that name is there.
        `untrusted`: also facts and evaluations of untrusted sources. A skill of the package takes
        only a place that nothing else fills.
        """
        if kind is not None and kind not in KINDS:
            raise UsageError(f"--kind {kind}: there are {', '.join(KINDS)}")
        return _ask(
            self,
            lambda head: _search(
                head,
                text,
                kind=kind,
                domain=domain,
                k=k,
                semantic=semantic,
                untrusted=untrusted,
            ),
        )

    # ── usage ────────────────────────────────────────────────────────────────────────

    def effects(
        self, skill: str | None = None, domain: str | None = None, *, now: datetime
    ) -> list[stats.SkillStats]:
        """The numbers of one skill, or of all that were used (of a domain), by lift, best first."""
        head = self.ready()
        known = self.uses.evidence(head)
        wanted = [skill.replace("_", "-")] if skill else sorted(known)
        merged: dict[str, list[str]] = {}
        for source, whole in head.uses.merges().items():
            merged.setdefault(whole, []).append(source)
        found = [
            stats.skill_stats(
                stats.StatsSubject(
                    one.kind,
                    one.domain,
                    _assessed(head, one, known, now),
                    merged.get(one.name, ()),
                    one.elsewhere,
                    _qualified_at(head, one) if one.status == "proven" else None,
                    one.trial,
                ),
                rules_of(head.policy),
            )
            for one in self._named(head, wanted)
            if domain in (None, one.domain)
        ]
        if skill and not found and domain is None:
            raise UsageError(f"{skill}: no such skill; `skillvault skill list --layers` lists them")
        # What differs by a rounding alone goes by name on any machine.
        found.sort(
            key=lambda one: (one.lift is None, -round(one.lift or 0, _LIFT_DIGITS), one.skill)
        )
        return found

    def _named(self, head: Topics, names: Iterable[str]) -> Iterator[Skill]:
        """The skills of these names, wherever they stand."""
        for name in names:
            found = head.skills.find(name)
            if found is None and (other := head.layers.of_name(name)) is not None:
                evidence = self.uses.evidence(head).get(name, effect.NO_EVIDENCE)
                status = _earned(name, other.skill.status, evidence, rules_of(head.policy))
                found = msgspec.structs.replace(other.skill, status=status)
            if found is not None:
                yield msgspec.structs.replace(found, name=name)

    def stats(self, decision: str, agent: str | None = None) -> dict[str, Any]:
        """What an agent was shown for a decision and what it applied, as `detect` joins them.

        Of trusted records alone. Without a name it is the agent who asked, else the one whose
        outcome is the first; `others` are those that use the same id.
        """
        head = self._store.head()
        shown = [r for r in head.recommendations.by_decision(decision) if r.trust == "local"]
        outcomes = [o for o in head.outcomes.by_decision(decision) if o.trust == "local"]
        ends = head.outcomes.ends(decision)
        parts = decision_outcomes.group_by_agent(shown, ends)
        if not parts or (agent is not None and agent not in parts):
            of = "" if agent is None else f" of {agent}"
            raise UsageError(
                f"{decision}: no recommendation and no outcome{of} that is trusted has this "
                "decision; an outcome names it as decision.id"
            )
        name = next(iter(parts)) if agent is None else agent
        known, read = self.uses.skill_names(head), self.uses.text_reader(head)
        own = [o for o in outcomes if o.source.agent == name]
        uses = [u for o in own for u in detect.detected_uses(o, shown, known, read, ends=ends)]
        found = detect.decision_stats(decision, parts[name], own, uses)
        others = [detect.end_of(o, outcomes) for o in parts if o != name]
        return {**found, "agent": name, "others": others}

    def uses_recorded(self, records: Iterable[Record]) -> list[SkillUse]:
        """The uses of skills by the decisions whose ends, or receipts, are among these."""
        head = self.ready()
        outcomes: set[str] = set()
        for record in records:
            if isinstance(record, Outcome):
                outcomes.add(record.id)
            elif isinstance(record, Recommendation):
                ends = head.outcomes.by_decision(record.decision)
                outcomes.update(end.id for end in ends if record.agent in (None, end.source.agent))
        return head.uses.by_outcome(outcomes)

    def ready(self) -> Snapshot:
        """The committed vault, its uses computed and the other layers' texts to be found."""
        return self._kept(self.follow)

    def follow(self, head: Staged) -> None:
        """Compute what changed of the uses and of the other layers."""
        self._folders.follow(head)  # before the uses, which ask for the names of all skills
        self.uses.follow(head)
        _follow_tasks(head)

    def _head(self) -> Snapshot:
        """The committed vault, with the other layers as they are."""
        return self._kept(self._folders.follow)

    def _kept(self, follow: Callable[[Staged], None]) -> Snapshot:
        self._store.follow()
        follow(self._store.staging)
        self._store.save_index()
        return self._store.head()


def _ask(shelf: Shelf, answer: Callable[[Snapshot], _Answer]) -> _Answer:
    """Return what the vault answers, asked again if its index was built anew meanwhile.

    An index built from git alone knows no uses and no other layers.
    """
    head = shelf.ready()
    state = head.layers.state
    found = answer(head)
    return found if head.layers.state == state else answer(shelf.ready())


def _read_text(head: Topics) -> Callable[[str], str]:
    def read(name: str) -> str:
        own = head.skills.get(name)
        other = None if own else head.layers.of_name(name)
        found = own or (other and other.skill)
        return found.body if found else ""

    return read


def _follow_tasks(head: Staged) -> None:
    """Let skills be found by the tasks behind them now."""
    due = head.due.keys(TASK)
    for start in range(0, len(due), _PAGE):
        page = due[start : start + _PAGE]
        served = {row.name for row in head.skills.candidates_named(page)}
        head.tasks.keep({**dict.fromkeys(page, ""), **dict(_tasks(head, sorted(served)))})
        head.due.mark_done(TASK, page)


def _tasks(head: Staged, skills: list[str]) -> Iterator[tuple[str, str]]:
    # A strategy rests on all of its domain, so that any task there would find it.
    kinds = {name: skill.kind for name in skills if (skill := head.skills.get(name))}
    skills = [name for name in skills if kinds.get(name) != "strategy"]
    for name in skills:
        made, users = (
            head.tasks.latest_behind(name, _LATEST),
            head.tasks.latest_users(name, _LATEST),
        )
        asked = head.tasks.of_outcomes(sorted(made | users, reverse=True)[:_LATEST])
        latest = sorted(asked, key=lambda id_: (asked[id_][0], id_), reverse=True)
        tasks = dict.fromkeys(" ".join(asked[id_][1].split()) for id_ in latest)
        yield name, "\n".join(tasks)


def live(shelf: Shelf, domain: str | None = None) -> list[Candidate]:
    """What may be served whatever the task, of a domain and of none, or of all; best first.

    Of the package's own skills only those that a person or the policy asks for.
    """
    head = shelf.ready()
    known = shelf.uses.evidence(head)
    return recommend.rank_by_effect(_candidates_of(head, known, domain), rules_of(head.policy))


def _search(
    head: Topics,
    text: str,
    *,
    kind: str | None,
    domain: str | None,
    k: int,
    semantic: bool,
    untrusted: bool,
) -> list[Found]:
    seeds = {f"skill:{name}" for name in head.skills.serving("seed")}
    near = _near() if semantic else None
    kinds = None if kind is None else (kind,)
    domains = None if domain is None else (domain, None)  # a skill may be of none
    hits = head.search(text, k + len(seeds), kinds=kinds, domains=domains, nearness=near)
    if domain is not None and kind in (None, "fact"):
        facts = head.search(text, k, kinds=("fact",), nearness=near)
        ids = ground.holding_abroad(head, (parse_ref(hit.id).id for hit in facts), domain)
        hits += [hit for hit in facts if parse_ref(hit.id).id in ids]
    hearsay = (
        head.search(text, k, kinds=kinds, domains=domains, nearness=near, untrusted=True)
        if untrusted
        else []
    )
    best = sorted({hit.id: hit for hit in (*hits, *hearsay)}.values(), key=_by_score)
    first = [hit for hit in best if hit.id not in seeds][:k]
    asked = seeds - _unasked(head, domain)
    first += [hit for hit in best if hit.id in asked][: k - len(first)]
    return list(_found(head, sorted(first, key=_by_score), {hit.id for hit in hearsay}))


def has_model() -> bool:
    """Whether the extra `semantic` is installed."""
    return find_spec("wordllama") is not None


def _near() -> Near | None:
    """How near texts are in meaning; None where the extra `semantic` is not installed."""
    if not has_model():
        return None
    return vectors.compute_nearness


def _unasked(head: Topics, domain: str | None) -> set[str]:
    """The addresses of the package's skills in force that no domain asks for that is searched."""
    domains = head.policy.shelf.seeds
    if domain in domains or (domain is None and domains):
        return set()
    unpinned = set(head.skills.serving("seed")).difference(head.policy.shelf.pinned)
    return {f"skill:{name}" for name in unpinned}


def _labelled_names(head: Topics, labels: Iterable[tuple[str, str | None]]) -> list[str]:
    """The names in force with any of these (role, stage or tag; value), sorted.

    All if none is asked.
    """
    asked = [(column, value) for column, value in labels if value is not None]
    if not asked:
        return head.skills.serving()
    by_label = (head.skills.with_label(column, value) for column, value in asked)
    return sorted({name for names in by_label for name in names})


def _in_force(head: Topics, names: Iterable[str]) -> list[Skill]:
    """The skills in force of these names, by name."""
    wanted = list(names)
    found = {one.skill.name: one.skill for one in head.layers.get_many(wanted, serving=True)}
    found |= head.skills.get_many(wanted)
    return [msgspec.structs.replace(found[name], name=name) for name in sorted(found)]


def _candidates_of(
    head: Topics, known: Mapping[str, Evidence], domain: str | None
) -> list[Candidate]:
    """The skills in force of a domain and of none, or of all, by name."""
    rows = _rows(head.skills.candidates(domain), known, rules_of(head.policy), domain)
    counts, scale = head.skills.counted_elsewhere(), head.policy.effect.scale
    expected = {name: effect.expected_lift(one, scale) for name, one in counts.items()}
    return [
        msgspec.structs.replace(row, elsewhere=expected[row.name]) if row.name in expected else row
        for row in rows
    ]


def _rows(
    rows: Iterable[SkillRow], known: Mapping[str, Evidence], rules: Rules, domain: str | None
) -> Iterator[Candidate]:
    """The skills in force as candidates; of two of one name in the vault the first.

    One of another layer has the status that it earned.
    """
    asked = rules.policy.shelf.seeds
    seeds = bool(asked) if domain is None else domain in asked
    seen: set[str] = set()
    for name, kind, size, of, status, roles, stages, blob, layer in rows:
        if name in seen:
            continue
        seen.add(name)
        evidence = known.get(name, effect.NO_EVIDENCE)
        earned = status if layer == "vault" else _earned(name, status, evidence, rules)
        # One that hurts is left out with its numbers, not for its status.
        now = status if earned == "retired" else earned
        whom = (_listed(roles), _listed(stages))
        seed = layer == "seed" and not seeds
        yield recommend.Candidate(name, kind, size, of, now, *whom, blob, evidence, seed)


def _assessed(
    head: Topics, skill: Skill, known: Mapping[str, Evidence], now: datetime
) -> AssessedSkill:
    """A skill as `assess` sees it; one of another layer has earned its status already."""
    evidence = known.get(skill.name, effect.NO_EVIDENCE)
    other = SkillStatusRow(skill.name, "skills", skill.status, skill.domain, skill.kind)
    (*_, row) = [other, *head.skills.statuses([skill.name])]
    at = clock(head, skill.domain, now, rules_of(head.policy)) or now
    return load_assessed(head, row, evidence, at)


def _qualified_at(head: Topics, skill: Skill) -> datetime | None:
    """When a proven skill became so; None where no commit of the program says it."""
    commits = head.history.commits_changing(Ref("skill", skill.name))  # newest first
    dates = (commit.date for commit in commits if commit.step == ASSESS)
    return next(map(datetime.fromisoformat, dates), None)


def _listed(column: str) -> tuple[str, ...]:
    """The names in a column; see `join_names`."""
    return tuple(column.split("\n")) if column else ()


def _own(head: Topics) -> Iterator[ShelfSkill]:
    blobs = {row.name: row.blob for row in head.skills.candidates()}
    for name, skill in head.skills.items():
        named = msgspec.structs.replace(skill, name=name)
        yield ShelfSkill(named, "vault", _place(name), blobs.get(name, ""))


def _place(name: str) -> str:
    """Where the vault's own skill of a name stands."""
    return f"skills/{name}/SKILL.md"


def _earned(name: str, status: str, evidence: Evidence, rules: Rules) -> str:
    """The status of a skill of another layer: no commit of ours can say it, so it is computed."""
    if name in rules.policy.shelf.pinned:
        return "pinned"
    if evidence is effect.NO_EVIDENCE or status not in ("testing", "proven"):
        return status
    return effect.next_status(status, evidence, rules).status


def _by_score(hit: Hit) -> tuple[float, str]:
    return -hit.score, hit.id


def _found(head: Topics, hits: Iterable[Hit], untrusted: Collection[str]) -> Iterator[Found]:
    """What was found, in its order; `untrusted` are the addresses of what has no trust."""
    for hit in hits:
        ref = parse_ref(hit.id)
        # A proposed or archived skill may have the name of one of another layer.
        path = _place(ref.id) if ref.kind == "skill" else head.records.path_of(ref) or ""
        record = head.records.by_path([path]).get(path)
        if record is None or isinstance(record, Problem):
            other = head.layers.of_name(ref.id)
            if other is None:
                continue
            record, path = other.skill, other.path
        domain = getattr(record, "domain", None)
        trust = "untrusted" if hit.id in untrusted else getattr(record, "trust", "local")
        yield Found(ref.kind, ref.id, domain, round(hit.score, 6), _said(record), path, trust)


def _said(record: object) -> str:
    """What of a record tells what it says."""
    match record:
        case Skill():
            text = record.description
        case Fact():
            text = record.text
        case Evaluation():
            text = record.key_insight or ""
        case _:
            text = ""
    return shorten(" ".join(text.split()), _SHOWN)


def _scores(
    head: Topics,
    task: str,
    domains: tuple[str | None, ...] | None,
    near: Near | None,
) -> dict[str, Match]:
    found = head.search(task, _TASKS, kinds=("skill",), domains=domains, nearness=near)
    return {hit.id.partition(":")[2]: relevance.Match(hit.score, hit.share) for hit in found}
