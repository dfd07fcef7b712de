"""Commit objects: who commits, who is their author, and their signature.

The person's name is git's to find: it is asked once, and its own lines of a commit are taken
over. They are the committer always, and the author of what the program did not learn itself.
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
_NOBODY = (
    "git does not know who you are; run `git config --global user.name NAME` and "
    "`git config --global user.email ADDRESS`"
)
_SIGNING_WAIT = 10.0  # seconds that a signature may take, an agent asking for a key included
_NAMED_OTHERWISE = {"GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"}  # in a person's environment
_TIME = re.compile(rb"\ncommitter .*> (\d+) ")
_WHEN = re.compile(rb"> \d+ \+0000$", re.MULTILINE)
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # git knows it without an object
PROGRAM = ("skillvault", "skillvault@localhost")  # its name and its address as an author


class CommitDraft(NamedTuple):
    """A commit to be made: its tree, its message, and what it takes in beside its parent.

    `by_program`: its author is the program, and not who commits it.
    """

    tree: str
    message: str
    joins: str | None = None
    by_program: bool = False


class Committer:
    """Makes commit objects; nothing of them is published here."""

    def __init__(self, runner: Runner, objects: Callable[[], Objects]) -> None:
        self._git = runner
        self._objects = objects  # loaded by the first commit
        # By whether the program is the author: who commits, in git's lines of a commit.
        self._named: dict[bool, tuple[object, bytes]] = {}

    def identity_problem(self, settings: Settings) -> str | None:
        """That git does not know who commits, and what to do; None if it does."""
        named = settings.named and not _NAMED_OTHERWISE & os.environ.keys()
        if named or any(who == settings.who() for who, _ in self._named.values()):
            return None
        try:
            self._git.run("-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT")
        except GitError:
            return _NOBODY
        return None

    def identity(self) -> str:
        """Who commits, as `Name <address>`; GitError if git does not know."""
        ident = self._git.text("var", "GIT_COMMITTER_IDENT")
        return ident.rpartition(">")[0] + ">"

    def make_commits(
        self,
        drafts: Sequence[CommitDraft],
        parent: str | None,
        at: datetime,
        settings: Settings,
    ) -> list[str]:
        """The commit objects of drafts one after the other, on `parent`.

        The person commits, and signs where their git signs. PausedError if git does not know
        their name, or the signing fails or does not end.
        """
        shas: list[str] = []
        for draft in drafts:
            parents = [sha for sha in (parent, draft.joins) if sha]
            who, lines = self._named.get(draft.by_program, (None, b""))
            if settings.signs or who != settings.who():
                lines = b""  # git must be asked
            if lines:
                dated = _WHEN.sub(b"> %d +0000" % at.timestamp(), lines)
                parent = self._objects().write_commit(_commit(draft, parents, dated))
            else:
                parent = self._commit_tree(draft, parents, at, settings)
                if not settings.signs:
                    lines = _author_lines(self._objects().commit(parent))
                    self._named[draft.by_program] = settings.who(), lines
            shas.append(parent)
        return shas

    def recommit(self, sha: str, tree: str, parent: str, settings: Settings) -> str:
        """Make a commit like another one, with this tree and parent; signed where git signs."""
        head, _, message = self._objects().commit(sha).partition(b"\n\n")
        when = _TIME.search(head)
        by_program = b"\nauthor %s <%s>" % tuple(part.encode() for part in PROGRAM) in head
        draft = CommitDraft(tree, message.decode(), by_program=by_program)
        at = datetime.fromtimestamp(int(when[1]) if when else 0, UTC)
        return self.make_commits([draft], parent, at, settings)[0]

    def try_signing(self, at: datetime, settings: Settings) -> None:
        """Sign a commit that is kept nowhere; PausedError as of one that is."""
        draft = CommitDraft(EMPTY_TREE, "Try to sign")
        with tempfile.TemporaryDirectory(prefix="skillvault-") as place:
            self._commit_tree(draft, (), at, settings, where={"GIT_OBJECT_DIRECTORY": place})

    def _commit_tree(
        self,
        draft: CommitDraft,
        parents: Sequence[str],
        at: datetime,
        settings: Settings,
        *,
        where: Mapping[str, str] | None = None,
    ) -> str:
        args = [part for parent in parents for part in ("-p", parent)]
        args += [*(["-S"] if settings.signs else []), "-F", "-"]
        env = {"GIT_AUTHOR_DATE": stamp(at), "GIT_COMMITTER_DATE": stamp(at), **settings.signing}
        env |= where or {}
        if draft.by_program:
            env |= dict(zip(("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"), PROGRAM, strict=True))
        text = _message(draft.message)
        try:
            out = self._git.run(
                "commit-tree", draft.tree, *args, stdin=text, env=env, patience=_SIGNING_WAIT
            )
        except TimeoutError:
            raise PausedError(
                f"paused: signing the commit did not end in {_SIGNING_WAIT:.0f} s; unlock the "
                "key, or set commit.gpgSign to false in this vault"
            ) from None
        except GitError as error:
            if any(word in str(error) for word in _NO_IDENTITY):
                raise PausedError(f"paused: {_NOBODY}") from None
            if not settings.signs:
                raise
            raise PausedError(
                f"paused: the commit could not be signed ({error}); repair the signing, or set "
                "commit.gpgSign to false in this vault"
            ) from None
        return out.decode().strip()


def _message(text: str) -> bytes:
    return text.replace("\0", " ").encode()


def _author_lines(commit: bytes) -> bytes:
    """The lines of a commit object that say who made it, when and in which encoding."""
    head, _, _ = commit.partition(b"\n\n")
    lines = [line for line in head.split(b"\n") if not line.startswith((b"tree ", b"parent "))]
    return b"\n".join(lines)


def _commit(draft: CommitDraft, parents: Sequence[str], names: bytes) -> bytes:
    """A commit object with these names."""
    lines = [f"tree {draft.tree}", *(f"parent {parent}" for parent in parents)]
    return b"\n".join([*(line.encode() for line in lines), names, b"", _message(draft.message)])
