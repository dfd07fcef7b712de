"""Measure when a skill is shown: what its author says must trigger it, and what must not.

    python bench/quality/triggers.py [BENCH] [--learn]

The questions are those of `triggers` in BENCH, half of them (by hash) for learning. `--learn`
prints how well values of two weights separate the learning half: they differ little. Unrelated
prompts are asked in vaults of another matter, a trader's wordings after a backtest. The questions
of `scripts.tsv` are ours: in Chinese, Japanese, Korean or Russian, for skills described in English.
"""

import argparse
import hashlib
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import guides
import retrieval
from comparisons import index_documents
from measures import auc, mean

from skillvault import Vault
from skillvault.model.policy import RecommendPolicy
from skillvault.model.text import front_matter
from skillvault.serving.shelf import nearness_measure
from skillvault.vault.search import ranking
from skillvault.vault.search.ranking import Document

BENCH = Path(__file__).resolve().parents[3] / "shared" / "bench"
UNRELATED = Path(__file__).with_name("unrelated.txt")  # everyday prompts, then programming
SCRIPTS = Path(__file__).with_name("scripts.tsv")  # skills, or - for none; a question
FLOOR = RecommendPolicy().answers
EMPTY_SHARES = (0.0, 0.05, 0.1, 0.2, 0.3)
TELLING = (1.5, 2.0, 2.5, 3.0, 3.5)
BODY = (0.15, 0.25, 0.35, 0.5)
WORDINGS = (
    "Should I open a long in ADA/BTC now?|Buy ETH/BTC|enter a long position on XLM/BTC|"
    "go long on TRX/BTC|is it a good time to get into ZEC/BTC?|open a new ETC/BTC trade|"
    "LTC/BTC is dipping, buy the dip?|what happened last time with XMR/BTC?|"
    "place an order for DASH/BTC|NXT/BTC with the usual stop|enter_long|enter long again?"
).split("|")


class Question(NamedTuple):
    """A prompt, and the skill whose author says that it must trigger it or must not."""

    text: str
    skill: str
    must: bool

    @property
    def is_for_learning(self) -> bool:
        """True for the half on which weights are chosen."""
        return hashlib.sha256(self.text.encode()).digest()[-1] % 2 == 0

    @property
    def is_latin(self) -> bool:
        """True if most letters are Latin."""
        letters = [letter for letter in self.text if letter.isalpha()]
        return sum(map(str.isascii, letters)) * 2 >= len(letters)


class First(NamedTuple):
    """The document that stands first for a question, and the number that a floor cuts."""

    name: str
    evidence: float


Rank = Callable[[str], First | None]


def read_documents(folder: Path) -> list[Document]:
    """Read the pool of skills."""
    documents: list[Document] = []
    for row in retrieval.lines(folder / "skills.jsonl"):
        fields, body = front_matter.read_foreign(row["text"])
        description = " ".join(str(fields.get("description", "")).split())
        documents.append(Document(row["id"], "skill", row["id"], description, body))
    return documents


def read_questions(folder: Path) -> list[Question]:
    """Read what must trigger a skill and what must not."""
    rows = retrieval.lines(folder / "queries.jsonl")
    return [Question(row["query"], row["skill"], row["should"]) for row in rows]


# ── ways of ranking ────────────────────────────────────────────────────────────────


def rank_by_evidence(database: sqlite3.Connection, *, semantic: bool = False) -> Rank:
    """Return `recommend`: the best by score among those with enough evidence."""
    nearness = nearness_measure() if semantic else None

    def rank(text: str) -> First | None:
        hits = ranking.search_texts(database, text, 50, nearness=nearness)
        shown = [hit for hit in hits if hit.evidence >= FLOOR] or hits
        return First(shown[0].id, max(hit.evidence for hit in hits)) if hits else None

    return rank


def rank_by_score(database: sqlite3.Connection, *, semantic: bool = False) -> Rank:
    """Return `search`, which has no floor."""
    nearness = nearness_measure() if semantic else None

    def rank(text: str) -> First | None:
        hits = ranking.search_texts(database, text, 50, nearness=nearness)
        return First(hits[0].id, hits[0].score) if hits else None

    return rank


