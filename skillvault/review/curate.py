"""The decisions of a person about skills and facts: one commit each, in the person's name."""

from collections.abc import Callable
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from skillvault.inspect import lookup
from skillvault.learning import curate as rules
from skillvault.loop import next_versions, run
from skillvault.loop import refusals as refusing
from skillvault.loop.clock import clock
from skillvault.loop.profiles import rules_of
from skillvault.model import codec, integrity
from skillvault.model.change import WHOLE
from skillvault.model.errors import BadInputError, UsageError
from skillvault.model.records import Ref, ShelfSkill, Skill
from skillvault.review import commits, installing
from skillvault.vault.commit.publish import StagedChange
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layout, redact

if TYPE_CHECKING:
    from skillvault.model.change import Change
    from skillvault.model.policy import Policy


_OPTIONAL = ("domain", "created", "expires", "subject", "account", "retired", "trial")
_LONGEST = 60  # characters of a value that is quoted


def clean_skill(skill: Skill) -> Skill:
    """Return a skill without secrets and hidden characters, its description in one line.

    Empty optional values become None. UsageError for a value of another type than its field.
    """
    try:
        values: dict[str, Any] = redact.redact_value(msgspec.to_builtins(skill))
        clean = msgspec.convert(values, Skill)
    except msgspec.ValidationError as error:
        raise UsageError(f"{skill.name!s}: {error}; correct the value") from None
    empty = {key: None for key in _OPTIONAL if not getattr(clean, key)}
    description = " ".join(clean.description.split())
    return msgspec.structs.replace(clean, **empty, description=description, body=clean.body.strip())


def check_round_trip(staged: StagedChange, skill: Skill) -> None:
    """Raise UsageError if the file that a skill becomes is read as another skill, or is invalid."""
    ((path, content),) = staged.files.items()
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
    view = integrity.VaultRecords(
        records={path: decoded}, existing=frozenset(), strays=(), removed=lambda _: None
    )
    for problem in integrity.problems(view):
        raise UsageError(f"{skill.name}: {problem.message}")


def is_below(url: str, source: str) -> bool:
    """Return True if a skill's address is a source, or is in it; any is in an empty source."""
    place = url.rpartition(":")[2] if source.startswith("/") else url
    return place == source or place.startswith((f"{source}/", f"{source}#")) or not source


