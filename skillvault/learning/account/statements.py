"""Statements: the sentences of a guide, a warning or a pattern, and the outcomes behind each.

The same outcomes give the same statements in whatever vault, and in whatever order they came.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from math import comb

import msgspec
from msgspec.structs import replace

from skillvault.learning.account.rules import group_by_action, has_result, outliers
from skillvault.learning.account.sentences import (
    answers_sentence,
    balance_sentence,
    claims_sentence,
    deed_sentence,
    entry_sentence,
    extreme_sentence,
    insight_sentence,
    kinds_sentence,
    labels_of,
    lesson_sentence,
    outlier_sentence,
    rule_sentence,
    tools_sentence,
    tried_sentence,
)
from skillvault.learning.account.significance import significant
from skillvault.learning.account.tools import shared_tools
from skillvault.learning.contrast.episodes import episodes_of
from skillvault.learning.contrast.recorded_values import is_met
from skillvault.learning.naming import OF_DOMAIN
from skillvault.learning.tries.answers import refused_answers
from skillvault.learning.tries.groups import group_by_deed, group_by_kind
from skillvault.learning.tries.tries import try_of
from skillvault.model.brief import Account, Findings, Statement, StatementKind
from skillvault.model.conditions import Separation
from skillvault.model.policy import Policy
from skillvault.model.records import Evaluation, Outcome, SkillKind
from skillvault.model.sameness.form import normal_form
from skillvault.model.sameness.forms import components
from skillvault.model.speech import plain
from skillvault.model.text.text import ARROW, percent, terms, whole
from skillvault.model.tries import Advice, Try

KINDS: tuple[SkillKind, ...] = ("guide", "warning", "pattern", *OF_DOMAIN)
ACTIONS = 3  # that say the same: fewer have it in their guides
_CHANCE = 0.05  # of a deed that ended both ways: how often a fair coin leans as far
_OUTLIERS = 2
_ADVISERS = ("person", "agent", "judge")
_SPECIFIC = 4  # tries that have a problem in common which is one of its own
_SINGLE = 6  # scored tries of each end that are told though nothing repeats them
_IN_TITLE = 90  # characters of a deed
_TRIED = 12  # tries that stand in a line of their own

_LessonOf = tuple[Try, Advice]


def findings_of(account: Account, kind: SkillKind, policy: Policy) -> Findings:
    """Return what an account says for a kind of skill."""
    if kind not in ("warning", "pattern"):
        write = _strategy_statements if kind == "strategy" else _guide_statements
        statements = tuple(write(account, policy))
        if kind == "evolved":
            statements = tuple(one for one in statements if _is_shared(one, account.outcomes))
        return Findings(
            kind=kind, account=account, statements=statements, significant=account.outcomes
        )
    return graded_findings(account, kind, significant(account.outcomes, kind, policy))


def _is_shared(statement: Statement, outcomes: Sequence[Outcome]) -> bool:
    """Return True for a lesson or a deed of enough actions."""
    behind = {o.decision.action for o in outcomes if o.id in statement.supporting}
    return statement.kind in ("lesson", "worked", "failed") and len(behind) >= ACTIONS


def graded_findings(account: Account, kind: SkillKind, members: Sequence[Outcome]) -> Findings:
    """Return what an account says for a warning or a pattern about these of its outcomes."""
    statements = tuple(_graded_statements(account, kind, members)) if members else ()
    return Findings(kind=kind, account=account, statements=statements, significant=tuple(members))


def calls_for_skill(findings: Findings) -> bool:
    """Return True if a skill is made of it: of a guide from two tries or one statement on."""
    has_tries = findings.kind == "guide" and len(findings.account.outcomes) > 1
    return any(has_tries or statement.kind != "tried" for statement in findings.statements)


def digest(findings: Findings) -> str:
    """Return twelve hex digits that differ if the statements do, or what they are counted of."""
    outcomes = findings.account.outcomes
    remarks = [(t.strengths, t.weaknesses) for t in findings.account.tries]
    values = [len(outcomes), outcomes[-1].id, findings.statements, remarks]
    return sha256(msgspec.json.encode(values, order="deterministic")).hexdigest()[:12]


def evidence_ids(findings: Findings) -> list[str]:
    """Return the ids of the outcomes that stand behind the statements of a skill."""
    ids = {outcome.id for outcome in findings.account.outcomes}
    behind = {name for one in findings.statements for name in (*one.supporting, *one.against)}
    return sorted(behind & ids or {outcome.id for outcome in findings.significant})


def mentioned_ids(findings: Findings) -> set[str]:
    """Return the ids of the outcomes that a skill tells of, with what worked instead."""
    remedies = (one.others[1] for one in findings.statements if one.kind == "failed")
    return {*evidence_ids(findings), *(name for names in remedies for name in names)}


def account_of(
    outcomes: Sequence[Outcome],
    evaluations: Mapping[str, Evaluation],
    tasks: Mapping[str, str],
    rules: tuple[Separation, ...] = (),
) -> Account:
    """Return the account of these outcomes, oldest first."""
    return Account(
        outcomes=tuple(outcomes),
        tries=tuple(try_of(outcome, evaluations.get(outcome.id)) for outcome in outcomes),
        evaluations=evaluations,
        tasks=tasks,
        rules=rules,
    )


def account_keys(account: Account) -> tuple[str, ...]:
    """Return what an account's lessons and deeds say, in keys that are equal for the same."""
    return tuple(sorted(frozenset[str]().union(*map(try_keys, account.tries))))


