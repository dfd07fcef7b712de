"""The answers of the vault: by their questions' keys, by what they are about, by who gave them."""

from skillvault.model.records import Answer
from skillvault.vault.index.folder import Folder
from skillvault.vault.index.reader import Reader


class Answers(Folder[Answer]):
    """Key of a question -> its answer, and the queries about answers."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader, "answers", Answer)

    def about(self, subject: str) -> list[Answer]:
        """What was answered about a subject, by key."""
        query = "select id from answer where subject = ? order by id"
        return list(self.get_many(name for (name,) in self._reader.rows(query, [subject])).values())

    def count_of_session(self, session: str) -> int:
        """How many answers a session gave."""
        query = "select count(distinct id) from answer where session = ?"
        return int(self._reader.value(query, [session]))
