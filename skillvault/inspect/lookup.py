"""The record that a person means by a name, a path or the beginning of an id, and its history.

Where it came from, what came of it, and who removed one that is gone.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from typing import Any

from msgspec import Struct

from skillvault.inspect import status
from skillvault.loop import learned
from skillvault.loop.judging import questions
from skillvault.loop.run import Run
from skillvault.model.errors import BadInputError, SkillvaultError, UsageError
from skillvault.model.link_lists import LinkList
from skillvault.model.records import Commit, Link, Problem, Record, Ref, ShelfSkill, Skill, kind_of
from skillvault.model.skill_evidence import EVIDENCE, TryLines, from_text
from skillvault.vault import provenance
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import WorkTreeView
from skillvault.vault.index.records import LinkEnds
from skillvault.vault.index.snapshot import Topics


class Sides(Struct, frozen=True):
    """The evaluations of the runs for and against something, by id; sorted."""

    supporting: tuple[str, ...]
    against: tuple[str, ...]


class ListedSkill(Struct, frozen=True):
    """A live skill as `skill list` shows it."""

    name: str
    kind: str
    domain: str | None
    status: str
    origin: str
    created: str | None
    expires: str | None
    path: str


def both_sides(view: Topics, ref: Ref) -> Sides:
    """Return the runs for and against a fact or a skill; of a skill those of its facts too.

    A skill that says which outcomes stand behind its statements is taken at its word.
    """
    if ref.kind == "skill" and (stated := _stated_sides(view, ref)):
        return stated
    return linked_sides(lambda one: view.links.by_target([one]), ref)


def linked_sides(links: Callable[[Ref], Iterable[Link | LinkEnds]], ref: Ref) -> Sides:
    """What speaks for and against a fact or a skill by its links, which `links` has by target."""
    supporting, against = set[str](), set[str]()
    for link in links(ref):
        if link.source.kind == "evaluation":
            (against if link.type == "contradicted" else supporting).add(link.source.id)
        elif link.source.kind == "fact" and ref.kind == "skill":
            below = linked_sides(links, link.source)
            supporting.update(below.supporting)
            against.update(below.against)
    return Sides(tuple(sorted(supporting)), tuple(sorted(against)))


def _stated_sides(view: Topics, ref: Ref) -> Sides | None:
    """Return what the evidence beside a skill says; None where none can be read."""
    path = view.records.path_of(ref)
    place = f"{path.rpartition('/')[0]}/references/{EVIDENCE}" if path else ""
    content = view.files.read([place]).get(place)
    if content is None:
        return None
    with suppress(BadInputError):  # `check` tells of it
        stated = from_text(content.decode(errors="replace")).statements
        supporting = {name for one in stated for name in one.supporting}
        against = {name for one in stated for name in one.against}
        return Sides(tuple(sorted(supporting)), tuple(sorted(against - supporting)))
    return None


def resolve(store: Store, head: Topics, text: str, *, forward: bool = False) -> Ref:
    """The record that `text` means; of one that was removed the error names the commit."""
    try:
        return provenance.resolve(head, store.root, text, forward=forward)
    except UsageError:
        name = text.replace("_", "-")
        removals = store.git.history.deletions(head.commit) if head.commit else {}
        for path, sha in removals.items():
            ref = layout.ref_of(path)
            if ref and name in (ref.id, path):
                raise UsageError(
                    f"{text}: was removed by commit {sha[:10]}; `git show {sha[:10]}` shows "
                    "it, `git revert` brings it back"
                ) from None
        raise


def read(store: Store, name: str) -> tuple[Record, str]:
    """(record, path) that a name means; SkillvaultError if it cannot be read."""
    head = store.head()
    path = head.records.path_of(resolve(store, head, name)) or ""
    record = head.records.by_path([path])[path]
    if isinstance(record, Problem):
        raise SkillvaultError(f"{path}: {record.message}")
    if isinstance(record, LinkList | TryLines):
        raise SkillvaultError(f"{path}: a list of links; name the record that they lead from")
    return record, path


def read_skill(store: Store, name: str) -> tuple[Skill, str]:
    """(skill, path) in whatever folder it is; UsageError if there is none."""
    record, path = read(store, name)
    if not isinstance(record, Skill):
        kind = kind_of(record)
        raise UsageError(f"{name}: is a {kind}, not a skill; see `skillvault skill list`")
    return record, path


def why(run: Run, text: str) -> dict[str, Any]:
    """`{ref, commits, sources, against, rules}`: a record back to where it came from."""
    head, store = run.view, run.store
    if (other := run.shelf.beside(text)) is not None:
        return {**beside(head, other), "sources": [], "against": [], "rules": []}
    if (pattern := learned.find_pattern(head, text)) is not None:
        tree = learned.why_pattern(store, head, pattern)
        return {**tree, "sources": [], "against": [], "rules": []}
    ref = resolve(store, head, text)
    tree = {**with_commits(head, ref), "sources": provenance.sources(head, ref)}
    against = list(both_sides(run.view, ref).against)
    answers = questions.answers_behind(run, ref) if len(head.answers) else []
    shown = {"answers": answers} if answers else {}
    return {**tree, "against": against, "rules": status.tested(run, ref), **shown}


def impact(run: Run, text: str) -> dict[str, Any]:
    """`{ref, commits, targets}`: a record forward to what came of it."""
    head = run.view
    if (other := run.shelf.beside(text)) is not None:
        return {**beside(head, other), "targets": []}
    ref = resolve(run.store, head, text, forward=True)
    return {**with_commits(head, ref), "targets": provenance.targets(head, ref)}


def listed_skills(head: Topics, shelf: str) -> list[ListedSkill]:
    """The skills of a shelf by name."""
    shelves = {
        "skills": head.skills,
        "proposed": head.skills.proposed,
        "archive": head.skills.archived,
    }
    fields = ("kind", "domain", "status", "origin", "created", "expires")
    return [
        ListedSkill(
            name=folder,
            **{field: getattr(skill, field) for field in fields},
            path=f"{shelf}/{folder}/SKILL.md",
        )
        for folder, skill in shelves[shelf].items()
    ]


def with_commits(head: Topics, ref: Ref) -> dict[str, Any]:
    """`{ref, commits}`: a record, and every commit that touched it."""
    commits = head.history.commits_touching([ref])
    return {
        "ref": provenance.node(head, ref),
        "commits": [_commit_shape(commit) for commit in commits],
    }


def beside(head: Topics, other: ShelfSkill) -> dict[str, Any]:
    """`{ref, commits}`: a skill of another layer, and what was decided about it here."""
    ref = Ref("skill", other.skill.name)
    commits = head.history.commits_changing(ref)
    node = {"kind": ref.kind, "id": ref.id, "path": other.path, "layer": other.layer}
    return {"ref": node, "commits": [_commit_shape(commit) for commit in commits]}


def _commit_shape(commit: Commit) -> dict[str, Any]:
    return {key: getattr(commit, key) for key in ("sha", "step", "subject", "date")}


def remover(store: Store, head: Topics, view: WorkTreeView) -> Callable[[Ref], str | None]:
    """Who removed a record that is not in `view`, in words; None for nobody."""

    @cache
    def deletions() -> dict[str, str]:
        history = store.git.history.deletions(head.commit) if head.commit else {}
        refs = ((layout.ref_of(path), sha) for path, sha in reversed(history.items()))
        return {str(ref): sha for ref, sha in refs if ref}

    def removed(ref: Ref) -> str | None:
        if ref in head.records and str(ref) not in view.paths:
            return "removed here and not committed yet"
        commit = deletions().get(str(ref))
        return f"removed by commit {commit[:10]}" if commit else None

    return removed
