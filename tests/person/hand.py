"""A person at work in a vault: an editor and plain git. What git refuses is left as it is."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from tests.person.given import AHEAD, BUSY, asked, files_below, git, minutes

NEW_SKILL = "---\nname: {0}\ndescription: What it does, and when.\n---\n\nDo it.\n"
NEWS = ("note", "skill", "beside", "ahead", "clash")
CLASHES = ("memory", "proposed", "links", "outcomes/coding/2026/11/20", "evaluations/perps")


class Hand:
    """A person at work with git and an editor; `told` lists the actions in words."""

    def __init__(self, root: Path, now: datetime) -> None:
        self.root = root
        self.now = now
        self.told: list[str] = []
        self.saves = 0

    def git(self, *args: str, data: str = "") -> bool:
        """Run git; return False if it refuses."""
        at = minutes(self.now)
        env = {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at, "GIT_EDITOR": "true"}
        done = git(self.root, *args, data=data, **env)
        said = (done.stdout + done.stderr).strip().splitlines()
        self.told.append(f"git {' '.join(args)}  # {done.returncode} {said[-1:]}")
        return done.returncode == 0

    def each(self, *commands: str) -> bool:
        """Run git commands until one is refused."""
        return all(self.git(*command.split(" ")) for command in commands)

    def aimed(self, kind: str, pick: int) -> str:
        """Return a path of a kind: the name of its folder, or `own` for a file at the top."""
        seen = {p.relative_to(self.root).as_posix() for p in files_below(self.root)}
        known = asked(self.root, "ls-files", "-z").split("\0")
        paths = sorted({*seen, *known} - {"", ".gitignore", ".gitattributes"}) or ["notes.md"]
        fit = [p for p in paths if p.partition("/")[0] == kind or (kind == "own" and "/" not in p)]
        return fit[pick % len(fit)] if fit else paths[pick % len(paths)]

    def at_home(self) -> bool:
        """Return True if the person is on the vault's branch and no git operation is open."""
        home = self.root / ".git"
        on_main = (home / "HEAD").read_text() == "ref: refs/heads/main\n"
        return on_main and not any((home / name).exists() for name in BUSY)

    # ── the editor ───────────────────────────────────────────────────────────────────

    def edit(self, path: str, how: str) -> None:
        """Do something to a file, as an editor or a file manager does."""
        self.told.append(f"{how} {path}")
        place = self.root / path
        if how in _TEXTS:
            self._save(place, _TEXTS[how])
        elif (place.is_file() or place.is_symlink()) and not (
            how in ("rename", "misname") and place.parent == self.root
        ):
            _FILES[how](place)

    def _save(self, place: Path, change: Callable[[str, str], str]) -> None:
        self.saves += 1
        if place.is_symlink() or not place.is_file():
            return
        text = place.read_text(errors="surrogateescape")
        place.write_text(change(text, f"# mine {self.saves}\n"), errors="surrogateescape")

    def create(self, path: str, text: str) -> bool:
        """Write a new file where nothing stands."""
        self.told.append(f"create {path}")
        place = self.root / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("x") as file:
                file.write(text)
        except (FileExistsError, NotADirectoryError):
            return False
        return True

    def new(self, how: str, pick: int) -> None:
        """Make a file of one's own somewhere."""
        self.saves += 1
        folder = self.aimed("skills", pick).rpartition("/")[0] or "skills/mine"
        name = f"mine-{self.saves}"
        path, text = {
            "note": (f"notes/{name}.md", "a\nb\nc\nd\n"),
            "skill": (f"skills/{name}/SKILL.md", NEW_SKILL.format(name)),
            "beside": (f"{folder}/{name}.txt", "mine\n"),
            "ahead": (AHEAD[pick % len(AHEAD)], "mine\n"),
            "clash": (CLASHES[pick % len(CLASHES)], "mine\n"),
        }[how]
        if how == "clash":
            self._clash(path)
        else:
            self.create(path, text)

    def _clash(self, path: str) -> None:
        """Stage a file where the program wants a folder, and lose it in the work tree."""
        if self.create(path, "mine\n"):
            self.git("add", "--", path)
            (self.root / path).unlink()
            self.told.append(f"rm {path}")

    # ── the index ────────────────────────────────────────────────────────────────────

    def stage(self, path: str, how: str) -> None:
        """Do something to the index."""
        if how == "part":
            self._stage_a_part(path)
        else:
            self.git(*[path if word == "PATH" else word for word in _STAGING[how].split()])

    def _stage_a_part(self, path: str) -> None:
        """Change both ends of a file and stage the first hunk alone."""
        self.edit(path, "prepend")
        self.edit(path, "append")
        patch = git(self.root, "diff", "-U0", "--", path).stdout
        first, *_ = patch.split("\n@@ ", 2)[1:] or [""]
        if first:
            head = patch.split("\n@@ ", 1)[0]
            hunk = f"{head}\n@@ {first}".rstrip("\n") + "\n"
            self.git("apply", "--cached", "--unidiff-zero", "-", data=hunk)

    # ── history ──────────────────────────────────────────────────────────────────────

    def commit(self, how: str) -> None:
        """Commit something."""
        self.each(*_COMMITS[how])

    def undo(self, how: str) -> None:
        """Take something back."""
        self.each(*_UNDOING[how])

    def revert(self, pick: int) -> None:
        """Revert one of the program's latest commits."""
        form = ("log", "-8", "--format=%H", "--grep=^Skillvault-Step:")
        if shas := asked(self.root, *form).split():
            self.git("revert", "--no-edit", shas[pick % len(shas)])

    def branch(self, how: str, path: str) -> None:
        """Work on another branch, and come back or not."""
        if how == "conflict":
            self._conflict(path)
        else:
            name = f"side-{len(self.told)}"
            self.each(*[line.replace("SIDE", name) for line in _BRANCHES[how]])

    def _conflict(self, path: str) -> None:
        """Change the same line on two branches and merge one into the other."""
        name = f"side-{len(self.told)}"
        if self.git("switch", "-qc", name):
            self.edit(path, "append")
            if self.each("commit -qam there", "switch -q main"):
                self.edit(path, "append")
                self.each("commit -qam here", f"merge -q --no-edit {name}")

    def finish(self, how: str) -> None:
        """End what is in progress, and go back to the vault's branch."""
        for operation in ("merge", "rebase", "cherry-pick", "revert"):
            if how == "abort" and (self.root / ".git" / _SIGNS[operation]).exists():
                self.git(operation, "--abort")
            elif (self.root / ".git" / _SIGNS[operation]).exists():
                self.each("add -A", f"{operation} --continue")
        if (self.root / ".git/BISECT_LOG").exists():
            self.git("bisect", "reset")
        if asked(self.root, "symbolic-ref", "-q", "HEAD").strip() != "refs/heads/main":
            self.git("switch", "-q", *(["-f"] if how == "abort" else []), "main")

    def tidy(self) -> None:
        """End every operation, commit the rest and return to the vault's branch."""
        self.finish("resolve")
        self.finish("abort")
        self.each("add -A", "commit -qm rest")


