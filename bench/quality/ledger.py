"""A vault's outcomes as its files state them, and what can be counted of them.

Nothing here is the program's: what it says is counted again from the files alone.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import yaml

HOUR = timedelta(hours=1)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
ROUNDED = 1e-5  # a bound is told in six digits
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NUMBER = re.compile(r"-?[$€£¥]?\d[\d,_]*(?:\.\d+)?(?:[eE][-+]?\d+)?")

Holds = Callable[["Entry"], bool | None]


class Entry:
    """One outcome."""

    def __init__(self, path: Path) -> None:
        self.id = path.stem
        self.data: dict[str, Any] = load(path)
        self.decision: dict[str, Any] = self.data["decision"]
        self.result: dict[str, Any] = self.data["result"]
        self.context: dict[str, Any] = self.data.get("context") or {}
        self.source: dict[str, Any] = self.data.get("source") or {}
        self.ended = moment(self.data["occurred_at"])
        made = self.decision.get("made_at")
        self.made = moment(made) if made else None
        self.score: float | None = self.result.get("score")
        self.amount: float | None = self.result.get("amount")
        self.status: str = self.result["status"]
        self.domain: str = self.data["domain"]
        self.action: str = self.decision["action"]
        self.target: str | None = self.decision.get("target")
        self.reasoning: str = self.decision.get("reasoning") or ""

    @property
    def day(self) -> str:
        """The day on which it ended."""
        return f"{self.ended:%Y-%m-%d}"

    @property
    def time(self) -> datetime:
        """The time of the decision, or of the end if no decision is known."""
        return self.made or self.ended

    @property
    def about(self) -> str:
        """The subject as a text names it."""
        on = f" on {shown(self.target)}" if self.target else ""
        return f"{shown(self.action)}{on}"

    @property
    def session(self) -> str:
        """The session of the outcome; an outcome without one has its own."""
        return self.source.get("session") or self.id

    @property
    def is_report(self) -> bool:
        """True if the reasoning may have been written after the result."""
        early = self.made is not None and self.made < self.ended
        return not early or self.decision.get("reasoning_at") == "after"

    @cached_property
    def words(self) -> str:
        """All of the outcome's own texts, folded, without the task."""
        decision = {key: value for key, value in self.decision.items() if key != "task"}
        own = {**self.data, "decision": decision}
        return " | ".join(folded(text) for text in texts_in(own))

    @cached_property
    def figures(self) -> frozenset[str]:
        """All numbers in its texts."""
        found = (number(m[0]) for t in texts_in(self.data) for m in _NUMBER.finditer(t))
        return frozenset(figure for figure in found if figure)


def load(path: Path) -> Any:
    """Load a YAML file."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506 (a safe one)


def entries(vault: Path) -> list[Entry]:
    """The outcomes of a vault, oldest first."""
    every = map(Entry, vault.glob("outcomes/**/*.yaml"))
    return sorted(every, key=lambda entry: (entry.ended, entry.id))


class Support(NamedTuple):
    """The runs for (True) and against a skill's facts; the counts of all and of human facts."""

    runs: Mapping[str, bool]
    facts: int
    written: int


def support_of(vault: Path, skill: str) -> Support:
    """Return the support of a skill by the links to it and to its facts."""
    facts = [link["source"]["id"] for link in _links(vault, skill) if link["type"] == "derived"]
    runs: dict[str, bool] = {}
    for link in (link for fact in facts for link in _links(vault, fact)):
        if link["type"] in _SIDES:
            run = link["source"]["id"]
            runs[run] = runs.get(run, False) or _SIDES[link["type"]]
    written = sum(_is_written(path) for fact in facts for path in vault.glob(f"memory/*/{fact}.md"))
    return Support(runs, len(facts), written)


_SIDES = {"promoted": True, "reinforced": True, "contradicted": False}


def _links(vault: Path, target: str) -> list[dict[str, Any]]:
    """Return the links to a fact or a skill."""
    return _by_target(vault).get(target, [])


