"""Every figure of a vault's served skills, counted again from its outcomes.

    python bench/quality/recount.py VAULT

Reads the files of the outcomes, of a skill of facts also its links and facts, and the texts in
skills/ alone, by nothing of the program's. Prints how many figures it counted, which are wrong,
what it could not read, and the counts that rest on likeness: more than say it word for word. Ends
with 1 if a figure is wrong or a sentence unread.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
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
    load,
    masked,
    number,
    shown,
    support_of,
    texts_in,
)

Check = tuple[bool, str]  # whether a figure is right, and what it is by the records
LEDGER = "sources.md"
PEERS, MOST = 200, 200  # the latest outcomes that a rule, and a strategy, look at by default
MINUTES = 10
LOSS, GAIN = -0.1, 0.2
_NAMED = 5  # subjects of the runs that stand behind facts
_DAY = r"\d{4}-\d\d-\d\d"
_SPAN = r"\d+ (?:seconds|minutes?|hours|days)"
_OTHER = {"failed": "success", "succeeded": "failure"}
_STATUS = {"failed": "failure", "succeeded": "success"}


class Skill(NamedTuple):
    """A served text: the front matter, the lines of its head, its statements, its facts.

    `subjects` are those that an evolved skill stands for, `support` what a skill of facts rests on.
    """

    name: str
    front: dict[str, Any]
    head: list[str]
    lines: list[str]
    facts: list[str]
    subjects: list[str]
    support: Support

    @property
    def meta(self) -> dict[str, Any]:
        """The program's own keys."""
        meta: dict[str, Any] = self.front["metadata"]
        return meta


class Scope(NamedTuple):
    """What a skill counts: these outcomes, oldest first, of those of the vault."""

    entries: Sequence[Entry]
    every: Sequence[Entry]
    policy: dict[str, float]
    support: Support

    def ended(self, status: str) -> list[Entry]:
        """Those that ended so."""
        return [entry for entry in self.entries if entry.status == status]


class Report:
    """What was counted of a vault."""

    def __init__(self) -> None:
        self.figures = 0
        self.wrong: list[str] = []
        self.unread: list[str] = []
        self.alike: list[str] = []

    def add(self, skill: Skill, line: str, checks: Iterable[Check]) -> None:
        """Count what a sentence says."""
        for is_right, truth in checks:
            self.figures += 1
            if not is_right:
                self.wrong.append(f"{skill.name}: {line}\n    by the records: {truth}")
            elif truth.startswith("likeness"):
                self.alike.append(f"{skill.name}: {line} ({truth})")


# ── reading ──────────────────────────────────────────────────────────────────────────


def skills(vault: Path) -> Iterator[Skill]:
    """The program's own texts in skills/."""
    for path in sorted(vault.glob("skills/*/SKILL.md")):
        _, front, body = path.read_text(encoding="utf-8").split("---\n", 2)
        keys = yaml.safe_load(front)
        if keys.get("metadata", {}).get("origin") == "generated":
            files = sorted(path.parent.glob("references/*.md"))
            texts = [body, *(f.read_text(encoding="utf-8") for f in files if f.name != LEDGER)]
            ledger = path.parent / "references" / LEDGER
            names = ledger.read_text(encoding="utf-8") if ledger.exists() else ""
            yield Skill(
                path.parent.name,
                keys,
                re.findall(r"^\*(.+)\*$", body, re.MULTILINE),
                [m[1] for text in texts for m in _ITEM.finditer(text)],
                re.findall(r"^\d+\. (.+)$", body, re.MULTILINE),
                re.findall(r"^## (.+)$", names, re.MULTILINE),
                support_of(vault, path.parent.name),
            )


_ITEM = re.compile(r"^- (?:\[ \] )?(.+)$", re.MULTILINE)


def policy_of(vault: Path) -> dict[str, float]:
    """The bounds that a vault sets itself."""
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
    """Count every figure of a vault's skills."""
    report, every, policy = Report(), entries(vault), policy_of(vault)
    for skill in skills(vault):
        trust = skill.meta.get("trust", "local")
        of_domain = [e for e in every if e.domain == skill.meta.get("domain")]
        seen = [e for e in of_domain if e.source.get("trust", "local") == trust]
        best = min((_read(skill, scope) for scope in _scopes(skill, seen, policy)),
                   key=lambda r: len(r.wrong), default=None)  # fmt: skip
        if best is None:
            report.wrong.append(f"{skill.name}: {skill.head}\n    by the records: no such outcomes")
            continue
        report.figures += best.figures
        report.wrong += best.wrong
        report.unread += best.unread
        report.alike += best.alike
    return report


