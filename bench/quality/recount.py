"""Every figure of a vault's served skills, counted again from its outcomes.

    python bench/quality/recount.py VAULT

Reads the files of the outcomes, of a skill of facts also its links and facts, and what stands in
skills/, by nothing of the program's. A statement of an account is counted of the outcomes that
references/evidence.yaml names. Prints how many figures it counted, which are wrong, and what it
could not read. Ends with 1 if a figure is wrong or a sentence unread.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import yaml
from ledger import (
    Entry,
    Holds,
    Support,
    conditions,
    digits,
    entries,
    episodes,
    folded,
    lead_condition,
    load,
    moment,
    number,
    shown,
    support_of,
)

Check = tuple[bool, str]  # whether a figure is right, and what it is by the records
Evidence = Mapping[str, Any]  # of one statement
PEERS, MOST = 200, 200  # the latest outcomes that a rule, and a strategy, look at by default
MINUTES = 10
LOSS, GAIN = -0.1, 0.2
_NAMED = 5  # subjects of the runs that stand behind facts
_DAY = r"\d{4}-\d\d-\d\d"
_ENDED = {"failed": "failure", "worked": "success"}


class Skill(NamedTuple):
    """A served text: the front matter, the lines of its head, its statements, its facts.

    `evidence` is its file of that name, {} for a skill without one; `support` what a skill of facts
    rests on.
    """

    name: str
    front: dict[str, Any]
    head: list[str]
    lines: list[str]
    facts: list[str]
    evidence: dict[str, Any]
    support: Support


class Scope(NamedTuple):
    """The outcomes that a skill counts, oldest first, and all outcomes of the vault."""

    entries: Sequence[Entry]
    every: Sequence[Entry]
    policy: dict[str, float]
    support: Support
    evidence: Evidence

    def ended(self, status: str) -> list[Entry]:
        """Return the entries that ended with this status."""
        return [entry for entry in self.entries if entry.status == status]

    def behind(self, *names: str) -> list[Entry]:
        """Return the entries in these lists of a statement's evidence, oldest first."""
        ids = {name for key in names for name in self.evidence.get(key, ())}
        return [entry for entry in self.every if entry.id in ids]


class Report:
    """The counted figures of a vault, the wrong ones, and the sentences that nothing read."""

    def __init__(self) -> None:
        self.figures = 0
        self.wrong: list[str] = []
        self.unread: list[str] = []

    def add(self, skill: Skill, line: str, checks: Iterable[Check]) -> None:
        """Count the figures of a sentence and note the wrong ones."""
        for is_right, truth in checks:
            self.figures += 1
            if not is_right:
                self.wrong.append(f"{skill.name}: {line}\n    by the records: {truth}")


# ── reading ──────────────────────────────────────────────────────────────────────────


def skills(vault: Path) -> Iterator[Skill]:
    """Yield the skills in skills/ that the program generated."""
    for path in sorted(vault.glob("skills/*/SKILL.md")):
        _, front, body = path.read_text(encoding="utf-8").split("---\n", 2)
        keys = yaml.safe_load(front)
        if keys.get("metadata", {}).get("origin") != "generated":
            continue
        folder = path.parent / "references"
        texts = [body, *(f.read_text(encoding="utf-8") for f in folder.glob("statements*.md"))]
        evidence = folder / "evidence.yaml"
        yield Skill(
            path.parent.name,
            keys,
            re.findall(r"^\*(.+)\*$", body, re.MULTILINE),
            [m[1] for text in texts for m in _ITEM.finditer(text)],
            re.findall(r"^\d+\. (.+)$", body, re.MULTILINE),
            load(evidence) if evidence.exists() else {},
            support_of(vault, path.parent.name),
        )


_ITEM = re.compile(r"^- (?:\[ \] )?(.+)$", re.MULTILINE)


