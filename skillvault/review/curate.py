"""Carry out a person's decisions about skills, each as one commit in the person's name.

`learning.curate` makes the changes; `memory` decides about the rules that a person stated.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from skillvault.inspect import lookup
from skillvault.learning import curate
from skillvault.learning.lint import is_clean
from skillvault.loop import next_versions, rejected_skills, run
from skillvault.loop.clock import clock
from skillvault.loop.follow import links_of
from skillvault.loop.profiles import rules_of
from skillvault.model import codec, integrity
from skillvault.model.change import SHARED
from skillvault.model.errors import BadInputError, UsageError
from skillvault.model.records import Ref, ShelfSkill, Skill
from skillvault.review import commits, installing
from skillvault.review.skill_sources import source_root, split_address
from skillvault.vault import arguments
from skillvault.vault.commit import files
from skillvault.vault.commit.publish import StagedChange
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layout, redact

if TYPE_CHECKING:
    from skillvault.learning.lint import Finding
    from skillvault.model.change import Change
    from skillvault.model.policy import Policy


_OPTIONAL_KEYS = ("domain", "created", "expires", "subject", "account", "retired", "trial")
_MAX_QUOTED = 60  # characters of a value that is quoted


def clean_skill(skill: Skill) -> Skill:
    """Return a skill without secrets and hidden characters, with a one-line description.

    Empty optional values become None. Raise UsageError for a value of a wrong type.
    """
    try:
        values: dict[str, Any] = redact.redact_value(msgspec.to_builtins(skill))
        values["name"] = arguments.one_text("the name of a skill", skill.name).replace("_", "-")
        for key in ("tags", "roles", "stages"):
            values[key] = arguments.tag_list(key, values[key])
        new_skill = msgspec.convert(values, Skill)
    except msgspec.ValidationError as error:
        raise UsageError(f"{skill.name!s}: {error}; correct the value") from None
    defaults = {key: None for key in _OPTIONAL_KEYS if not getattr(new_skill, key)}
    description = " ".join(new_skill.description.split())
    return msgspec.structs.replace(
        new_skill, **defaults, description=description, body=new_skill.body.strip()
    )


def check_round_trip(change: StagedChange, skill: Skill) -> None:
    """Raise UsageError if a skill is invalid or changes when its file is read."""
    ((path, content),) = change.files.items()
    try:
        decoded = codec.decode(Ref("skill", skill.name), content or b"")
    except BadInputError as error:
        raise UsageError(f"{skill.name}: cannot be read once written: {error.message}") from None
    for field in skill.__struct_fields__:
        value, copy = getattr(skill, field), getattr(decoded, field)
        if value != copy:
            raise UsageError(
                f"{skill.name}: {field}: {_quote(value)} would be read as {_quote(copy)}; give "
                "what a skill's file can hold"
            )
    records = integrity.VaultRecords(
        records={path: decoded}, existing=frozenset(), strays=(), removed=lambda _: None
    )
    for problem in integrity.find_problems(records):
        raise UsageError(f"{skill.name}: {problem.message}")


def parse_edited(name: str, content: bytes) -> Skill:
    """Return a proposal as a person edited it; BadInputError if the skill is not valid."""
    record = codec.decode(Ref("skill", name), content)
    if not isinstance(record, Skill):
        raise BadInputError(f"{name}: is not a skill; restore its front matter", code="no-skill")
    return msgspec.structs.replace(record, name=name)


def is_below(url: str, source: str) -> bool:
    """Return True if a skill comes from this source or a folder of it; "" is any source."""
    _, address = split_address(url)
    is_prefix = not source or ("#" in source and source.endswith(":"))  # `REPOSITORY#REF:`
    return address == source or address.startswith(
        source if is_prefix else (f"{source}/", f"{source}#")
    )


def _quote(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…"


class Curator:
    """Carries out a person's decisions about the skills of a vault.

    `clock` gives the time of a decision. `layer_skill` returns the skill that another layer (the
    package or a shared folder) has under a name; see `Shelf.layer_skill`.
    """

    def __init__(
        self,
        store: Store,
        clock: Callable[[], datetime],
        layer_skill: Callable[[str], ShelfSkill | None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._layer_skill = layer_skill

    @cached_property
    def installer(self) -> "installing.Installer":
        """The installer of other people's skills and of the package's skills."""
        return installing.Installer(self._store, self._clock)

    def put(self, skill: Skill, *, now: datetime | None = None, dry: bool = False) -> "run.Report":
        """Write a skill into skills/ with one commit, as a new file or over the existing skill.

        In an existing file only the lines that differ change; without a difference there is no
        commit. Empty values of `skill` are cleared; status, origin and trust stay. Raise UsageError
        for a skill that is invalid or changes when it is read back, UncommittedEditError if a
        person is editing the file.
        """
        skill = clean_skill(skill)
        if not dry:
            self._store.recover()
        old_skill, folder = None, "skills"
        snapshot = self._store.snapshot()
        if Ref("skill", skill.name) in snapshot.records:
            old_skill, path = lookup.read_skill(self._store, skill.name)
            folder = layout.top_folder(path)
        else:
            self._check_no_former_name(skill.name)
        change = curate.put(skill, old_skill, folder)
        if change is None:
            return run.Report()
        result = curate.apply_put(skill, old_skill)
        if folder == "proposed":  # the store marks its skills
            result = msgspec.structs.replace(result, internal=True)
        check = partial(check_round_trip, skill=result)
        return self._commit([change], now, dry=dry, base=snapshot.commit, check=check)

    def approve(
        self,
        *names: str,
        texts: Mapping[str, str] = MappingProxyType({}),
        now: datetime | None = None,
        dry: bool = False,
    ) -> "run.Report":
        """Approve proposed skills in one commit; a next version replaces the approved one.

        `texts` are files that the person edited, by skill; they are committed with the approval.
        """

        def approve_change(skill: Skill, folder: str) -> "Change":
            content = texts[skill.name].encode() if skill.name in texts else None
            new_skill = skill if content is None else parse_edited(skill.name, content)
            return self._approve_change(new_skill, folder, content)

        edits = [curate.edit(name, texts[name]) for name in names if name in texts]
        return self._decide_all(names, approve_change, now, dry=dry, edits=edits)

    def select_proposals(self, source: str = "", *, clean: bool = False) -> list[str]:
        """Return the names of the proposals from a source, or from below it.

        With `clean`, only proposals in which the lint finds at most links.
        """
        snapshot = self._store.snapshot()
        origins = installing.find_origins(snapshot)
        urls = {
            name: origins[name].url if name in origins else ""
            for name in sorted(snapshot.skills.proposed)
        }
        names = [name for name, url in urls.items() if is_below(url, source)]
        lint = partial(installing.lint_proposed, self._store, snapshot)
        return [name for name in names if not clean or is_clean(lint(name))]

    def select_alike(self, name: str) -> tuple[list[str], list[str]]:
        """Return the clean and the other proposals from the source of a proposal.

        Skills that were learned here are alike if their kind and domain are equal.
        """
        snapshot = self._store.snapshot()
        origins = installing.find_origins(snapshot)
        keys = {
            proposal: source_root(origins[proposal].url)
            if proposal in origins
            else (skill.kind, skill.domain)
            for proposal, skill in snapshot.skills.proposed.items()
        }
        clean_names, flagged = list[str](), list[str]()
        for proposal in sorted(proposal for proposal in keys if keys[proposal] == keys.get(name)):
            findings = installing.lint_proposed(self._store, snapshot, proposal)
            (clean_names if is_clean(findings) else flagged).append(proposal)
        return clean_names, flagged

    def approval(self, name: str) -> "Change":
        """Return the change that approves a proposed skill."""
        return self._approve_change(*self._find_skill(name))

    def reject(
        self, *names: str, reason: str, now: datetime | None = None, dry: bool = False
    ) -> "run.Report":
        """Remove proposed skills in one commit; similar skills are not proposed again."""

        def reject_change(skill: Skill, folder: str) -> "Change":
            snapshot = self._store.snapshot()
            next_versions.check_no_waiting_version(snapshot, skill.name, "reject")
            paths = rejected_skills.paths_of(snapshot, folder, skill.name)
            return curate.reject(skill, folder, reason, paths)

        return self._decide_all(names, reject_change, now, dry=dry)

    def forget(self, name: str, *, now: datetime | None = None, dry: bool = False) -> "run.Report":
        """Withdraw a rejection: the skill waits again, similar skills may be proposed."""
        skill = rejected_skills.read_rejected_skill(self._store, name.replace("_", "-"))
        return self._commit([curate.forget(*skill)], now, dry=dry)

    def lint(self, name: str) -> "list[Finding] | None":
        """Return the findings to read before approving an installed skill.

        None for any other skill.
        """
        snapshot, name = self._store.snapshot(), name.replace("_", "-")
        skill = snapshot.skills.proposed.get_many([name]).get(name)
        if skill is None or skill.origin != "installed":
            return None
        return installing.lint_proposed(self._store, snapshot, name)

    def retire(self, name: str, *, now: datetime | None = None, dry: bool = False) -> "run.Report":
        """Move a skill to archive/; add a skill of another layer to `shelf.hidden`."""
        return self._decide(
            name, self._retire_change, now, dry=dry, change_layer=curate.hide_in_layer
        )

    def pin(self, name: str, *, now: datetime | None = None, dry: bool = False) -> "run.Report":
        """Keep a skill despite poor evidence and age.

        A skill of another layer is added to `shelf.pinned`.
        """
        return self._decide(name, curate.pin, now, dry=dry, change_layer=curate.pin_in_layer)

    def restore(self, name: str, *, now: datetime | None = None, dry: bool = False) -> "run.Report":
        """Move an archived skill back to skills/, with a new time to live; unpin a pinned one.

        A skill of another layer is no longer hidden or pinned.
        """
        now = now or self._clock()
        make_change = partial(self._restore_change, now=now)
        return self._decide(name, make_change, now, dry=dry, change_layer=curate.restore_in_layer)

    def create(
        self,
        name: str,
        *,
        domain: str | None = None,
        description: str = "",
        commit: bool = False,
        now: datetime | None = None,
        dry: bool = False,
    ) -> "run.Report":
        """Write the draft of a person's skill; with `commit` it is committed and served now.

        Raise UsageError for a name that cannot be used or a domain that does not exist.
        """
        self._check_name_is_free(name)
        self._store.snapshot().check_domain(domain)
        skill = clean_skill(curate.draft_skill(name, domain, description))
        if commit or dry:
            return self.put(skill, now=now, dry=dry)
        folder = self._store.git.dirs()[0] / "skillvault" / "drafts"
        content = self._store.encode_record(skill)
        files.write_file(self._store.root, skill.path, content, folder, mode=None, replace=False)
        return run.Report()

    def rename(
        self, name: str, new_name: str, *, now: datetime | None = None, dry: bool = False
    ) -> "run.Report":
        """Rename a skill; its history, links and uses stay.

        Raise UsageError for a name that cannot be used, and for a skill of another layer.
        """
        layer_skill = self._layer_skill(name)
        if layer_skill is not None:
            raise UsageError(
                f"{name}: is not a file of this vault but {layer_skill.path}; rename it there"
            )
        self._check_name_is_free(new_name, name)

        def rename_change(skill: Skill, folder: str) -> "Change":
            snapshot = self._store.snapshot()
            next_versions.check_no_waiting_version(snapshot, skill.name, "approve")
            next_versions.check_is_no_version(snapshot, skill.name)
            return curate.rename(skill, folder, new_name, links_of(snapshot, [skill.name]))

        return self._decide(name, rename_change, now, dry=dry)

    def _approve_change(self, skill: Skill, folder: str, content: bytes | None = None) -> "Change":
        next_versions.check_no_waiting_version(self._store.snapshot(), skill.name, "approve")
        if folder == "proposed" and skill.replaces:
            return next_versions.approval_change(self._store, skill, content)
        return curate.approve(skill, folder)

    def _retire_change(self, skill: Skill, folder: str) -> "Change":
        snapshot = self._store.snapshot()
        next_versions.check_is_no_version(snapshot, skill.name)
        return next_versions.with_versions_removed(snapshot, curate.retire(skill, folder))

    def _restore_change(self, skill: Skill, folder: str, *, now: datetime) -> "Change":
        snapshot = self._store.snapshot()
        starts_at = clock(snapshot, skill.domain, now, rules_of(snapshot.policy)) or now
        return curate.restore(skill, folder, now=starts_at, policy=snapshot.policy)

    def _find_skill(self, name: str) -> tuple[Skill, str]:
        """Return a skill of the vault, named by its own folder, and its top folder."""
        skill, path = lookup.read_skill(self._store, name)
        # A skill is identified by its folder, even if its front matter has another name.
        return msgspec.structs.replace(skill, name=Path(path).parent.name), layout.top_folder(path)

    def _decide_all(
        self,
        names: Iterable[str],
        make_change: "Callable[[Skill, str], Change]",
        now: datetime | None,
        *,
        dry: bool,
        edits: "Sequence[Change]" = (),
    ) -> "run.Report":
        """Commit one decision about several skills, and edits of them, together."""
        if not dry:
            self._store.recover()
        base = self._store.snapshot().commit
        decisions = [make_change(*self._find_skill(name)) for name in dict.fromkeys(names)]
        changes = [
            msgspec.structs.replace(change, commit_with=SHARED) for change in (*edits, *decisions)
        ]
        return self._commit(changes, now, dry=dry, base=base)

    def _check_name_is_free(self, name: str, renamed: str | None = None) -> None:
        """Raise UsageError for an invalid name, or the name of another skill than `renamed`."""
        curate.check_name(name)
        snapshot = self._store.snapshot()
        path = snapshot.records.path_of(Ref("skill", name))
        layer_skill = self._layer_skill(name)
        if path is None and layer_skill is not None:
            path = layer_skill.path
        if path is None and (self._store.root / layout.skill_path(name)).exists():
            path = layout.skill_path(name)
        if path is not None:
            raise UsageError(f"{name}: is the name of {path}; choose another")
        self._check_no_former_name(name, renamed)

    def _check_no_former_name(self, name: str, renamed: str | None = None) -> None:
        """Raise UsageError for a former name of another skill than `renamed`."""
        skill_name = self._store.snapshot().history.former_names().get(name)
        if skill_name not in (None, renamed):
            raise UsageError(f"{name}: is a former name of {skill_name}; choose another")

    def _decide(
        self,
        name: str,
        make_change: "Callable[[Skill, str], Change]",
        now: datetime | None,
        *,
        dry: bool,
        change_layer: "Callable[[str, Policy], Change] | None" = None,
    ) -> "run.Report":
        """Commit one decision about a skill; UncommittedEditError if a person is editing it.

        `make_change` returns the change for a skill of the vault, `change_layer` for a skill of
        another layer.
        """
        if not dry:
            self._store.recover()
        snapshot = self._store.snapshot()
        layer_skill = self._layer_skill(name) if change_layer else None
        if change_layer and layer_skill:
            change = change_layer(layer_skill.skill.name, snapshot.policy)
        else:
            change = make_change(*self._find_skill(name))
        return self._commit([change], now, dry=dry, base=snapshot.commit)

    def _commit(
        self,
        changes: "Sequence[Change]",
        now: datetime | None,
        *,
        dry: bool,
        base: str | None = None,
        check: "Callable[[StagedChange], None] | None" = None,
    ) -> "run.Report":
        if not changes:
            return run.Report()
        now = now or self._clock()
        return run.Report(
            commits.commit_changes(self._store, changes, now, dry=dry, base=base, check=check)
        )
