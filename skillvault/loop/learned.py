"""Read, change and explain LEARNINGS.md (rules) and expertise.yaml (patterns).

Rules are the first tier and patterns are the second. The step `capture` moves them with
`tier_changes`. `learned_text` makes the text for prompts, `note_rule` serves `learn`, and the
`explain_…` functions serve `why` and `why-not`. The rules about texts are in `learning/capture/`.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from skillvault.learning import why_not
from skillvault.learning.capture import rules
from skillvault.learning.capture.patterns import TierChange, Tiers, learned_body, learned_skill
from skillvault.learning.capture.prompt import LearnedText, StatedRule, select_learned
from skillvault.learning.corrections import needs_review
from skillvault.learning.promote.versions import FactVersions, find_versions
from skillvault.learning.rejection import Rejection
from skillvault.learning.sections import is_untouched
from skillvault.loop import code_bases
from skillvault.loop.similar_facts import similar_facts
from skillvault.model.change import Change, Replacement, Rewrite
from skillvault.model.errors import BadInputError, UsageError
from skillvault.model.records import LEARNED, Expertise, Fact, LearnedPattern, Problem, Ref, Skill
from skillvault.model.text.text import pluralize, rule_key, shorten
from skillvault.vault.commit.store import Store
from skillvault.vault.disk import pause_on_disk_errors
from skillvault.vault.files import layout, learnings, redact
from skillvault.vault.files.work_tree import blob_id
from skillvault.vault.index.snapshot import Snapshot

if TYPE_CHECKING:
    from skillvault.loop.run import Run

_SKILL = Ref("skill", LEARNED)
_MAX_PATTERN_LENGTH = 60  # characters of a pattern in a commit message
_MAX_PATTERNS = 20  # patterns to list in a commit message
_MIN_PREFIX = 6  # characters of an id that find a pattern
_ID_LENGTH = 60  # characters of a rule to show in a remark
_NOTES = "notes"  # the domain of noted rules
_MAX_RULES = 3  # rules to list in an error


class LearnedPrompt(Struct, frozen=True):
    """The rules and patterns for a prompt; `problem` says why patterns are missing."""

    text: LearnedText
    problem: Problem | None = None


class RuleOrigin(Struct, frozen=True):
    """The commit that added a rule to LEARNINGS.md."""

    sha: str
    author: str
    date: str
    subject: str


# ── reading ──────────────────────────────────────────────────────────────────────────


def committed_rules(store: Store, snapshot: Snapshot) -> bytes:
    """Return the committed LEARNINGS.md, from the work tree if the text is the same."""
    blob = snapshot.files.get(layout.LEARNINGS)
    if blob is None:
        return b""
    with suppress(BadInputError):
        file = learnings.read_file(store.root)
        if file and blob_id(file.content) == blob:
            return file.content
    return snapshot.files.read([layout.LEARNINGS]).get(layout.LEARNINGS, b"")


def rules_text(store: Store, snapshot: Snapshot) -> str:
    """Return the committed LEARNINGS.md as text; bytes that are not UTF-8 become surrogates."""
    return committed_rules(store, snapshot).decode(errors="surrogateescape")


def read_expertise(snapshot: Snapshot) -> Expertise:
    """Return the committed expertise.yaml; raise BadInputError if it cannot be parsed."""
    if layout.EXPERTISE not in snapshot.files:
        return Expertise()
    return learnings.decode_expertise(
        snapshot.files.read([layout.EXPERTISE]).get(layout.EXPERTISE, b"")
    )


def read_tiers(store: Store, snapshot: Snapshot) -> Tiers:
    """Return rules and patterns; raise BadInputError if expertise.yaml cannot be parsed."""
    return Tiers(rules_text(store, snapshot), read_expertise(snapshot))


def pattern_ref(pattern: LearnedPattern) -> Ref:
    """Return the ref of a pattern."""
    return Ref("pattern", pattern.id)


def rejected_patterns(run: "Run", refs: Iterable[Ref]) -> dict[Ref, Rejection]:
    """Return the patterns of `refs` that a person removed, each with the rejection.

    If skillvault removed a pattern, its commit names the pattern as a source, not as a target.
    """
    commits = run.snapshot.history.last_mentions(refs).items()
    return {ref: Rejection(str(ref), sha) for ref, (sha, role) in commits if role == "target"}


def _work_tree_rules(store: Store) -> list[str]:
    file = learnings.read_file(store.root)
    return rules.rule_texts(file.content.decode(errors="surrogateescape")) if file else []


def uncommitted_rules(store: Store, snapshot: Snapshot) -> list[str]:
    """Return the rules of the work tree that are not committed yet."""
    with suppress(BadInputError):  # a run reports the error
        committed_keys = set(map(rule_key, rules.rule_texts(rules_text(store, snapshot))))
        return [text for text in _work_tree_rules(store) if rule_key(text) not in committed_keys]
    return []


def _replaced_rules(store: Store) -> set[str]:
    """Return the keys of rules that a later rule in the work tree replaces."""
    with suppress(BadInputError):
        if file := learnings.read_file(store.root):
            return rules.replaced_keys(file.content.decode(errors="surrogateescape"))
    return set()


def find_file_problems(content: bytes | None) -> tuple[list[Problem], list[Problem]]:
    """Return the problems and the notes about the content of LEARNINGS.md."""
    file = rules.read_learnings((content or b"").decode(errors="surrogateescape"))
    return list(file.problems), list(file.notes)


def count_patterns_and_rules(store: Store, snapshot: Snapshot) -> tuple[int, int]:
    """Return the numbers of committed patterns and rules; no patterns if the file is broken."""
    patterns = 0
    with suppress(BadInputError):  # `check` reports the error
        patterns = len(read_expertise(snapshot).patterns)
    return patterns, len(rules.rule_texts(rules_text(store, snapshot)))


# ── noting a rule ────────────────────────────────────────────────────────────────────


def note_rule(
    store: Store,
    rule: str,
    scope: Sequence[str] = (),
    *,
    keep_both: bool = False,
    dry: bool = False,
) -> str:
    """Append a rule to LEARNINGS.md without secrets, and return its text.

    `scope` has the file patterns in which the rule holds. With `keep_both`, the rule replaces no
    older version. With `dry`, nothing is written. Raise UsageError if the rule cannot be noted.
    """
    if flaw := rules.flaw_of(rules.Block(rule, "", 1)):
        raise UsageError(f"{flaw.message.partition(': ')[2]}, and note it again")
    text = " ".join(redact.redact_value(rule).split())
    if rules.rule_of(rules.Block(text, "", 1)) is None:
        raise UsageError(f"{text!r} is too short for a rule; say what to do, and when")
    scope = redact.redact_value(scope)
    for pattern in scope:
        if rules.scope_of(rules.with_scope("", [pattern])) != (pattern.strip(),):
            raise UsageError(f"--scope {pattern}: is not a file pattern; write one such as *.yaml")
    try:
        noted_rules = _work_tree_rules(store)
        versions = noted_versions(text, noted_rules, keep_both=keep_both)
        text = rules.with_scope(text, scope)
        text = rules.with_replaced(text, [fact.text for fact in versions.replaced])
        if not dry:
            with pause_on_disk_errors():
                learnings.append(store.root, lambda content: rules.render_addition(content, [text]))
    except BadInputError as error:
        raise UsageError(f"{rules.LEARNINGS}: {error.message}") from None
    return text


def noted_versions(
    text: str, noted_rules: Iterable[str], *, keep_both: bool = False
) -> FactVersions:
    """Return the noted rules that a rule repeats or replaces, as facts.

    A rule that does not fit into a comment of the file is never replaced.
    """
    candidates = [
        Fact(id=shorten(rule, _ID_LENGTH), domain=_NOTES, text=rule) for rule in noted_rules
    ]
    versions = find_versions(text, candidates, {}, keeps_both=keep_both)
    replaceable_facts = (fact for fact in versions.replaced if rules.can_be_replaced(fact.text))
    return msgspec.structs.replace(versions, replaced=tuple(replaceable_facts))


def remarks_on_rule(
    store: Store, snapshot: Snapshot, text: str, *, keep_both: bool = False
) -> list[str]:
    """Return remarks on rules, patterns and facts that say the same as a new rule.

    A new rule replaces older noted rules, but no pattern (code supports it) and no fact (it belongs
    to a domain).
    """
    with suppress(BadInputError):
        versions = noted_versions(text, _work_tree_rules(store), keep_both=keep_both)
        patterns = [
            Fact(id=f"the pattern {pattern.id}", domain=_NOTES, text=pattern.pattern, kind="judge")
            for pattern in read_expertise(snapshot).patterns
        ]
        facts = similar_facts(snapshot, text, domain=None)
        statements = find_versions(text, [*patterns, *facts], {}, keeps_both=True)
        copies = [f"said already: {copy.id}" for copy in (*versions.copies, *statements.copies)]
        return [*copies, *versions.remarks, *statements.remarks]
    return []


# ── the text for a prompt ────────────────────────────────────────────────────────────


def learned_text(
    store: Store, repository: str | None = None, *, is_whole: bool = False
) -> LearnedPrompt:
    """Return the rules and patterns for a prompt, or only rules if expertise.yaml is invalid.

    The user's rules for this `repository` come first. The text has at most `capture.budget` tokens,
    unless `is_whole` is set. Without a budget in the policy, repeated rules are kept.
    """
    snapshot = store.snapshot()
    budget = None if is_whole else snapshot.policy.capture.budget
    try:
        tiers, problem = read_tiers(store, snapshot), None
    except BadInputError as error:
        tiers = Tiers(rules_text(store, snapshot), Expertise())
        problem = Problem(layout.EXPERTISE, error.key, error.code, error.message)
    keeps_repeats = budget is None and not is_whole
    read_rules = rules.repeated_rule_texts if keeps_repeats else rules.rule_texts
    noted_rules = [*read_rules(tiers.text), *uncommitted_rules(store, snapshot)]
    replaced_keys = _replaced_rules(store)
    noted_rules = [rule for rule in noted_rules if rule_key(rule) not in replaced_keys]
    stated_rules = _stated_rules(store, snapshot, repository)
    text = select_learned(tiers.expertise.patterns, noted_rules, budget, stated_rules)
    return LearnedPrompt(text, problem)


def _stated_rules(store: Store, snapshot: Snapshot, repository: str | None) -> list[StatedRule]:
    """Return the rules that the user stated, newest first.

    Rules that wait for approval count only for the person who stated them, in this repository.
    """
    email = store.git.settings().email
    rules = [
        correction
        for correction in snapshot.corrections.waiting()
        if correction.scope == repository
        and correction.said_by is not None
        and correction.said_by == email
        and not needs_review(correction.text, redact.secret_kinds)
    ]
    approved_rules = snapshot.facts.approved_corrections()
    superseded_ids = {c.supersedes for c in rules} | {rule.supersedes for rule in approved_rules}
    dated_rules = [(c.created_at, StatedRule(c.text, c.created_at, c.about or "")) for c in rules]
    dated_rules += [
        (rule.order[0], StatedRule(rule.text, about=rule.about or ""))
        for rule in approved_rules
        if repository in (None, rule.scope) and rule.id not in superseded_ids
    ]
    dated_rules.sort(key=itemgetter(0), reverse=True)
    return [rule for _, rule in dated_rules]


# ── changes ──────────────────────────────────────────────────────────────────────────


def tier_changes(run: "Run", move: TierChange, old_tiers: Tiers, verb: str) -> Iterator[Change]:
    """Yield the change that writes both files after rules or patterns moved, if they changed.

    `verb` is `promote`, `put back` or `look at`, for the subject of the commit.
    """
    if move.tiers == old_tiers:
        return
    refs = tuple(map(pattern_ref, move.patterns))
    skill, body = _skill_update(run, move.tiers)
    lines: list[str] = []
    for pattern in move.patterns[:_MAX_PATTERNS]:
        state = "missed" if pattern.missed else pattern.confidence
        text = shorten(pattern.pattern, _MAX_PATTERN_LENGTH)
        lines.append(f"  {state:<6} {pattern.occurrences:>3} files  {text}")
    if len(move.patterns) > _MAX_PATTERNS:
        lines.append(f"  and {len(move.patterns) - _MAX_PATTERNS} more")
    yield Change(
        step=rules.STEP,
        subject=f"{verb} {pluralize(len(refs), 'pattern')}",
        reason="\n".join(lines),
        replaces=tuple(_replacements(run.snapshot, move.tiers)),
        writes=skill,
        rewrites=body,
        # A pattern as a source tells `rejected_patterns` that no person removed it.
        sources=refs if verb == "put back" else _rule_refs(move.patterns),
        targets=(*(refs if verb == "promote" else ()), *((_SKILL,) if skill or body else ())),
    )


def edited_patterns_change(run: "Run", tiers: Tiers) -> Iterator[Change]:
    """Yield the change that copies a person's edits of patterns into the skill."""
    patterns = tiers.expertise.patterns
    if not patterns and LEARNED not in run.snapshot.skills:
        return
    skill, body = _skill_update(run, tiers)
    if skill or body:
        yield Change(
            step=rules.STEP,
            subject=f"rewrite {pluralize(len(patterns), 'pattern')}",
            reason=f"{layout.LEARNED} did not list the patterns of {layout.EXPERTISE}.",
            writes=skill,
            rewrites=body,
            sources=_rule_refs(patterns),
            targets=(_SKILL,),
        )


