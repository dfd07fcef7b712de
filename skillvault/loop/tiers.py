"""Both tiers of a vault: what is committed of them, and a change of them as a commit."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from skillvault.learning.capture.patterns import TierChange, Tiers, learned_body, learned_skill
from skillvault.learning.capture.rules import STEP
from skillvault.learning.rejection import Rejection
from skillvault.learning.sections import is_untouched
from skillvault.model.change import Change, Replacement, Rewrite
from skillvault.model.errors import BadInputError
from skillvault.model.records import LEARNED, Expertise, LearnedPattern, Ref, Skill
from skillvault.model.text.text import shorten
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layout, learnings
from skillvault.vault.files.work_tree import blob_id
from skillvault.vault.index.snapshot import Topics

if TYPE_CHECKING:
    from skillvault.loop.run import Run

_SKILL = Ref("skill", LEARNED)
_NAMED = 60  # characters of a pattern in a commit's message
_LISTED = 20  # patterns that a commit's message names


def committed_rules(store: Store, view: Topics) -> bytes:
    """LEARNINGS.md as it is committed; from the work tree if that has the same version."""
    blob = view.files.get(layout.LEARNINGS)
    if blob is None:
        return b""
    with suppress(BadInputError):
        written = learnings.read_file(store.root)
        if written and blob_id(written.content) == blob:
            return written.content
    return view.files.read([layout.LEARNINGS]).get(layout.LEARNINGS, b"")


def rules_text(store: Store, view: Topics) -> str:
    """The same as text; bytes that are no UTF-8 stay what they are."""
    return committed_rules(store, view).decode(errors="surrogateescape")


def read_expertise(view: Topics) -> Expertise:
    """What expertise.yaml says as it is committed; BadInputError if it cannot be read."""
    if layout.EXPERTISE not in view.files:
        return Expertise()
    return learnings.decode_expertise(
        view.files.read([layout.EXPERTISE]).get(layout.EXPERTISE, b"")
    )


def read_tiers(store: Store, view: Topics) -> Tiers:
    """Both tiers; BadInputError if expertise.yaml cannot be read."""
    return Tiers(rules_text(store, view), read_expertise(view))


def pattern_ref(pattern: LearnedPattern) -> Ref:
    """The address of a pattern."""
    return Ref("pattern", pattern.id)


def rejected_patterns(run: "Run", refs: Iterable[Ref]) -> dict[Ref, Rejection]:
    """Those of these patterns, none of which is there, that a person took away.

    What the program ended itself it named as a source.
    """
    named = run.view.history.last_mentions(refs).items()
    return {ref: Rejection(str(ref), sha) for ref, (sha, role) in named if role == "target"}


def captured_change(run: "Run", captured: TierChange, before: Tiers, what: str) -> Iterator[Change]:
    """The commit that a change of the tiers becomes; none if it changes nothing.

    `what` happens to the patterns: they are promoted, put back, or looked at.
    """
    if captured.tiers == before:
        return
    refs = tuple(map(pattern_ref, captured.patterns))
    skill = _skill_change(run, captured.tiers)
    targets = (*(refs if what == "promote" else ()), *((_SKILL,) if skill else ()))
    yield Change(
        step=STEP,
        subject=f"{what} {_counted_patterns(len(refs))}",
        reason="\n".join(_message_table(captured)),
        replaces=tuple(_replacements(run.view, captured.tiers)),
        writes=_added_skill(run, skill, captured.tiers),
        rewrites=_new_bodies(skill, captured.tiers),
        sources=refs if what == "put back" else (),
        targets=targets,
    )


def told_change(run: "Run", tiers: Tiers) -> Iterator[Change]:
    """The commit by which the skill tells the patterns that a person changed; none if it does."""
    patterns = tiers.expertise.patterns
    skill = _skill_change(run, tiers) if patterns or LEARNED in run.view.skills else ""
    if skill:
        yield Change(
            step=STEP,
            subject=f"tell {_counted_patterns(len(patterns))}",
            reason=f"{layout.LEARNED} told others than {layout.EXPERTISE} states.",
            writes=_added_skill(run, skill, tiers),
            rewrites=_new_bodies(skill, tiers),
            targets=(_SKILL,),
        )


def _replacements(view: Topics, tiers: Tiers) -> Iterator[Replacement]:
    before = view.files.read([layout.EXPERTISE, layout.LEARNINGS])
    files = {
        layout.EXPERTISE: learnings.rewrite_expertise(
            before.get(layout.EXPERTISE, b""), tiers.expertise
        ),
        layout.LEARNINGS: tiers.text.encode(errors="surrogateescape"),
    }
    for path, content in files.items():
        if before.get(path) != content:
            grows = path == layout.LEARNINGS
            yield Replacement(path, content, view.files.get(path), grows=grows)


def _skill_change(run: "Run", tiers: Tiers) -> str:
    """What becomes of the skill's file: `new`, another `text`, or "" if it stays as it is."""
    skill = run.view.skills.get(LEARNED)
    if skill is None:
        return "" if run.rejections.of_target(_SKILL) or layout.LEARNED in run.view.files else "new"
    body = learned_body(tiers.expertise.patterns)
    if skill.body == body or not is_untouched(run.versions(LEARNED).bodies, skill.body):
        return ""
    return "text"


def _added_skill(run: "Run", what: str, tiers: Tiers) -> tuple[Skill, ...]:
    return (learned_skill(tiers.expertise.patterns, run.now),) if what == "new" else ()


def _new_bodies(what: str, tiers: Tiers) -> tuple[Rewrite, ...]:
    body = learned_body(tiers.expertise.patterns)
    return (Rewrite(layout.LEARNED, body),) if what == "text" else ()


def _message_table(captured: TierChange) -> Iterator[str]:
    for pattern in captured.patterns[:_LISTED]:
        state = "missed" if pattern.missed else pattern.confidence
        yield f"  {state:<6} {pattern.occurrences:>3} files  {shorten(pattern.pattern, _NAMED)}"
    if len(captured.patterns) > _LISTED:
        yield f"  and {len(captured.patterns) - _LISTED} more"


def _counted_patterns(count: int) -> str:
    return "1 pattern" if count == 1 else f"{count} patterns"
