"""check: the problems of a vault that a person is to mend, and the notes."""

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from skillvault.inspect import lookup
from skillvault.inspect.recount import recount
from skillvault.loop import learned
from skillvault.loop.registry import AGENDA
from skillvault.model.errors import BadInputError
from skillvault.model.records import Problem
from skillvault.serving import folders
from skillvault.vault import check as checks
from skillvault.vault.commit import journal
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layout

if TYPE_CHECKING:
    from skillvault.serving.shelf import Shelf


class Checked(Struct, frozen=True):
    """The findings of `check`: problems to mend, and notes."""

    problems: list[Problem]
    notes: list[Problem]


def check_vault(store: Store, shelf: "Shelf", index: str | None = None, *, staged: bool) -> Checked:
    """Everything that must hold, in the work tree or (`staged`) in the index; see `Vault.check`."""
    if not staged:
        store.follow()
        store.index.verify()
    head = store.head()
    handed = Store(store.root, AGENDA, index)
    if index:
        journal.Journal(store.root, handed.git).undo_before_commit()
    view = handed.git_index() if staged else store.work_tree()
    remover = lookup.remover(store, head, view)
    committed = checks.checked_out(store.git, head)
    mistakes, hints = learned.mistakes(view.bytes_at(layout.LEARNINGS))
    changed = {p for p, key in view.contents.items() if committed.get(p) != key}
    problems, notes = checks.findings(view, remover, changed if staged else view.contents.keys())
    problems, notes = [*problems, *mistakes], [*notes, *hints]
    if staged:
        # A folder without its file stands at no path of the index.
        ours = [p for p in problems if p.path in changed or p.path not in view.contents]
        return Checked(_in_order(ours), _in_order(notes))
    problems += recount(head)
    notes += [*checks.uncommitted(committed, view), *checks.lost_notes(store.git, head)]
    with suppress(BadInputError):  # a policy that cannot be read is a problem already
        named = head.policy.shelf
        if named.hidden or named.pinned or named.seeds:  # else no layer needs to be read
            notes += folders.names_of_nothing(shelf.ready())
    return Checked(_in_order(problems), _in_order(notes))


def _in_order(problems: Iterable[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda problem: problem.order)
