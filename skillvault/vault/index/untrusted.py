"""Untrusted facts and evaluations, searched by themselves.

They stand in no table by which anything else is found or weighed, however many they are; who asks
for them reads them.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

from skillvault.vault.index.reader import Reader
from skillvault.vault.index.rows import decoded, document
from skillvault.vault.search import ranking
from skillvault.vault.search.ranking import Document, Filters, Hit, Near

_UNTRUSTED = """
select f.path, f.type, f.value from fact t join file f on f.n = t.n
where t.trust = 'untrusted' and f.value is not null
union all
select f.path, f.type, f.value from file f
where f.type = 'Evaluation' and f.ref_kind = 'evaluation' and f.value is not null
and not exists (select 1 from outcome o where o.id = f.ref_id and o.trust = 'local')
"""


def search_untrusted(
    reader: Reader, text: str, limit: int, filters: Filters, *, near: Near | None
) -> list[Hit]:
    """Those that answer a text best, as `ranking.search` has it; weighed among themselves."""
    with closing(sqlite3.connect(":memory:")) as database:
        ranking.create_tables(database)
        ranking.add_documents(database, _documents(reader))
        return ranking.search(database, text, limit, filters, near=near)


def _documents(reader: Reader) -> Iterator[Document]:
    for path, kind, value in reader.rows(_UNTRUSTED):
        if found := document(path, decoded(kind, value)):
            yield found
