"""Query the commits of the branch, and the records that they made, changed and removed."""

import json
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, date, datetime, timedelta

from skillvault.model.change import REVERT
from skillvault.model.records import Commit, Ref
from skillvault.vault.index.reader import Topic
from skillvault.vault.index.rows import Row

_NEWEST = "order by depth desc, date desc, sha desc"
# `+c.step` keeps a query from looking up all commits of a step before the few of a record.
# A commit may have thousands of links and sources.
_IS_TARGET = "role = 'target' and ref_kind != 'link'"


class History(Topic):
    """The queries about commits."""

    def former_names(self) -> dict[str, str]:
        """Return the current name of each skill by its former names.

        A former name that another skill has now is left out.
        """
        query = "select id, formerly from skill where formerly != '' and n > 0 order by id desc"
        rows = self._reader.rows(query)
        skill_by_alias = {alias: name for name, names in rows for alias in names.split("\n")}
        query = "select id from skill where n > 0 and id in {}"
        for name in self._reader.column_matching(query, skill_by_alias):
            del skill_by_alias[name]
        return skill_by_alias

    def add_former_names(self, refs: Iterable[Ref]) -> list[Ref]:
        """Return these records, and each skill also under its former names."""
        refs = list(dict.fromkeys(refs))
        skill_names = {ref.id for ref in refs if ref.kind == "skill"}
        former_names = self.former_names() if skill_names else {}
        aliases = [alias for alias, name in former_names.items() if name in skill_names]
        return [*refs, *(Ref("skill", alias) for alias in aliases)]

    def log(self, limit: int | None = None) -> list[Commit]:
        """Return the parts of the program's last `limit` commits, newest first."""
        shas = f"select distinct sha, depth, date from commits where step != '' {_NEWEST} limit ?"
        query = f"select c from commits where sha in (select sha from ({shas}))"
        return self._commits(self._reader.rows(query, [-1 if limit is None else limit]))

    def touched_refs(self, sha: str) -> list[Ref]:
        """Return the records whose files a commit changes, sorted."""
        query = """select distinct t.ref_kind, t.ref_id
            from commits c join touch t on t.c = c.c where c.sha = ? order by 1, 2"""
        return [Ref(kind, name) for kind, name in self._reader.rows(query, [sha])]

    def parts_of(self, sha: str) -> list[Commit]:
        """Return the parts of a commit, one for each step. A person's commit has the step ""."""
        return self._commits(self._reader.rows("select c from commits where sha = ?", [sha]))

    def commits_of_step(self, *steps: str) -> list[Commit]:
        """Return the commits of these steps, newest first."""
        query = "select c from commits where step in {}"
        return self._commits(self._reader.rows_matching(query, steps))

    def without_source(self, steps: Collection[str]) -> list[Commit]:
        """Return the commits of these steps that have targets but no sources, newest first."""
        query = """select c from commits m where step in {}
            and exists (select 1 from trailer t where t.c = m.c and t.role = 'target')
            and not exists (select 1 from trailer t where t.c = m.c and t.role = 'source')"""
        return self._commits(self._reader.rows_matching(query, steps))

    def since(self, at: datetime) -> list[Commit]:
        """Return the parts of the commits since a time, newest first.

        The program's commits have one part for each step. A person's commit has the step "".
        """
        margin = at.astimezone(UTC) - timedelta(days=1)  # a date is in its committer's time zone
        query = "select c, date from commits where date >= ?"
        dated_rows = self._reader.rows(query, [margin.date().isoformat()])
        return self._commits((c,) for c, date in dated_rows if datetime.fromisoformat(date) >= at)

    def touches_of_kind(self, kind: str) -> list[tuple[str, str, str, str, str]]:
        """Return (id, commit, date, step, subject) for each change of a record, newest first."""
        query = f"""select t.ref_id, c.sha, c.date, c.step, c.subject
            from touch t join commits c on c.c = t.c where t.ref_kind = ? {_NEWEST}"""
        return self._reader.rows(query, [kind])

    def makers(self, refs: Iterable[Ref]) -> dict[Ref, str]:
        """Return for each record the first commit of the program that made it."""
        query = f"""select t.ref_kind, t.ref_id, c.sha from trailer t join commits c on c.c = t.c
            where t.ref_kind = ? and t.ref_id in {{}} and t.role = 'target' {_NEWEST}"""
        return {Ref(kind, name): sha for kind, name, sha in self._reader.rows_of(query, refs)}

    def commits_touching(self, refs: Iterable[Ref]) -> list[Commit]:
        """Return every commit that touches these records, newest first.

        Commits of persons count, too. The commits have no sources and no links.
        """
        query = "select c from touch where ref_kind = ? and ref_id in {}"
        return self._commits(self._reader.rows_of(query, self.add_former_names(refs)), _IS_TARGET)

    def commits_changing(self, ref: Ref) -> list[Commit]:
        """Return the program's commits that made or changed a record, newest first.

        The commits have no sources and no links.
        """
        return self._commits(self._rows_naming(ref, "target"), _IS_TARGET)

    def commits_using(self, ref: Ref) -> list[Commit]:
        """Return the program's commits that have a record as a source, newest first."""
        return self._commits(self._rows_naming(ref, "source"))

    def _rows_naming(self, ref: Ref, role: str) -> list[Row]:
        query = f"select c from trailer where role = '{role}' and ref_kind = ? and ref_id in {{}}"
        return list(self._reader.rows_of(query, self.add_former_names([ref])))

    def commits_of_removed(self) -> list[Commit]:
        """Return the commits that made records which no longer exist, newest first."""
        query = """select distinct t.c from gone g cross join trailer t
            on t.ref_kind = g.ref_kind and t.ref_id = g.ref_id and t.role = 'target'"""
        return self._commits(self._reader.rows(query))

    def withdrawals(self, step: str) -> set[Ref]:
        """Return the missing records that a commit of this step removed last."""
        missing_refs = (Ref(*row) for row in self._reader.rows("select ref_kind, ref_id from gone"))
        query = "select sha from commits where step = ?"
        step_commits = set(self._reader.column(query, [step]))
        mentions = self.last_mentions(missing_refs) if step_commits else {}
        last_uses = {ref: sha for ref, (sha, role) in mentions.items() if role == "source"}
        return {ref for ref, sha in last_uses.items() if sha in step_commits}

    def first_touches(self, skills: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Return (commit, step) of the first commit that touches each skill."""
        query = f"""select t.ref_id, c.sha, c.step from touch t join commits c on c.c = t.c
            where t.ref_kind = 'skill' and t.ref_id in {{}} {_NEWEST}"""
        rows = self._reader.rows_matching(query, skills)
        return {name: (sha, step) for name, sha, step in rows}

    def skills_touched_twice(self, skills: Iterable[str]) -> list[str]:
        """Return the skills that more than one commit touches."""
        query = """select ref_id from touch where ref_kind = 'skill' and ref_id in {}
            group by ref_id having count(*) > 1"""
        return self._reader.column_matching(query, skills)

    def targets_of_day(self, step: str, day: date) -> set[Ref]:
        """Return the records that a step made on a day (UTC), even if they no longer exist."""
        earliest_day = day - timedelta(days=1)  # a commit's date is in its committer's time zone
        query = "select c, date from commits where step = ? and date >= ?"
        dated_commits = self._reader.rows(query, [step, earliest_day.isoformat()])
        days = {c: datetime.fromisoformat(at).astimezone(UTC).date() for c, at in dated_commits}
        day_commits = [c for c, commit_day in days.items() if commit_day == day]
        query = "select ref_kind, ref_id from trailer where role = 'target' and c in {}"
        return {Ref(kind, name) for kind, name in self._reader.rows_matching(query, day_commits)}

    def source_ids(self, step: str, ref: Ref) -> set[str]:
        """Return the sources of the commits in which a step made or changed a record."""
        query = """select distinct s.ref_id from trailer t
            join commits c on c.c = t.c and +c.step = ?
            join trailer s on s.c = t.c and s.role = 'source'
            where t.ref_kind = ? and t.ref_id = ? and t.role = 'target'"""
        return set(self._reader.column(query, [step, ref.kind, ref.id]))

    def last_mentions(self, refs: Iterable[Ref]) -> dict[Ref, tuple[str, str]]:
        """Return (commit, `source` or `target`) of the last commit that names each record."""
        query = """select t.ref_kind, t.ref_id, c.sha, t.role from trailer t join commits c
            on c.c = t.c where t.ref_kind = ? and t.ref_id in {} order by c.depth, c.date, c.sha"""
        rows = self._reader.rows_of(query, refs)
        return {Ref(kind, name): (sha, role) for kind, name, sha, role in rows}

    def find_known(self, refs: Iterable[Ref]) -> set[Ref]:
        """Return the records that the vault has or had, unless their arrival was undone last."""
        return self.last_mentions(refs).keys() - self.withdrawals(REVERT)

    def last_step(self, ref: Ref, steps: Collection[str]) -> str | None:
        """Return which of these steps made or changed a record last, or None."""
        query = f"""select c.step from trailer t join commits c on c.c = t.c where t.ref_kind = ?
            and t.ref_id in (select value from json_each(?)) and t.role = 'target'
            and +c.step in ({", ".join("?" * len(steps))}) {_NEWEST} limit 1"""
        ref_ids = json.dumps([named_ref.id for named_ref in self.add_former_names([ref])])
        step: str | None = self._reader.value(query, [ref.kind, ref_ids, *steps])
        return step

    def targets_of(self, step: str, kind: str, sources: Iterable[Ref]) -> Iterator[tuple[str, str]]:
        """Yield (source id, id of an existing record that a step made from it), newest first."""
        query = f"""select s.ref_id, t.ref_id from trailer s
            join commits c on c.c = s.c and +c.step = ?
            join trailer t on t.c = s.c and t.role = 'target' and t.ref_kind = ?
            and exists (select 1 from file f where f.ref_kind = t.ref_kind and f.ref_id = t.ref_id)
            where s.role = 'source' and s.ref_kind = ? and s.ref_id in {{}} {_NEWEST}"""
        yield from self._reader.rows_of(query, sources, prefix=[step, kind])

    def _commits(self, rows: Iterable[Row], condition: str = "true") -> list[Commit]:
        """Return the commits with these row numbers, newest first.

        `condition` selects the trailers that they get.
        """
        numbers = {number for (number,) in rows}
        refs: dict[tuple[int, str], list[str]] = {}
        query = f"""select c, role, ref_kind, ref_id from trailer where {condition} and c in {{}}
            order by c, role, position"""
        for number, role, kind, name in self._reader.rows_matching(query, numbers):
            refs.setdefault((number, role), []).append(f"{kind}:{name}")
        query = "select depth, date, sha, c, step, subject from commits where c in {}"
        return [
            Commit(
                sha, step, subject, date,
                tuple(refs.get((number, "source"), ())), tuple(refs.get((number, "target"), ())),
            )
            for _, date, sha, number, step, subject in sorted(
                self._reader.rows_matching(query, numbers), reverse=True
            )
        ]  # fmt: skip
