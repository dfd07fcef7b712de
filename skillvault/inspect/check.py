"""`skillvault check`: the problems that a person has to fix, and notes.

A new check of files belongs here; a check of the installation belongs in `doctor.py`.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from skillvault.inspect import lookup
from skillvault.learning.account.evidence import find_miscounts
from skillvault.learning.account.statements import calls_for_skill, findings_of
from skillvault.loop import learned
from skillvault.loop.quotations import Quotations
from skillvault.loop.registry import AGENDA, STEPS
from skillvault.model.errors import BadInputError
from skillvault.model.records import Commit, Problem
from skillvault.model.skill_evidence import EVIDENCE, from_text
from skillvault.serving import folders
from skillvault.team import roles
from skillvault.vault import check as checks
from skillvault.vault.commit import journal
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layout
from skillvault.vault.index.snapshot import Snapshot

if TYPE_CHECKING:
    from skillvault.serving.shelf import Shelf

# The steps whose commits are always made of other records; an answer may change only a text.
_DERIVING_STEPS = {step.name for step in STEPS.values()} - {"record", "answer", "refresh"}


class CheckReport(Struct, frozen=True):
    """The problems and the notes of a check."""

    problems: list[Problem]
    notes: list[Problem]


def check_vault(
    store: Store,
    shelf: "Shelf",
    index: str | None = None,
    *,
    staged: bool,
    against: str | None = None,
) -> CheckReport:
    """Check the work tree, or with `staged` the index of git; see `Vault.check`."""
    if not staged:
        store.follow()
        store.index.verify()
    snapshot = store.snapshot()
    store_to_check = Store(store.root, AGENDA, index)
    if index:
        journal.Journal(store.root, store_to_check.git).undo_before_commit()
    view = store_to_check.git_index() if staged else store.work_tree()
    remover = lookup.remover(store, snapshot, view)
    committed = checks.head_blobs(store.git, snapshot)
    mistakes, hints = learned.find_file_problems(view.read_bytes(layout.LEARNINGS))
    changes = {p for p, key in view.contents.items() if committed.get(p) != key}
    paths = changes if staged else view.contents.keys()
    problems, notes = checks.find_problems(view, remover, paths)
    problems, notes = [*problems, *mistakes], [*notes, *hints]
    if staged:
        # A folder without its file stands at no path of the index.
        staged_problems = [p for p in problems if p.path in changes or p.path not in view.contents]
        return CheckReport(_in_order(staged_problems), _in_order(notes))
    problems += roles.find_forbidden_commits(store.git, against) if against else ()
    notes += map(_note_missing_source, snapshot.history.without_source(_DERIVING_STEPS))
    notes += [
        *checks.find_uncommitted(committed, view),
        *checks.describe_losses(store.git, snapshot),
    ]
    with suppress(BadInputError):  # a policy that cannot be read is a problem already
        problems += _recount(snapshot)
        settings = snapshot.policy.shelf
        if settings.hidden or settings.pinned or settings.seeds:  # else no layer needs to be read
            notes += folders.find_unknown_names(shelf.ready())
    return CheckReport(_in_order(problems), _in_order(notes))


def _note_missing_source(commit: Commit) -> Problem:
    message = f"the commit names no Skillvault-Source; `git show {commit.sha[:10]}` has its reason"
    return Problem(f".git {commit.sha[:10]}", None, "no-source", message)


def _in_order(problems: Iterable[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda problem: problem.order)


def _recount(snapshot: Snapshot) -> Iterator[Problem]:
    """Yield the statements of skills with counts that differ from the recorded outcomes.

    Pinned skills and skills that are kept without evidence are left out.
    """
    quotations = Quotations(snapshot)
    unsupported_names = {entry.name for entry in snapshot.skills.without_outcomes()}
    paths = [path for top in ("skills", "proposed") for path in snapshot.files.below(top)]
    evidence_paths = [path for path in paths if path.endswith(f"/references/{EVIDENCE}")]
    for path, content in sorted(snapshot.files.read(evidence_paths).items()):
        name = path.split("/")[1]
        skill = snapshot.skills.find(name)
        if name not in unsupported_names and not (skill and skill.status == "pinned"):
            yield from _miscounts(snapshot, quotations, path, content)


def _miscounts(
    snapshot: Snapshot, quotations: Quotations, path: str, content: bytes
) -> Iterator[Problem]:
    try:
        evidence = from_text(content.decode(errors="replace"))
    except BadInputError as error:
        yield Problem(path, error.key, error.code, error.message)
        return
    records = snapshot.outcomes.get_many(evidence.read)
    outcomes = tuple(records[name] for name in evidence.read if name in records)
    evaluations = snapshot.evaluations.get_many(evidence.read)
    account = quotations.build_account(outcomes, evaluations)
    if missing_count := len(evidence.read) - len(outcomes):
        if not outcomes or calls_for_skill(findings_of(account, evidence.kind, snapshot.policy)):
            message = f"{missing_count} of its outcomes are gone; run skillvault"
            yield Problem(path, "read", "gone", message)
        return
    for statement in find_miscounts(evidence, account, snapshot.policy):
        message = f"the records do not give the counts of {statement!r}; run `skillvault run`"
        yield Problem(path, "statements", "miscounted", message)
