"""The committed vault, as learning and serving ask it: the questions of the house, in SQL.

Everything is read from the projection of HEAD, with what a run has laid and not yet published.
A file that cannot be read is a Problem, a value; its record is left out and the rest goes on.
"""

from collections.abc import (
    Callable,
    Collection,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from functools import cache
from typing import Any, cast

from skillvault.errors import GitError
from skillvault.policy import Policy
from skillvault.records import (
    Commit,
    Evaluation,
    Fact,
    Link,
    Outcome,
    Placed,
    Recommendation,
    RecordKind,
    Ref,
    Skill,
    Subject,
    Trust,
)
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import Key, blob_id, parsed, policy_of
from skillvault.vault.index.database import Projection
from skillvault.vault.index.records import Contents, Records
from skillvault.vault.index.rows import File, Parsed, decoded, micros, words
from skillvault.vault.index.uses import Uses
from skillvault.vault.search.ranking import Document, Filters, Near

_FILE = "select path, blob, type, value from file"


class Snapshot:
    """The vault of one commit, and what is laid on it; `read` gives the bytes of blobs."""

    def __init__(
        self, projection: Projection, read: Callable[[Iterable[str]], Mapping[str, bytes]]
    ) -> None:
        self._projection = projection
        self._read = read
        self.laid: dict[str, bytes | None] = {}  # path -> bytes that no commit has yet
        self._fresh: dict[str, bytes] = {}  # the same by blob
        self._policy: tuple[str | None, Policy] | None = None
        self.ask = projection.rows
        self.ask_in = projection.rows_in
        self.contents = Contents(self)
        self.uses = Uses(projection)
        self.outcomes = Records(self, "outcomes", Outcome)
        self.evaluations = Records(self, "evaluations", Evaluation)
        self.facts = Records(self, "memory", Fact)  # superseded ones included
        self.links = Records(self, "links", Link)
        self.skills = Records(self, "skills", Skill)  # those that may be served
        self.proposed = Records(self, "proposed", Skill)  # those that wait for a person
        self.archived = Records(self, "archive", Skill)  # expired, superseded, retired ones

    @property
    def commit(self) -> str | None:
        """The commit shown; None on an unborn branch."""
        return self._projection.commit

    # ── files ────────────────────────────────────────────────────────────────────────

    def lay(self, files: Mapping[str, bytes | None]) -> None:
        """Show files that are not committed yet: path -> new bytes, None: removed."""
        self.laid |= files
        self._fresh |= {blob_id(data): data for data in files.values() if data is not None}
        self._projection.put({path: _file(path, data) for path, data in files.items()})

    def forget_laid(self) -> None:
        """What was laid is committed, or taken back."""
        self.laid, self._fresh = {}, {}

    def bytes_of(self, paths: Iterable[str]) -> dict[str, bytes]:
        """path -> bytes of the paths that exist."""
        wanted = self.ask_in("select path, blob from file where path in {}", paths)
        keys: dict[str, str] = dict(wanted)
        stored = self._read([blob for blob in keys.values() if blob not in self._fresh])
        return {
            path: self._fresh[blob] if blob in self._fresh else stored[blob]
            for path, blob in keys.items()
        }

    def blobs(self) -> dict[str, str]:
        """path -> blob id of every file."""
        return dict(self.ask("select path, blob from file"))

    def existing(self, paths: Iterable[str]) -> set[str]:
        """Those of these paths that are there."""
        return {path for (path,) in self.ask_in("select path from file where path in {}", paths)}

    def below(self, folder: str) -> list[str]:
        """Every path below a folder, sorted."""
        query = "select path from file where path > ? and path < ? order by path"
        return [path for (path,) in self.ask(query, [f"{folder}/", f"{folder}0"])]  # "0" is next

    # ── records ──────────────────────────────────────────────────────────────────────

    def path_of(self, ref: Ref) -> str | None:
        """Where a record stands, read or not; None where it does not."""
        query = "select path from file where ref_kind = ? and ref_id = ? order by path limit 1"
        found = self.ask(query, [ref.kind, ref.id])
        return found[0][0] if found else None

    def has(self, ref: Ref) -> bool:
        """Whether a record is there, read or not."""
        return self.path_of(ref) is not None

    def counted(self) -> dict[str, int]:
        """How many records stand in each of the vault's folders, read or not."""
        return dict(
            self.ask("select top, count(*) from file where ref_id is not null group by top")
        )

    def link_types(self) -> dict[str, int]:
        """How many links of each type there are."""
        return dict(self.ask("select type, count(*) from link group by type order by type"))

    def present(self, refs: Iterable[Ref]) -> set[str]:
        """The `<kind>:<id>` of those of these records that are there, read or not."""
        query = "select ref_kind, ref_id from file where ref_kind = ? and ref_id in {}"
        return {f"{kind}:{name}" for kind, name in self._ask_of(query, refs)}

    def _ask_of(
        self, query: str, refs: Iterable[Ref], *, before: Sequence[str] = ()
    ) -> Iterator[tuple[Any, ...]]:
        """The rows of a query whose `?` stands for a kind and `{}` for ids of it, kind by kind."""
        by_kind: dict[str, list[str]] = {}
        for ref in refs:
            by_kind.setdefault(ref.kind, []).append(ref.id)
        for kind, ids in by_kind.items():
            yield from self.ask_in(query, ids, before=[*before, kind])

    def beginning(self, kind: RecordKind, begin: str) -> list[Ref]:
        """The records of a kind whose id begins so."""
        end = begin[:-1] + chr(ord(begin[-1]) + 1)
        query = (
            "select distinct ref_id from file "
            "where ref_kind = ? and ref_id >= ? and ref_id < ? order by ref_id"
        )
        return [Ref(kind, name) for (name,) in self.ask(query, [kind, begin, end])]

    def any_skill(self, name: str) -> Skill | None:
        """The skill of this name, in whatever folder it stands."""
        shelves = (self.skills, self.proposed, self.archived)
        return next((found for shelf in shelves if (found := shelf.get(name))), None)

    def records_at(self, paths: Iterable[str]) -> dict[str, Parsed]:
        """path -> its record, or the problem that keeps it from being read."""
        rows = self.ask_in(f"{_FILE} where ref_id is not null and path in {{}}", paths)
        return {row[0]: self.record_of(*row) for row in rows}

    def known(self, keys: Iterable[Key]) -> dict[Key, Parsed]:
        """What HEAD says of these (path, blob), where it has them."""
        wanted = set(keys)
        rows = self.ask_in(
            f"{_FILE} where ref_id is not null and path in {{}}", {p for p, _ in wanted}
        )
        return {
            (row[0], row[1]): self.record_of(*row) for row in rows if (row[0], row[1]) in wanted
        }

    def record_of(self, path: str, blob: str, kind: str, value: bytes | None) -> Parsed:
        """The record of one row of `file`."""
        if value is not None:
            return decoded(kind, value)
        return parsed(path, self._fresh.get(blob) or self._read([blob])[blob])

    @property
    def domains(self) -> list[str]:
        """Every domain with a record or named in vault.yaml, sorted."""
        query = "select domain from outcome union select domain from fact"
        return sorted({*(domain for (domain,) in self.ask(query)), *self.policy.domains})

    @property
    def policy(self) -> Policy:
        """What vault.yaml says; BadInputError names its bad key."""
        blob = self.contents.get(layout.MARK)
        if self._policy is None or self._policy[0] != blob:
            kept = self._projection.policy(blob) if blob else None
            policy = kept or policy_of(self.bytes_of([layout.MARK]).get(layout.MARK, b""))
            self._policy = blob, policy
        return self._policy[1]

    # ── links ────────────────────────────────────────────────────────────────────────

    def links_to(self, refs: Iterable[Ref]) -> list[Link]:
        """The links to these records, in the order of their ids."""
        return self._links("target", refs)

    def links_from(self, refs: Iterable[Ref]) -> list[Link]:
        """The links from these records, in the order of their ids."""
        return self._links("source", refs)

    def _links(self, end: str, refs: Iterable[Ref]) -> list[Link]:
        query = f"{_FILE} where n in (select n from link where {end}_kind = ? and {end}_id in {{}})"
        rows = self._ask_of(query, dict.fromkeys(refs))
        found = (self.record_of(*row) for row in rows)
        return sorted((one for one in found if isinstance(one, Link)), key=lambda link: link.id)

    def linked_to(self, ref: Ref, link_type: str) -> list[str]:
        """The ids of what is linked to a record so, sorted."""
        query = (
            "select source_id from link where target_kind = ? and target_id = ? and type = ? "
            "order by source_kind, source_id"
        )
        return [source for (source,) in self.ask(query, [ref.kind, ref.id, link_type])]

    # ── facts ────────────────────────────────────────────────────────────────────────

    def facts_of(self, domains: Iterable[str]) -> dict[str, Fact]:
        """The facts of these domains by id, superseded ones included."""
        rows = self.ask_in(f"{_FILES} join fact t on f.n = t.n where t.domain in {{}}", domains)
        found = (self.record_of(*row) for row in rows)
        return {one.id: one for one in found if isinstance(one, Fact)}

    def support(self, fact: str) -> list[Evaluation]:
        """The evaluations that made or repeat a fact, in the order of their ids."""
        query = (
            f"select source_id from link where target_kind = 'fact' and target_id = ? and {_TELLS}"
        )
        return list(self.evaluations.of(name for (name,) in self.ask(query, [fact])).values())

    def unevaluated(self) -> list[str]:
        """The outcomes without an evaluation, read or not, by id."""
        return self.due("evaluate")

    def judged(self, step: str) -> dict[str, list[str]]:
        """Domain -> its trusted and evaluated outcomes that are due for a step, by id."""
        query = (
            "select distinct o.domain, o.id from due d join outcome o on o.id = d.key "
            f"where d.step = ? and {_JUDGED} order by o.domain, o.id"
        )
        found: dict[str, list[str]] = {}
        for domain, name in self.ask(query, [step]):
            found.setdefault(domain, []).append(name)
        return found

    def judged_domains(self) -> list[str]:
        """The domains with trusted and evaluated outcomes."""
        query = f"select distinct domain from outcome o where {_JUDGED}"
        return [domain for (domain,) in self.ask(query)]

    def sessions(self, facts: Iterable[str], enough: int | None = None) -> set[str]:
        """The sessions of the outcomes behind facts; no more than `enough` of them."""
        query = (
            "select distinct coalesce(o.session, o.id) from link l join outcome o "
            "on o.id = l.source_id where l.target_kind = 'fact' and l.target_id in {} "
            f"and {_TELLS} and exists (select 1 from file e where e.ref_kind = 'evaluation' "
            "and e.ref_id = l.source_id and e.type = 'Evaluation')"
            + (f" limit {enough}" if enough is not None else "")
        )
        return {session for (session,) in self.ask_in(query, facts)}

    # ── skills ───────────────────────────────────────────────────────────────────────

    def live_skills(self, names: Collection[str]) -> dict[str, Skill]:
        """Those of these skills that are outside the archive."""
        return {**self.skills.of(names), **self.proposed.of(names)}

    def linked(self, sources: Iterable[Ref], target: Ref) -> set[str]:
        """The ids of those of these records that are linked to another."""
        query = (
            "select source_id from link where target_kind = ? and target_id = ? "
            "and source_kind = ? and source_id in {}"
        )
        rows = self._ask_of(query, sources, before=[target.kind, target.id])
        return {source for (source,) in rows}

    def merged(self, refs: Iterable[Ref]) -> dict[str, str]:
        """Skill -> the evolved one that its link says it was merged into."""
        query = (
            "select source_id, target_id from link "
            "where type = 'merged' and source_kind = ? and source_id in {} order by id"
        )
        return dict(self._ask_of(query, refs))

    def from_memory(self, name: str) -> bool:
        """Whether facts made a skill."""
        query = (
            "select exists (select 1 from link "
            "where target_kind = 'skill' and target_id = ? and type = 'derived')"
        )
        return bool(self.ask(query, [name])[0][0])

    def outcomes_behind(self, names: Iterable[str]) -> dict[str, tuple[Outcome, ...]]:
        """The outcomes that each of these skills rests on, through whatever links, oldest first."""
        behind = self._behind(names)
        found = self.outcomes.of(dict.fromkeys(id_ for ids in behind.values() for id_ in ids))
        return {
            name: tuple(sorted((found[id_] for id_ in ids if id_ in found), key=lambda o: o.order))
            for name, ids in behind.items()
        }

    def subjects_behind(self, names: Iterable[str]) -> dict[str, set[Subject]]:
        """What the outcomes are about that each of these skills rests on."""
        behind = self._behind(names)
        query = "select id, domain, action, target from outcome where id in {}"
        rows = self.ask_in(query, dict.fromkeys(id_ for ids in behind.values() for id_ in ids))
        found = {id_: (domain, action, target) for id_, domain, action, target in rows}
        return {name: {found[id_] for id_ in ids if id_ in found} for name, ids in behind.items()}

    def _behind(self, names: Iterable[str]) -> dict[str, list[str]]:
        """The ids of the outcomes that each of these skills rests on."""
        roots = [Ref("skill", name) for name in names]
        sources: dict[Ref, list[Ref]] = {}
        level = dict.fromkeys(roots)
        query = (
            "select target_kind, target_id, source_kind, source_id from link "
            "where target_kind = ? and target_id in {}"
        )
        while level:
            sources |= {ref: [] for ref in level}
            for kind, name, *source in self._ask_of(query, level):
                sources[Ref(kind, name)].append(Ref(*source))
            below = dict.fromkeys(ref for target in level for ref in sources[target])
            level = {ref: None for ref in below if ref not in sources}
        return {
            root.id: [ref.id for ref in _reached(root, sources) if ref.kind == "evaluation"]
            for root in roots
        }

    def created(self, names: Iterable[str]) -> dict[str, str]:
        """When each of these skills was made, as it says, of those in skills/ or archive/."""
        query = (
            "select id, coalesce(created, '') from skill "
            "where shelf in ('archive', 'skills') and id in {} order by shelf"
        )
        return dict(self.ask_in(query, names))

    def skill_names(self, shelf: str, domain: str | None = None) -> list[str]:
        """The names on a shelf, of one domain where given, sorted."""
        query = "select id from skill where shelf = ?"
        also = "" if domain is None else " and coalesce(domain, '') = ?"
        values = [shelf] if domain is None else [shelf, domain]
        return [name for (name,) in self.ask(f"{query}{also} order by id", values)]

    def on_shelf(self, shelf: str, names: Iterable[str]) -> set[str]:
        """Those of these names that are on a shelf."""
        # By the names, which are fewer than what stands on a shelf.
        query = "select id from skill where +shelf = ? and id in {}"
        return {name for (name,) in self.ask_in(query, names, before=[shelf])}

    def taken(self, name: str) -> bool:
        """Whether a skill of this name is there, was there, or something is linked to it.

        A new one would inherit another skill's links and rejections.
        """
        query = (
            "select exists (select 1 from file where ref_kind = 'skill' and ref_id = ?1) "
            "or exists (select 1 from link where target_kind = 'skill' and target_id = ?1) "
            "or exists (select 1 from trailer "
            "where ref_kind = 'skill' and ref_id = ?1 and role = 'target')"
        )
        return bool(self.ask(query, [name])[0][0])

    def standing_of(self, names: Iterable[str]) -> list[tuple[str, str, str]]:
        """(name, shelf, status) of those of these skills that are there, by name."""
        query = "select id, shelf, status from skill where id in {} order by id, shelf"
        return list(self.ask_in(query, names))

    def ending(self, shelf: str, before: str, created: str) -> list[str]:
        """The skills on a shelf that end before a time, or state no end and are older than another.

        The times are texts, as they stand in files.
        """
        query = (
            "select id from skill where shelf = ? and status != 'pinned' and (expires < ? "
            "or (created < ? and (expires is null or expires not glob '[0-9]*'))) order by id"
        )
        return [name for (name,) in self.ask(query, [shelf, before, created])]

    # ── outcomes ─────────────────────────────────────────────────────────────────────

    def domains_of(self, trust: Trust) -> frozenset[str]:
        """The domains that an outcome of this trust is compared with: of trusted ones, or all."""
        query = f"select distinct domain from outcome where {_SEEN[trust]}"
        return frozenset(domain for (domain,) in self.ask(query))

    def of_events(self, events: Iterable[str]) -> list[Outcome]:
        """The outcomes with these event ids."""
        return self._outcomes(self.ask_in(_found("event in {}"), events))

    def subject(self, outcome_id: str) -> list[Placed]:
        """The outcomes of one subject and trust, oldest first; nothing of one that is gone."""
        same = (
            "o.domain = s.domain and o.action = s.action and o.target is s.target "
            "and o.trust = s.trust"
        )
        linked = (
            "exists (select 1 from link l where l.source_kind = 'evaluation' "
            "and l.source_id = o.id and l.type = '{}' and l.target_kind = 'skill')"
        )
        told = f"{linked.format('reinforced')} and not {linked.format('generated')}"
        query = (
            f"select o.at, o.id, o.failed, {_EVALUATED}, o.failed and {told} from outcome s "
            f"join outcome o on {same} where s.id = ? order by o.at, o.id"
        )
        found = (
            Placed(at, name, *map(bool, said)) for at, name, *said in self.ask(query, [outcome_id])
        )
        return list({one.id: one for one in found}.values())

    def count(self, outcome: Outcome) -> int:
        """How many outcomes this one is compared with at most, itself among them."""
        query = f"select count(*) from outcome where {_group(outcome)}"
        return int(self.ask(query, _group_values(outcome))[0][0])

    def since(self, outcome: Outcome) -> int:
        """How many of those are not before it."""
        query = f"select count(*) from outcome where {_group(outcome)} and (at, id) >= (?, ?)"
        values = [*_group_values(outcome), micros(outcome.occurred_at), outcome.id]
        return int(self.ask(query, values)[0][0])

    def between(self, outcome: Outcome, start: int, end: int) -> list[Outcome]:
        """Those of the ranks from `start` to before `end`, oldest first."""
        inner = (
            f"select n, at, id from outcome where {_group(outcome)} order by at, id "
            "limit ? offset ?"
        )
        query = f"{_FILES} join ({inner}) o on f.n = o.n order by o.at, o.id"
        return self._outcomes(self.ask(query, [*_group_values(outcome), end - start, start]))

    def latest(self, domain: str, trust: Trust, count: int) -> list[Outcome]:
        """The latest outcomes of a domain that one of this trust is compared with."""
        inner = (
            f"select n from outcome where domain = ? and {_SEEN[trust]} "
            "order by at desc, id desc limit ?"
        )
        query = f"{_FILES} join ({inner}) o on f.n = o.n"
        return self._outcomes(self.ask(query, [domain, count]))

    def before(self, outcome: Outcome) -> Outcome | None:
        """The outcome before this one on its subject."""
        query = f"{_found(_SAME)} and (at, id) < (?, ?) order by at desc, id desc limit 1"
        found = self._outcomes(self.ask(query, _place(outcome)))
        return found[0] if found else None

    def after(self, outcome: Outcome) -> Iterator[Outcome]:
        """The outcomes after this one on its subject, oldest first."""
        query = f"{_found(_SAME)} and (at, id) > (?, ?) order by at, id limit {_FEW} offset ?"
        start = 0
        while found := self._outcomes(self.ask(query, [*_place(outcome), start])):
            yield from found
            start += _FEW

    def window(self, domain: str, count: int) -> list[Outcome]:
        """The latest trusted and evaluated outcomes of a domain, oldest first."""
        inner = (
            f"select n, at, id from outcome o where domain = ? and {_JUDGED} "
            "order by at desc, id desc limit ?"
        )
        query = f"{_FILES} join ({inner}) o on f.n = o.n order by o.at, o.id"
        return self._outcomes(self.ask(query, [domain, count]))

    def _outcomes(self, rows: Iterable[tuple[Any, ...]]) -> list[Outcome]:
        found = (self.record_of(*row) for row in rows)
        return [one for one in found if isinstance(one, Outcome)]

    # ── what is due ──────────────────────────────────────────────────────────────────

    def due(self, step: str) -> list[str]:
        """What a step must look at: nothing else has changed since it found nothing to do."""
        return [
            key for (key,) in self.ask("select key from due where step = ? order by key", [step])
        ]

    def settle(self, step: str, keys: Iterable[str]) -> None:
        """A step found nothing to do for these; they are due again when something changes."""
        self._projection.settle(step, keys)

    # ── what is served ───────────────────────────────────────────────────────────────

    def shelved(self, domain: str | None = None) -> list[tuple[Any, ...]]:
        """(name, kind, tokens, domain, status, roles, stages, blob) of the skills in skills/.

        Of a domain and of none where one is given, by name.
        """
        also, values = ("", []) if domain is None else (f"and {_IN_DOMAIN}", [domain])
        return self.ask(f"{_SHELVED} where shelf = 'skills' {also} order by id", values)

    def shelved_as(self, names: Iterable[str]) -> list[tuple[Any, ...]]:
        """The same of the skills of these names."""
        return list(self.ask_in(f"{_SHELVED} where +shelf = 'skills' and id in {{}}", names))

    def decisions(self, name: str) -> tuple[list[Recommendation], list[Outcome]]:
        """What was recommended for a decision, and the outcomes that name it."""
        query = f"{_FILES} join recommendation r on f.n = r.n where r.decision = ? order by r.id"
        found = (self.record_of(*row) for row in self.ask(query, [name]))
        shown = [one for one in found if isinstance(one, Recommendation)]
        return shown, self._outcomes(self.ask(_found("decision = ?"), [name]))

    def skill_at(self, name: str, blob: str) -> str:
        """The text of a skill at a version, "" where that cannot be read."""
        try:
            data = self._fresh.get(blob) or self._read([blob])[blob]
        except GitError:  # never committed here, or gone since
            return ""
        found = parsed(f"skills/{name}/SKILL.md", data)
        return found.body if isinstance(found, Skill) else ""

    def naming(self, names: Iterable[str]) -> set[str]:
        """The outcomes that may name any of these skills: all its words stand in them."""
        query = "select o.id from said join outcome o on o.n = said.rowid where said match ?"
        is_said = cache(self._is_said)  # many names share a word that no outcome holds
        found: set[str] = set()
        for name in names:
            # A word that is no ASCII may be cut otherwise there.
            told = [f'"{word}"' for word in words(name) if word.isascii()]
            if all(map(is_said, told)):
                rows = self.ask(query, [" AND ".join(told)]) if told else self.ask(_EVERY_OUTCOME)
                found.update(outcome for (outcome,) in rows)
        return found

    def _is_said(self, word: str) -> bool:
        return bool(self.ask("select 1 from said where said match ? limit 1", [word]))

    def beside(self) -> dict[str, Skill]:
        """The skills beside the vault as they were read before; see `index_beside`."""
        return self._projection.beside()

    def index_beside(
        self, digest: str, documents: Sequence[Document], skills: Mapping[str, Skill]
    ) -> None:
        """Let texts be found that stand beside the vault; `digest` tells them from others.

        `skills` are kept for `beside`.
        """
        self._projection.index_beside(digest, documents, skills)

    def search(
        self,
        text: str,
        limit: int,
        *,
        kinds: tuple[str, ...] | None = None,
        domains: tuple[str | None, ...] | None = None,
        near: Near | None = None,
    ) -> list[tuple[str, float]]:
        """(`<kind>:<id>`, score 0..1) of the facts, skills and evaluations that answer best."""
        return self._projection.search(text, limit, Filters(kinds, domains), near)

    # ── history ──────────────────────────────────────────────────────────────────────

    def log(self, limit: int | None = None) -> list[Commit]:
        """The program's commits, newest first."""
        query = f"select c from commits where step != '' {_NEWEST} limit ?"
        return self._commits(c for (c,) in self.ask(query, [-1 if limit is None else limit]))

    def touching(self, refs: Iterable[Ref]) -> list[Commit]:
        """Every commit that touches the files of these records, newest first; a person's too."""
        query = "select c from touch where ref_kind = ? and ref_id in {}"
        return self._commits({c for (c,) in self._ask_of(query, refs)})

    def touched_again(self, skills: Iterable[str]) -> list[str]:
        """Those of these skills that more than one commit touches."""
        query = (
            "select ref_id from touch where ref_kind = 'skill' and ref_id in {} "
            "group by ref_id having count(*) > 1"
        )
        return [name for (name,) in self.ask_in(query, skills)]

    def making(self, ref: Ref) -> list[Commit]:
        """The program's commits that made or changed a record, newest first."""
        query = "select c from trailer where ref_kind = ? and ref_id = ? and role = 'target'"
        return self._commits({c for (c,) in self.ask(query, [ref.kind, ref.id])})

    def taken_in(self, step: str, ref: Ref) -> set[str]:
        """The sources of a step's commits that made or changed a record."""
        query = (
            "select distinct s.ref_kind, s.ref_id from trailer t "
            "join commits c on c.c = t.c and c.step = ? "
            "join trailer s on s.c = t.c and s.role = 'source' "
            "where t.ref_kind = ? and t.ref_id = ? and t.role = 'target'"
        )
        rows = self.ask(query, [step, ref.kind, ref.id])
        return {f"{kind}:{name}" for kind, name in rows}

    def last_making(self, ref: Ref, steps: Collection[str]) -> tuple[str, str] | None:
        """(sha, step) of the latest commit by which one of these steps made or changed a record."""
        query = (
            "select c.sha, c.step from trailer t join commits c on c.c = t.c "
            "where t.ref_kind = ? and t.ref_id = ? "
            f"and t.role = 'target' and c.step in ({', '.join('?' * len(steps))}) {_NEWEST} limit 1"
        )
        return next(iter(self.ask(query, [ref.kind, ref.id, *steps])), None)

    def last_step(self, ref: Ref, steps: Collection[str]) -> str | None:
        """Which of these steps made or changed a record last."""
        last = self.last_making(ref, steps)
        return last[1] if last else None

    def rejecting(self) -> list[Commit]:
        """The commits that made what is not there any more, newest first."""
        query = (
            "select distinct t.c from gone g cross join trailer t "
            "on t.ref_kind = g.ref_kind and t.ref_id = g.ref_id and t.role = 'target'"
        )
        return self._commits(c for (c,) in self.ask(query))

    def made(self, step: str, kind: str, sources: Iterable[Ref]) -> Iterator[tuple[str, str]]:
        """(source id, target id) of what a step's commits made of these, newest first."""
        query = (
            "select s.ref_id, t.ref_id from trailer s join commits c on c.c = s.c and c.step = ?1 "
            "join trailer t on t.c = s.c and t.role = 'target' and t.ref_kind = ?2 "
            "and exists "
            "(select 1 from file f where f.ref_kind = t.ref_kind and f.ref_id = t.ref_id) "
            "where s.role = 'source' and s.ref_kind = ? and s.ref_id in {} "
            "order by c.depth desc, c.date desc, c.sha desc"
        )
        yield from self._ask_of(query, sources, before=[step, kind])

    def _commits(self, numbers: Iterable[int]) -> list[Commit]:
        wanted = list(numbers)
        refs: dict[tuple[int, str], list[str]] = {}
        query = (
            "select c, role, ref_kind, ref_id from trailer where c in {} order by c, role, place"
        )
        for c, role, kind, name in self.ask_in(query, wanted):
            refs.setdefault((c, role), []).append(f"{kind}:{name}")
        query = "select depth, date, sha, c, step, subject from commits where c in {}"
        return [
            Commit(
                sha, step, subject, date,
                tuple(refs.get((c, "source"), ())), tuple(refs.get((c, "target"), ())),
            )
            for _, date, sha, c, step, subject in sorted(self.ask_in(query, wanted), reverse=True)
        ]  # fmt: skip


class Present(Container[str]):
    """The `<kind>:<id>` of the records that are there, read or not."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def __contains__(self, key: object) -> bool:
        return self._snapshot.has(ref_from(str(key)))


_SEEN: Mapping[Trust, str] = {"local": "trust = 'local'", "untrusted": "true"}
_EVALUATED = (
    "exists (select 1 from file e "
    "where e.ref_kind = 'evaluation' and e.ref_id = o.id and e.type = 'Evaluation')"
)
_JUDGED = f"trust = 'local' and {_EVALUATED}"
_TELLS = "type in ('promoted', 'reinforced') and source_kind = 'evaluation'"
_FILES = "select f.path, f.blob, f.type, f.value from file f"
_SAME = "domain = ? and action = ? and target is ? and trust = ?"
_NEWEST = "order by depth desc, date desc, sha desc"
_FEW = 20
_SHELVED = "select id, kind, tokens, domain, status, roles, stages, blob from skill"
_IN_DOMAIN = "(domain is null or domain = ?)"
_EVERY_OUTCOME = "select id from outcome"


def _reached(start: Ref, sources: Mapping[Ref, Sequence[Ref]]) -> set[Ref]:
    """What a record comes of, step by step."""
    found: set[Ref] = set()
    left = [start]
    while left:
        new = set(sources[left.pop()]) - found
        found |= new
        left += new
    return found


def _file(path: str, data: bytes | None) -> File | None:
    if data is None:
        return None
    return blob_id(data), parsed(path, data) if layout.ref_of(path) else None


def _found(where: str) -> str:
    return f"{_FILES} join outcome o on f.n = o.n {where and 'where ' + where}"


def _group(outcome: Outcome) -> str:
    return f"domain = ? and action = ? and {_SEEN[outcome.trust]}"


def _group_values(outcome: Outcome) -> list[Any]:
    return [outcome.domain, outcome.decision.action]


def _place(outcome: Outcome) -> list[Any]:
    return [*outcome.subject, outcome.trust, micros(outcome.occurred_at), outcome.id]


def ref_from(key: str) -> Ref:
    """The address that `<kind>:<id>` is."""
    kind, _, record_id = key.partition(":")
    return Ref(cast("RecordKind", kind), record_id)