def policy_of(vault: Path) -> dict[str, float]:
    """Return the bounds of a vault's own policy, or the defaults."""
    own = load(vault / "vault.yaml")
    evaluate, generate = own.get("evaluate") or {}, own.get("generate") or {}
    return {
        "peers": evaluate.get("peers", PEERS),
        "minutes": evaluate.get("episode_minutes", MINUTES),
        "loss": generate.get("warning_below", LOSS),
        "gain": generate.get("pattern_above", GAIN),
        "most": generate.get("strategy_max", MOST),
    }


def recount(vault: Path) -> Report:
    """Count every figure of a vault's skills again."""
    report, every, policy = Report(), entries(vault), policy_of(vault)
    for skill in skills(vault):
        if skill.evidence:
            _recount_account(report, skill, every, policy)
            continue
        of_domain = [e for e in every if e.domain == skill.front["metadata"].get("domain")]
        trusted = [e for e in of_domain if e.source.get("trust", "local") == "local"]
        scopes = _scopes(skill, trusted, policy)
        best = min((_read(skill, s) for s in scopes), key=lambda r: len(r.wrong), default=None)
        if best is None:
            report.wrong.append(f"{skill.name}: {skill.head}\n    by the records: no such outcomes")
            continue
        report.figures += best.figures
        report.wrong += best.wrong
        report.unread += best.unread
    return report


def _recount_account(
    report: Report, skill: Skill, every: Sequence[Entry], policy: dict[str, float]
) -> None:
    """Check each statement against the outcomes that its evidence names."""
    ids = set(skill.evidence["read"])
    read = [entry for entry in every if entry.id in ids]
    report.add(skill, "evidence", [(len(read) == len(ids), f"{len(read)} of them are there")])
    scope = Scope(read, every, policy, skill.support, {})
    for line in skill.head:
        _tell(report, skill, scope, line, _HEAD)
    stated = {one["statement"]: one for one in skill.evidence.get("statements") or ()}
    for line in skill.lines:
        if line not in stated:
            report.unread.append(f"{skill.name}: without evidence: {line}")
            continue
        check = _STATEMENTS[stated[line]["kind"]]
        report.add(skill, line, check(line, scope._replace(evidence=stated[line])))


def _scopes(skill: Skill, every: Sequence[Entry], policy: dict[str, float]) -> Iterator[Scope]:
    """Yield the outcomes that a text may count, by the number and the last day in its head."""
    head = " ".join(skill.head)
    if "memory fact" in head:
        yield Scope(every, every, policy, skill.support, {})
    elif m := re.search(
        r"From (\d+) outcomes?(?: on \d+ occasions?)? of (\S+)(?: to (\S+))?", head
    ):
        for last in (i for i, e in enumerate(every, 1) if e.day == (m[3] or m[2])):
            yield Scope(every[max(0, last - int(m[1])) : last], every, policy, skill.support, {})


def _read(skill: Skill, scope: Scope) -> Report:
    report = Report()
    for line in skill.head:
        _tell(report, skill, scope, line, _HEAD)
    for line in skill.lines:
        _tell(report, skill, scope, line, _LINES)
    for line in skill.facts:
        if match := _FACT.fullmatch(line):
            report.add(skill, line, _fact(match, scope))
    report.add(skill, "its facts", _sums(skill))
    return report


def _tell(report: Report, skill: Skill, scope: Scope, line: str, forms: "Forms") -> None:
    for pattern, check in forms:
        if match := pattern.fullmatch(line):
            report.add(skill, line, check(match, scope))
            return
    report.unread.append(f"{skill.name}: {line}")


# ── statements of accounts ───────────────────────────────────────────────────────────


