"""What a vault tells of both tiers: to a prompt, to a person, and of one rule or pattern."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from skillvault.learning import why_not
from skillvault.learning.capture.patterns import Tiers
from skillvault.learning.capture.prompt import LearnedText, select_learned
from skillvault.learning.capture.rules import (
    LEARNINGS,
    Block,
    flaw_of,
    read_learnings,
    render_addition,
    rule_of,
    rule_texts,
    scope_of,
    with_scope,
)
from skillvault.loop import code_bases
from skillvault.loop.tiers import (
    pattern_ref,
    read_expertise,
    read_tiers,
    rejected_patterns,
    rules_text,
)
from skillvault.model.errors import BadInputError, UsageError
from skillvault.model.records import Expertise, LearnedPattern, Problem
from skillvault.model.text.text import rule_key
from skillvault.vault.commit.store import Store
from skillvault.vault.disk import pause_on_disk_errors
from skillvault.vault.files import layout, learnings, redact
from skillvault.vault.index.snapshot import Topics

if TYPE_CHECKING:
    from skillvault.loop.run import Run

_MIN_PREFIX = 6  # characters of an id
_TOLD = 3  # rules that a message names


class Learned(Struct, frozen=True):
    """What a prompt gets of both tiers; `problem`: why there are no patterns in it."""

    told: LearnedText
    problem: Problem | None = None


class Writing(Struct, frozen=True):
    """The commit since which a rule stands in LEARNINGS.md, and whose it is."""

    sha: str
    author: str
    date: str
    subject: str


def note_rule(store: Store, rule: str, scope: Sequence[str] = (), *, dry: bool = False) -> str:
    """Append a rule to LEARNINGS.md, without secrets; see `Notebook.learn`."""
    if flaw := flaw_of(Block(rule, "", 1)):
        raise UsageError(f"{flaw.message.partition(': ')[2]}, and note it again")
    text = " ".join(redact.redact_value(rule).split())
    if rule_of(Block(text, "", 1)) is None:
        raise UsageError(f"{text!r} is too short for a rule; say what to do, and when")
    scope = redact.redact_value(scope)
    for pattern in scope:
        if scope_of(with_scope("", [pattern])) != (pattern.strip(),):
            raise UsageError(f"--scope {pattern}: is no pattern of files; write one such as *.yaml")
    text = with_scope(text, scope)
    try:
        if dry:
            learnings.read_file(store.root)
        else:
            with pause_on_disk_errors():
                learnings.append(store.root, lambda before: render_addition(before, [text]))
    except BadInputError as error:
        raise UsageError(f"{LEARNINGS}: {error.message}") from None
    return text


def uncommitted_rules(store: Store, view: Topics) -> list[str]:
    """The rules in the work tree that the committed file does not have."""
    with suppress(BadInputError):  # a run tells of it
        if written := learnings.read_file(store.root):
            present = set(map(rule_key, rule_texts(rules_text(store, view))))
            texts = rule_texts(written.content.decode(errors="surrogateescape"))
            return [text for text in texts if rule_key(text) not in present]
    return []


def learned(store: Store) -> Learned:
    """What a prompt gets; of an expertise.yaml that cannot be read the rules alone."""
    view = store.head()
    budget = view.policy.capture.budget
    try:
        tiers, problem = read_tiers(store, view), None
    except BadInputError as error:
        tiers = Tiers(rules_text(store, view), Expertise())
        problem = Problem(layout.EXPERTISE, error.key, error.code, error.message)
    return Learned(
        select_learned(tiers.expertise.patterns, rule_texts(tiers.text), budget), problem
    )


def mistakes(content: bytes | None) -> tuple[list[Problem], list[Problem]]:
    """(problems, notes) of the bytes of LEARNINGS.md; none of a vault without it."""
    written = read_learnings((content or b"").decode(errors="surrogateescape"))
    return list(written.problems), list(written.notes)


def counts(store: Store, view: Topics) -> tuple[int, int]:
    """(patterns, rules) that are committed; no patterns if they cannot be read."""
    patterns = 0
    with suppress(BadInputError):  # `check` tells of it
        patterns = len(read_expertise(view).patterns)
    return patterns, len(rule_texts(rules_text(store, view)))


# ── one pattern, one rule ────────────────────────────────────────────────────────────


def pattern_named(view: Topics, text: str) -> LearnedPattern | None:
    """The pattern that an id, the beginning of one, or the rule's words mean."""
    try:
        patterns = read_expertise(view).patterns
    except BadInputError:
        return None
    key, name = rule_key(text), text.removeprefix("pattern:")
    exact = [p for p in patterns if name == p.id or key == p.key]
    near = [p for p in patterns if len(name) >= _MIN_PREFIX and p.id.startswith(name)]
    return next(iter(exact or (near if len(near) == 1 else [])), None)


