"""Update the index to the tip of the vault's branch, and compare the index with git.

If the index has a commit of the branch, an update reads only the differences between two commits.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import groupby, islice
from operator import itemgetter

from skillvault.model.change import Part
from skillvault.model.errors import BadInputError
from skillvault.model.link_lists import diff_links
from skillvault.model.policy import Policy
from skillvault.model.records import LEARNED, Link, Ref, ref_of
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import policy_of
from skillvault.vault.git.history import Diff
from skillvault.vault.git.objects import Entry
from skillvault.vault.git.repository import Git
from skillvault.vault.index.connection import IndexDatabase, Pin, ReplacedError
from skillvault.vault.index.rows import (
    TABLE_TYPES,
    DamagedRowError,
    File,
    decode,
    is_indexed,
    is_searchable,
    is_trusted,
    make_document,
    parse_file,
)
from skillvault.vault.index.schema import IndexedCommit, index_parts
from skillvault.vault.search import ranking

_BATCH = 500  # files read at once
_TRAILERS = """
select c.sha, c.part, c.step, t.role, t.ref_kind || ':' || t.ref_id from commits c
left join trailer t on t.c = c.c order by c.sha, c.part, t.role, t.position
"""
_TEXTS = """
select path, type, value from file
where type in ('Skill', 'Fact', 'Evaluation') and value is not null
"""
# The skill with the patterns is in no table, because no query needs it.
_HAS_TABLE = f"not (ref_kind = 'skill' and ref_id = '{LEARNED}')"


def find_tip(database: IndexDatabase, git: Git) -> str | None:
    """Return the tip of the vault's branch, or None without commits.

    The branch is HEAD's branch if vault.yaml there names it. Otherwise a person has checked out
    another branch, and the index knows the vault's branch. At first, vault.yaml on main names it.
    """
    for branch in _candidate_branches(git, database.branch):
        if commit := git.tip(branch):
            return commit
    return git.head()  # no vault yet, or the branch was renamed


def _candidate_branches(git: Git, last_branch: str | None) -> Iterator[str]:
    """Yield the branches that may be the vault's, the likeliest first."""
    current = git.branch()
    if current and current == last_branch:
        yield current  # the usual case, which reads nothing
    head_branch = _branch_of(git, git.head())
    if head_branch and head_branch == current:
        yield head_branch
    yield from filter(None, [last_branch, head_branch, _branch_of(git, git.tip(Policy().branch))])


def _branch_of(git: Git, commit: str | None) -> str | None:
    """Return the branch that vault.yaml names at a commit, or None."""
    name = f"{commit}:{layout.VAULT_FILE}"
    content = git.objects.read_files([name]).get(name) if commit else None
    with suppress(BadInputError):  # reported when the policy is needed
        return policy_of(content).branch if content else None
    return None


def follow_tip(database: IndexDatabase, git: Git, tip: Callable[[], str | None]) -> None:
    """Update the index to the tip of the branch."""
    database.return_to_file()
    if database.commit != tip() or database.boundary != git.boundary():
        database.run_whole(lambda: _follow(database, git, tip))


def _follow(database: IndexDatabase, git: Git, tip: Callable[[], str | None]) -> None:
    database.begin()
    # Read again, because another process may have updated the index while this one waited. A step
    # back would remove keys from the queues.
    commit, old_commit = tip(), database.commit
    boundary = git.boundary()
    is_same_history = database.boundary == boundary
    if old_commit == commit and is_same_history:
        database.rollback()
        return
    if old_commit is None:
        _read_everything(database, git, commit)
    elif commit and is_same_history and git.objects.has_commit(old_commit):
        _apply_differences(database, git, old_commit, commit)
    else:
        raise ReplacedError("of another history")
    keep_policy(database, git)
    database.keep_boundary(boundary)
    database.keep_commit(commit)
    database.save()


def keep_policy(database: IndexDatabase, git: Git) -> None:
    """Store the policy in the index. A broken policy is reported when it is needed."""
    blob = database.value("select blob from file where path = ?", [layout.VAULT_FILE])
    if blob is None or database.policy(blob):
        return
    with suppress(BadInputError):
        database.keep_policy(blob, policy_of(git.blobs([blob])[blob]))


def _apply_differences(database: IndexDatabase, git: Git, old_commit: str, new_commit: str) -> None:
    git.promisor.fetch_history(f"{old_commit}..{new_commit}")
    for batch in _batches(git.history.diff_trees(old_commit, new_commit).items()):
        database.put_files(_files(git, batch))
    removed_commits = git.history.commits_between(new_commit, old_commit)
    database.remove_commits(removed_commits)
    database.add_commits(_history(database, git, f"{old_commit}..{new_commit}"))
    if removed_commits:  # the removed commits may have removed records
        database.finish()


def _read_everything(database: IndexDatabase, git: Git, commit: str | None) -> None:
    if commit is None:
        return
    git.promisor.fetch_history(commit)
    tree = git.objects.files(commit)
    # Outcomes first, because only evaluations of trusted outcomes are searchable.
    first = {path: entry for path, entry in tree.items() if layout.top_folder(path) == "outcomes"}
    for batch in _batches(database.track(list((first | tree).items()), "Reading the vault")):
        database.fill({path: file for path, file in _files(git, batch).items() if file})
    database.add_commits(_history(database, git, commit))
    database.finish()


