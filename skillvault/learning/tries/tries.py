"""Build the try of an outcome (deed, result, advice), and group tries with the same deed.

Accounts hold tries, and `account/statements.py` makes sentences of the groups. Groups depend on the
tries alone, not on their order of arrival.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import lru_cache

from msgspec.structs import replace

from skillvault.learning.tries import CUE
from skillvault.learning.tries.answers import answer_text
from skillvault.learning.tries.deed import cut_text, deed_of, failed_attempts_of, is_note
from skillvault.learning.tries.insight import signature
from skillvault.learning.tries.sentences import (
    FIGURE,
    Rank,
    claims_of,
    plain_figure,
    rank_of,
    split_sentences,
)
from skillvault.model.brief import Advice, Try
from skillvault.model.decision_outcomes import NEXT_WORDS
from skillvault.model.reaction import is_risky, read_reaction
from skillvault.model.reasoning import describe_cause, evidence_lines, fault_of, is_bare
from skillvault.model.records import OFFLINE, Evaluation, Lesson, Outcome
from skillvault.model.sameness.comparison import group_same
from skillvault.model.sameness.form import Form, normal_form
from skillvault.model.text.text import format_percent

_MAX_CLAIMS = 8  # claims of a reasoning in a try
_EVIDENCE = 4000  # characters at the end of the evidence to search for figures
_MAX_RESULT = 180  # characters of a summary and a line of evidence together
_CHECKS = ("tests", "exit-code", "ci", "commit")  # what they print says only that they passed
_WHEN = re.compile(r"^(?:when|if|whenever)\s+", re.IGNORECASE)
_BECAUSE = re.compile(r"^(?:because|since|as)\s+", re.IGNORECASE)


def try_of(
    outcome: Outcome, evaluation: Evaluation | None = None, *, quotes_words: bool = True
) -> Try:
    """Return the try of an outcome, with the conclusions of its evaluation.

    Without `quotes_words`, the try does not quote a person's next words. If these words judged the
    run, the try has no deed either, because nobody could tell what was wrong with the deed.
    """
    is_silent = not quotes_words and outcome.result.summary.startswith(NEXT_WORDS)
    if is_silent:
        outcome = replace(outcome, result=replace(outcome.result, summary="", evidence=""))
    decision, result = outcome.decision, outcome.result
    answer = "" if is_silent else answer_text(outcome) or ""
    deed = "" if is_silent else deed_of(outcome, answer)
    verdict = evaluation if evaluation and evaluation.is_by_model else None
    judgement = verdict if verdict and verdict.judge.name != OFFLINE else None
    # A transcript thinks aloud, so it makes no claims.
    all_claims = claims_of(decision.reasoning) if is_note(decision.reasoning) else ()
    claims = tuple(dict.fromkeys(all_claims))[:_MAX_CLAIMS]
    return Try(
        id=outcome.id,
        at=outcome.occurred_at,
        target=decision.target,
        status=result.status,
        score=result.score,
        deed=deed,
        result=_result_of(outcome, "" if deed == f"Answered {answer}" else answer),
        error=_error_of(outcome),
        answer=answer,
        advice=tuple(_advice(outcome, verdict)),
        insight=(verdict and verdict.key_insight) or "",
        strengths=judgement.strengths if judgement else (),
        weaknesses=judgement.weaknesses if judgement else (),
        claims=claims,
        tried=tuple(failed_attempts_of(outcome, deed)) if deed else (),
        observed=_recorded_figures(outcome, _figures_of(" ".join(claims))),
        unexplained=not (is_note(decision.reasoning) or _result_words(outcome)),
    )


def _figures_of(text: str) -> set[str]:
    return {plain_figure(match) for match in FIGURE.findall(text)}


def _recorded_figures(outcome: Outcome, figures: set[str]) -> tuple[str, ...]:
    if not figures:
        return ()
    result = outcome.result
    context = (str(value) for value in outcome.context.values() if value is not None)
    text = " ".join([*context, result.summary, result.evidence[-_EVIDENCE:]])
    return tuple(sorted(figures & _figures_of(text)))


def _advice(outcome: Outcome, verdict: Evaluation | None) -> Iterator[Advice]:
    """Yield a person's correction, then a lesson, then the judge's better approach."""
    if correction := _correction(outcome):
        yield Advice(text=correction, by="person")
    if outcome.lesson:
        yield Advice(
            text=lesson_sentence(outcome.lesson),
            by="person" if outcome.observer == "person" else "agent",
            supposed=outcome.observer != "person" and outcome.is_lesson_supposed,
        )
    if verdict and verdict.better_approach:
        yield Advice(text=_as_sentence(verdict.better_approach), by="judge")


def _correction(outcome: Outcome) -> str:
    """Return the sentence in a person's next words that says what to do, or ""."""
    result = outcome.result
    if result.status != "failure" or not result.summary.startswith(NEXT_WORDS):
        return ""
    rules = read_reaction(result.summary.removeprefix(NEXT_WORDS), result.claim).rules
    if any(map(is_risky, rules)):
        return ""  # such a rule waits for a person's approval
    return next(map(_as_sentence, requests_of(outcome)), "")


def requests_of(outcome: Outcome) -> Iterator[str]:
    """Yield the rules in a person's next words, or else their first request."""
    result = outcome.result
    if not result.summary.startswith(NEXT_WORDS):
        return
    words = result.summary.removeprefix(NEXT_WORDS)
    if rules := read_reaction(words, result.claim).rules:
        yield from rules
        return
    for sentence in re.split(r"(?<=[.!;])\s+", words):
        request = CUE["refusal"].sub("", sentence)
        if CUE["undoing"].match(request):
            continue  # the sentence says what should not have been done
        if len(request.split()) > 2 and rank_of(request) >= Rank.DEED:
            yield request
            return


