"""What is due: the queues of the steps. What puts a key into one is `dirty`'s to say."""

from collections.abc import Iterable

from skillvault.vault.index.reader import Reader


class Due:
    """The queues of the steps."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def keys(self, step: str) -> list[str]:
        """What a step must look at: nothing else has changed since it found nothing to do."""
        rows = self._reader.rows("select key from due where step = ? order by key", [step])
        return [key for (key,) in rows]

    def mark_done(self, step: str, keys: Iterable[str]) -> None:
        """A step found nothing to do for these; they are due again when something changes."""
        if rows := [(step, key) for key in keys]:
            self._reader.change_many("delete from due where step = ? and key = ?", rows)