def _scopes(skill: Skill, every: Sequence[Entry], policy: dict[str, float]) -> Iterator[Scope]:
    """Of which outcomes a text may be: its head says how many, and when the last one ended."""
    head = " ".join(skill.head)
    if "memory fact" in head:
        yield Scope(every, every, policy, skill.support)
        return
    if m := re.search(r"From (\d+) outcomes?(?: in \d+ episodes?)? of (\S+)(?: to (\S+))?", head):
        for last in (i for i, e in enumerate(every, 1) if e.day == (m[3] or m[2])):
            yield Scope(every[max(0, last - int(m[1])) : last], every, policy, skill.support)
        return
    if m := re.search(r"[Aa]s of (\d+) outcomes?(?: in \d+ episodes?)?, (\d{4}-\d\d-\d\d)", head):
        own = [e for e in every if _is_about(e, skill)][: int(m[1])]
        if len(own) == int(m[1]) and own[-1].day == m[2]:
            yield Scope(own, every, policy, skill.support)


def _is_about(entry: Entry, skill: Skill) -> bool:
    if skill.meta["kind"] == "evolved":
        return entry.about in skill.subjects
    parts = [p for p in (entry.domain, entry.action, entry.target) if p]
    plain = " / ".join(" ".join(part.split()).replace("/", "//") for part in parts)
    return bool(re.fullmatch(rf"{re.escape(plain)}(?: #[0-9a-f]+)?", skill.meta["subject"]))


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
    rest = skill.front["description"].replace("[ ] ", "")
    for line in sorted(skill.lines, key=len, reverse=True):
        rest = rest.replace(line.translate(str.maketrans("<>", "‹›")), "")
    if re.search(r"\d of \d|\d %", re.sub(r"^Use [^.]*(?:\.\w[^.]*)*\.(?: |$)", "", rest)):
        report.unread.append(f"{skill.name}: description: {rest.strip()}")
    return report


def _tell(report: Report, skill: Skill, scope: Scope, line: str, forms: "Forms") -> None:
    for pattern, check in forms:
        if match := pattern.fullmatch(line):
            report.add(skill, line, check(match, scope))
            return
    report.unread.append(f"{skill.name}: {line}")


# ── heads ────────────────────────────────────────────────────────────────────────────


def _no_figure(_match: re.Match[str], _scope: Scope) -> Iterator[Check]:
    yield from ()


