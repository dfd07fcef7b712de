"""Find statements in the reasoning of a decision: guesses, checks, risks, claims.

A statement is a literal part of the text. The patterns are in `reasoning.txt`.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from skillvault.model.lazy import regex
from skillvault.model.records import Outcome
from skillvault.model.text.tables import read_patterns
from skillvault.model.text.text import sentences

_FLAGS = re.IGNORECASE
_CUES = read_patterns("skillvault.model", "reasoning.txt")
_GUESS = tuple((weight, _CUES[f"guess {weight}"]) for weight in (5, 4, 3, 2, 1))
_PATH = regex(r"`?/[\w./-]+`?")
_FIGURE = regex(r"\d[\d.,]*\s?%?")
_CODE = regex(
    r"`[^`]+`|\{\{[^}]+\}\}|\b\w+\.(?:py|xlsx|json|docx|pdf|md|ts|js)\b|\b\w+_\w+\b|\w+\(\)"
)
_NAME = regex(r"(?<=[\w,;] )[A-Z][\w-]*[A-Za-z]|\b[A-Z]{2,}\b|\"[^\"]{3,}\"")
_CONCRETE = regex(
    r"\d|`[^`]+`|\"[^\"]{1,60}\"|\{\{|\b[A-Z]{2,}\b|\b\w+_\w+\b|\b[A-Z][a-z]+[A-Z]\w*\b"
    r"|\b\w+\.(?:py|js|ts|xlsx|json|docx|pptx|pdf|csv|md|xml)\b"
)
PRAISE = _CUES["praise"]
_MIN_BYTES, _MAX_LENGTH = 15, 220  # bytes and characters of a statement
MAX_NOTE = 1200  # characters; a longer text is the report of a whole run
_MIN_STEPS = 3  # announced steps that make a text a transcript


# (weight, sign of the cause of a failure in a line of evidence)
_CAUSE_SIGNS = (
    (3, regex(
        r"\b[\w.]*[A-Z]\w*(?:Error|Exception|Violation|Available|Denied|Refused|Timeout)\w*: |错误"
        r"|^[a-z_]\w*\.[\w.]*[A-Z]\w+: "
    )),
    (2, regex(r"==|!=|\bexpected\b|\bmismatch\b", _FLAGS)),
    (2, regex(r"error\b|exception|assert|refused|denied", _FLAGS)),
    (1, regex(r"fail|error|timeout|失败", _FLAGS)),
    (-2, regex(r"^FAILED \S+(?: \([^)]*\))?$")),
    (-1, regex(r"^\W*\d+ failed\b")),
)  # fmt: skip
# A verifier's bare verdict only repeats the status.
_BARE_VERDICT = regex(
    r"^(?:verifier )?(?:reward|score|status|result)?\W*+(?:\d[\d.]*+\W*+)?$"
    r"|^(?:fail|pass)(?:ed)?\W*+$",
    re.IGNORECASE,
)
_REASON_KEYS = ("exit_reason", "reason", "error", "cause")


class Reading(NamedTuple):
    """The statements of a reasoning by kind, the most informative first.

    The `announced` steps were perhaps not taken. `unchecked` are assumptions that were not checked,
    and `exposed` steps have no way out. `found` are observations, `discoveries` unexpected ones in
    the order of the text. `hype` claims certainty, `claim` the success, and `unfinished` is the
    last step, which was only announced. In a transcript the agent thinks aloud, so its guesses and
    risks are not reasons for a decision.
    """

    guesses: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    announced: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    discoveries: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    plans: tuple[str, ...] = ()
    exposed: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    hype: tuple[str, ...] = ()
    claim: str | None = None
    unfinished: str | None = None
    thesis: str | None = None
    size: int = 0
    is_transcript: bool = False
    statements: tuple[str, ...] = ()


@lru_cache(maxsize=4096)  # the verdict, the insight and each account of its subject read it
def read_reasoning(reasoning: str) -> Reading:
    """Return the statements of a reasoning, a note or the transcript of a run."""
    parts = _split(reasoning)
    size = sum(map(len, parts))
    unfinished = _unfinished_step(parts)
    unchecked = _matching(parts, _CUES["unchecked"])
    exposed = _matching(parts, _CUES["exposed"])
    checks = _exclude(_matching(parts, _CUES["check"]), unchecked)
    announced = tuple(text for text in checks if _is_announcement(text))
    checks = _exclude(checks, announced)
    return Reading(
        guesses=_guesses(parts),
        unchecked=unchecked,
        checks=tuple(text for text in checks if not _CUES["exists"].search(text)),
        announced=announced,
        found=_without_announcements(_matching(parts, _CUES["found"])),
        discoveries=tuple(dict.fromkeys(filter(None, map(_discovery, parts)))),
        risks=_matching(parts, _CUES["risk"]),
        alternatives=_exclude(_matching(parts, _CUES["alternative"]), unchecked),
        plans=_exclude(_matching(parts, _CUES["plan"]), exposed),
        exposed=exposed,
        reasons=_without_announcements(_matching(parts, _CUES["why"])),
        conditions=_matching(parts, _CUES["if"]),
        # In a long transcript `definitely` is a manner of speaking, not a ground.
        hype=_matching(parts, _CUES["hype"], min_bytes=1) if size < MAX_NOTE else (),
        claim=None if unfinished else _claim(parts),
        unfinished=unfinished,
        thesis=next(iter(_rank((score_statement(p), p) for p in parts if _fits(p))), None),
        size=size,
        is_transcript=size >= MAX_NOTE or _count_steps(parts) >= _MIN_STEPS,
        statements=tuple(dict.fromkeys(parts)),
    )


@lru_cache(maxsize=4096)
def read_statements(reasoning: str) -> tuple[str, ...]:
    """Return the statements of a reasoning that are neither too short nor too long, in order."""
    return tuple(dict.fromkeys(part for part in _split(reasoning) if _fits(part)))


def evidence_lines(outcome: Outcome) -> list[str]:
    """Return the distinct lines of evidence, without the `E` margin of a test runner."""
    return _printed_lines(outcome.result.evidence)


def _printed_lines(output: str) -> list[str]:
    lines = (re.sub(r"^E\s{2,}", "", line).strip() for line in output.splitlines())
    return [line for line in dict.fromkeys(lines) if re.search(r"\w", line)]


def describe_cause(outcome: Outcome) -> str | None:
    """Return the cause of the result in a few words, or None if the result names no cause."""
    lines = evidence_lines(outcome)
    candidates = (
        fault_of(outcome),
        *(text for text in (outcome.result.summary, *lines[:1]) if not is_bare(text)),
    )
    return next((text for text in candidates if text and text.strip()), None)


def fault_of(outcome: Outcome) -> str | None:
    """Return the most informative line of evidence about the failure, or the stated reason."""
    if line := fault_line(outcome.result.evidence):
        return line
    reasons = (outcome.result.extra.get(key) for key in _REASON_KEYS)
    return next((value for value in reasons if isinstance(value, str) and value.strip()), None)


def fault_line(output: str) -> str | None:
    """Return the line of a command's output that says most about a failure, or None."""
    line = max(_printed_lines(output), key=_cause_weight, default="")
    return line if _cause_weight(line) else None


