"""The deed of an outcome: what the run did, in its own words, never what it advises."""

import re
from collections.abc import Iterable, Sequence

from skillvault.learning.tries import words_pattern
from skillvault.learning.tries.insight import is_new
from skillvault.learning.tries.sentences import (
    Rank,
    announces,
    conclusion_of,
    rank_of,
    refers_back,
    split_sentences,
)
from skillvault.model.lazy import regex
from skillvault.model.reasoning import MAX_NOTE, score_statement
from skillvault.model.records import Outcome
from skillvault.model.text.text import cut_at_clause, shorten

_LIMIT = 160  # characters of a deed and of a result
_SENTENCE = 200  # characters of a sentence that is not cut
_ENDS = regex(r"\s*(?:[.,;:!?。！？—–]|\s-\s)")
_STEPS = 3  # announced ones that make a text the transcript of a run
_ITEMS = 3  # of a closing report
_REPORT = 2500  # characters at the end of a transcript in which its closing report stands
_LEADING = regex(
    r"^(?:(?:i|we)(?:'ve|’ve| have)?\s+(?:successfully\s+|now\s+)*(?=\w+ed\b|ran|took|set|put|made)"
    r"|successfully\s+|(?:here's|here is) (?:what|a)\b.*?:\s*|✅\s*|✓\s*)+",
    re.IGNORECASE,
)
_REPORTED = regex(rf"^{words_pattern('reported')}\b", re.IGNORECASE)
_METHOD = regex(r"\b(?:by \w+ing|using|instead of|with formulas?)\b", re.IGNORECASE)
_HOUSEKEEPING = regex(
    r"^(?:saved|read|loaded|extracted|created|re-?packed|re-?packaged|opened|generated|validated"
    r"|verified|let me|now i|\d)\b|^\w+ (?:it|them)\b|\b(?:saved|written|created) (?:as|to|at)\b"
    r"|\bready (?:for|to)\b|!$",
    re.IGNORECASE,
)
_SAVED = regex(r",? and (?:\S+ ){0,6}(?:saved|written) (?:as|to|at)\b.*$", re.IGNORECASE)
_STEP = regex(
    r"(?:[\w!, -]{0,40}[!.,] )?(?:now )?"
    r"(?:let me\b|let's|i'll|i need to|we need|we should|need to)",
    re.IGNORECASE,
)
_RUN_ON = regex(r"(?<=[a-z]{4})\.(?=(?:The|I|All|We|I've) )")
# A word of the request, or of courtesy.
_EMPTY_CLAIM = regex(
    r"^(?:\w+|you are welcome|you're welcome|all (?:is |tests )?\w+|(?:that |it )?looks? \w+)\W*$",
    re.IGNORECASE,
)
_SURE = regex(
    r"^(?:everything|both|tests?|it|all)(?: \w+)? (?:works?|pass(?:es)?|is|are)\b", re.IGNORECASE
)
# The words of a claim that names nothing but its own success: "All done, it works".
_SUCCESS = frozenset(
    "complete completed correctly done expected fine finished fixed good great green implemented"
    " ok okay pass passed passes passing perfect perfectly ready successful successfully work"
    " worked working works".split()
)
_CLAIMING = _SUCCESS | frozenset(
    "a again all also and are as be been changes everything has have i in is it its job list"
    " looks me my no now of on requested should so task test tests that the they this to up very"
    " was we well were with you your".split()
)
_WORD = regex(r"[\w'’-]+")
_PRAISE = regex(
    r"^(?:all (?:\w+ )?tests pass(?: now)?|done|fixed|ok)[:;,.!]\s+(?=\w)", re.IGNORECASE
)


def deed_of(outcome: Outcome, answer: str = "") -> str:
    """Return the deed of an outcome; "" if no text names one."""
    reasoning = outcome.decision.reasoning.strip()
    parts = split_sentences(reasoning)
    if not is_note(reasoning):
        return _transcript_deed(outcome, reasoning, answer)
    deeds = [part for part in _join_lists(parts) if not (announces(part) or _is_bare_claim(part))]
    if outcome.result.claim and not any(rank_of(part) >= Rank.NAMED for part in deeds):
        sentences = [_PRAISE.sub("", part) for part in split_sentences(outcome.result.claim)]
        # A claim that names nothing but its own success is no deed.
        claims = [
            part
            for part in sentences
            if not (_EMPTY_CLAIM.match(part) or _SURE.search(part) or announces(part))
            and not _is_bare_claim(part)
        ]
        return _report_items(claims, outcome) or _note_deed(claims or deeds) or _log_text(outcome)
    return _note_deed(deeds) or _log_text(outcome)