def try_keys(attempt: Try, *, either: bool = False) -> frozenset[str]:
    """Return the keys of what one try says; `either`: of its deed whatever came of it."""
    texts = [advice.text for advice in attempt.advice]
    statuses = ("success", "failure") if either else (attempt.status,)
    texts += [f"{status}: {attempt.deed}" for status in statuses if attempt.deed]
    forms = (msgspec.json.encode(normal_form(text), order="deterministic") for text in texts)
    return frozenset(sha256(form).hexdigest()[:12] for form in forms)


# ── a guide ──────────────────────────────────────────────────────────────────────────


def _guide_statements(account: Account, policy: Policy) -> Iterator[Statement]:
    tries = account.tries
    labels = labels_of(tries, account.tasks)
    for separation in account.rules:
        yield _rule(separation, account.outcomes, policy)
    yield from _lessons(tries, labels)
    told = [*_by_kind(_deeds(tries, labels, account.tasks), tries), *_insights(tries)]
    told.sort(key=lambda one: _usefulness(one, tries), reverse=True)
    told = [*_worth_telling(told, tries)]
    yield from told
    yield from _refused(account)
    yield from _claims(account.outcomes)
    if tools := shared_tools(account.outcomes):
        text = tools_sentence(tools)
        yield Statement(kind="tools", text=text, supporting=tools.worked, against=tools.failed)
    ids = {name for one in told for name in (*one.supporting, *one.against, *one.others[1])}
    yield from _tried([attempt for attempt in tries if attempt.id not in ids], labels)


def _tried(tries: Sequence[Try], labels: Mapping[str, str]) -> Iterator[Statement]:
    """Yield the latest of tries, those with one deed in a line, or with one error and no deed."""
    groups = [group for group in group_by_deed(tries) if group[0].deed]
    errors: dict[str, list[Try]] = defaultdict(list)
    for attempt in tries:
        if attempt.error and not attempt.deed:
            errors[attempt.error].append(attempt)
    groups += errors.values()
    groups.sort(key=lambda group: (group[-1].at, group[-1].id), reverse=True)
    for group in groups[:_TRIED]:
        ids = tuple(attempt.id for attempt in group)
        yield Statement(
            kind="tried", text=tried_sentence(group[-1], labels, group[:-1]), supporting=ids
        )


def _worth_telling(told: Iterable[Statement], tries: Sequence[Try]) -> Iterator[Statement]:
    """Yield the statements without all but the first few single trades, wins and losses each."""
    scored = {attempt.id for attempt in tries if attempt.score is not None}
    counts: Counter[str] = Counter()
    for statement in told:
        is_single = len(statement.supporting) == 1 and statement.supporting[0] in scored
        if is_single and not any(statement.others):
            counts[statement.kind] += 1
        if counts[statement.kind] <= _SINGLE:
            yield statement


def _usefulness(statement: Statement, tries: Sequence[Try]) -> tuple[int, bool, float, int]:
    """Sort key: what most runs say, what has a remedy, the greatest scores, then the latest."""
    behind = [t for t in tries if t.id in statement.supporting]
    scores = [abs(attempt.score) for attempt in behind if attempt.score is not None]
    counts = len(statement.supporting), bool(statement.others[1]), max(scores, default=0.0)
    return *counts, tries.index(behind[-1])