def rank_by_bm25(documents: Sequence[Document]) -> Rank:
    """Return SQLite's bm25 with weights 3, 2, 1."""
    database = sqlite3.connect(":memory:")
    database.execute(
        "create virtual table t using fts5(id unindexed, a, b, c, tokenize = 'porter unicode61')"
    )
    rows = ((one.id, one.name, one.description, one.body) for one in documents)
    database.executemany("insert into t values (?, ?, ?, ?)", rows)
    query = "select id, -bm25(t, 0, 3, 2, 1) from t where t match ? order by 2 desc, rowid limit 1"

    def rank(text: str) -> First | None:
        words = dict.fromkeys(re.findall(r"\w+", text.lower()))
        expression = " OR ".join(f'"{word}"' for word in words)
        rows = database.execute(query, (expression,)).fetchall() if words else []
        return First(*rows[0]) if rows else None

    return rank


# ── tables ─────────────────────────────────────────────────────────────────────────


def print_hits(questions: Sequence[Question], ways: Mapping[str, tuple[Rank, float]]) -> None:
    """Print Hit@1 and the share of empty answers, of all and of those not in Latin script."""
    print("| questions | way | Hit@1 | empty | not Latin: Hit@1 | empty |")
    print("|---|---|---|---|---|---|")
    reported = [one for one in questions if one.must and not one.is_for_learning]
    others = [one for one in reported if not one.is_latin]
    for way, (rank, floor) in ways.items():
        columns = []
        for chosen in (reported, others):
            firsts = [(one, rank(one.text)) for one in chosen]
            shown = [(one, first) for one, first in firsts if first and first.evidence >= floor]
            hits = sum(first.name == one.skill for one, first in shown)
            columns += [f"{hits / len(chosen):.3f}", f"{1 - len(shown) / len(chosen):.3f}"]
        print(f"| {len(reported)}, {len(others)} not Latin | {way} | {' | '.join(columns)} |")


def print_scripts(ways: Mapping[str, tuple[Rank, float]]) -> None:
    """Print the same for our questions in other scripts, and how many without a skill get one."""
    rows = [line.split("\t") for line in SCRIPTS.read_text(encoding="utf-8").splitlines()]
    fitting = sum(skills != "-" for skills, _ in rows)
    print(f"\n| {fitting} questions in four scripts | Hit@1 | empty | unrelated, answered |")
    print("|---|---|---|---|")
    for way, (rank, floor) in ways.items():
        firsts = [(skills.split(","), rank(text)) for skills, text in rows]
        shown = [(names, one.name) for names, one in firsts if one and one.evidence >= floor]
        hits = sum(name in names for names, name in shown)
        answered = sum(names == ["-"] for names, _ in shown)
        empty = 1 - (len(shown) - answered) / fitting
        unrelated = f"{answered} of {len(rows) - fitting}"
        print(f"| {way} | {hits / fitting:.3f} | {empty:.3f} | {unrelated} |")


def print_curves(questions: Sequence[Question], ways: Mapping[str, Rank]) -> None:
    """Print how often the author's skill stands first for what must not trigger it, by floor."""
    shares = " | ".join(f"{share:.0%} empty" for share in EMPTY_SHARES)
    print(f"\n| must not: the author's skill first | {shares} |\n|---|{'---|' * len(EMPTY_SHARES)}")
    reported = [one for one in questions if not one.is_for_learning]
    for way, rank in ways.items():
        firsts = [(one, rank(one.text) or First("", 0.0)) for one in reported]
        true_evidence = sorted(first.evidence for one, first in firsts if one.must)
        must_nots = [(one, first) for one, first in firsts if not one.must]
        columns = []
        for share in EMPTY_SHARES:
            floor = true_evidence[round(share * len(true_evidence))]
            wrong = [
                one.skill == first.name and first.evidence >= floor for one, first in must_nots
            ]
            columns.append(f"{mean(wrong):.3f}")
        print(f"| {way} | {' | '.join(columns)} |")


