"""Which skills there are for an agent: layers, names, tags, roles, stages, pins.

Later layers override earlier ones by name. What of these earned a place is `recommend`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Literal, get_args

from skillvault.model.records import ShelfSkill, Skill

Strategy = Literal["tag", "semantic", "hybrid"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


def winners(layers: Iterable[Iterable[ShelfSkill]]) -> list[ShelfSkill]:
    """Of each name the skill of the last layer, and in a layer of the last path, by name."""
    by_name: dict[str, ShelfSkill] = {}
    for layer in layers:
        for shelved in sorted(layer, key=lambda shelved: shelved.path):
            by_name[shelved.skill.name] = shelved
    return [by_name[name] for name in sorted(by_name)]


def stacked(layers: Iterable[Iterable[ShelfSkill]]) -> list[tuple[ShelfSkill, bool]]:
    """(skill, whether it wins) of all layers, by name and then from the first layer to the last."""
    stack = [[*layer] for layer in layers]
    best = {id(shelved) for shelved in winners(stack)}
    order = [
        shelved for layer in stack for shelved in sorted(layer, key=lambda shelved: shelved.path)
    ]
    order.sort(key=lambda shelved: shelved.skill.name)
    return [(shelved, id(shelved) in best) for shelved in order]


def is_hidden(shelved: ShelfSkill, hidden: Collection[str]) -> bool:
    """Whether a file is not served for its name; the vault's own skills are not hidden."""
    return shelved.layer != "vault" and shelved.skill.name in hidden


def get(skills: Iterable[Skill], name: str) -> Skill | None:
    """The skill of this name; `_` stands for `-` if no name has it."""
    named = {skill.name: skill for skill in skills}
    return named.get(name) or named.get(name.replace("_", "-"))


def get_by_tags(skills: Iterable[Skill], tags: Iterable[str]) -> list[Skill]:
    """The skills with any of these tags, in the given order."""
    wanted_tags = frozenset(tags)
    return [skill for skill in skills if wanted_tags.intersection(skill.tags)]


def get_by_role(skills: Iterable[Skill], role: str) -> list[Skill]:
    """The skills for this role, in the given order; one without roles is for none."""
    return [skill for skill in skills if role in skill.roles]


def get_by_pipeline_stage(skills: Iterable[Skill], stage: str) -> list[Skill]:
    """The skills for this stage, in the given order; one without stages is for none."""
    return [skill for skill in skills if stage in skill.stages]


def candidates(skills: Iterable[Skill], role: str | None, stage: str | None) -> list[Skill]:
    """The skills for the role or the stage; without either, all."""
    return [
        skill
        for skill in skills
        if (role is None and stage is None)
        or (role is not None and role in skill.roles)
        or (stage is not None and stage in skill.stages)
    ]


def pinned(skills: Iterable[Skill], pins: Iterable[str]) -> tuple[list[Skill], list[str]]:
    """(the pinned skills in the order given, the pins that no skill has)."""
    among = list(skills)
    by_pin = {pin: get(among, pin) for pin in dict.fromkeys(pins)}
    pinned_skills = {skill.name: skill for skill in by_pin.values() if skill is not None}
    return list(pinned_skills.values()), [pin for pin, skill in by_pin.items() if skill is None]


def shortlist(
    names: Sequence[str],
    *,
    k: int,
    strategy: Strategy,
    usage: Mapping[str, int],
    scores: Mapping[str, float] | None,
) -> list[str]:
    """Of all these names, by name, those that `top_k` can choose: no others need to be read."""
    first = scores if strategy == "semantic" and scores is not None else {}
    count = max(0, 3 * k if strategy == "hybrid" else k)
    counted = (name for numbers in (first, usage) for name, number in numbers.items() if number)
    ahead = set(counted).intersection(names)
    others = (name for name in names if name not in ahead)
    ordered = sorted(ahead, key=lambda name: (-first.get(name, 0.0), -usage.get(name, 0), name))
    return [*ordered, *islice(others, count)][:count]


def top_k(  # noqa: PLR0913 (each keyword is a question of the caller's)
    skills: Sequence[Skill],
    *,
    role: str | None = None,
    stage: str | None = None,
    task: str = "",
    k: int = 5,
    strategy: Strategy = "tag",
    pins: Iterable[str] = (),
    usage: Mapping[str, int] | None = None,
    scores: Mapping[str, float] | None = None,
) -> list[Skill]:
    """At most `k` skills: the pins first, in their order, then by the strategy.

    tag: those for the role or stage, the most applied (`usage`) first, then by name.
    hybrid: the first 3k of these by the words they share with the task.
    semantic: all, by `scores` (name -> similarity to the task), or else by the words shared.
    """
    first, _ = pinned(skills, pins)
    chosen = {skill.name for skill in first}
    among = skills if strategy == "semantic" else candidates(skills, role, stage)
    unpinned = sorted(
        (skill for skill in among if skill.name not in chosen),
        key=lambda skill: (-(usage or {}).get(skill.name, 0), skill.name),
    )
    if strategy == "hybrid":
        unpinned = unpinned[: max(0, 3 * k - len(first))]
    if strategy == "semantic" and scores is not None:
        unpinned.sort(key=lambda skill: -scores.get(skill.name, 0.0))
    elif strategy != "tag":
        task_words = _tokens(task)
        unpinned.sort(key=lambda skill: -len(task_words & _searched_words(skill)))
    return [*first, *unpinned][: max(0, k)]


def _searched_words(skill: Skill) -> frozenset[str]:
    return _tokens(" ".join([skill.name, skill.description, *skill.tags]))


def _tokens(text: str) -> frozenset[str]:
    return frozenset(text.lower().split())