def _rule_refs(patterns: Iterable[LearnedPattern]) -> tuple[Ref, ...]:
    return tuple(rules.rule_ref(pattern.pattern) for pattern in patterns)


def _replacements(snapshot: Snapshot, tiers: Tiers) -> Iterator[Replacement]:
    contents = snapshot.files.read([layout.EXPERTISE, layout.LEARNINGS])
    old_expertise = contents.get(layout.EXPERTISE, b"")
    files = {
        layout.EXPERTISE: learnings.rewrite_expertise(old_expertise, tiers.expertise),
        layout.LEARNINGS: tiers.text.encode(errors="surrogateescape"),
    }
    for path, content in files.items():
        if contents.get(path) != content:
            grows = path == layout.LEARNINGS
            yield Replacement(path, content, snapshot.files.get(path), grows=grows)


def _skill_update(run: "Run", tiers: Tiers) -> tuple[tuple[Skill, ...], tuple[Rewrite, ...]]:
    patterns = tiers.expertise.patterns
    skill = run.snapshot.skills.get(LEARNED)
    if skill is None:
        is_unwanted = run.rejections.of_target(_SKILL) or layout.LEARNED in run.snapshot.files
        return (() if is_unwanted else (learned_skill(patterns, run.now),)), ()
    body = learned_body(patterns)
    if skill.body == body or not is_untouched(run.written_texts(LEARNED).bodies, skill.body):
        return (), ()
    return (), (Rewrite(layout.LEARNED, body),)


