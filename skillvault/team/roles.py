"""Check that a person with the right role signed each commit, for `check --against BASE`.

The roles in vault.yaml and the keys in `allowed_signers` are read at BASE, so that nobody becomes
an approver by the checked commits.
"""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from skillvault.model.errors import BadInputError, UsageError
from skillvault.model.policy import Policy, RolesPolicy
from skillvault.model.records import Problem
from skillvault.model.text.text import join_items
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import policy_of
from skillvault.vault.git.history import PastCommit, Signature
from skillvault.vault.git.repository import Git

# The paths that a clone without the right to approve may write.
_RECORDS = ("outcomes/", "recommendations/", "sessions/", "answers/", "skills/learned/")


def find_forbidden_commits(git: Git, base: str) -> list[Problem]:
    """Return a problem for each commit since `base` that its signer may not make.

    Without roles at `base`, every commit is allowed. Raise UsageError if `base` is unknown.
    """
    commit = git.history.commit_named(base)
    if commit is None:
        raise UsageError(f"{base}: no such commit; fetch it, for example with `git fetch origin`")
    roles, keys = _read_roles(git, commit), git.objects.read_files([_keys_of(commit)])
    problems = list(_find_missing_keys(git))
    if not (roles.approve or roles.record):
        return problems
    commits = list(git.history.commits(f"{commit}..HEAD"))
    with tempfile.NamedTemporaryFile(prefix="skillvault-") as file:
        file.write(keys.get(_keys_of(commit), b""))
        file.flush()
        signatures = git.history.signatures([past.sha for past in commits], Path(file.name))
    for new_commit in commits:
        is_merge = len(new_commit.parents) > 1
        paths = _find_decisions(git, new_commit) if is_merge else sorted(new_commit.files)
        if is_merge and not paths:
            continue
        if fault := _find_fault(signatures[new_commit.sha], paths, roles):
            code, sentence = fault
            message = f"the commit {new_commit.parts[0].subject!r} {sentence}"
            problems.append(Problem(f".git {new_commit.sha[:10]}", None, code, message))
    return problems


def _keys_of(commit: str) -> str:
    return f"{commit}:{layout.KEYS}"


def _read_roles(git: Git, commit: str) -> RolesPolicy:
    name = f"{commit}:{layout.VAULT_FILE}"
    content = git.objects.read_files([name]).get(name)
    return policy_of(content).roles if content else Policy().roles


def _find_missing_keys(git: Git) -> Iterator[Problem]:
    head = git.head()
    if head is None:
        return
    try:
        roles = _read_roles(git, head)
    except BadInputError:  # `check` reports this problem of the file
        return
    lines = git.objects.read_files([_keys_of(head)]).get(_keys_of(head), b"").decode().splitlines()
    names = {name for line in lines for name in line.split(" ")[0].split(",")}
    for name in sorted({*roles.approve, *roles.record} - names):
        message = f"{name} has a role in {layout.VAULT_FILE} and no key; add a line with the key"
        yield Problem(layout.KEYS, None, "no-key", message)
    if roles.record and not roles.approve:
        message = "roles.approve names nobody, so nothing could be approved; name somebody"
        yield Problem(layout.VAULT_FILE, "roles", "no-approver", message)


def _find_decisions(git: Git, merge: PastCommit) -> list[str]:
    """Return the paths for which the author of a merge chose or wrote a version.

    Any other path was changed in one parent only, and the merge has that version.
    """
    diffs = [git.history.diff_trees(parent, merge.sha) for parent in merge.parents]
    paths = sorted({path for diff in diffs for path in diff})
    if len(merge.parents) > 2:
        return paths
    sides = [git.entries(parent, paths) for parent in merge.parents]
    bases = [git.entries(base, paths) for base in git.history.merge_bases(*merge.parents)]
    return [
        path
        for path in paths
        if all(path in diff for diff in diffs)
        or not any(
            base.get(path) == side.get(path)
            for base in bases or [{}]
            for side, diff in zip(sides, diffs, strict=True)
            if path in diff
        )
    ]


def _find_fault(
    signature: Signature, paths: Sequence[str], roles: RolesPolicy
) -> tuple[str, str] | None:
    """Return (code, end of the message) if a commit is forbidden, or None."""
    person = signature.signer
    if not signature.is_signed:
        return "unsigned", (
            f"of {signature.author} is not signed, so {signature.author} may do nothing by it; "
            f"sign it with a key of {layout.KEYS}"
        )
    if person not in {*roles.approve, *roles.record}:
        name = person or signature.author
        return "unknown-key", (
            f"of {signature.author} is signed by a key of nobody with a role, so {name} may do "
            f"nothing by it; an approver adds the key to {layout.KEYS} first"
        )
    forbidden_paths = [p for p in paths if p != layout.LEARNINGS and not p.startswith(_RECORDS)]
    if person in roles.approve or not forbidden_paths:
        return None
    remainder = f" and {len(forbidden_paths) - 1} more" if len(forbidden_paths) > 1 else ""
    return "not-approver", (
        f"changes {forbidden_paths[0]}{remainder}, and {person} may only record; "
        f"ask {join_items(sorted(roles.approve), last='or')}"
    )
