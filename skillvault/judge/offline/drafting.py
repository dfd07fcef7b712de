"""Write the texts of skills without a model: one `draft_…` function for each kind of brief.

`OfflineJudge.write` calls them. To change the headings of a kind of skill, edit the tables at the
top; the sentences come from `learning/account/sentences.py`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from skillvault.learning.account import rules as account_rules
from skillvault.learning.account import sentences as account_sentences
from skillvault.model.brief import (
    AVOID,
    RULES,
    Agreement,
    Draft,
    Findings,
    Period,
    Recurrence,
    SessionExcerpt,
    Statement,
)
from skillvault.model.conditions import Separation
from skillvault.model.phrases import cut_name, describe_subject, inline, make_sentence
from skillvault.model.records import (
    Fact,
    Outcome,
    SessionFailure,
    SessionSuccess,
    SkillKind,
    Status,
)
from skillvault.model.sameness.comparison import is_same
from skillvault.model.sameness.form import Form, normal_form
from skillvault.model.text.text import (
    count_of,
    count_tokens,
    join_items,
    pluralize,
    slug,
    whole_sentences,
)

_MAX_TITLE = 160
_MAX_DESCRIPTION = 400
_MAX_USE = 95  # characters about the use; a client may show only a hundred
_MAX_TARGETS = 8  # targets in a description
_MAX_LIST = 60  # characters of a list of names
_CHECK_WORDS = (
    "check", "verify", "test", "confirm", "make sure", "look", "compare", "measure", "wait",
)  # fmt: skip
_PLAN_WORDS = ("stop", "size", "exit", "limit", "rollback", "hedge", "leverage")

_STATUS_WORDS: Mapping[Status, str] = {
    "success": "succeeded", "failure": "failed", "neutral": "neutral",
}  # fmt: skip

_STRATEGY = ("Entry Rules", "What to Avoid", "Performance Notes")
_GUIDE = (RULES, "Do", AVOID, "Refused", "Tried")
WARNING = ("Pattern to Recognize", "What Went Wrong", "Better Approach", "Checklist")
PATTERN = ("Pattern Conditions", "Why It Worked", "Entry Criteria", "Risk Management")
_HEADINGS_BY_KIND = {"warning": WARNING, "pattern": PATTERN, "strategy": _STRATEGY}
_GUIDE_SECTIONS: Mapping[str, str] = {
    "lesson": "Do", "worked": "Do", "tools": "Do", "failed": AVOID, "claimed": AVOID,
    "rule": RULES, "answers": "Refused", "tried": "Tried",
}  # fmt: skip
# The section of each kind of statement in a warning, and in a pattern.
_GRADED_SECTIONS: Mapping[str, tuple[str, str]] = {
    "entry": ("Pattern to Recognize", "Pattern Conditions"),
    "outlier": ("Pattern to Recognize", "Pattern Conditions"),
    "rule": ("Pattern to Recognize", "Pattern Conditions"),
    "extreme": ("What Went Wrong", "Why It Worked"),
    "failed": ("What Went Wrong", "Why It Worked"),
    "worked": ("Better Approach", "Why It Worked"),
    "answers": ("What Went Wrong", "Why It Worked"),
    "claimed": ("Checklist", "Risk Management"),
    "lesson": ("Better Approach", "Entry Criteria"),
}


def draft_account(brief: Findings) -> Draft | None:
    """Draft a skill from the findings of an account, or return None without a statement."""
    lines = sections_of(brief)
    if not lines:
        return None
    sections = tuple((name, _bullet_list(texts)) for name, texts in lines.items())
    texts = (statement.text for statement in brief.statements if statement.kind != "tried")
    return Draft(_title(brief), _description(_use_of(brief), texts), sections)


def sections_of(brief: Findings) -> dict[str, list[str]]:
    """Return the texts of the statements by heading, in the order of the headings."""
    headings = _HEADINGS_BY_KIND.get(brief.kind, _GUIDE)
    lines: dict[str, list[str]] = {heading: [] for heading in headings}
    for statement in brief.statements:
        heading = _heading(statement, brief.kind)
        checkbox = "[ ] " if heading == "Checklist" else ""
        lines[heading].append(f"{checkbox}{statement.text}")
    return {heading: texts for heading, texts in lines.items() if texts}


def _heading(statement: Statement, kind: SkillKind) -> str:
    if kind == "strategy":
        entry, avoid, notes = _STRATEGY
        return notes if statement.rule is None else avoid if statement.rule.is_loss else entry
    if kind not in ("warning", "pattern"):
        return _GUIDE_SECTIONS[statement.kind]
    text = statement.text.casefold()
    if kind == "warning" and statement.kind == "lesson" and text.startswith(_CHECK_WORDS):
        return "Checklist"
    is_plan = any(word in text for word in _PLAN_WORDS)
    if kind == "pattern" and statement.kind in ("worked", "lesson") and is_plan:
        return "Risk Management"
    return _GRADED_SECTIONS[statement.kind][kind == "pattern"]


def _bullet_list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in dict.fromkeys(lines) if line)


# ── title and description ────────────────────────────────────────────────────────────


def _title(brief: Findings) -> str:
    last_outcome = brief.account.outcomes[-1]
    if brief.kind == "strategy":
        return cut_name(inline(last_outcome.domain), _MAX_TITLE)
    names = {"guide": last_outcome.decision.action, "evolved": last_outcome.domain}
    return _title_of(inline(names.get(brief.kind, "")) or describe_subject(last_outcome), brief)


def _title_of(subject: str, brief: Findings) -> str:
    """Return a subject with the gist of a statement, or with a statement of several runs."""
    statements = (item for item in brief.statements if item.kind != "tried")
    gists = (item.gist or item.text * (len(item.supporting) > 1) for item in statements)
    titles = (f"{subject}: {gist.rstrip('.')}" for gist in gists if gist)
    short_titles = (title for title in titles if len(title) <= _MAX_TITLE)
    return cut_name(next(short_titles, subject), _MAX_TITLE)


def _use_of(brief: Findings) -> str:
    """Return the occasion to use a skill, in words of the decisions: `before deploy on web-1`."""
    outcomes = brief.account.outcomes
    if brief.kind in ("evolved", "strategy"):
        actions = dict.fromkeys(inline(outcome.decision.action) for outcome in outcomes)
        return f"before {_list_some(list(actions), 'action', word='or')}"
    if brief.kind != "guide":
        return f"before {describe_subject(outcomes[0])}"
    targets = list(dict.fromkeys(inline(o.decision.target or "") for o in reversed(outcomes)))
    names = [target for target in targets if target]
    use = f"before {inline(outcomes[-1].decision.action)}"
    free_characters = min(_MAX_LIST, _MAX_USE - len(f"{use} on  and 10 other targets"))
    return f"{use} on {_list_some(names, 'target', limit=free_characters)}" if names else use


def _list_some(
    names: Sequence[str], noun: str, *, word: str = "and", limit: int = _MAX_LIST
) -> str:
    members = list(names[:_MAX_TARGETS])
    while len(members) > 1 and len(", ".join(members)) > limit:
        members.pop()
    count = len(names) - len(members)
    count_note = [pluralize(count, f"other {noun}")] if count else []
    return join_items([*members, *count_note], last=word)


def _description(use: str, sentences: Iterable[str]) -> str:
    limit = _MAX_DESCRIPTION // 2
    description = f"Use {use if len(use) <= limit else cut_name(use, limit)}.".translate(_TAG_SIGNS)
    for text in sentences:
        longer_text = f"{description} {text.removeprefix('[ ] ')}".translate(_TAG_SIGNS)
        description = longer_text if len(longer_text) <= _MAX_DESCRIPTION else description
    return description


_TAG_SIGNS = str.maketrans("<>", "‹›")  # a client may read `<` as the start of a tag


_RESULTS: dict[SkillKind, str] = {"warning": "failed or lost", "pattern": "succeeded or gained"}


def draft_agreement(brief: Agreement) -> Draft:
    """Draft a skill from statements that several subjects share, in three sections."""
    findings = brief.together
    texts_by_heading = list(sections_of(findings).items())
    sections = (
        ("Synthesized Insight", [text for _, texts in texts_by_heading[:2] for text in texts]),
        ("When This Applies", [_describe_use(brief)]),
        ("Key Principles", [text for _, texts in texts_by_heading[2:] for text in texts]),
    )
    counts = Counter(inline(group.account.outcomes[0].decision.action) for group in brief.apart)
    actions_text = _list_some(_by_count(counts), "action", word="or")
    texts = (statement.text for statement in findings.statements)
    return Draft(
        _title_of(actions_text, findings),
        _description(f"before {actions_text}", texts),
        tuple((heading, _bullet_list(texts)) for heading, texts in sections if texts),
    )


def _describe_use(brief: Agreement) -> str:
    """Return a sentence with the actions, their targets, and the share of equal results."""
    targets: dict[str, list[str]] = {}
    for findings in brief.apart:
        decision = findings.account.outcomes[0].decision
        names = targets.setdefault(inline(decision.action), [])
        names += [inline(decision.target)] if decision.target else []
    subjects = (f"{a} on {_list_some(on, 'target')}" if on else a for a, on in targets.items())
    kind, outcomes = brief.together.kind, brief.together.account.outcomes
    status = "failure" if kind == "warning" else "success"
    count = count_of(sum(outcome.result.status == status for outcome in outcomes), len(outcomes))
    return make_sentence(f"before {'; '.join(subjects)} ({count} {_RESULTS[kind]})")


_MAX_LINES = 5
_MAX_FACT_TOKENS = 280  # tokens of all facts in a text of at most 400
_MAX_FACT = 600  # characters of one fact in a skill


def draft_recurrence(brief: Recurrence) -> Draft:
    """Draft a skill from facts about one theme, in three sections."""
    advice = Counter(
        " ".join(item.better_approach.split()) for item in brief.evaluations if item.better_approach
    )
    facts = [fact.text for fact in brief.facts]
    new_advice = [text for text in _by_count(advice) if not any(text in fact for fact in facts)]
    sections = (
        ("Consolidated Learning", _numbered_list(brief.facts)),
        (
            "Application",
            "\n".join(f"- {whole_sentences(text, 300)}" for text in new_advice[:_MAX_LINES]),
        ),
        ("Origin", _origin(brief)),
    )
    actions = Counter(outcome.decision.action for outcome in brief.outcomes.values())
    names = [inline(action, 40) for action in _by_count(actions)[:3]]
    use = f"before {join_items(names, last='or')}" if names else f"for decisions in {brief.domain}"
    fact_count = pluralize(len(facts), "related memory fact")
    origin = f"Generated from {fact_count}: {brief.theme.replace('-', ' ')}."
    return Draft(
        brief.theme,
        _description(use, [origin, *facts]),
        tuple((name, text) for name, text in sections if text),
    )


def _by_count(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda text: (-counts[text], text))


def _numbered_list(facts: Sequence[Fact]) -> str:
    lines: list[str] = []
    for number, fact in enumerate(facts, 1):
        line = f"{number}. {whole_sentences(fact.text, _MAX_FACT)}"
        if lines and count_tokens("\n".join([*lines, line])) > _MAX_FACT_TOKENS:
            return "\n".join([*lines, f"{number}. And {len(facts) - len(lines)} more alike."])
        lines.append(line)
    return "\n".join(lines)


def _origin(brief: Recurrence) -> str:
    outcomes = [brief.outcomes[item.id] for item in brief.evaluations if item.id in brief.outcomes]
    parts = list(_supporters(outcomes))
    if outcomes and brief.against:
        parts.append(f"{pluralize(brief.against, 'run')} against it")
    if human_count := sum(fact.kind == "human" for fact in brief.facts):
        parts.append(f"{count_of(human_count, len(brief.facts))} facts written by a person")
    return f"- {make_sentence('; '.join(parts))}" if parts else ""


def _supporters(outcomes: Sequence[Outcome]) -> Iterator[str]:
    if not outcomes:
        return
    statuses = Counter(outcome.result.status for outcome in outcomes)
    counts = join_items(
        f"{statuses[status]} {word}" for status, word in _STATUS_WORDS.items() if statuses[status]
    )
    sessions = len({outcome.session for outcome in outcomes})
    times = [outcome.occurred_at for outcome in outcomes]
    days = dict.fromkeys(f"{time:%Y-%m-%d}" for time in (min(times), max(times)))
    yield (
        f"{pluralize(len(outcomes), 'run')} ({counts}) in "
        f"{pluralize(sessions, 'session')}, {' to '.join(days)}"
    )
    subjects = Counter(map(describe_subject, outcomes))
    yield join_items(f"{name} ({subjects[name]})" for name in _by_count(subjects)[:_MAX_LINES])


FAILED, WORKED = "What Failed and Why", "What Then Worked"
_MAX_LEMMA, _MAX_REASON, _MAX_ATTEMPT, _MAX_METHOD = 60, 300, 160, 300  # characters
MAX_LABEL, _MAX_LABELS = 40, 8  # characters of a tag, a role or a stage; number of each
_MAX_LEMMAS = 3  # lemmas in a description


class _SessionLine(NamedTuple):
    """A line about a problem, and its sessions; `is_solved` if any session solved it."""

    lemma: str
    text: str
    form: Form
    sessions: list[str]
    is_solved: bool


def draft_sessions(brief: SessionExcerpt) -> Draft | None:
    """Draft a skill from sessions, the most frequent lines first; return None without lines."""
    sessions = brief.sessions
    solved_keys = {_lemma_key(success.lemma) for s in sessions for success in s.successes}
    failure_lines: list[_SessionLine] = []
    success_lines: list[_SessionLine] = []
    for session in sessions:
        for failure in session.failures:
            text, form = _failure_line(failure), normal_form(f"{failure.lemma}: {failure.reason}")
            is_solved = _lemma_key(failure.lemma) in solved_keys
            line = _SessionLine(failure.lemma, text, form, [session.id], is_solved)
            _add_line(failure_lines, line)
        for success in session.successes:
            text, form = _success_line(success), normal_form(f"{success.lemma}: {success.text}")
            _add_line(success_lines, _SessionLine(success.lemma, text, form, [session.id], True))
    for lines in (failure_lines, success_lines):
        lines.sort(key=lambda line: (-len(line.sessions), not line.is_solved))
    all_lines = (*failure_lines, *success_lines)
    lemmas = list(dict.fromkeys(inline(line.lemma, _MAX_LEMMA) for line in all_lines))
    if not lemmas:
        return None
    failures = [_line_with_count(line, brief) for line in failure_lines]
    successes = [_line_with_count(line, brief) for line in success_lines]
    sections = ((FAILED, _bullet_list(failures)), (WORKED, _bullet_list(successes)))
    pairs = zip_longest(successes, failures, fillvalue="")
    return Draft(
        cut_name(join_items(lemmas[:2]), _MAX_TITLE),
        _description(
            f"before {join_items(lemmas[:_MAX_LEMMAS], last='or')}",
            (text for pair in pairs for text in pair if text),
        ),
        tuple((heading, text) for heading, text in sections if text),
        tags=slug_labels([*(tag for session in sessions for tag in session.tags), *lemmas]),
        roles=slug_labels(role for session in sessions for role in session.roles),
        stages=slug_labels(stage for session in sessions for stage in session.stages),
    )


def _add_line(lines: list[_SessionLine], new_line: _SessionLine) -> None:
    """Add a line, or add its sessions to a line that says the same; skip an empty line."""
    if not new_line.text:
        return
    for line in lines:
        if is_same(line.form, new_line.form):
            line.sessions.extend(name for name in new_line.sessions if name not in line.sessions)
            return
    lines.append(new_line)


def _failure_line(failure: SessionFailure) -> str:
    """Render a failure, such as `checkout timeout: the gateway answers 504 (after: a retry)`."""
    reason = whole_sentences(failure.reason, _MAX_REASON).rstrip(".")
    attempt = whole_sentences(failure.attempt, _MAX_ATTEMPT).rstrip(".")
    note = f" (after: {attempt})" if attempt else ""
    lemma = inline(failure.lemma, _MAX_LEMMA)
    return make_sentence(f"{lemma}: {reason or 'failed'}{note}") if reason or attempt else ""


def _success_line(success: SessionSuccess) -> str:
    """Render a success, such as `checkout timeout: raise the limit of the gateway to 30 s`."""
    text = whole_sentences(success.text, _MAX_METHOD)
    return make_sentence(f"{inline(success.lemma, _MAX_LEMMA)}: {text}") if text else ""


def _line_with_count(line: _SessionLine, brief: SessionExcerpt) -> str:
    if len(brief.sessions) == 1:
        return line.text
    counts = count_of(len(line.sessions), len(brief.sessions))
    return make_sentence(f"{line.text.rstrip('.')} ({counts} sessions)")


def slug_labels(names: Iterable[str]) -> tuple[str, ...]:
    """Return the first few names as slugs."""
    slugs = (slug(name, limit=MAX_LABEL) for name in names)
    return tuple(dict.fromkeys(filter(None, slugs)))[:_MAX_LABELS]


def _lemma_key(lemma: str) -> str:
    return " ".join(lemma.casefold().split())


# ── a strategy of the profile `seed` ─────────────────────────────────────────────────

_MAX_RULES = 3  # rules in one section
_MAX_ACTIONS = 4
_FIRST_SECTIONS = ("What to Avoid", "Entry Rules", "Position Sizing")  # first in a description


def draft_period(brief: Period) -> Draft | None:
    """Draft a strategy from the rules of a period, or return None without outcomes."""
    if not brief.outcomes:
        return None
    gain_rules, loss_rules = _distinct_rules(brief, avoid=False), _distinct_rules(brief, avoid=True)
    sizing_rules = [rule for rule in [*loss_rules, *gain_rules][:_MAX_RULES] if _is_sizing(rule)]
    entry_rules = [rule for rule in gain_rules if not _is_sizing(rule)][:_MAX_RULES]
    avoid_rules = [rule for rule in loss_rules if not _is_sizing(rule)][:_MAX_RULES]
    actions = [*account_rules.group_by_action(brief.outcomes).items()][:_MAX_ACTIONS]
    lines = (
        (brief.heading, [*map(account_sentences.outlier_sentence, brief.outliers)]),
        ("Entry Rules", [_rule_line(rule, brief) for rule in entry_rules]),
        ("Position Sizing", [_rule_line(rule, brief) for rule in sizing_rules]),
        ("What to Avoid", [_rule_line(rule, brief) for rule in avoid_rules]),
        ("Performance Notes", [account_sentences.balance_sentence(*pair) for pair in actions]),
    )
    sections = tuple((heading, _bullet_list(texts)) for heading, texts in lines if texts)
    ordered_lines = sorted(lines, key=lambda section: section[0] not in _FIRST_SECTIONS)
    texts = (text for _, texts in ordered_lines for text in texts)
    return Draft(
        cut_name(inline(brief.domain, 64), 64), _description(_period_use(brief), texts), sections
    )


def _period_use(period: Period) -> str:
    """Return the occasion to use a strategy: before its most frequent actions, as many as fit."""
    names = [inline(action, 40) for action in account_rules.group_by_action(period.outcomes)][
        :_MAX_ACTIONS
    ]
    uses = (
        f"before {join_items(names[:count], last='or')} in {inline(period.domain, 64)}"
        for count in range(len(names), 0, -1)
    )
    return next((use for use in uses if len(use) <= _MAX_USE), f"before {names[0]}")


def _distinct_rules(period: Period, *, avoid: bool) -> list[Separation]:
    """Return the most certain rules, without rules about the same outcomes."""
    distinct_rules: list[Separation] = []
    for rule in sorted(period.rules, key=lambda rule: -rule.z):
        if rule.is_loss == avoid and not any(
            rule.holds_for <= earlier_rule.holds_for or rule.holds_for >= earlier_rule.holds_for
            for earlier_rule in distinct_rules
        ):
            distinct_rules.append(rule)
    return distinct_rules


def _rule_line(rule: Separation, period: Period) -> str:
    text = account_sentences.rule_sentence(rule)
    is_only_action = len(account_rules.group_by_action(period.outcomes)) == 1
    return text if is_only_action else f"{inline(rule.action, 40)}: {text}"


def _is_sizing(rule: Separation) -> bool:
    keys = [condition.key.casefold() for condition in rule.conditions]
    sizes = ("leverage", "size", "stake")
    return any(key == "entry_value" or any(word in key for word in sizes) for key in keys)
