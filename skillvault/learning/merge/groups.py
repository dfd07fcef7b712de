"""merge: which live skills say the same and become one, or are taken up by one there is.

Only generated, trusted skills of one domain and one side are compared: warnings with
warnings, patterns with patterns, what memory made with its like. What is written stands in
`evolved`.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import msgspec
from msgspec import Struct

from skillvault.brief import Agreement
from skillvault.learning.merge.likeness import Likenesses, saying
from skillvault.learning.rejection import Rejection, Rejections
from skillvault.policy import MergePolicy, Policy
from skillvault.records import Outcome, Ref, Skill, Subject, link_id
from skillvault.text import slug

STEP = "merge"
_PLAIN = ("warning", "pattern")
_SIDES = (*_PLAIN, "memory")


class Origins(Protocol):
    """Where skills come from, as a vault's links and files tell."""

    def from_memory(self, name: str) -> bool:
        """Whether facts made a skill."""

    def outcomes_behind(self, names: Iterable[str]) -> Mapping[str, tuple[Outcome, ...]]:
        """The outcomes that each of these skills rests on, oldest first."""

    def subjects_behind(self, names: Iterable[str]) -> Mapping[str, Collection[Subject]]:
        """What those are about."""

    def created(self, names: Iterable[str]) -> Mapping[str, str]:
        """When each of these skills was made, of those that are there."""


class MergeMaterial:
    """What the rule reads of a vault, and what it asks of it more than once.

    `skills` are those in skills/ by folder, `all_skills` those and the archived ones. `merged` says
    of a skill which evolved one stood or stands for it and `sources` of an evolved one for which,
    whatever became of the links.
    """

    def __init__(
        self,
        *,
        skills: Mapping[str, Skill],
        all_skills: Mapping[str, Skill],
        merged: Mapping[str, str],
        sources: Mapping[str, Sequence[str]],
        origins: Origins,
        rejections: Rejections,
    ) -> None:
        self.skills = {folder: renamed(folder, skill) for folder, skill in skills.items()}
        self.all_skills = all_skills
        self.merged = merged
        self.rejections = rejections
        self.sources = {
            evolved: [name for name in names if self.unlinked(name, evolved) is None]
            for evolved, names in sources.items()
        }
        self.origins = origins

    def unlinked(self, source: str, evolved: str) -> Rejection | None:
        """The rejection of an evolved skill's taking one in."""
        link = link_id("merged", Ref("skill", source), Ref("skill", evolved))
        return self.rejections.of_target(Ref("link", link))

    def side(self, name: str) -> str | None:
        """What a skill is compared with: its kind, `memory`, or what an evolved one stands for.

        None for one of which that is not known any more.
        """
        if self.origins.from_memory(name):
            return "memory"
        skill = self.all_skills.get(name)
        if skill is not None and skill.kind == "evolved":
            sides = (self.side(source) for source in self.sources.get(name, ()))
            return next(filter(None, sides), None)
        return skill.kind if skill is not None else None

    def about(self, names: Iterable[str]) -> dict[str, frozenset[str]]:
        """Skill -> the slugs of what the outcomes behind it are about."""
        return {
            name: _subject_slugs(subjects)
            for name, subjects in self.origins.subjects_behind(names).items()
        }


class Merge(Struct, frozen=True, kw_only=True):
    """Skills that are to become one: `evolved` if it is there already and grows.

    `fresh` are not merged yet, `earlier` are those that the evolved skill stands for and
    `missing` those of them that are gone. `alike` says of a fresh one which other it is like,
    and how much.
    """

    domain: str
    fresh: tuple[str, ...]
    evolved: str | None = None
    earlier: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    alike: tuple[tuple[str, str, float], ...] = ()


class MergePlan(Struct, frozen=True):
    """What is to be merged, and what a person rejected before."""

    due: tuple[Merge, ...]
    rejected: tuple[Rejection, ...]


def plan_merges(material: MergeMaterial, policy: Policy) -> MergePlan:
    """What merge has to do in this vault; the same whatever came first within one run."""
    rejected: list[Rejection] = []
    due: list[Merge] = []
    growing: set[str | None] = set()
    for (domain, _), (evolved, plain) in sorted(_sides(material, rejected).items()):
        # One whose side is not known stands on all of them, and grows on one at a time.
        table = _Table([e for e in evolved if e not in growing], plain, material, policy.merge)
        for name in plain:
            table.place(name, rejected)
        groups = [group for group in table.groups if group.fresh]
        growing.update(group.evolved for group in groups)
        due += [group.merge(domain, material) for group in groups]
    return MergePlan(tuple(due), tuple(sorted(set(rejected))))


def merge_brief(
    merge: Merge, material: MergeMaterial, rules: MergePolicy, references: Iterable[str] = ()
) -> Agreement:
    """What a judge is given.

    If the earlier sources are too many or not all there, the evolved skill speaks for them,
    with the texts of its references.
    """
    complete = not merge.missing and bool(merge.earlier)
    speaks = merge.evolved and not (complete and len(merge.earlier) <= rules.reread)
    evolved = material.all_skills[merge.evolved] if merge.evolved else None
    if evolved and speaks:
        body = "\n\n".join([evolved.body, *references])
        evolved = msgspec.structs.replace(evolved, body=body)
    names = merge.fresh if speaks else (*merge.earlier, *merge.fresh)
    skills = [
        *(material.all_skills[name] for name in names),
        *([evolved] if evolved and speaks else []),
    ]
    every = dict.fromkeys(filter(None, (*merge.earlier, *merge.fresh, merge.evolved)))
    return Agreement(
        domain=merge.domain,
        skills=tuple(sorted(skills, key=_order)),
        outcomes=material.origins.outcomes_behind(every),
        evolved=evolved,
        spoken_for=(*merge.earlier, *merge.missing) if speaks else (),
    )


