"""The state machine: a person and the program take turns, and each promise is looked at."""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from skillvault.api import Vault
from skillvault.loop.registry import STEPS
from skillvault.loop.run import Report
from skillvault.model.errors import (
    BadInputError,
    PausedError,
    SkillvaultError,
    UncommittedEditError,
    VaultBusyError,
)
from skillvault.vault.files import layout
from tests.given import NOW, as_file, passing
from tests.person.given import (
    AHEAD,
    LESSONS,
    Made,
    Picture,
    asked,
    files_below,
    git,
    history,
    made_between,
    picture,
    taken_away,
    waiting_files,
)
from tests.person.hand import BRANCHES, COMMITS, EDITS, NEWS, STAGES, UNDOS, Hand
from tests.person.publication import in_the_middle, let_time_pass
from tests.vault.given import anew, shown

ANSWERS = (PausedError, UncommittedEditError, VaultBusyError, BadInputError)
_BROKEN = "BadInputError: vault.yaml: "
KINDS = st.sampled_from("skills proposed archive links outcomes evaluations memory own".split())
PICKS = st.integers(0, 9)
FOLDERS = {"approve": "proposed", "retire": "skills", "pin": "skills", "restore": "archive"}
VERBS = st.sampled_from(sorted(FOLDERS))
POINTS = ("objects-written", "intent-written", "before-lock", "file-placed", "before-index",
          "index-written", "before-swap", "branch-moved", "index-unlocked", "intent-done",
          "inbox-done")  # fmt: skip
_DONE_IN_BETWEEN = {
    "edit": ("append", "prepend", "replace"),  # what is saved as it was is nobody's edit
    "commit": COMMITS,
    "undo": [how for how in UNDOS if how != "far-back"],
    "stage": STAGES,
    "branch": BRANCHES,
}
ACTS = st.sampled_from([(verb, how) for verb, ways in _DONE_IN_BETWEEN.items() for how in ways])


def _due(vault: Vault) -> object:
    """Return the headlines of a dry run, or the error that stops it."""
    try:
        return [done.change.headline for done in vault.run(dry=True).done]
    except SkillvaultError as error:
        return str(error)


def _bytes_at(place: Path) -> bytes | None:
    return place.read_bytes() if place.is_file() and not place.is_symlink() else None


def _some(ways: Sequence[str]) -> st.SearchStrategy[str]:
    return st.sampled_from(list(ways))


