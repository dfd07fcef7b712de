"""Accuracy of the rule that two texts say the same, on pairs by people and pairs by agents.

The rule was chosen on one half of the pairs of `same/pairs.jsonl`, by their hash, and is reported
on the other. `lessons.tsv` beside this file is ours: it shows how agents' lessons look, the last 42
of them long; `same/lessons.jsonl` is not ours.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from measures import f1, interval
from retrieval import lines

from skillvault.model.sameness.comparison import is_opposite, is_same
from skillvault.model.sameness.form import normal_form
from skillvault.model.text.text import similarity

LESSONS = Path(__file__).with_name("lessons.tsv")
Says = Callable[[str, str], bool]


def ours(a: str, b: str) -> bool:
    """Return True if two texts say the same by the package's rule."""
    return is_same(normal_form(a), normal_form(b))


def _by_words(a: str, b: str) -> bool:
    return similarity(a, b) > 0.6


METHODS: dict[str, Says] = {
    "ours": ours,
    "word Jaccard above 0.6": _by_words,
}


def held_back(pair: Mapping[str, Any]) -> bool:
    """Return True if a pair is in the half on which nothing was chosen."""
    return int(sha256(f"{pair['a']}\n{pair['b']}".encode()).hexdigest(), 16) % 2 == 1


def lessons() -> list[tuple[str, str, str]]:
    """Our pairs: same, opposite or different, and the two texts."""
    rows = (line.split("\t") for line in LESSONS.read_text(encoding="utf-8").splitlines())
    return [(verdict, a, b) for verdict, a, b in rows]


def told(bench: Path) -> Iterator[str]:
    """The lines of the table."""
    pairs = [pair for pair in lines(bench / "same/pairs.jsonl") if held_back(pair)]
    for name, says in METHODS.items():
        for kind in ("msrp", "sts", "sick"):
            judged = [(says(p["a"], p["b"]), bool(p["same"])) for p in pairs if p["set"] == kind]
            yield _precision(f"same, {len(judged)} {kind.upper()} pairs", name, judged)
        contradictions = [p for p in pairs if p.get("relation") == "contradiction"]
        yield _share("contradictions called the same", name, _judged(says, contradictions))
        theirs = lines(bench / "same/lessons.jsonl")
        yield _share(
            "different lessons apart", name, _apart(says, [p for p in theirs if not p["same"]])
        )
        yield from _of_lessons(name, says)
    yield _opposites()


def _of_lessons(name: str, says: Says) -> Iterator[str]:
    rows = lessons()
    alike = [{"a": a, "b": b} for verdict, a, b in rows if verdict == "same"]
    others = [{"a": a, "b": b} for verdict, a, b in rows if verdict != "same"]
    yield _share("our different lessons apart", name, _apart(says, others))
    yield _share("our same lessons called the same", name, _judged(says, alike))


def _opposites() -> str:
    judged = [
        (is_opposite(normal_form(a), normal_form(b)), verdict == "opposite")
        for verdict, a, b in lessons()
    ]
    return _precision(f"opposite, {len(judged)} of our lessons", "ours", judged)


def _judged(says: Says, pairs: Sequence[Mapping[str, Any]]) -> list[bool]:
    return [says(pair["a"], pair["b"]) for pair in pairs]


def _apart(says: Says, pairs: Sequence[Mapping[str, Any]]) -> list[bool]:
    return [not judged for judged in _judged(says, pairs)]


def _precision(what: str, name: str, judged: Sequence[tuple[bool, bool]]) -> str:
    score, precision, recall = f1(judged)
    low, high = interval(judged, lambda some: f1(some)[0])
    parts = f"precision {precision:.3f}, recall {recall:.3f}"
    return f"| {what}, F1 | {name} | {score:.3f} | {low:.3f} to {high:.3f} | {parts} |"


def _share(what: str, name: str, judged: Sequence[bool]) -> str:
    low, high = interval(judged, lambda some: sum(some) / len(some))
    share = sum(judged) / len(judged)
    count = f"{sum(judged)} of {len(judged)}"
    return f"| {what} | {name} | {share:.3f} | {low:.3f} to {high:.3f} | {count} |"
