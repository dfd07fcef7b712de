"""What a person decides about skills and facts: one commit each, in the person's name."""

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
from skillvault.loop.registry import AGENDA
from skillvault.model import codec, integrity
from skillvault.model.errors import BadInputError, UsageError
from skillvault.model.records import Ref, ShelfSkill, Skill
from skillvault.review import installing
from skillvault.vault.commit.publish import StagedChange
from skillvault.vault.commit.store import Store
from skillvault.vault.disk import pause_on_disk_errors
from skillvault.vault.files import layout, redact

if TYPE_CHECKING:
    from skillvault.model.change import Change
    from skillvault.model.policy import Policy


_OPTIONAL = ("domain", "created", "expires", "subject", "account", "retired", "trial")
_LONGEST = 60  # characters of a value that is quoted


def cleaned(skill: Skill) -> Skill:
    """A skill without secrets and hidden characters, its description in one line, "" as None.

    UsageError if it has a value of another type than its field.
    """
    try:
        values: dict[str, Any] = redact.redact_value(msgspec.to_builtins(skill))
        clean = msgspec.convert(values, Skill)
    except msgspec.ValidationError as error:
        raise UsageError(f"{skill.name!s}: {error}; correct the value") from None
    empty = {key: None for key in _OPTIONAL if not getattr(clean, key)}
    description = " ".join(clean.description.split())
    return msgspec.structs.replace(clean, **empty, description=description, body=clean.body.strip())


def check_read_back(staged: StagedChange, skill: Skill) -> None:
    """UsageError if the file that a skill becomes is not read as that skill, or is no good one."""
    ((path, content),) = staged.files.items()
    try:
        decoded = codec.decode(Ref("skill", skill.name), content or b"")
    except BadInputError as error:
        raise UsageError(f"{skill.name}: cannot be read once written: {error.message}") from None
    for field in skill.__struct_fields__:
        given, read = getattr(skill, field), getattr(decoded, field)
        if given != read:
            raise UsageError(
                f"{skill.name}: {field}: {_quoted(given)} would be read as {_quoted(read)}; give "
                "what a skill's file can hold"
            )
    view = integrity.VaultRecords(
        records={path: decoded}, existing=frozenset(), strays=(), removed=lambda _: None
    )
    for problem in integrity.problems(view):
        raise UsageError(f"{skill.name}: {problem.message}")