def _rule(rule: Separation, outcomes: Sequence[Outcome], policy: Policy) -> Statement:
    """Return what a rule or a lead says, counted of all these outcomes."""
    rule = replace(rule, read=len(outcomes), until=outcomes[-1].occurred_at)
    holding, other = sides_of(rule, outcomes, policy)
    episodes = episodes_of(outcomes, policy.evaluate.episode_minutes)
    numbers = dict(zip((outcome.id for outcome in outcomes), episodes, strict=True))
    of_result, of_met = (
        {numbers[name] for name in ids} for ids in (holding[0], holding[0] + holding[1])
    )
    counted = replace(
        rule,
        met=(len(holding[0]), len(holding[0]) + len(holding[1])),
        other=(len(other[0]), len(other[0]) + len(other[1])),
        episodes=(len(of_result), len(of_met)),
    )
    return Statement(
        kind="rule",
        text=rule_sentence(counted),
        supporting=holding[0],
        against=holding[1],
        others=other,
        rule=counted,
    )


def sides_of(
    rule: Separation, read: Sequence[Outcome], policy: Policy
) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the ids of those that meet a rule, and of the others: with its result, and without.

    A lead is counted of what failed or succeeded.
    """
    sides: dict[tuple[bool, bool], list[str]] = defaultdict(list)
    for outcome in read:
        if rule.lead and outcome.result.status == "neutral":
            continue
        met = [is_met(condition, outcome) for condition in rule.conditions]
        if None not in met:
            ended = has_result(outcome, rule.result, policy)
            sides[all(met), ended].append(outcome.id)
    holding, other = (
        (tuple(sides[holds, True]), tuple(sides[holds, False])) for holds in (True, False)
    )
    return holding, other


def _lessons(tries: Sequence[Try], labels: Mapping[str, str]) -> Iterator[Statement]:
    """Yield what should have been done, a person's words first, then what most say."""
    said = [(attempt, advice) for attempt in tries for advice in attempt.advice]
    forms = list(dict.fromkeys(normal_form(advice.text) for _, advice in said))
    groups: list[list[_LessonOf]] = []
    for places in components(forms):
        alike = {forms[place] for place in places}
        groups.append([pair for pair in said if normal_form(pair[1].text) in alike])
    for group in sorted(groups, key=_lesson_order):
        ids = tuple(dict.fromkeys(attempt.id for attempt, _ in group))
        every, latest = [attempt for attempt, _ in group], group[-1][1]
        brief = replace(latest, text=latest.text.partition(", because ")[0])
        text, gist = (lesson_sentence(advice, every, labels) for advice in (latest, brief))
        yield Statement(kind="lesson", text=text, supporting=ids, gist=gist)


def _lesson_order(group: Sequence[_LessonOf]) -> tuple[int, bool, int, float]:
    """Return the place of a lesson: a person's first, then what most say, then the latest."""
    adviser = min(_ADVISERS.index(advice.by) for _, advice in group)
    supposed = all(advice.supposed for _, advice in group)
    return adviser, supposed, -len(group), -group[-1][0].at.timestamp()


def _insights(tries: Sequence[Try], *, remarks: bool = False) -> Iterator[Statement]:
    """Yield what a model concluded of a try, once for those of which it says the same.

    With `remarks` also what it found weak in what failed, and strong in what worked.
    """
    by_text: dict[str, list[Try]] = defaultdict(list)
    for attempt in tries:
        found = attempt.strengths if attempt.status == "success" else attempt.weaknesses
        texts = (attempt.insight, *(found if remarks else ()))
        for text in dict.fromkeys(map(insight_sentence, filter(None, texts))):
            if attempt.status != "neutral":
                by_text[text].append(attempt)
    for text, same in by_text.items():
        kind: StatementKind = "worked" if same[-1].status == "success" else "failed"
        ids = tuple(one.id for one in same)
        yield Statement(kind=kind, text=text, supporting=ids, gist=text)


