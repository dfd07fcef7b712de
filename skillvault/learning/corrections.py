"""Propose the rules that a person states, confirm them, and withdraw contradicted rules."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning.lint import Secrets, lint_rule
from skillvault.learning.naming import rule_digest
from skillvault.learning.promote.versions import Succession
from skillvault.model.change import Change, Edit, Rewrite
from skillvault.model.decision_outcomes import scope_of
from skillvault.model.lazy import regex
from skillvault.model.reaction import is_risky, read_reaction
from skillvault.model.records import Correction, Fact, Outcome, Ref, Skill, stamp
from skillvault.model.sameness.versions import find_value_change
from skillvault.model.text.hidden_characters import remove_hidden
from skillvault.model.text.text import join_items, pluralize, rule_key, shorten, slug

STEP = "propose"
DOCUMENT = "document "  # before the path of a document, in place of a session
CONFIRMED = 3  # sessions in which a person stated a rule, from which on it is reviewed first
_SUBJECT, _ID, _ABOUT = 50, 40, 300  # characters
PASSAGE, _DIGITS = "passage-", 12  # the name of a passage: this, and so many hex digits
_ID_DIGITS = 6  # at the end of an id
_NEGATION = regex(
    r"\b(?:never|not|no|don'?t|avoid|instead of|rather than|nie|niemals|nicht|kein\w*|statt|nunca"
    r"|jamás|en vez de|en lugar de|jamais|pas|au lieu de)\b|不要|别|禁止|不用|而不是",
    re.IGNORECASE,
)
_TERM = regex(r"[@\w][\w./@-]*\w|[\w@]")
_CLAUSE_END = regex(r"[,;:，、；。]\s*|\.\s+|\n")
_PLURAL = regex(r"(?<=\w\w[^s\W])s$")
# Words of a rule that are no terms: they are in its opposite, too.
_COMMON = frozenset(
    "we use always here not no the a an in of for to with and or but instead only please do does"
    " any more it as this our everywhere repo repository project codebase".split()
)
_NAMELESS = _COMMON - {"use", "not", "no", "only", "instead"}  # words that no id needs
# Keys of a correction that later statements may change.
_LATER_KEYS = ("created_at", "session", "confirmed", "said_by", "about", "supersedes")
_Terms = frozenset[str]
Key = tuple[_Terms, _Terms]


class SpokenRule(Struct, frozen=True, order=True):
    """A rule that a person stated, with its time, its outcome and its words.

    `said_by` is None unless the session was attended.
    """

    at: datetime
    outcome: str
    text: str
    domain: str
    scope: str
    session: str
    said_by: str | None
    about: str

    @property
    def key(self) -> Key:
        """Return the key that all wordings of the rule share."""
        return key_of(self.text)


class _Rule(Struct, frozen=True):
    """A rule with all of its statements, and the text of a later rule that contradicts it."""

    correction: Correction
    statements: tuple[SpokenRule, ...]
    opposite: str = ""


def statements_of(outcome: Outcome) -> Iterator[SpokenRule]:
    """Yield the rules that a person's next words state after an outcome."""
    for text in read_reaction(outcome.result.next_words, outcome.result.claim).rules:
        yield SpokenRule(
            at=outcome.occurred_at,
            outcome=outcome.id,
            text=text,
            domain=outcome.domain,
            scope=scope_of(outcome),
            session=outcome.source.session or outcome.id,
            said_by=outcome.source.person,
            about=_run_words(outcome),
        )


def proposals_of(
    statements: Collection[SpokenRule],
    retracted: Collection[SpokenRule],
    corrections: Collection[Correction],
    rules: Sequence[Fact],
) -> Iterator[Change]:
    """Yield the changes that bring the corrections of a scope up to date with persons' statements.

    `statements` count, and `retracted` statements no longer count. `corrections` wait or were
    withdrawn; `rules` are approved. The order of arrival only affects the words in the id of a
    rule.
    """
    stored = {rule_digest(correction.id): correction for correction in corrections}
    spoken = _read_spoken(statements, [rule for rule in rules if rule.state == "rule"])
    for rule in _rules_of(spoken):
        if change := _update(stored.get(rule_digest(rule.correction.id)), rule):
            yield change
    lost = {gone.key: gone.outcome for gone in retracted if gone.key not in spoken.groups}
    for correction in corrections:
        if correction is not stored[rule_digest(correction.id)]:
            yield _removal(correction)  # another clone stored it in words of another order
            continue
        if correction.session.startswith(DOCUMENT):
            continue
        key = key_of(correction.text)
        if correction.state == "proposed" and key in lost:
            reason = f"The outcome {lost[key]}, after which it was stated, is retracted."
            yield _change(replace(correction, state="withdrawn"), correction, reason, [lost[key]])
        elif key in spoken.parts and correction.text in {s.text for s in spoken.groups[key]}:
            yield _removal(correction)