# ── one pattern, one rule ────────────────────────────────────────────────────────────


def find_pattern(snapshot: Snapshot, text: str) -> LearnedPattern | None:
    """Find a pattern by its id, the start of its id, or its text."""
    try:
        patterns = read_expertise(snapshot).patterns
    except BadInputError:
        return None
    key, name = rule_key(text), text.removeprefix("pattern:")
    equal_patterns = [pattern for pattern in patterns if name == pattern.id or key == pattern.key]
    matches = [p for p in patterns if len(name) >= _MIN_PREFIX and p.id.startswith(name)]
    return next(iter(equal_patterns or (matches if len(matches) == 1 else [])), None)


def explain_pattern(store: Store, snapshot: Snapshot, pattern: LearnedPattern) -> dict[str, Any]:
    """Return `{ref, commits, pattern, written}`; `written` is the origin of the pattern's rule."""
    ref = pattern_ref(pattern)
    commits = snapshot.history.commits_changing(ref)
    origin = _find_origin(store, pattern.key, commits[-1].sha if commits else snapshot.commit)
    rows = [{key: getattr(c, key) for key in ("sha", "step", "subject", "date")} for c in commits]
    values = {
        key: getattr(pattern, key)
        for key in ("pattern", "confidence", "occurrences", "evidence", "lines", "code", "missed")
    }
    node = {"kind": ref.kind, "id": ref.id, "path": layout.EXPERTISE}
    return {"ref": node, "commits": rows, "pattern": values, "written": origin}