def why_pattern(store: Store, view: Topics, pattern: LearnedPattern) -> dict[str, Any]:
    """A pattern with its commits, who wrote the rule, and the evidence."""
    ref = pattern_ref(pattern)
    commits = view.history.commits_changing(ref)
    written = _writing_of(store, pattern.key, commits[-1].sha if commits else view.commit)
    shape = [{key: getattr(c, key) for key in ("sha", "step", "subject", "date")} for c in commits]
    entry = {
        key: getattr(pattern, key)
        for key in ("pattern", "confidence", "occurrences", "evidence", "lines", "code", "missed")
    }
    node = {"kind": ref.kind, "id": ref.id, "path": layout.EXPERTISE}
    return {"ref": node, "commits": shape, "pattern": entry, "written": written}


def _writing_of(store: Store, key: str, commit: str | None) -> Writing | None:
    """Since which commit before this one a rule stood in LEARNINGS.md, without a break."""
    first = None
    for writing, text in _versions(store, commit):
        if key not in map(rule_key, rule_texts(text)):
            if first:
                break
            continue
        first = writing
    return first


def _versions(store: Store, commit: str | None) -> Iterator[tuple[Writing, str]]:
    """The versions of LEARNINGS.md up to a commit, the newest first."""
    for sha, author, date, subject in store.git.history.file_log(commit, layout.LEARNINGS):
        place = f"{sha}:{layout.LEARNINGS}"
        content = store.git.objects.read_files([place]).get(place, b"")
        yield Writing(sha, author, date, subject), content.decode(errors="surrogateescape")


def rule_named(store: Store, view: Topics, text: str) -> str | None:
    """The rule of LEARNINGS.md that its words, or some of them that no other has, mean."""
    rules = rule_texts(rules_text(store, view))
    key = rule_key(text)
    exact = [rule for rule in rules if rule_key(rule) == key]
    near = _rules_with(rules, text)
    return next(iter(exact or (near if len(near) == 1 else [])), None)


def refuse_rule(store: Store, view: Topics, text: str) -> None:
    """UsageError if a text means rules or a pattern that cannot be answered about, and why."""
    if pattern := pattern_named(view, text):
        raise UsageError(f"{pattern.id}: is a pattern already; `skillvault why` says by what")
    if several := _rules_with(rule_texts(rules_text(store, view)), text):
        some = "; ".join(several[:_TOLD]) + ("; …" if len(several) > _TOLD else "")
        raise UsageError(f"{text}: stands in {len(several)} rules ({some}); write more of one")
    if waiting := _rules_with(uncommitted_rules(store, view), text):
        raise UsageError(f"{waiting[0]}: is not committed yet; `skillvault run` does it")


def _rules_with(rules: Iterable[str], text: str) -> list[str]:
    key = rule_key(text)
    return [rule for rule in rules if key and key in rule_key(rule)]


def why_no_pattern(run: "Run", rule: str) -> "why_not.StepAnswer":
    """Where a rule stands with becoming a pattern, with its numbers."""
    policy = run.policy.capture
    pattern = LearnedPattern(pattern=rule)
    if rejection := rejected_patterns(run, [pattern_ref(pattern)]).get(pattern_ref(pattern)):
        origin = f"made in {rejection.commit[:10]}, and taken away by a person since"
        return why_not.StepAnswer("capture", "rejected", origin)
    written = read_learnings(rules_text(run.store, run.view)).rules
    scopes = {one.text: one.scope for one in written if one.text == rule} or {rule: ()}
    bases, evidence = code_bases.asked(
        code_bases.open_code_bases(run), lambda bases: code_bases.evidence_of(bases, scopes, policy)
    )
    if not bases.readable:
        why = "; ".join(f"{p.path}: {p.message}" for p in bases.problems)
        none = "no code base; name one: `capture: {code: [PATH]}` in vault.yaml, or run --code"
        return why_not.StepAnswer("capture", "not asked", why or none)
    (of_rule,) = evidence.values()
    return why_not.StepAnswer("capture", *_standing(of_rule, policy.files))


def _standing(of_rule: "code_bases.RuleEvidence", needed: int) -> tuple[str, str]:
    count, terms = (
        len(of_rule.evidence.files),
        ", ".join(f"`{term}`" for term in of_rule.evidence.terms),
    )
    if of_rule.terms.polarity == "negative":
        broken = f"; broken in {of_rule.evidence.file_list}" if count else "; no file breaks it"
        return "avoid", f"it forbids something, so that no file bears it out{broken}"
    if not of_rule.terms.all:
        return "silent", "it names nothing that could be looked for; put a term in backticks"
    if not of_rule.evidence.terms:
        return "common", "what it names stands in more than half of the files"
    where = f"{count} file{'s' * (count != 1)} with {terms}"
    where += f": {of_rule.evidence.file_list}" if count else ""
    if of_rule.evidence.worth.promote:
        return "due", f"{where}; `skillvault run capture` makes a pattern of it"
    return "weak", f"{where}; it takes {needed}"