def print_unrelated(bench: Path) -> None:
    """Print how many unrelated prompts, and how many of a trader's wordings, are answered."""
    everyday, programming = (
        part.splitlines() for part in UNRELATED.read_text(encoding="utf-8").split("\n\n")
    )
    data = bench.parent / "data" / "freqtrade" / "backtest-result.json"
    print("\n| vault | prompts | answered |\n|---|---|---|")
    with TemporaryDirectory() as place:
        for stream in guides.read_streams(bench / "streams" / "tasks.py"):
            vault = guides.make_vault(Path(place, stream.name), stream)
            prompts = everyday if stream.domain == "coding" else everyday + programming
            print_answered(vault, stream.domain, f"{stream.name} | unrelated", prompts)
        trader, _ = Vault.init(Path(place, "trader"), ["trade"])
        trader.import_files("freqtrade", [data], domain="trade")
        trader.run()
        print_answered(trader, "trade", "backtest | unrelated", everyday + programming)
        print_answered(trader, "trade", "backtest | a trader's", WORDINGS)


def print_answered(vault: Vault, domain: str, what: str, prompts: Sequence[str]) -> None:
    """Print a line of the table."""
    answers = (vault.recommend(domain, text) for text in prompts)
    answered = sum(bool(answer.recommended or answer.facts) for answer in answers)
    print(f"| {what} | {answered} of {len(prompts)} |", flush=True)


# ── learning ───────────────────────────────────────────────────────────────────────


def print_weights(database: sqlite3.Connection, questions: Sequence[Question]) -> None:
    """Print how well weights separate right skills from wrong ones, on the learning half."""
    learning = [one for one in questions if one.is_for_learning]
    prompts = UNRELATED.read_text(encoding="utf-8").split("\n\n")[0].splitlines()
    cases = [*learning, *(Question(text, "", must=False) for text in prompts)]
    print("\n| telling | body | separation |\n|---|---|---|")
    for telling, body in product(TELLING, BODY):
        pairs = list(_separate(database, cases, telling, body))
        print(f"| {telling} | {body} | {auc(pairs):.4f} |", flush=True)


def _separate(
    database: sqlite3.Connection, cases: Sequence[Question], telling: float, body: float
) -> Iterator[tuple[float, bool]]:
    """Yield (evidence, right) of the first skill for each case with these weights."""
    setattr(ranking, "_COMMON_BITS", telling)  # noqa: B010 (weights are constants in the product)
    setattr(ranking, "_BODY_WORTH", body)  # noqa: B010
    database.execute("update ranked_stamp set stamp = randomblob(16)")
    for one in cases:
        hits = ranking.search_texts(database, one.text, 1)
        yield from ((hit.evidence, one.must and hit.id == one.skill) for hit in hits)


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bench", type=Path, nargs="?", default=BENCH)
    parser.add_argument("--learn", action="store_true", help="Measure two weights of the evidence.")
    options = parser.parse_args()
    if not options.bench.is_dir():
        print(f"skipped: {options.bench} is not here; it holds the labelled data")
        return 0
    documents = read_documents(options.bench / "triggers")
    questions = read_questions(options.bench / "triggers")
    database = index_documents(documents)
    if options.learn:
        print_weights(database, questions)
        return 0
    bm25, evidence = rank_by_bm25(documents), rank_by_evidence(database)
    ways: dict[str, tuple[Rank, float]] = {
        "BM25": (bm25, 0.0),
        "search": (rank_by_score(database), 0.0),
        "recommend": (evidence, FLOOR),
    }
    if nearness_measure():
        ways["search, semantic"] = (rank_by_score(database, semantic=True), 0.0)
        ways["recommend, semantic"] = (rank_by_evidence(database, semantic=True), FLOOR)
    print_hits(questions, ways)
    print_scripts(ways)
    print_curves(questions, {"BM25": bm25, "recommend": evidence})
    print_unrelated(options.bench)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
