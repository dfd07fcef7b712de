"""Find the record that a person means by a name, a path or the start of an id.

Also answer `why` and `impact`: the origin of a record, and its effects.
"""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from msgspec import Struct

from skillvault.inspect import status
from skillvault.loop import learned
from skillvault.loop.judging import questions
from skillvault.loop.run import Run
from skillvault.model.errors import SkillvaultError, UsageError
from skillvault.model.link_lists import LinkList
from skillvault.model.records import (
    Commit,
    Fact,
    Link,
    Problem,
    Record,
    Ref,
    ShelfSkill,
    Skill,
    kind_of,
)
from skillvault.model.skill_evidence import SkillEvidence, TryLines
from skillvault.vault import provenance
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import WorkTreeView
from skillvault.vault.index.records import LinkEnds
from skillvault.vault.index.snapshot import Snapshot, evidence_of


class Sides(Struct, frozen=True):
    """The ids of the evaluations for and against a fact or a skill, sorted."""

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


def both_sides(snapshot: Snapshot, ref: Ref) -> Sides:
    """Return the runs for and against a fact, or a skill and its facts.

    The evidence file of a skill takes precedence over its links.
    """
    if ref.kind == "skill" and (evidence := evidence_of(snapshot, ref)):
        return sides_of(evidence)
    return linked_sides(lambda target: snapshot.links.by_target([target]), ref)


def linked_sides(links: Callable[[Ref], Iterable[Link | LinkEnds]], ref: Ref) -> Sides:
    """Return the runs for and against a fact, or a skill and its facts, from links."""
    supporters, opponents = set[str](), set[str]()
    for link in links(ref):
        if link.source.kind == "evaluation":
            (opponents if link.type == "contradicted" else supporters).add(link.source.id)
        elif link.source.kind == "fact" and ref.kind == "skill":
            fact_sides = linked_sides(links, link.source)
            supporters.update(fact_sides.supporting)
            opponents.update(fact_sides.against)
    return Sides(tuple(sorted(supporters)), tuple(sorted(opponents)))


def sides_of(evidence: SkillEvidence) -> Sides:
    """Return the runs for and against a skill, from its evidence file."""
    statements = evidence.statements
    supporters = {name for statement in statements for name in statement.supporting}
    opponents = {name for statement in statements for name in statement.against}
    return Sides(tuple(sorted(supporters)), tuple(sorted(opponents - supporters)))


def resolve(store: Store, snapshot: Snapshot, text: str, *, forward: bool = False) -> Ref:
    """Return the record that `text` names; an error names the commit that removed it.

    With `forward`, the question is about the effects of the record.
    """
    try:
        return provenance.resolve(snapshot, store.root, text, forward=forward)
    except UsageError:
        name = text.replace("_", "-")
        removals = store.git.history.deletions(snapshot.commit) if snapshot.commit else {}
        for path, sha in removals.items():
            ref = layout.ref_of(path)
            if ref and name in (ref.id, path):
                raise UsageError(
                    f"{text}: was removed by commit {sha[:10]}; `git show {sha[:10]}` shows it, "
                    f"`{undo_command(snapshot, sha)}` brings it back"
                ) from None
        raise


def undo_command(snapshot: Snapshot, sha: str) -> str:
    """Return the command that undoes a commit of the program or of a person."""
    is_program = any(part.step for part in snapshot.history.parts_of(sha))
    return f"{'skillvault undo' if is_program else 'git revert'} {sha[:10]}"


def read_record(store: Store, name: str) -> tuple[Record, str]:
    """Return the record of a name and its path; SkillvaultError if it cannot be read."""
    snapshot = store.snapshot()
    path = snapshot.records.path_of(resolve(store, snapshot, name)) or ""
    record = snapshot.records.by_path([path])[path]
    if isinstance(record, Problem):
        raise SkillvaultError(f"{path}: {record.message}")
    if isinstance(record, LinkList | TryLines):
        raise SkillvaultError(f"{path}: a list of links; name the record that they lead from")
    return record, path


def read_skill(store: Store, name: str) -> tuple[Skill, str]:
    """Return the skill of a name and its path, from any folder; UsageError without one."""
    record, path = read_record(store, name)
    if not isinstance(record, Skill):
        kind = kind_of(record)
        raise UsageError(f"{name}: is a {kind}, not a skill; see `skillvault skill list`")
    return record, path


