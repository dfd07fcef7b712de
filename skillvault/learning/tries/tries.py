"""An outcome as a try: its deed, its result in one line, and what is advised since."""

import re
from collections.abc import Iterator

from skillvault.learning.tries.answers import answer_text
from skillvault.learning.tries.causes import signature
from skillvault.learning.tries.deed import cut, deed_of, is_note
from skillvault.learning.tries.sentences import (
    FIGURE,
    Rank,
    grounds_of,
    plain_figure,
    rank_of,
    split_sentences,
)
from skillvault.model.decision_outcomes import NEXT_WORDS
from skillvault.model.reasoning import describe_cause, evidence_lines, fault_of, is_bare
from skillvault.model.records import OFFLINE, Evaluation, Lesson, Outcome
from skillvault.model.text.text import format_percent
from skillvault.model.tries import Advice, Try

_GROUNDS = 8
_EVIDENCE = 4000  # characters at the end of the evidence in which figures are looked up
_REFUSAL = re.compile(r"^(?:(?:no|nope|wrong|stop|wait)\b[,!. ]*)+", re.IGNORECASE)
# What ran and how it exited: said again by the status, where the output says more.
_EXIT = re.compile(r"^`.*` (?:passed|failed)(?: with exit code -?\d+)?$", re.DOTALL)
_BOTH = 180  # characters of a summary and a line of evidence together
_WHEN = re.compile(r"^(?:when|if|whenever)\s+", re.IGNORECASE)
_BECAUSE = re.compile(r"^(?:because|since|as)\s+", re.IGNORECASE)


def try_of(outcome: Outcome, evaluation: Evaluation | None = None) -> Try:
    """Return what an outcome says in one line, with what its evaluation concludes."""
    decision, result = outcome.decision, outcome.result
    answer = answer_text(outcome) or ""
    deed = deed_of(outcome, answer)
    told = evaluation if evaluation and evaluation.is_by_model else None
    judged = told if told and told.judge.name != OFFLINE else None
    grounds = tuple(dict.fromkeys(_grounds(decision.reasoning)))[:_GROUNDS]
    return Try(
        id=outcome.id,
        at=outcome.occurred_at,
        domain=outcome.domain,
        action=decision.action,
        target=decision.target,
        trust=outcome.trust,
        status=result.status,
        score=result.score,
        deed=deed,
        result=result_of(outcome, "" if deed == f"Answered {answer}" else answer),
        error=error_of(outcome),
        answer=answer,
        advice=tuple(_advice(outcome, told)),
        insight=(told and told.key_insight) or "",
        strengths=judged.strengths if judged else (),
        weaknesses=judged.weaknesses if judged else (),
        grounds=grounds,
        observed=_observed(outcome, _figures_of(" ".join(grounds))),
    )


def _grounds(reasoning: str) -> Iterator[str]:
    """The claims of a note; what a transcript claims on its way is no ground of a decision."""
    return grounds_of(reasoning) if is_note(reasoning) else iter(())


def _figures_of(text: str) -> set[str]:
    return {plain_figure(match) for match in FIGURE.findall(text)}


def _observed(outcome: Outcome, figures: set[str]) -> tuple[str, ...]:
    """The figures that the context or the result holds."""
    if not figures:
        return ()
    result = outcome.result
    context = (str(value) for value in outcome.context.values() if value is not None)
    said = " ".join([*context, result.summary, result.evidence[-_EVIDENCE:]])
    return tuple(sorted(figures & _figures_of(said)))


def _advice(outcome: Outcome, told: Evaluation | None) -> Iterator[Advice]:
    """A person's correction, then a lesson, then the judge's better approach."""
    if correction := _correction(outcome):
        yield Advice(text=correction, by="person")
    if outcome.lesson:
        yield Advice(
            text=lesson_sentence(outcome.lesson),
            by="person" if outcome.observer == "person" else "agent",
            supposed=outcome.observer != "person" and outcome.is_lesson_supposed,
        )
    if told and told.better_approach:
        yield Advice(text=_as_sentence(told.better_approach), by="judge")