@cache
def _by_target(vault: Path) -> dict[str, list[dict[str, Any]]]:
    links: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(vault.rglob("*.links.yaml")):
        for line in load(path) or ():
            end = line["to"].partition("/")[2]
            source = {"id": path.name.partition(".")[0]}
            links.setdefault(end, []).append({**line, "source": source})
    return links


def _is_written(fact: Path) -> bool:
    _, front, _ = fact.read_text(encoding="utf-8").split("---\n", 2)
    return bool(yaml.safe_load(front).get("kind") == "human")


def moment(text: Any) -> datetime:
    """A time as a file states it."""
    at = text if isinstance(text, datetime) else datetime.fromisoformat(text)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def texts_in(value: Any) -> Iterator[str]:
    """Every text in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from texts_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_in(inner)


def folded(text: str) -> str:
    """A text by its words alone."""
    return " ".join(re.findall(r"\w+", text.replace("**", "").casefold()))


def shown(name: str, limit: int = 60) -> str:
    """A name as a sentence has it."""
    line = re.sub(r"`{3,}|~{3,}|-{3,}|\*\*", " ", " ".join(name.split()))
    line = " ".join(line.translate(str.maketrans("“”", '""')).split())
    if len(line) <= limit:
        return line
    head = line[: limit - 1].rpartition(" ")[0]
    cut = head if len(head) * 2 >= limit else line[: limit - 1]
    return cut.rstrip(" ,;:.-") + "…"


def number(text: str) -> str:
    """A figure without its separators and its end of zeros; "" if it is none."""
    plain = re.sub(r"[,_$€£¥]", "", text).rstrip(".")
    try:
        value = Decimal(plain)
    except InvalidOperation:
        return ""
    return f"{value.normalize():f}" if value.is_finite() and abs(value.adjusted()) < 60 else ""


def digits(value: float) -> str:
    """A number in six digits."""
    return f"{Decimal(f'{value:.6g}'):f}"


# ── episodes ─────────────────────────────────────────────────────────────────────────


def episodes(of: Sequence[Entry], minutes: int) -> dict[str, int]:
    """Id -> its episode, a number."""
    group = {entry.id: place for place, entry in enumerate(of)}
    for a, b in _neighbours(of, timedelta(minutes=minutes)):
        old, new = group[a.id], group[b.id]
        group = {name: new if at == old else at for name, at in group.items()}
    start: dict[int, datetime] = {}
    numbers: dict[str, int] = {}
    count = 0
    current: dict[int, int] = {}
    for entry in sorted(of, key=lambda e: (e.time, e.id)):
        at = group[entry.id]
        if at not in start or entry.time - start[at] > HOUR:
            count += 1
            start[at], current[at] = entry.time, count
        numbers[entry.id] = current[at]
    return numbers


def _neighbours(of: Sequence[Entry], gap: timedelta) -> Iterator[tuple[Entry, Entry]]:
    close: dict[object, list[Entry]] = {}
    runs: dict[object, list[Entry]] = {}
    for entry in of:
        task = (entry.decision.get("task") or "").strip()
        if entry.made and not (entry.source.get("batch") and task):
            close.setdefault((entry.domain, entry.action), []).append(entry)
        if entry.source.get("session"):
            run = (entry.source.get("agent"), entry.source["session"])
            runs.setdefault((entry.domain, entry.action, run), []).append(entry)
    for kind, span in ((close, gap), (runs, HOUR)):
        for members in kind.values():
            ordered = sorted(members, key=lambda e: (e.time, e.id))
            for a, b in pairwise(ordered):
                if b.time - a.time <= span and (kind is close or _task(a) == _task(b)):
                    yield a, b


def _task(entry: Entry) -> tuple[str, str | None]:
    task = (entry.decision.get("task") or "").strip()
    return (task, None) if task else ("", entry.target)


# ── conditions ───────────────────────────────────────────────────────────────────────


def conditions(text: str) -> list[Holds] | None:
    """The conditions of a clause such as `when trend is up and with spread of 3 or more`."""
    plain = re.sub(r"^(?:when|with) ", "", text, flags=re.IGNORECASE)
    for match in re.finditer(" and ", plain):
        first = _condition(plain[: match.start()])
        rest = conditions(plain[match.end() :])
        if first and rest:
            return [first, *rest]
    whole = _condition(plain)
    return [whole] if whole else None


def lead_condition(clause: str, of: Sequence[Entry]) -> list[Holds] | None:
    """The condition of a lead, whose key stands as it was recorded: `with dry_run not true`."""
    plain = clause.removeprefix("with ")
    keys = {key for entry in of for key in entry.context} | {"target", "agent"}
    for key in sorted(keys, key=len, reverse=True):
        rest = plain.removeprefix(f"{shown(key)} ")
        if rest != plain:
            words = shown(key.replace("_", " "))
            measured = rest.startswith(("of ", "below "))
            return conditions(f"{words} {rest}" if measured else f"{words} is {rest}")
    return None


_INF = float("inf")
_B = r"(-?[\d.e+-]+)"


def _condition(text: str) -> Holds | None:
    for pattern, made in _FORMS:
        if match := re.fullmatch(pattern, text):
            return made(*match.groups())
    return None


def _mentions(word: str, wanted: bool) -> Holds:
    def holds(entry: Entry) -> bool | None:
        if entry.is_report or not entry.reasoning.strip():
            return None
        found = re.findall(r"[^\W\d_][\w'-]*", entry.reasoning.lower())
        return (word in {part.strip("'-") for part in found}) == wanted

    return holds


def _on_day(day: str, wanted: bool) -> Holds:
    return lambda e: (DAYS[e.made.astimezone(UTC).weekday()] == day) == wanted if e.made else None


def _in_window(low: int, high: int, wanted: bool) -> Holds:
    return lambda e: (low <= e.made.astimezone(UTC).hour < high) == wanted if e.made else None


def _named(entry: Entry, key: str) -> Any:
    if key == "target":
        return entry.target
    if key == "agent":
        return entry.source.get("agent")
    for name, value in entry.context.items():
        if shown(name.replace("_", " ")) == key:
            return value
    return entry.result.get("entry_value") if key in ("entry value", "size") else None


def _between(key: str, low: float, high: float, *, inside: bool) -> Holds:
    def holds(entry: Entry) -> bool | None:
        value = _named(entry, key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        # A bound stands in six digits; what equals it so far is at or above it.
        return (_reaches(value, low) and not _reaches(value, high)) == inside

    return holds


def _reaches(value: float, bound: float) -> bool:
    return value >= bound or (abs(bound) < _INF and abs(value - bound) <= ROUNDED * abs(bound))


def _is(key: str, against: str, wanted: bool) -> Holds:
    def holds(entry: Entry) -> bool | None:
        value = _named(entry, key)
        if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            return False if wanted else None
        text = str(value).lower() if isinstance(value, bool) else shown(str(value))
        return (text == against) == wanted

    return holds


_FORMS: tuple[tuple[str, Callable[..., Holds]], ...] = (
    (r"the reasoning (mentions|does not mention) '(.+)'",
     lambda verb, word: _mentions(word, verb == "mentions")),
    (r"(not )?decided on a (\w+)", lambda no, day: _on_day(day, not no)),
    (r"(not )?decided between (\d\d):00 and (\d\d):00 UTC",
     lambda no, low, high: _in_window(int(low), int(high), not no)),
    (rf"(.+) from {_B} to below {_B}",
     lambda key, low, high: _between(key, float(low), float(high), inside=True)),
    (rf"(.+) below {_B} or of {_B} and more",
     lambda key, low, high: _between(key, float(low), float(high), inside=False)),
    (rf"(.+) of {_B} or more", lambda key, low: _between(key, float(low), _INF, inside=True)),
    (rf"(.+) below {_B}", lambda key, high: _between(key, -_INF, float(high), inside=True)),
    (r"(\S.*?) is (not )?(.+)", lambda key, no, value: _is(key, value, not no)),
)  # fmt: skip
