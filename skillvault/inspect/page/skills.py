"""Each skill on a page: its text, evidence for and against it, its history, its sources."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from skillvault.inspect.lookup import Sides, both_sides
from skillvault.inspect.page.contents import Contents
from skillvault.inspect.page.week import title_of
from skillvault.learning.naming import subject_key
from skillvault.model.records import Outcome, Ref, Skill, Status
from skillvault.model.text import markdown
from skillvault.model.text.text import flat, lead

_OTHERWISE: Mapping[str, Status] = {"warning": "success", "pattern": "failure"}
_WORDS = 240  # characters of what a warning says


class Touch(Struct, frozen=True):
    """A commit that touched a skill; `step` is "" for a person's."""

    commit: str
    date: str
    step: str
    subject: str


class SkillPage(Struct, frozen=True, kw_only=True):
    """A skill, on whatever shelf, and what is known of it.

    `sides` are those of its links, `ended` counts how the outcomes that speak for it ended,
    `failed` are those that failed.
    `otherwise` are outcomes of the subject of a warning that succeeded, of a pattern that failed;
    which of them share its causes, `why` tells. `origins` are what its links lead
    from, as (type, kind, id).
    """

    name: str
    skill: Skill
    shelf: str
    title: str
    sides: Sides
    ended: Counter[str]
    failed: frozenset[str]
    otherwise: Sequence[str]
    origins: Sequence[tuple[str, str, str]]
    history: Sequence[Touch]

    @property
    def warns(self) -> bool:
        """Whether it says what to stop: most of what it was made of failed."""
        if self.skill.kind == "guide":
            return bool(_to_avoid(self.skill))
        return self.skill.kind == "warning" or (
            self.skill.kind == "evolved" and self.ended["failure"] > self.ended["success"]
        )


class Stop(Struct, frozen=True, kw_only=True):
    """Something to stop doing: in words, on what it rests, and the skill that says so.

    `failures` of `count` outcomes that it was made of failed; `skill` is None for a rule.
    """

    what: str
    why: str
    domain: str | None
    skill: str | None
    failures: int
    count: int


def skill_pages(vault: Contents) -> list[SkillPage]:
    """The skills of a vault, those that are served first, then by name."""
    history: dict[str, list[Touch]] = defaultdict(list)
    for name, sha, date, step, subject in vault.view.history.touches_of_kind("skill"):
        touches = history[name]
        if not touches or touches[-1].commit != sha[:10]:
            touches.append(Touch(sha[:10], date, step, subject))
    by_subject: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in vault.outcomes.values():
        by_subject[subject_key(outcome.subject)].append(outcome)
    return [
        _page(vault, (shelf, name), history.get(name, []), by_subject.get(skill.subject or "", ()))
        for shelf, skills in vault.shelves.items()
        for name, skill in skills.items()
    ]


def _page(
    vault: Contents, place: tuple[str, str], touches: Sequence[Touch], subject: Iterable[Outcome]
) -> SkillPage:
    shelf, name = place
    skill, ref = vault.shelves[shelf][name], Ref("skill", name)
    sides = both_sides(vault.view, ref)
    other = _OTHERWISE.get(skill.kind)
    return SkillPage(
        name=name,
        skill=skill,
        shelf=shelf,
        title=title_of(skill),
        sides=sides,
        ended=Counter(outcome.result.status for outcome in _outcomes(vault, sides)),
        failed=frozenset(o.id for o in _outcomes(vault, sides) if o.result.status == "failure"),
        otherwise=[outcome.id for outcome in subject if outcome.result.status == other],
        origins=origins_of(vault, ref),
        history=touches,
    )


def origins_of(vault: Contents, ref: Ref) -> list[tuple[str, str, str]]:
    """(type, kind, id) of what a record's links lead from."""
    links = vault.links.get(ref, ())
    return [(link.type, link.source.kind, link.source.id) for link in links]


def _outcomes(vault: Contents, sides: Sides) -> Iterator[Outcome]:
    return (vault.outcomes[name] for name in sides.supporting if name in vault.outcomes)


def warnings_of(pages: Sequence[SkillPage]) -> list[Stop]:
    """What served skills warn of, most failures first.

    A guide does so if it has failures that no warning tells.
    """
    warned = {
        name
        for page in pages
        if page.shelf == "skills" and page.skill.kind == "warning"
        for name in page.sides.supporting
    }
    stops = [
        Stop(
            what=_warning_words(page.skill),
            why=page.title,
            domain=page.skill.domain,
            skill=page.name,
            failures=page.ended["failure"],
            count=sum(page.ended.values()),
        )
        for page in pages
        if page.shelf == "skills"
        and page.warns
        and (page.skill.kind != "guide" or not warned.issuperset(page.failed))
    ]
    return sorted(stops, key=lambda stop: (-stop.failures, stop.skill or ""))


def _to_avoid(skill: Skill) -> list[str]:
    """Return what a guide says to avoid."""
    sections = markdown.sections(skill.body)
    return [
        line for part in sections if part.heading == "Avoid" for line in markdown.bullets(part.text)
    ]


def _warning_words(skill: Skill) -> str:
    """Return what a warning says first, without when it is to be used, or a guide to avoid."""
    if skill.kind == "guide":
        return lead(flat(_to_avoid(skill)[0]), _WORDS)
    opening, _, rest = flat(skill.description).partition(". ")
    return lead(rest if opening.startswith("Use ") and rest else flat(skill.description), _WORDS)
