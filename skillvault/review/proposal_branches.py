"""A branch for each proposal, with the one commit that lets it in: for a pull request.

Nothing of the vault's own branch or of the work tree changes.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from msgspec import Struct

from skillvault.model.change import Change
from skillvault.review.review import WaitingSkill
from skillvault.vault.commit.store import Store
from skillvault.vault.git.committer import CommitDraft
from skillvault.vault.git.trees import Entry, mode_of

_ROWS = 20  # outcomes that a commit's message lists


class ProposalBranch(Struct, frozen=True):
    """A branch that lets a proposal in; `made`: it was not there before."""

    name: str
    branch: str
    commit: str
    made: bool


def _with_evidence(change: Change, waiting: WaitingSkill) -> Change:
    """What lets a proposal in, with what it rests on, as the reviewer of its branch reads it."""
    rows = [
        f"  {row.outcome}  {row.status:7}  {row.session or '-'}  episode {row.episode}"
        for row in waiting.basis.rows[-_ROWS:]
    ]
    lead = [f"Rests on {waiting.basis.sentence}."] if rows else []
    return change.noting("\n".join([waiting.description, *lead, *rows]))


def proposal_branch(
    store: Store, waiting: WaitingSkill, approval: Change, now: datetime
) -> ProposalBranch:
    """The branch `proposal/<name>`, made if it is not there."""
    name, change = waiting.name, _with_evidence(approval, waiting)
    branch = f"proposal/{name}"
    git = store.git
    if (tip := git.tip(branch)) is not None:
        return ProposalBranch(name, branch, tip, made=False)
    store.follow()
    try:
        files, parent = store.stage(change).files, store.staged.commit
    finally:
        store.roll_back()
    root = git.objects.root(parent) if parent else None
    before = git.entries(parent, list(files))
    entries = dict(_drafted_entries(store, files.items(), before))
    tree = git.objects.write_tree(root, entries)
    (commit,) = git.committer.commits(
        [CommitDraft(tree, change.message)], parent, now, git.settings()
    )
    git.run("update-ref", f"refs/heads/{branch}", commit, "0" * len(commit))
    return ProposalBranch(name, branch, commit, made=True)


def _drafted_entries(
    store: Store, files: Iterable[tuple[str, bytes | None]], before: dict[str, Entry]
) -> Iterator[tuple[str, Entry | None]]:
    for path, content in files:
        if content is None:
            yield path, None
        else:
            mode = mode_of(content, before.get(path))
            yield path, Entry(mode, store.git.objects.write_blob(content))
