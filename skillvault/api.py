"""Vault, the Python door: open a vault, record outcomes, run the loop, ask why.

Everything the command line does, as typed calls. Times default to the wall clock here
and nowhere below. A question loads only the rooms that answer it: each method that needs a
step, a judge, a format or the shelf imports it there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from skillvault.errors import BadInputError, PausedError, SkillvaultError, UsageError
from skillvault.records import (
    IMPORTANCES,
    Commit,
    Fact,
    Importance,
    Problem,
    Record,
    Ref,
    Scalar,
    Skill,
    kind_of,
)
from skillvault.vault import setup
from skillvault.vault.commit.store import Store
from skillvault.vault.disk import guarded
from skillvault.vault.files import layout
from skillvault.vault.files.arrival import Received, shown
from skillvault.vault.files.inbox import WRITING, Inbox
from skillvault.vault.files.quarantine import QuarantinedFile, Refused
from skillvault.vault.index.snapshot import Topics

if TYPE_CHECKING:
    from skillvault.change import Change
    from skillvault.judge import Judge
    from skillvault.learning import why_not as account
    from skillvault.learning.advise import Advice
    from skillvault.learning.effect.stats import SkillStats
    from skillvault.learning.recommend.recommend import Answer
    from skillvault.learning.recommend.shelf import Strategy
    from skillvault.steps.doctor import Row
    from skillvault.steps.run import Done, Report, Run, Tracker
    from skillvault.steps.shelf import Found, Shelf
    from skillvault.steps.status import Status
    from skillvault.vault.files.work_tree import View


class Listed(Struct, frozen=True):
    """A live skill as `skill list` shows it."""

    name: str
    kind: str
    domain: str | None
    status: str
    origin: str
    created: str | None
    expires: str | None
    path: str


class ListedFact(Struct, frozen=True):
    """A fact as `fact list` shows it."""

    id: str
    domain: str
    importance: str
    kind: str
    text: str
    path: str


class Returned(Struct, frozen=True):
    """A file that went from quarantine/ back into the inbox, and its name there."""

    name: str
    to: str


class Checked(Struct, frozen=True):
    """What `check` found: problems to mend, and notes."""

    problems: list[Problem]
    notes: list[Problem]


class Vault:
    """A vault on disk. Holds no lock and no process between calls."""

    def __init__(self, root: Path, judge: Judge | None = None) -> None:
        self.root = root
        self.store = Store(root)
        self.inbox = Inbox(root)
        self._judge = judge

    @property
    def judge(self) -> Judge:
        """Who evaluates and writes: the one that was given, else the policy's."""
        if self._judge is not None:
            return self._judge
        from skillvault.steps.judges import appointed

        return appointed(self.store)

    @classmethod
    def open(cls, path: Path | str = ".", judge: Judge | None = None) -> Vault:
        """The vault at or above `path`; NotAVaultError where there is none."""
        vault = cls(layout.find_root(Path(path)), judge)
        vault.store.git.dirs()
        return vault

    @classmethod
    def init(
        cls,
        path: Path | str,
        domains: Sequence[str] = (),
        *,
        post_merge: bool = False,
        now: datetime | None = None,
    ) -> tuple[Vault, setup.SetupReport]:
        """Make a vault, or mend a clone of one; (the vault, what was done)."""
        from skillvault.policy import Policy

        root = Path(path).resolve()
        setup.check_place(root, domains)
        git, branch = setup.repository(root)
        vault = cls(root)
        made = setup.SetupReport()
        head = vault.store.head()
        if layout.MARK not in head.files:
            change = setup.founding(root, branch, domains)
            policy = msgspec.structs.replace(Policy(), branch=branch)
            base, laid = head.commit, vault.store.stage(change)
            vault.store.apply([laid], base, now=now or _clock(), policy=policy, first=True)
            made.did.append(f"the first commit ({change.subject})")
        elif new := [name for name in domains if name not in head.policy.domains]:
            made.left.append(f"add {', '.join(new)} to `domains` in vault.yaml and commit")
        equipped = setup.equip(root, git, post_merge=post_merge)
        return vault, setup.SetupReport(made.did + equipped.did, made.left + equipped.left)

    @staticmethod
    def doctor(path: Path | str = ".", *, now: datetime | None = None) -> list[Row]:
        """What keeps the vault at or above `path` from working, also where it cannot be opened."""
        from skillvault.steps.doctor import examine

        return examine(Path(path), now or _clock())

    # ── the loop ─────────────────────────────────────────────────────────────────────

    def run(  # noqa: PLR0913 (each keyword is a wish of the caller's)
        self,
        wanted: Sequence[str] = (),
        *,
        now: datetime | None = None,
        dry: bool = False,
        on_done: Callable[[Done], None] | None = None,
        track: Tracker | None = None,
        patience: float | None = None,
        consolidate: bool = True,
        batch: bool = False,
        between: Callable[[], None] | None = None,
    ) -> Report:
        """Do what is due in these steps (all by default); see `steps.loop`.

        `patience`: seconds to wait at most for a file that is being written. `consolidate`:
        whether facts that recur become skills. `batch`: what a model is to be asked is sent as
        a batch, and is due again when that has ended. `between` is called where nothing is half
        done; it may raise.
        """
        given: dict[str, Any] = {"dry": dry, "now": now, "on_done": on_done, "track": track}
        with guarded(), self._running(**given) as state:
            from skillvault.steps.judges import batching

            state.consolidates = consolidate
            state.between = between
            with batching(state, sends=batch):
                return self._done(state, wanted, patience)

    def _done(self, state: Run, wanted: Sequence[str], patience: float | None) -> Report:
        from skillvault.steps import loop, why_not
        from skillvault.steps.registry import STEPS

        if "record" in (wanted or STEPS):
            if state.dry:
                state.arrived = self.inbox.quarantine.changed()
            else:
                self.inbox.sweep_drafts()
                self.inbox.quarantine.requeue_changed()
            settle = state.policy.record.settle_seconds
            state.names, young = self.inbox.wait_until_stable(settle, patience)
            state.leave(young, WRITING)
            state.leave(self.inbox.folders(), "a folder; move its files into inbox/ itself")
        report = loop.run(state, wanted)
        if report.waiting:
            state.renew()  # what waits may have met another run
        report.reasons = partial(why_not.reasons, state)
        return report

    @contextmanager
    def _running(
        self, *, dry: bool = False, now: datetime | None = None, **given: Any
    ) -> Iterator[Run]:
        """A run on the vault as it is, once what a killed one left half-made is undone."""
        from skillvault.steps.run import Run

        if not dry:
            self.store.settle()
        store = Store(self.root, apart=True) if dry else self.store
        try:
            run = Run(store, judge=self.judge, dry=dry, now=now or _clock(), **given)
            if not dry:
                run.shelf = self.shelf
            yield run
        finally:
            store.roll_back()

    def record(
        self,
        files: Iterable[tuple[str, bytes]],
        *,
        now: datetime | None = None,
        dry: bool = False,
        track: Tracker | None = None,
    ) -> Report:
        """Put outcomes, as (file name, bytes), through the inbox into the vault."""
        now = now or _clock()
        with guarded():
            from skillvault.steps import loop

            if dry:
                arrived = [Received(name, data) for name, data in files]
                with self._running(now=now, dry=True, arrived=arrived) as state:
                    return loop.run(state, ["record"])
            names = list(self.inbox.drop(files))
            try:
                with self._running(now=now, names=names, track=track) as state:
                    return loop.run(state, ["record"])
            except PausedError as error:
                raise PausedError(
                    f"{error}. {len(names)} outcome(s) wait in inbox/ and are taken afterwards"
                ) from None

    def import_files(
        self,
        format_name: str,
        paths: Sequence[Path],
        *,
        domain: str | None = None,
        now: datetime | None = None,
        dry: bool = False,
        track: Tracker | None = None,
    ) -> Report:
        """Bring in other people's results; a bad file or record is refused, the rest goes on."""
        from skillvault.steps.run import Report

        setup.check_domains([domain] if domain is not None else [])
        refused: list[Refused] = []
        files = list(_foreign(format_name, paths, domain, refused))
        report = self.record(files, now=now, dry=dry, track=track) if files else Report()
        report.quarantined = refused + report.quarantined
        return report

    # ── quarantine ───────────────────────────────────────────────────────────────────

    def quarantined(self) -> list[QuarantinedFile]:
        """What lies in quarantine/, each with its reason."""
        return self.inbox.quarantine.files()

    def retry(self, names: Sequence[str] | None = None) -> list[Returned]:
        """Put quarantined files back into the inbox, as trusted as they came; without names all.

        UsageError, before any is moved, for a name that is not there or cannot go back.
        """
        ready = self._lying(names)
        for name in ready if names is not None else ():
            if obstacle := self.inbox.quarantine.obstacle(name):
                raise UsageError(f"{name}: {obstacle}")
        back = (
            (n, self.inbox.quarantine.put_back(n))
            for n in ready
            if self.inbox.quarantine.obstacle(n) is None
        )
        return [Returned(shown(name), shown(to)) for name, to in back if to is not None]

    def drop(self, names: Sequence[str] | None = None, *, dry: bool = False) -> list[str]:
        """Remove quarantined files and their reasons for good; without names all but folders.

        UsageError, before any is removed, for a name that is not there or is a folder's.
        """
        place = self.root / layout.QUARANTINE
        found = self._lying(names)
        folders = [n for n in found if (place / n).is_dir() and not (place / n).is_symlink()]
        if folders and names is not None:
            raise UsageError(f"{folders[0]}: is a folder; look into it and remove it by hand")
        going = [name for name in found if name not in folders]
        for name in going if not dry else ():
            self.inbox.quarantine.remove(name)
        return [shown(name) for name in going]

    def _lying(self, names: Sequence[str] | None) -> list[str]:
        """These names, each once, where all of them stand in quarantine/ itself."""
        if (self.root / layout.QUARANTINE).is_symlink():
            raise UsageError(
                "quarantine/ is a symbolic link and is not followed; remove the files by hand"
            )
        known = self.inbox.quarantine.names()
        for name in names or ():
            if name not in known:
                raise UsageError(
                    f"{name}: no such file in quarantine/; see `skillvault quarantine list`"
                )
        return known if names is None else list(dict.fromkeys(names))

    # ── serving ──────────────────────────────────────────────────────────────────────

    @cached_property
    def shelf(self) -> Shelf:
        """The skills that may be served, with all their layers."""
        from skillvault.steps.shelf import Shelf

        return Shelf(self.store)

    def recommend(  # noqa: PLR0913 (each keyword is a question of the caller's)
        self,
        domain: str,
        task: str = "",
        *,
        context: Mapping[str, Scalar] | None = None,
        role: str | None = None,
        stage: str | None = None,
        pins: Sequence[str] = (),
        k: int | None = None,
        budget: int | None = None,
        strategy: Strategy | None = None,
        decision: str | None = None,
        explain: bool = False,
        now: datetime | None = None,
    ) -> Answer:
        """The few skills that an agent should read before a task, and why not the others.

        `k` and `budget` (tokens) default to the policy's; without a `strategy` it is `hybrid`
        where a task is given and else `tag`. With a `decision` the answer is recorded through
        the inbox, and only then skills are held out; otherwise nothing is written. UsageError for
        a domain that is no slug, a decision that is empty, and what cannot be recorded.
        """
        from skillvault.learning.recommend.recommend import Query

        setup.check_domains([domain])
        if decision is not None:
            _check_recordable(decision, context or {})
        query = Query(
            domain=domain,
            context=dict(context or {}),
            role=role,
            stage=stage,
            pins=tuple(pins),
            limit=k,
            budget=budget,
            strategy=strategy or ("hybrid" if task.strip() else "tag"),
            decision=decision,
            explain=explain,
        )
        answer = self.shelf.recommend(query, task)
        if decision is not None:
            from skillvault.learning.recommend import render as pack

            said = json.dumps(pack.record(answer, query, now or _clock()), ensure_ascii=False)
            with guarded():
                list(self.inbox.drop([(f"recommendation-{decision}.json", said.encode())]))
        return answer

    def search(
        self,
        text: str,
        *,
        kind: str | None = None,
        domain: str | None = None,
        k: int = 10,
        semantic: bool = True,
    ) -> list[Found]:
        """The skills, facts and evaluations that answer a text best.

        `kind` is skill, fact or evaluation; the score is a share of the query, 0..1. `semantic`:
        what is near in meaning comes first, where the extra of that name is installed.
        """
        return self.shelf.search(text, kind=kind, domain=domain, k=k, semantic=semantic)

    def effects(self, skill: str | None = None, *, domain: str | None = None) -> list[SkillStats]:
        """What is known of one skill's use, or of every used one's (of a domain), best lift first.

        UsageError where there is no such skill.
        """
        return self.shelf.effects(skill, domain)

    def stats(self, decision: str) -> dict[str, Any]:
        """What a decision was shown, what it applied, how it ended; see `effect.detect`."""
        return self.shelf.stats(decision)

    def advise(self, name: str, data: bytes, *, now: datetime | None = None) -> Advice:
        """Whether a decision may be carried out: a file like an outcome's, without its result.

        Where the judge says no, the decision goes through the inbox as a neutral outcome; where
        nobody can be asked it may be carried out, with a warning. BadInputError for what is no
        decision.
        """
        with guarded():
            from skillvault.steps.advise import advise_on

            return advise_on(self.store, self.shelf, (name, data), now or _clock())

    # ── reading ──────────────────────────────────────────────────────────────────────

    def status(self) -> Status:
        """The vault at a glance."""
        from skillvault.steps import status

        self.shelf.ready()
        with self._asked() as run:
            return status.status(run)

    @contextmanager
    def _asked(self) -> Iterator[Run]:
        """The vault as a question finds it."""
        from skillvault.steps.run import Run

        run = Run(self.store, judge=self.judge, now=_clock(), dry=True)
        run.view = self.store.head()
        run.shelf = self.shelf
        run.asks = True
        yield run

    def log(self, limit: int | None = None) -> list[Commit]:
        """The program's commits, newest first."""
        return self.store.head().history.log(limit)

    def why(self, text: str) -> dict[str, Any]:
        """`{ref, commits, sources}`: a record back to where it came from."""
        from skillvault.vault import provenance

        head = self.store.head()
        ref = self._resolve(head, text)
        return {**_about(head, ref), "sources": provenance.sources(head, ref)}

    def impact(self, text: str) -> dict[str, Any]:
        """`{ref, commits, targets}`: a record forward to what came of it."""
        from skillvault.vault import provenance

        head = self.store.head()
        ref = self._resolve(head, text, forward=True)
        return {**_about(head, ref), "targets": provenance.targets(head, ref)}

    def _resolve(self, head: Topics, text: str, *, forward: bool = False) -> Ref:
        """The record that `text` means; of one that was removed the error names the commit."""
        from skillvault.vault import provenance

        try:
            return provenance.resolve(head, self.root, text, forward=forward)
        except UsageError:
            name = text.replace("_", "-")
            for path, sha in self.store.git.history.deletions().items():
                gone = layout.ref_of(path)
                if gone and gone.kind != "link" and name in (gone.id, path):
                    raise UsageError(
                        f"{text}: was removed by commit {sha[:10]}; `git show {sha[:10]}` shows "
                        "it, `git revert` brings it back"
                    ) from None
            raise

    def why_not(self, text: str) -> tuple[tuple[str, str], list[account.StepAnswer]]:
        """What each step says of one outcome, fact or domain, with its numbers.

        ((`outcome`, `fact` or `domain`, its id), the answers in the order of the loop).
        """
        from skillvault.steps import why_not

        with self._asked() as run:
            if text in run.view.domains:
                return ("domain", text), why_not.why_no_strategy(run, text)
            ref = self._resolve(run.view, text, forward=True)
            if ref.kind == "evaluation":
                ref = Ref("outcome", ref.id)
            return (ref.kind, ref.id), why_not.why_not(run, ref)

    def check(self, *, index: str | None = None, staged: bool = False) -> Checked:
        """Everything that must hold, in the work tree or (`staged`) in the index.

        Of the index only what differs from HEAD is reported: a mistake that is committed
        already must not keep a person from committing something else.
        """
        from skillvault.vault import check as checked

        head = self.store.head()
        view = Store(self.root, index).git_index() if staged else self.store.work_tree()
        remover = self._remover(head, view)
        if not staged:
            problems, notes = checked.findings(view, remover, view.contents.keys())
            return Checked(sorted(problems), sorted([*notes, *checked.uncommitted(head, view)]))
        committed = dict(head.files.items())
        changed = {p for p, key in view.contents.items() if committed.get(p) != key}
        problems, notes = checked.findings(view, remover, changed)
        # A folder without its file stands at no path of the index.
        ours = [p for p in problems if p.path in changed or p.path not in view.contents]
        return Checked(sorted(ours), sorted(notes))

    def _remover(self, head: Topics, view: View) -> Callable[[Ref], str | None]:
        """Who removed a record that is not in `view`, in words; None for nobody."""

        @cache
        def deleted() -> dict[str, str]:
            history = self.store.git.history.deletions() if head.commit else {}
            gone = ((layout.ref_of(path), sha) for path, sha in reversed(history.items()))
            return {str(ref): sha for ref, sha in gone if ref}

        def removed(ref: Ref) -> str | None:
            if ref in head.records and str(ref) not in view.paths:
                return "removed here and not committed yet"
            commit = deleted().get(str(ref))
            return f"removed by commit {commit[:10]}" if commit else None

        return removed

    # ── facts ────────────────────────────────────────────────────────────────────────

    def facts(self, domain: str | None = None, *, trusted: bool = False) -> list[ListedFact]:
        """The facts that nothing supersedes, by domain, the most important first.

        `trusted`: without those of untrusted sources.
        """
        head = self.store.head()
        if domain is not None and domain not in head.domains:
            known = ", ".join(head.domains) or "none yet"
            raise UsageError(f"{domain}: no such domain in this vault; there are {known}")
        gone = {fact.supersedes for fact in head.facts.values()}
        found = [
            fact
            for fact in head.facts.values()
            if fact.id not in gone
            and domain in (None, fact.domain)
            and not (trusted and fact.trust != "local")
        ]
        found.sort(key=lambda f: (f.domain, IMPORTANCES.index(f.importance), f.order))
        fields = ("id", "domain", "importance", "kind", "text")
        return [
            ListedFact(
                **{field: getattr(fact, field) for field in fields},
                path=head.records.path_of(Ref("fact", fact.id)) or "",
            )
            for fact in found
        ]

    def fact(self, name: str) -> tuple[Fact, str]:
        """(fact, path); UsageError where there is none."""
        head = self.store.head()
        found, path = self._read(head, name)
        if not isinstance(found, Fact):
            kind = kind_of(found)
            raise UsageError(f"{name}: is a {kind}, not a fact; see `skillvault fact list`")
        return found, path

    def add_fact(
        self,
        text: str,
        domain: str,
        *,
        importance: Importance = "medium",
        supersedes: str | None = None,
        review_by: str | None = None,
        now: datetime | None = None,
        dry: bool = False,
    ) -> Report:
        """Write a fact down in the person's name; one with `supersedes` takes that one's place."""
        from skillvault.learning.promote import facts as promote

        now = now or _clock()
        setup.check_domains([domain])
        head = self.store.head()
        old = self.fact(supersedes)[0] if supersedes else None
        fact = promote.by_hand(
            text, domain, importance=importance, supersedes=old, review_by=review_by, now=now
        )
        if Ref("fact", fact.id) in head.records:
            raise UsageError(f"{fact.id}: this fact is in the vault already")
        return self._decide(promote.added(fact, now), now, dry=dry)

    # ── skills ───────────────────────────────────────────────────────────────────────

    def skills(self, shelf: str = "skills") -> list[Listed]:
        """The live skills by name, or those in `proposed` or `archive`."""
        head = self.store.head()
        shelves = {
            "skills": head.skills,
            "proposed": head.skills.proposed,
            "archive": head.skills.archived,
        }
        fields = ("kind", "domain", "status", "origin", "created", "expires")
        return [
            Listed(
                name=folder,
                **{field: getattr(skill, field) for field in fields},
                path=f"{shelf}/{folder}/SKILL.md",
            )
            for folder, skill in shelves[shelf].items()
        ]

    def skill(self, name: str) -> tuple[Skill, str]:
        """(skill, path) in whatever folder it stands; UsageError where there is none."""
        head = self.store.head()
        found, path = self._read(head, name)
        if not isinstance(found, Skill):
            kind = kind_of(found)
            raise UsageError(f"{name}: is a {kind}, not a skill; see `skillvault skill list`")
        return found, path

    def _read(self, head: Topics, name: str) -> tuple[Record, str]:
        """(record, path) that a name means; SkillvaultError where it cannot be read."""
        path = head.records.path_of(self._resolve(head, name)) or ""
        found = head.records.at([path])[path]
        if isinstance(found, Problem):
            raise SkillvaultError(f"{path}: {found.message}")
        return found, path

    def put_skill(self, skill: Skill, *, now: datetime | None = None, dry: bool = False) -> Report:
        """Write a skill into skills/, new or over the one of its name, with one commit.

        Of a file that is there only what differs changes; where nothing does no commit is made.
        UsageError for what is no skill, EditedError where a person is editing it.
        """
        from skillvault.learning import curate
        from skillvault.steps.run import Report

        head = self.store.head()
        change = curate.put(skill, head.skills.get(skill.name))
        if change is None:
            return Report()
        return self._decide(change, now or _clock(), dry=dry)

    def approve(self, name: str, *, now: datetime | None = None, dry: bool = False) -> Report:
        """Let a proposed skill in."""
        from skillvault.learning import curate

        return self._curate(name, curate.approve, now, dry)

    def retire(self, name: str, *, now: datetime | None = None, dry: bool = False) -> Report:
        """Take a skill out of service, into archive/."""
        from skillvault.learning import curate

        return self._curate(name, curate.retire, now, dry)

    def pin(self, name: str, *, now: datetime | None = None, dry: bool = False) -> Report:
        """Keep a skill whatever its evidence and age."""
        from skillvault.learning import curate

        return self._curate(name, curate.pin, now, dry)

    def restore(self, name: str, *, now: datetime | None = None, dry: bool = False) -> Report:
        """Bring an archived skill back; its time to live starts again."""
        from skillvault.learning import curate

        now = now or _clock()
        act = partial(curate.restore, now=now, policy=self.store.head().policy)
        return self._curate(name, act, now, dry)

    def _curate(
        self, name: str, act: Callable[[Skill, str], Change], now: datetime | None, dry: bool
    ) -> Report:
        """One decision about a skill; EditedError where a person is editing it."""
        skill, path = self.skill(name)
        # The folder is the name that all else goes by, whatever the front matter says.
        named = msgspec.structs.replace(skill, name=Path(path).parent.name)
        change = act(named, layout.shelf_of(path))
        return self._decide(change, now or _clock(), dry=dry)

    def _decide(self, change: Change, now: datetime, *, dry: bool) -> Report:
        """Make one change that a person asked for."""
        from skillvault.steps.run import Done, Report

        store = Store(self.root, apart=True) if dry else self.store
        store.follow()
        policy, base = store.staged.policy, store.staged.commit
        try:
            laid = store.stage(change)
            if dry:
                store.check_free(laid)
                return Report(done=[Done(change, None)])
            with guarded():
                (commit,) = store.apply([laid], base, now=now, policy=policy)
        finally:
            store.roll_back()
        return Report(done=[Done(change, commit)])


