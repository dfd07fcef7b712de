"""Check the records of a vault by the rules that are valid in any vault.

A problem is a mistake that must be corrected. A note reports what a person did, such as the removal
of a record that a link names.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from msgspec import Struct

from skillvault.model.aliases import session_id
from skillvault.model.link_lists import LinkList
from skillvault.model.records import (
    LEARNED,
    PROGRAM_ORIGINS,
    Answer,
    Evaluation,
    Fact,
    Link,
    Problem,
    Record,
    Ref,
    Retraction,
    Session,
    Skill,
    question_key,
)
from skillvault.model.text.text import SLUG_ADVICE, is_slug

MAX_DESCRIPTION = 1024
_SKILL_FILE = "SKILL.md"
_INTERNAL_KEY = "metadata.internal"
_KINDS_OF_ENDS = {  # link type -> kinds of its source and target
    "contradicted": ("evaluation", "fact"),
    "distilled": ("session", "skill"),
}


class VaultRecords(Struct, frozen=True, kw_only=True):
    """The content of a vault.

    `records` has the readable records by path, `existing` the address `<kind>:<id>` of every
    record, and `strays` the other paths in record folders. `removed` describes the commit that
    removed a record, or returns None.
    """

    records: Mapping[str, Record | LinkList]
    existing: frozenset[str]
    strays: tuple[str, ...]
    removed: Callable[[Ref], str | None]


def find_problems(vault: VaultRecords) -> Iterator[Problem]:
    """Yield the mistakes that must be corrected."""
    for path in vault.strays:
        yield Problem(path, None, "stray", _stray_message(path))
    for path, record in vault.records.items():
        match record:
            case Skill():
                yield from _check_skill(path, record)
            case Evaluation() | Retraction():
                yield from _check_id(path, "outcome", record.outcome)
            case Session():
                yield from _check_session(path, record)
            case Answer():
                yield from _check_answer(path, record)
            case Fact():
                yield from _check_fact(path, record)
            case LinkList():
                for link in record.links:
                    yield from _check_link(path, link)
    yield from _check_duplicates(vault)
    yield from _check_replacement_cycles(vault)
    yield from (problem for problem, remover in _missing_ends(vault) if remover is None)


def find_notes(vault: VaultRecords) -> Iterator[Problem]:
    """Yield the notes that a reader should see. They need no correction."""
    for problem, remover in _missing_ends(vault):
        if remover is not None:
            yield Problem(problem.path, problem.key, "removed-end", f"{problem.message}; {remover}")
    lists = [record for record in vault.records.values() if isinstance(record, LinkList)]
    linked_refs = {link.target for link_list in lists for link in link_list.links}
    for path, record in vault.records.items():
        match record:
            case LinkList():
                yield from _contradictory_links(path, record)
            case Skill():
                yield from _skill_notes(path, record)
                is_made = record.origin in PROGRAM_ORIGINS and record.name != LEARNED
                # A next version rests on what links to the skill that it replaces, too.
                if is_made and not record.replaces and Ref("skill", record.name) not in linked_refs:
                    yield _no_links(path, f"a {record.origin} skill", f"skill/{record.name}")
            case Fact(kind="judge") if Ref("fact", record.id) not in linked_refs:
                yield _no_links(path, "a judge's fact", f"fact/{record.id}")


def _contradictory_links(path: str, record: LinkList) -> Iterator[Problem]:
    """Yield a note for each fact that one record both supports and contradicts."""
    contradicted_refs = {link.target for link in record.links if link.type == "contradicted"}
    for link in record.links:
        if link.type in ("promoted", "reinforced") and link.target in contradicted_refs:
            message = f"{link.type} and contradicted: {link.target}; delete the line that is wrong"
            yield Problem(path, None, "contradictory-links", message)


def _no_links(path: str, noun: str, address: str) -> Problem:
    message = f"{noun} without links; restore with git the lines that lead to {address}"
    return Problem(path, None, "no-links", message)


def _stray_message(path: str) -> str:
    folder, slash, _ = path.partition("/")
    if not slash:
        return "a file where the vault has a folder; move it elsewhere"
    if folder in ("skills", "proposed", "archive") and path.endswith(".md"):
        return f"a skill needs a folder of its own; move it to {path[:-3]}/{_SKILL_FILE}"
    if folder in ("skills", "proposed", "archive"):
        return f"a skill's folder without a {_SKILL_FILE}; add one or remove the folder"
    return f"not a name that a file below {folder}/ has; move it elsewhere"


def _check_skill(path: str, skill: Skill) -> Iterator[Problem]:
    folder = path.split("/")[1]
    if not is_slug(folder):
        message = f"the folder {folder!r} is not a skill name; {SLUG_ADVICE}"
        yield Problem(path, "name", "bad-name", message)
    if skill.name != folder:
        message = f"name: {skill.name!r} is not the folder's name; write `name: {folder}`"
        yield Problem(path, "name", "name-mismatch", message)
    if len(skill.description) > MAX_DESCRIPTION:
        message = f"description: {len(skill.description)} characters; at most {MAX_DESCRIPTION}"
        yield Problem(path, "description", "too-long", message)
    if skill.domain is not None and not is_slug(skill.domain):
        message = f"metadata.domain: {skill.domain!r} cannot be a folder name; use a slug"
        yield Problem(path, "metadata.domain", "bad-domain", message)
    for key, value in (("created", skill.created), ("expires", skill.expires)):
        if value is not None and not _is_time(value):
            message = f"metadata.{key}: {value!r} is not a time; write 2026-11-20T10:15:00Z"
            yield Problem(path, f"metadata.{key}", "bad-time", message)


def _skill_notes(path: str, skill: Skill) -> Iterator[Problem]:
    folder = path.partition("/")[0]
    if folder == "skills" and skill.status in ("proposed", "retired"):
        message = (
            f"metadata.status: {skill.status}, but the skill is in skills/, so it is served; "
            "correct the status, or move the skill"
        )
        yield Problem(path, "metadata.status", "served", message)
    yield from _internal_key_notes(path, skill)
    if skill.foreign:
        message = (
            f"{', '.join(skill.foreign)}: not in the Agent Skills specification, so a host may "
            "refuse the skill; move it under metadata"
        )
        yield Problem(path, skill.foreign[0], "foreign-key", message)
    if not skill.body:
        yield Problem(path, None, "no-body", "the skill has no text below its front matter")


def _internal_key_notes(path: str, skill: Skill) -> Iterator[Problem]:
    """Yield a note if a host would load an inactive skill or leave out a served one."""
    is_served = path.startswith("skills/")
    if is_served and skill.internal:
        message = "true, so `npx skills` leaves the skill out; remove the key if hosts may load it"
        yield Problem(path, _INTERNAL_KEY, "internal", f"{_INTERNAL_KEY}: {message}")
    if not is_served and not skill.internal:
        message = (
            "not true, so `npx skills` installs what is not served; write `internal: true` under "
            "metadata"
        )
        yield Problem(path, _INTERNAL_KEY, "not-internal", f"{_INTERNAL_KEY}: {message}")


def _file_name(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


def _check_id(path: str, key: str, value: str) -> Iterator[Problem]:
    name = _file_name(path)
    if value != name:
        message = f"{key}: {value!r} is not the file's name; write `{key}: {name}`"
        yield Problem(path, key, "id-mismatch", message)


def _check_session(path: str, session: Session) -> Iterator[Problem]:
    if _file_name(path) != session_id(session.name, session.trust):
        message = f"id: {session.name!r} is not the file's name; restore the file with git"
        yield Problem(path, "id", "id-mismatch", message)
    if not is_slug(session.domain):
        message = f"domain: {session.domain!r} cannot be a folder name; use a slug"
        yield Problem(path, "domain", "bad-domain", message)


def _check_answer(path: str, answer: Answer) -> Iterator[Problem]:
    if answer.id != question_key(answer.kind, answer.subject, answer.material):
        message = (
            "id: does not derive from what was asked; an answer is written once, restore the file"
        )
        yield Problem(path, "id", "id-mismatch", message)


def _check_fact(path: str, fact: Fact) -> Iterator[Problem]:
    name = _file_name(path)
    if not is_slug(name):
        message = f"the file name {name!r} is not an id; {SLUG_ADVICE}"
        yield Problem(path, "id", "bad-name", message)
    yield from _check_id(path, "id", fact.id)
    if fact.review_by is not None and not _is_time(fact.review_by):
        message = f"review_by: {fact.review_by!r} is not a date; write 2026-11-20"
        yield Problem(path, "review_by", "bad-time", message)


def _check_link(path: str, link: Link) -> Iterator[Problem]:
    kinds = (link.source.kind, link.target.kind)
    expected_kinds = _KINDS_OF_ENDS.get(link.type, kinds)
    is_from_origin = link.source.kind == "origin"
    if is_from_origin != (link.type == "installed") or link.target.kind == "origin":
        message = (
            "type: installed leads from an origin to a skill, and nothing else from or to one; "
            "restore the line with git"
        )
        yield Problem(path, "type", "bad-ends", message)
    elif kinds != expected_kinds:
        source, target = (f"{'an' if kind[0] in 'aeio' else 'a'} {kind}" for kind in expected_kinds)
        message = f"type: {link.type} leads from {source} to {target}; restore the line with git"
        yield Problem(path, "type", "bad-ends", message)


def _check_duplicates(vault: VaultRecords) -> Iterator[Problem]:
    paths: dict[tuple[str, str], str] = {}
    for path, record in sorted(vault.records.items()):
        if isinstance(record, LinkList):
            continue
        name = path.split("/")[1] if isinstance(record, Skill) else record.id
        key = (type(record).__name__, name)
        if key in paths:
            key_name = "name" if isinstance(record, Skill) else "id"
            message = f"{key_name}: {name} is in {paths[key]} too; keep one"
            yield Problem(path, key_name, "name-taken", message)
        paths.setdefault(key, path)


def _check_replacement_cycles(vault: VaultRecords) -> Iterator[Problem]:
    """Yield a problem for each fact that is replaced by one of its own older versions."""
    facts = {f.id: (path, f) for path, f in vault.records.items() if isinstance(f, Fact)}
    for fact_id, (path, fact) in facts.items():
        older_ids, older_id = set[str](), fact.supersedes
        while older_id in facts and older_id not in older_ids:
            older_ids.add(older_id)
            older_id = facts[older_id][1].supersedes
        if fact_id in older_ids:
            message = "supersedes: the facts of a cycle replace each other; remove one such line"
            yield Problem(path, "supersedes", "circular", message)


def _missing_ends(vault: VaultRecords) -> Iterator[tuple[Problem, str | None]]:
    """Yield a problem for each link to a missing record, and the commit that removed it."""
    for path, record in vault.records.items():
        ends: list[tuple[str, Ref]] = []
        if isinstance(record, LinkList):
            ends = [("source", link.source) for link in record.links]
            ends += [("target", link.target) for link in record.links]
        elif isinstance(record, Evaluation):
            ends = [("outcome", Ref("outcome", record.outcome))]
        elif isinstance(record, Fact) and record.supersedes:
            ends = [("supersedes", Ref("fact", record.supersedes))]
        for key, ref in dict.fromkeys(ends):
            if ref.kind != "origin" and str(ref) not in vault.existing:
                message = f"{key}: {ref.kind} {ref.id} is not in this vault"
                yield Problem(path, key, "missing-end", message), vault.removed(ref)


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
