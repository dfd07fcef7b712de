"""Make the statements of guides, warnings, patterns and strategies, each with its outcomes.

`findings_of` chooses the statements for a kind of skill. The same outcomes give the same statements
in any order of arrival. To add a kind of statement, write a generator here and its sentence in
`sentences.py`.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from math import comb

import msgspec
from msgspec.structs import replace

from skillvault.learning.account import sentences
from skillvault.learning.account.reading import loss_or_gain
from skillvault.learning.account.rules import group_by_action, has_result, outliers
from skillvault.learning.contrast.episodes import episodes_of
from skillvault.learning.contrast.recorded_values import is_met
from skillvault.learning.naming import DOMAIN_KINDS
from skillvault.learning.tries.answers import refused_answers
from skillvault.learning.tries.tries import group_by_deed, group_by_kind, try_of
from skillvault.model.brief import Account, Advice, Findings, Statement, StatementKind, Try
from skillvault.model.conditions import Separation
from skillvault.model.phrases import inline
from skillvault.model.policy import Policy
from skillvault.model.records import Evaluation, Outcome, SkillKind, Status
from skillvault.model.sameness.comparison import group_same
from skillvault.model.sameness.form import normal_form
from skillvault.model.text.text import ARROW, format_percent, terms, whole_sentences

_IdPair = tuple[tuple[str, ...], tuple[str, ...]]  # outcomes with a result, and without it
KINDS: tuple[SkillKind, ...] = ("guide", "warning", "pattern", *DOMAIN_KINDS)
MIN_ACTIONS = 3  # actions that must share a statement of an evolved skill
_MAX_SIGN_TEST_P = 0.05  # p of a deed with both results, to name the more frequent one
_MAX_OUTLIERS = 2
_ADVISERS = ("person", "agent", "judge")  # the most important first
_MAX_SPECIFIC_TRIES = 4  # with more tries on a problem, a remedy must share words
_MAX_SINGLE_TRADES = 6  # statements about single scored tries, for each result
_MAX_TITLE = 90  # characters of a deed in a gist
_MAX_TRIED = 12  # deeds with a line under `Tried`
_MIN_TOOL_SHARE = 0.6  # share of the successes that used a tool
_MIN_TOOL_LIFT = 0.5  # difference between the shares of successes and failures
_MIN_TOOL_SUCCESSES = 2  # successes that used a tool
_MAX_TOOLS = 4  # names in a sentence
# A program, a function or a module, in backticks or with brackets; a data file is no tool.
_TOOL_NAME = re.compile(
    r"`([A-Za-z][\w.+-]{2,30}(?:\(\))?)`|\b([A-Za-z_]\w{2,30}\.(?:py|sh|js))\b"
    r"|\b([A-Z]{3,}(?:/[A-Z]{3,})+)\b"
)
_DATA_FILE = re.compile(
    r"\.(?:xlsx?|csv|json|pdf|docx?|pptx?|txt|md|xml|ya?ml|html?|png|jpe?g|emf)$", re.IGNORECASE
)


def findings_of(account: Account, kind: SkillKind, policy: Policy) -> Findings:
    """Return the statements of an account for a kind of skill, with significant outcomes."""
    outcomes = account.outcomes
    if kind in ("warning", "pattern"):
        bound = "loss" if kind == "warning" else "gain"
        members = [outcome for outcome in outcomes if loss_or_gain(outcome, policy) == bound]
        return graded_findings(account, kind, members)
    write = _strategy_statements if kind == "strategy" else _guide_statements
    statements = tuple(write(account, policy))
    if kind == "evolved":
        actions = {outcome.id: outcome.decision.action for outcome in outcomes}
        advice = [s for s in statements if s.kind in ("lesson", "worked", "failed")]
        supporting_actions = [{actions[key] for key in s.supporting} for s in advice]
        pairs = zip(advice, supporting_actions, strict=True)
        statements = tuple(statement for statement, names in pairs if len(names) >= MIN_ACTIONS)
    return Findings(kind=kind, account=account, statements=statements, significant=outcomes)


def graded_findings(account: Account, kind: SkillKind, members: Sequence[Outcome]) -> Findings:
    """Return the findings for a warning or a pattern about the outcomes `members`."""
    statements = tuple(_graded_statements(account, kind, members)) if members else ()
    return Findings(kind=kind, account=account, statements=statements, significant=tuple(members))


def calls_for_skill(findings: Findings) -> bool:
    """Return True if findings are enough for a skill. A guide needs advice or two runs."""
    has_tries = findings.kind == "guide" and len(findings.account.outcomes) > 1
    return any(has_tries or statement.kind != "tried" for statement in findings.statements)


def digest(findings: Findings) -> str:
    """Return twelve hex digits that change with the statements or the outcomes."""
    outcomes = findings.account.outcomes
    remarks = [(attempt.strengths, attempt.weaknesses) for attempt in findings.account.tries]
    values = [len(outcomes), outcomes[-1].id, findings.statements, remarks]
    return sha256(msgspec.json.encode(values, order="deterministic")).hexdigest()[:12]


def evidence_ids(findings: Findings) -> list[str]:
    """Return the ids of outcomes for and against the statements, or of significant outcomes."""
    ids = {outcome.id for outcome in findings.account.outcomes}
    statement_ids = {key for s in findings.statements for key in (*s.supporting, *s.against)}
    return sorted(statement_ids & ids or {outcome.id for outcome in findings.significant})


def mentioned_ids(findings: Findings) -> set[str]:
    """Return the ids of all outcomes that a skill mentions, remedies included."""
    remedies = (s.others[1] for s in findings.statements if s.kind == "failed")
    return set(evidence_ids(findings)).union(*remedies)


def account_of(
    outcomes: Sequence[Outcome],
    evaluations: Mapping[str, Evaluation],
    tasks: Mapping[str, str],
    rules: tuple[Separation, ...] = (),
    *,
    unquoted: Container[str] = (),
    repairs: Mapping[str, Outcome] | None = None,
) -> Account:
    """Return the account of these outcomes: their tries by time, and their rules.

    Do not quote a person's next words about the outcomes in `unquoted`. `repairs` maps a failed
    outcome to the outcome that repaired it.
    """
    repair_tries = {failure: try_of(repair) for failure, repair in (repairs or {}).items()}
    return Account(
        outcomes=tuple(outcomes),
        tries=tuple(
            replace(
                try_of(
                    outcome, evaluations.get(outcome.id), quotes_words=outcome.id not in unquoted
                ),
                repair=repair_tries.get(outcome.id),
            )
            for outcome in outcomes
        ),
        evaluations=evaluations,
        tasks=tasks,
        rules=rules,
    )


def account_keys(account: Account) -> tuple[str, ...]:
    """Return the keys of the advice and the deeds in an account; equal texts have equal keys."""
    return tuple(sorted(frozenset[str]().union(*map(try_keys, account.tries))))


def try_keys(attempt: Try, *, either: bool = False) -> frozenset[str]:
    """Return the keys of the advice and the deed of a run.

    With `either`, the deed has keys for success and for failure, whatever the result of the run is.
    """
    texts = [advice.text for advice in attempt.advice]
    statuses = ("success", "failure") if either else (attempt.status,)
    texts += [f"{status}: {attempt.deed}" for status in statuses if attempt.deed]
    forms = (msgspec.json.encode(normal_form(text), order="deterministic") for text in texts)
    return frozenset(sha256(form).hexdigest()[:12] for form in forms)


# ── a guide ──────────────────────────────────────────────────────────────────────────


def _guide_statements(account: Account, policy: Policy) -> Iterator[Statement]:
    tries = account.tries
    labels = sentences.labels_of(account)
    for separation in account.rules:
        yield _rule(separation, account.outcomes, policy)
    yield from _lessons(tries, labels)
    deeds = [*_merge_kinds(_deeds(tries, labels, account.tasks), tries), *_insights(tries)]
    deeds.sort(key=lambda deed: _usefulness(deed, tries), reverse=True)
    deeds = [*_limit_single_trades(deeds, tries)]
    yield from deeds
    yield from _refused_answers(account)
    yield from _claims(account.outcomes)
    if tools := tools_statement(account.outcomes):
        yield tools
    ids = {key for deed in deeds for key in (*deed.supporting, *deed.against, *deed.others[1])}
    yield from _tried_statements([attempt for attempt in tries if attempt.id not in ids], labels)


def _tried_statements(tries: Sequence[Try], labels: Mapping[str, str]) -> Iterator[Statement]:
    """Yield the latest runs, grouped by deed, or by error if they have no deed.

    Runs without a known result are told only if there are no others.
    """
    known_tries = [attempt for attempt in tries if attempt.status != "neutral" or attempt.result]
    groups = [group for group in group_by_deed(known_tries or tries) if group[0].deed]
    errors: dict[str, list[Try]] = defaultdict(list)
    for attempt in tries:
        if attempt.error and not attempt.deed:
            errors[attempt.error].append(attempt)
    groups += errors.values()
    groups.sort(key=lambda group: (group[-1].at, group[-1].id), reverse=True)
    for group in groups[:_MAX_TRIED]:
        text = sentences.tried_sentence(group[-1], labels, group[:-1])
        yield Statement(kind="tried", text=text, supporting=_ids_of(group))


def _limit_single_trades(
    statements: Iterable[Statement], tries: Sequence[Try]
) -> Iterator[Statement]:
    scored_ids = {attempt.id for attempt in tries if attempt.score is not None}
    counts: Counter[str] = Counter()
    for statement in statements:
        is_single = len(statement.supporting) == 1 and statement.supporting[0] in scored_ids
        if is_single and not any(statement.others):
            counts[statement.kind] += 1
        if counts[statement.kind] <= _MAX_SINGLE_TRADES:
            yield statement


def _usefulness(statement: Statement, tries: Sequence[Try]) -> tuple[int, bool, float, int]:
    """Sort key: the number of runs, then a remedy, the greatest score, the latest run."""
    supporting_tries = [attempt for attempt in tries if attempt.id in statement.supporting]
    scores = [abs(attempt.score) for attempt in supporting_tries if attempt.score is not None]
    counts = len(statement.supporting), bool(statement.others[1]), max(scores, default=0.0)
    return *counts, tries.index(supporting_tries[-1])


def _rule(rule: Separation, outcomes: Sequence[Outcome], policy: Policy) -> Statement:
    (hits, misses), other_ids = sides_of(rule, outcomes, policy)
    met_ids = hits + misses
    numbers = episodes_of(outcomes, policy.evaluate.episode_minutes)
    episodes = dict(zip((outcome.id for outcome in outcomes), numbers, strict=True))
    counted_rule = replace(
        rule,
        read=len(outcomes),
        until=outcomes[-1].occurred_at,
        met=(len(hits), len(met_ids)),
        other=(len(other_ids[0]), sum(map(len, other_ids))),
        episodes=(len({episodes[i] for i in hits}), len({episodes[i] for i in met_ids})),
    )
    return Statement(
        kind="rule",
        text=sentences.rule_sentence(counted_rule),
        supporting=hits,
        against=misses,
        others=other_ids,
        rule=counted_rule,
    )


def sides_of(
    rule: Separation, outcomes: Sequence[Outcome], policy: Policy
) -> tuple[_IdPair, _IdPair]:
    """Return the ids of the outcomes that meet a rule, and of those that do not.

    Each is a pair: outcomes with the result of the rule, and outcomes without it. Neutral outcomes
    do not count for a lead.
    """
    sides: dict[tuple[bool, bool], list[str]] = defaultdict(list)
    for outcome in outcomes:
        if rule.lead and outcome.result.status == "neutral":
            continue
        checks = [is_met(condition, outcome) for condition in rule.conditions]
        if None not in checks:
            sides[all(checks), has_result(outcome, rule.result, policy)].append(outcome.id)
    meeting_ids, opposing_ids = (
        (tuple(sides[met, True]), tuple(sides[met, False])) for met in (True, False)
    )
    return meeting_ids, opposing_ids


def _lessons(tries: Sequence[Try], labels: Mapping[str, str]) -> Iterator[Statement]:
    pairs = [(attempt, advice) for attempt in tries for advice in attempt.advice]
    forms = [normal_form(advice.text) for _, advice in pairs]
    groups = ([pairs[index] for index in indices] for indices in group_same(forms))
    for group in sorted(groups, key=_lesson_order):
        ids = tuple(dict.fromkeys(attempt.id for attempt, _ in group))
        group_tries, latest = [attempt for attempt, _ in group], group[-1][1]
        brief = replace(latest, text=latest.text.partition(", because ")[0])
        text, gist = (
            sentences.lesson_sentence(advice, group_tries, labels) for advice in (latest, brief)
        )
        yield Statement(kind="lesson", text=text, supporting=ids, gist=gist)


def _lesson_order(group: Sequence[tuple[Try, Advice]]) -> tuple[int, bool, int, float]:
    adviser = min(_ADVISERS.index(advice.by) for _, advice in group)
    is_supposed = all(advice.supposed for _, advice in group)
    return adviser, is_supposed, -len(group), -group[-1][0].at.timestamp()


def _insights(tries: Sequence[Try], *, remarks: bool = False) -> Iterator[Statement]:
    """Yield the insights of a model, each once with all of its runs.

    With `remarks`, also yield the weaknesses of failures and the strengths of successes.
    """
    groups: dict[str, list[Try]] = defaultdict(list)
    for attempt in tries:
        judge_remarks = attempt.strengths if attempt.status == "success" else attempt.weaknesses
        texts = (attempt.insight, *(judge_remarks if remarks else ()))
        for text in dict.fromkeys(map(sentences.insight_sentence, filter(None, texts))):
            if attempt.status != "neutral":
                groups[text].append(attempt)
    for text, group in groups.items():
        kind: StatementKind = "worked" if group[-1].status == "success" else "failed"
        yield Statement(kind=kind, text=text, supporting=_ids_of(group), gist=text)


def _deeds(
    tries: Sequence[Try], labels: Mapping[str, str], tasks: Mapping[str, str]
) -> Iterator[Statement]:
    remedies: set[str] = set()
    worked_deeds: list[Statement] = []
    for group in group_by_deed([attempt for attempt in tries if attempt.deed]):
        successes, failures = _split_by_result(group)
        if not is_one_sided(len(successes), len(failures)):
            continue
        if len(successes) > len(failures):
            worked_deeds.append(_deed_statement(successes, failures, labels))
        elif not failures[-1].unexplained:  # such a deed mostly repeats the task
            remedy = _find_remedy(failures[-1], tries, tasks)
            remedies.update([remedy.id] if remedy else [])
            yield _deed_statement(failures, successes, labels, remedy)
    for deed in worked_deeds:
        if len(deed.supporting) > 1 or deed.supporting[0] not in remedies:
            yield deed


def _ids_of(records: Iterable[Try] | Iterable[Outcome]) -> tuple[str, ...]:
    return tuple(record.id for record in records)


def _split_by_result(tries: Iterable[Try]) -> tuple[list[Try], list[Try]]:
    groups: dict[Status, list[Try]] = defaultdict(list)
    for attempt in tries:
        groups[attempt.status].append(attempt)
    return groups["success"], groups["failure"]


def _deed_statement(
    tries: Sequence[Try],
    other_tries: Sequence[Try],
    labels: Mapping[str, str],
    remedy: Try | None = None,
) -> Statement:
    """Return the statement of a deed. `tries` had its usual result, `other_tries` the opposite."""
    return Statement(
        kind="failed" if tries[-1].status == "failure" else "worked",
        text=sentences.deed_sentence(tries, other_tries, labels, remedy),
        supporting=_ids_of(tries),
        against=_ids_of(other_tries),
        others=((), (remedy.id,) if remedy else ()),
        gist=sentences.deed_sentence([replace(remedy, result="")], [], labels) if remedy else "",
    )


def _merge_kinds(deeds: Iterable[Statement], tries: Sequence[Try]) -> Iterator[Statement]:
    """Merge deeds that have the same result and differ only in figures."""
    kinds = {attempt.id: n for n, group in enumerate(group_by_kind(tries)) for attempt in group}
    groups: dict[tuple[str, int], list[Statement]] = defaultdict(list)
    for deed in deeds:
        groups[deed.kind, kinds[deed.supporting[-1]]].append(deed)
    for group in groups.values():
        if len(group) == 1:
            yield group[0]
            continue
        latest_first = sorted(group, key=lambda deed: deed.supporting[-1], reverse=True)
        yield Statement(
            kind=group[0].kind,
            text=sentences.kinds_sentence([deed.text for deed in latest_first], group[0].kind),
            supporting=tuple(key for deed in group for key in deed.supporting),
            against=tuple(key for deed in group for key in deed.against),
            others=((), tuple(dict.fromkeys(key for deed in group for key in deed.others[1]))),
            gist=latest_first[0].gist,
        )


def is_one_sided(successes: int, failures: int) -> bool:
    """Return True if one result is more frequent than by chance (sign test)."""
    if not (successes and failures):
        return bool(successes or failures)
    count, majority = successes + failures, max(successes, failures)
    tail = sum(comb(count, k) for k in range(majority, count + 1)) / 2**count
    return bool(2 * tail <= _MAX_SIGN_TEST_P)


def _find_remedy(failure: Try, tries: Sequence[Try], tasks: Mapping[str, str]) -> Try | None:
    """Return the repair of a failure, or the next success on the same problem, or None.

    The problem is the task, or the target without a task. A trade without a task has no problem,
    because the next trade is a new one. If many runs share the problem, the deeds must also share
    words.
    """
    if failure.repair and failure.repair.deed:
        return failure.repair
    task, deed_terms = tasks.get(failure.id), terms(failure.deed)
    has_targets = len({attempt.target for attempt in tries}) > 1
    # If all tries with tasks have one target, the target is all of the code.
    is_target_problem = has_targets if task else failure.score is None
    target = failure.target if is_target_problem else None
    task_tries = [t for t in tries if task and tasks.get(t.id) == task]
    for problem_tries in (task_tries, [t for t in tries if target and t.target == target]):
        is_specific = len(problem_tries) <= _MAX_SPECIFIC_TRIES
        for attempt in problem_tries:
            is_later = (attempt.at, attempt.id) > (failure.at, failure.id)
            is_near = is_specific or not deed_terms.isdisjoint(terms(attempt.deed))
            if is_later and is_near and attempt.status == "success" and attempt.deed:
                return attempt
    return None


def _refused_answers(account: Account) -> Iterator[Statement]:
    has_tasks = len({" ".join(task.split()) for task in account.tasks.values()}) > 1
    for answers in refused_answers(account.outcomes, account.tasks):
        text = sentences.answers_sentence(answers, names_task=has_tasks)
        yield Statement(kind="answers", text=text, supporting=answers.shown_by)


def tools_statement(outcomes: Sequence[Outcome]) -> Statement | None:
    """Return the statement about tools that most successes and few failures used, or None."""
    users: dict[str, list[str]] = defaultdict(list)
    for outcome in outcomes:
        for name in _tools_of(outcome):
            users[name].append(outcome.id)
    successes, failures = (
        {outcome.id for outcome in outcomes if outcome.result.status == status}
        for status in ("success", "failure")
    )
    if len(successes) < _MIN_TOOL_SUCCESSES or not failures:
        return None
    tools: dict[tuple[int, int], list[str]] = defaultdict(list)
    for name, ids in users.items():
        tools[len(successes.intersection(ids)), len(failures.intersection(ids))].append(name)
    min_successes = max(_MIN_TOOL_SUCCESSES, _MIN_TOOL_SHARE * len(successes))
    lifts = {
        (wins, losses): wins / len(successes) - losses / len(failures)
        for wins, losses in tools
        if wins >= min_successes
    }
    best = max(lifts, key=lambda counts: lifts[counts], default=None)
    if best is None or lifts[best] < _MIN_TOOL_LIFT:
        return None
    names = sorted(tools[best])[:_MAX_TOOLS]
    return Statement(
        kind="tools",
        text=sentences.tools_sentence(names, (best[0], len(successes)), (best[1], len(failures))),
        supporting=tuple(key for key in users[names[0]] if key in successes),
        against=tuple(key for key in users[names[0]] if key in failures),
    )


def _tools_of(outcome: Outcome) -> frozenset[str]:
    """Return the tools in an outcome's log, or named in its reasoning but not in its task."""
    decision = outcome.decision
    request = f"{decision.task} {decision.action} {decision.target or ''}".casefold()
    names = {name for name in _tool_names(decision.reasoning) if name.casefold() not in request}
    return frozenset(names.union(outcome.applied or ()))


