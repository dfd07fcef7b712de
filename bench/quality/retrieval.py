"""Routing of tasks to skills, and questions to facts: nDCG@10 beside the comparisons."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from comparisons import Rank, fts5, ours, semantic, shared_words
from distractors import distractors
from measures import interval, mean, ndcg

from skillvault.serving.shelf import has_model
from skillvault.vault.search.ranking import Document

Gains = dict[str, dict[str, float]]  # query -> document -> gain
METHODS: dict[str, Callable[[Sequence[Document]], Rank]] = {
    "ours": ours,
    "FTS5": fts5,
    "shared words": shared_words,
}
if has_model():
    METHODS["ours, semantic"] = semantic


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def routing(folder: Path) -> Iterator[tuple[str, dict[str, list[float]]]]:
    """(what, method -> nDCG of each task), among the skills alone and among distractors."""
    skills = [_skill(one) for one in lines(folder / "corpus.jsonl")]
    gains: Gains = defaultdict(dict)
    for row in lines(folder / "qrels.jsonl"):
        gains[row["qid"]][row["did"]] = 1.0
    queries = {
        "long": (_texts(folder / "queries.jsonl"), gains),
        "short": (_texts(folder / "queries_short.jsonl"), gains),
    }
    named = [*map(_named, skills), *distractors(skills)]
    places = {
        f"{len(skills)} skills": skills,
        f"{len(named):,} names and descriptions": named,
    }
    for place, documents in places.items():
        ranks = {name: make(documents) for name, make in METHODS.items()}
        for kind, (texts, right) in queries.items():
            yield f"routing, {place}, {kind} ({len(texts)})", _measured(ranks, texts, right)


def _texts(path: Path) -> dict[str, str]:
    return {one["id"]: one["text"] for one in lines(path)}


def _measured(
    ranks: dict[str, Rank], texts: dict[str, str], right: Gains
) -> dict[str, list[float]]:
    return {
        name: [ndcg(rank(text), right[key]) for key, text in texts.items()]
        for name, rank in ranks.items()
    }


def facts(folder: Path) -> Iterator[tuple[str, dict[str, list[float]]]]:
    """(what, method -> nDCG of each question), each conversation searched by itself.

    Once more with the subject last in each text, where a ranking by the first word finds nothing.
    """
    asked = [one for one in lines(folder / "queries.jsonl") if one["category"] in range(1, 5)]
    gains: Gains = defaultdict(dict)
    for row in lines(folder / "qrels.jsonl"):
        gains[row["qid"]][row["did"]] = float(row["rel"])
    for what, text in (("", itemgetter("text")), (", subject last", _subject_last)):
        yield f"facts{what}, {len(asked)} questions", _answered(folder, text, asked, gains)


def _subject_last(fact: dict[str, Any]) -> str:
    first, _, rest = str(fact["text"]).rstrip(".").partition(" ")
    return f"{rest[:1].upper()}{rest[1:]} ({first})."


def _answered(
    folder: Path, text: Callable[[Any], str], asked: Sequence[dict[str, Any]], gains: Gains
) -> dict[str, list[float]]:
    groups: dict[str, list[Document]] = defaultdict(list)
    for one in lines(folder / "corpus.jsonl"):
        groups[one["group"]].append(Document(one["id"], "fact", body=text(one)))
    found: dict[str, list[float]] = {}
    for name, make in METHODS.items():
        ranks = {group: make(documents) for group, documents in groups.items()}
        found[name] = [ndcg(ranks[q["group"]](q["text"]), gains[q["id"]]) for q in asked]
    return found


def told(what: str, found: dict[str, list[float]]) -> Iterator[str]:
    """The lines of the table: each method, and the paired gain of ours over it."""
    mine = found["ours"]
    for name, values in found.items():
        low, high = interval(values, mean)
        line = f"| {what} | {name} | {mean(values):.3f} | {low:.3f} to {high:.3f} |"
        if name == "ours":
            yield f"{line} |"
            continue
        gains = [a - b for a, b in zip(mine, values, strict=True)]
        low, high = interval(gains, mean)
        doubt = "" if low > 0 or high < 0 else ", not told apart"
        yield f"{line} {mean(gains):+.3f} ({low:+.3f} to {high:+.3f}{doubt}) |"


def _skill(one: dict[str, Any]) -> Document:
    tags = one.get("tags") or []
    name = " ".join([one["name"], *tags])
    return Document(one["id"], "skill", name, one["description"], one.get("body", ""))


def _named(one: Document) -> Document:
    return Document(one.id, one.kind, one.name, one.description)
