"""Statements read out of a decision's reasoning: what was guessed, checked, weighed, claimed.

Every statement is a fragment of the text as it was written, so that a reader finds it.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from skillvault.model.lazy import regex
from skillvault.model.records import Outcome
from skillvault.model.text.text import sentences

_FLAGS = re.IGNORECASE
_UNCHECKED = regex(
    r"\b(?:can't|cannot|can not|could(?: not|n't)|unable to|no way to)\s+(?:easily\s+)?"
    r"(?:verify|check|confirm|test|validate)"
    r"|\bassum(?:e|ing) (?:success|that it|it (?:work|is)|correct)"
    r"|\bwithout (?:checking|verifying|testing|looking)"
    r"|\b(?:not|never) (?:verified|tested|checked|validated|reproduced)\b"
    r"|\b(?:instead of|rather than|without|skip(?:ped|ping)?|no time (?:to|for))\s+(?:\w+\s+){0,2}"
    r"(?:check|verif|test|reproduc|measur|validat|confirm)\w*|无法验证|未验证|没有检查",
    _FLAGS,
)
_EXPOSED = regex(
    r"\b(?:no|without(?: an?y?)?|never (?:set|use)|not (?:set|setting|using)(?: an?y?)?)\s+"
    r"(?:hard |mental )?(?:stop|hedge|exit|rollback|limit|backup)\b"
    r"|\bstop(?:-loss)? (?:later|afterwards)\b"
    r"|(?:没有|未|不设|不做)\S{0,4}(?:止损|回滚|备份)",
    _FLAGS,
)
# The surer the sign of a guess, the higher it stands.
_GUESS = tuple(
    (weight, regex("|".join(cues), _FLAGS))
    for weight, cues in (
        (5, (r"\bassum(?:e|es|ed|ing|ption)\b", r"\bpresum(?:e|ably|ed)\b", "假设|假定")),
        (4, (r"\bnot sure\b|\bunsure\b|\bno idea\b", r"\bguess|\bhope(?:fully)?\b", "不确定|估计")),
        (3, (r"\bprobably\b|\bsimplif(?:y|ying|ied)\b", r"\bshould be (?:fine|ok)", "大概|应该")),
        (2, (r"\blikely\b|\bi think\b(?! i should)|\bgood enough\b", "也许|或许|可能")),
        (1, (r"\bmaybe\b|\bmight\b|\bperhaps\b",)),
    )
)
_CHECK = regex(
    r"\b(?:re-?)?(?:verif(?:y|ied|ies|ying|ication)|validat(?:e|ed|es|ing|ion))\b"
    r"|\bdouble-check|\bconfirm(?:ed|s|ing)?\b|\brecalculat|\breconcil|\bcross-?check"
    r"|\b(?:zero|no|0) errors?\b|\btests? pass|\bassert\b|\breproduc(?:e|ed|es|ing)\b"
    r"|验证|检查|核对|确认",
    _FLAGS,
)
_FOUND = regex(
    r"\b(?:the|an?|one) (?:\w+ )?(?:issue|problem|bug|cause|mistake|catch)\b|\bturns out\b"
    r"|\b(?:correct|robust|right|safe\w*) (?:approach|way|order|fix)\b|\brather than\b"
    r"|\binstead of\b|\bcritical\b|\bactual(?:ly)? \w+ (?:is|are|was)\b"
    r"|\bi notice|问题|原因|而不是",
    _FLAGS,
)
_WHY = regex(
    r"\b(?:because|since|due to|given that|as long as|so that|therefore|hence)\b|因为|由于|所以",
    _FLAGS,
)
_IF = regex(r"\b(?:if|when|while|unless|until|above|below|once|as soon as)\b|如果|当", _FLAGS)
_RISK = regex(
    r"\brisk|\bdownside\b|\bdanger|\bcareful\b|\bedge case|\bworst\b|\bcould (?:fail|break|reverse)"
    r"|\bmight (?:fail|break|reverse)|\bagainst (?:me|us|it)\b|\bsqueeze\b|\bliquidat|\bdespite\b"
    r"|\bhowever\b|\binvalid(?:ate|ated|ates|ation)\b|\bcounter|风险|小心|但是|然而",
    _FLAGS,
)
_ALTERNATIVE = regex(
    r"\balternative|\banother (?:approach|option|way)\b|\binstead\b|\brather than\b"
    r"|\boption [ab12]\b|\bother(?:wise| option| way)\b|\bconsidered\b|\bor wait\b"
    r"|\bcompared (?:to|with)\b|\bversus\b|\bvs\b|替代|另一种|相比",
    _FLAGS,
)
_PLAN = regex(
    r"\bstop(?:-| )?(?:loss|s|out)?\b|\bexit\b|\btake[- ]profit\b|\bhedge|\blimit\b|\bcap(?:ped)?\b"
    r"|\bsmall(?:er)? size|\bscale (?:in|out)\b|\broll ?back\b|\brevert\b|\btests? first\b"
    r"|止损|退出",
    _FLAGS,
)
_HYPE = regex(
    r"\ball[- ]?in\b|\bmoon|\bcan(?:'t|not) (?:lose|fail|go wrong)|\bguarantee|\bno[- ]brainer\b"
    r"|\beasy money\b|\bfree money\b|\byolo\b|\bfomo\b|\b100 ?% sure\b|\bdefinitely\b|\bobviously\b"
    r"|\bno (?:need to|risk)\b|\btrust me\b|\bgut feeling\b|\bsure thing\b|稳赚|肯定",
    _FLAGS,
)
_CLAIM = regex(
    r"\bsuccessful|\bcompleted?\b|\bhas been\b|\bhave been\b|\bis (?:now )?ready\b|\bpassed\b"
    r"|\bfixed\b|\banswer\b|\bsaved\b|\bzero errors\b|\ball \d+|\bresults?\b|\bproperly\b"
    r"|完成|成功",
    _FLAGS,
)
_STEP = regex(
    r"^(?:now,? |next,? |first,? |great[!,]? |good[!,]? |perfect[!,]? )?"
    r"(?:let me(?! know)|let's|i'll|i will|i need to|i should|we need to|we'll|now i)\b",
    _FLAGS,
)
_WAITING = regex(r"\bwait(?:ing)? for\b[^.,:;]{0,28}(?<=\w)\b", _FLAGS)
_EXISTS = regex(
    r"\b(?:file|output|report|result|answer|document)s?\b.{0,30}\b(?:exists?|created|written|saved)\b"
    r"|\b(?:created|written|saved) (?:correctly|successfully)",
    _FLAGS,
)
_PATH = regex(r"`?/[\w./-]+`?")
_RESTATED = regex(
    r"^(?:[-*+\d.)\s]*)(?:the user|user wants|this is\b|i need to|we need to|let me|i'll|i should"
    r"|let's|now\b|first\b|step \d|the task|write |read |extract |the output should|need\b|wait,"
    r"|proceed|return )"
    r"|\bskills? (?:since|because|for this|to )|\bshould use the\b",
    _FLAGS,
)
_FIGURE = regex(r"\d[\d.,]*\s?%?")
_CODE = regex(
    r"`[^`]+`|\{\{[^}]+\}\}|\b\w+\.(?:py|xlsx|json|docx|pdf|md|ts|js)\b|\b\w+_\w+\b|\w+\(\)"
)
_NAME = regex(r"(?<=[\w,;] )[A-Z][\w-]*[A-Za-z]|\b[A-Z]{2,}\b|\"[^\"]{3,}\"")
# Words that introduce a discovery.
_LEAD = regex(
    r"^(?:(?:perfect|great|good|excellent|ah|okay|ok|now|however|so|but|hmm|wait|interesting|yes"
    r"|right|actually|oh)\b[,!.:]*\s+"
    r"|(?:i|we)\s+(?:can |could |now )*(?:see|noticed?|found|find|understand|discovered|realize)\b"
    r"(?: that)?(?: the (?:issue|problem|bug|cause)(?: is)?)?"
    r"\s*(?:[:,]|[-—–](?![\d.$€£¥]))?\s*"
    r"|the (?:issue|problem|bug|(?:root |actual )?cause) (?:is|was)(?: that)?:?\s+"
    r"|(?:it )?turns out(?: that)?\s+|note(?: that)?:?\s+)*",
    _FLAGS,
)
# Signs that something is not as expected.
_OTHERWISE = regex(
    r"\b(?:issue|problem|bug|cause|turns out|actually|instead of|rather than|whereas|while|but|only"
    r"|no longer|no|missing|incomplete|offset|mismatch|isn't|is not|aren't|are not|doesn't"
    r"|does not|don't|starts? (?:at|with|in)|in row)\b|而不是|其实",
    _FLAGS,
)
_CONCRETE = regex(
    r"\d|`[^`]+`|\"[^\"]{1,60}\"|\{\{|\b[A-Z]{2,}\b|\b\w+_\w+\b|\b[A-Z][a-z]+[A-Z]\w*\b"
    r"|\b\w+\.(?:py|js|ts|xlsx|json|docx|pptx|pdf|csv|md|xml)\b"
)
_ASSERTS = regex(
    r"\b(?:is|are|was|were|has|have|had|does|do|isn't|aren't|doesn't|don't|hasn't|by \w+ing"
    r"|(?:accept|allow|begin|bind|call|come|contain|convert|count|default|depend|differ|drop|end"
    r"|exist|expect|fail|give|go|hold|ignore|include|keep|lack|list|load|make|mean|miss|need|parse"
    r"|point|raise|read|refer|reference|reject|require|return|round|run|save|set|show|skip|sort"
    r"|start|store|support|take|throw|treat|use|work|write)e?s)\b|[是有]",
    _FLAGS,
)
# A reference to earlier text, a report of the run's own work, or a label with its value.
_LEANS = regex(
    r"^(?:it|its|it's|this|that|these|those|they|there|them|my|our|i|we|so|then)\b"
    r"(?!'s (?:no|an?|only)\b)|^[^:]{1,40}(?::|\s[–—])\**\s"
    r"|^the (?:script|report|output|result)\b(?!.*\bby \w+ing\b)|\s\|\s"
    r"|^\w+ed\b(?!.*\b(?:rather than|instead of)\b)"
    r"|^the (?:data|files?|headers?|values?|tables?|columns?|rows?|cells?|numbers?)\b"
    r"(?!.*(?:`|\"|\w\.\w{2,4}\b|(?-i:\b[A-Z]{2,}\b)))"
    r"|\b(?:at|in|to|from|for) (?:that|this)\b",
    _FLAGS,
)
_UNSETTLED = regex(
    r"\b(?:might|may|maybe|perhaps|probably|likely|seems?|appears?|suggests?|could|should|would"
    r"|typical(?:ly)?|usual(?:ly)?|general(?:ly)?|often|easily|let me|let's|needs? to"
    r"|the user|try(?:ing)?|as (?:specified|requested|instructed)|i|my|our|we|okay|skills?)\b"
    r"|\.\.\.$",
    _FLAGS,
)
# Praise of the agent's own work.
PRAISE = regex(
    r"\bsuccess\w*|\bperfect\w*|\b(?:correct|proper|accurate)ly\b|\bcomplete[d]?\b|\bexcellent\b"
    r"|\bhas been\b|\bhave been\b|成功|完成",
    _FLAGS,
)
_PRAISED = regex(r"\bsuccess\w*|\bperfect\w*|\bexcellent\b|成功", _FLAGS)
_LEAST, _MOST = 15, 220
NOTE = 1200  # characters; a longer text is the report of a whole run
_STEPS = 3  # announced steps that make a text a transcript


# (weight, sign of the cause of a failure in a line of evidence)
_TELLING_LINES = (
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
_BARE = regex(
    r"^(?:verifier )?(?:reward|score|status|result)?\W*+(?:\d[\d.]*+\W*+)?$"
    r"|^(?:fail|pass)(?:ed)?\W*+$",
    re.IGNORECASE,
)
_REASON_KEYS = ("exit_reason", "reason", "error", "cause")


class Reading(NamedTuple):
    """The statements of a reasoning by kind, the most informative first.

    `discoveries` are unexpected observations, in the order of the text. A transcript thinks aloud:
    its guesses and risks are no grounds of a decision.
    """

    guesses: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    existence: tuple[str, ...] = ()
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
    figures: int = 0
    size: int = 0
    is_transcript: bool = False
    statements: tuple[str, ...] = ()


@lru_cache(maxsize=4096)  # the verdict, the insight and each account of its subject read it
def read_reasoning(reasoning: str) -> Reading:
    """Return the statements of a reasoning; a transcript of a run is read like a note."""
    parts = _parts(reasoning)
    unfinished = _unfinished_step(parts)
    unchecked = _matching(parts, _UNCHECKED)
    exposed = _matching(parts, _EXPOSED)
    checks = _without(_matching(parts, _CHECK), unchecked)
    announced = tuple(text for text in checks if _is_announcement(text))
    checks = _without(checks, announced)
    return Reading(
        guesses=_guesses(parts),
        unchecked=unchecked,
        checks=tuple(text for text in checks if not _EXISTS.search(text)),
        announced=announced,
        existence=tuple(text for text in checks if _EXISTS.search(text)),
        found=_substantial(_matching(parts, _FOUND)),
        discoveries=tuple(dict.fromkeys(filter(None, map(_discovery, parts)))),
        risks=_matching(parts, _RISK),
        alternatives=_without(_matching(parts, _ALTERNATIVE), unchecked),
        plans=_without(_matching(parts, _PLAN), exposed),
        exposed=exposed,
        reasons=_substantial(_matching(parts, _WHY)),
        conditions=_matching(parts, _IF),
        # In a long transcript `definitely` is a manner of speaking, not a ground.
        hype=_matching(parts, _HYPE, least=1) if sum(map(len, parts)) < NOTE else (),
        claim=None if unfinished else _claim(parts),
        unfinished=unfinished,
        thesis=next(iter(_rank((score_statement(p), p) for p in parts if _fits(p))), None),
        figures=len(_FIGURE.findall(reasoning)),
        size=sum(map(len, parts)),
        is_transcript=sum(map(len, parts)) >= NOTE or _count_steps(parts) >= _STEPS,
        statements=tuple(dict.fromkeys(parts)),
    )


@lru_cache(maxsize=4096)
def read_statements(reasoning: str) -> tuple[str, ...]:
    """Return the statements of a reasoning in order, without too short and too long ones."""
    return tuple(dict.fromkeys(part for part in _parts(reasoning) if _fits(part)))


def evidence_lines(outcome: Outcome) -> list[str]:
    """Return the lines of the evidence, each once, without a test runner's `E` margin."""
    lines = (re.sub(r"^E\s{2,}", "", line).strip() for line in outcome.result.evidence.splitlines())
    return [line for line in dict.fromkeys(lines) if re.search(r"\w", line)]