@lru_cache(maxsize=4096)
def _tool_names(reasoning: str) -> frozenset[str]:
    names = (next(filter(None, match.groups())) for match in _TOOL_NAME.finditer(reasoning))
    return frozenset(name for name in names if not _DATA_FILE.search(name))


def _claims(outcomes: Sequence[Outcome]) -> Iterator[Statement]:
    failures = [outcome for outcome in outcomes if outcome.result.status == "failure"]
    refusals = [o for o in failures if o.is_claim_refused and o.observer != "person"]
    if len(refusals) > 1:
        counts = Counter(outcome.observer for outcome in refusals)
        observers = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        text = sentences.claims_sentence(observers, len(failures))
        yield Statement(kind="claimed", text=text, supporting=_ids_of(refusals))


# ── a strategy ───────────────────────────────────────────────────────────────────────


def _strategy_statements(account: Account, policy: Policy) -> Iterator[Statement]:
    actions = group_by_action(account.outcomes)
    for separation in account.rules:
        rule = _rule(separation, actions[separation.action], policy)
        yield replace(rule, text=f"{inline(separation.action)}: {rule.text}")
    for action, outcomes in actions.items():
        text = sentences.balance_sentence(action, outcomes)
        yield Statement(kind="tried", text=text, supporting=_ids_of(outcomes))


