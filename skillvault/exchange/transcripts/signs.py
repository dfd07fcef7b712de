"""What says how a prompt ended without the agent's word: tests, builds, linters, the next words.

A command is a check where one of its parts begins like a pattern of the policy. Its exit code
counts where it is the check's own; behind a pipe or `;` its output is read instead.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from skillvault.records import Status

_PARTS = re.compile(r"(&&|\|\||[;|\n])")
# What stands before a command and is none.
_LEAD = re.compile(
    r"^\s*(?:(?:[A-Za-z_]\w*=\S*|sudo|time|nice|exec|command|env|\(|timeout(?: -\S+)* \S+"
    r"|uv run|poetry run|pipenv run|hatch run|pdm run|rye run|bundle exec|npx(?: --?\S+)*|pnpm exec"
    r"|bunx|xvfb-run)\s+)+"
)
_PATH = re.compile(r"^(?:\S*/)?(?=[\w.-]+(?:\s|$))")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|<<-?\s*'?(\w+)'?.*?^\1$", re.DOTALL | re.MULTILINE)
# That the check itself could not run says nothing of what it checks.
_MISSING = re.compile(
    r"command not found|No module named (?:pytest|unittest|tox|mypy|ruff|pylint|flake8|nox)\b"
    r"|[Mm]issing script:|not recognized as an internal|No such file or directory: '?(?:pytest|npm)"
    r"|can't open file|no tests ran|ERROR: (?:file or directory|not) (?:not )?found"
)
_NOT_RUN = frozenset({126, 127})
# What was ended by a signal or its time did not come to its end.
_CUT_OFF = frozenset({124, 130, 137, 143})
_TIMED_OUT = re.compile(r"^Command timed out\b", re.MULTILINE)
# How one tool is started otherwise.
_LAUNCH = re.compile(r"^python[\d.]* -m ")
_REDIRECTED = re.compile(r"\d?>+\s*[^\s&]+")
# A file or folder, without what is chosen of it.
_PLACE = re.compile(r"(?<![\w./=-])(?:[\w.-]+/[\w./-]*|[\w-]+\.[a-z]{1,4}\b)")
_FAILED = re.compile(
    r"\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|^(?:FAILED|FAIL|ERROR)\b|\bBUILD FAILED\b"
    r"|\berror(?: TS\d+|\[E\d+\]|:)|^--- FAIL|test result: FAILED|Tests failed",
    re.MULTILINE,
)
_PASSED = re.compile(
    r"\b\d+ (?:passed|passing)\b|^OK\b|test result: ok|^ok\s+\S+|^PASS\b|\bAll checks passed\b"
    r"|Success: no issues found|BUILD SUCCESS|\b0 errors\b|0 problems"
    r"|^\s*Finished `",
    re.MULTILINE,
)
_BAD_WORDS = re.compile(
    r"^\W*(?:no[,.!]|no (?:that|not|it|you|wrong|undo|don't|stop|this is)|nope\b|wrong\b|undo\b"
    r"|revert\b|roll (?:it|that|this) back|that(?:'s| is) (?:wrong|not)|that did(?:n't| not)"
    r"|(?:it|this|that) (?:still )?(?:does(?:n't| not) work|fails?|is broken|broke)"
    r"|still (?:fail|broken|not|wrong|doesn)|not what i|you broke|stop\b|don't do that)",
    re.IGNORECASE,
)
_GOOD_WORDS = re.compile(
    r"^\W*(?:thanks?\b|thank you|thx\b|great\b|perfect\b|nice\b|awesome|excellent|lgtm\b"
    r"|(?:that|it|this) works|works\b|looks good|well done|good job|exactly)",
    re.IGNORECASE,
)
_TURNED = re.compile(
    r"\bbut\b|\bhowever\b|\bexcept\b|\bstill\b|\bnot\b|n't\b|\bno thanks\b", re.IGNORECASE
)
_TURNS = 80  # characters in which a praise is taken back


class Check(Struct, frozen=True):
    """A test, a build or a linter that ran: which, how it ended (None: nobody can say), its output.

    `tool` is by what it is known; of one tool the last run counts.
    """

    tool: str
    command: str
    passed: bool | None
    exit_code: int | None
    output: str
    at: datetime | None = None


def tool_of(command: str, patterns: Sequence[re.Pattern[str]]) -> tuple[str, bool] | None:
    """(the check that a command runs, whether its exit code is the check's own); None for none."""
    parts = _PARTS.split(_QUOTED.sub("''", command))
    check: tuple[str, bool] | None = None
    for place in range(0, len(parts), 2):
        part = _PATH.sub("", _LEAD.sub("", parts[place].strip() + " ")).strip()
        match = next((m for p in patterns if (m := p.match(part))), None)
        if match:
            rest = parts[place + 1 :: 2]
            name = _LAUNCH.sub("", " ".join(match[0].split()))
            check = name, all(mark == "&&" for mark in rest)
    return check


def check_of(
    command: str,
    tool: tuple[str, bool],
    output: str,
    *,
    code: int | None,
    at: datetime | None,
) -> Check:
    """How a check ended."""
    name, is_own = tool
    return Check(name, command, _passed(output, code, is_own=is_own), code, output, at)


def _passed(output: str, code: int | None, *, is_own: bool) -> bool | None:
    if code in _NOT_RUN | _CUT_OFF or _MISSING.search(output) or _TIMED_OUT.search(output):
        return None
    if is_own and code is not None:
        return code == 0
    if _FAILED.search(output):
        return False
    return True if _PASSED.search(output) else None


def deciding(checks: Iterable[Check]) -> Check | None:
    """Of the last run of each tool the one that decides: one that failed, else the last.

    A run that nobody can judge takes the place of those before it, and so does one that passed
    without what had failed.
    """
    last: dict[str, Check] = {}
    failed: dict[str, Check] = {}
    for check in checks:
        earlier = failed.get(check.tool)
        is_part = bool(check.passed and earlier and not _repeats(check, earlier))
        last[check.tool] = replace(check, passed=None) if is_part else check
        if check.passed is False:
            failed[check.tool] = check
        elif check.passed and not is_part:
            failed.pop(check.tool, None)
    judged = [check for check in last.values() if check.passed is not None]
    failing = [check for check in judged if not check.passed]
    return next(reversed(failing or judged), None)


def _repeats(check: Check, failed: Check) -> bool:
    """Whether a run takes in what had failed: all there is, the same places, or one it named."""
    parts = _PARTS.split(_REDIRECTED.sub("", check.command))
    own = next((part for part in parts if check.tool in " ".join(part.split())), "")
    places = _PLACE.findall(own)
    record = failed.command + failed.output
    return not places or any(place in record for place in places)


def words_say(text: str) -> Status | None:
    """What the person's next words say of what was done; None where they say nothing of it."""
    if _BAD_WORDS.match(text):
        return "failure"
    if _GOOD_WORDS.match(text) and not _TURNED.search(text[:_TURNS]):
        return "success"
    return None