def _deed(line: str, scope: Scope) -> Iterator[Check]:
    """Check the counts of a deed: its runs, and those that ended as it says."""
    runs = scope.behind("for", "against")
    yield bool(runs), "no outcome"
    if m := re.search(
        r"\((\d+) of (\d+) runs (failed|worked)(?:, (\S+) % on average)?(?:; later [^)]*.*)?\)\S?$",
        line,
    ):
        ended = [e for e in runs if e.status == _ENDED[m[3]]]
        yield ended == scope.behind("for"), f"{[e.id for e in ended]} {m[3]}"
        truth = (len(ended), len(runs))
        yield (int(m[1]), int(m[2])) == truth, f"{truth[0]} of {truth[1]}"
        scores = [e.score for e in runs if e.score is not None]
        average = percent(mean(scores)) if len(scores) == len(runs) else None
        yield m[4] == average, f"{average} % on average"


def _advice(line: str, scope: Scope) -> Iterator[Check]:
    runs = scope.behind("for")
    yield bool(runs), "no outcome"
    if m := re.search(r"lesson of (\d+) runs, (\d+) of which failed\)\.$", line):
        truth = (len(runs), sum(e.status == "failure" for e in runs))
        yield (int(m[1]), int(m[2])) == truth, f"{truth[0]} runs, {truth[1]} failed"


def _shared_tools(line: str, scope: Scope) -> Iterator[Check]:
    match = re.search(r"(\d+) of (\d+) that succeeded did, (\d+) of (\d+) that failed\.$", line)
    stated = tuple(map(int, match.groups())) if match else ()
    sides = (("for", "success"), ("against", "failure"))
    truth = tuple(
        count for side, status in sides
        for count in (len(scope.behind(side)), len(scope.ended(status)))
    )  # fmt: skip
    yield stated == truth, str(truth)
    for name in re.findall(r"`([^`]+)`", line):
        users = scope.behind("for", "against")
        yield all(_uses(entry, name) for entry in users), f"not all of them used {name}"


def _claimed(line: str, scope: Scope) -> Iterator[Check]:
    failed, claimed = scope.ended("failure"), scope.behind("for")
    match = re.search(r"(?:(\d+) of (\d+)|the one) that failed w", line)
    stated = (int(match[1] or 1), int(match[2] or 1)) if match else ()
    yield stated == (len(claimed), len(failed)), f"{len(claimed)} of {len(failed)}"


def _refused(line: str, scope: Scope) -> Iterator[Check]:
    """Check the refused answers: that many of the failures hold each value."""
    behind = scope.behind("for")
    yield all(e.status == "failure" for e in behind), "not all of them failed"
    for value, runs in re.findall(r"(?::|,) (\S.*?) \((\d+) runs?\)", line):
        holding = sum(_holds(entry, value) for entry in behind)
        yield int(runs) <= holding, f"{value}: {holding}"


def _greatest(line: str, scope: Scope) -> Iterator[Check]:
    """The greatest of so many losses or gains beyond the bound."""
    match = _EXTREME.match(line)
    if match is None:
        yield False, "in no known form"
        return
    sign = -1 if match["verb"] == "Lost" else 1
    beyond = scope.behind("for")
    bound = abs(scope.policy["loss" if sign < 0 else "gain"])
    yield all(sign * (e.score or 0) > bound for e in beyond), "not all are beyond the bound"
    yield int(match["such"] or 1) == len(beyond), f"{len(beyond)} such"
    best = max(beyond, key=lambda e: (sign * (e.score or 0), e.id))
    truth = f"{abs(best.score or 0) * 100:.1f} on {best.day}"
    yield f"{match['score']} on {match['day']}" == truth, truth
    unit = best.result.get("unit") or ""
    money = f"{digits(abs(best.amount))} {unit}".strip() if best.amount is not None else None
    yield match["money"] == money, f"{money}"


_EXTREME = re.compile(
    r"(?P<verb>Lost|Gained) (?P<score>[\d.]+) %(?: \((?P<money>-?[\d.].*?)\))?"
    rf" on (?P<day>{_DAY})(?: after [^,:]+)?(?:, the (?:worst|best) of (?P<such>\d+) such)?"
)


