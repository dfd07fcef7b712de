"""Where the index says otherwise than git: the files of the commit shown, and its history."""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from skillvault.model.change import Part
from skillvault.model.records import LEARNED
from skillvault.vault.git.repository import Git
from skillvault.vault.index.connection import Pin
from skillvault.vault.index.rows import (
    TYPED,
    DamagedRowError,
    decoded,
    document,
    is_found,
    is_trusted,
)
from skillvault.vault.search import ranking

_TRAILERS = """
select c.sha, c.part, c.step, t.role, t.ref_kind || ':' || t.ref_id from commits c
left join trailer t on t.c = c.c order by c.sha, c.part, t.role, t.place
"""

_TEXTS = """
select path, type, value from file
where type in ('Skill', 'Fact', 'Evaluation') and value is not null
"""


# The skill that holds the patterns stands in no table: nobody asks for it.
_LISTED = f"not (ref_kind = 'skill' and ref_id = '{LEARNED}')"


def first_contradiction(pin: Pin, git: Git) -> str | None:
    """The first thing that cannot be, in words; None if this state is what git says of it."""
    try:
        return next(_contradictions(pin, git), None)
    except DamagedRowError as error:
        return str(error)


def _contradictions(pin: Pin, git: Git) -> Iterator[str]:
    (verdict,) = pin.rows("pragma integrity_check(1)")[0]
    if verdict != "ok":
        yield str(verdict)
    commit = pin.commit
    tree = git.history.tree(commit) if commit else {}
    files: dict[str, str] = dict(pin.rows("select path, blob from file"))
    for path in sorted(tree.keys() | files.keys()):
        if path not in tree:
            yield f"{path} is not in git"
        elif files.get(path) != tree[path].id:
            yield f"{path} stands otherwise in git"
    yield from _columns(pin)
    yield from _documents(pin)
    if commit:
        yield from _history(pin, git, commit)


def _columns(pin: Pin) -> Iterator[str]:
    """Tables named after kinds that lack a record, or hold one that is not there."""
    for table, kind in TYPED.items():
        there = f"select n from file where type = ? and ref_id is not null and {_LISTED}"
        missing = f"{there} except select n from {table}"
        extra = f"select n from {table} where n > 0 except {there}"  # else of another layer
        if pin.rows(missing, [kind]) or pin.rows(extra, [kind]):
            yield f"the table {table} does not hold what the files do"


def _documents(pin: Pin) -> Iterator[str]:
    """Texts that are not found as they are; of two of one name none is compared."""
    documents: dict[str, ranking.Document | None] = {}
    trusted = {name for (name,) in pin.rows("select id from outcome where trust = 'local'")}
    for path, kind, value in pin.rows(_TEXTS):
        record = decoded(kind, value)
        if not is_found(path) or not is_trusted(path, record, trusted):
            continue
        if text := document(path, record):
            documents[text.id] = None if text.id in documents else text
    kept = {row[0]: row for row in pin.rows(ranking.STORED)}
    tasks: dict[str, str] = dict(pin.rows(ranking.TASKS))
    for name, text in documents.items():
        if text and kept.get(name) != ranking.stored(text, tasks.get(name, "")):
            yield f"{name} is not found by its text"


def _history(pin: Pin, git: Git, commit: str) -> Iterator[str]:
    kept: dict[str, list[Part]] = {}
    for (sha, _, step), rows in groupby(pin.rows(_TRAILERS), key=itemgetter(0, 1, 2)):
        refs: dict[str, list[str]] = {}
        for *_, role, ref in rows:
            refs.setdefault(role, []).append(ref)
        part = Part(step, tuple(refs.get("source", ())), tuple(refs.get("target", ())))
        kept.setdefault(sha, []).append(part)
    for commits, _ in git.history.commits(commit):
        parts = [Part(part.step, part.sources, part.targets) for part in commits]
        if kept.pop(commits[0].sha, None) != parts:
            yield f"commit {commits[0].sha} is not in it as it is in git"
    if kept:
        yield f"commit {min(kept)} is not in the history"