def _quoted(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


class Curator:
    """The decisions about the skills of a vault; `clock` says when one is made by default.

    `beside` gives the skill that a package or a folder has under a name; see `Shelf.beside`.
    """

    def __init__(
        self,
        store: Store,
        clock: Callable[[], datetime],
        beside: Callable[[str], ShelfSkill | None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._beside = beside

    @cached_property
    def installer(self) -> "installing.Installer":
        """What brings in skills of other people, and the package's own as files."""
        return installing.Installer(self._store, self._clock)

    def put(self, skill: Skill, *, now: datetime | None = None, dry: bool = False) -> "run.Report":
        """Write a skill into skills/, new or over the one of its name, with one commit.

        Of a file that is there only what differs changes; if nothing does no commit is made. What
        the skill leaves empty is cleared there; its status, origin and trust stay. Secrets and
        hidden characters leave it. UsageError for what is no skill or would not be read back as it
        was given, EditedError if a person is editing it.
        """
        skill = cleaned(skill)
        if not dry:
            self._store.recover()
        old, shelf = self._standing(skill.name)
        change = rules.put(skill, old, shelf)
        if change is None:
            return run.Report()
        check = partial(check_read_back, skill=rules.apply_put(skill, old))
        return decide(self._store, change, now or self._clock(), dry=dry, check=check)

    def _standing(self, name: str) -> tuple[Skill | None, str]:
        """(the skill of this name, its folder); SkillvaultError if its file cannot be read."""
        if self._store.head().records.path_of(Ref("skill", name)) is None:
            return None, "skills"
        skill, path = lookup.read_skill(self._store, name)
        return skill, layout.shelf_of(path)

    def approve(self, name: str, *, now: datetime | None = None, dry: bool = False) -> "run.Report":
        """Let a proposed skill in, or the next version of an approved one take its place."""
        return self._decide(name, self._approved, now, dry=dry)

    def approval(self, name: str) -> "Change":
        """What letting a proposed skill in changes."""
        skill, path = lookup.read_skill(self._store, name)
        named = msgspec.structs.replace(skill, name=Path(path).parent.name)
        return self._approved(named, layout.shelf_of(path))

    def reject(
        self, name: str, reason: str, *, now: datetime | None = None, dry: bool = False
    ) -> "run.Report":
        """Take a proposed skill away; nothing that says the same is made again."""

        def rejected(skill: Skill, shelf: str) -> "Change":
            head = self._store.head()
            next_versions.check_no_waiting_version(head, skill.name, "reject")
            paths = refusing.paths_of(head, shelf, skill.name)
            return rules.reject(skill, shelf, reason, paths)

        return self._decide(name, rejected, now, dry=dry)

    def forget(self, name: str, *, now: datetime | None = None, dry: bool = False) -> "run.Report":
        """Take the rejection of a skill back: it waits again, and what is like it is due."""
        change = rules.forget(*refusing.find_rejected(self._store, name.replace("_", "-")))
        return decide(self._store, change, now or self._clock(), dry=dry)

    def lint(self, name: str) -> list[str]:
        """What a person should look at before approving an installed skill, a line each."""
        return installing.lint_of_waiting(self._store, name.replace("_", "-"))

    def _approved(self, skill: Skill, shelf: str) -> "Change":
        next_versions.check_no_waiting_version(self._store.head(), skill.name, "approve")
        if shelf == "proposed" and skill.replaces:
            return next_versions.approval(self._store, skill)
        return rules.approve(skill, shelf)

    def retire(self, name: str, *, now: datetime | None = None, dry: bool = False) -> "run.Report":
        """Take a skill out of service, into archive/; one of another layer by `shelf.hidden`."""
        return self._decide(name, self._retired, now, dry=dry, other=rules.retire_beside)

    def _retired(self, skill: Skill, shelf: str) -> "Change":
        """With a skill goes the version that would have taken its place."""
        head = self._store.head()
        next_versions.check_is_no_version(head, skill.name)
        return next_versions.with_versions_removed(head, rules.retire(skill, shelf))

    def pin(self, name: str, *, now: datetime | None = None, dry: bool = False) -> "run.Report":
        """Keep a skill whatever its evidence and age; one of another layer by `shelf.pinned`."""
        return self._decide(name, rules.pin, now, dry=dry, other=rules.pin_beside)

    def restore(self, name: str, *, now: datetime | None = None, dry: bool = False) -> "run.Report":
        """Bring an archived skill back, its time to live starts again.

        One of another layer is hidden and pinned no more.
        """
        now = now or self._clock()
        other = rules.restore_beside
        return self._decide(name, partial(self._restored, now=now), now, dry=dry, other=other)

    def _restored(self, skill: Skill, shelf: str, *, now: datetime) -> "Change":
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
        other: "Callable[[str, Policy], Change] | None" = None,
    ) -> "run.Report":
        """One decision about a skill; EditedError if a person is editing it.

        `other` decides about one that is no file of the vault.
        """
        if not dry:
            self._store.recover()
        beside = self._beside(name) if other else None
        if other and beside:
            change = other(beside.skill.name, self._store.head().policy)
        else:
            skill, path = lookup.read_skill(self._store, name)
            # The folder is the name that all else goes by, whatever the front matter says.
            named = msgspec.structs.replace(skill, name=Path(path).parent.name)
            change = act(named, layout.shelf_of(path))
        return decide(self._store, change, now or self._clock(), dry=dry)


def decide(
    store: Store,
    change: "Change",
    now: datetime,
    *,
    dry: bool,
    check: "Callable[[StagedChange], None] | None" = None,
) -> "run.Report":
    """Make one change that a person asked for; `check` raises for what may not be written."""
    if dry:
        store = Store(store.root, AGENDA, apart=True)
    store.follow()
    policy, base = store.staging.policy, store.staging.commit
    try:
        staged = store.stage(change)
        if check:
            check(staged)
        if dry:
            store.check_free(staged)
            return run.Report(done=[run.ChangeResult(staged.change, None)])
        with pause_on_disk_errors():
            (commit,) = store.apply([staged], base, now=now, policy=policy)
    finally:
        store.roll_back()
    return run.Report(done=[run.ChangeResult(staged.change, commit)])