def _deeds(
    tries: Sequence[Try], labels: Mapping[str, str], tasks: Mapping[str, str]
) -> Iterator[Statement]:
    """Yield what was done, with what came of it; of what failed, what worked instead."""
    remedies: set[str] = set()
    worked: list[Statement] = []
    for group in group_by_deed([attempt for attempt in tries if attempt.deed]):
        wins = [attempt for attempt in group if attempt.status == "success"]
        losses = [attempt for attempt in group if attempt.status == "failure"]
        if not is_one_sided(len(wins), len(losses)):
            continue
        if len(wins) > len(losses):
            worked.append(_deed(wins, losses, labels))
            continue
        remedy = _remedy(losses, tries, tasks)
        remedies.update([remedy.id] if remedy else [])
        yield _deed(losses, wins, labels, remedy)
    for deed in worked:
        if len(deed.supporting) > 1 or deed.supporting[0] not in remedies:
            yield deed


def _deed(
    so: Sequence[Try],
    otherwise: Sequence[Try],
    labels: Mapping[str, str],
    remedy: Try | None = None,
) -> Statement:
    """Return what was done and ended so in more runs than otherwise, with what worked instead."""
    return Statement(
        kind="failed" if so[-1].status == "failure" else "worked",
        text=deed_sentence(so, otherwise, labels, remedy),
        supporting=tuple(attempt.id for attempt in so),
        against=tuple(attempt.id for attempt in otherwise),
        others=((), (remedy.id,) if remedy else ()),
        gist=deed_sentence([replace(remedy, result="")], [], labels) if remedy else "",
    )


def _by_kind(deeds: Iterable[Statement], tries: Sequence[Try]) -> Iterator[Statement]:
    """Yield deeds, those that differ in figures alone and ended alike as one statement."""
    kinds = {one.id: n for n, group in enumerate(group_by_kind(tries)) for one in group}
    groups: dict[tuple[str, int], list[Statement]] = defaultdict(list)
    for deed in deeds:
        groups[deed.kind, kinds[deed.supporting[-1]]].append(deed)
    for alike in groups.values():
        if len(alike) == 1:
            yield alike[0]
            continue
        latest = sorted(alike, key=lambda deed: deed.supporting[-1], reverse=True)
        yield Statement(
            kind=alike[0].kind,
            text=kinds_sentence([deed.text for deed in latest], alike[0].kind),
            supporting=tuple(name for deed in alike for name in deed.supporting),
            against=tuple(name for deed in alike for name in deed.against),
            others=((), tuple(dict.fromkeys(n for deed in alike for n in deed.others[1]))),
            gist=latest[0].gist,
        )


def is_one_sided(wins: int, losses: int) -> bool:
    """Return True if what ended so is told: it ended one way, or leans by more than chance."""
    if not (wins and losses):
        return bool(wins or losses)
    count, most = wins + losses, max(wins, losses)
    tail = sum(comb(count, k) for k in range(most, count + 1)) / 2**count
    return bool(2 * tail <= _CHANCE)


def _remedy(losses: Sequence[Try], tries: Sequence[Try], tasks: Mapping[str, str]) -> Try | None:
    """Return the next success of the same problem after the last of these failures.

    A problem is a task, or else the target; not of a trade without a task: the next is another one.
    Where many tries have it in common, the success must also speak of the same things.
    """
    last = losses[-1]
    task, about = tasks.get(last.id), terms(last.deed)
    of_task = [t for t in tries if task and tasks.get(t.id) == task]
    several = len({attempt.target for attempt in tries}) > 1
    is_problem = last.score is None if not task else several  # else it is all of the code
    by_target = bool(last.target) and is_problem
    of_target = [t for t in tries if by_target and t.target == last.target]
    for same in (of_task, of_target):
        for attempt in same:
            is_later = (attempt.at, attempt.id) > (last.at, last.id)
            is_near = len(same) <= _SPECIFIC or bool(about & terms(attempt.deed))
            if is_later and is_near and attempt.status == "success" and attempt.deed:
                return attempt
    return None


def _refused(account: Account) -> Iterator[Statement]:
    several = len({" ".join(task.split()) for task in account.tasks.values()}) > 1
    for refused in refused_answers(account.outcomes, account.tasks):
        text = answers_sentence(refused, names_task=several)
        yield Statement(kind="answers", text=text, supporting=refused.shown_by)