def describe_cause(outcome: Outcome) -> str | None:
    """Return the cause that the result states in a few words; None for a bare verdict."""
    lines = evidence_lines(outcome)
    candidates = (
        fault_of(outcome),
        *(text for text in (outcome.result.summary, *lines[:1]) if not is_bare(text)),
    )
    return next((text for text in candidates if text and text.strip()), None)


def fault_of(outcome: Outcome) -> str | None:
    """Return the line of evidence that says most about the failure, else the stated reason."""
    lines = evidence_lines(outcome)
    if any(map(_weight, lines)):
        return max(lines, key=_weight)
    reasons = (outcome.result.extra.get(key) for key in _REASON_KEYS)
    return next((value for value in reasons if isinstance(value, str) and value.strip()), None)


def is_bare(text: str) -> bool:
    """Return True for a verdict that says no more than the status."""
    return _BARE.match(text.strip()) is not None


def _weight(line: str) -> int:
    """Return how much a line of evidence says about a failure."""
    return sum(weight for weight, cue in _TELLING_LINES if cue.search(line))


def is_concrete(statement: str) -> bool:
    """Return True if a statement names a figure, code, a quotation or an identifier."""
    return bool(_CONCRETE.search(statement))


def is_narration(statement: str) -> bool:
    """Return True if a statement announces a step or ends with a colon."""
    return bool(_STEP.match(statement)) or statement.rstrip("* ").endswith((":", "："))


