"""What agents are served: the shelf with its layers, recommendations, search, usage.

Floor 3, beside `questions`. Asking changes no file; what was computed of uses is kept in the
index, which can be deleted at any time.
"""

import hashlib
from collections import UserDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from skillvault.errors import UsageError
from skillvault.lazy import LazyModule
from skillvault.learning.effect import verdict as effect
from skillvault.learning.effect.verdict import Evidence
from skillvault.learning.recommend import recommend, shelf
from skillvault.learning.recommend.recommend import Answer, Candidate, Query
from skillvault.learning.recommend.shelf import Strategy
from skillvault.policy import Policy
from skillvault.records import (
    Evaluation,
    Fact,
    Problem,
    Ref,
    Shelved,
    Skill,
)
from skillvault.steps.effects import Uses
from skillvault.text import shorten, tokens
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layers as shelves
from skillvault.vault.index.records import ref_from
from skillvault.vault.index.skills import SkillRow
from skillvault.vault.index.snapshot import Snapshot, Staged, Topics
from skillvault.vault.search.ranking import Near, document_of

if TYPE_CHECKING:
    from skillvault.learning.effect import detect, stats
    from skillvault.vault.search import vectors
else:  # only who asks for them pays for them
    detect, stats = LazyModule("learning.effect.detect"), LazyModule("learning.effect.stats")
    vectors = LazyModule("vault.search.vectors")

KINDS = ("skill", "fact", "evaluation")
_TASKS = 200  # skills of which is asked how well they answer a task
_SHOWN = 200  # characters of a text that was found


class Found(Struct, frozen=True):
    """A record that answers a search; `score` is the share of the query that it carries, 0..1."""

    kind: str
    id: str
    domain: str | None
    score: float
    text: str
    path: str


