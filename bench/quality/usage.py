"""Which skills real runs used: F1 and precision beside a plain mention of the name."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from measures import f1, interval
from retrieval import lines

from skillvault.learning.effect import detect

Says = Callable[[str, str, str], bool]  # name, body, text


def usage(bench: Path) -> dict[str, list[tuple[bool, bool]]]:
    """Method -> (said, true) of each pair of a run and a skill."""
    texts = {one["id"]: one["text"] for one in lines(bench / "usage/trajectories.jsonl")}
    corpus = lines(bench / "routing/corpus.jsonl")
    bodies = {one["id"].replace("_", "-"): one["body"] for one in corpus}
    methods: dict[str, Says] = {"ours": _ours, "ours, names alone": _named, "mention": _mention}
    found: dict[str, list[tuple[bool, bool]]] = {name: [] for name in methods}
    for pair in lines(bench / "usage/pairs.jsonl"):
        name, text = pair["skill"], texts[pair["traj"]]
        for method, says in methods.items():
            said = says(name, bodies.get(name.replace("_", "-"), ""), text)
            found[method].append((said, bool(pair["label"])))
    return found


def told(found: dict[str, list[tuple[bool, bool]]]) -> Iterator[str]:
    """The lines of the table."""
    for name, pairs in found.items():
        score, precision, recall = f1(pairs)
        low, high = interval(pairs, lambda some: f1(some)[0])
        parts = f"precision {precision:.3f}, recall {recall:.3f}"
        said = f"{score:.3f} | {low:.3f} to {high:.3f} | {parts}"
        yield f"| usage, {len(pairs)} pairs, F1 | {name} | {said} |"


def _ours(name: str, body: str, text: str) -> bool:
    return detect.detect(name, body, text).applied


def _named(name: str, _: str, text: str) -> bool:
    return detect.explicit_use(name, text).applied


def _mention(name: str, _: str, text: str) -> bool:
    parts = map(re.escape, re.split(r"[-_]", name))
    return re.search(rf"\b{'[-_ ]'.join(parts)}\b", text, re.IGNORECASE) is not None
