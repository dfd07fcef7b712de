"""Query a vault by topic: one commit (`Snapshot`), or the index with staged files (`Staging`).

A topic is a group of queries in its own module, such as `skills` or `uses`. An unreadable file
becomes a Problem, and the other records are still read.
"""

import sqlite3
from collections.abc import ItemsView, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from typing import cast

import msgspec
from msgspec import Struct

from skillvault.model.errors import BadInputError, UsageError
from skillvault.model.policy import Policy
from skillvault.model.records import Ref, Retraction
from skillvault.model.skill_evidence import EVIDENCE, SkillEvidence, from_text
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import blob_id, policy_of
from skillvault.vault.index.connection import IndexDatabase, Pin
from skillvault.vault.index.facts import (
    Clusters,
    Corrections,
    Evaluations,
    FactKeys,
    Facts,
    Insights,
)
from skillvault.vault.index.history import History
from skillvault.vault.index.layers import Layers
from skillvault.vault.index.outcomes import Outcomes, Recommendations, Tasks
from skillvault.vault.index.reader import Blobs, Reader, Topic
from skillvault.vault.index.records import Answers, Folder, Links, Records, Sessions
from skillvault.vault.index.rows import decode, make_document, parse_file
from skillvault.vault.index.skills import Skills
from skillvault.vault.index.subjects import Subjects
from skillvault.vault.index.uses import Uses
from skillvault.vault.search import ranking
from skillvault.vault.search.ranking import Filters, Hit, Near


class Due(Topic):
    """The keys in the queues of the steps; see `index.queues`."""

    def keys(self, step: str) -> list[str]:
        """Return the keys in the queue of a step."""
        query = "select key from due where step = ? order by key"
        return self._reader.column(query, [step])

    def lengths(self) -> dict[str, int]:
        """Return the number of keys in each queue that is not empty."""
        return dict(self._reader.rows("select step, count(*) from due group by step"))

    def mark_everything(self) -> None:
        """Put every record into every queue, as for a new index."""
        self._reader.change(lambda _, queues: queues.mark_everything())

    def mark_done(self, step: str, keys: Iterable[str]) -> None:
        """Remove keys from the queue of a step. A later change makes them due again."""
        if rows := [(step, key) for key in keys]:
            self._reader.change_many("delete from due where step = ? and key = ?", rows)