def _link(place: Path) -> None:
    place.unlink()
    place.symlink_to("notes.md")


def _folder(place: Path) -> None:
    place.unlink()
    place.mkdir()
    (place / "inside.txt").write_text("mine\n")


def _chmod(place: Path) -> None:
    if place.is_file():
        place.chmod(place.stat().st_mode ^ 0o111)


def _rename(folder: Path, name: str) -> None:
    target = folder.with_name(name)
    if not target.exists():
        folder.rename(target)


_TEXTS: dict[str, Callable[[str, str], str]] = {
    "append": lambda text, mine: text + mine,
    "prepend": lambda text, mine: mine + text,
    "replace": lambda text, mine: "".join([*text.splitlines(keepends=True)[:-1], mine]),
    "save": lambda text, mine: text,
}
_FILES: dict[str, Callable[[Path], object]] = {
    "delete": Path.unlink,
    "move": lambda place: place.rename(place.with_name(f"{place.name}.mine")),
    "rename": lambda place: _rename(place.parent, f"mine-{len(place.parent.name)}"),
    "misname": lambda place: _rename(place.parent, f"{place.parent.name} of mine"),
    "chmod": _chmod,
    "link": _link,
    "folder": _folder,
}
EDITS = (*_TEXTS, *_FILES)

_STAGING = {
    "add": "add -- PATH",
    "all": "add -A",
    "intend": "add -N -- PATH",
    "part": "",
    "remove": "rm -q -f -- PATH",
    "forget": "rm -q --cached -- PATH",
    "move": "mv -- PATH moved-by-me",
    "chmod": "update-index --chmod=+x -- PATH",
    "unstage": "reset -q -- PATH",
}
STAGES = tuple(_STAGING)

_COMMITS = {
    "everything": ("add -A", "commit -qm everything"),
    "tracked": ("commit -qam tracked",),
    "index": ("commit -qm index",),
    "amend": ("commit -q --amend --no-edit",),
    "reword": ("commit -qa --amend -m reworded",),
}
COMMITS = tuple(_COMMITS)

_UNDOING = {
    "mixed": ("reset -q",),
    "mixed-back": ("reset -q HEAD^",),
    "soft-back": ("reset -q --soft HEAD^",),
    "hard": ("reset -q --hard",),
    "hard-back": ("reset -q --hard HEAD^",),
    "far-back": ("reset -q --hard HEAD~3",),
    "stash": ("stash push -q",),
    "stash-all": ("stash push -q -u",),
    "stash-work": ("stash push -q --keep-index",),
    "pop": ("stash pop -q",),
    "pop-index": ("stash pop -q --index",),
    "restore": ("checkout -q -- .",),
    "clean": ("clean -qfd",),
}
UNDOS = tuple(_UNDOING)

_BRANCHES = {
    "merge": (
        "switch -qc SIDE", "add -A", "commit -qm there --allow-empty", "switch -q main",
        "merge -q --no-ff --no-edit SIDE",
    ),
    "fork": (
        "switch -qc SIDE HEAD~2", "add -A", "commit -qm there --allow-empty", "switch -q main",
        "merge -q --no-edit SIDE",
    ),
    "rebase": (
        "switch -qc SIDE HEAD~1", "add -A", "commit -qm there --allow-empty", "rebase -q main",
        "switch -q main", "merge -q --ff-only SIDE",
    ),
    "rebase-main": (
        "branch -f SIDE HEAD~2", "switch -q SIDE", "commit -qm there --allow-empty",
        "switch -q main", "rebase -q SIDE",
    ),
    "pick": ("switch -qc SIDE HEAD~3", "cherry-pick main", "switch -q main"),
    "elsewhere": ("switch -qc SIDE",),
    "detach": ("switch -q --detach",),
    "back-in-time": ("checkout -q HEAD~2",),
    "orphan": ("switch -q --orphan SIDE",),
    "bisect": ("bisect start HEAD HEAD~3",),
    "tag": ("tag -f SIDE",),
}  # fmt: skip
BRANCHES = ("conflict", *_BRANCHES)
_SIGNS = {
    "merge": "MERGE_HEAD",
    "rebase": "rebase-merge",
    "cherry-pick": "CHERRY_PICK_HEAD",
    "revert": "REVERT_HEAD",
}