class Shelf:
    """The skills that may be served, by layer: the package's, the domains', the vault's own.

    A later layer overrides an earlier one by name. `problems` are the files of the layers before
    the vault's that cannot be read. What is kept between questions, all threads share: each takes
    it as a whole or puts another in its place.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.uses = Uses(store, lambda: self._others)
        self._added: list[Path] = []
        self._known: tuple[object, dict[str, list[Candidate]]] | None = None

    def add_dir(self, folder: Path | str) -> list[Problem]:
        """Put a folder of skills above the other domain layers; what of it cannot be read."""
        self._added.append(Path(folder).resolve())
        self.reload()
        return [one for one in self.problems if Path(one.path).is_relative_to(self._added[-1])]

    def reload(self) -> None:
        """Read the folders again; the vault's own skills are always those of HEAD."""
        self.__dict__.pop("_beside", None)
        self._known = None

    @property
    def problems(self) -> list[Problem]:
        """What cannot be read of the layers before the vault's."""
        return self._beside[1]

    def layers(self) -> list[list[Shelved]]:
        """The skills of each layer, from the first to the last, which is the vault."""
        return [*self._beside[0], list(_own(self._store.head()))]

    def skills(self) -> list[Skill]:
        """The skills in force, by name."""
        return [one.skill for one in shelf.winners(self.layers())]

    def get(self, name: str) -> Skill | None:
        """The skill in force of this name; `_` stands for `-`."""
        return shelf.get(self.skills(), name)

    def get_by_tags(self, tags: Iterable[str]) -> list[Skill]:
        """The skills with any of these tags, by name."""
        return shelf.get_by_tags(self.skills(), tags)

    def get_by_role(self, role: str) -> list[Skill]:
        """The skills for a role, by name."""
        return shelf.get_by_role(self.skills(), role)

    def get_by_pipeline_stage(self, stage: str) -> list[Skill]:
        """The skills for a stage, by name."""
        return shelf.get_by_pipeline_stage(self.skills(), stage)

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
        """At most `k` skills for a role or stage: pins, then most applied, or nearest the task."""
        head = self.ready()
        counts = {name: known.times_applied for name, known in self.uses.evidence(head).items()}
        asked = strategy == "semantic" and task
        scores = _scores(head, task, None, _near()) if asked else None
        return shelf.top_k(
            self.skills(),
            role=role,
            stage=stage,
            task=task,
            k=k,
            strategy=strategy,
            pins=pins,
            usage=counts,
            scores=scores,
        )

    # ── recommending ─────────────────────────────────────────────────────────────────

    def recommend(self, query: Query, task: str = "") -> Answer:
        """The few skills for a task, and why not the others; see `learning.recommend`."""
        head = self.ready()
        asked = bool(task.strip()) and query.strategy != "tag"
        domains = (query.domain, None)
        near = _near() if asked and query.strategy == "semantic" else None
        scores = _scores(head, task, domains, near) if asked else None
        candidates = self._candidates(head, query)
        return recommend.recommend(candidates, query, head.policy, self._text(head), scores=scores)

    def _candidates(self, head: Topics, query: Query) -> list[Candidate]:
        """What is asked of the skills in force of a domain and of none, by name, then the pins.

        Kept while nothing changes.
        """
        key = (head.commit, head.uses.state)
        candidates = self._known
        if candidates is None or candidates[0] != key:
            candidates = self._known = key, {}
        by_domain = candidates[1]
        known = self.uses.evidence(head)
        if query.domain not in by_domain:
            rows = [
                *_rows(head.skills.candidates(query.domain), known),
                *self._of_others(head, known),
            ]
            by_domain[query.domain] = sorted(rows, key=lambda one: one.name)
        found = by_domain[query.domain]
        if not query.pins:
            return found
        there = {one.name for one in found}
        pinned = _rows(head.skills.candidates_named(recommend.pin_places(query)), known)
        return [*found, *(one for one in pinned if one.name not in there)]

    def _of_others(self, head: Topics, known: Mapping[str, Evidence]) -> Iterator[Candidate]:
        own = head.skills.on_shelf("skills", self._others)
        for name, one in self._others.items():
            if name not in own:
                skill, evidence = one.skill, known.get(name, recommend.NO_EVIDENCE)
                earned = _earned(skill, evidence, head.policy)
                yield Candidate(
                    name,
                    skill.kind,
                    tokens(skill.body),
                    skill.domain,
                    # One that hurts is left out with its numbers, not for its status.
                    skill.status if earned == "retired" else earned,
                    skill.roles,
                    skill.stages,
                    one.blob,
                    evidence,
                    one.layer == "seed",
                )

    def _text(self, head: Topics) -> Callable[[str], str]:
        def read(name: str) -> str:
            own = head.skills.get(name)
            return own.body if own is not None else self._others[name].skill.body

        return read

    # ── searching ────────────────────────────────────────────────────────────────────

    def search(
        self,
        text: str,
        *,
        kind: str | None = None,
        domain: str | None = None,
        k: int = 10,
        semantic: bool = True,
    ) -> list[Found]:
        """The skills, facts and evaluations that answer a text best; UsageError for a bad kind.

        `semantic`: what is near in meaning comes first, where the extra of that name is there.
        """
        if kind is not None and kind not in KINDS:
            raise UsageError(f"--kind {kind}: there are {', '.join(KINDS)}")
        head = self.ready()
        found = head.search(
            text,
            k,
            kinds=None if kind is None else (kind,),
            domains=None if domain is None else (domain,),
            near=_near() if semantic else None,
        )
        return [self._found(head, ref_from(ref), score) for ref, score in found]

    def _found(self, head: Topics, ref: Ref, score: float) -> Found:
        # A proposed or archived skill may have the name of one of another layer.
        path = _place(ref.id) if ref.kind == "skill" else head.records.path_of(ref) or ""
        record = head.records.at([path]).get(path)
        if record is None or isinstance(record, Problem):
            record, path = self._others[ref.id].skill, self._others[ref.id].path
        domain = getattr(record, "domain", None)
        return Found(ref.kind, ref.id, domain, round(score, 6), _said(record), path)

    # ── usage ────────────────────────────────────────────────────────────────────────

    def effects(
        self, skill: str | None = None, domain: str | None = None
    ) -> "list[stats.SkillStats]":
        """The numbers of one skill, or of all that were used (of a domain), by lift, best first."""
        head = self.ready()
        known = self.uses.evidence(head)
        wanted = [skill.replace("_", "-")] if skill else sorted(known)
        merged: dict[str, list[str]] = {}
        for source, whole in head.uses.merged().items():
            merged.setdefault(whole, []).append(source)
        found = [
            stats.skill_stats(
                stats.StatsSubject(
                    one.name,
                    one.kind,
                    one.domain,
                    one.status,
                    merged.get(one.name, ()),
                    one.trial,
                ),
                known.get(one.name, recommend.NO_EVIDENCE),
                head.policy,
            )
            for one in self._named(head, wanted)
            if domain in (None, one.domain)
        ]
        if skill and not found and domain is None:
            raise UsageError(f"{skill}: no such skill; `skillvault skill list --layers` lists them")
        return sorted(found, key=lambda one: (one.lift is None, -(one.lift or 0.0), one.skill))

    def _named(self, head: Topics, names: Iterable[str]) -> Iterator[Skill]:
        """The skills of these names, wherever they stand."""
        for name in names:
            found = head.skills.find(name)
            if found is None and name in self._others:
                other = self._others[name].skill
                evidence = self.uses.evidence(head).get(name, recommend.NO_EVIDENCE)
                status = _earned(other, evidence, head.policy)
                found = msgspec.structs.replace(other, status=status)
            if found is not None:
                yield msgspec.structs.replace(found, name=name)

    def stats(self, decision: str) -> dict[str, Any]:
        """What was shown for a decision and what it applied, as `detect.decision` joins them."""
        head = self._store.head()
        shown = head.recommendations.by_decision(decision)
        outcomes = head.outcomes.by_decision(decision)
        if not shown and not outcomes:
            raise UsageError(
                f"{decision}: no recommendation and no outcome has this decision; an outcome "
                "names it as decision.id"
            )
        known, read = self.uses.names(head), self.uses.read(head)
        uses = [use for o in outcomes for use in detect.detected_uses(o, shown, known, read)]
        return detect.decision_stats(decision, shown, outcomes, uses)

    def ready(self) -> Snapshot:
        """The committed vault, its uses computed and the other layers' texts to be found."""
        self._store.follow()
        self.follow(self._store.staged)
        self._store.save_index()
        return self._store.head()

    def follow(self, head: Staged) -> None:
        """Compute what changed of the uses and of the other layers' texts."""
        self._follow_texts(head)  # before the uses, which ask for the names of all skills
        self.uses.follow(head)

    def _follow_texts(self, head: Staged) -> None:
        """Let the skills of the other layers be found, those that the vault does not override."""
        own = head.skills.on_shelf("skills", self._others)
        beside = {name: one for name, one in self._others.items() if name not in own}
        read = self._beside[2]
        said = "\n".join([*(f"{name} {one.blob}" for name, one in beside.items()), "", *read])
        digest = hashlib.sha256(said.encode()).hexdigest()
        documents = [document_of(one.skill) for one in beside.values()]
        head.layers.index(digest, documents, read)

    @cached_property
    def _beside(self) -> tuple[list[list[Shelved]], list[Problem], Mapping[str, Skill]]:
        """(the layers before the vault's, what of them cannot be read, the skills read of them)."""
        self._store.follow()
        head = self._store.staged
        read = _Read(head.layers.skills())
        seeds, problems = shelves.seeds(read)
        layers, found = shelves.domains(self._store.root, head.policy.shelf.dirs, read)
        problems = [*problems, *found]
        for folder in self._added:
            skills, found = shelves.read_skills(folder, "domain", read)
            layers.append(skills)
            problems += found
        return [seeds, *layers], problems, read.data

    @property
    def _others(self) -> dict[str, Shelved]:
        return {one.skill.name: one for one in shelf.winners(self._beside[0])}