class Files(Topic, Mapping[str, str]):
    """The files of the vault, with the blob id of each path."""

    def __getitem__(self, path: str) -> str:
        blob = self._reader.value("select blob from file where path = ?", [path])
        if blob is None:
            raise KeyError(path)
        return cast("str", blob)

    def __iter__(self) -> Iterator[str]:
        return iter(self._reader.column("select path from file order by path"))

    def __len__(self) -> int:
        return int(self._reader.value("select count(*) from file"))

    def items(self) -> ItemsView[str, str]:
        """Return (path, blob id) for each file. All are read at once."""
        return dict(self._reader.rows("select path, blob from file order by path")).items()

    def read(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Return the bytes of existing files, by path."""
        return self._reader.read_bytes(paths)

    def existing(self, paths: Iterable[str]) -> set[str]:
        """Return which of these paths exist."""
        return set(self._reader.column_matching("select path from file where path in {}", paths))

    def below(self, folder: str) -> list[str]:
        """Return every path below a folder, sorted."""
        query = "select path from file where path > ? and path < ? order by path"  # "0" comes next
        return self._reader.column(query, [f"{folder}/", f"{folder}0"])


class EvidenceScan(Struct, frozen=True):
    """The state of the files when rules were last searched for evidence.

    `blobs` has the blobs of the files of rules, `code` the version of each code base. `tail`
    identifies the uncommitted rules of the work tree, `settings` the policy. `at` is a unix time.
    """

    at: float
    blobs: Mapping[str, str | None]
    tail: str
    code: Mapping[str, str]
    settings: str


class Captures(Topic):
    """The last scan for evidence; see `EvidenceScan`."""

    @property
    def last_scan(self) -> EvidenceScan | None:
        """The last scan, or None before the first one."""
        query = "select name, value from state where name = 'capture'"
        decode = msgspec.msgpack.Decoder(EvidenceScan).decode
        return self._reader.source.decode_values(query, decode).get("capture")

    def note_scan(self, scan: EvidenceScan) -> None:
        """Store a scan."""
        value = msgspec.msgpack.encode(scan)
        self._reader.change_rows("insert or replace into state values ('capture', ?)", [value])


_UNTRUSTED_RECORDS = """
select f.path, f.type, f.value from fact t join file f on f.n = t.n
where t.trust = 'untrusted' and f.value is not null
union all
select f.path, f.type, f.value from file f
where f.type = 'Evaluation' and f.ref_kind = 'evaluation' and f.value is not null
and not exists (select 1 from outcome o where o.id = f.ref_id and o.trust = 'local')
"""


class Snapshot:
    """The vault at one commit, with its queries by topic. Only a `Staging` changes later."""

    def __init__(self, source: IndexDatabase | Pin, blobs: Blobs) -> None:
        reader = Reader(source, blobs)
        self.rows = reader.rows
        self._source = source
        self._policy: tuple[str | None, Policy] | None = None  # with the blob of vault.yaml
        self.files = Files(reader)
        self.records = Records(reader)
        self.outcomes = Outcomes(reader)
        self.recommendations = Recommendations(reader)
        self.evaluations = Evaluations(reader)
        self.sessions = Sessions(reader)
        self.answers = Answers(reader)
        self.retractions = Folder(reader, "retractions", Retraction)
        self.facts = Facts(reader)
        self.corrections = Corrections(reader)
        self.links = Links(reader)
        self.skills = Skills(reader)
        self.history = History(reader)
        self.uses = Uses(reader)
        self.subjects = Subjects(reader)
        self.insights = Insights(reader)
        self.fact_keys = FactKeys(reader)
        self.clusters = Clusters(reader)
        self.due = Due(reader)
        self.layers = Layers(reader)
        self.tasks = Tasks(reader)
        self.captures = Captures(reader)
        self._reader = reader

    @property
    def commit(self) -> str | None:
        """The commit of the index, or None on a branch without commits."""
        return self._source.commit

    @property
    def domains(self) -> list[str]:
        """All domains of records and of vault.yaml, sorted."""
        query = """select domain from outcome union select domain from fact
            union select domain from session"""
        return sorted({*self._reader.column(query), *self.policy.domains})

    def check_domain(self, name: str | None) -> None:
        """Raise UsageError for a domain that the vault does not have. None is any domain."""
        if name is not None and name not in self.domains:
            domain_names = ", ".join(self.domains) or "none yet"
            raise UsageError(f"--domain {name}: no such domain; there are: {domain_names}")

    @property
    def only_domain(self) -> str | None:
        """The domain of a vault with exactly one domain, or None in any other vault."""
        domains = self.domains
        return domains[0] if len(domains) == 1 else None

    @property
    def policy(self) -> Policy:
        """The policy in vault.yaml. Raises BadInputError with the name of a bad key."""
        blob = self.files.get(layout.VAULT_FILE)
        if self._policy is None or self._policy[0] != blob:
            policy = self._source.policy(blob) if blob else None
            content = {} if policy else self.files.read([layout.VAULT_FILE])
            self._policy = blob, policy or policy_of(content.get(layout.VAULT_FILE, b""))
        return self._policy[1]

    def search(
        self,
        text: str,
        limit: int,
        *,
        kinds: tuple[str, ...] | None = None,
        domains: tuple[str | None, ...] | None = None,
        nearness: Near | None = None,
        untrusted: bool = False,
    ) -> list[Hit]:
        """Return the facts, skills and evaluations that match a text best.

        Only trusted records are searched, or with `untrusted` only untrusted records.
        """
        filters = Filters(kinds, domains)
        if not untrusted:
            return self._source.search_index(text, limit, filters, nearness)
        # Untrusted records get a separate index, because they must not influence other searches.
        with closing(sqlite3.connect(":memory:")) as database:
            ranking.create_tables(database)
            rows = self.rows(_UNTRUSTED_RECORDS)
            documents = (make_document(path, decode(kind, value)) for path, kind, value in rows)
            ranking.add_documents(database, filter(None, documents))
            return ranking.search_texts(database, text, limit, filters, nearness=nearness)


class Staging(Snapshot):
    """The vault with its staged files, on which a run works.

    Derived data (queues, uses, other layers) is written here, too.
    """

    def __init__(self, database: IndexDatabase, blobs: Blobs) -> None:
        super().__init__(database, self._bytes)
        self._database = database
        self._committed = blobs
        self.files_staged: dict[str, bytes | None] = {}  # uncommitted bytes by path
        self._by_blob: dict[str, bytes] = {}

    def stage(self, files: Mapping[str, bytes | None]) -> None:
        """Stage files, given as new bytes by path, or None for a removed file."""
        self.files_staged |= files
        self._by_blob |= {blob_id(data): data for data in files.values() if data is not None}
        parsed_files = {
            path: None if data is None else (blob_id(data), parse_file(path, data))
            for path, data in files.items()
        }
        self._database.put_files(parsed_files)

    def drop_staged(self) -> None:
        """Drop the staged files after a commit or a rollback."""
        self.files_staged, self._by_blob = {}, {}

    def _bytes(self, blobs: Iterable[str]) -> Mapping[str, bytes]:
        ids = list(blobs)
        contents = {blob: self._by_blob[blob] for blob in ids if blob in self._by_blob}
        return {**self._committed([blob for blob in ids if blob not in contents]), **contents}


def evidence_of(snapshot: Snapshot, ref: Ref) -> SkillEvidence | None:
    """Return the evidence file of a skill, or None if it is missing or unreadable."""
    path = snapshot.records.path_of(ref)
    file = f"{path.rpartition('/')[0]}/references/{EVIDENCE}" if path else ""
    content = snapshot.files.read([file]).get(file)
    with suppress(BadInputError):  # `check` tells of it
        return from_text(content.decode(errors="replace")) if content is not None else None
    return None