class PersonBeside(RuleBasedStateMachine):
    """A person works with plain git in a vault while the program learns in it."""

    pattern: ClassVar[Path]
    home: ClassVar[Path]

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(dir=self.home))
        self.root = self.place / "vault"
        shutil.copytree(self.pattern, self.root, symlinks=True)
        self.vault = Vault(self.root)
        self.hand = Hand(self.root, NOW + timedelta(hours=1))
        self.given: set[int] = set()

    # ── the person ───────────────────────────────────────────────────────────────────

    @rule(kind=KINDS, pick=PICKS, how=_some(EDITS))
    def edit(self, kind: str, pick: int, how: str) -> None:
        self.hand.edit(self.hand.aimed(kind, pick), how)

    @rule(how=_some(NEWS), pick=PICKS)
    def create(self, how: str, pick: int) -> None:
        self.hand.new(how, pick)

    @rule(kind=KINDS, pick=PICKS, how=_some(STAGES))
    def stage(self, kind: str, pick: int, how: str) -> None:
        self.hand.stage(self.hand.aimed(kind, pick), how)

    @rule(how=st.sampled_from(COMMITS))
    def commit(self, how: str) -> None:
        self.hand.commit(how)

    @rule(how=st.sampled_from(UNDOS))
    def undo(self, how: str) -> None:
        self.hand.undo(how)

    @rule(kind=KINDS, pick=PICKS)
    def check_out(self, kind: str, pick: int) -> None:
        self.hand.git("checkout", "-q", "--", self.hand.aimed(kind, pick))

    @rule(pick=PICKS)
    def revert(self, pick: int) -> None:
        self.hand.revert(pick)

    @precondition(lambda self: self.hand.at_home())
    @rule(how=st.sampled_from(BRANCHES), kind=KINDS, pick=PICKS)
    def branch(self, how: str, kind: str, pick: int) -> None:
        self.hand.branch(how, self.hand.aimed(kind, pick))

    @precondition(lambda self: not self.hand.at_home())
    @rule(how=st.sampled_from(["abort", "resolve"]))
    def finish(self, how: str) -> None:
        self.hand.finish(how)

    # ── the program ──────────────────────────────────────────────────────────────────

    @rule(lesson=st.integers(0, len(LESSONS) - 1), fresh=st.booleans())
    def record(self, lesson: int, fresh: bool) -> None:
        self.given.add(lesson)
        files = [(f"lesson-{lesson}.json", as_file(LESSONS[lesson]))]
        self._act(f"record {lesson}", lambda vault: vault.record(files, now=self.hand.now), fresh)

    @rule(lesson=st.integers(0, len(LESSONS) - 1))
    def drop(self, lesson: int) -> None:
        self.given.add(lesson)
        self.hand.told.append(f"drop lesson {lesson} into inbox/")
        list(self.vault.inbox.drop([(f"lesson-{lesson}.json", as_file(LESSONS[lesson]))]))

    @rule(wanted=st.just("") | st.sampled_from(sorted(STEPS)), fresh=st.booleans())
    def run(self, wanted: str, fresh: bool) -> None:
        self._run([wanted] if wanted else [], fresh)

    @rule(fresh=st.booleans())
    def run_all(self, fresh: bool) -> None:
        self._run([], fresh)

    @rule()
    def run_much_later(self) -> None:
        self.hand.now += timedelta(days=61)
        late = [(f"{n}.json", as_file(passing(n, self.hand.now))) for n in ("coding", "perps")]
        self._act("record late", lambda vault: vault.record(late, now=self.hand.now), fresh=False)
        self._run([], fresh=False)

    @rule(verb=VERBS, pick=PICKS)
    def decide(self, verb: str, pick: int) -> None:
        if name := self._skill(verb, pick):
            self._decide(verb, name)

    @rule(verb=VERBS, pick=PICKS, edit=_some(EDITS), stage=st.none() | _some(STAGES))
    def decide_on_what_is_in_hand(self, verb: str, pick: int, edit: str, stage: str | None) -> None:
        """Decide on the skill that the person is editing."""
        if name := self._skill(verb, pick):
            path = f"{FOLDERS[verb]}/{name}/SKILL.md"
            self.hand.edit(path, edit)
            if stage:
                self.hand.stage(path, stage)
            self._decide(verb, name)

    def _skill(self, verb: str, pick: int) -> str | None:
        """Return a skill in the folder that this decision is about."""
        tree = asked(self.root, "ls-tree", "--name-only", f"HEAD:{FOLDERS[verb]}").split()
        return tree[pick % len(tree)] if tree else None

    def _decide(self, verb: str, name: str) -> None:
        def call(vault: Vault) -> Report:
            decision: Callable[..., Report] = getattr(vault.curate, verb)
            return decision(name, now=self.hand.now)

        # What is no skill, or is one no more, is refused in words.
        self._act(f"{verb} {name}", call, fresh=False, answers=(SkillvaultError,))

    @rule(
        point=st.sampled_from(POINTS), lesson=st.integers(0, len(LESSONS) - 2), act=ACTS, pick=PICKS
    )
    def work_during_a_publication(
        self, point: str, lesson: int, act: tuple[str, str], pick: int
    ) -> None:
        """Let the person act while the program is in the middle of a publication."""
        self.drop(lesson)
        self.hand.now += timedelta(minutes=1)
        saved: dict[str, bytes | None] = {}

        def in_between() -> None:
            self.hand.told.append(f"in the middle, at {point}:")
            saved.update(self._in_between(*act, pick))

        self.hand.told.append("run")
        with in_the_middle(point, in_between), suppress(*ANSWERS):
            self.vault.run(now=self.hand.now, patience=0)
        for path, content in saved.items():
            self._hold(_bytes_at(self.root / path) == content, "a person's bytes changed", path)
        self._no_drafts()
        self._accounted_for()
        self._one_history()

    def _in_between(self, verb: str, how: str, pick: int) -> dict[str, bytes | None]:
        """Let the person act once; return the files that are theirs alone, path -> bytes."""
        path = self.hand.aimed("own" if pick % 2 else "skills", pick)
        {
            "edit": lambda: self.hand.edit(path, how),
            "commit": lambda: self.hand.commit(how),
            "undo": lambda: self.hand.undo(how),
            "stage": lambda: self.hand.stage(path, how),
            "branch": lambda: self.hand.branch(how, path),
        }[verb]()
        own = {
            place for place in asked(self.root, "ls-files", "-z").split("\0") if "/" not in place
        }
        kept = own - {"", layout.VAULT_FILE} | ({path} if verb == "edit" else set())
        return {place: _bytes_at(self.root / place) for place in kept}

    @rule()
    def look(self) -> None:
        """Check that commands that only read change nothing."""
        before = picture(self.root)
        self.vault.check()
        self.vault.check(staged=True)
        with suppress(BadInputError):  # a vault.yaml that the person broke
            self.vault.status()
            self.vault.run(now=self.hand.now, dry=True, patience=0)
        self._same(before, picture(self.root), "reading changed something")

    # ── the promises ─────────────────────────────────────────────────────────────────

    def _run(self, wanted: list[str], fresh: bool, patience: float | None = 0) -> Report | None:
        def call(vault: Vault) -> Report:
            return vault.run(wanted, now=self.hand.now, patience=patience)

        return self._act(f"run {' '.join(wanted)}", call, fresh)

    def _act(
        self,
        title: str,
        call: Callable[[Vault], Report],
        fresh: bool,
        answers: tuple[type[SkillvaultError], ...] = ANSWERS,
    ) -> Report | None:
        """Run one action of the program and check everything before and after it."""
        self.hand.now += timedelta(minutes=1)
        vault = Vault(self.root) if fresh else self.vault
        before = picture(self.root)
        self.hand.told.append(title)
        report, said = None, ""
        try:
            report = call(vault)
        except answers as error:
            said = f"{type(error).__name__}: {error}"
            broken = isinstance(error, BadInputError) and answers is ANSWERS
            self._hold(not broken or said.startswith(_BROKEN), "an odd answer", said)
        except Exception as error:
            error.add_note("the steps:\n" + "\n".join(self.hand.told))
            raise
        after = picture(self.root)
        self._tell(report, said)
        self._judge(before, after, report, said)
        return report

    def _tell(self, report: Report | None, said: str) -> None:
        done = [done.change.headline for done in report.done] if report else []
        waiting = [f"{one.path}: {one.reason}" for one in report.waiting] if report else []
        self.hand.told.append(f"  -> {said or done}, waiting {waiting}")

    def _judge(self, before: Picture, after: Picture, report: Report | None, said: str) -> None:
        if not before.normal:
            self._same(before, after, "the program acted in a repository that is not its own")
            return
        self._hold(not said.startswith("Paused"), "paused without a reason", said)
        made = made_between(self.root, before.head, after.head)
        self._linear(before, after, made, report)
        self._refs(before, after)
        self._hands(before, after, made)
        self._not_again(before, made, report)
        self._one_history()

    def _linear(
        self, before: Picture, after: Picture, made: list[Made], report: Report | None
    ) -> None:
        tips = [before.head, *(one.sha for one in made)]
        self._hold(tips[-1] == after.head, "HEAD left its own history", tips)
        self._hold(tips[:-1] == [one.parents for one in made], "not on top of the old tip", made)
        for one in made:
            self._hold("\nSkillvault-Step: " in one.message, "a commit without a step", one)
        if report is not None:
            done = list(dict.fromkeys(done.commit for done in report.done))
            self._hold(done == tips[1:], "the report names other commits", (done, tips[1:]))

    def _refs(self, before: Picture, after: Picture) -> None:
        main = "refs/heads/main"
        others = [{**seen.refs, main: ""} for seen in (before, after)]
        self._hold(others[0] == others[1], "another ref moved", others)
        self._hold(before.stash == after.stash, "the stash changed", after.stash)
        self._hold(before.branch == after.branch, "HEAD stands on another branch", after.branch)

    def _hands(self, before: Picture, after: Picture, made: list[Made]) -> None:
        """Check that a person's uncommitted work stays and that the program's commits are clean."""
        touched = {path for one in made for path in one.touched}
        taken = {path for path in touched & before.hand if self._as_it_was(path, before, after)}
        for path in sorted(before.hand - taken):
            what = (path, before.of(path), after.of(path))
            self._hold(path not in touched, "committed a path in hand", what)
            self._hold(before.of(path) == after.of(path), "changed a path in hand", what)
        new = sorted(after.hand - before.hand)
        self._hold(not new, "left something to commit", [(p, after.of(p)) for p in new])
        self._hold(not (after.hand & taken), "left half of a path", sorted(after.hand & taken))

    def _as_it_was(self, path: str, before: Picture, after: Picture) -> bool:
        """Return True if the work tree held the committed bytes before and still holds them."""
        same = before.work.get(path) == after.work.get(path)
        return same and before.saved(path) == after.tree.get(path)

    def _not_again(self, before: Picture, made: list[Made], report: Report | None) -> None:
        """Check that nothing a person removed is made again and that no lost commit is named."""
        away = taken_away(self.root, before) if made else set()
        for one in made:
            again = sorted(one.refs & away)
            self._hold(not again, "made again what was taken away", (again, one.message))
        for rejection in report.rejected if report else ():
            kept = git(self.root, "merge-base", "--is-ancestor", rejection.commit, "HEAD")
            self._hold(kept.returncode == 0, "names a lost commit", rejection)

    def _one_history(self) -> None:
        """Check that a vault that was open all the time knows the same as a new one."""
        fresh = anew(self.root)
        try:
            known, read = shown(self.vault), shown(fresh)
        except BadInputError as error:
            self._hold(f"BadInputError: {error}".startswith(_BROKEN), "an odd answer", error)
            return
        self._hold(not known ^ read, "an old projection shows something else", known ^ read)
        due = [_due(vault) for vault in (fresh, self.vault, fresh)]  # time passes in between
        self._hold(due[1] in (due[0], due[2]), "an old projection finds something else due", due)

    def _same(self, before: Picture, after: Picture, sentence: str) -> None:
        if before != after:
            names = [n for n in before.__dict__ if before.__dict__[n] != after.__dict__[n]]
            self._hold(False, sentence, [(before.__dict__[n], after.__dict__[n]) for n in names])

    def _hold(self, holds: bool, sentence: str, what: object) -> None:
        if not holds:
            steps = "\n".join(self.hand.told)
            raise AssertionError(f"{sentence}: {what}\n\nthe steps:\n{steps}")

    # ── the end ──────────────────────────────────────────────────────────────────────

    def teardown(self) -> None:
        try:
            self._end()
        finally:
            shutil.rmtree(self.place)

    def _end(self) -> None:
        """Tidy up, let the program end its work, and check that no outcome is lost."""
        self._no_drafts()
        self._accounted_for()
        self.hand.tidy()
        let_time_pass(self.root)  # what an undone commit took returns now, not a moment later
        self._run([], fresh=False, patience=None)
        again = self._run([], fresh=True, patience=None)
        done = [done.change.headline for done in again.done] if again else []
        self._hold(not done, "a second run did something", done)
        self.vault.check()
        self._no_drafts()
        self._accounted_for()
        fsck = git(self.root, "fsck", "--strict", "--no-dangling", "--no-progress")
        self._hold((fsck.returncode, fsck.stdout) == (0, ""), "git fsck", fsck)

    def _no_drafts(self) -> None:
        ours = [p for p in files_below(self.root) if p.name.startswith(".skillvault-")]
        drafts = [*ours, *(self.root / ".git/skillvault").glob("draft-*")]
        self._hold(not drafts, "a draft is left", drafts)

    def _accounted_for(self) -> None:
        """Check that each outcome waits, is in quarantine, or was committed."""
        waiting, known = waiting_files(self.root), history(self.root)
        for lesson in sorted(self.given):
            here = as_file(LESSONS[lesson]) in waiting
            committed = lesson < len(LESSONS) - 1 and AHEAD[2 * lesson] in known
            self._hold(here or committed, "an outcome is lost", lesson)
