"""capture: rules of LEARNINGS.md that code bears out become patterns, and rules again without it.

Any clone may capture: the code bases are where the developers are.
"""

import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from skillvault.learning.capture import patterns
from skillvault.learning.capture.patterns import CodeScan, CodeSupport, Tiers
from skillvault.learning.capture.rules import (
    STEP,
    AppendedText,
    WrittenRule,
    adopt,
    read_learnings,
    whole_blocks,
)
from skillvault.loop import learned
from skillvault.loop.code_bases import (
    asked,
    borne_out,
    broken_rules,
    evidence_of,
    open_code_bases,
    versions,
)
from skillvault.loop.run import Broken, Run
from skillvault.loop.tiers import (
    captured_change,
    committed_rules,
    pattern_ref,
    read_tiers,
    rejected_patterns,
    told_change,
)
from skillvault.model.change import Change
from skillvault.model.errors import BadInputError
from skillvault.model.records import LearnedPattern, Problem
from skillvault.vault.code_base import CodeBase
from skillvault.vault.files import layout, learnings, redact
from skillvault.vault.files.work_tree import blob_id
from skillvault.vault.index.snapshot import EvidenceScan

_PAUSE = 0.05
_HOUR = 3600
_WRITING = "?"  # a text that somebody is writing on: it is due, whatever becomes of it


def step(run: Run) -> Iterator[Change]:
    """What agents appended is committed, then what follows of the evidence: a commit each."""
    if not is_due(run):
        return
    seen = _seen(run)
    rest = yield from _adoption(run)
    run.flush()
    waiting = len(run.report.waiting)
    if tiers := _tiers(run):
        after = yield from _captured(run, tiers)
        yield from told_change(run, after)
    run.flush()
    run.report.problems += _mistakes(run, waits=rest == _WRITING)
    if len(run.report.waiting) == waiting and not run.options.asks:
        tail = seen.tail if rest is None else rest
        run.store.staging.captures.note_scan(replace(seen, blobs=_blobs(run), tail=tail))


def waiting(run: Run) -> int:
    """Whether evidence is to be looked for."""
    return int(is_due(run))


def is_due(run: Run) -> bool:
    """Whether anything changed since evidence was last looked for, or that is long ago."""
    if STEP in run.options.steps:
        return True
    last, now = run.view.captures.last_scan, _seen(run)
    if last is None:  # of a new vault there is nothing to look for
        return bool(now.tail or any(learned.counts(run.store, run.view)))
    is_old = bool(now.code) and now.at - last.at >= run.policy.capture.hours * _HOUR
    return is_old or replace(last, at=now.at) != now


def _seen(run: Run) -> EvidenceScan:
    """What stands where now."""
    code, settings = versions(run), repr(run.policy.capture)
    return EvidenceScan(run.now.timestamp(), _blobs(run), _tail(run), code, settings)


def _blobs(run: Run) -> dict[str, str | None]:
    return {path: run.view.files.get(path) for path in (layout.LEARNINGS, layout.EXPERTISE)}


def _tail(run: Run) -> str:
    """What betrays the text that stands behind the committed one; "" for none."""
    try:
        written = learnings.read_file(run.store.root)
    except BadInputError as error:
        return error.code
    content, committed = written.content if written else b"", committed_rules(run.store, run.view)
    return _trace_of(content.removeprefix(committed)) if content != committed else ""


def _trace_of(text: bytes) -> str:
    return blob_id(text) if text else ""


def _mistakes(run: Run, *, waits: bool) -> Sequence[Problem]:
    """What of the file in the work tree can be no rule, by the lines on which it stands by now.

    `waits`: somebody is writing at its end.
    """
    try:
        written = learnings.read_file(run.store.root)
    except BadInputError:  # told as what kept it from being adopted
        return ()
    text = written.content.decode(errors="surrogateescape") if written else ""
    return read_learnings(whole_blocks(text) if waits else text).problems


# ── adopting ─────────────────────────────────────────────────────────────────────────