def is_praise(statement: str) -> bool:
    """Return True if a statement praises the agent's own work."""
    return _PRAISED.search(statement) is not None


def score_statement(statement: str) -> float:
    """Score a statement by its figures, names and code; stubs and essays score less."""
    figures, code = len(_FIGURE.findall(statement)), len(_CODE.findall(statement))
    score = 2.0 * min(figures, 3) + 1.5 * min(code, 3) + min(len(_NAME.findall(statement)), 3)
    score += 1.0 if _WHY.search(statement) else 0.0
    if not 25 <= len(statement) <= 160:
        score -= 1.5
    return score - (4.0 if _RESTATED.search(statement) else 0.0)


def _parts(reasoning: str) -> list[str]:
    """Return the sentences in order, without list marks, headings and code blocks."""
    prose = re.sub(r"```.*?(?:```|\Z)", "\n\n", reasoning, flags=re.DOTALL)
    prose = re.sub(r"\n\s*\n", "\n\n", prose)  # so that an empty line is matched once
    lines = re.sub(r"\n(?=\s*(?:#|\|))", "\n\n", prose)
    # An item ends where its line ends, even when the next line is prose.
    lines = re.sub(r"(?m)^(\s*(?:[-*+]|\d+[.)])\s.*)$", r"\1\n", lines)
    cleaned = (re.sub(r"^(?:[-*+✓✅•]|\d+[.)]|#+)\s+", "", s) for s in sentences(lines))
    return [s for s in cleaned if re.search(r"\w", s)]


