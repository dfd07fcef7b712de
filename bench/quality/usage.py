"""Detection of the skills that runs and sentences used: F1 and precision, beside mentions."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from measures import f1, interval
from retrieval import lines

from skillvault.learning.effect import detect, mentions

Says = Callable[[str, str, str], bool]  # name, body, text
Found = dict[str, list[tuple[bool, bool]]]  # method -> (said, true) of each pair


def usage(bench: Path) -> Found:
    """Each pair of a run and a skill."""
    texts = {one["id"]: one["text"] for one in lines(bench / "usage/trajectories.jsonl")}
    corpus = lines(bench / "routing/corpus.jsonl")
    bodies = {one["id"].replace("_", "-"): one["body"] for one in corpus}
    methods: dict[str, Says] = {"ours": _ours, "ours, names alone": _named, "mention": _mention}
    found: Found = {name: [] for name in methods}
    for pair in lines(bench / "usage/pairs.jsonl"):
        name, text = pair["skill"], texts[pair["traj"]]
        for method, says in methods.items():
            said = says(name, bodies.get(name.replace("_", "-"), ""), text)
            found[method].append((said, bool(pair["label"])))
    return found


def sentences(bench: Path) -> Found:
    """Each pair of a sentence and a skill that any of the sentences applies."""
    pairs = lines(bench / "usage/sentences.jsonl")
    names = sorted({name for one in pairs for name in one["applied"]})
    known = mentions.index_by_word(names)
    found: Found = {"ours": [], "mention": []}
    for one in pairs:
        detections = detect.detect_all(one["text"], None, known, {})
        for name in names:
            true = name in one["applied"]
            found["ours"].append((detections.get(name, detect.NO_USE).is_applied, true))
            found["mention"].append((_mention(name, "", one["text"]), true))
    return found


def told(found: Found, subject: str = "usage") -> Iterator[str]:
    """The lines of the table."""
    for name, pairs in found.items():
        score, precision, recall = f1(pairs)
        low, high = interval(pairs, lambda some: f1(some)[0])
        parts = f"precision {precision:.3f}, recall {recall:.3f}"
        said = f"{score:.3f} | {low:.3f} to {high:.3f} | {parts}"
        yield f"| {subject}, {len(pairs)} pairs, F1 | {name} | {said} |"


def _ours(name: str, body: str, text: str) -> bool:
    return detect.detect(name, body, text).is_applied


def _named(name: str, _: str, text: str) -> bool:
    return detect.detect(name, "", text).is_applied


def _mention(name: str, _: str, text: str) -> bool:
    parts = map(re.escape, re.split(r"[-_]", name))
    return re.search(rf"\b{'[-_ ]'.join(parts)}\b", text, re.IGNORECASE) is not None
