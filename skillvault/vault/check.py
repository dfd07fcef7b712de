"""Find the problems that `skillvault check` reports.

Also find the lost commits of skillvault, which are in the reflog but not in any branch.
"""

import os
from collections.abc import Callable, Collection, Iterator, Mapping

from skillvault.model import integrity
from skillvault.model.errors import BadInputError
from skillvault.model.link_lists import LinkList
from skillvault.model.records import Problem, Ref
from skillvault.model.skill_evidence import TryLines
from skillvault.model.text.hidden_characters import escape_hidden, hidden_characters
from skillvault.vault.files import layout, learnings
from skillvault.vault.files.work_tree import WorkTreeView
from skillvault.vault.git.history import PastCommit
from skillvault.vault.git.objects import Entry
from skillvault.vault.git.repository import Git
from skillvault.vault.index.snapshot import Snapshot


def find_problems(
    view: WorkTreeView, describe_removal: Callable[[Ref], str | None], paths: Collection[str]
) -> tuple[list[Problem], list[Problem]]:
    """Return (problems, notes) about the files at `paths`.

    `describe_removal` returns a sentence about the commit that removed a missing record.
    """
    records = view.read_records(paths)
    vault_records = integrity.VaultRecords(
        records={p: r for p, r in records.items() if not isinstance(r, Problem | TryLines)},
        existing=frozenset(view.paths),
        strays=tuple(_find_strays(view)),
        removed=describe_removal,
    )
    problems = [record for record in records.values() if isinstance(record, Problem)]
    for record in records.values():
        problems += record.problems if isinstance(record, LinkList) else ()
    problems += _try_reading(layout.VAULT_FILE, lambda: view.policy)
    content = view.read_bytes(layout.EXPERTISE)
    problems += _try_reading(layout.EXPERTISE, lambda: learnings.decode_expertise(content or b""))
    problems += _find_hidden(view.read_texts(paths))
    notes = list(integrity.find_notes(vault_records))
    for path in paths:
        links = layout.links_path(path)
        if layout.kind_of(path) == "evaluation" and links not in view.contents:
            message = f"an evaluation without its list of links; restore {links} with git"
            notes.append(Problem(path, None, "no-list", message))
    return [*problems, *integrity.find_problems(vault_records)], notes


def head_blobs(git: Git, snapshot: Snapshot) -> dict[str, str]:
    """Return the blob id of each path in HEAD, which may be on another branch than the vault."""
    head = git.head()
    if head == snapshot.commit:
        return dict(snapshot.files.items())
    entries = git.objects.files(head) if head else {}
    return {path: entry.id for path, entry in entries.items()}


def find_edits(git: Git) -> list[str]:
    """Return the paths of the vault's files that are new or edited, but not committed."""
    options = ("--porcelain", "-z", "--no-renames", "--untracked-files=all")
    env = git.settings().staging  # no filter of the config runs
    output = os.fsdecode(git.run("status", *options, "--", *layout.FOLDERS, env=env))
    return sorted(line[3:] for line in output.split("\0") if line)


def find_uncommitted(committed_blobs: Mapping[str, str], view: WorkTreeView) -> Iterator[Problem]:
    """Yield a problem for each file whose blob differs from the committed one."""
    for path in sorted({*committed_blobs, *view.contents}):
        old_blob, blob = committed_blobs.get(path), view.contents.get(path)
        is_checked = path == layout.VAULT_FILE or layout.holds_records(path)
        if is_checked and old_blob != blob:
            state = "edited" if old_blob and blob else "new" if blob else "deleted"
            message = f"{state} and not committed; it counts when it is"
            yield Problem(path, None, "uncommitted", message)


def _try_reading(path: str, reader: Callable[[], object]) -> list[Problem]:
    try:
        reader()
    except BadInputError as error:
        message = error.message.removeprefix(f"{path}: ")
        return [Problem(path, error.key, error.code, message)]
    return []


def _find_hidden(texts: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a problem for each kind of hidden character in a file, at its first position."""
    for path, text in sorted(texts.items()):
        names: set[str] = set()
        for hidden in hidden_characters(text):
            if hidden.name not in names:
                names.add(hidden.name)
                place = f"line {hidden.line}, column {hidden.column}"
                advice = f"remove it, or write it as {escape_hidden(hidden.character)}"
                message = f"{place}: {hidden.name}, which no reader sees; {advice}"
                yield Problem(path, None, "hidden-character", message)


def _find_strays(view: WorkTreeView) -> Iterator[str]:
    """Yield files that do not belong in their folder, and skill folders without a SKILL.md."""
    skills: set[str] = set()
    for path in view.contents:
        top, *names = path.split("/")
        is_hidden = any(name.startswith(".") for name in names[-1:])
        if top not in layout.FOLDERS or layout.holds_records(path) or is_hidden:
            continue
        if top not in layout.SKILL_FOLDERS or len(names) < 2:
            yield path
        else:
            skills.add(f"{top}/{names[0]}")
    yield from sorted(skill for skill in skills if f"{skill}/SKILL.md" not in view.contents)


def find_losses(git: Git, snapshot: Snapshot) -> list[PastCommit]:
    """Return the lost commits of skillvault that can be cherry-picked, oldest first.

    The vault has each path of such a commit in its state before or after the commit, so a
    cherry-pick has no conflict. A path that a later commit removed is not restored.
    """
    lost_commits = git.history.find_lost_commits()
    commits = [c for c in lost_commits if {*map(layout.top_folder, c.files)} <= {*layout.FOLDERS}]
    paths = sorted({path for commit in commits for path in commit.files})
    if not paths or snapshot.commit is None:
        return []
    entries: dict[str, Entry | None] = dict(git.entries(snapshot.commit, paths))
    removed_paths = git.history.deletions(snapshot.commit).keys()
    losses: list[PastCommit] = []
    for commit in commits:
        missing = {p: diff for p, diff in commit.files.items() if entries.get(p) != diff.after}
        if missing and all(
            entries.get(path) == diff.before and (diff.before or path not in removed_paths)
            for path, diff in missing.items()
        ):
            entries |= {path: diff.after for path, diff in commit.files.items()}
            losses.append(commit)
    return losses


def describe_losses(git: Git, snapshot: Snapshot) -> list[Problem]:
    """Return a note that names the lost commits, for `check`."""
    commits = find_losses(git, snapshot)
    message = f"{name_commits(commits)}; bring them back with `{cherry_pick(commits)}`"
    return [Problem(".git", None, "lost", message)] if commits else []


def name_commits(commits: list[PastCommit]) -> str:
    """Return a sentence that names lost commits."""
    subjects = [f"{commit.sha[:12]} ({commit.parts[0].subject})" for commit in commits]
    return f"commits of skillvault that the reflog has and no branch: {', '.join(subjects)}"


def cherry_pick(commits: list[PastCommit]) -> str:
    """Return the git command that repeats lost commits on the current branch."""
    return " ".join(["git cherry-pick", *(commit.sha[:12] for commit in commits)])
