"""Accuracy of the blind verdict on honest and hollow texts, and on real runs.

    python bench/quality/verdict.py [SHARED]

`verdicts.jsonl` beside this file holds texts of ours: hollow ones (cue words, announced checks,
figures from nowhere, conditions that are only repeated) and honest ones, half and half. The rule
was chosen on one half; the other was written before the rule or when it stood, and is reported.
SHARED is the folder of shared data, `../shared` beside the repository by default: the verdicts on
its real runs are compared with how these ended.
"""

import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from measures import auc, balanced, interval
from retrieval import lines

from skillvault.judge.offline.verdict import judge_decision
from skillvault.model.brief import blind_case
from skillvault.model.intake import parse_outcome
from skillvault.model.records import Outcome

TEXTS = Path(__file__).with_name("verdicts.jsonl")
SHARED = Path(__file__).resolve().parents[3] / "shared"
HALVES = ("chosen", "held back")
RUNS = ("outcomes", "by-run")
NOW = datetime(2030, 1, 1, tzinfo=UTC)


class Judgement(NamedTuple):
    """A verdict on a decision, and the truth about the decision."""

    quality: float
    says_good: bool
    is_good: bool


def on_texts(half: str | None = None) -> list[Judgement]:
    """The verdicts on our texts, or on those of a half."""
    texts = [text for text in lines(TEXTS) if half in (None, text["half"])]
    return [_judgement(_outcome(text), is_good=text["kind"] == "honest") for text in texts]


def on_runs(path: Path) -> list[Judgement]:
    """The verdicts on recorded runs, and whether these succeeded."""
    runs = [parse_outcome(run, trust="local", now=NOW) for run in lines(path)]
    return [_judgement(run, is_good=run.result.status == "success") for run in runs]


def separation(judgements: Sequence[Judgement]) -> float:
    """The area under the curve of the quality."""
    return auc([(judgement.quality, judgement.is_good) for judgement in judgements])


def accuracy(judgements: Sequence[Judgement]) -> float:
    """The balanced accuracy of the verdict."""
    return balanced([(judgement.says_good, judgement.is_good) for judgement in judgements])


def told(shared: Path) -> Iterator[str]:
    """The lines of the table."""
    for half in (*HALVES, None):
        yield _row(f"hollow and honest texts, {half or 'all'}", on_texts(half))
    for name in RUNS:
        path = shared / "data/agent-runs" / f"{name}.jsonl"
        if path.is_file():
            yield _row(f"agent runs, {name}", on_runs(path))
        else:
            yield f"| agent runs, {name} | skipped: {path} is not here | | | |"


def _outcome(text: dict[str, Any]) -> Outcome:
    result = {"status": "neutral", "entry_value": text.get("entry_value")}
    decided = {key: text[key] for key in ("domain", "decision", "context")}
    raw = {**decided, "occurred_at": NOW.isoformat(), "result": result}
    return parse_outcome(raw, trust="local", now=NOW)


def _judgement(outcome: Outcome, *, is_good: bool) -> Judgement:
    verdict = judge_decision(blind_case(outcome))
    return Judgement(verdict.quality_score, verdict.was_good_decision, is_good)


def _row(what: str, judgements: Sequence[Judgement]) -> str:
    area, (low, high) = separation(judgements), interval(judgements, separation)
    share = f"balanced accuracy {accuracy(judgements):.3f} of {len(judgements)}"
    return f"| {what}, AUC | ours | {area:.3f} | {low:.3f} to {high:.3f} | {share} |"


if __name__ == "__main__":
    for line in told(Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED):
        print(line, flush=True)