def _as_of(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    """Scopes are chosen by count and date: both are right here."""
    yield True, "outcomes"
    yield True, "date"
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


# ── rules ────────────────────────────────────────────────────────────────────────────


def _ended_so(result: str) -> Callable[[Entry], bool]:
    if beyond := re.fullmatch(r"(losses|gains) beyond ([\d.]+) %", result):
        bound, sign = float(beyond[2]) / 100, -1 if beyond[1] == "losses" else 1
        return lambda e: e.score is not None and sign * e.score > bound
    status = "failure" if result in ("losses", "failures") else "success"
    return lambda e: e.status == status


def _rule(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    """A rule of an action with all its counts, as of the outcomes that it names."""
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
    """The latest outcomes of an action to a day, of which only the day is told."""
    ends = [place for place, entry in enumerate(of, 1) if entry.day == day]
    return [list(of[max(0, end - (count or int(scope.policy["peers"]))) : end]) for end in ends]


def _own_rule(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    holds = conditions(match["clause"])
    if holds is None:
        yield False, f"the clause {match['clause']!r} is in no known form"
        return
    tallies = [
        _tally(window, holds, match["result"], scope)
        for window in _windows(_of_action(None, scope), match["until"], None, scope)
    ]
    met = (int(match["k"]), int(match["n"]))
    yield any(t.met == met for t in tallies), f"of the action's {[t.met for t in tallies]}"
    own = _tally(scope.entries, holds, match["result"], scope).met
    yield own == (int(match["ok"]), int(match["on"])), f"here {own}"


# ── losses, gains and what stood out ─────────────────────────────────────────────────


def _extreme(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    sign = -1 if match["verb"] == "Lost" else 1
    bound = abs(scope.policy["loss" if sign < 0 else "gain"])
    beyond = [e for e in scope.entries if e.score is not None and sign * e.score > bound]
    best = max((sign * e.score for e in beyond if e.score is not None), default=0.0)
    yield match["score"] == f"{best * 100:.1f}", f"{best * 100:.1f} %"
    yield int(match["such"] or 1) == len(beyond), f"{len(beyond)} such"
    greatest = [e for e in beyond if e.score is not None and sign * e.score == best]
    latest = greatest[-1:]  # of equal ones
    yield any(_fits_extreme(e, match) for e in latest), str([_shape(e) for e in latest])
    if match["all"]:
        alike = sum(_ends_like(e, match["reason"]) for e in beyond)
        yield alike == len(beyond), f"{alike} of {len(beyond)} ended so"


def _fits_extreme(entry: Entry, match: re.Match[str]) -> bool:
    money = (
        f"{digits(abs(entry.amount))} {entry.result.get('unit') or ''}".strip()
        if (entry.amount is not None)
        else None
    )
    reason = folded(match["reason"] or "")
    return (match["money"], match["day"], match["span"]) == (
        money, entry.day, held(entry),
    ) and reason in entry.words  # fmt: skip


def _shape(entry: Entry) -> str:
    return f"{entry.score} {entry.amount} {entry.day} {held(entry)}"


def held(entry: Entry) -> str | None:
    """How long it took, in words."""
    seconds = (entry.ended - entry.made).total_seconds() if entry.made else 0.0
    return span(seconds) if seconds >= 1 else None


def span(seconds: float) -> str:
    """A time in words."""
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    minutes = round(seconds / 60)
    if minutes >= 2880:
        return f"{round(minutes / 1440)} days"
    if minutes >= 120:
        return f"{round(minutes / 60)} hours"
    return f"{minutes} minute{'s' * (minutes != 1)}"


def _outlier(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    """A value far from its peers': of some outcome of that day, among those of its action."""
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


def _entry_values(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    (entry,) = scope.entries[:1]
    values = {shown(k): v for k, v in entry.context.items() if v not in (None, "")}
    size = entry.result.get("entry_value")
    unit = entry.result.get("unit") or ""
    true = {f"{key} {_value(value)}" for key, value in values.items()}
    true |= {f"entry value {digits(size)} {unit}".strip()} if size is not None else set()
    listed = "; ".join(sorted(true))
    rest = match["values"]
    for value in sorted(true, key=len, reverse=True):
        rest = rest.replace(value, "", 1)
    yield not rest.strip("; "), listed


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return digits(value) if isinstance(value, int | float) else shown(str(value))


# ── causes ───────────────────────────────────────────────────────────────────────────


def _cause(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    """A count of those that ended so: no fewer than say it word for word, no more than there are.

    Of what outcomes have in common by its kind alone nothing is told word for word.
    """
    groups = match.groupdict()
    quote = folded(groups.get("quote") or "")
    verb = groups.get("verb")
    if verb is None:
        verb = "failed" if len(scope.ended("failure")) == 1 else "succeeded"
        yield len(scope.ended(_STATUS[verb])) == 1, "told as of one outcome alone"
    of = scope.ended(_STATUS[verb])
    k, n = int(groups.get("k") or 1), int(groups.get("n") or 1)
    yield n == len(of), f"of {len(of)} that {verb}"
    yield from _between(k, [e for e in of if quote and _says(e, quote)], len(of))
    if groups.get("m"):
        others = scope.ended(_OTHER[verb])
        yield int(groups["m"]) == len(others), f"of {len(others)} others"
        said = [e for e in others if quote and _says(e, quote)]
        yield from _between(int(groups.get("a") or 0), said, len(others))


def _between(count: int, word_for_word: Sequence[Entry], most: int) -> Iterator[Check]:
    least = len(word_for_word)
    truth = f"{least} word for word, {most} in all"
    yield least <= count <= most, truth if count == least else f"likeness: {truth}"


def _says(entry: Entry, quote: str) -> bool:
    return f" {quote} " in f" {entry.words} "


def _ended_like(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    """A count of those that failed with a message, but for paths, numbers, ids and quoted names."""
    failed = scope.ended("failure")
    alike = [e for e in failed if _ends_like(e, match["quote"])]
    stated = (int(match["k"] or 1), int(match["n"] or 1))
    yield stated == (len(alike), len(failed)), f"{len(alike)} of {len(failed)} that failed"


def _ends_like(entry: Entry, message: str) -> bool:
    if _says(entry, folded(message)):
        return True
    words = masked(message)
    lines = (line for text in texts_in(entry.data) for line in text.splitlines())
    return bool(words) and any(f" {words} " in f" {masked(line)} " for line in lines)


def _tellers(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    """How many of each end say it, in whatever words."""
    quote = folded(match["quote"])
    for verb, count in ((match["verb"], match["k"]), (_OTHER[match["verb"]], match["a"])):
        of = scope.ended(_STATUS.get(verb, verb))
        yield from _between(int(count or 0), [e for e in of if _says(e, quote)], len(of))


def _claimed(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    """What was reported and refused stands in one that failed."""
    quote = folded(match["quote"])
    yield any(_says(e, quote) for e in scope.ended("failure")), "in none that failed"


def _lesson(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    of = scope.ended(_STATUS[match["verb"]])
    yield int(match["n"] or 1) == len(of), f"of {len(of)}"
    words = folded(match["quote"])
    same = [e for e in of if words.startswith(folded(_lesson_of(e))[: len(words)] or " ")]
    yield from _between(int(match["k"] or 1), same, len(of))


def _lesson_of(entry: Entry) -> str:
    lesson = entry.data.get("lesson") or {}
    parts = (("when ", "when"), ("", "do"), ("because ", "because"))
    return ", ".join(lead + lesson[key] for lead, key in parts if lesson.get(key))


def _tools(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    names = re.findall(r"`([^`]+)`", match["names"])
    for name in names:
        for status, k, n in (("success", "k", "n"), ("failure", "fk", "fn")):
            of = scope.ended(status)
            used = sum(_uses(entry, name) for entry in of)
            truth = f"{used} of {len(of)} {status} used {name}"
            yield (int(match[k]), int(match[n])) == (used, len(of)), truth


def _uses(entry: Entry, name: str) -> bool:
    if name in (entry.data.get("applied") or ()):
        return True
    task = f"{entry.decision.get('task') or ''} {entry.action} {entry.target or ''}".casefold()
    bare = re.search(rf"(?<![\w.`/]){re.escape(name)}(?![\w])", entry.reasoning)
    in_marks = f"`{name}`" in entry.reasoning
    is_bare = bool(re.search(r"\.(?:py|sh|js)$|/", name)) and bare is not None
    return (in_marks or is_bare) and name.casefold() not in task


def _refused(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    """Refused answers: so many failures of the task hold the value, and none more gave it."""
    failed = [e for e in scope.ended("failure") if _is_of_task(e, match["task"])]
    for value, runs in re.findall(r"(?:^|, )(.+?) \((\d+) runs?\)", match["answers"]):
        holding = sum(_holds(entry, value) for entry in failed)
        given = sum(_answer(entry) == (number(value.rstrip("%")) or value) for entry in failed)
        truth = f"{value}: between {given} and {holding}"
        yield given <= int(runs) <= holding, truth
        won = [e for e in scope.ended("success") if _is_of_task(e, match["task"])]
        accepted = [e for e in won if _answer(e) == (number(value.rstrip("%")) or value)]
        yield not accepted, f"{value} was accepted"


def _is_of_task(entry: Entry, task: str) -> bool:
    own = folded(entry.decision.get("task") or "")
    if task.startswith("“"):
        return own.startswith(folded(task))
    return task == "this task" or not own


def _answer(entry: Entry) -> str:
    answer = str(entry.result.get("answer") or "").strip()
    return number(answer.rstrip("%").strip()) or " ".join(answer.split())


def _holds(entry: Entry, value: str) -> bool:
    figure = number(value.rstrip("%"))
    return figure in entry.figures if figure else folded(value) in entry.words


# ── strategies and evolved skills ────────────────────────────────────────────────────


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


def _shared(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    failed = len(scope.ended("failure"))
    yield int(match["n"]) == failed, f"of {failed} that failed"
    yield int(match["k"]) <= failed, f"likeness: at most {failed}"


def _stands_for(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    count = len({entry.about for entry in scope.entries})
    yield int(match["count"]) == count, f"{count} subjects"


def _applies(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    """Before which decisions an evolved skill speaks, and how many of them ended so."""
    count = len(scope.ended("failure" if match["how"] == "failed or lost" else "success"))
    truth = f"{count} of {len(scope.entries)}"
    yield (int(match["k"]), int(match["n"])) == (count, len(scope.entries)), truth
    for about in match["about"].split("; "):
        if more := re.fullmatch(r"(?P<action>.+?) on (?P<names>.+) and (?P<more>\d+) more", about):
            of = (e for e in scope.entries if shown(e.action) == more["action"])
            left = len({e.target for e in of}) - more["names"].count(", ") - 1
            yield int(more["more"]) == left, f"{left} more"


# ── skills of facts ──────────────────────────────────────────────────────────────────


def _origin(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    """The runs that stand behind facts, by the links that lead to these."""
    if match["n"]:
        against = int(match["against"] or 0)
        point = sorted(scope.support.runs)[: int(match["n"]) + against]
        runs = [e for e in scope.every if e.id in point and scope.support.runs[e.id]]
        yield int(match["n"]) == len(runs), f"{len(runs)} evaluations"
        yield against == len(point) - len(runs), f"{len(point) - len(runs)} against it"
        yield from _of_runs(match, runs)
    if match["written"]:
        stated, truth = (int(match["written"]), int(match["facts"])), scope.support
        yield stated == (truth.written, truth.facts), f"{truth.written} of {truth.facts} written"


def _of_runs(match: re.Match[str], runs: Sequence[Entry]) -> Iterator[Check]:
    ends = Counter(entry.status for entry in runs)
    counts = {name: int(count) for count, name in re.findall(r"(\d+) (\w+)", match["counts"])}
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
    """As many facts as are listed."""
    if stated := re.search(r"From (\d+) memory", "\n".join(skill.head)):
        yield int(stated[1]) == len(skill.facts), f"{len(skill.facts)} facts are listed"


def _fact(match: re.Match[str], scope: Scope) -> Iterator[Check]:
    """An insight of one outcome: its score and its words are one outcome's."""
    about = [e for e in scope.every if e.about.casefold() in match[0].casefold()]
    truths = {percent(e.score) for e in about if e.score is not None}
    yield match["score"] in truths, f"{sorted(truths)}"


Forms = Sequence[tuple[re.Pattern[str], Callable[[re.Match[str], Scope], Iterator[Check]]]]


_C = (
    r"(?:(?P<k>\d+) of (?P<n>\d+) that|[Tt]he one that) (?P<verb>failed|succeeded)"
    r"(?: and (?P<a>\d+) of (?P<m>\d+) that (?:failed|succeeded))?"
)
_T = r"(?P<k>\d+) that (?P<verb>failed|succeeded)(?: and (?P<a>\d+) that (?:failed|succeeded))?"
_R = r"(?:; report)?"
_Q = r"“(?P<quote>[^”]*)”"
_B = rf"(?: \({_C}{_R}\))?"
_RISK = (
    r"then (?P<k>\d+) of (?P<n>\d+) were (?P<result>.+?)(?: \(in (?P<episodes>\d+) episodes?\))?"
    r"(?:, in the later half (?P<lk>\d+) of (?P<ln>\d+))?, otherwise (?P<ok>\d+) of (?P<on>\d+)"
    r"(?: \(of the (?P<read>\d+) outcomes to (?P<until>\S+)\))?\."
)


def _forms(table: Sequence[tuple[str, Any]]) -> Forms:
    return [(re.compile(pattern, re.IGNORECASE | re.DOTALL), check) for pattern, check in table]


_HEAD = _forms((
    (r"Domain: .+|More: references/.+", _no_figure),
    (r"(?:.+, )?as of \d+ outcomes?(?: in (?P<episodes>\d+) episodes?)?, \S+", _as_of),
    (r"From \d+ outcomes?(?: in (?P<episodes>\d+) episodes?)? of .+", _as_of),
    ((r"(?:Win|Success) rate (?P<rate>\d+) % \((?P<won>\d+) of (?P<of>\d+)\)"
     r"(?:; average win (?P<win>\S+) %)?(?:; average loss (?P<loss>\S+) %)?"
     r"(?:; (?P<neutral>\d+) neutral)?"), _results),
    (r"Stands for (?P<count>\d+) subjects: .+", _stands_for),
    (r"From \d+ memory facts?(?:, .+)?", _no_figure),
))  # fmt: skip
# What was learned of one outcome, told by its score.
_FACT = re.compile(r".+ ended at (?P<score>[+-][\d.]+) %(?: \(.+)?[:.)]?.*")
_LINES = _forms((
    (rf"(?P<action>.*?)(?P<clause>\b(?:when|with) .+): {_RISK}", _rule),
    ((r"(?P<clause>(?:when|with) .+): (?P<k>\d+) of (?P<n>\d+) of the action's were (?P<result>.+) "
     r"as of (?P<until>\S+), here (?P<ok>\d+) of (?P<on>\d+)\."), _own_rule),
    ((r"Refused as answers to (?P<task>“.+?”|this task|a task that was not recorded): "
     r"(?P<answers>.+)\."), _refused),
    ((r"(?P<verb>Lost|Gained) (?P<score>[\d.]+) %(?: \((?P<money>-?[\d.].*?)\))?"
     rf"(?: at most \((?P<such>\d+) such\),)? on (?P<day>{_DAY})"
     rf"(?: after (?P<span>{_SPAN}))?"
     r"(?:: (?P<reason>.+?)(?P<all> \(as all of these\))?\.?|\.)"), _extreme),
    ((r"What stood out on (?P<day>\S+): (?P<key>.+) (?P<value>\S+), where the middle half "
     r"of (?P<of>\d+) others had (?P<low>\S+) to (?P<high>\S+); it need not be the cause\."),
     _outlier),
    (r"At entry: (?P<values>.+)\.", _entry_values),
    ((r"(?P<k>\d+) of (?P<n>\d+) that succeeded used (?P<names>`.+`), (?P<fk>\d+) of (?P<fn>\d+) "
     r"that failed\."), _tools),
    (rf"(?:What worked: )?(?P<quote>.+) \((?:supposed by|the lesson of) {_C}\)\.", _lesson),
    (rf"Ended (?:with|like this:) {_Q}{_B}\.?", _ended_like),
    ((r"Do not end on an announced step or while something runs: carry it out, look at its result, "
     rf"then report \({_C} ended so\)\."), _cause),
    (rf"Check before going on; {_C} went on unchecked(?:: {_Q})?\.?", _cause),
    (rf"Name a way out before acting; {_C} had none(?:: {_Q})?\.?", _cause),
    (rf"Assumed, and settled by nobody: {_Q}{_B}\.?", _cause),
    (rf"Reported, and refused: {_Q}\.?", _claimed),
    (rf"The risk that was named: {_Q}{_B}\.?", _cause),
    (rf"(?:What worked: )?Rested on {_Q}{_B}\.?", _cause),
    (rf"(?:What worked: )?{_Q} \((?:told by|a check of) {_T}{_R}\)\.", _tellers),
    ((r"(?P<action>.+): (?P<count>\d+) decisions?(?P<sums>(?:, \S+ ?.*? together(?: of \d+)?)*)"
     r"(?:, (?P<mean>[+-][\d.]+) % on average(?: of (?P<some>\d+))?)?\."), _came_to),
    (r"Succeeded: (?P<rates>.+)\.", _succeeded),
    ((r"Do not end on an announced step or while something runs: (?P<k>\d+) of (?P<n>\d+) that "
     r"failed did, without its result\."), _shared),
    ((r"(?:Check before going on|Name a way out before acting): (?P<k>\d+) of (?P<n>\d+) that "
     r"failed (?:did not|had none)\."), _shared),
    ((r"Before (?P<about>.+) \((?P<k>\d+) of (?P<n>\d+) "
     r"(?P<how>failed or lost|succeeded or gained)\)\."), _applies),
    ((r"(?:Carry out the announced step|Do not give|Find a way to check first|Name the way out"
     r"|Settle this|Test [\"“]|Supposed: ).+"), _no_figure),
    ((rf"(?=\d)(?:(?P<n>\d+) evaluations? \((?P<counts>[^)]+)\) from (?P<sessions>\d+) sessions?, "
     rf"(?P<first>{_DAY})(?: to (?P<last>{_DAY}))?; (?P<names>.+?)"
     r"(?:; (?P<against>\d+) evaluations? against it)?)?"
     r"(?:(?:; )?(?P<written>\d+) of (?P<facts>\d+) facts written by a person)?\."), _origin),
))  # fmt: skip


def main(vault: Path) -> int:
    """Print what is wrong; 1 if anything is."""
    report = recount(vault)
    for title, lines in (("wrong", report.wrong), ("unread", report.unread)):
        for line in lines:
            print(f"{title}: {line}")
    for line in report.alike:
        print(f"by likeness: {line}")
    print(f"{report.figures} figures, {len(report.wrong)} wrong, {len(report.unread)} unread")
    return 1 if report.wrong or report.unread else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
