"""Merge the trees of two histories in memory, for `sync`.

The rules in `learning/sync/` decide each path that both clones changed; change a decision there. A
skill is decided as a whole, because changes of two files may contradict each other.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property

from msgspec import Struct, field

from skillvault.learning.sync.skill import SkillVersion, merge_skill_versions
from skillvault.learning.sync.table import LINKS, must_stay, rule_of, supersede_facts
from skillvault.learning.sync.three_way import Versions
from skillvault.loop.registry import STEPS
from skillvault.model.errors import BadInputError, UsageError
from skillvault.model.link_lists import LinkList
from skillvault.model.records import Evaluation, Problem
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import parse_record
from skillvault.vault.git.objects import EXECUTABLE, REGULAR, Entry
from skillvault.vault.git.repository import Git

_SKILL_PATH = re.compile(rf"(?:{'|'.join(layout.SKILL_FOLDERS)})/(?P<name>[^/]+)/.+")
_AUTHOR_LINES = b"author skillvault <> 0 +0000\ncommitter skillvault <> 0 +0000"
_MERGE_ADVICE = "merge it by hand with `git pull --no-rebase`"


class MergedTree(Struct):
    """The changes of the local tree by path; a removed file has the entry None.

    `decided` lists the paths and skills that a rule decided. `problems` has the conflicts that no
    rule can decide.
    """

    entries: dict[str, Entry | None] = field(default_factory=dict)
    decided: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


class _Histories:
    """The local and the remote commit, and the tree of their merge base."""

    def __init__(self, git: Git, local_tip: str, remote_tip: str) -> None:
        self.git = git
        self.commits = local_tip, remote_tip
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

    def read_content(self, entry: Entry | None) -> bytes | None:
        return self.git.blobs([entry.id])[entry.id] if entry else None

    @cached_property
    def moved_skills(self) -> list[set[str]]:
        """The names of the skills that a person moved to another folder, in each history."""
        return [self._find_moves(commit) for commit in self.commits]

    def _find_moves(self, commit: str) -> set[str]:
        """Find the skills whose SKILL.md a person's commit changed in more than one folder."""
        moved_skills: set[str] = set()
        for record in self.git.history.commits(commit, *(f"^{base}" for base in self.bases)):
            if not STEPS.keys() & {part.step for part in record.parts}:
                names = [_skill_name(path) for path in record.files if layout.is_skill(path)]
                moved_skills |= {name for name in names if name and names.count(name) > 1}
        return moved_skills


def merge_trees(git: Git, local_tip: str, remote_tip: str) -> MergedTree:
    """Merge two histories into one tree; raise UsageError if they have no commit in common."""
    histories = _Histories(git, local_tip, remote_tip)
    tree = MergedTree()
    local_changes, remote_changes = histories.changes
    local_skills, remote_skills = ({*map(_skill_name, paths)} for paths in histories.changes)
    for path, entry in sorted(remote_changes.items()):
        name = _skill_name(path)
        if name and name in local_skills:
            continue
        if path not in local_changes:
            tree.entries[path] = entry
        elif local_changes[path] != entry:
            _decide_file(histories, path, tree)
    names = sorted(name for name in local_skills & remote_skills if name)
    _decide_skills(histories, names, tree)
    _supersede_facts(histories, tree)
    message = f"a link or a submodule; {_MERGE_ADVICE}"
    tree.problems += [
        Problem(path, None, "no-file", message)
        for path, entry in tree.entries.items()
        if entry and entry.mode not in (REGULAR, EXECUTABLE)
    ]
    return tree


def _merge_bases(git: Git, bases: Sequence[str]) -> str:
    base = bases[0]
    for other_base in bases[1:]:
        tree = merge_trees(git, base, other_base)
        root = git.objects.write_tree(git.objects.root(base), tree.entries)
        lines = f"tree {root}\nparent {base}\nparent {other_base}\n".encode()
        base = git.objects.write_commit(lines + _AUTHOR_LINES + b"\n\nmerge bases\n")
    return base


def _skill_name(path: str) -> str | None:
    match = _SKILL_PATH.match(path)
    return match["name"] if match else None


# ── files ────────────────────────────────────────────────────────────────────────────


def _decide_file(histories: _Histories, path: str, tree: MergedTree) -> None:
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
        new_mode = EXECUTABLE if EXECUTABLE in modes else REGULAR
        entry = Entry(new_mode, objects.write_blob(content))
    if entry != versions[1]:
        tree.entries[path] = entry


def _merge_file(
    histories: _Histories, kind: str | None, versions: Sequence[Entry | None]
) -> bytes | None:
    """Merge the base, local and remote version of a file; raise BadInputError without a rule."""
    base, local_text, remote_text = (histories.read_content(entry) for entry in versions)
    if kind == LINKS:
        return rule_of(kind)(Versions(base, local_text or b"", remote_text or b"")) or None
    if local_text is not None and remote_text is not None:
        if kind is not None:
            return rule_of(kind)(Versions(base, local_text, remote_text))
        merge = histories.git.merge_texts(local_text, base or b"", remote_text)
        if merge is None or merge[1]:
            message = f"changed by both in the same place; {_MERGE_ADVICE}"
            raise BadInputError(message, code="conflict")
        return merge[0]
    if kind is None:
        message = f"removed in one clone and changed in another; {_MERGE_ADVICE}"
        raise BadInputError(message, code="conflict")
    text = remote_text if local_text is None else local_text
    return text if text and must_stay(kind, base or b"", text) else None