def why(run: Run, text: str) -> dict[str, Any]:
    """Return `{ref, commits, sources, against, rules}`: the origin of a record."""
    snapshot, store = run.snapshot, run.store
    empty_keys: dict[str, Any] = {"sources": [], "against": [], "rules": []}
    if (entry := run.shelf.layer_skill(text)) is not None:
        return {**_layer_skill(snapshot, entry), **empty_keys}
    if (pattern := learned.find_pattern(snapshot, text)) is not None:
        return {**learned.explain_pattern(store, snapshot, pattern), **empty_keys}
    ref = resolve(store, snapshot, text)
    answers = questions.answers_behind(run, ref) if len(snapshot.answers) else []
    fact = snapshot.facts.get_many([ref.id]).get(ref.id) if ref.kind == "fact" else None
    return {
        **_with_commits(snapshot, ref),
        "sources": provenance.sources(snapshot, ref),
        "against": list(both_sides(snapshot, ref).against),
        "rules": status.tested_rules(run, ref),
        **({"stated": _statement_of(fact)} if fact and fact.session else {}),
        **({"answers": answers} if answers else {}),
    }


def _statement_of(fact: Fact) -> dict[str, str | None]:
    """Return the time and the session of a person's rule."""
    day = f"{fact.created_at:%Y-%m-%d}" if fact.created_at else None
    return {"date": day, "session": fact.session, "repository": fact.scope}


def impact(run: Run, text: str) -> dict[str, Any]:
    """Return `{ref, commits, targets}`: the records that the loop made from a record."""
    snapshot = run.snapshot
    if (entry := run.shelf.layer_skill(text)) is not None:
        return {**_layer_skill(snapshot, entry), "targets": []}
    ref = resolve(run.store, snapshot, text, forward=True)
    return {**_with_commits(snapshot, ref), "targets": provenance.targets(snapshot, ref)}


def list_skills(snapshot: Snapshot, folder: str) -> list[ListedSkill]:
    """Return the skills of a folder by name: `skills`, `proposed` or `archive`."""
    folders = {
        "skills": snapshot.skills,
        "proposed": snapshot.skills.proposed,
        "archive": snapshot.skills.archived,
    }
    fields = ("kind", "domain", "status", "origin", "created", "expires")
    return [
        ListedSkill(
            name=name,
            **{field: getattr(skill, field) for field in fields},
            path=f"{folder}/{name}/SKILL.md",
        )
        for name, skill in folders[folder].items()
    ]


def _with_commits(snapshot: Snapshot, ref: Ref) -> dict[str, Any]:
    commits = snapshot.history.commits_touching([ref])
    return {"ref": provenance.node(snapshot, ref), "commits": list(map(_commit_shape, commits))}


def _layer_skill(snapshot: Snapshot, entry: ShelfSkill) -> dict[str, Any]:
    """Return `{ref, commits}`: a skill from outside the vault, and the decisions in this vault."""
    ref = Ref("skill", entry.skill.name)
    commits = snapshot.history.commits_changing(ref)
    node = {"kind": ref.kind, "id": ref.id, "path": entry.path, "layer": entry.layer}
    return {"ref": node, "commits": list(map(_commit_shape, commits))}


def _commit_shape(commit: Commit) -> dict[str, Any]:
    return {key: getattr(commit, key) for key in ("sha", "step", "subject", "date")}


def remover(
    store: Store, snapshot: Snapshot, work_tree: WorkTreeView
) -> Callable[[Ref], str | None]:
    """Return a function that returns the commit and the person that removed a record."""

    @cache
    def deletions() -> dict[str, str]:
        history = store.git.history.deletions(snapshot.commit) if snapshot.commit else {}
        refs = ((layout.ref_of(path), sha) for path, sha in reversed(history.items()))
        return {str(ref): sha for ref, sha in refs if ref}

    def find_remover(ref: Ref) -> str | None:
        if ref in snapshot.records and str(ref) not in work_tree.paths:
            return "removed here and not committed yet"
        commit = deletions().get(str(ref))
        return f"removed by commit {commit[:10]}" if commit else None

    return find_remover
