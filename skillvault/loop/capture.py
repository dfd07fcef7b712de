"""The step `capture`: search code for the rules in LEARNINGS.md.

Rules with enough support in code become patterns in the expertise file; patterns that lose their
support become rules again. Every clone of a team captures, because each has other code.
`learning/capture/` decides which rule moves; `learned.py` reads and writes the two files.
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
from skillvault.loop import code_bases, learned
from skillvault.loop.run import BrokenRule, Run
from skillvault.model.change import Change
from skillvault.model.errors import BadInputError
from skillvault.model.records import LearnedPattern, Problem
from skillvault.vault.code_base import CodeBase
from skillvault.vault.files import layout, learnings, redact
from skillvault.vault.files.work_tree import blob_id
from skillvault.vault.index.snapshot import EvidenceScan

_CHECK_SECONDS = 0.05
_HOUR_SECONDS = 3600
_UNFINISHED_TEXT = "?"  # replaces the blob of a text that somebody still writes, so it stays due


def step(run: Run) -> Iterator[Change]:
    """Yield the change of appended rules, then the moves between rules and patterns."""
    if not is_due(run):
        return
    scan = _scan_inputs(run)
    tail_version = yield from _adopt_rules(run)
    run.flush()
    waiting_count = len(run.report.waiting)
    if tiers := _load_tiers(run):
        new_tiers = yield from _capture_patterns(run, tiers)
        yield from learned.edited_patterns_change(run, new_tiers)
    run.flush()
    run.report.problems += _find_mistakes(run, waits=tail_version == _UNFINISHED_TEXT)
    if len(run.report.waiting) == waiting_count and not run.options.is_question:
        tail_version = scan.tail if tail_version is None else tail_version
        run.store.staging.captures.note_scan(
            replace(scan, blobs=_blobs_of_tiers(run), tail=tail_version)
        )


def count_work(run: Run) -> int:
    """Return 1 if a search for evidence is due, else 0."""
    return int(is_due(run))


def is_due(run: Run) -> bool:
    """Return True if an input changed since the last search, or if the search is too old."""
    if STEP in run.options.steps:
        return True
    last_scan, scan = run.snapshot.captures.last_scan, _scan_inputs(run)
    if last_scan is None:  # an empty vault needs no search
        return bool(scan.tail or any(learned.count_patterns_and_rules(run.store, run.snapshot)))
    is_old = bool(scan.code) and scan.at - last_scan.at >= run.policy.capture.hours * _HOUR_SECONDS
    return is_old or replace(last_scan, at=scan.at) != scan


def _scan_inputs(run: Run) -> EvidenceScan:
    code, settings = code_bases.versions(run), repr(run.policy.capture)
    return EvidenceScan(run.now.timestamp(), _blobs_of_tiers(run), _tail_blob(run), code, settings)


def _blobs_of_tiers(run: Run) -> dict[str, str | None]:
    return {path: run.snapshot.files.get(path) for path in (layout.LEARNINGS, layout.EXPERTISE)}


def _tail_blob(run: Run) -> str:
    try:
        file = learnings.read_file(run.store.root)
    except BadInputError as error:
        return error.code
    content = file.content if file else b""
    base = learned.committed_rules(run.store, run.snapshot)
    return _blob_of(content.removeprefix(base)) if content != base else ""


def _blob_of(text: bytes) -> str:
    return blob_id(text) if text else ""


def _find_mistakes(run: Run, *, waits: bool) -> Sequence[Problem]:
    """Return the blocks of LEARNINGS.md that are no valid rules, with line numbers.

    With `waits`, leave out the last block, because an agent may still be writing it.
    """
    try:
        file = learnings.read_file(run.store.root)
    except BadInputError:  # `_adopt_rules` has reported it
        return ()
    text = file.content.decode(errors="surrogateescape") if file else ""
    return read_learnings(whole_blocks(text) if waits else text).problems


# ── adoption ─────────────────────────────────────────────────────────────────────────


def _adopt_rules(run: Run) -> Generator[Change, None, str | None]:
    """Yield the change of the appended rules; return the blob of the text that remains.

    Return None without appended text, or if the file was edited in other places too.
    """
    try:
        appended_text = _find_appended(run)
    except BadInputError as error:
        run.report.problems.append(Problem(layout.LEARNINGS, None, error.code, error.message))
        return None
    if appended_text is None:
        return None
    adoption = adopt(appended_text, redact.redact_value)
    run.report.problems += adoption.problems
    if adoption.change:
        yield adoption.change
    return _UNFINISHED_TEXT if adoption.is_unfinished else _blob_of(adoption.leftover)


def _find_appended(run: Run) -> AppendedText | None:
    blob = run.snapshot.files.get(layout.LEARNINGS)
    committed_text = learned.committed_rules(run.store, run.snapshot)
    settle_seconds = run.policy.record.settle_seconds
    deadline = time.monotonic() + (0 if run.options.dry else settle_seconds)
    while True:
        file = learnings.read_file(run.store.root)
        if file is None or file.content == committed_text:
            return None
        if not file.content.startswith(committed_text):
            reason = "edited and not committed; commit or undo it, and run again"
            run.defer(layout.LEARNINGS, reason)
            return None
        is_stable = not 0 <= file.age < settle_seconds
        is_complete = file.content.rstrip().endswith(b"\n---")
        if is_stable or is_complete or time.monotonic() >= deadline:
            text = file.content[len(committed_text) :].decode(errors="surrogateescape")
            return AppendedText(committed_text, blob, text, is_stable)
        time.sleep(_CHECK_SECONDS)


# ── capture ──────────────────────────────────────────────────────────────────────────


def _load_tiers(run: Run) -> Tiers | None:
    try:
        return learned.read_tiers(run.store, run.snapshot)
    except BadInputError as error:
        message = f"{error.message}; nothing is captured"
        run.report.problems.append(Problem(layout.EXPERTISE, error.key, error.code, message))
        return None


def _capture_patterns(run: Run, tiers: Tiers) -> Generator[Change, None, Tiers]:
    """Yield up to three commits (promote, demote, update); return the new rules and patterns."""
    rules = read_learnings(tiers.text).rules
    scopes = {pattern.pattern: pattern.scope for pattern in tiers.expertise.patterns}
    scopes |= {rule.text: rule.scope for rule in rules}

    def search_code(
        readable: Sequence[CodeBase],
    ) -> tuple[dict[str, CodeSupport], list[BrokenRule]]:
        evidence = code_bases.evidence_of(readable, scopes, run.policy.capture)
        return code_bases.find_support(readable, evidence), code_bases.find_broken_rules(
            readable, evidence
        )

    bases, (support, broken) = code_bases.ask_readable(code_bases.open_code_bases(run), search_code)
    run.report.problems += bases.problems
    if not bases.readable:
        return tiers
    run.report.broken += broken
    promotable_rules = _promotable_rules(run, tiers, rules, support)
    promotion = patterns.promote(tiers, promotable_rules, support, run.now)
    yield from learned.tier_changes(run, promotion, tiers, "promote")
    versions = patterns.pattern_versions(promotion.tiers.expertise.patterns, bases.versions)
    scan = CodeScan(support, versions, run.now)
    demotion = patterns.demote(promotion.tiers, scan, run.policy.capture)
    yield from learned.tier_changes(run, demotion, promotion.tiers, "put back")
    update = patterns.update_patterns(demotion.tiers, scan)
    yield from learned.tier_changes(run, update, demotion.tiers, "look at")
    return update.tiers


def _promotable_rules(
    run: Run, tiers: Tiers, rules: Iterable[WrittenRule], support: Mapping[str, CodeSupport]
) -> list[WrittenRule]:
    supported_rules = [rule for rule in rules if rule.key in support]
    supported_rules = [rule for rule in supported_rules if support[rule.key].evidence.is_enough]
    pattern_keys = {pattern.key for pattern in tiers.expertise.patterns}
    refs = {r.key: learned.pattern_ref(LearnedPattern(pattern=r.text)) for r in supported_rules}
    absent_refs = (ref for key, ref in refs.items() if key not in pattern_keys)
    rejections = learned.rejected_patterns(run, absent_refs)
    run.report.rejected += rejections.values()
    return [rule for rule in supported_rules if refs[rule.key] not in rejections]