def _correction(outcome: Outcome) -> str:
    """A person's next words as far as they say what to do instead; "" where they only refuse."""
    result = outcome.result
    if result.status != "failure" or not result.summary.startswith(NEXT_WORDS):
        return ""
    words = result.summary.removeprefix(NEXT_WORDS)
    said = (_REFUSAL.sub("", part) for part in re.split(r"(?<=[.!;])\s+", words))
    told = (part for part in said if len(part.split()) > 2)
    return next((_as_sentence(part) for part in told if rank_of(part) >= Rank.DEED), "")


def lesson_sentence(lesson: Lesson) -> str:
    """A lesson as one imperative sentence: when W, do D, because B."""
    when = _WHEN.sub("", _as_clause(lesson.when))
    because = _BECAUSE.sub("", _as_clause(lesson.because))
    do = _as_clause(lesson.do)
    if not do:
        do = f"mind that {_lowered(because)}" if because else "take care"
        because = ""
    opening = f"When {_lowered(when)}, {_lowered(do)}" if when else do
    return _as_sentence(f"{opening}, because {_lowered(because)}" if because else opening)


def _as_clause(text: str) -> str:
    return " ".join(text.split()).rstrip(".;,")


def _lowered(text: str) -> str:
    """A clause as it stands within a sentence: names and acronyms keep their capital."""
    first = text.partition(" ")[0]
    plain = first[1:].islower() or first in ("A", "I")
    known = len(split_sentences(text)) > 1 or not plain or first == "I"
    return text if known else text[:1].lower() + text[1:]


def _as_sentence(text: str) -> str:
    """A text as a sentence: capital and full stop."""
    line = _as_clause(text)
    head = line[:1].upper() if line.partition(" ")[0].isalpha() else line[:1]
    return f"{head}{line[1:]}{'' if line.endswith(('!', '?', '。')) else '.'}"


def result_of(outcome: Outcome, answer: str = "") -> str:
    """Return what came of it; "" where nothing is recorded but the status."""
    words = _result_words(outcome)
    score = outcome.result.score
    if score is None:
        return words or (answer and f"answered {answer}") or _line(outcome.result.summary)
    figure = format_percent(score)
    if not words:
        return f"{figure}, answered {answer}" if answer else figure
    return words if figure in words else f"{figure}: {words}"


def error_of(outcome: Outcome) -> str:
    """The signature of what went wrong; "" unless it failed and its result says why."""
    if outcome.result.status != "failure":
        return ""
    fault = fault_of(outcome) if outcome.result.score is not None else describe_cause(outcome)
    is_sign = fault and not _EXIT.match(fault) and not fault.startswith(NEXT_WORDS)
    return signature(fault) if fault and is_sign else ""


def _result_words(outcome: Outcome) -> str:
    """The result in words, its summary before the line of evidence that says most."""
    failed = outcome.result.status == "failure"
    fault, summary = fault_of(outcome) if failed else None, _summary(outcome)
    if fault is None:
        return _line(summary or next(_telling_lines(outcome), ""))
    both = f"{summary.rstrip('.')}: {_line(fault)}"
    apart = summary and fault not in summary and summary not in fault
    return both if apart and len(both) <= _BOTH else _line(fault)


def _summary(outcome: Outcome) -> str:
    """The summary, unless it is a bare verdict."""
    summary = " ".join(outcome.result.summary.split()).removeprefix(NEXT_WORDS)
    is_verdict = is_bare(summary) or (_EXIT.match(summary) and any(_telling_lines(outcome)))
    return "" if is_verdict else summary


def _telling_lines(outcome: Outcome) -> Iterator[str]:
    return (line for line in evidence_lines(outcome) if not is_bare(line))


def _line(text: str) -> str:
    """A text in one line, cut where a sentence or a clause ends."""
    return cut(" ".join(text.split()))