def _quote(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


class Curator:
    """The decisions about the skills of a vault; `clock` says when one is made by default.

    `layer_skill` gives the skill that a package or a folder has under a name; see
    `Shelf.layer_skill`.
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
        """The installer of other people's skills, and of the package's own as files."""
        return installing.Installer(self._store, self._clock)

    def put(self, skill: Skill, *, now: datetime | None = None, dry: bool = False) -> "run.Report":
        """Write a skill into skills/, new or over the one of its name, with one commit.

        Only what differs changes in an existing file; without a difference there is no commit.
        Values that the skill leaves empty are cleared; its status, origin and trust stay.
        UsageError for an invalid skill or one that would be read back as another,
        UncommittedEditError if a person is editing it.
        """
        skill = clean_skill(skill)
        if not dry:
            self._store.recover()
        old_skill, shelf = None, "skills"
        if Ref("skill", skill.name) in self._store.head().records:
            old_skill, path = lookup.read_skill(self._store, skill.name)
            shelf = layout.shelf_of(path)
        change = rules.put(skill, old_skill, shelf)
        if change is None:
            return run.Report()
        check = partial(check_round_trip, skill=rules.apply_put(skill, old_skill))
        return self._commit(change, now, dry=dry, check=check)

    def approve(self, *names: str, now: datetime | None = None, dry: bool = False) -> "run.Report":
        """Approve proposed skills in one commit; a next version replaces the approved one."""
        if not dry:
            self._store.recover()
        changes = [
            msgspec.structs.replace(self.approval(name), commit_with=WHOLE) for name in names
        ]
        now = now or self._clock()
        return run.Report(commits.commit_changes(self._store, changes, now, dry=dry))

    def select_proposals(self, source: str = "", *, clean: bool = False) -> list[str]:
        """Return the names of the proposals that came from a source, or below it.

        `clean`: those in which the lint finds nothing.
        """
        head = self._store.head()
        origins = installing.origins(head)
        urls = {
            name: origins[name].url if name in origins else ""
            for name in sorted(head.skills.proposed)
        }
        names = [name for name, url in urls.items() if is_below(url, source)]
        return [name for name in names if not clean or installing.is_clean(self._store, head, name)]

    def approval(self, name: str) -> "Change":
        """Return the change that approves a proposed skill."""
        skill, path = lookup.read_skill(self._store, name)
        skill = msgspec.structs.replace(skill, name=Path(path).parent.name)
        return self._approve_change(skill, layout.shelf_of(path))

    def reject(
        self, name: str, reason: str, *, now: datetime | None = None, dry: bool = False
    ) -> "run.Report":
        """Remove a proposed skill; nothing that says the same is made again."""

        def reject_change(skill: Skill, shelf: str) -> "Change":
            head = self._store.head()
            next_versions.check_no_waiting_version(head, skill.name, "reject")
            paths = refusing.paths_of(head, shelf, skill.name)
            return rules.reject(skill, shelf, reason, paths)

        return self._decide(name, reject_change, now, dry=dry)

    def forget(self, name: str, *, now: datetime | None = None, dry: bool = False) -> "run.Report":
        """Take the rejection of a skill back: it waits again, and skills like it are due."""
        change = rules.forget(*refusing.find_rejected(self._store, name.replace("_", "-")))
        return self._commit(change, now, dry=dry)

    def lint(self, name: str) -> list[str]:
        """Return what a person should look at before approving an installed skill, a line each."""
        return installing.lint_of_waiting(self._store, name.replace("_", "-"))

    def _approve_change(self, skill: Skill, shelf: str) -> "Change":
        next_versions.check_no_waiting_version(self._store.head(), skill.name, "approve")
        if shelf == "proposed" and skill.replaces:
            return next_versions.approval(self._store, skill)
        return rules.approve(skill, shelf)

    def retire(self, name: str, *, now: datetime | None = None, dry: bool = False) -> "run.Report":
        """Move a skill to archive/; hide one of another layer by `shelf.hidden`."""
        return self._decide(name, self._retire_change, now, dry=dry, layer_act=rules.retire_beside)

    def _retire_change(self, skill: Skill, shelf: str) -> "Change":
        head = self._store.head()
        next_versions.check_is_no_version(head, skill.name)
        return next_versions.with_versions_removed(head, rules.retire(skill, shelf))

    def pin(self, name: str, *, now: datetime | None = None, dry: bool = False) -> "run.Report":
        """Keep a skill whatever its evidence and age; one of another layer by `shelf.pinned`."""
        return self._decide(name, rules.pin, now, dry=dry, layer_act=rules.pin_beside)

    def restore(self, name: str, *, now: datetime | None = None, dry: bool = False) -> "run.Report":
        """Bring an archived skill back and restart its time to live.

        A skill of another layer is no longer hidden or pinned.
        """
        now = now or self._clock()
        act = partial(self._restore_change, now=now)
        return self._decide(name, act, now, dry=dry, layer_act=rules.restore_beside)

    def _restore_change(self, skill: Skill, shelf: str, *, now: datetime) -> "Change":
        head = self._store.head()
        begins = clock(head, skill.domain, now, rules_of(head.policy)) or now
        return rules.restore(skill, shelf, now=begins, policy=head.policy)

    def _decide(
        self,
        name: str,
        act: "Callable[[Skill, str], Change]",
        now: datetime | None,
        *,
        dry: bool,
        layer_act: "Callable[[str, Policy], Change] | None" = None,
    ) -> "run.Report":
        """Commit one decision about a skill; UncommittedEditError if a person is editing it.

        `layer_act` decides about a skill of another layer.
        """
        if not dry:
            self._store.recover()
        layer_skill = self._layer_skill(name) if layer_act else None
        if layer_act and layer_skill:
            change = layer_act(layer_skill.skill.name, self._store.head().policy)
        else:
            skill, path = lookup.read_skill(self._store, name)
            # The folder is the name that all else goes by, whatever the front matter says.
            skill = msgspec.structs.replace(skill, name=Path(path).parent.name)
            change = act(skill, layout.shelf_of(path))
        return self._commit(change, now, dry=dry)

    def _commit(
        self,
        change: "Change",
        now: datetime | None,
        *,
        dry: bool,
        check: "Callable[[StagedChange], None] | None" = None,
    ) -> "run.Report":
        now = now or self._clock()
        return run.Report(commits.commit_changes(self._store, [change], now, dry=dry, check=check))