class _Read(UserDict[str, Skill]):
    """The skills of files that are read, those of `known` without parsing them again."""

    def __init__(self, known: Mapping[str, Skill]) -> None:
        super().__init__()
        self._known = known

    def __contains__(self, key: object) -> bool:
        if key in self._known:
            self.data[str(key)] = self._known[str(key)]
        return key in self.data


def has_model() -> bool:
    """Whether the extra `semantic` is installed."""
    return find_spec("wordllama") is not None


def _near() -> Near | None:
    """How near texts are in meaning; None where the extra `semantic` is not installed."""
    if not has_model():
        return None
    return vectors.near


def _rows(rows: Iterable[SkillRow], known: Mapping[str, Evidence]) -> Iterator[Candidate]:
    """What stands on the vault's own shelf as candidates; of two of one name the first."""
    seen: set[str] = set()
    for name, kind, size, domain, status, roles, stages, blob in rows:
        if name not in seen:
            seen.add(name)
            whom = (tuple(roles.split()) if roles else (), tuple(stages.split()) if stages else ())
            evidence = known.get(name, recommend.NO_EVIDENCE)
            yield Candidate(name, kind, size, domain, status, *whom, blob, evidence)


def _own(head: Topics) -> Iterator[Shelved]:
    blobs = {row.name: row.blob for row in head.skills.candidates()}
    for name, skill in head.skills.items():
        named = msgspec.structs.replace(skill, name=name)
        yield Shelved(named, "vault", _place(name), blobs.get(name, ""))


def _place(name: str) -> str:
    """Where the vault's own skill of a name stands."""
    return f"skills/{name}/SKILL.md"


def _earned(skill: Skill, evidence: Evidence, policy: Policy) -> str:
    """The status of a skill of another layer: no commit of ours can say it, so it is computed."""
    if skill.status not in ("testing", "proven"):
        return skill.status
    return effect.next_status(skill.status, evidence, policy).status


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
) -> dict[str, float]:
    found = head.search(task, _TASKS, kinds=("skill",), domains=domains, near=near)
    return {ref.partition(":")[2]: score for ref, score in found}