def _find_origin(store: Store, key: str, commit: str | None) -> RuleOrigin | None:
    """Return the commit that added a rule to LEARNINGS.md last, at or before `commit`."""
    origin = None
    for sha, author, date, subject in store.git.history.file_log(commit, layout.LEARNINGS):
        address = f"{sha}:{layout.LEARNINGS}"
        content = store.git.objects.read_files([address]).get(address, b"")
        texts = rules.rule_texts(content.decode(errors="surrogateescape"))
        if key in map(rule_key, texts):
            origin = RuleOrigin(sha, author, date, subject)
        elif origin:
            break
    return origin


def find_rule(store: Store, snapshot: Snapshot, text: str) -> str | None:
    """Return the rule with this text, or the only rule that contains the text, or None."""
    texts = rules.rule_texts(rules_text(store, snapshot))
    equal_rules = [rule for rule in texts if rule_key(rule) == rule_key(text)]
    matches = _matching_rules(texts, text)
    return next(iter(equal_rules or (matches if len(matches) == 1 else [])), None)


def refuse_ambiguous_rule(store: Store, snapshot: Snapshot, text: str) -> None:
    """Raise UsageError if a text means a pattern, several rules, or an uncommitted rule."""
    if pattern := find_pattern(snapshot, text):
        raise UsageError(f"{pattern.id}: is a pattern already; `skillvault why` shows its evidence")
    if matches := _matching_rules(rules.rule_texts(rules_text(store, snapshot)), text):
        listing = "; ".join(matches[:_MAX_RULES])
        listing += "; …" if len(matches) > _MAX_RULES else ""
        raise UsageError(f"{text}: is in {len(matches)} rules ({listing}); write more of it")
    if candidates := _matching_rules(uncommitted_rules(store, snapshot), text):
        raise UsageError(f"{candidates[0]}: is not committed yet; run `skillvault run` first")


