"""Select skills of the shelf by layer, name, tag, role, stage and pin.

Later layers override earlier layers by name. A caller asks for these selections; `recommend`
chooses skills for a task by evidence.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Literal, get_args

from skillvault.model.records import ShelfSkill, Skill

Strategy = Literal["tag", "semantic", "hybrid"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


def winners(layers: Iterable[Iterable[ShelfSkill]]) -> list[ShelfSkill]:
    """Return the skill of the last layer (and last path) for each name, sorted by name."""
    winners: dict[str, ShelfSkill] = {}
    for layer in layers:
        for shelved in sorted(layer, key=lambda shelved: shelved.path):
            winners[shelved.skill.name] = shelved
    return [winners[name] for name in sorted(winners)]


def stack_layers(layers: Iterable[Iterable[ShelfSkill]]) -> list[tuple[ShelfSkill, bool]]:
    """Return (skill, True if it is served) for all layers, sorted by name and layer."""
    stack = [[*layer] for layer in layers]
    winner_ids = {id(shelved) for shelved in winners(stack)}
    order = [shelved for layer in stack for shelved in sorted(layer, key=lambda s: s.path)]
    order.sort(key=lambda shelved: shelved.skill.name)
    return [(shelved, id(shelved) in winner_ids) for shelved in order]


def is_hidden(shelved: ShelfSkill, hidden: Collection[str]) -> bool:
    """Return True if the policy hides the name of a skill that is not in the vault itself."""
    return shelved.layer != "vault" and shelved.skill.name in hidden


def get(skills: Iterable[Skill], name: str) -> Skill | None:
    """Return the skill with a name, in which `_` may replace `-`, or None."""
    by_name = {skill.name: skill for skill in skills}
    return by_name.get(name) or by_name.get(name.replace("_", "-"))


def get_by_tags(skills: Iterable[Skill], tags: Iterable[str]) -> list[Skill]:
    """Return the skills with any of these tags, in the given order."""
    wanted_tags = frozenset(tags)
    return [skill for skill in skills if wanted_tags.intersection(skill.tags)]


def get_by_role(skills: Iterable[Skill], role: str) -> list[Skill]:
    """Return the skills that name this role, in the given order."""
    return [skill for skill in skills if role in skill.roles]


def get_by_pipeline_stage(skills: Iterable[Skill], stage: str) -> list[Skill]:
    """Return the skills that name this stage, in the given order."""
    return [skill for skill in skills if stage in skill.stages]


def candidates(skills: Iterable[Skill], role: str | None, stage: str | None) -> list[Skill]:
    """Return the skills for the role or the stage, or all skills if both are None."""
    if role is None and stage is None:
        return [*skills]
    return [skill for skill in skills if role in skill.roles or stage in skill.stages]


def split_pins(skills: Iterable[Skill], pins: Iterable[str]) -> tuple[list[Skill], list[str]]:
    """Return the pinned skills in the given order, and the pins without a skill."""
    candidates = list(skills)
    by_pin = {pin: get(candidates, pin) for pin in dict.fromkeys(pins)}
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
    """Return the names that `top_k` may choose, so that no other skills need to be read."""
    similarity = scores if strategy == "semantic" and scores is not None else {}
    count = max(0, 3 * k if strategy == "hybrid" else k)
    scored_names = (
        name for numbers in (similarity, usage) for name, number in numbers.items() if number
    )
    ranked_names = set(scored_names).intersection(names)
    unranked_names = (name for name in names if name not in ranked_names)
    ranking = sorted(
        ranked_names, key=lambda name: (-similarity.get(name, 0.0), -usage.get(name, 0), name)
    )
    return [*ranking, *islice(unranked_names, count)][:count]


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
    """Return at most `k` skills: the pins in their order, then by the strategy.

    `tag` takes the skills for the role or stage, the most applied (`usage`) first, then by name.
    `hybrid` takes the first 3k of these, and sorts them by the words shared with the task.
    `semantic` sorts all skills by `scores` (similarity to the task), or by shared words.
    """
    pinned_skills, _ = split_pins(skills, pins)
    pinned_names = {skill.name for skill in pinned_skills}
    matches = skills if strategy == "semantic" else candidates(skills, role, stage)
    unpinned_skills = sorted(
        (skill for skill in matches if skill.name not in pinned_names),
        key=lambda skill: (-(usage or {}).get(skill.name, 0), skill.name),
    )
    if strategy == "hybrid":
        unpinned_skills = unpinned_skills[: max(0, 3 * k - len(pinned_skills))]
    if strategy == "semantic" and scores is not None:
        unpinned_skills.sort(key=lambda skill: -scores.get(skill.name, 0.0))
    elif strategy != "tag":
        task_words = _tokens(task)
        texts = {s.name: " ".join([s.name, s.description, *s.tags]) for s in unpinned_skills}
        unpinned_skills.sort(key=lambda skill: -len(task_words & _tokens(texts[skill.name])))
    return [*pinned_skills, *unpinned_skills][: max(0, k)]


def _tokens(text: str) -> frozenset[str]:
    return frozenset(text.lower().split())