def _at_entry(line: str, scope: Scope) -> Iterator[Check]:
    (entry,) = scope.behind("for")
    rest = line.removeprefix("At entry: ").removesuffix(".")
    others = [e for e in scope.entries if {e.status, entry.status} == {"success", "failure"}]
    for key, value in entry.context.items():
        text = f"{shown(key.replace('_', ' '))} {_value(value)}"
        contrast = _contrast([other.context.get(key) for other in others])
        told = f"{text} ({contrast} where it {'failed' if entry.status == 'success' else 'worked'})"
        rest = rest.replace(told if told in rest else text, "", 1)
    size = entry.result.get("entry_value")
    if size is not None:
        rest = rest.replace(
            f"entry value {digits(size)} {entry.result.get('unit') or ''}".strip(), ""
        )
    yield not rest.strip("; "), f"not recorded: {rest}"


def _contrast(values: list[Any]) -> str:
    """The range of the numbers, or the names, that others had."""
    numbers = [value for value in values if isinstance(value, int | float)]
    if numbers:
        return " to ".join(map(_value, dict.fromkeys((min(numbers), max(numbers)))))
    return " or ".join(map(_value, dict.fromkeys(filter(None, values))))


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return digits(value) if isinstance(value, int | float) else shown(str(value))


def _dated(line: str, scope: Scope) -> Iterator[Check]:
    if not re.match(_DAY, line):
        yield from _balance(line, scope)
        return
    entry = max(scope.behind("for"), key=lambda one: one.ended)  # the latest of one deed
    ended = {"success": "worked", "failure": "failed", "neutral": "open"}[entry.status]
    yield line.startswith(f"{entry.day} {ended}: "), f"{entry.day} {ended}"


def _balance(line: str, scope: Scope) -> Iterator[Check]:
    """Check the sentence about how all tries of an action ended."""
    tries = scope.behind("for")
    won, lost = ([e for e in tries if e.status == status] for status in ("success", "failure"))
    parts = [f"{len(won)} of {len(won) + len(lost)} worked"] if won or lost else []
    for noun, ended in (("win", won), ("loss", lost)):
        scores = [e.score for e in ended if e.score is not None]
        parts += [f"average {noun} {percent(mean(scores))} %"] if scores else []
    neutral = len(tries) - len(won) - len(lost)
    parts += [f"{neutral} neutral"] if neutral else []
    truth = f"{shown(tries[0].action)}: {', '.join(parts)}."
    yield line == truth, truth
    yield tries == [e for e in scope.entries if e.action == tries[0].action], "not all tries"


def _separates(line: str, scope: Scope) -> Iterator[Check]:
    """Check the counts and ids of a rule or a lead against the outcomes that it read."""
    rule = scope.evidence["rule"]
    until, line = moment(rule["until"]), line.removeprefix(f"{shown(rule['action'])}: ")
    entries = [e for e in scope.entries if e.action == rule["action"]]
    window = [e for e in entries if e.ended <= until][-rule["read"] :]
    match = _RULE.fullmatch(line) or _LEAD.fullmatch(line)
    holds = _holding(match["clause"], window) if match else None
    if match is None or holds is None:
        yield False, "in no known form"
        return
    tally = _tally(window, holds, rule["result"], scope)
    stated = tuple(int(match[name]) for name in ("k", "n", "ok", "on"))
    yield stated[:2] == tally.met, f"met {tally.met}"
    yield stated[2:] in tally.others, f"otherwise {tally.others}"
    yield int(match["episodes"] or stated[0]) == tally.episodes, f"{tally.episodes} episodes"
    ids = tuple(
        len(scope.behind(name)) for name in ("for", "against", "others_for", "others_against")
    )
    met, others = (ids[0], ids[0] + ids[1]), (ids[2], ids[2] + ids[3])
    yield (*met, *others) == stated, f"by the evidence {met} and {others}"


def _far_out(line: str, scope: Scope) -> Iterator[Check]:
    match = _OUTLIER.fullmatch(line)
    if match is None:
        yield False, "in no known form"
    else:
        yield from _outlier(match, scope)


