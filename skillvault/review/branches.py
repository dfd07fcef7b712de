"""Make a branch for each proposal, with one commit that approves the skill, for a pull request.

The branch and the work tree of the vault do not change here.
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from skillvault.model.change import Change
from skillvault.model.errors import UsageError
from skillvault.model.text.hidden_characters import escape_hidden
from skillvault.model.text.html_table import markdown_table
from skillvault.review.proposal import WaitingSkill
from skillvault.team import proposal_refs
from skillvault.team.proposal_refs import BranchCleanup
from skillvault.vault.commit.store import Store
from skillvault.vault.git.committer import CommitDraft
from skillvault.vault.git.objects import Entry, mode_of
from skillvault.vault.git.remote import PROPOSAL, Upstream, upstream_of

_MAX_ROWS = 20  # outcomes that a commit's message lists
_FENCE = re.compile(r"^`{3,}", re.MULTILINE)


class ProposalBranch(Struct, frozen=True):
    """A branch that approves a proposal.

    `made` is False if the branch existed before. `url` is the page of the forge that opens a pull
    request, None if the branch was not pushed or the forge is unknown.
    """

    name: str
    branch: str
    commit: str
    made: bool
    url: str | None = None


class BranchReport(Struct, frozen=True):
    """The branches of the waiting proposals, and the results of other branches."""

    branches: list[ProposalBranch]
    merged: BranchCleanup


def make_branches(
    store: Store,
    proposals: Sequence[WaitingSkill],
    approve: Callable[[str], Change],
    now: datetime,
    *,
    push: bool,
) -> BranchReport:
    """Make a branch for each proposal, adopt the commits of reviewers, and remove merged branches.

    With `push` the branches are pushed, and merged branches are removed in the remote too.
    UsageError without a remote.
    """
    git, main = store.git, store.snapshot().policy.branch
    upstream = upstream_of(git, main)
    if push:
        if upstream is None:
            raise UsageError("the vault has no remote; run `git remote add origin URL`")
        upstream.fetch()
    merged = proposal_refs.remove_merged_branches(
        git, main, [skill.name for skill in proposals], upstream if push else None
    )
    merged.left |= proposal_refs.update_branches(
        git, proposal_refs.read_tips(git, upstream.remote if upstream else None)
    )
    branches: list[ProposalBranch] = []
    for skill in proposals:
        try:
            branches.append(_make_branch(store, skill, approve(skill.name), now))
        except UsageError as error:  # as for a version of a skill that a person renamed
            merged.left[f"{PROPOSAL}{skill.name}"] = str(error)
    if push and upstream:
        branches = [_push(upstream, branch, merged) for branch in branches]
    return BranchReport(branches, merged)


def _push(upstream: Upstream, branch: ProposalBranch, cleanup: BranchCleanup) -> ProposalBranch:
    if branch.branch in cleanup.left:
        return branch
    if upstream.push_proposal(branch.branch) == "outrun":
        cleanup.left[branch.branch] = "somebody pushed to it a moment ago; run the command again"
    return replace(
        branch, url=proposal_refs.request_url(upstream.address, branch.branch, upstream.branch)
    )


def _make_branch(
    store: Store, proposal: WaitingSkill, approval: Change, now: datetime
) -> ProposalBranch:
    name, git = proposal.name, store.git
    branch = f"{PROPOSAL}{name}"
    if (tip := git.tip(branch)) is not None:
        return ProposalBranch(name, branch, tip, made=False)
    store.follow()
    try:
        staged_change, parent = store.stage(approval), store.staging.commit
    finally:
        store.roll_back()
    root = git.objects.root(parent) if parent else None
    old_entries = git.entries(parent, list(staged_change.files))
    entries: dict[str, Entry | None] = dict.fromkeys(staged_change.files)
    for path, content in staged_change.files.items():
        if content is not None:
            mode = mode_of(content, old_entries.get(path))
            entries[path] = Entry(mode, git.objects.write_blob(content))
    tree = git.objects.write_tree(root, entries)
    message = request_text(proposal, staged_change.change.message)
    (commit,) = git.committer.make_commits([CommitDraft(tree, message)], parent, now)
    git.run("update-ref", f"refs/heads/{branch}", commit, "0" * len(commit))
    return ProposalBranch(name, branch, commit, made=True)


def request_text(proposal: WaitingSkill, message: str) -> str:
    """Return the message of an approval with the proposal, as the text of a pull request.

    It has the skill's text, the table of its evidence, and the diff to the text that it replaces.
    No line starts with `#`, because git's editor removes such lines.
    """
    opening, _, trailers = message.rstrip().rpartition("\n\n")
    quotation = "\n".join(f"> {line}".rstrip() for line in proposal.body.splitlines())
    parts = [opening, proposal.description, f"**The text of {proposal.name}**", quotation]
    if rows := proposal.basis.rows[-_MAX_ROWS:]:
        cells = [(row.outcome, row.status, row.session, row.episode) for row in rows]
        limit = f", the last {_MAX_ROWS}:" if len(proposal.basis.rows) > len(rows) else ""
        parts.append(f"**Rests on {proposal.basis.sentence}**{limit}")
        parts.append(markdown_table(("outcome", "status", "session", "occasion"), cells))
    if proposal.diff:
        fences = _FENCE.findall("\n".join(line[1:] for line in proposal.diff))
        fence = "`" * max([3, *(len(mark) + 1 for mark in fences)])
        parts += [f"**Against {', '.join(proposal.replaces)} as it is served**"]
        parts += ["\n".join([f"{fence}diff", *proposal.diff, fence])]
    text = escape_hidden("\n\n".join(parts))
    return f"{text}\n\n{trailers}\n"