# ── skills ───────────────────────────────────────────────────────────────────────────


def _decide_skills(histories: _Histories, names: Sequence[str], tree: MergedTree) -> None:
    """Decide the skills that both clones changed, each as a whole."""
    if not names:
        return
    paths = [f"{folder}/{name}" for name in names for folder in layout.SKILL_FOLDERS]
    files_by_tree = [histories.git.objects.files(root, paths) for root in histories.roots]
    for name in names:
        file_versions = [
            {path: entry for path, entry in tree_files.items() if _skill_name(path) == name}
            for tree_files in files_by_tree
        ]
        if file_versions[1] == file_versions[2]:
            continue
        try:
            merged_skill = merge_skill_versions(*_read_versions(histories, name, file_versions))
        except BadInputError as error:
            path = min({*file_versions[1], *file_versions[2]}, default=name)
            tree.problems.append(Problem(path, error.key, error.code, error.message))
            continue
        tree.decided.append(f"skill {name}")
        tree.entries |= _entries_of(histories, name, merged_skill, file_versions)


def _read_versions(
    histories: _Histories, name: str, versions: Sequence[Mapping[str, Entry]]
) -> list[SkillVersion | None]:
    base, *changed_skills = (_read_version(histories, version) for version in versions)
    skills: list[SkillVersion | None] = [base]
    for number, skill in enumerate(changed_skills):
        if skill and base and skill.folder != base.folder:
            is_decided = name in histories.moved_skills[number]
            skills.append(SkillVersion(skill.folder, skill.files, is_decided))
        else:
            skills.append(skill)
    return skills


def _read_version(histories: _Histories, files: Mapping[str, Entry]) -> SkillVersion | None:
    """Return a skill with its folder; merge copies in two folders like two clones."""
    folders: dict[str, dict[str, bytes]] = {}
    for path, entry in files.items():
        folder, _, file = path.split("/", 2)
        folders.setdefault(folder, {})[file] = histories.read_content(entry) or b""
    skill: SkillVersion | None = None
    for folder, contents in folders.items():
        copy = SkillVersion(folder, contents)
        skill = merge_skill_versions(None, skill, copy) if skill else copy
    return skill


def _entries_of(
    histories: _Histories,
    name: str,
    merged_skill: SkillVersion | None,
    file_versions: Sequence[Mapping[str, Entry]],
) -> dict[str, Entry | None]:
    entries: dict[str, Entry | None] = dict.fromkeys(file_versions[1])
    executable_files = {
        path.split("/", 2)[2]
        for tree_files in file_versions
        for path, entry in tree_files.items()
        if entry.mode == EXECUTABLE
    }
    for file, content in merged_skill.files.items() if merged_skill else ():
        mode = EXECUTABLE if file in executable_files else REGULAR
        path = f"{merged_skill.folder if merged_skill else ''}/{name}/{file}"
        entries[path] = Entry(mode, histories.git.objects.write_blob(content))
    return {path: entry for path, entry in entries.items() if entry != file_versions[1].get(path)}


# ── facts of one evaluation ──────────────────────────────────────────────────────────


def _supersede_facts(histories: _Histories, tree: MergedTree) -> None:
    """Let one fact supersede the others if both clones made facts from one evaluation."""
    new_facts = [_find_new_facts(histories, side) for side in histories.changes]
    if not all(new_facts) or new_facts[0] == new_facts[1]:
        return
    git = histories.git
    root = git.objects.write_tree(histories.roots[1], tree.entries)
    files = git.objects.files(root, ["memory", "evaluations"])
    facts = {ref.id: path for path in files if (ref := layout.ref_of(path)) and ref.kind == "fact"}
    evaluations = {layout.links_path(path): path for path in files}
    for list_path in sorted({path for path, _ in new_facts[0] | new_facts[1]} & files.keys()):
        ids = sorted(_promoted_facts(histories, list_path, files[list_path]) & facts.keys())
        texts = {key: histories.read_content(files[facts[key]]) or b"" for key in ids}
        path = evaluations.get(list_path, "")
        record = parse_record(path, histories.read_content(files[path]) or b"") if path else None
        insight = (record.key_insight or "") if isinstance(record, Evaluation) else ""
        for key, content in supersede_facts(texts, insight).items():
            path = facts[key]
            tree.entries[path] = Entry(files[path].mode, git.objects.write_blob(content))


def _find_new_facts(
    histories: _Histories, changes: Mapping[str, Entry | None]
) -> set[tuple[str, str]]:
    """Return (path of the links of an evaluation, id) for each fact that is new in `changes`."""
    owners = {path: layout.links_owner(path) for path in changes}
    list_paths = [path for path, owner in owners.items() if owner and owner.kind == "evaluation"]
    base = histories.git.objects.entries(histories.root, list_paths)
    return {
        (path, fact)
        for path in list_paths
        for fact in _promoted_facts(histories, path, changes[path])
        - _promoted_facts(histories, path, base.get(path))
    }


def _promoted_facts(histories: _Histories, path: str, entry: Entry | None) -> set[str]:
    link_list = parse_record(path, histories.read_content(entry) or b"")
    links = link_list.links if isinstance(link_list, LinkList) else ()
    return {link.target.id for link in links if link.type == "promoted"}
