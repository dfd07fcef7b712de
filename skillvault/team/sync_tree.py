"""Two histories of one vault as one tree, in memory: nothing is staged, no process merges.

What both sides changed goes through the rules of `learning.sync`, and so does each skill
that both touched on any shelf: two changes that git merges cleanly may contradict each other.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from msgspec import Struct, field

from skillvault.learning.sync.standing import PlacedSkill, merged_standing, superseding
from skillvault.learning.sync.table import LINKS, rule_of, stays
from skillvault.learning.sync.three_way import Versions
from skillvault.loop.registry import STEPS
from skillvault.model.errors import BadInputError, UsageError
from skillvault.model.link_lists import LinkList
from skillvault.model.records import Evaluation, Problem
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import parse_record
from skillvault.vault.git.merge_file import merged_text
from skillvault.vault.git.repository import Git
from skillvault.vault.git.trees import EXECUTABLE, REGULAR, Entry

_UNIT = re.compile(rf"(?P<shelf>{'|'.join(layout.SHELVES)})/(?P<name>[^/]+)/(?P<file>.+)")
_AUTHOR = b"author skillvault <> 0 +0000\ncommitter skillvault <> 0 +0000"
_BY_HAND = "merge it by hand with `git pull --no-rebase`"

Entries = Mapping[str, Entry | None]


class MergedTree(Struct):
    """What becomes of ours: path -> its entry, None for a file that goes.

    `decided` are the paths and skills that a rule decided; `problems` what no rule can.
    """

    entries: dict[str, Entry | None] = field(default_factory=dict)
    decided: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


class _Meeting:
    """Two commits, and the tree that both began with."""

    def __init__(self, git: Git, ours: str, theirs: str) -> None:
        self.git = git
        self.commits = ours, theirs
        self.bases = git.history.merge_bases(ours, theirs)
        if not self.bases:
            raise UsageError(
                "the remote's branch has no commit in common with this vault; clone it, and record "
                "there what is here"
            )
        self.root = git.objects.root(_common(git, self.bases))
        self.roots = self.root, *map(git.objects.root, self.commits)
        self.changed = [
            git.history.changed(self.root, root, submodules=True) for root in self.roots[1:]
        ]

    def standing_at(self, path: str) -> tuple[Entry | None, Entry | None, Entry | None]:
        """What stands at a path in the base, ours and theirs."""
        base, ours, theirs = (
            self.git.objects.entries(root, [path]).get(path) for root in self.roots
        )
        return base, ours, theirs

    def content(self, entry: Entry | None) -> bytes | None:
        """The bytes that an entry names."""
        return self.git.blobs([entry.id])[entry.id] if entry else None

    @cached_property
    def moved(self) -> list[set[str]]:
        """Of each side the skills that a person put onto another shelf."""
        return [self._moved_by_person(commit) for commit in self.commits]

    def _moved_by_person(self, commit: str) -> set[str]:
        span = (commit, *(f"^{base}" for base in self.bases))
        return {
            name
            for past in self.git.history.commits(*span)
            if not STEPS.keys() & {part.step for part in past.parts}
            for name in _on_two_shelves(past.files)
        }


def merged_tree(git: Git, ours: str, theirs: str) -> MergedTree:
    """Both histories as one tree; UsageError if they have no commit in common."""
    meeting = _Meeting(git, ours, theirs)
    tree = MergedTree()
    of_ours, of_theirs = meeting.changed
    names = [_skills_at(of_ours), _skills_at(of_theirs)]
    for path in sorted(of_theirs):
        if _name_of(path) in names[0]:
            continue
        if path not in of_ours:
            tree.entries[path] = of_theirs[path]
        elif of_ours[path] != of_theirs[path]:
            _decide(meeting, path, tree)
    _decide_skills(meeting, sorted(names[0] & names[1]), tree)
    _supersede(meeting, tree)
    tree.problems += _unfit(tree.entries)
    return tree


def _common(git: Git, bases: Sequence[str]) -> str:
    """The commit that two histories began with: of several merge bases their own merge."""
    base = bases[0]
    for other in bases[1:]:
        tree = merged_tree(git, base, other)
        root = git.objects.write_tree(git.objects.root(base), tree.entries)
        lines = f"tree {root}\nparent {base}\nparent {other}\n".encode()
        base = git.objects.write_commit(lines + _AUTHOR + b"\n\nmerge bases\n")
    return base


def _skills_at(paths: Iterable[str]) -> set[str]:
    return {name for path in paths if (name := _name_of(path))}


def _name_of(path: str) -> str | None:
    unit = _UNIT.match(path)
    return unit["name"] if unit else None


def _on_two_shelves(paths: Iterable[str]) -> set[str]:
    """The skills whose text a commit touched on more than one shelf."""
    places = {path for path in paths if layout.is_skill(path)}
    names = [_name_of(path) or "" for path in places]
    return {name for name in names if names.count(name) > 1}


# ── files ────────────────────────────────────────────────────────────────────────────


def _decide(meeting: _Meeting, path: str, tree: MergedTree) -> None:
    """A file that both changed, each otherwise."""
    versions = meeting.standing_at(path)
    try:
        entry = _decided_entry(meeting, layout.kind_of(path), versions)
    except BadInputError as error:
        tree.problems.append(Problem(path, error.key, error.code, error.message))
        return
    tree.decided.append(path)
    if entry != versions[1]:
        tree.entries[path] = entry


def _decided_entry(
    meeting: _Meeting, kind: str | None, versions: Sequence[Entry | None]
) -> Entry | None:
    contents = base, ours, theirs = [meeting.content(entry) for entry in versions]
    if kind is None:
        content = _of_no_record(meeting.git, contents)
    elif kind == LINKS:
        content = rule_of(kind)(Versions(base, ours or b"", theirs or b"")) or None
    elif ours is None or theirs is None:
        side = theirs if ours is None else ours
        content = side if side and stays(kind, base or b"", side) else None
    else:
        content = rule_of(kind)(Versions(base, ours, theirs))
    if content is None:
        return None
    modes = {entry.mode for entry in versions[1:] if entry}
    mode = EXECUTABLE if EXECUTABLE in modes else REGULAR
    return Entry(mode, meeting.git.objects.write_blob(content))


def _of_no_record(git: Git, contents: Sequence[bytes | None]) -> bytes | None:
    """A file that is no record, merged as git does it; BadInputError if it cannot be."""
    base, ours, theirs = contents
    if ours is None or theirs is None:
        raise BadInputError(
            f"taken away in one clone and changed in another; {_BY_HAND}", code="conflict"
        )
    merged = merged_text(git, ours, base or b"", theirs)
    if merged is None or merged[1]:
        raise BadInputError(f"changed by both in the same place; {_BY_HAND}", code="conflict")
    return merged[0]


def _unfit(entries: Entries) -> list[Problem]:
    """What a merge brings that is no plain file."""
    message = f"a link or a submodule; {_BY_HAND}"
    return [
        Problem(path, None, "no-file", message)
        for path, entry in entries.items()
        if entry and entry.mode not in (REGULAR, EXECUTABLE)
    ]


# ── skills ───────────────────────────────────────────────────────────────────────────


def _decide_skills(meeting: _Meeting, names: Sequence[str], tree: MergedTree) -> None:
    """The skills that both sides touched, each as a whole."""
    if not names:
        return
    folders = [f"{shelf}/{name}" for name in names for shelf in layout.SHELVES]
    files = [meeting.git.objects.files(root, folders) for root in meeting.roots]
    for name in names:
        own = [_of_skill(side, name) for side in files]
        if own[1] == own[2]:
            continue
        try:
            merged = merged_standing(*_standings(meeting, name, own))
        except BadInputError as error:
            path = min({*own[1], *own[2]}, default=name)
            tree.problems.append(Problem(path, error.key, error.code, error.message))
            continue
        tree.decided.append(f"skill {name}")
        tree.entries |= _entries_of(meeting, name, merged, own)


def _of_skill(files: Mapping[str, Entry], name: str) -> dict[str, Entry]:
    return {path: entry for path, entry in files.items() if _name_of(path) == name}


def _standings(
    meeting: _Meeting, name: str, files: Sequence[Mapping[str, Entry]]
) -> list[PlacedSkill | None]:
    """How a skill stands in the base, ours and theirs."""
    base = _standing_in(meeting, files[0])
    sides: list[PlacedSkill | None] = [base]
    for side, moved in zip(files[1:], (0, 1), strict=True):
        standing = _standing_in(meeting, side)
        elsewhere = standing and base and standing.shelf != base.shelf
        decided = bool(elsewhere) and name in meeting.moved[moved]
        sides.append(
            PlacedSkill(standing.shelf, standing.files, decided)
            if standing and decided
            else standing
        )
    return sides


def _standing_in(meeting: _Meeting, files: Mapping[str, Entry]) -> PlacedSkill | None:
    """A skill of one version; one on two shelves as if two clones had put it there."""
    shelves: dict[str, dict[str, bytes]] = {}
    for path, entry in files.items():
        shelf, _, file = path.split("/", 2)
        shelves.setdefault(shelf, {})[file] = meeting.content(entry) or b""
    standing: PlacedSkill | None = None
    for shelf, contents in shelves.items():
        one = PlacedSkill(shelf, contents)
        standing = merged_standing(None, standing, one) if standing else one
    return standing


def _entries_of(
    meeting: _Meeting,
    name: str,
    merged: PlacedSkill | None,
    files: Sequence[Mapping[str, Entry]],
) -> dict[str, Entry | None]:
    """What becomes of ours, so that the skill stands as it was merged."""
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
        entries[path] = Entry(mode, meeting.git.objects.write_blob(content))
    return {path: entry for path, entry in entries.items() if entry != files[1].get(path)}


# ── facts of one evaluation ──────────────────────────────────────────────────────────


def _supersede(meeting: _Meeting, tree: MergedTree) -> None:
    """Of each evaluation that both sides made facts of, one fact supersedes the others."""
    added = [_made_facts(meeting, side) for side in meeting.changed]
    if not all(added) or added[0] == added[1]:
        return
    git = meeting.git
    root = git.objects.write_tree(meeting.roots[1], tree.entries)
    files = git.objects.files(root, ["memory", "evaluations"])
    facts = {ref.id: path for path in files if (ref := layout.ref_of(path)) and ref.kind == "fact"}
    for list_path in sorted({path for path, _ in added[0] | added[1]} & files.keys()):
        names = sorted(_promoted(meeting, list_path, files[list_path]) & facts.keys())
        contents = {name: meeting.content(files[facts[name]]) or b"" for name in names}
        insight = _insight(meeting, files, list_path)
        for name, content in superseding(contents, insight).items():
            path = facts[name]
            tree.entries[path] = Entry(files[path].mode, git.objects.write_blob(content))


def _made_facts(meeting: _Meeting, side: Entries) -> set[tuple[str, str]]:
    """(list of an evaluation's links, fact that was made of it) that a side added."""
    lists = [path for path in side if _is_of_evaluation(path)]
    before = meeting.git.objects.entries(meeting.root, lists)
    return {
        (path, fact)
        for path in lists
        for fact in _promoted(meeting, path, side[path])
        - _promoted(meeting, path, before.get(path))
    }


def _is_of_evaluation(path: str) -> bool:
    owner = layout.links_owner(path)
    return owner is not None and owner.kind == "evaluation"


def _promoted(meeting: _Meeting, path: str, entry: Entry | None) -> set[str]:
    """The facts that were made of an evaluation, by its list of links."""
    links = parse_record(path, meeting.content(entry) or b"")
    lines = links.links if isinstance(links, LinkList) else ()
    return {link.target.id for link in lines if link.type == "promoted"}


def _insight(meeting: _Meeting, files: Mapping[str, Entry], list_path: str) -> str:
    paths = [path for path in files if layout.links_path(path) == list_path]
    records = [parse_record(path, meeting.content(files[path]) or b"") for path in paths]
    return next((r.key_insight or "" for r in records if isinstance(r, Evaluation)), "")