def _batches(entries: Iterable[tuple[str, Entry | None]]) -> Iterator[dict[str, Entry | None]]:
    remainder = iter(entries)
    while batch := dict(islice(remainder, _BATCH)):
        yield batch


def _files(git: Git, entries: Mapping[str, Entry | None]) -> dict[str, File | None]:
    blobs = [entry.id for path, entry in entries.items() if entry and is_indexed(path)]
    data = git.blobs(blobs)
    return {
        path: (entry.id, parse_file(path, data.get(entry.id, b""))) if entry else None
        for path, entry in entries.items()
    }


def _history(database: IndexDatabase, git: Git, span: str) -> Iterator[IndexedCommit]:
    depths: dict[str, int] = {}

    def depth(sha: str) -> int:
        if sha not in depths:
            depths[sha] = database.value("select depth from commits where sha = ?", [sha]) or 0
        return depths[sha]

    for commit in git.history.commits(span):
        depths[commit.sha] = 1 + max(map(depth, commit.parents), default=0)
        refs = refs_of(commit.files, _changed_links(git, commit.files))
        yield from index_parts(commit.parts, depths[commit.sha], refs)


def _changed_links(git: Git, files: Mapping[str, Diff]) -> Iterator[Link]:
    for path, versions in files.items():
        if owner := layout.links_owner(path):
            data = git.blobs(entry.id for entry in versions if entry)
            yield from diff_links(owner, *(data[entry.id] if entry else b"" for entry in versions))


def refs_of(paths: Iterable[str], links: Iterable[Link]) -> list[Ref]:
    """Return the records at these paths, the links, and the skills that the links lead to."""
    refs = [ref for path in paths if (ref := layout.ref_of(path))]
    for link in links:
        refs += [ref_of(link), *([link.target] if link.target.kind == "skill" else [])]
    return list(dict.fromkeys(refs))


def first_contradiction(pin: Pin, git: Git) -> str | None:
    """Return the first difference between the index and git, or None."""
    try:
        return next(_find_contradictions(pin, git), None)
    except DamagedRowError as error:
        return str(error)


def _find_contradictions(pin: Pin, git: Git) -> Iterator[str]:
    (verdict,) = pin.rows("pragma integrity_check(1)")[0]
    if verdict != "ok":
        yield str(verdict)
    commit = pin.commit
    tree = git.objects.files(commit) if commit else {}
    files: dict[str, str] = dict(pin.rows("select path, blob from file"))
    for path in sorted(tree.keys() | files.keys()):
        if path not in tree:
            yield f"{path} is not in git"
        elif files.get(path) != tree[path].id:
            yield f"{path} stands otherwise in git"
    yield from _compare_tables(pin)
    yield from _compare_documents(pin)
    if commit:
        yield from _find_history_contradictions(pin, git, commit)


def _compare_tables(pin: Pin) -> Iterator[str]:
    """Yield each table of a record kind that differs from the table of files."""
    for table, type_name in TABLE_TYPES.items():
        file_numbers = f"select n from file where type = ? and ref_id is not null and {_HAS_TABLE}"
        missing_query = f"{file_numbers} except select n from {table}"
        extras = f"select n from {table} where n > 0 except {file_numbers}"  # else of another layer
        if pin.rows(missing_query, [type_name]) or pin.rows(extras, [type_name]):
            yield f"the table {table} does not hold what the files do"


def _compare_documents(pin: Pin) -> Iterator[str]:
    """Yield each document in the search index that differs from its record.

    If two records have the same name, neither is compared.
    """
    documents: dict[str, ranking.Document | None] = {}
    trusted_ids = {key for (key,) in pin.rows("select id from outcome where trust = 'local'")}
    for path, kind, value in pin.rows(_TEXTS):
        record = decode(kind, value)
        if not is_searchable(path) or not is_trusted(path, record, trusted_ids):
            continue
        if document := make_document(path, record):
            documents[document.id] = None if document.id in documents else document
    stored_rows = {row[0]: row for row in pin.rows(ranking.STORED)}
    tasks: dict[str, str] = dict(pin.rows(ranking.TASKS))
    for key, document in documents.items():
        if document and stored_rows.get(key) != ranking.table_row(document, tasks.get(key, "")):
            yield f"{key} is not found by its text"


def _find_history_contradictions(pin: Pin, git: Git, commit: str) -> Iterator[str]:
    parts_by_commit: dict[str, list[Part]] = {}
    for (sha, _, step), rows in groupby(pin.rows(_TRAILERS), key=itemgetter(0, 1, 2)):
        refs: dict[str, list[str]] = {}
        for *_, role, ref in rows:
            refs.setdefault(role, []).append(ref)
        part = Part(step, tuple(refs.get("source", ())), tuple(refs.get("target", ())))
        parts_by_commit.setdefault(sha, []).append(part)
    for past_commit in git.history.commits(commit):
        parts = [Part(part.step, part.sources, part.targets) for part in past_commit.parts]
        if parts_by_commit.pop(past_commit.sha, None) != parts:
            yield f"commit {past_commit.sha} is not in it as it is in git"
    if parts_by_commit:
        yield f"commit {min(parts_by_commit)} is not in the history"