def _adoption(run: Run) -> Generator[Change, None, str | None]:
    """Commit what was appended; what betrays the text that then stands behind that.

    None if nobody looked at it, as it is no addition.
    """
    try:
        appended = _appended(run)
    except BadInputError as error:
        run.report.problems.append(Problem(layout.LEARNINGS, None, error.code, error.message))
        return None
    if appended is None:
        return None
    adopted = adopt(appended, redact.redact_value)
    run.report.problems += adopted.problems
    if adopted.change:
        yield adopted.change
    return _WRITING if adopted.waits else _trace_of(adopted.rest)


def _appended(run: Run) -> AppendedText | None:
    """What stands in the work tree's file behind the committed one; None if nothing is new."""
    blob = run.view.files.get(layout.LEARNINGS)
    committed = committed_rules(run.store, run.view)
    settle = run.policy.record.settle_seconds
    end = time.monotonic() + (0 if run.options.dry else settle)
    while True:
        written = learnings.read_file(run.store.root)
        if written is None or written.content == committed:
            return None
        if not written.content.startswith(committed):
            run.wait(layout.LEARNINGS, "edited and not committed; commit or undo it, and run again")
            return None
        still = not 0 <= written.age < settle
        if still or _is_whole(written.content) or time.monotonic() >= end:
            text = written.content[len(committed) :].decode(errors="surrogateescape")
            return AppendedText(committed, blob, text, still)
        time.sleep(_PAUSE)


def _is_whole(content: bytes) -> bool:
    """Whether a text ends with a separator, so that nobody is in the middle of a rule."""
    return content.rstrip().endswith(b"\n---")


# ── capturing ────────────────────────────────────────────────────────────────────────


def _tiers(run: Run) -> Tiers | None:
    """Both tiers as they are committed; None, and a problem, if one cannot be read."""
    try:
        return read_tiers(run.store, run.view)
    except BadInputError as error:
        run.report.problems.append(
            Problem(
                layout.EXPERTISE, error.key, error.code, f"{error.message}; nothing is captured"
            )
        )
        return None


def _captured(run: Run, tiers: Tiers) -> Generator[Change, None, Tiers]:
    """What follows of the evidence, in up to three commits; the tiers after it."""
    written = read_learnings(tiers.text)
    scopes = {pattern.pattern: pattern.scope for pattern in tiers.expertise.patterns}
    scopes |= {rule.text: rule.scope for rule in written.rules}

    def look(readable: Sequence[CodeBase]) -> tuple[dict[str, CodeSupport], list[Broken]]:
        evidence = evidence_of(readable, scopes, run.policy.capture)
        return borne_out(readable, evidence), broken_rules(readable, evidence)

    bases, (borne, broken) = asked(open_code_bases(run), look)
    run.report.problems += bases.problems
    if not bases.readable:
        return tiers
    run.report.broken += broken
    promoted = patterns.promote(
        tiers, _promotable(run, tiers, written.rules, borne), borne, run.now
    )
    yield from captured_change(run, promoted, tiers, "promote")
    versions_asked = patterns.asked_patterns(promoted.tiers.expertise.patterns, bases.versions)
    looked = CodeScan(borne, versions_asked, run.now)
    ended = patterns.demote(promoted.tiers, looked, run.policy.capture)
    yield from captured_change(run, ended, promoted.tiers, "put back")
    noted = patterns.update_patterns(ended.tiers, looked)
    yield from captured_change(run, noted, ended.tiers, "look at")
    return noted.tiers


def _promotable(
    run: Run, tiers: Tiers, rules: Iterable[WrittenRule], borne: Mapping[str, CodeSupport]
) -> list[WrittenRule]:
    """The rules that enough code bears out, without those that a person took away as patterns."""
    ready = [rule for rule in rules if rule.key in borne and borne[rule.key].evidence.worth.promote]
    present = {pattern.key for pattern in tiers.expertise.patterns}
    refs = {r.key: pattern_ref(LearnedPattern(pattern=r.text)) for r in ready}
    absent = (ref for key, ref in refs.items() if key not in present)
    rejected = rejected_patterns(run, absent)
    run.report.rejected += rejected.values()
    return [rule for rule in ready if refs[rule.key] not in rejected]
