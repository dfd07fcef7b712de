"""What `check` finds in a view of a vault: what cannot be read, and what does not hold.

And commits of skillvault that a person's git left in no branch, with the command that returns them.
"""

import os
from collections.abc import Callable, Collection, Iterator, Mapping

from skillvault.model import integrity
from skillvault.model.errors import BadInputError
from skillvault.model.link_lists import LinkList
from skillvault.model.records import Problem, Ref
from skillvault.model.skill_evidence import TriedLines
from skillvault.model.text.hidden_characters import HiddenCharacter, escaped, hidden_characters
from skillvault.vault.files import layout, learnings
from skillvault.vault.files.work_tree import WorkTreeView
from skillvault.vault.git.history import PastCommit
from skillvault.vault.git.repository import Git
from skillvault.vault.git.trees import Entry
from skillvault.vault.index.snapshot import Snapshot


def findings(
    view: WorkTreeView, removed: Callable[[Ref], str | None], paths: Collection[str]
) -> tuple[list[Problem], list[Problem]]:
    """(problems, notes) of these paths of a view.

    `removed` says in words who took a record away that is not there.
    """
    parsed = view.read_records(paths)
    seen = integrity.VaultRecords(
        records={p: r for p, r in parsed.items() if not isinstance(r, Problem | TriedLines)},
        existing=frozenset(view.paths),
        strays=tuple(_strays(view)),
        removed=removed,
    )
    broken = [r for r in parsed.values() if isinstance(r, Problem)]
    for record in parsed.values():
        broken += record.problems if isinstance(record, LinkList) else ()
    broken += _problems_of(layout.MARK, lambda: view.policy)
    content = view.read_bytes(layout.EXPERTISE)
    broken += _problems_of(layout.EXPERTISE, lambda: learnings.decode_expertise(content or b""))
    broken += _hidden(view.read_texts(paths))
    notes = [*integrity.notes(seen), *_missing_lists(view, paths)]
    return [*broken, *integrity.problems(seen)], notes


def _missing_lists(view: WorkTreeView, paths: Collection[str]) -> Iterator[Problem]:
    """A note for each evaluation without its list of links, which it has from the start."""
    for path in paths:
        if layout.kind_of(path) != "evaluation":
            continue
        if (links := layout.links_path(path)) not in view.contents:
            message = f"an evaluation without its list of links; restore {links} with git"
            yield Problem(path, None, "no-list", message)


def checked_out(git: Git, shown: Snapshot) -> dict[str, str]:
    """path -> blob id of what HEAD has: the vault shown, or what a person looks at elsewhere."""
    head = git.head()
    if head == shown.commit:
        return dict(shown.files.items())
    entries = git.objects.files(head) if head else {}
    return {path: entry.id for path, entry in entries.items()}


def edited(git: Git) -> list[str]:
    """The vault's files that are edited locally, new ones included, by path."""
    form = ("--porcelain", "-z", "--no-renames", "--untracked-files=all")
    env = git.settings().staging  # else it runs the filters that the config names
    out = os.fsdecode(git.run("status", *form, "--", *layout.FOLDERS, env=env))
    return sorted(line[3:] for line in out.split("\0") if line)


def uncommitted(committed: Mapping[str, str], view: WorkTreeView) -> Iterator[Problem]:
    """What a person edited locally, beside these blobs by path: it counts once committed."""
    for path in sorted({*committed, *view.contents}):
        if path != layout.MARK and not layout.holds_records(path):
            continue
        before, after = committed.get(path), view.contents.get(path)
        if before != after:
            how = "edited" if before and after else "new" if after else "deleted"
            message = f"{how} and not committed; it counts when it is"
            yield Problem(path, None, "uncommitted", message)


def _problems_of(path: str, read: Callable[[], object]) -> list[Problem]:
    """Why one of the vault's own files cannot be read."""
    try:
        read()
    except BadInputError as error:
        message = error.message.removeprefix(f"{path}: ")
        return [Problem(path, error.key, error.code, message)]
    return []


def _hidden(texts: Mapping[str, str]) -> Iterator[Problem]:
    """The characters in files that a reader does not see: of each file the first of each name."""
    for path, text in sorted(texts.items()):
        names: dict[str, HiddenCharacter] = {}
        for character in hidden_characters(text):
            names.setdefault(character.name, character)
        for first in names.values():
            message = (
                f"line {first.line}, column {first.column}: {first.name}, which no reader sees; "
                f"remove it, or write it as {escaped(first.character)}"
            )
            yield Problem(path, None, "hidden-character", message)


def _strays(view: WorkTreeView) -> Iterator[str]:
    """Files in record folders that are no record's, and skill folders without a SKILL.md."""
    homes: set[str] = set()
    for path in view.contents:
        top, *rest = path.split("/")
        if top not in layout.FOLDERS or layout.holds_records(path) or rest[-1].startswith("."):
            continue
        if top not in layout.SHELVES or len(rest) == 1:
            yield path
        else:
            homes.add(f"{top}/{rest[0]}")
    yield from sorted(home for home in homes if f"{home}/SKILL.md" not in view.contents)


def find_losses(git: Git, head: Snapshot) -> list[PastCommit]:
    """The lost commits that can be picked one after the other, oldest first.

    Each does something that the vault lacks, and each of its paths stands either as it found it or
    as it left it, so that a cherry-pick needs no decision. A path that a later commit removed
    stays away.
    """
    commits = [commit for commit in git.history.lost() if all(map(_is_vaults, commit.files))]
    paths = sorted({path for commit in commits for path in commit.files})
    if not paths or head.commit is None:
        return []
    entries: dict[str, Entry | None] = dict(git.entries(head.commit, paths))
    removed = git.history.deletions(head.commit).keys()
    losses: list[PastCommit] = []
    for commit in commits:
        if _is_lost(commit, entries, removed):
            entries |= {path: diff.after for path, diff in commit.files.items()}
            losses.append(commit)
    return losses


def _is_vaults(path: str) -> bool:
    return path.partition("/")[0] in layout.FOLDERS


def _is_lost(
    commit: PastCommit, entries: Mapping[str, Entry | None], removed: Collection[str]
) -> bool:
    """Return True if something of a commit is missing and all of that fits what stands there."""
    missing = {path: diff for path, diff in commit.files.items() if entries.get(path) != diff.after}
    return bool(missing) and all(
        entries.get(path) == diff.before and (diff.before or path not in removed)
        for path, diff in missing.items()
    )


def lost_notes(git: Git, head: Snapshot) -> list[Problem]:
    """A note for `check` on the lost commits."""
    commits = find_losses(git, head)
    message = f"{name_commits(commits)}; bring them back with `{cherry_pick(commits)}`"
    return [Problem(".git", None, "lost", message)] if commits else []


def name_commits(commits: list[PastCommit]) -> str:
    """A sentence that names lost commits."""
    subjects = [f"{_short(commit)} ({commit.parts[0].subject})" for commit in commits]
    return f"commits of skillvault that the reflog has and no branch: {', '.join(subjects)}"


def cherry_pick(commits: list[PastCommit]) -> str:
    """The command that makes lost commits again on the branch that is checked out."""
    return " ".join(["git cherry-pick", *map(_short, commits)])


def _short(commit: PastCommit) -> str:
    return commit.sha[:12]
