"""Write commit objects with author, committer and signature. No branch is moved here.

The user is the committer of every commit. The author is the program for its own commits, else the
user. Git makes the first commit; later commits reuse its author and committer lines.
"""

import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from skillvault.model.errors import GitError, PausedError
from skillvault.model.records import stamp
from skillvault.vault.git.config import Settings
from skillvault.vault.git.objects import Objects
from skillvault.vault.git.process import Runner

_NO_IDENTITY = ("tell me who you are", "ident name", " was given and auto-detection")
_IDENTITY_ADVICE = (
    "git does not know who you are; run `git config --global user.name NAME` and "
    "`git config --global user.email ADDRESS`"
)
_SIGNING_WAIT = 10.0  # seconds, in which a person may have to type a passphrase
_IDENTITY_VARIABLES = {"GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"}  # in a person's environment
_COMMITTER_TIME = re.compile(rb"\ncommitter .*> (\d+) ")
_LINE_END_TIME = re.compile(rb"> \d+ \+0000$", re.MULTILINE)
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # git knows it without an object
PROGRAM = ("skillvault", "skillvault@localhost")  # name and address of the program as an author


class CommitDraft(NamedTuple):
    """The parts of a commit: its tree, its message, and a second parent for a merge.

    With `by_program`, the author is the program and not the user.
    """

    tree: str
    message: str
    joins: str | None = None
    by_program: bool = False


class Committer:
    """A maker of commit objects in the name of the user or of the program."""

    def __init__(
        self, runner: Runner, objects: Callable[[], Objects], settings: Callable[[], Settings]
    ) -> None:
        self._git = runner
        self._settings = settings
        self._objects = objects  # loaded for the first commit
        # by_program -> (identity key, git's lines of a commit with author and committer)
        self._identities: dict[bool, tuple[object, bytes]] = {}

    def identity_problem(self) -> str | None:
        """Return the problem and its remedy if git does not know the user's name, else None."""
        settings = self._settings()
        if settings.has_identity and not _IDENTITY_VARIABLES & os.environ.keys():
            return None
        if any(key == settings.identity_key() for key, _ in self._identities.values()):
            return None
        try:
            self._git.run("-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT")
        except GitError:
            return _IDENTITY_ADVICE
        return None

    def identity(self) -> str:
        """Return the committer as `Name <address>`. Raise GitError if git does not know it."""
        identity = self._git.text("var", "GIT_COMMITTER_IDENT")
        return identity.rpartition(">")[0] + ">"

    def make_commits(
        self, drafts: Sequence[CommitDraft], parent: str | None, at: datetime
    ) -> list[str]:
        """Make a chain of commit objects on `parent`, signed if the user's git signs.

        Raises PausedError if git lacks the user's name, or if signing fails or takes too long.
        """
        settings, shas = self._settings(), list[str]()
        for draft in drafts:
            parents = [sha for sha in (parent, draft.joins) if sha]
            key, identity_lines = self._identities.get(draft.by_program, (None, b""))
            if settings.signs or key != settings.identity_key():
                identity_lines = b""  # git must be asked
            if identity_lines:
                dated_lines = _LINE_END_TIME.sub(b"> %d +0000" % at.timestamp(), identity_lines)
                parent = self._objects().write_commit(_encode_commit(draft, parents, dated_lines))
            else:
                parent = self._commit_tree(draft, parents, at)
                if not settings.signs:
                    header, _, _ = self._objects().commit_bytes(parent).partition(b"\n\n")
                    skipped = (b"tree ", b"parent ")
                    lines = [line for line in header.split(b"\n") if not line.startswith(skipped)]
                    identity_lines = b"\n".join(lines)
                    self._identities[draft.by_program] = settings.identity_key(), identity_lines
            shas.append(parent)
        return shas

    def recommit(self, sha: str, tree: str, parent: str) -> str:
        """Copy a commit with another tree and parent."""
        header, _, message = self._objects().commit_bytes(sha).partition(b"\n\n")
        time_match = _COMMITTER_TIME.search(header)
        by_program = b"\nauthor %s <%s>" % tuple(part.encode() for part in PROGRAM) in header
        draft = CommitDraft(tree, message.decode(), by_program=by_program)
        at = datetime.fromtimestamp(int(time_match[1]) if time_match else 0, UTC)
        return self.make_commits([draft], parent, at)[0]

    def try_signing(self, at: datetime) -> None:
        """Sign a test commit that no branch gets. Raise PausedError if signing fails."""
        draft = CommitDraft(EMPTY_TREE, "Try to sign")
        with tempfile.TemporaryDirectory(prefix="skillvault-") as folder:
            env = {"GIT_OBJECT_DIRECTORY": folder}
            self._commit_tree(draft, (), at, extra_env=env)

    def _commit_tree(
        self,
        draft: CommitDraft,
        parents: Sequence[str],
        at: datetime,
        *,
        extra_env: Mapping[str, str] | None = None,
    ) -> str:
        settings = self._settings()
        args = [part for parent in parents for part in ("-p", parent)]
        args += [*(["-S"] if settings.signs else []), "-F", "-"]
        env = {"GIT_AUTHOR_DATE": stamp(at), "GIT_COMMITTER_DATE": stamp(at), **settings.signing}
        env |= extra_env or {}
        if draft.by_program:
            env |= dict(zip(("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"), PROGRAM, strict=True))
        text = _encode_message(draft.message)
        self._objects().gathering.store()  # git needs the tree
        try:
            output = self._git.run(
                "commit-tree", draft.tree, *args, stdin=text, env=env, patience=_SIGNING_WAIT
            )
        except TimeoutError:
            raise PausedError(
                f"paused: signing the commit did not end in {_SIGNING_WAIT:.0f} s; unlock the "
                "key, or set commit.gpgSign to false in this vault"
            ) from None
        except GitError as error:
            if any(word in str(error) for word in _NO_IDENTITY):
                raise PausedError(f"paused: {_IDENTITY_ADVICE}") from None
            if not settings.signs:
                raise
            raise PausedError(
                f"paused: the commit could not be signed ({error}); repair the signing, or set "
                "commit.gpgSign to false in this vault"
            ) from None
        return output.decode().strip()


def _encode_message(text: str) -> bytes:
    return text.replace("\0", " ").encode()


def _encode_commit(draft: CommitDraft, parents: Sequence[str], identity_lines: bytes) -> bytes:
    """Return the bytes of a commit object.

    `identity_lines` are the lines with author and committer.
    """
    lines = [f"tree {draft.tree}", *(f"parent {parent}" for parent in parents)]
    header = "\n".join(lines).encode()
    return b"\n".join([header, identity_lines, b"", _encode_message(draft.message)])