def _is_bare_claim(sentence: str) -> bool:
    """Return True if a sentence claims success without naming a deed."""
    words = set(_WORD.findall(sentence.casefold()))
    return words <= _CLAIMING and not words.isdisjoint(_SUCCESS)


def _transcript_deed(outcome: Outcome, reasoning: str, answer: str) -> str:
    """Return the closing report, the answer, the tool log, or a deed of a short transcript."""
    report = outcome.decision.report or outcome.result.claim or _closing(reasoning)
    account = _report_items(split_sentences(report), outcome) or (
        f"Answered {answer}" if answer else ""
    )
    if account or len(reasoning) >= MAX_NOTE:
        return account or _log_text(outcome)
    deeds = [part for part in split_sentences(reasoning) if rank_of(part) >= Rank.DEED]
    return _log_text(outcome) or _note_deed(deeds)


def is_note(reasoning: str) -> bool:
    """Return True for a short note, False for the transcript of a run."""
    if len(reasoning) >= MAX_NOTE:
        return False
    steps = sum(bool(_STEP.match(part)) for part in split_sentences(reasoning))
    return len(reasoning) <= _LIMIT or steps < _STEPS


def _note_deed(parts: Sequence[str]) -> str:
    """Return a short note, or the main sentence of a longer note with its neighbour."""
    note = _join_sentences(parts)
    if len(note) <= _LIMIT:
        return note
    ranks = [rank_of(part) for part in parts]
    index = ranks.index(max(ranks))
    main = parts[index]
    if len(main) > _LIMIT:
        return main if len(main) <= _SENTENCE else cut_text(conclusion_of(main) or main)
    # A sentence that refers back takes the previous one rather than the next.
    windows = [(index - 1, index)] if index and refers_back(main) else []
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
    """Join sentences; a sentence without a stop gets a semicolon."""
    text = ""
    for part in parts:
        text += f"{'' if not text else ' ' if text[-1] in '.!?:;。！？,' else '; '}{part}"
    return text


def cut_text(text: str) -> str:
    """Cut a text at the end of a sentence or a clause, else after a word with `…`."""
    line = cut_at_clause(text, _LIMIT, _LIMIT // 3)
    is_whole = line == text or line.endswith((".", "!", "?", "。")) or _ENDS.match(text, len(line))
    return line if is_whole else shorten(text, _LIMIT)


def _log_text(outcome: Outcome) -> str:
    """Return the changes in the tool log of a transcript."""
    changes = outcome.result.extra.get("done")
    return cut_text(changes) if isinstance(changes, str) else ""


def _closing(reasoning: str) -> str:
    """Return the end of a transcript, after the last announced step."""
    end = reasoning[-_REPORT:].replace("\\n", "\n")  # as of an agent that reports in JSON
    lines = _RUN_ON.sub(". ", end).splitlines()
    steps = (number for number, line in enumerate(lines) if _STEP.match(line.strip()))
    return "\n".join(lines[max(steps, default=-1) + 1 :])


def _report_items(parts: Sequence[str], outcome: Outcome) -> str:
    """Return the most informative deeds of a report that its task does not name, in order."""
    sentences = (_SAVED.sub("", _LEADING.sub("", part)).strip().rstrip(".;,") for part in parts)
    items = [
        (score_statement(part) + 2.0 * bool(_METHOD.search(part)), n, part)
        for n, part in enumerate(dict.fromkeys(sentences))
        if (_REPORTED.search(part) or _METHOD.search(part))
        and not (_HOUSEKEEPING.search(part) or part.endswith(":"))
        and is_new(part, outcome)
    ]
    choices: list[tuple[int, str]] = []
    for _, n, part in sorted(items, key=lambda item: (-item[0], item[1])):
        if sum(len(text) + 2 for _, text in choices) + len(part) <= _LIMIT:
            choices.append((n, part))
        if len(choices) == _ITEMS:
            break
    return "; ".join(text[0].upper() + text[1:] for _, text in sorted(choices))