def _rank(statements: Iterable[tuple[float, str]]) -> tuple[str, ...]:
    """Return statements by falling score, each once; ties keep their order."""
    ranking = sorted(statements, key=lambda statement: -statement[0])
    return tuple(dict.fromkeys(text for _, text in ranking))


def _fits(part: str, least: int = _LEAST) -> bool:
    # In bytes, because five characters of a script without spaces say as much as fifteen letters.
    return least <= len(part.encode()) and len(part) <= _MOST


def _matching(parts: Sequence[str], cue: re.Pattern[str], least: int = _LEAST) -> tuple[str, ...]:
    return _rank((score_statement(p), p) for p in parts if _fits(p, least) and cue.search(p))


def _without(statements: Sequence[str], excluded: Sequence[str]) -> tuple[str, ...]:
    """Return the statements without excluded ones: a denied cue shows nothing."""
    return tuple(text for text in statements if text not in excluded)


def _substantial(statements: Sequence[str]) -> tuple[str, ...]:
    """Return the statements that are no announcements."""
    return tuple(text for text in statements if not _is_announcement(text))


def _guesses(parts: Sequence[str]) -> tuple[str, ...]:
    """Return guesses by the strength of their sign, then by score; questions are omitted."""
    weighed = []
    for part in parts:
        signs = [weight for weight, cue in _GUESS if cue.search(part)]
        if max(signs, default=0) <= 2 and _RISK.search(part):
            continue  # "it might break" is a risk
        # "Not sure if available." does not say what was guessed.
        vague = len(part) < 30 and max(signs, default=0) < 5 and part.isascii()
        if signs and _fits(part) and not vague and not part.endswith("?") and not _STEP.match(part):
            weighed.append((2.0 * max(signs) + score_statement(part), part))
    return _rank(weighed)