# ── a warning, a pattern ─────────────────────────────────────────────────────────────


def _graded_statements(
    account: Account, kind: SkillKind, members: Sequence[Outcome]
) -> Iterator[Statement]:
    tries = {attempt.id: attempt for attempt in account.tries}
    member_tries = [tries[outcome.id] for outcome in members]
    scored_outcomes = [outcome for outcome in members if outcome.result.score is not None]
    sign = -1 if kind == "warning" else 1
    extreme = max(
        scored_outcomes, key=lambda o: (sign * (o.result.score or 0.0), o.id), default=members[-1]
    )
    groups = group_by_deed([attempt for attempt in tries.values() if attempt.deed])
    if scored_outcomes:
        attempt = tries[extreme.id]
        if [attempt] in groups:
            groups.remove([attempt])  # the statement about the extreme tells the deed
        else:
            attempt = replace(attempt, deed="")
        text = sentences.extreme_sentence(extreme, attempt, len(scored_outcomes))
        deed = whole_sentences(attempt.deed, _MAX_TITLE).rstrip(".。")
        amount = text.partition(f" on {extreme.occurred_at:%Y-}")[0]
        score = format_percent(extreme.result.score or 0.0)
        gist = f"{deed}{ARROW}{score}" if deed else amount
        ids = _ids_of(scored_outcomes)
        yield Statement(kind="extreme", text=text, supporting=ids, gist=gist)
    member_ids = {attempt.id for attempt in member_tries}
    for group in groups:
        if not member_ids.isdisjoint(attempt.id for attempt in group):
            yield from _graded_deed(group, kind)
    yield from _insights(member_tries, remarks=True)
    yield from _lessons(member_tries, {})
    if kind == "warning":
        all_tries = list(tries.values())
        remedies = (_find_remedy(attempt, all_tries, account.tasks) for attempt in member_tries)
        for remedy in {attempt.id: attempt for attempt in remedies if attempt}.values():
            yield _deed_statement([remedy], [], {})
        yield from _refused_answers(account)
        yield from _claims(account.outcomes)
    other_outcomes = [o for o in account.outcomes if o.result.status != extreme.result.status]
    if entry := sentences.entry_sentence(extreme, other_outcomes):
        yield Statement(kind="entry", text=entry, supporting=(extreme.id,))
    if scored_outcomes:
        peers = [peer for peer in account.outcomes if peer.subject == extreme.subject]
        for outlier in list(outliers(extreme, peers))[:_MAX_OUTLIERS]:
            text = sentences.outlier_sentence(outlier)
            yield Statement(kind="outlier", text=text, supporting=(extreme.id,))


def _graded_deed(group: Sequence[Try], kind: SkillKind) -> Iterator[Statement]:
    """Yield the statement of a deed, unless the opposite result is about as frequent."""
    successes, failures = _split_by_result(group)
    tries, opposites = (failures, successes) if kind == "warning" else (successes, failures)
    if len(tries) > len(opposites) and is_one_sided(len(successes), len(failures)):
        yield _deed_statement(tries, opposites, {})