def _about(head: Topics, ref: Ref) -> dict[str, Any]:
    """`{ref, commits}`: a record, and every commit that touched it."""
    from skillvault.vault import provenance

    fields = ("sha", "step", "subject", "date")
    commits = [
        {key: getattr(c, key) for key in fields} for c in head.history.commits_touching([ref])
    ]
    return {"ref": provenance.node(head, ref), "commits": commits}


def _check_recordable(decision: str, context: Mapping[str, Scalar]) -> None:
    """UsageError for what the inbox would refuse later, when nobody looks."""
    if not decision.strip():
        raise UsageError("the decision's id is empty; pass the id that its outcome will have")
    try:
        json.dumps([decision, *context.items()], ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        raise UsageError(
            "the decision's id or its context contains a value that is neither UTF-8 text nor "
            "a finite number; replace it"
        ) from None


def _foreign(
    format_name: str, paths: Sequence[Path], domain: str | None, refused: list[Refused]
) -> Iterator[tuple[str, bytes]]:
    """Foreign results as inbox files; what cannot be read is added to `refused`."""
    from skillvault import exchange

    for path in paths:
        try:
            for label, item in exchange.read_outcomes(format_name, path, domain):
                if isinstance(item, BadInputError):
                    refused.append(Refused(label, item.code, item.message, item.line))
                else:
                    yield f"{label}.json", json.dumps(item, ensure_ascii=False).encode()
        except BadInputError as error:
            message = error.message.removeprefix(f"{path.name}: ")
            refused.append(Refused(path.name, error.code, message, error.line))


def _clock() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)