def is_bare(text: str) -> bool:
    """Return True if a verdict only repeats the status."""
    return _BARE_VERDICT.match(text.strip()) is not None


def _cause_weight(line: str) -> int:
    return sum(weight for weight, cue in _CAUSE_SIGNS if cue.search(line))


def is_concrete(statement: str) -> bool:
    """Return True if a statement names a number, code, a quotation or an identifier."""
    return bool(_CONCRETE.search(statement))


def is_narration(statement: str) -> bool:
    """Return True if a statement announces a step or ends with a colon."""
    return bool(_CUES["step"].match(statement)) or statement.rstrip("* ").endswith((":", "："))


def is_praise(statement: str) -> bool:
    """Return True if a statement praises the agent's own work."""
    return _CUES["praised"].search(statement) is not None


def score_statement(statement: str) -> float:
    """Score a statement by its numbers, names and code. A very short or long one scores less."""
    figures, code = len(_FIGURE.findall(statement)), len(_CODE.findall(statement))
    score = 2.0 * min(figures, 3) + 1.5 * min(code, 3) + min(len(_NAME.findall(statement)), 3)
    score += 1.0 if _CUES["why"].search(statement) else 0.0
    if not 25 <= len(statement) <= 160:
        score -= 1.5
    return score - (4.0 if _CUES["restated"].search(statement) else 0.0)


def _split(reasoning: str) -> list[str]:
    """Return the sentences of a reasoning in order, without list marks, headings or code blocks."""
    prose = re.sub(r"```.*?(?:```|\Z)", "\n\n", reasoning, flags=re.DOTALL)
    prose = re.sub(r"\n\s*\n", "\n\n", prose)  # so that an empty line is matched once
    lines = re.sub(r"\n(?=\s*(?:#|\|))", "\n\n", prose)
    # An item ends where its line ends, even when the next line is prose.
    lines = re.sub(r"(?m)^(\s*(?:[-*+]|\d+[.)])\s.*)$", r"\1\n", lines)
    cleaned_sentences = (re.sub(r"^(?:[-*+✓✅•]|\d+[.)]|#+)\s+", "", s) for s in sentences(lines))
    return [s for s in cleaned_sentences if re.search(r"\w", s)]


