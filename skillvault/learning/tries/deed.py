"""Find the deed of an outcome: what the run did, in its own words, without its advice.

A short note is used as a whole; from the transcript of a run, the closing report is used. Tries
quote the deed, so `sentences.py` ranks the sentences that may describe it.
"""

from collections.abc import Iterable, Iterator, Sequence

from skillvault.learning.tries import CUE, read_words
from skillvault.learning.tries.insight import is_new
from skillvault.learning.tries.sentences import (
    Rank,
    announces,
    conclusion_of,
    rank_of,
    split_sentences,
)
from skillvault.model.lazy import regex
from skillvault.model.reasoning import MAX_NOTE, score_statement
from skillvault.model.records import Outcome
from skillvault.model.text.text import ARROW, cut_at_clause, shorten, terms

_LIMIT = 160  # characters of a deed and of a result
_MAX_SENTENCE = 200  # characters of the main sentence; a longer one is cut
_MIN_STEPS = 3  # a text with so many announced steps is the transcript of a run
_MAX_ITEMS = 3  # items of a closing report, and attempts of a run
_REPORT = 2500  # characters at the end of a transcript that may be its closing report
_SENTENCE_END = regex(r"\s*(?:[.,;:!?。！？—–]|\s-\s)")
_RUN_ON = regex(r"(?<=[a-z]{4})\.(?=(?:The|I|All|We|I've) )")
_WORD = regex(r"[\w'’-]+")
# The words of a claim that names nothing but its own success: "All done, it works".
_SUCCESS = frozenset(read_words("success"))
_SUCCESS_CLAIM = _SUCCESS.union(read_words("claim of success"))


def deed_of(outcome: Outcome, answer: str = "") -> str:
    """Return the deed of an outcome, or "" if no text names one."""
    reasoning = outcome.decision.reasoning.strip()
    parts = split_sentences(reasoning)
    if not is_note(reasoning):
        return _transcript_deed(outcome, reasoning, answer)
    deeds = [part for part in _join_lists(parts) if not (announces(part) or _is_bare_claim(part))]
    is_named = any(rank_of(part) >= Rank.NAMED for part in deeds)
    if outcome.result.claim and (outcome.result.status == "success" or not is_named):
        sentences = [CUE["praise"].sub("", part) for part in split_sentences(outcome.result.claim)]
        # A claim of mere success is no deed.
        claims = [
            part
            for part in sentences
            if not (CUE["empty claim"].match(part) or announces(part)) and not _is_bare_claim(part)
        ]
        report = _report_items(claims, outcome)
        if report or not is_named or _best_score(claims) > _best_score(deeds):
            return report or _note_deed(claims or deeds)
    return _note_deed(deeds)


def _best_score(parts: Iterable[str]) -> float:
    return max(map(score_statement, parts), default=0.0)


def failed_attempts_of(outcome: Outcome, deed: str) -> Iterator[str]:
    """Yield what a run that worked tried before its deed, and the failure of each attempt.

    An attempt is left out if most of its words are in the deed, which then only completes it.
    """
    if outcome.result.status != "success":
        return
    for text in _attempts(outcome)[-_MAX_ITEMS:]:
        remark, _, failure = text.rpartition(ARROW)
        parts = [part for part in _join_lists(split_sentences(remark)) if not announces(part)]
        words = terms(attempt := _note_deed(parts) if parts else "")
        if words and len(words & terms(deed)) * 2 < len(words):
            yield f"{attempt.rstrip('.')}{ARROW}{failure}"


def _attempts(outcome: Outcome) -> list[str]:
    """Return the attempts that failed before the last one of a run, as its transcript has them."""
    values = outcome.result.extra.get("tried")
    return [text for text in values if isinstance(text, str)] if isinstance(values, list) else []


def _is_bare_claim(sentence: str) -> bool:
    """Return True if a sentence claims success without naming a deed."""
    words = set(_WORD.findall(sentence.casefold()))
    return words <= _SUCCESS_CLAIM and not words.isdisjoint(_SUCCESS)


