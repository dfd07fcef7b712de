"""The errors of skillvault: sentences that end with the next step, each with an exit code.

An error means that a request is impossible. A mistake in a file that a person edits is not an error
but a value, `records.Problem`, and the program continues.
"""

from skillvault.model.text import hidden_characters


class SkillvaultError(Exception):
    """Base class of all errors that an entry point prints as one line."""

    exit_code = 1


class UsageError(SkillvaultError):
    """The request cannot be carried out."""

    exit_code = 2


class NotAVaultError(SkillvaultError):
    """No vault.yaml in this folder or above it."""

    exit_code = 3


class VaultBusyError(SkillvaultError):
    """Another writer has locked the vault."""

    exit_code = 4


class BranchMovedError(VaultBusyError):
    """The branch moved, and the change cannot be computed again."""


class UncommittedEditError(SkillvaultError):
    """A person has edited the file to be changed and has not committed the edit."""

    exit_code = 5


class UnavailableError(SkillvaultError):
    """The judge cannot be asked now, so its questions wait.

    `tried` is True if the judge was asked and did not answer.
    """

    exit_code = 6

    def __init__(self, message: str, *, tried: bool = False) -> None:
        super().__init__(message)
        self.tried = tried


class NoAnswerError(SkillvaultError):
    """The judge has no usable answer to one question, and a retry would not help now."""

    exit_code = 6


class PausedError(SkillvaultError):
    """The repository is in the middle of a git operation, so nothing may be committed."""

    exit_code = 7


class GitError(SkillvaultError):
    """Git refused. The message is git's own, shortened."""


class DamagedIndexError(SkillvaultError):
    """The index of the vault cannot be used, even after it was rebuilt."""


class BadInputError(SkillvaultError):
    """An input is refused.

    `code` is a stable slug, `key` the dotted path of the bad value, `line` its 1-based line.
    """

    def __init__(
        self, message: str, *, code: str, key: str | None = None, line: int | None = None
    ) -> None:
        message = " ".join(hidden_characters.escape_hidden(" ".join(message.split())).split())
        if len(message) > _MAX_MESSAGE:  # keep the beginning, and the end with the next step
            message = f"{message[: _MAX_MESSAGE // 2]}…{message[-_MAX_MESSAGE // 3 :]}"
        super().__init__(message)
        self.message = message
        self.code = code
        self.key = key
        self.line = line


_MAX_MESSAGE = 600  # characters


def key_error(key: str, code: str, problem: str) -> BadInputError:
    """Return the error that refuses the value of a key. Its message begins with the key."""
    return BadInputError(f"{key}: {problem}", code=code, key=key)