def _rank(statements: Iterable[tuple[float, str]]) -> tuple[str, ...]:
    """Return the distinct statements by score, highest first. Ties keep their order."""
    ranking = sorted(statements, key=lambda statement: -statement[0])
    return tuple(dict.fromkeys(text for _, text in ranking))


def _fits(part: str, min_bytes: int = _MIN_BYTES) -> bool:
    # In bytes, because five characters of a script without spaces say as much as fifteen letters.
    return min_bytes <= len(part.encode()) and len(part) <= _MAX_LENGTH


def _matching(
    parts: Sequence[str], cue: re.Pattern[str], min_bytes: int = _MIN_BYTES
) -> tuple[str, ...]:
    return _rank((score_statement(p), p) for p in parts if _fits(p, min_bytes) and cue.search(p))


def _exclude(statements: Sequence[str], excluded: Sequence[str]) -> tuple[str, ...]:
    return tuple(text for text in statements if text not in excluded)


def _without_announcements(statements: Sequence[str]) -> tuple[str, ...]:
    return tuple(text for text in statements if not _is_announcement(text))


def _guesses(parts: Sequence[str]) -> tuple[str, ...]:
    """Return the guesses except questions, sorted by the strength of their sign, then by score."""
    scored_guesses = []
    for part in parts:
        signs = [weight for weight, cue in _GUESS if cue.search(part)]
        if max(signs, default=0) <= 2 and _CUES["risk"].search(part):
            continue  # "it might break" is a risk
        # "Not sure if available." does not say what was guessed.
        is_vague = len(part) < 30 and max(signs, default=0) < 5 and part.isascii()
        if (
            signs
            and _fits(part)
            and not is_vague
            and not part.endswith("?")
            and not _CUES["step"].match(part)
        ):
            scored_guesses.append((2.0 * max(signs) + score_statement(part), part))
    return _rank(scored_guesses)


def _unfinished_step(parts: Sequence[str]) -> str | None:
    """Return the last step that a run announced, or None if it was taken."""
    if _count_steps(parts) < _MIN_STEPS:
        return None  # a plan may end with an intention
    for part in reversed(parts[-3:]):
        if match := _CUES["waiting"].search(part):
            return match[0]
        if _CUES["step"].match(part):
            return part
        if _CUES["claim"].search(part):
            return None
    return None


def _count_steps(parts: Sequence[str]) -> int:
    return sum(bool(_CUES["step"].match(part)) for part in parts)


def _discovery(part: str) -> str | None:
    """Return the observation in a sentence, without words such as "it turned out that".

    Return None if the sentence is no unexpected observation.
    """
    core = _CUES["lead"].sub("", part.replace("**", ""), count=1).rstrip(" *-–")
    core = re.sub(r"^(?:[ *]|[-–](?![\d.$€£¥]))+", "", core)
    if part.endswith((":", "?", "？")) or not _fits(core, 20) or _CUES["leans"].search(core):
        return None
    if _CUES["unsettled"].search(core) or PRAISE.search(core):
        return None
    is_assertion = all(cue.search(core) for cue in (_CONCRETE, _CUES["asserts"]))
    return core if is_assertion and _CUES["otherwise"].search(part) else None


def _claim(parts: Sequence[str]) -> str | None:
    """Return the claim with the highest score at the end of the text, or None."""
    if len(parts) < 5:
        return None
    last_parts = parts[-max(3, len(parts) // 4) :]
    claims = _rank(
        (score_claim(p), p)
        for p in last_parts
        if _CUES["claim"].search(p) and _fits(p, 8) and " | " not in p
    )
    return next((c for c in claims if not _is_announcement(c)), None)


def _is_announcement(claim: str) -> bool:
    return is_narration(claim) or _CUES["restated"].search(claim) is not None


def score_claim(claim: str) -> float:
    """Score a claim by the results that it states. Paths do not count."""
    statement = _PATH.sub("", claim)
    penalty = 3.0 if is_praise(claim) else 0.0
    return score_statement(statement) + 2.0 * min(len(_FIGURE.findall(statement)), 4) - penalty


def claims_success(report: str) -> bool:
    """Return True if a report claims success and mentions no failure."""
    is_claimed = PRAISE.search(report) or _CUES["done"].search(report)
    return bool(is_claimed) and not _CUES["not done"].search(report)