def _transcript_deed(outcome: Outcome, reasoning: str, answer: str) -> str:
    """Return the closing report, the answer, or a deed, whichever exists first."""
    report = outcome.decision.report or outcome.result.claim or _closing(reasoning)
    deed = _report_items(split_sentences(report), outcome)
    deed = deed or (f"Answered {answer}" if answer else "")
    if deed or len(reasoning) >= MAX_NOTE:
        return deed
    return _note_deed([part for part in split_sentences(reasoning) if rank_of(part) >= Rank.DEED])


def is_note(reasoning: str) -> bool:
    """Return True for a short note, False for the transcript of a run."""
    if len(reasoning) >= MAX_NOTE:
        return False
    steps = sum(bool(CUE["announced step"].match(part)) for part in split_sentences(reasoning))
    return len(reasoning) <= _LIMIT or steps < _MIN_STEPS


def _note_deed(parts: Sequence[str]) -> str:
    """Return a short note, or the main sentence of a longer note and its neighbour if it fits."""
    note = _join_sentences(parts)
    if len(note) <= _LIMIT:
        return note
    ranks = [rank_of(part) for part in parts]
    index = ranks.index(max(ranks))
    main = parts[index]
    if len(main) > _LIMIT:
        return main if len(main) <= _MAX_SENTENCE else cut_text(conclusion_of(main) or main)
    # A sentence that refers back needs the sentence before it.
    windows = [(index - 1, index)] if index and CUE["refers back"].match(main) else []
    for start, end in [*windows, (index, index + 1)]:
        text = _join_sentences(parts[start : end + 1])
        if all(rank > Rank.ASIDE for rank in ranks[start : end + 1]) and len(text) <= _LIMIT:
            return text
    return main


def _join_lists(parts: Iterable[str]) -> list[str]:
    """Join each sentence that ends with a colon to the next sentence."""
    sentences: list[str] = []
    for part in parts:
        if sentences and sentences[-1].endswith(":"):
            sentences[-1] += f" {part}"
        else:
            sentences.append(part)
    return sentences


def _join_sentences(parts: Iterable[str]) -> str:
    """Join sentences with spaces, or with a semicolon after a sentence without a full stop."""
    text = ""
    for part in parts:
        text += f"{'' if not text else ' ' if text[-1] in '.!?:;。！？,' else '; '}{part}"
    return text


def cut_text(text: str) -> str:
    """Cut a text at the end of a sentence or a clause, or after a word with `…`."""
    line = cut_at_clause(text, _LIMIT, _LIMIT // 3)
    is_end = line.endswith((".", "!", "?", "。")) or _SENTENCE_END.match(text, len(line))
    return line if is_end or line == text else shorten(text, _LIMIT)


def _closing(reasoning: str) -> str:
    """Return the end of a transcript, after the last announced step."""
    end = reasoning[-_REPORT:].replace("\\n", "\n")  # in case an agent reports in JSON
    lines = _RUN_ON.sub(". ", end).splitlines()
    is_step = CUE["announced step"].match
    steps = (number for number, line in enumerate(lines) if is_step(line.strip()))
    return "\n".join(lines[max(steps, default=-1) + 1 :])


def _report_items(parts: Sequence[str], outcome: Outcome) -> str:
    """Return the most informative deeds of a report, in order, without deeds of the task."""
    deeds = (CUE["opening"].sub("", part) for part in parts)
    sentences = (CUE["saved"].sub("", deed).strip().rstrip(".;,") for deed in deeds)
    items = [
        (score_statement(part) + 2.0 * bool(CUE["method"].search(part)), position, part)
        for position, part in enumerate(dict.fromkeys(sentences))
        if (CUE["reported"].search(part) or CUE["method"].search(part))
        and not (CUE["housekeeping"].search(part) or part.endswith(":"))
        and is_new(part, outcome)
    ]
    choices: list[tuple[int, str]] = []
    for _, n, part in sorted(items, key=lambda item: (-item[0], item[1])):
        if sum(len(text) + 2 for _, text in choices) + len(part) <= _LIMIT:
            choices.append((n, part))
        if len(choices) == _MAX_ITEMS:
            break
    return "; ".join(text[0].upper() + text[1:] for _, text in sorted(choices))
