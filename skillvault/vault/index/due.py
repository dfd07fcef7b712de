"""What is due: the queues of the steps. What puts a key into one is `dirty`'s to say."""

from collections.abc import Iterable

from skillvault.vault.index.database import IndexDatabase
from skillvault.vault.index.reader import Reader


class Due:
    """The queues of the steps, to be read."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def keys(self, step: str) -> list[str]:
        """What a step must look at: nothing else has changed since it found nothing to do."""
        rows = self._reader.rows("select key from due where step = ? order by key", [step])
        return [key for (key,) in rows]


class WritableDue(Due):
    """The queues of the steps, to be read and marked done."""

    def __init__(self, reader: Reader, database: IndexDatabase) -> None:
        super().__init__(reader)
        self._database = database

    def mark_done(self, step: str, keys: Iterable[str]) -> None:
        """A step found nothing to do for these; they are due again when something changes."""
        self._database.mark_done(step, keys)
