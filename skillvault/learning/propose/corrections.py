"""Propose the rules of a person's words, confirm them, and withdraw those that they contradict."""

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from hashlib import sha256

from msgspec.structs import replace

from skillvault.learning.lint import Secrets, lint_files
from skillvault.learning.recommend.duplicates import says_same
from skillvault.model.change import Change, Edit
from skillvault.model.lazy import regex
from skillvault.model.next_words import is_risky, read_reaction
from skillvault.model.records import Correction, Fact, Outcome, Ref
from skillvault.model.text.text import rule_key, shorten, slug

STEP = "propose"
DOCUMENT = "document "  # before the path of a document, in place of a session
CONFIRMED = 3  # sessions in which a person stated a rule, from which on it is reviewed first
_SUBJECT, _ID, _ABOUT = 50, 48, 300  # characters
_NEGATION = regex(
    r"\b(?:never|not|no|don'?t|avoid|instead of|rather than|nie|niemals|nicht|kein\w*|statt|nunca"
    r"|jamás|en vez de|en lugar de|jamais|pas|au lieu de)\b|不要|别|禁止|不用|而不是",
    re.IGNORECASE,
)
_TERM = regex(r"[@\w][\w./@-]*\w|[\w@]")
# Words of a rule that are no terms: they are in its opposite, too.
_COMMON = frozenset(
    "we use always never here not no the a an in of for to with and or instead only please".split()
)


def proposals_of(
    outcome: Outcome, corrections: Sequence[Correction], rules: Sequence[Fact]
) -> Iterator[Change]:
    """Yield a change for each rule that a person's words state after an outcome.

    `corrections` wait for approval, `rules` are approved.
    """
    waiting = {correction.id: correction for correction in corrections}
    for text in read_reaction(outcome.result.next_words, outcome.result.claim).rules:
        stated = _correction_of(outcome, text)
        rivals = [c for c in waiting.values() if c.scope == stated.scope]
        approved = [rule for rule in rules if rule.scope == stated.scope]
        equal_correction = next((c for c in rivals if _is_same(c.text, text)), None)
        if equal_correction:
            if change := _confirmation(equal_correction, stated):
                yield change
            continue
        if any(_is_same(rule.text, text) for rule in approved):
            continue
        opposite = next((rule for rule in approved if contradicts(rule.text, text)), None)
        withdrawn = [c for c in rivals if contradicts(c.text, text)]
        for correction in withdrawn:
            del waiting[correction.id]
        if opposite:
            stated = replace(stated, supersedes=opposite.id)
        waiting[stated.id] = stated
        yield _proposal(outcome, stated, withdrawn)


def _correction_of(outcome: Outcome, text: str) -> Correction:
    scope = str(outcome.context.get("repository") or outcome.domain)
    return Correction(
        id=_id_of(text, outcome.domain, scope),
        domain=outcome.domain,
        text=text,
        scope=scope,
        session=outcome.source.session or outcome.id,
        created_at=outcome.occurred_at,
        said_by=outcome.source.person,
        about=_run_words(outcome),
    )


def _id_of(text: str, domain: str, scope: str) -> str:
    digest = sha256(f"{domain}\n{scope}\n{rule_key(text)}".encode()).hexdigest()[:6]
    return f"{slug(text, limit=_ID) or slug(domain, limit=_ID)}-{digest}"


def document_rule(
    text: str, domain: str, scope: str, *, page: str, about: str, at: datetime
) -> Correction:
    """Return a rule that a document of a repository states."""
    return Correction(
        id=_id_of(text, domain, scope),
        domain=domain,
        text=text,
        scope=scope,
        session=f"{DOCUMENT}{page}",
        created_at=at,
        about=shorten(about, _ABOUT) or None,
    )


def document_change(page: str, rules: Sequence[Correction]) -> Change:
    """Return the change that proposes the rules of a document."""
    count = f"{len(rules)} rule{'s' * (len(rules) > 1)}"
    return Change(
        step=STEP,
        subject=shorten(f"{count} of {page}", _SUBJECT),
        reason="\n".join([f"{page} states:", *(f"- {rule.text}" for rule in rules)]),
        writes=tuple(rules),
        targets=tuple(Ref("correction", rule.id) for rule in rules),
    )


def _run_words(outcome: Outcome) -> str:
    """Return words of a run by which prompts that its correction is for are recognized."""
    decision = outcome.decision
    parts = (decision.task, decision.target or "", str(outcome.result.extra.get("done", "")))
    return shorten(" ".join(" ".join(parts).split()), _ABOUT)