class _Statements(Struct, frozen=True):
    """The statements of a scope by rule, and the approved rules.

    `opposites` has the latest text that contradicts a rule, or "". `parts` are rules that another
    rule includes; their statements confirm the other rule.
    """

    groups: Mapping[Key, Sequence[SpokenRule]]
    approved: Sequence[Fact]
    opposites: Mapping[Key, str]
    parts: frozenset[Key]

    @property
    def valid_rules(self) -> list[Fact]:
        """The approved rules that no other rule supersedes."""
        superseded = {fact.supersedes for fact in self.approved}
        return [fact for fact in self.approved if fact.id not in superseded]


def _read_spoken(statements: Collection[SpokenRule], approved: Sequence[Fact]) -> _Statements:
    groups: dict[Key, list[SpokenRule]] = {}
    for statement in sorted(statements):
        groups.setdefault(statement.key, []).append(statement)
    spoken = _Statements(groups, approved, {}, frozenset())
    opposites = {key: _find_later_opposite(key, spoken) for key in groups}
    wholes = [key for key, opposite in opposites.items() if not opposite]
    wholes += [key_of(fact.text) for fact in spoken.valid_rules]
    parts = frozenset(key for key in groups if any(includes(whole, key) for whole in wholes))
    return replace(spoken, opposites=opposites, parts=parts)


def _find_later_opposite(key: Key, spoken: _Statements) -> str:
    """Return the latest text that contradicts a rule after its last statement, or ""."""
    first, latest = spoken.groups[key][0], spoken.groups[key][-1]
    newer = [
        (fact.order[0], fact.text)
        for fact in spoken.valid_rules
        if fact.order[0] > latest.at and _excludes(first.text, fact.text)
    ]
    opposites = [
        group[-1] for group in spoken.groups.values() if _excludes(first.text, group[0].text)
    ]
    newer += [
        (opposite.at, opposite.text)
        for opposite in opposites
        if opposite > latest and opposite.outcome != latest.outcome
    ]
    return max(newer)[1] if newer else ""


def _rules_of(spoken: _Statements) -> Iterator[_Rule]:
    """Yield the rules that no approved rule says, by the time of their first statement."""
    valid_rules = spoken.valid_rules
    settled = {rule_digest(fact.id) for fact in valid_rules}
    settled_keys = {key_of(fact.text) for fact in valid_rules}
    spent = {rule_digest(fact.id) for fact in spoken.approved}
    for key, group in spoken.groups.items():
        first, latest = group[0], group[-1]
        name = rule_id(first.scope, first.text)
        if rule_digest(name) in settled or key in settled_keys or key in spoken.parts:
            continue
        older = [
            fact
            for fact in valid_rules
            if fact.order[0] <= latest.at and _excludes(first.text, fact.text)
        ]
        supersedes = max(older, key=attrgetter("order")).id if older else None
        if rule_digest(name) in spent:  # it was superseded, and is stated again
            name = rule_id(first.scope, first.text, supersedes or "")
            if rule_digest(name) in spent:
                continue
        opposite = spoken.opposites[key]
        parts = [part for part in spoken.parts if includes(key, part) and not opposite]
        confirming = [*group, *(s for part in parts for s in spoken.groups[part])]
        correction = Correction(
            id=name,
            domain=first.domain,
            text=first.text,
            scope=first.scope,
            session=first.session,
            created_at=first.at,
            state="withdrawn" if opposite else "proposed",
            said_by=next((s.said_by for s in group if s.said_by), None),
            confirmed=tuple(sorted({s.session for s in confirming} - {first.session})),
            about=first.about,
            supersedes=supersedes,
        )
        yield _Rule(correction, tuple(confirming), opposite)


def rule_id(scope: str, text: str, supersedes: str = "") -> str:
    """Return the id of a rule: its first words, and a digest that all its wordings share."""
    asked, forbidden = (" ".join(sorted(terms)) for terms in key_of(text))
    digest = sha256(f"{scope}\n{asked}\n{forbidden}\n{supersedes}".encode()).hexdigest()
    ascii_text = _NEGATION.sub(lambda match: match[0] if match[0].isascii() else " not ", text)
    words = _TERM.findall(ascii_text.replace("'", ""))
    words = [word for word in words if word.casefold() not in _NAMELESS]
    name = slug(" ".join(words), limit=_ID)
    return f"{name or slug(scope, limit=_ID) or 'rule'}-{digest[:_ID_DIGITS]}"