def _claims(outcomes: Sequence[Outcome]) -> Iterator[Statement]:
    """Yield how many failures their agents had claimed as successes."""
    failed = [outcome for outcome in outcomes if outcome.result.status == "failure"]
    refused = [outcome for outcome in failed if outcome.is_claim_refused]
    if len(refused) > 1:
        counts = Counter(outcome.observer for outcome in refused)
        by = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        ids = tuple(outcome.id for outcome in refused)
        yield Statement(kind="claimed", text=claims_sentence(by, len(failed)), supporting=ids)


# ── a strategy ───────────────────────────────────────────────────────────────────────


def _strategy_statements(account: Account, policy: Policy) -> Iterator[Statement]:
    """Yield the rules and leads as guides tell them, then how the tries of each action ended."""
    actions = group_by_action(account.outcomes)
    for separation in account.rules:
        rule = _rule(separation, actions[separation.action], policy)
        yield replace(rule, text=f"{plain(separation.action)}: {rule.text}")
    for action, outcomes in actions.items():
        ids = tuple(outcome.id for outcome in outcomes)
        yield Statement(kind="tried", text=balance_sentence(action, outcomes), supporting=ids)


# ── a warning, a pattern ─────────────────────────────────────────────────────────────


def _graded_statements(
    account: Account, kind: SkillKind, members: Sequence[Outcome]
) -> Iterator[Statement]:
    """Yield what a subject's losses say, or its gains: the greatest first, its entry last."""
    tries = {attempt.id: attempt for attempt in account.tries}
    about = [tries[outcome.id] for outcome in members]
    scored = [outcome for outcome in members if outcome.result.score is not None]
    sign = -1 if kind == "warning" else 1
    greatest = max(
        scored, key=lambda o: (sign * (o.result.score or 0.0), o.id), default=members[-1]
    )
    groups = group_by_deed([attempt for attempt in tries.values() if attempt.deed])
    if scored:
        ids = tuple(outcome.id for outcome in scored)
        attempt = tries[greatest.id]
        if [attempt] in groups:
            groups.remove([attempt])  # its deed is told with its loss or gain
        else:
            attempt = replace(attempt, deed="")
        text = extreme_sentence(greatest, attempt, len(ids))
        deed = whole(attempt.deed, _IN_TITLE).rstrip(".。")
        amount = text.partition(f" on {greatest.occurred_at:%Y-}")[0]
        score = percent(greatest.result.score or 0.0)
        gist = f"{deed}{ARROW}{score}" if deed else amount
        yield Statement(kind="extreme", text=text, supporting=ids, gist=gist)
    ids_about = {attempt.id for attempt in about}
    for group in groups:
        if not ids_about.isdisjoint(attempt.id for attempt in group):
            yield from _deed_before(group, kind)
    yield from _insights(about, remarks=True)
    yield from _lessons(about, {})
    if kind == "warning":
        yield from _cures(about, list(tries.values()), account.tasks)
        yield from _refused(account)
        yield from _claims(account.outcomes)
    others = [o for o in account.outcomes if o.result.status != greatest.result.status]
    if entry := entry_sentence(greatest, others):
        yield Statement(kind="entry", text=entry, supporting=(greatest.id,))
    if scored:
        peers = [other for other in account.outcomes if other.subject == greatest.subject]
        for outlier in list(outliers(greatest, peers))[:_OUTLIERS]:
            text = outlier_sentence(outlier)
            yield Statement(kind="outlier", text=text, supporting=(greatest.id,))


def _cures(
    losses: Sequence[Try], tries: Sequence[Try], tasks: Mapping[str, str]
) -> Iterator[Statement]:
    """Yield what worked after these losses for the same problems."""
    found = (_remedy([loss], tries, tasks) for loss in losses)
    for cure in {one.id: one for one in found if one}.values():
        yield _deed([cure], [], {})


def _deed_before(group: Sequence[Try], kind: SkillKind) -> Iterator[Statement]:
    """Yield what was done before losses, or gains, unless it ended otherwise about as often."""
    wins = [attempt for attempt in group if attempt.status == "success"]
    losses = [attempt for attempt in group if attempt.status == "failure"]
    so, otherwise = (losses, wins) if kind == "warning" else (wins, losses)
    if len(so) > len(otherwise) and is_one_sided(len(wins), len(losses)):
        yield _deed(so, otherwise, {})