def _is_same(text: str, other_text: str) -> bool:
    return rule_key(text) == rule_key(other_text) or (
        says_same(text, other_text) and not contradicts(text, other_text)
    )


def _proposal(outcome: Outcome, stated: Correction, withdrawn: Sequence[Correction]) -> Change:
    reasons = [f"A person said so in {stated.scope}, session {stated.session}:", stated.text]
    reasons += [f"It contradicts what they said before: {c.text}" for c in withdrawn]
    reasons += [f"It contradicts the rule {stated.supersedes}."] if stated.supersedes else []
    return Change(
        step=STEP,
        subject=shorten(f"rule: {stated.text}", _SUBJECT),
        reason="\n".join(reasons),
        writes=(stated, *(replace(c, state="withdrawn") for c in withdrawn)),
        removes=tuple(path_of_waiting(c) for c in withdrawn),
        sources=(Ref("outcome", outcome.id),),
        targets=(Ref("correction", stated.id), *(Ref("correction", c.id) for c in withdrawn)),
    )


def _confirmation(waiting: Correction, stated: Correction) -> Change | None:
    """Return the change that notes another session with the same rule; None if it is noted."""
    if stated.session in (waiting.session, *waiting.confirmed):
        return None
    sessions = tuple(sorted({*waiting.confirmed, stated.session}))
    path = path_of_waiting(waiting)
    edits = [Edit(path, ("confirmed",), sessions)]
    if stated.said_by and not waiting.said_by:
        edits.append(Edit(path, ("said_by",), stated.said_by))
    return Change(
        step=STEP,
        subject=shorten(f"{waiting.id} said again", _SUBJECT),
        reason=f"Also in session {stated.session}: {stated.text}",
        edits=tuple(edits),
        targets=(Ref("correction", waiting.id),),
    )


def path_of_waiting(correction: Correction) -> str:
    """Return the path of a correction that waits for approval."""
    return f"proposed/memory/{correction.domain}/{correction.id}.md"


# ── contradiction ────────────────────────────────────────────────────────────────────


def contradicts(text: str, other_text: str) -> bool:
    """Return True if one rule asks for what the other forbids, as in `uv, not pip`."""
    sides, other_sides = _sides(text), _sides(other_text)
    return bool(sides[0] & other_sides[1] or sides[1] & other_sides[0])


def _sides(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return (the terms before a rule's negation, those after it)."""
    match = _NEGATION.search(text)
    if match is None:
        return _terms(text), frozenset()
    return _terms(text[: match.start()]), _terms(text[match.end() :])


def _terms(text: str) -> frozenset[str]:
    return frozenset(term.casefold() for term in _TERM.findall(text)) - _COMMON


# ── serving ──────────────────────────────────────────────────────────────────────────


def needs_review(text: str, secrets: Secrets) -> bool:
    """Return True if a rule is served to nobody before its approval.

    It holds a secret, a URL or a command to run, or speaks against safety.
    """
    findings = lint_files({"rule.md": text.encode()}, secrets)
    return bool(findings) or is_risky(text)


def rank_waiting(corrections: Collection[Correction]) -> list[Correction]:
    """Return corrections in the order of review: first those that were often confirmed."""

    def place(correction: Correction) -> tuple[bool, datetime, str]:
        is_confirmed = 1 + len(correction.confirmed) >= CONFIRMED
        return not is_confirmed, correction.created_at, correction.id

    return sorted(corrections, key=place)


def approval(correction: Correction, text: str, superseded: Fact | None) -> Change:
    """Make a correction a rule, with the text that the person gives it."""
    fact = Fact(
        id=correction.id,
        domain=correction.domain,
        text=text,
        importance="high",
        kind="correction",
        created_at=correction.created_at,
        supersedes=superseded.id if superseded else None,
        scope=correction.scope,
        session=correction.session,
        about=correction.about,
        state="rule",
    )
    return Change(
        step="approve",
        subject=shorten(f"rule {correction.id}", _SUBJECT),
        reason=text,
        writes=(fact,),
        removes=(path_of_waiting(correction),),
        sources=(Ref("correction", correction.id),),
        targets=(Ref("fact", fact.id),),
    )


def rejection(correction: Correction, reason: str) -> Change:
    """Drop a correction; it is not proposed again."""
    return Change(
        step="reject",
        subject=shorten(f"rule {correction.id}", _SUBJECT),
        reason=reason,
        removes=(path_of_waiting(correction),),
        targets=(Ref("correction", correction.id),),
        why=reason,
    )