_STATEMENTS: Mapping[str, Callable[[str, Scope], Iterator[Check]]] = {
    "rule": _separates, "lesson": _advice, "worked": _deed, "failed": _deed, "tools": _shared_tools,
    "claimed": _claimed, "answers": _refused, "entry": _at_entry, "extreme": _greatest,
    "outlier": _far_out, "tried": _dated,
}  # fmt: skip


# ── heads ──────────────────────────────────────────────────────────────────────────────


def _no_figure(_match: re.Match[str], _scope: Scope) -> Iterator[Check]:
    yield from ()


def _as_of(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    yield int(match["count"]) == len(scope.entries), f"{len(scope.entries)} outcomes"
    yield match["day"] == scope.entries[-1].day, scope.entries[-1].day
    yield _same_episodes(match["episodes"], scope.entries, scope)


def _same_episodes(stated: str | None, of: Sequence[Entry], scope: Scope) -> Check:
    count = len(set(episodes(of, int(scope.policy["minutes"])).values()))
    return int(stated or len(of)) == count, f"{count} episodes"


def _results(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    won, lost = scope.ended("success"), scope.ended("failure")
    yield int(match["won"]) == len(won), f"{len(won)} won"
    yield int(match["of"]) == len(scope.entries), f"of {len(scope.entries)}"
    rate = f"{len(won) / len(scope.entries) * 100:.0f}"
    yield match["rate"] == rate, f"{rate} %"
    for name, members in (("win", won), ("loss", lost)):
        scores = [e.score for e in members if e.score is not None]
        if scores or match[name]:
            truth = percent(mean(scores)) if scores else "none"
            yield match[name] == truth, f"average {name} {truth}"
    neutral = len(scope.entries) - len(won) - len(lost)
    yield int(match["neutral"] or 0) == neutral, f"{neutral} neutral"


def percent(fraction: float) -> str:
    """A signed percentage with one decimal."""
    return f"{fraction * 100:+.1f}"


# ── rules ──────────────────────────────────────────────────────────────────────────────


def _ended_so(result: str) -> Callable[[Entry], bool]:
    if beyond := re.fullmatch(r"(losses|gains) beyond ([\d.]+) %", result):
        bound, sign = float(beyond[2]) / 100, -1 if beyond[1] == "losses" else 1
        return lambda e: e.score is not None and sign * e.score > bound
    status = "failure" if result in ("losses", "failures") else "success"
    return lambda e: e.status == status


def _rule(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    """Check all counts of an action's rule against the outcomes that it names."""
    holds = conditions(match["clause"])
    if holds is None:
        yield False, f"the clause {match['clause']!r} is in no known form"
        return
    entries_of = _of_action(match["action"], scope)
    if match["read"]:
        windows = _windows(entries_of, match["until"], int(match["read"]), scope)
    else:
        windows = [[e for e in scope.entries if e in entries_of]]
    tallies = [_tally(window, holds, match["result"], scope) for window in windows]
    stated = tuple(int(match[name]) for name in ("k", "n"))
    other = tuple(int(match[name]) for name in ("ok", "on"))
    fits = [t for t in tallies if t.met == stated and other in t.others]
    truth = [(t.met, t.others) for t in tallies]
    yield bool(fits), f"met and otherwise {truth}"
    if fits:
        wanted = int(match["episodes"] or stated[0])
        yield any(t.episodes == wanted for t in fits), f"{[t.episodes for t in fits]} episodes"
        if match["lk"]:
            late = (int(match["lk"]), int(match["ln"]))
            yield any(t.late == late for t in fits), f"later half {[t.late for t in fits]}"


def _holding(clause: str, of: Sequence[Entry]) -> list[Holds] | None:
    return lead_condition(clause, of) or conditions(clause)


def _told_lead(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    """Check a strategy's lead of an action against any point of the action's outcomes."""
    of = _of_action(match["action"], scope)
    holds = _holding(match["clause"], of)
    stated = tuple(int(match[name]) for name in ("k", "n", "ok", "on"))
    windows = (of[max(0, n - int(scope.policy["peers"])) : n] for n in range(len(of), 0, -1))
    tallies = (_tally(window, holds or (), "failures", scope) for window in windows)
    fits = any(t.met == stated[:2] and stated[2:] in t.others for t in tallies)
    yield holds is not None and fits, "as of no outcome of its action"


class _Tally(NamedTuple):
    met: tuple[int, int]
    others: set[tuple[int, int]]
    episodes: int
    late: tuple[int, int]


def _tally(window: Sequence[Entry], holds: Sequence[Holds], result: str, scope: Scope) -> _Tally:
    is_so = _ended_so(result)
    answers = [[hold(entry) for hold in holds] for entry in window]
    met = [e for e, a in zip(window, answers, strict=True) if all(a)]
    known = [e for e, a in zip(window, answers, strict=True) if None not in a and not all(a)]
    unmet = [e for e, a in zip(window, answers, strict=True) if False in a]
    numbers = episodes(window, int(scope.policy["minutes"]))
    ids = {e.id for e in window[len(window) // 2 :]}
    late = [e for e in met if e.id in ids]
    return _Tally(
        (sum(map(is_so, met)), len(met)),
        {(sum(map(is_so, of)), len(of)) for of in (known, unmet)},
        len({numbers[e.id] for e in met if is_so(e)}),
        (sum(map(is_so, late)), len(late)),
    )


def _of_action(action: str | None, scope: Scope) -> list[Entry]:
    names = {shown(e.action, 40): e.action for e in scope.entries}
    name = names.get((action or "").strip(), scope.entries[0].action)
    return [e for e in scope.every if e.action == name]


def _windows(of: Sequence[Entry], day: str, count: int | None, scope: Scope) -> list[list[Entry]]:
    """Return the latest outcomes of an action up to each outcome that ended on a day."""
    ends = [place for place, entry in enumerate(of, 1) if entry.day == day]
    return [list(of[max(0, end - (count or int(scope.policy["peers"]))) : end]) for end in ends]


def _outlier(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    """Check that a value of that day is far from those of its action's other outcomes."""
    truths: list[str] = []
    for entry in (e for e in scope.entries if e.day == match["day"]):
        peers = [e for e in scope.entries if e.action == entry.action and e.id != entry.id]
        values = sorted(v for e in peers if (v := _number(e, match["key"])) is not None)
        own = _number(entry, match["key"])
        if own is not None and len(values) > 1:
            low, high = (_quantile(values, part) for part in (0.25, 0.75))
            truths.append(f"{digits(own)} {len(values)} {digits(low)} {digits(high)}")
    stated = " ".join(match[name] for name in ("value", "of", "low", "high"))
    yield stated in truths, str(truths)


def _number(entry: Entry, key: str) -> float | None:
    named = {shown(name): value for name, value in entry.context.items()}
    value = named.get(key, entry.result.get("entry_value") if key == "size" else None)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and value is not None else None


def _quantile(values: Sequence[float], part: float) -> float:
    place = part * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)


def _uses(entry: Entry, name: str) -> bool:
    if name in (entry.data.get("applied") or ()):
        return True
    task = f"{entry.decision.get('task') or ''} {entry.action} {entry.target or ''}".casefold()
    bare = re.search(rf"(?<![\w.`/]){re.escape(name)}(?![\w])", entry.reasoning)
    in_marks = f"`{name}`" in entry.reasoning
    is_bare = bool(re.search(r"\.(?:py|sh|js)$|/", name)) and bare is not None
    return (in_marks or is_bare) and name.casefold() not in task


def _holds(entry: Entry, value: str) -> bool:
    figure = number(value.rstrip("%"))
    return figure in entry.figures if figure else folded(value) in entry.words


# ── strategies ─────────────────────────────────────────────────────────────────────────


def _came_to(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    of = [e for e in scope.entries if shown(e.action, 40) == match["action"]]
    yield int(match["count"]) == len(of), f"{len(of)} decisions"
    for total, unit, some in re.findall(r", ([+-]?[\d.e+]+) ?(.*?) together(?: of (\d+))?",
                                        match["sums"]):  # fmt: skip
        amounts = [e.amount for e in of if e.amount is not None
                   and shown(e.result.get("unit") or "", 20) == unit]  # fmt: skip
        truth = f"{'+' if sum(amounts) > 0 else ''}{digits(sum(amounts))}"
        yield total == truth, f"{truth} {unit}"
        yield int(some or len(of)) == len(amounts), f"of {len(amounts)}"
    scores = [e.score for e in of if e.score is not None]
    if scores or match["mean"]:
        truth = percent(mean(scores)) if scores else "none"
        yield match["mean"] == truth, f"{truth} % on average"
        yield int(match["some"] or len(of)) == len(scores), f"of {len(scores)}"


def _succeeded(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    for action, k, n in re.findall(r"(?:^|, )(.+?) (\d+) of (\d+)", match["rates"]):
        of = [e for e in scope.entries if shown(e.action, 40) == action]
        won = sum(e.status == "success" for e in of)
        yield (int(k), int(n)) == (won, len(of)), f"{action} {won} of {len(of)}"


# ── skills of facts ────────────────────────────────────────────────────────────────────


def _origin(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    """Check the counts of runs behind facts by the links to these facts."""
    if match["n"]:
        against = int(match["against"] or 0)
        point = sorted(scope.support.runs)[: int(match["n"]) + against]
        runs = [e for e in scope.every if e.id in point and scope.support.runs[e.id]]
        yield int(match["n"]) == len(runs), f"{len(runs)} runs"
        yield against == len(point) - len(runs), f"{len(point) - len(runs)} against it"
        yield from _of_runs(match, runs)
    if match["written"]:
        stated, truth = (int(match["written"]), int(match["facts"])), scope.support
        yield stated == (truth.written, truth.facts), f"{truth.written} of {truth.facts} written"


def _of_runs(match: re.Match[str], runs: Sequence[Entry]) -> Iterator[Check]:
    ends = Counter(entry.status for entry in runs)
    words = {"succeeded": "success", "failed": "failure"}
    pairs = re.findall(r"(\d+) (\w+)", match["counts"])
    counts = {words.get(name, name): int(count) for count, name in pairs}
    yield counts == ends, str(dict(ends))
    sessions = len({entry.session for entry in runs})
    yield int(match["sessions"]) == sessions, f"{sessions} sessions"
    days = (runs[0].day, runs[-1].day) if runs else ("", "")
    yield (match["first"], match["last"] or match["first"]) == days, f"{days[0]} to {days[1]}"
    about = Counter(entry.about for entry in runs)
    names = dict(re.findall(r"(?:^|, | and )(.+?) \((\d+)\)", match["names"]))
    yield len(names) == min(len(about), _NAMED), f"{len(about)} subjects"
    yield all(about[name] == int(count) for name, count in names.items()), str(dict(about))


def _sums(skill: Skill) -> Iterator[Check]:
    """Check that the head states the number of listed facts."""
    if stated := re.search(r"From (\d+) memory", "\n".join(skill.head)):
        yield int(stated[1]) == len(skill.facts), f"{len(skill.facts)} facts are listed"


def _fact(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    """Check that the score of a fact is that of an outcome of its subject."""
    about = [e for e in scope.every if e.about.casefold() in match[0].casefold()]
    truths = {percent(e.score) for e in about if e.score is not None}
    yield match["score"] in truths, f"{sorted(truths)}"


Forms = Sequence[tuple[re.Pattern[str], Callable[[re.Match[str], Scope], Iterator[Check]]]]
_RISK = (
    r"then (?P<k>\d+) of (?P<n>\d+) were (?P<result>.+?)(?: \(on (?P<episodes>\d+) occasions?\))?"
    r"(?:, in the later half (?P<lk>\d+) of (?P<ln>\d+))?, otherwise (?P<ok>\d+) of (?P<on>\d+)"
    r"(?: \(of the (?P<read>\d+) outcomes to (?P<until>\S+)\))?\."
)
_OUTCOMES = r"(?P<count>\d+) outcomes?(?: on (?P<episodes>\d+) occasions?)?"
_RULE = re.compile(rf"(?P<clause>(?:When|With) .+): {_RISK}")
_LEADS = (
    r"Lead: (?P<clause>with .+?),? (?P<k>\d+) of (?P<n>\d+) failed"
    r"(?: \(on (?P<episodes>\d+) occasions?\))?, otherwise (?P<ok>\d+) of (?P<on>\d+)\."
)
_LEAD = re.compile(_LEADS)
_OUTLIER = re.compile(
    r"What stood out on (?P<day>\S+): (?P<key>.+) (?P<value>\S+), where the middle half "
    r"of (?P<of>\d+) others had (?P<low>\S+) to (?P<high>\S+); it need not be the cause\."
)


def _forms(table: Sequence[tuple[str, Any]]) -> Forms:
    return [(re.compile(pattern, re.IGNORECASE | re.DOTALL), check) for pattern, check in table]


_HEAD = _forms((
    (r"Domain: .+|More: references/.+", _no_figure),
    (rf"(?:.+: )?{_OUTCOMES}, (?:the last )?on (?P<day>\S+)", _as_of),
    (rf"From {_OUTCOMES} of (?:\S+ to )?(?P<day>\S+)", _as_of),
    ((r"(?:Win|Success) rate (?P<rate>\d+) % \((?P<won>\d+) of (?P<of>\d+)\)"
     r"(?:; average win (?P<win>\S+) %)?(?:; average loss (?P<loss>\S+) %)?"
     r"(?:; (?P<neutral>\d+) neutral)?"), _results),
    (r"From \d+ memory facts?(?:, .+)?", _no_figure),
))  # fmt: skip
# What was learned of one outcome, told by its score.
_FACT = re.compile(r".+ ended at (?P<score>[+-][\d.]+) %(?: \(.+)?[:.)]?.*")
_LINES = _forms((
    (rf"(?P<action>.*?)(?P<clause>\b(?:when|with) .+): {_RISK}", _rule),
    (rf"(?:(?P<action>\S+): )?{_LEADS}", _told_lead),
    (_OUTLIER.pattern, _outlier),
    ((r"(?P<action>.+): (?P<count>\d+) decisions?(?P<sums>(?:, \S+ ?.*? together(?: of \d+)?)*)"
     r"(?:, (?P<mean>[+-][\d.]+) % on average(?: of (?P<some>\d+))?)?\."), _came_to),
    (r"Succeeded: (?P<rates>.+)\.", _succeeded),
    ((r"(?:Carry out the announced step|Do not give|Find a way to check first|Name the way out"
     r"|Settle this|Test [\"“]|Supposed: ).+"), _no_figure),
    ((rf"(?=\d)(?:(?P<n>\d+) runs? \((?P<counts>[^)]+)\) in (?P<sessions>\d+) sessions?, "
     rf"(?P<first>{_DAY})(?: to (?P<last>{_DAY}))?; (?P<names>.+?)"
     r"(?:; (?P<against>\d+) runs? against it)?)?"
     r"(?:(?:; )?(?P<written>\d+) of (?P<facts>\d+) facts written by a person)?\."), _origin),
))  # fmt: skip


def main(vault: Path) -> int:
    """Print what is wrong; 1 if anything is."""
    report = recount(vault)
    for title, lines in (("wrong", report.wrong), ("unread", report.unread)):
        for line in lines:
            print(f"{title}: {line}")
    print(f"{report.figures} figures, {len(report.wrong)} wrong, {len(report.unread)} unread")
    return 1 if report.wrong or report.unread else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
