"""merge: skills that say the same become one, or are taken up by one there is."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

from skillvault.change import Change
from skillvault.errors import BadInputError, EditedError
from skillvault.learning.merge import accounting as fates
from skillvault.learning.merge import evolved
from skillvault.learning.merge import groups as merge
from skillvault.records import Ref, Skill
from skillvault.steps.registry import WRITERS
from skillvault.steps.run import Run, Waiting
from skillvault.vault.commit.skill_versions import skill_files
from skillvault.vault.index.snapshot import Topics

_Value = TypeVar("_Value")
_KNOWN = ("skills", "archive")


def step(run: Run) -> Iterator[Change]:
    """One commit for each skill that comes of it or grows.

    What is made may be like what was left alone, so it looks again until nothing is due.
    """
    tried: set[merge.Merge] = set()
    while True:
        found, plan = planned(run)
        run.report.rejected += plan.rejected
        fresh = [due for due in plan.due if due not in tried]
        if not fresh:
            return
        tried.update(fresh)
        for due in fresh:
            make = partial(_written, run, found, due)
            yield from run.written(make, due.evolved or due.fresh[-1])
        run.flush()


def waiting(run: Run) -> int:
    """How many skills come of it or grow."""
    return len(planned(run)[1].due)


def planned(run: Run) -> tuple[merge.MergeMaterial, merge.MergePlan]:
    """What merge has to do in the domains that changed, and of what; settles the others."""
    domains = run.view.due.keys(merge.STEP)
    found = material(run, domains)
    plan = merge.plan_merges(found, run.policy)
    if not plan.rejected:
        run.settle(merge.STEP, set(domains) - {due.domain for due in plan.due})
    return found, plan


def material(run: Run, domains: Iterable[str]) -> merge.MergeMaterial:
    """What the rule of merge reads of the vault for some domains."""
    view = run.view
    names = [name for domain in domains for name in view.skills.names("skills", domain)]
    skills = view.skills.get_many(names)
    refs = [Ref("skill", name) for name in skills]
    evolved = [name for name, skill in skills.items() if skill.kind == "evolved"]
    return merge.MergeMaterial(
        skills=skills,
        all_skills=_Known(view),
        merged=run.made(merge.STEP, "skill", refs) | view.links.merge_targets(refs),
        sources={name: _sources(run, name) for name in evolved},
        origins=view.skills,
        rejections=run.rejections,
    )


def _sources(run: Run, evolved: str) -> list[str]:
    """The skills that an evolved one stands for, as its links and its commits say."""
    ref = Ref("skill", evolved)
    by_commits = run.view.history.source_ids(merge.STEP, ref)
    return sorted({*run.view.links.source_ids(ref, "merged"), *by_commits})


class _Known(Mapping[str, Skill]):
    """Live and archived skills by folder, read when they are asked for."""

    def __init__(self, view: Topics) -> None:
        self._shelves = (view.skills, view.skills.archived)
        self._names = {name for shelf in _KNOWN for name in view.skills.names(shelf)}

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> Skill:
        if name not in self._names:
            raise KeyError(name)
        for shelf in self._shelves:
            if (found := shelf.get(name)) is not None:
                return merge.renamed(name, found)
        raise EditedError(f"skills/{name}: removed by a commit meanwhile; run again")

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _written(run: Run, found: merge.MergeMaterial, due: merge.Merge) -> Change | None:
    """The change, where the judge's text stands for every statement; else why there is none."""
    present = _present(run, found.all_skills[due.evolved]) if due.evolved else None
    brief = merge.merge_brief(
        due, found, run.policy.merge, present.unedited_files if present else ()
    )
    draft = run.judge.write(brief)
    reason = "the judge writes no text" if draft is None else fates.unfit(draft, brief)
    if draft is None or reason:
        path = f"skills/{due.evolved or due.fresh[-1]}"
        run.report.waiting.append(Waiting(path, f"not merged: {reason}"))
        return None
    info, skills = run.judge.info, [found.all_skills[name] for name in (*due.earlier, *due.fresh)]
    if present is not None:
        return evolved.growth_change(
            due, skills, draft, present, judge=info, now=run.now, policy=run.policy
        ).noting(draft.note)
    return evolved.merge_change(
        due,
        skills,
        draft,
        judge=info,
        taken=run.view.skills.is_name_taken,
        now=run.now,
        policy=run.policy,
    ).noting(draft.note)


_KEYS = ("description", "tags", "expires")


def _present(run: Run, skill: Skill) -> evolved.PresentSkill:
    """An evolved skill as it stands, and what of it is as the program left it."""
    page, folder = f"skills/{skill.name}/SKILL.md", f"skills/{skill.name}/references/"
    now = run.view.files.read(run.view.files.below(folder.rstrip("/")))
    written = _written_of(run, skill.name, [page, *now])
    pages = [(_parsed(skill.name, old), _parsed(skill.name, new)) for old, new in written[page]]
    left = {key: _last([(_key(a, key), _key(b, key)) for a, b in pages]) for key in _KEYS}
    return evolved.PresentSkill(
        skill=skill,
        versions=tuple(run.versions(skill.name)[1]),
        untouched=frozenset(key for key, value in left.items() if value == _key(skill, key)),
        files={p.removeprefix(folder): d.decode(errors="replace") for p, d in now.items()},
        edited=frozenset(p.removeprefix(folder) for p, d in now.items() if _last(written[p]) != d),
    )


def _written_of(
    run: Run, name: str, paths: Sequence[str]
) -> dict[str, list[tuple[bytes | None, bytes | None]]]:
    """path -> (before, after) of each commit of the program on a skill, oldest first."""
    commits = [commit.sha for commit in run.commits_on(Ref("skill", name), WRITERS)]
    places = [(at, path) for sha in commits for at in (f"{sha}^", sha) for path in paths]
    there = {place: data for place, (_, data) in skill_files(run.store.git, places).items()}
    return {
        path: [(there.get((f"{sha}^", path)), there.get((sha, path))) for sha in commits]
        for path in paths
    }


def _last(pairs: Sequence[tuple[_Value, _Value]]) -> _Value | None:
    """What the program wrote when it last changed a thing; None where it never did."""
    return next((after for before, after in reversed(pairs) if before != after), None)


def _key(skill: Skill | None, key: str) -> object:
    return getattr(skill, key) if skill else None


def _parsed(name: str, data: bytes | None) -> Skill | None:
    from skillvault.vault.files import codec  # noqa: PLC0415 (only who parses pays for yaml)

    try:
        found = codec.decode(Ref("skill", name), data) if data else None
    except BadInputError:
        return None
    return found if isinstance(found, Skill) else None
