"""Read, update and remove branches of proposals, `proposal/<name>`, here and in the remote.

Reviewers edit and merge these branches. `sync` updates them, and removes a branch once the vault
has its work. To support another forge, add a line to `_FORGES`.
"""

import re
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import NamedTuple
from urllib.parse import quote

from msgspec import Struct

from skillvault.model.change import STEP_TRAILER, TARGET_TRAILER
from skillvault.model.errors import GitError
from skillvault.vault.git.remote import PROPOSAL, Upstream
from skillvault.vault.git.repository import Git

_ADDRESS = re.compile(
    r"(?:(?P<scheme>[a-z+]+)://)?(?:[^@/]*@)?(?P<host>[^:/@]+\.[^:/@]+)(?P<port>:\d+(?=/))?[:/]+"
    r"(?P<path>.+?)(?:\.git)?/*"
)
_SSH_HOSTS = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
}
_MOVE_COMMAND = ("branch", "--force", "--no-track")
# A word in the name of a host, and the path of the page that opens a pull request.
_COMPARE = "compare/{base}...{branch}"
_FORGES = {
    "github": _COMPARE + "?expand=1",
    "gitlab": "-/merge_requests/new?merge_request%5Bsource_branch%5D={branch}"
    "&merge_request%5Btarget_branch%5D={base}",
    "bitbucket": "pull-requests/new?source={branch}&t=1",
    "codeberg": _COMPARE,
    "gitea": _COMPARE,
    "forgejo": _COMPARE,
}


def request_url(address: str, branch: str, base: str) -> str | None:
    """Return the URL that opens a pull request, or None if the host is no known forge.

    `address` is the address of the remote.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None:
        return None
    host = _SSH_HOSTS.get(match["host"].lower(), match["host"].lower())
    template = next((path for word, path in _FORGES.items() if word in host), None)
    if template is None:
        return None
    page = template.format(branch=quote(branch, safe=""), base=quote(base, safe=""))
    if match["scheme"] in ("http", "https"):
        return f"{match['scheme']}://{host}{match['port'] or ''}/{match['path']}/{page}"
    return f"https://{host}/{match['path']}/{page}"


class BranchTips(NamedTuple):
    """The commits of the branch of a proposal, here and at the last fetch of the remote."""

    local: str | None
    remote: str | None


class BranchCleanup(Struct):
    """The names of removed branches, and the reason for each branch that is left."""

    removed: list[str]
    left: dict[str, str]


def read_tips(git: Git, remote: str | None) -> dict[str, BranchTips]:
    """Map the branch of each proposal to its commits."""
    folders = {"heads": f"refs/heads/{PROPOSAL}"}
    if remote:
        folders["remotes"] = f"refs/remotes/{remote}/{PROPOSAL}"
    out = git.text("for-each-ref", "--format=%(objectname) %(refname)", *folders.values())
    commits = {ref: commit for commit, _, ref in (line.partition(" ") for line in out.split("\n"))}
    names = {
        PROPOSAL + ref.removeprefix(folder)
        for ref in commits
        for folder in folders.values()
        if ref.startswith(folder)
    }
    return {
        name: BranchTips(
            commits.get(f"refs/heads/{name}"), commits.get(f"refs/remotes/{remote}/{name}")
        )
        for name in sorted(names)
    }


def update_branches(git: Git, tips: Mapping[str, BranchTips]) -> dict[str, str]:
    """Move the local branches of proposals to the commits that reviewers pushed.

    Return the reason for each branch that could not be updated.
    """
    reasons: dict[str, str] = {}
    for name, (local_tip, remote_tip) in tips.items():
        if remote_tip is None or (local_tip and git.history.is_ancestor(remote_tip, local_tip)):
            continue
        if local_tip and not git.history.is_ancestor(local_tip, remote_tip):
            reasons[name] = (
                f"has other commits here than there; run `git switch {name} && git pull`"
            )
        elif reason := _try_git(partial(git.run, *_MOVE_COMMAND, name, remote_tip)):
            reasons[name] = reason
    return reasons


def remove_merged_branches(
    git: Git, main: str, waiting_skills: Collection[str], upstream: Upstream | None
) -> BranchCleanup:
    """Remove the branches of proposals whose work is in the branch `main`, here and in the remote.

    `waiting_skills` are the proposals without a decision. A branch may have been merged, squashed,
    or approved in another clone. A branch with edits of reviewers is removed only if `main` has
    its text.
    """
    result, tip = BranchCleanup([], {}), git.tip(main)
    remote = upstream.remote if upstream else None
    for name, tips in read_tips(git, remote).items() if tip else ():
        commits = dict.fromkeys(commit for commit in tips if commit)
        skill = name.removeprefix(PROPOSAL)
        is_open = skill in waiting_skills
        if not all(
            _is_merged(git, commit, tip or "", skill, is_open=is_open) for commit in commits
        ):
            continue
        reason = _try_git(partial(_remove, git, name, tips, upstream))
        if reason:
            result.left[name] = reason
        else:
            result.removed.append(name)
    return result


def _is_merged(git: Git, commit: str, tip: str, skill: str, *, is_open: bool) -> bool:
    history = git.history
    if history.is_ancestor(commit, tip):
        # A branch without an approval of its skill has no work yet.
        trailers = f"--format=%(trailers:key={TARGET_TRAILER},valueonly)"
        targets = git.text("log", trailers, f"--grep=^{STEP_TRAILER}: approve$", commit)
        return f"skill:{skill}" in targets.split()
    bases = history.merge_bases(commit, tip)
    if is_open or not bases:
        return False
    changes = history.diff_trees(bases[0], commit)
    entries = git.entries(tip, list(changes))
    if all(entries.get(path) == entry for path, entry in changes.items()):
        return True
    commits = history.commits_between(tip, commit)
    steps = history.trailer_values(commits, STEP_TRAILER)
    return list(steps.values()) == ["approve"] and len(commits) == 1


def _remove(git: Git, name: str, tips: BranchTips, upstream: Upstream | None) -> None:
    if tips.remote and upstream and upstream.remove_branch(name, tips.remote) == "outrun":
        raise GitError(f"somebody pushed to it in {upstream.remote}, and it stays")
    if tips.local:
        git.run("branch", "--delete", "--force", "--quiet", name)


def _try_git(action: Callable[[], object]) -> str:
    """Run an action with git; return the message of its GitError, or ""."""
    try:
        action()
    except GitError as error:
        return str(error)
    return ""
