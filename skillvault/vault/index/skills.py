"""Query skills in any folder and in any layer, and the outcomes that they were made from."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from skillvault.model.errors import GitError
from skillvault.model.records import LEARNED, ExternalUse, Outcome, Ref, Skill, Subject
from skillvault.vault.files.work_tree import parse_record
from skillvault.vault.index.outcomes import HAS_EVALUATION, Outcomes
from skillvault.vault.index.reader import Reader
from skillvault.vault.index.records import Folder
from skillvault.vault.index.rows import COLUMN_HAS_NAME

_STATUS_ROWS = "select s.id, s.folder, s.status, s.domain, s.kind from skill s"
_CANDIDATE_ROWS = "select id, kind, tokens, domain, status, roles, stages, blob, layer from skill"


class SkillRow(NamedTuple):
    """The columns of a skill that a recommendation reads.

    `roles` and `stages` are texts with one name on each line.
    """

    name: str
    kind: str
    tokens: int
    domain: str | None
    status: str
    roles: str
    stages: str
    blob: str
    layer: str


class SkillStatusRow(NamedTuple):
    """The folder, status, domain and kind of a skill."""

    name: str
    folder: str
    status: str
    domain: str | None
    kind: str


class Skills(Folder[Skill]):
    """The skills in skills/ by name. The queries also cover proposed/ and archive/.

    A skill in force is in skills/, or in another layer under a name that skills/ lacks.
    """

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader, "skills", Skill)
        self.proposed = Folder(reader, "proposed", Skill)  # skills that wait for a person
        self.archived = Folder(reader, "archive", Skill)  # expired, superseded and retired skills

    # ── in the folders ───────────────────────────────────────────────────────────────

    def find(self, name: str) -> Skill | None:
        """Return the skill of this name in any folder, or None."""
        folders = (self, self.proposed, self.archived)
        return next((skill for folder in folders if (skill := folder.get(name))), None)

    def live(self, names: Collection[str]) -> dict[str, Skill]:
        """Return the skills with these names that are not in the archive."""
        return {**self.get_many(names), **self.proposed.get_many(names)}

    def names(self, folder: str, domain: str | None = None) -> list[str]:
        """Return the names of the skills in a folder.

        With `domain`, return only the skills of that domain; "" means no domain.
        """
        condition = "" if domain is None else " and coalesce(domain, '') = ?"
        values = [folder] if domain is None else [folder, domain]
        query = f"select id from skill where folder = ?{condition} order by id"
        return self._reader.column(query, values)

    def names_in_folder(self, folder: str, names: Iterable[str]) -> set[str]:
        """Return which of these names are in a folder."""
        # `+folder` makes SQLite search by name, because a folder has more rows.
        query = "select id from skill where +folder = ? and id in {}"
        return set(self._reader.column_matching(query, names, prefix=[folder]))

    def is_name_taken(self, name: str) -> bool:
        """Return True if a skill of this name exists, existed or has links.

        A new skill would inherit the links and rejections of the other skill.
        """
        query = """select exists (select 1 from file where ref_kind = 'skill' and ref_id = ?)
            or exists (select 1 from link where target_kind = 'skill' and target_id = ?)
            or exists (select 1 from trailer
            where ref_kind = 'skill' and ref_id = ? and role = 'target')"""
        return name == LEARNED or bool(self._reader.value(query, [name] * 3))

    def statuses(self, names: Iterable[str]) -> list[SkillStatusRow]:
        """Return the status rows of the existing skills, ordered by name."""
        query = f"{_STATUS_ROWS} where n > 0 and id in {{}} order by id, folder"
        return list(map(SkillStatusRow._make, self._reader.rows_matching(query, names)))

    def unarchived_rows(self, kind: str) -> list[SkillStatusRow]:
        """Return the unarchived skills of a kind that have a subject, ordered by name."""
        query = f"""{_STATUS_ROWS} where folder in ('skills', 'proposed')
            and kind = ? and subject is not null order by id, folder"""
        return list(map(SkillStatusRow._make, self._reader.rows(query, [kind])))

    def without_outcomes(self) -> list[SkillStatusRow]:
        """Return the unarchived skills with a subject but no evaluated outcome, by name."""
        query = f"""{_STATUS_ROWS} where s.folder in ('skills', 'proposed')
            and s.subject is not null and not exists (select 1 from link l join outcome o
            on o.id = l.source_id where l.target_id = s.id and l.target_kind = 'skill'
            and l.source_kind = 'evaluation' and {HAS_EVALUATION}) order by s.id, s.folder"""
        return list(map(SkillStatusRow._make, self._reader.rows(query)))

    def by_subject(self, subject: str) -> list[SkillStatusRow]:
        """Return the skills about a subject in any folder, ordered by name."""
        query = f"{_STATUS_ROWS} where subject = ? and n > 0 order by id, folder"
        return list(map(SkillStatusRow._make, self._reader.rows(query, [subject])))

    def expiring(self, folder: str, latest_end: str, oldest_creation: str) -> list[str]:
        """Return the skills in a folder that expire before `latest_end`.

        Skills without an expiry count if they were created before `oldest_creation`.
        """
        query = """select id from skill where folder = ? and status != 'pinned' and (expires < ?
            or (created < ? and (expires is null or expires not glob '[0-9]*'))) order by id"""
        return self._reader.column(query, [folder, latest_end, oldest_creation])

    def creation_times(self, names: Iterable[str]) -> dict[str, str]:
        """Return the creation time in the file of each skill in skills/ or archive/."""
        query = """select id, coalesce(created, '') from skill
            where folder in ('archive', 'skills') and id in {} order by folder"""
        return dict(self._reader.rows_matching(query, names))

    def read_body(self, name: str, blob: str) -> str:
        """Return the body of a version of a skill, or "" if it cannot be read."""
        try:
            data = self._reader.blobs([blob])[blob]
        except GitError:  # this repository lacks the version
            return ""
        skill = parse_record(f"skills/{name}/SKILL.md", data)
        return skill.body if isinstance(skill, Skill) else ""

    # ── in force ─────────────────────────────────────────────────────────────────────

    def serving(self) -> list[str]:
        """Return the names of the skills in force, sorted."""
        return self._reader.column("select id from skill where serves order by id")

    def with_label(self, column: str, value: str) -> list[str]:
        """Return the names of the skills in force with this role, stage or tag, sorted."""
        query = (
            f"select id from skill where serves and {COLUMN_HAS_NAME.format(column)} order by id"
        )
        return self._reader.column(query, [value])

    def external_uses(self) -> dict[str, ExternalUse]:
        """Return the uses that other tools counted for the skills in force."""
        query = "select id, counted, rate from skill where counted is not null and +serves"
        return {name: ExternalUse(*counts) for name, *counts in self._reader.rows(query)}

    def candidates(self, domain: str | None = None) -> list[SkillRow]:
        """Return the skills in force by name.

        With `domain`, return only the skills of that domain or of no domain.
        """
        condition = "" if domain is None else "and (domain is null or domain = ?)"
        query = f"{_CANDIDATE_ROWS} where serves {condition} order by id, n"
        rows = self._reader.rows(query, [] if domain is None else [domain])
        return list(map(SkillRow._make, rows))

    def candidates_named(self, names: Iterable[str]) -> list[SkillRow]:
        """Return the skills in force that have one of these names."""
        query = f"{_CANDIDATE_ROWS} where +serves and id in {{}} order by id, n"
        return list(map(SkillRow._make, self._reader.rows_matching(query, names)))

    def of_actions(self, domain: str, actions: Iterable[str]) -> set[str]:
        """Return the skills that were made, directly or not, from outcomes of these actions."""
        query = """with recursive made (kind, id) as (
            select 'evaluation', id from outcome where domain = ? and action in {}
            union select l.target_kind, l.target_id
            from link l join made m on l.source_id = m.id and l.source_kind = m.kind
            where l.type != 'contradicted') select id from made where kind = 'skill'"""
        return set(self._reader.column_matching(query, actions, prefix=[domain]))

    def subjects(self, names: Iterable[str]) -> dict[str, str]:
        """Return the subject in the file of each skill in skills/, if there is one."""
        query = """select id, subject from skill
            where +folder = 'skills' and subject is not null and id in {}"""
        return dict(self._reader.rows_matching(query, names))

    def generated_without_subject(self, kind: str, sources: Iterable[Ref]) -> set[str]:
        """Return the skills without a subject that were generated from these sources."""
        query = """select l.target_id from link l join skill s on s.id = l.target_id
            where l.type = 'generated' and l.target_kind = 'skill' and s.subject is null
            and s.n > 0 and s.kind = ? and l.source_kind = ? and l.source_id in {}"""
        return {name for (name,) in self._reader.rows_of(query, sources, prefix=[kind])}

    # ── sources ───────────────────────────────────────────────────────────────────────

    def from_memory(self, name: str) -> bool:
        """Return True if a skill was made from facts."""
        query = """select exists (select 1 from link
            where target_kind = 'skill' and target_id = ? and type = 'derived')"""
        return bool(self._reader.value(query, [name]))

    def source_outcomes(self, names: Iterable[str]) -> dict[str, tuple[Outcome, ...]]:
        """Return the outcomes from which each skill was made, directly or not, oldest first."""
        ids_by_skill = self.source_outcome_ids(names)
        all_ids = dict.fromkeys(key for ids in ids_by_skill.values() for key in ids)
        outcomes = Outcomes(self._reader).get_many(all_ids)
        return {
            name: tuple(
                sorted((outcomes[key] for key in ids if key in outcomes), key=lambda o: o.order)
            )
            for name, ids in ids_by_skill.items()
        }

    def source_subjects(self, names: Iterable[str]) -> dict[str, set[Subject]]:
        """Return the subjects of the outcomes from which each skill was made."""
        ids_by_skill = self.source_outcome_ids(names)
        query = "select id, domain, action, target from outcome where id in {}"
        ids = dict.fromkeys(key for outcome_ids in ids_by_skill.values() for key in outcome_ids)
        rows = self._reader.rows_matching(query, ids)
        subjects = {key: (domain, action, target) for key, domain, action, target in rows}
        return {
            name: {subjects[key] for key in outcome_ids if key in subjects}
            for name, outcome_ids in ids_by_skill.items()
        }

    def source_outcome_ids(self, names: Iterable[str]) -> dict[str, list[str]]:
        """Return the ids of the outcomes from which each skill was made, directly or not."""
        roots = [Ref("skill", name) for name in names]
        sources: dict[Ref, list[Ref]] = {}
        level = dict.fromkeys(roots)
        query = """select target_kind, target_id, source_kind, source_id from link
            where target_kind = ? and target_id in {} and type != 'contradicted'"""
        while level:
            sources |= {ref: [] for ref in level}
            for kind, name, *source in self._reader.rows_of(query, level):
                sources[Ref(kind, name)].append(Ref(*source))
            next_level = dict.fromkeys(ref for target in level for ref in sources[target])
            level = {ref: None for ref in next_level if ref not in sources}
        return {
            root.id: [ref.id for ref in _find_reachable(root, sources) if ref.kind == "evaluation"]
            for root in roots
        }


def _find_reachable(start: Ref, sources: Mapping[Ref, Sequence[Ref]]) -> set[Ref]:
    reached_refs: set[Ref] = set()
    open_refs = [start]
    while open_refs:
        new_sources = set(sources[open_refs.pop()]) - reached_refs
        reached_refs |= new_sources
        open_refs += new_sources
    return reached_refs