def _matching_rules(texts: Iterable[str], text: str) -> list[str]:
    key = rule_key(text)
    return [rule for rule in texts if key and key in rule_key(rule)]


def explain_rule(run: "Run", rule: str) -> "why_not.StepAnswer":
    """Return the state of a rule on its way to a pattern, with its evidence in code."""
    policy = run.policy.capture
    ref = pattern_ref(LearnedPattern(pattern=rule))
    if rejection := rejected_patterns(run, [ref]).get(ref):
        origin = f"made in {rejection.commit[:10]}, and removed by a person since"
        return why_not.StepAnswer("capture", "rejected", origin)
    noted_rules = rules.read_learnings(rules_text(run.store, run.snapshot)).rules
    scopes = {r.text: r.scope for r in noted_rules if r.text == rule} or {rule: ()}
    bases, evidence = code_bases.ask_readable(
        code_bases.open_code_bases(run), lambda bases: code_bases.evidence_of(bases, scopes, policy)
    )
    if not bases.readable:
        problems = "; ".join(f"{problem.path}: {problem.message}" for problem in bases.problems)
        advice = "no code base; name one: `capture: {code: [PATH]}` in vault.yaml, or run --code"
        return why_not.StepAnswer("capture", "not asked", problems or advice)
    (rule_evidence,) = evidence.values()
    return why_not.StepAnswer("capture", *_describe_evidence(rule_evidence, policy.files))


def _describe_evidence(rule: "code_bases.RuleEvidence", min_files: int) -> tuple[str, str]:
    evidence, count = rule.evidence, len(rule.evidence.files)
    if rule.terms.polarity == "negative":
        breach = f"; broken in {evidence.file_list}" if count else "; no file breaks it"
        return "avoid", f"it forbids something, so no file can support it{breach}"
    if not rule.terms.all:
        return "silent", "it names nothing to search for; put a term in backticks"
    if not evidence.terms:
        return "common", "what it names occurs in more than half of the files"
    terms = ", ".join(f"`{term}`" for term in evidence.terms)
    description = f"{count} file{'s' * (count != 1)} with {terms}"
    description += f": {evidence.file_list}" if count else ""
    if evidence.is_enough:
        return "due", f"{description}; `skillvault run capture` makes a pattern of it"
    return "weak", f"{description}; it takes {min_files}"