def document_rule(
    text: str, domain: str, scope: str, *, page: str, about: str, at: datetime
) -> Correction:
    """Return a rule that a document of a repository states."""
    return Correction(
        id=rule_id(scope, text),
        domain=domain,
        text=text,
        scope=scope,
        session=f"{DOCUMENT}{page}",
        created_at=at,
        about=shorten(about, _ABOUT) or None,
    )


def document_passage(rule: Correction) -> Correction:
    """Return a passage of a document, so that the judge decides if it states rules or steps."""
    text = remove_hidden(rule.text)
    digest = sha256(f"{rule.scope}\n{text}".encode()).hexdigest()[:_DIGITS]
    return replace(rule, id=f"{PASSAGE}{digest}", text=text, state="undecided")


def passage_change(page: str, passages: Sequence[Correction]) -> Change:
    """Return the change that stores passages of a document until the judge decides."""
    return Change(
        step=STEP,
        subject=shorten(f"{pluralize(len(passages), 'passage')} of {page}", _SUBJECT),
        reason="By structure alone they are neither rules nor steps; the judge decides.",
        writes=tuple(passages),
        targets=tuple(Ref("correction", passage.id) for passage in passages),
    )


def decided_change(passage: Correction, rules: Sequence[Correction], skill: Skill | None) -> Change:
    """Return the change that proposes the judge's findings in a passage of a document."""
    page = passage.session.removeprefix(DOCUMENT)
    parts = [*(f"- {rule.text}" for rule in rules), *([skill.description] if skill else [])]
    targets = [Ref("correction", rule.id) for rule in rules]
    targets += [Ref("skill", skill.name)] if skill else []
    return Change(
        step=STEP,
        subject=shorten(f"{passage.about or passage.id} of {page}", _SUBJECT),
        reason="\n".join(parts) or "It states neither a rule nor steps.",
        writes=(*rules, *([skill] if skill else [])),
        removes=(path_of(passage),),
        sources=(Ref("correction", passage.id),),
        targets=tuple(targets),
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
    """Return words of a run, to recognize prompts that need its correction."""
    decision = outcome.decision
    parts = (decision.task, decision.target or "", str(outcome.result.extra.get("done", "")))
    return shorten(" ".join(" ".join(parts).split()), _ABOUT)


def _update(stored: Correction | None, rule: _Rule) -> Change | None:
    """Return the change that stores all statements of a correction, or None if it has them."""
    correction = rule.correction
    if stored:
        is_edited = stored.text not in {statement.text for statement in rule.statements}
        text = stored.text if is_edited else correction.text
        correction = replace(correction, id=stored.id, text=text)
    if stored == correction:
        return None
    reason = f"A person said so in {correction.scope}, session {correction.session}."
    if correction.confirmed:
        reason += f" It was said again in {join_items(correction.confirmed)}."
    if rule.opposite:
        reason += f" Later words contradict it: {rule.opposite}"
    if correction.supersedes:
        reason += f" It contradicts the rule {correction.supersedes}."
    return _change(correction, stored, reason, dict.fromkeys(s.outcome for s in rule.statements))


def _change(
    correction: Correction, stored: Correction | None, reason: str, outcomes: Iterable[str]
) -> Change:
    verb = "rule" if correction.state == "proposed" else "withdrawn"
    change = Change(
        step=STEP,
        subject=shorten(f"{verb}: {correction.text}", _SUBJECT),
        reason=f"{reason}\n{correction.text}",
        sources=tuple(Ref("outcome", outcome) for outcome in outcomes),
        targets=(Ref("correction", correction.id),),
    )
    path = path_of(correction)
    if stored is None or path_of(stored) != path:
        removes = (path_of(stored),) if stored else ()
        return replace(change, writes=(correction,), removes=removes)
    # Every other byte of a file that a person may have edited stays.
    edits = tuple(
        Edit(path, (key,), _front_value(getattr(correction, key)))
        for key in _LATER_KEYS
        if getattr(correction, key) != getattr(stored, key)
    )
    rewrites = (Rewrite(path, correction.text),) if correction.text != stored.text else ()
    return replace(change, edits=edits, rewrites=rewrites)


def _front_value(value: datetime | str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
    return stamp(value) if isinstance(value, datetime) else value or None


def _removal(correction: Correction) -> Change:
    """Remove a correction that another rule includes."""
    return Change(
        step=STEP,
        subject=shorten(f"confirmation: {correction.text}", _SUBJECT),
        reason=f"Another rule of {correction.scope} includes it.\n{correction.text}",
        removes=(path_of(correction),),
        targets=(Ref("correction", correction.id),),
    )


def path_of(correction: Correction) -> str:
    """Return the path of a correction that waits for approval, or was withdrawn."""
    folder = "archive" if correction.state == "withdrawn" else "proposed"
    return f"{folder}/memory/{correction.domain}/{correction.id}.md"


# ── contradiction and confirmation ───────────────────────────────────────────────────


def _excludes(text: str, other_text: str) -> bool:
    """Return True if two rules cannot both hold: opposites, or values such as two ports."""
    if are_opposite(key_of(text), key_of(other_text)):
        return True
    return find_value_change(text, other_text) is not None


def are_opposite(sides: Key, other_sides: Key) -> bool:
    """Return True if one rule asks for all that the other forbids, as in `uv, not pip`."""
    pairs = ((sides[0], other_sides[1]), (other_sides[0], sides[1]))
    return any(forbidden and forbidden <= asked for asked, forbidden in pairs)


def includes(rule_key: Key, part: Key) -> bool:
    """Return True if `rule_key` covers `part`, the key of a rule that only asks or only forbids.

    `uv, not pip` includes `uv` and `not pip`.
    """
    (whole_asked, forbidden), (part_asked, part_forbidden) = rule_key, part
    if not (whole_asked and forbidden) or bool(part_asked) == bool(part_forbidden):
        return False
    return whole_asked == part_asked or forbidden == part_forbidden


def key_of(text: str) -> Key:
    """Return the key that all wordings of a rule share.

    It has the terms that the rule asks for, and the terms of its first clause with a negation.
    """
    match = _NEGATION.search(text)
    if match is None:
        return _terms(text) or frozenset((rule_key(text),)), frozenset()
    clause, _, remainder = _CLAUSE_END.sub("\n", text[match.end() :], count=1).partition("\n")
    return _terms(f"{text[: match.start()]} {remainder}"), _terms(clause)


def terms_of(text: str) -> frozenset[str]:
    """Return the terms that a rule asks for or forbids."""
    return frozenset.union(*key_of(text))


def _terms(text: str) -> _Terms:
    terms = frozenset(map(str.casefold, _TERM.findall(text))) - _COMMON
    return frozenset(_PLURAL.sub("", term) for term in terms)


class StatedRules(Struct, frozen=True):
    """The rules of a repository in the latest words of persons, and the rules not to quote.

    `valid` has the time and the key of each rule that holds.
    """

    valid: tuple[tuple[datetime, Key], ...]
    unquotable: frozenset[Key]

    def may_quote(self, text: str, at: datetime) -> bool:
        """Return True unless a text waits for approval or words after this time contradict it."""
        key = key_of(text)
        if key in self.unquotable:
            return False
        newer = (valid for since, valid in self.valid if since > at)
        return not any(are_opposite(key, valid) for valid in newer)


def read_stated_rules(
    corrections: Collection[Correction], rules: Collection[Fact], secrets: Secrets
) -> StatedRules:
    """Return the rules of a scope from its corrections and its approved rules."""
    all_rules: list[Correction | Fact] = [*corrections, *rules]
    living = [each for each in all_rules if each.state != "withdrawn"]
    superseded = {each.supersedes for each in living}
    valid = {each.id: each for each in living if each.id not in superseded}
    proposals = [
        each for each in corrections if each.id in valid and needs_review(each.text, secrets)
    ]
    valid_keys = {key_of(each.text) for each in valid.values()}
    stale_keys = {key_of(each.text) for each in all_rules} - valid_keys
    return StatedRules(
        valid=tuple((e.created_at, key_of(e.text)) for e in valid.values() if e.created_at),
        unquotable=frozenset(stale_keys | {key_of(each.text) for each in proposals}),
    )


# ── serving ──────────────────────────────────────────────────────────────────────────


def needs_review(text: str, secrets: Secrets) -> bool:
    """Return True if a rule is not served before its approval.

    It has a secret, a URL or a command to run, or weakens safety.
    """
    return bool(lint_rule(text, secrets)) or is_risky(text)


def rank_waiting(corrections: Collection[Correction]) -> list[Correction]:
    """Sort corrections for review: often confirmed ones first."""

    def sort_key(correction: Correction) -> tuple[bool, datetime, str]:
        is_confirmed = 1 + len(correction.confirmed) >= CONFIRMED
        return not is_confirmed, correction.created_at, correction.id

    return sorted(corrections, key=sort_key)


def approval(correction: Correction, text: str, succession: Succession) -> Change:
    """Return the change that turns a correction into a rule with the person's text."""
    superseded = succession.latest
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
        writes=(fact, *succession.links),
        edits=succession.edits,
        removes=(path_of(correction),),
        sources=(Ref("correction", correction.id),),
        targets=(Ref("fact", fact.id),),
    )


def rejection(correction: Correction, reason: str) -> Change:
    """Return the change that drops a correction, so that it is not proposed again."""
    return Change(
        step="reject",
        subject=shorten(f"rule {correction.id}", _SUBJECT),
        reason=reason,
        removes=(path_of(correction),),
        targets=(Ref("correction", correction.id),),
        why=reason,
    )