def _unfinished_step(parts: Sequence[str]) -> str | None:
    """Return the step that a run announced last and never carried out."""
    if _count_steps(parts) < _STEPS:
        return None  # a plan may end with an intention
    for part in reversed(parts[-3:]):
        if waiting := _WAITING.search(part):
            return waiting[0]
        if _STEP.match(part):
            return part
        if _CLAIM.search(part):
            return None
    return None


def _count_steps(parts: Sequence[str]) -> int:
    return sum(bool(_STEP.match(part)) for part in parts)


def _discovery(part: str) -> str | None:
    """Return the observation in a sentence without its introduction, if there is one."""
    core = _LEAD.sub("", part.replace("**", ""), count=1).rstrip(" *-–")
    core = re.sub(r"^(?:[ *]|[-–](?![\d.$€£¥]))+", "", core)
    if part.endswith((":", "?", "？")) or not _fits(core, 20) or _LEANS.search(core):
        return None
    if _UNSETTLED.search(core) or PRAISE.search(core):
        return None
    tells = all(cue.search(core) for cue in (_CONCRETE, _ASSERTS))
    return core if tells and _OTHERWISE.search(part) else None


def _claim(parts: Sequence[str]) -> str | None:
    """Return the report at the end: the claim with the highest score."""
    if len(parts) < 5:
        return None
    end = parts[-max(3, len(parts) // 4) :]
    claims = _rank(
        (score_claim(p), p) for p in end if _CLAIM.search(p) and _fits(p, 8) and " | " not in p
    )
    return next((c for c in claims if not _is_announcement(c)), None)


def _is_announcement(claim: str) -> bool:
    """Return True for an announcement or a restatement of the task."""
    return is_narration(claim) or _RESTATED.search(claim) is not None


def score_claim(claim: str) -> float:
    """Score a claim by the results that it states; paths do not count."""
    result = _PATH.sub("", claim)
    penalty = 3.0 if is_praise(claim) else 0.0
    return score_statement(result) + 2.0 * min(len(_FIGURE.findall(result)), 4) - penalty


_DONE = regex(r"\b(?:fixed|works?|done|finished|implemented|renamed|added|pass(?:es)?)\b", _FLAGS)
_NOT_DONE = regex(
    r"\b(?:not|never|cannot|unable|fail(?:s|ed|ing|ure)?|error|still|partly|partially)\b|n't\b",
    _FLAGS,
)


def claims_success(report: str) -> bool:
    """Return True if a report claims success and mentions no failure."""
    is_claimed = PRAISE.search(report) or _DONE.search(report)
    return bool(is_claimed) and not _NOT_DONE.search(report)
