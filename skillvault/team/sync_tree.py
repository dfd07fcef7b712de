"""The merged tree of two histories, in memory: nothing is staged, no process merges.

The rules of `learning.sync` decide each path that both sides changed, and each skill that both
touched on any shelf: two changes that git merges cleanly may contradict each other.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property

from msgspec import Struct, field

from skillvault.learning.sync.skill import PlacedSkill, merge_placed_skills, supersede_facts
from skillvault.learning.sync.table import LINKS, must_stay, rule_of
from skillvault.learning.sync.three_way import Versions
from skillvault.loop.registry import STEPS
from skillvault.model.errors import BadInputError, UsageError
from skillvault.model.link_lists import LinkList
from skillvault.model.records import Evaluation, Problem
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import parse_record
from skillvault.vault.git.objects import EXECUTABLE, REGULAR, Entry
from skillvault.vault.git.repository import Git

_UNIT = re.compile(rf"(?P<shelf>{'|'.join(layout.SHELVES)})/(?P<name>[^/]+)/(?P<file>.+)")
_AUTHOR = b"author skillvault <> 0 +0000\ncommitter skillvault <> 0 +0000"
_BY_HAND = "merge it by hand with `git pull --no-rebase`"

Entries = Mapping[str, Entry | None]


class MergedTree(Struct):
    """The changes of our tree: path -> its entry, None for a file that goes.

    `decided` are the paths and skills that a rule decided; `problems` no rule can decide.
    """

    entries: dict[str, Entry | None] = field(default_factory=dict)
    decided: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


class _Histories:
    """Two commits, ours first, and the tree that both began with."""

    def __init__(self, git: Git, own_tip: str, remote_tip: str) -> None:
        self.git = git
        self.commits = own_tip, remote_tip
        self.bases = git.history.merge_bases(*self.commits)
        if not self.bases:
            raise UsageError(
                "the remote's branch has no commit in common with this vault; clone it, and record "
                "there what is here"
            )
        self.root = git.objects.root(_merge_bases(git, self.bases))
        self.roots = self.root, *map(git.objects.root, self.commits)
        self.changes = [
            git.history.diff_trees(self.root, root, submodules=True) for root in self.roots[1:]
        ]

    def content(self, entry: Entry | None) -> bytes | None:
        """The bytes that an entry names."""
        return self.git.blobs([entry.id])[entry.id] if entry else None

    @cached_property
    def moved_skills(self) -> list[set[str]]:
        """The skills that a person put onto another shelf, of each side."""
        return [self._find_moves(commit) for commit in self.commits]

    def _find_moves(self, commit: str) -> set[str]:
        """The skills whose text a commit of a person touched on more than one shelf."""
        moved_skills: set[str] = set()
        for past in self.git.history.commits(commit, *(f"^{base}" for base in self.bases)):
            if not STEPS.keys() & {part.step for part in past.parts}:
                names = [_skill_name(path) for path in past.files if layout.is_skill(path)]
                moved_skills |= {name for name in names if name and names.count(name) > 1}
        return moved_skills


def merge_trees(git: Git, own_tip: str, remote_tip: str) -> MergedTree:
    """Merge both histories in one tree; UsageError if they have no commit in common."""
    histories = _Histories(git, own_tip, remote_tip)
    tree = MergedTree()
    own_changes, remote_changes = histories.changes
    own_skills, remote_skills = ({*map(_skill_name, paths)} for paths in histories.changes)
    for path, entry in sorted(remote_changes.items()):
        name = _skill_name(path)
        if name and name in own_skills:
            continue
        if path not in own_changes:
            tree.entries[path] = entry
        elif own_changes[path] != entry:
            _decide_file(histories, path, tree)
    names = sorted(name for name in own_skills & remote_skills if name)
    _decide_skills(histories, names, tree)
    _supersede_facts(histories, tree)
    message = f"a link or a submodule; {_BY_HAND}"
    tree.problems += [
        Problem(path, None, "no-file", message)
        for path, entry in tree.entries.items()
        if entry and entry.mode not in (REGULAR, EXECUTABLE)
    ]
    return tree


def _merge_bases(git: Git, bases: Sequence[str]) -> str:
    """The commit that two histories began with: of several merge bases their own merge."""
    base = bases[0]
    for other_base in bases[1:]:
        tree = merge_trees(git, base, other_base)
        root = git.objects.write_tree(git.objects.root(base), tree.entries)
        lines = f"tree {root}\nparent {base}\nparent {other_base}\n".encode()
        base = git.objects.write_commit(lines + _AUTHOR + b"\n\nmerge bases\n")
    return base


def _skill_name(path: str) -> str | None:
    unit = _UNIT.match(path)
    return unit["name"] if unit else None


# ── files ────────────────────────────────────────────────────────────────────────────


def _decide_file(histories: _Histories, path: str, tree: MergedTree) -> None:
    """Decide a file that both sides changed in different ways."""
    objects = histories.git.objects
    versions = [objects.entries(root, [path]).get(path) for root in histories.roots]
    try:
        content = _merge_file(histories, layout.kind_of(path), versions)
    except BadInputError as error:
        tree.problems.append(Problem(path, error.key, error.code, error.message))
        return
    tree.decided.append(path)
    entry = None
    if content is not None:
        modes = {version.mode for version in versions[1:] if version}
        mode = EXECUTABLE if EXECUTABLE in modes else REGULAR
        entry = Entry(mode, objects.write_blob(content))
    if entry != versions[1]:
        tree.entries[path] = entry


def _merge_file(
    histories: _Histories, kind: str | None, versions: Sequence[Entry | None]
) -> bytes | None:
    """Merge the base, ours and theirs of a file; BadInputError if no rule can."""
    base, own_text, other_text = (histories.content(entry) for entry in versions)
    if kind == LINKS:
        return rule_of(kind)(Versions(base, own_text or b"", other_text or b"")) or None
    if own_text is not None and other_text is not None:
        if kind is not None:
            return rule_of(kind)(Versions(base, own_text, other_text))
        merge = histories.git.merge_texts(own_text, base or b"", other_text)
        if merge is None or merge[1]:
            message = f"changed by both in the same place; {_BY_HAND}"
            raise BadInputError(message, code="conflict")
        return merge[0]
    if kind is None:
        message = f"removed in one clone and changed in another; {_BY_HAND}"
        raise BadInputError(message, code="conflict")
    side = other_text if own_text is None else own_text
    return side if side and must_stay(kind, base or b"", side) else None


# ── skills ───────────────────────────────────────────────────────────────────────────


def _decide_skills(histories: _Histories, names: Sequence[str], tree: MergedTree) -> None:
    """Decide the skills that both sides touched, each as a whole."""
    if not names:
        return
    folders = [f"{shelf}/{name}" for name in names for shelf in layout.SHELVES]
    files = [histories.git.objects.files(root, folders) for root in histories.roots]
    for name in names:
        versions = [
            {path: entry for path, entry in side.items() if _skill_name(path) == name}
            for side in files
        ]
        if versions[1] == versions[2]:
            continue
        try:
            merged = merge_placed_skills(*_place_versions(histories, name, versions))
        except BadInputError as error:
            path = min({*versions[1], *versions[2]}, default=name)
            tree.problems.append(Problem(path, error.key, error.code, error.message))
            continue
        tree.decided.append(f"skill {name}")
        tree.entries |= _entries_of(histories, name, merged, versions)


def _place_versions(
    histories: _Histories, name: str, versions: Sequence[Mapping[str, Entry]]
) -> list[PlacedSkill | None]:
    """The base, ours and theirs of a skill, each on its shelf."""
    base, *sides = (_place_version(histories, version) for version in versions)
    skills: list[PlacedSkill | None] = [base]
    for side, moved_skills in zip(sides, (0, 1), strict=True):
        if side and base and side.shelf != base.shelf:
            decided = name in histories.moved_skills[moved_skills]
            skills.append(PlacedSkill(side.shelf, side.files, decided))
        else:
            skills.append(side)
    return skills


def _place_version(histories: _Histories, files: Mapping[str, Entry]) -> PlacedSkill | None:
    """A skill on its shelf; on two shelves it is merged as if two clones had put it there."""
    shelves: dict[str, dict[str, bytes]] = {}
    for path, entry in files.items():
        shelf, _, file = path.split("/", 2)
        shelves.setdefault(shelf, {})[file] = histories.content(entry) or b""
    skill: PlacedSkill | None = None
    for shelf, contents in shelves.items():
        version = PlacedSkill(shelf, contents)
        skill = merge_placed_skills(None, skill, version) if skill else version
    return skill


def _entries_of(
    histories: _Histories,
    name: str,
    merged: PlacedSkill | None,
    files: Sequence[Mapping[str, Entry]],
) -> dict[str, Entry | None]:
    """The changes of our tree that give it the merged skill."""
    entries: dict[str, Entry | None] = dict.fromkeys(files[1])
    executable = {
        path.split("/", 2)[2]
        for side in files
        for path, entry in side.items()
        if entry.mode == EXECUTABLE
    }
    for file, content in merged.files.items() if merged else ():
        mode = EXECUTABLE if file in executable else REGULAR
        path = f"{merged.shelf if merged else ''}/{name}/{file}"
        entries[path] = Entry(mode, histories.git.objects.write_blob(content))
    return {path: entry for path, entry in entries.items() if entry != files[1].get(path)}


# ── facts of one evaluation ──────────────────────────────────────────────────────────


def _supersede_facts(histories: _Histories, tree: MergedTree) -> None:
    """Keep one fact of each evaluation that both sides made facts of; it supersedes the others."""
    added = [_find_new_facts(histories, side) for side in histories.changes]
    if not all(added) or added[0] == added[1]:
        return
    git = histories.git
    root = git.objects.write_tree(histories.roots[1], tree.entries)
    files = git.objects.files(root, ["memory", "evaluations"])
    facts = {ref.id: path for path in files if (ref := layout.ref_of(path)) and ref.kind == "fact"}
    evaluations = {layout.links_path(path): path for path in files}
    for list_path in sorted({path for path, _ in added[0] | added[1]} & files.keys()):
        names = sorted(_promoted_facts(histories, list_path, files[list_path]) & facts.keys())
        contents = {name: histories.content(files[facts[name]]) or b"" for name in names}
        path = evaluations.get(list_path, "")
        record = parse_record(path, histories.content(files[path]) or b"") if path else None
        insight = (record.key_insight or "") if isinstance(record, Evaluation) else ""
        for name, content in supersede_facts(contents, insight).items():
            path = facts[name]
            tree.entries[path] = Entry(files[path].mode, git.objects.write_blob(content))


def _find_new_facts(histories: _Histories, side: Entries) -> set[tuple[str, str]]:
    """(list of an evaluation's links, fact that was made of it) that a side added."""
    owners = {path: layout.links_owner(path) for path in side}
    lists = [path for path, owner in owners.items() if owner and owner.kind == "evaluation"]
    base = histories.git.objects.entries(histories.root, lists)
    return {
        (path, fact)
        for path in lists
        for fact in _promoted_facts(histories, path, side[path])
        - _promoted_facts(histories, path, base.get(path))
    }


def _promoted_facts(histories: _Histories, path: str, entry: Entry | None) -> set[str]:
    """The facts that were made of an evaluation, by its list of links."""
    links = parse_record(path, histories.content(entry) or b"")
    lines = links.links if isinstance(links, LinkList) else ()
    return {link.target.id for link in lines if link.type == "promoted"}