def lesson_sentence(lesson: Lesson) -> str:
    """Return a lesson as an imperative sentence: when W, do D, because B."""
    condition = _WHEN.sub("", _as_clause(lesson.when))
    reason = _BECAUSE.sub("", _as_clause(lesson.because))
    request = _as_clause(lesson.do)
    if not request:
        request = f"mind that {_lower_first(reason)}" if reason else "take care"
        reason = ""
    opening = f"When {_lower_first(condition)}, {_lower_first(request)}" if condition else request
    return _as_sentence(f"{opening}, because {_lower_first(reason)}" if reason else opening)


def _as_clause(text: str) -> str:
    return " ".join(text.split()).rstrip(".;,")


def _lower_first(text: str) -> str:
    """Make the first letter of a clause lower case, except in a name or an acronym."""
    word = text.partition(" ")[0]
    is_plain = word[1:].islower() or word == "A"
    is_fixed = len(split_sentences(text)) > 1 or not is_plain
    return text if is_fixed else text[:1].lower() + text[1:]


def _as_sentence(text: str) -> str:
    line = _as_clause(text)
    head = line[:1].upper() if line.partition(" ")[0].isalpha() else line[:1]
    return f"{head}{line[1:]}{'' if line.endswith(('!', '?', '。')) else '.'}"


def _result_of(outcome: Outcome, answer: str = "") -> str:
    words = _result_words(outcome)
    score = outcome.result.score
    if score is None:
        is_silent = outcome.result.status == "success" or is_bare(outcome.result.summary)
        summary = "" if is_silent else _one_line(outcome.result.summary)
        return words or (answer and f"answered {answer}") or summary
    score_text = format_percent(score)
    if not words:
        return f"{score_text}, answered {answer}" if answer else score_text
    return words if score_text in words else f"{score_text}: {words}"


def _error_of(outcome: Outcome) -> str:
    if outcome.result.status != "failure":
        return ""
    cause = fault_of(outcome) if outcome.result.score is not None else describe_cause(outcome)
    if not cause or CUE["bare exit"].match(cause) or cause.startswith(NEXT_WORDS):
        return ""
    return signature(cause)


def _result_words(outcome: Outcome) -> str:
    """Return the summary with the cause of a failure, or the cause or evidence alone."""
    is_failure = outcome.result.status == "failure"
    cause, summary = fault_of(outcome) if is_failure else None, _summary(outcome)
    if cause is None:
        is_passed = outcome.result.status == "success" and outcome.observer in _CHECKS
        is_passed |= _is_praised(outcome)
        return _one_line(summary or ("" if is_passed else next(_telling_lines(outcome), "")))
    joined_text = f"{summary.rstrip('.')}: {_one_line(cause)}"
    is_different = summary and cause not in summary and summary not in cause
    return joined_text if is_different and len(joined_text) <= _MAX_RESULT else _one_line(cause)


def _summary(outcome: Outcome) -> str:
    if _is_praised(outcome):
        return ""  # the status says the same
    summary = " ".join(outcome.result.summary.split()).removeprefix(NEXT_WORDS)
    is_exit = CUE["bare exit"].match(summary) and any(_telling_lines(outcome))
    return "" if is_exit or is_bare(summary) else summary


def _is_praised(outcome: Outcome) -> bool:
    result = outcome.result
    return result.status == "success" and result.summary.startswith(NEXT_WORDS)


def _telling_lines(outcome: Outcome) -> Iterator[str]:
    return (line for line in evidence_lines(outcome) if not is_bare(line))


def _one_line(text: str) -> str:
    """Return a text on one line, cut at the end of a sentence or a clause."""
    return cut_text(" ".join(text.split()))


# ── groups of tries ──────────────────────────────────────────────────────────────────


def group_by_deed(tries: Iterable[Try]) -> list[list[Try]]:
    """Group tries with the same deed, by time; a try without a deed is a group of its own."""
    return _group_tries(tries, figures=True)


def group_by_kind(tries: Iterable[Try]) -> list[list[Try]]:
    """Group tries whose deeds differ only in figures."""
    return _group_tries(tries, figures=False)


def _group_tries(tries: Iterable[Try], *, figures: bool) -> list[list[Try]]:
    ordered_tries = sorted(tries, key=_time_order)
    deed_tries = [attempt for attempt in ordered_tries if attempt.deed]
    forms = [_deed_form(_comparable_deed(t), t.target or "", figures=figures) for t in deed_tries]
    groups = [[deed_tries[index] for index in indices] for indices in group_same(forms)]
    groups += [[attempt] for attempt in ordered_tries if not attempt.deed]
    return sorted(groups, key=lambda group: _time_order(group[0]))


def _time_order(attempt: Try) -> tuple[datetime, str]:
    return attempt.at, attempt.id


def _comparable_deed(attempt: Try) -> str:
    text = attempt.deed
    for claim in attempt.claims if attempt.observed else ():
        plain_claim = FIGURE.sub(
            lambda match: " " if plain_figure(match[0]) in attempt.observed else match[0], claim
        )
        text = text.replace(claim, plain_claim)
    return text


@lru_cache(maxsize=8192)  # because a guide compares all its tries again
def _deed_form(deed: str, target: str, *, figures: bool) -> Form:
    """Return the form of a deed without its target, or its ticker (`SOL` of `SOL-PERP`)."""
    text = deed
    ticker = re.split(r"[-/_:]", target)[0]
    names = (target, ticker if ticker.isupper() and len(ticker) > 1 else "")
    for name in filter(None, names):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", " ", text, flags=re.IGNORECASE)
    return normal_form(text, figures=figures)