def _subject_slugs(subjects: Iterable[Subject]) -> frozenset[str]:
    parts = {part or "" for subject in subjects for part in subject}
    return frozenset(map(slug, parts)) - {""}


def renamed(folder: str, skill: Skill) -> Skill:
    """A skill under the name that all else goes by, whatever its front matter says."""
    return skill if skill.name == folder else msgspec.structs.replace(skill, name=folder)


def _order(skill: Skill) -> tuple[str, str]:
    return skill.created or "", skill.name


def _mergeable(skill: Skill) -> bool:
    """The program's own, trusted and not held by a person."""
    return (
        skill.origin == "generated"
        and skill.trust == "local"
        and skill.status in ("testing", "proven")
        and skill.kind in (*_PLAIN, "evolved")
        and skill.domain is not None
    )


def _sides(
    material: MergeMaterial, rejected: list[Rejection]
) -> dict[tuple[str, str], tuple[list[str], list[str]]]:
    """(domain, side) -> (evolved skills, skills that are not merged yet), oldest first."""
    sides: dict[tuple[str, str], tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for skill in sorted(filter(_mergeable, material.skills.values()), key=_order):
        side = material.side(skill.name)
        if skill.kind == "evolved":
            for evolved_side in (side,) if side else _SIDES:
                sides[skill.domain or "", evolved_side][0].append(skill.name)
        elif skill.name not in material.merged:
            sides[skill.domain or "", side or skill.kind][1].append(skill.name)
        elif refused := material.unlinked(skill.name, material.merged[skill.name]):
            rejected.append(refused)
    return sides


class _Group:
    """Skills that are to become one, while they are being found."""

    def __init__(self, evolved: str | None, earlier: Sequence[str]) -> None:
        self.evolved = evolved
        self.earlier = earlier
        self.fresh: list[str] = []
        self.alike: list[tuple[str, str, float]] = []

    def take(self, names: Iterable[str], likenesses: Mapping[str, float]) -> None:
        """Take skills in; `likenesses` is how much the last one is like others."""
        self.fresh += names
        self.alike += [(self.fresh[-1], other, value) for other, value in likenesses.items()]

    def merge(self, domain: str, material: MergeMaterial) -> Merge:
        """The group as a value."""
        present = [name for name in self.earlier if name in material.all_skills]
        return Merge(
            domain=domain,
            fresh=tuple(self.fresh),
            evolved=self.evolved,
            earlier=tuple(present),
            missing=tuple(name for name in self.earlier if name not in present),
            alike=tuple(self.alike),
        )


class _Table:
    """One domain's skills of one side, and the groups that they form."""

    def __init__(
        self,
        evolved: Sequence[str],
        plain: Sequence[str],
        material: MergeMaterial,
        rules: MergePolicy,
    ) -> None:
        self._material = material
        self._rules = rules
        self._refused = material.rejections.sets(STEP)
        self.groups = [_Group(name, material.sources.get(name, [])) for name in evolved]
        self._of: dict[str, _Group] = {}
        for group in self.groups:
            self._of.update(dict.fromkeys(self._speakers(group), group))
        names = [*self._of, *plain]
        self._sayings = {
            name: saying(material.all_skills[name].body, about)
            for name, about in material.about(names).items()
        }
        self._index = Likenesses(rules.similarity, self._sayings.values())
        self._names = list(self._of)
        for name in self._names:
            self._index.add_saying(self._sayings[name])

    def place(self, name: str, rejected: list[Rejection]) -> None:
        """Put a skill into a group that says the same, or make one with its like."""
        group, likenesses = self._matching_group(name, rejected)
        if group is None and len(likenesses) >= self._rules.min_similar:
            refused = self._rejection([*likenesses, name])
            if refused is None:
                group = _Group(None, ())
                self.groups.append(group)
                group.take([*sorted(likenesses), name], likenesses)
            else:
                rejected.append(refused)
        elif group is not None:
            group.take([name], likenesses)
        if group is not None:
            self._of.update(dict.fromkeys(group.fresh, group))
        self._names.append(name)
        self._index.add_saying(self._sayings[name])

    def _speakers(self, group: _Group) -> Iterator[str]:
        """The skills whose text says what a group says, the newest of its sources.

        An evolved one speaks itself if not enough of its sources are left to do so.
        """
        created = self._material.origins.created(group.earlier)
        by_age = sorted(created, key=lambda name: (created[name], name))
        yield from by_age[-self._rules.reread :]
        if group.evolved and (
            len(by_age) < self._rules.min_similar or len(by_age) < len(group.earlier)
        ):
            yield group.evolved

    def _matching_group(
        self, name: str, rejected: list[Rejection]
    ) -> tuple[_Group | None, dict[str, float]]:
        """The group that a skill belongs to, and which others it is like.

        It belongs to one if it is like as many of its sources as would merge with it.
        """
        alone: dict[str, float] = {}
        hits: dict[int, dict[str, float]] = defaultdict(dict)
        for number, value in self._index.like(self._sayings[name]):
            other = self._names[number]
            group = self._of.get(other)
            if group is None:
                alone[other] = value
                continue
            near = hits[id(group)]
            near[other] = value
            if len(near) == self._rules.min_similar or other == group.evolved:
                refused = self._rejection([*group.earlier, *group.fresh, name])
                if refused is None:
                    return group, near
                rejected.append(refused)
        return None, alone

    def _rejection(self, names: Iterable[str]) -> Rejection | None:
        """The rejection of a merge that two of these skills were part of."""
        merged = frozenset(names)
        return next((why for sources, why in self._refused if len(sources & merged) > 1), None)
