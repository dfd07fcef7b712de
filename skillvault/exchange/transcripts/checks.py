"""Judge the checks (tests, builds, linters) and other commands that show how a prompt ended.

A command is a check if one of its parts begins like a pattern of the policy. Its exit code counts
if it belongs to the check. After a pipe or `;` the output is read instead.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from skillvault.model.lazy import regex

_PARTS = re.compile(r"(&&|\|\||[;|\n])")
# A flag of a program that runs others, with its value if it has one.
_FLAG = (
    r"(?: --?(?:with|group|extra|python|package|project|directory|env-file|filter|workspace|prefix"
    r"|cwd|p|w|F|C)(?:=| )\S+| --?[\w-]+(?:=\S+)?)*"
)
_PREFIX = re.compile(
    r"^\s*(?:(?:[A-Za-z_]\w*=\S*|sudo|time|nice|exec|command|env|\(|!|if|then|timeout(?: -\S+)* \S+"
    rf"|(?:uv|poetry|pipenv|hatch|pdm|rye|conda|mamba) run{_FLAG}|bundle exec|npx{_FLAG}|uvx{_FLAG}"
    rf"|(?:pnpm|yarn|bun){_FLAG} (?:exec|dlx|x)|yarn workspace \S+ run|bunx"
    r"|xvfb-run(?: -\S+)*)\s+)+"
)
# Programs that run a command in a container, on another machine, or in an environment.
_REMOTE_RUNNER = re.compile(
    r"(?:docker|podman|docker-compose|kubectl|ssh|nix|nix-shell|direnv|mise|devbox|vagrant|dotenv"
    r"|doppler|conda|mamba)\b"
)
_SHELL_CALL = re.compile(
    r"\b(?:ba|z|da)?sh -\w*c (?P<mark>['\"])(?P<command>.*?)(?P=mark)", re.DOTALL
)
# Options that list or explain, and run nothing.
_LIST_OPTION = re.compile(
    r"(?:^|\s)(?:--collect-only|--co|--list(?:-?tests)?|--help|--version|--fixtures|--markers"
    r"|--dry-run|--show-?config|-h|-V)(?=\s|$|=)",
    re.IGNORECASE,
)
_PROGRAM_FOLDER = re.compile(r"^(?:\S*/)?(?=[\w.-]+(?:\s|$))")
_QUOTATION = re.compile(r"'[^']*'|\"[^\"]*\"|<<-?\s*'?(\w+)'?.*?^\1$", re.DOTALL | re.MULTILINE)
# Messages of a check that could not run, so that its result says nothing about the work.
_CANNOT_RUN = re.compile(
    r"command not found|No module named (?:pytest|unittest|tox|mypy|ruff|pylint|flake8|nox)\b"
    r"|[Mm]issing script:|not recognized as an internal|No such file or directory: '?(?:pytest|npm)"
    r"|can't open file|no tests ran|ERROR: (?:file or directory|not) (?:not )?found"
)
_NOT_RUN_CODES = frozenset({126, 127})
# Exit codes of a command that was stopped by a signal or a time limit.
_STOPPED_CODES = frozenset({124, 130, 137, 143})
_TIMEOUT_LINE = re.compile(r"^Command timed out\b", re.MULTILINE)
_BUILDS = ("build", "check", "compile")  # steps of a program that its `test` contains
# Another way to start the same tool.
_LAUNCH = re.compile(r"^python[\d.]* -m ")
_REDIRECTION = re.compile(r"\d?>+\s*[^\s&]+")
# A file or folder, without the selected test in it.
_FILE_PATH = re.compile(r"(?<![\w./=-])(?:[\w.-]+/[\w./-]*|[\w-]+\.[a-z]{1,4}\b)")
_FAILURE_LINE = re.compile(
    r"\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|^(?:FAILED|FAIL|ERROR)\b|\bBUILD FAILED\b"
    r"|\berror(?: TS\d+|\[E\d+\]|:)|^--- FAIL|test result: FAILED|Tests failed|^not ok \d"
    r"|^Failed!|^Build FAILED|\bFAILURES!|^=+ FAILURES|^Error: |\bERROR=[1-9]",
    re.MULTILINE,
)
_SUCCESS_LINE = re.compile(
    r"\b[1-9]\d* (?:passed|passing)\b|^OK\b|test result: ok|^ok\s+\S+|^PASS\b"
    r"|\bAll checks passed\b|[Nn]o issues found|BUILD SUCCESS|^Build succeeded"
    r"|\b0 (?:errors|failures|problems)\b|^Passed!|^All tests passed|^\s*Finished `"
    r"|^Plan: \d+ to add|^No changes\.|\bERROR=0\b",
    re.MULTILINE,
)
# A shell command that prints the exit code of an earlier one.
_CODE_COMMAND = re.compile(r"\$\?|\bPIPESTATUS\b")
_CODE_OUTPUT = re.compile(
    r"\b(?:exit|code|rc|ret|status|exited)\b\D{0,12}(\d{1,3})\s*$", re.IGNORECASE
)
# Requests for a failing check, such as one that reproduces a bug.
_FAILING_CHECK = re.compile(
    r"\b(?:failing|red) (?:unit |regression )?tests?\b|\breproduc"
    r"|\btests? (?:that|which) (?:fails?|shows?|proves?|demonstrates?)\b"
    r"|\b(?:should|must|may|will) (?:still )?fail\b"
    r"|\btest,? der (?:den|das|die) \w+ .{0,40}zeigt\b|\b(?:roter|fehlschlagender) test\b"
    r"|\breproduzier",
    re.IGNORECASE,
)
_FIX_REQUEST = re.compile(
    r"(?<!not )(?<!n't )(?<!without )(?<!no )"
    r"\b(?:fix(?:ing|es)?|mend|solve|make (?:it|them) pass)\b",
    re.IGNORECASE,
)


class Check(Struct, frozen=True):
    """A run of a test, a build or a linter. `passed` is None if the result is unknown.

    Of several runs of a `tool`, the last one counts.
    """

    tool: str
    command: str
    passed: bool | None
    exit_code: int | None
    output: str
    at: datetime | None = None


def find_tool(command: str, patterns: Sequence[re.Pattern[str]]) -> tuple[str, bool] | None:
    """Return the tool of the check in a command, and True if the exit code belongs to it."""
    expanded = _SHELL_CALL.sub(lambda shell: shell["command"], command)
    parts = _PARTS.split(_QUOTATION.sub("''", expanded))
    check: tuple[str, bool] | None = None
    for index in range(0, len(parts), 2):
        match = _match_check(parts[index], patterns)
        if match:
            later_operators = parts[index + 1 :: 2]
            name = _LAUNCH.sub("", " ".join(match.split()))
            check = name, all(operator == "&&" for operator in later_operators)
    return check


def _match_check(part: str, patterns: Sequence[re.Pattern[str]]) -> str | None:
    command = _PREFIX.sub("", part.strip() + " ").strip()
    if _LIST_OPTION.search(command):
        return None
    starts = [0]
    if _REMOTE_RUNNER.match(command):
        starts += [space.end() for space in re.finditer(r"\s+", command)]
    for start in starts:
        candidate = _PREFIX.sub("", command[start:] + " ")
        for text in (candidate, _PROGRAM_FOLDER.sub("", candidate)):
            match = next((m for p in patterns if (m := p.match(text.strip()))), None)
            if match:
                return match[0]
    return None


def judge_check(
    command: str, tool: tuple[str, bool], output: str, *, code: int | None, at: datetime | None
) -> Check:
    """Judge the run of a check by its exit code or its output."""
    name, uses_code = tool
    if not uses_code and _CODE_COMMAND.search(command) and (match := _CODE_OUTPUT.search(output)):
        uses_code, code = True, int(match[1])
    return Check(name, command, _has_passed(output, code, uses_code=uses_code), code, output, at)


def _has_passed(output: str, code: int | None, *, uses_code: bool) -> bool | None:
    if _cannot_run(output, code) or _is_stopped(output, code):
        return None
    if uses_code and code is not None:
        return code == 0
    if _FAILURE_LINE.search(output):
        return False
    return True if _SUCCESS_LINE.search(output) else None


def _cannot_run(output: str, code: int | None) -> bool:
    return code in _NOT_RUN_CODES or _CANNOT_RUN.search(output) is not None


def _is_stopped(output: str, code: int | None) -> bool:
    return code in _STOPPED_CODES or _TIMEOUT_LINE.search(output) is not None


def find_deciding_check(checks: Iterable[Check]) -> Check | None:
    """Return the check that decides among the last runs of each tool.

    This is a failed run, or else the last run. A run with an unknown result replaces earlier runs,
    and so does a run that passed without the tests that had failed. Tests that pass show that a
    failed build of the same program is mended. No passing run decides if the
    last run of a tool was cut off, or the very last run could not start.
    """
    runs: dict[str, Check] = {}
    has_started = True
    failed_runs: dict[str, Check] = {}
    for check in checks:
        has_started = not _cannot_run(check.output, check.exit_code)
        failed_run = failed_runs.get(check.tool)
        is_partial = bool(check.passed and failed_run and not _covers_failure(check, failed_run))
        for tool in _find_mended_tools(check, failed_runs):
            runs[tool] = replace(check, tool=tool)
            del failed_runs[tool]
        runs[check.tool] = replace(check, passed=None) if is_partial else check
        if check.passed is False:
            failed_runs[check.tool] = check
        elif check.passed and not is_partial:
            failed_runs.pop(check.tool, None)
    judged_runs = [check for check in runs.values() if check.passed is not None]
    failures = [check for check in judged_runs if not check.passed]
    is_stopped = any(_is_stopped(run.output, run.exit_code) for run in runs.values())
    if not failures and (is_stopped or not has_started):
        return None  # a passing linter says nothing about tests that never ended
    return next(reversed(failures or judged_runs), None)


def _find_mended_tools(check: Check, failed_checks: Mapping[str, Check]) -> list[str]:
    """Return the other tools that had failed and now pass with this run."""
    if not check.passed:
        return []
    program, _, step = check.tool.partition(" ")
    builds = {f"{program} {build}" for build in _BUILDS} if step.startswith("test") else set()
    tools = [t for t in failed_checks if t in builds and _covers_failure(check, failed_checks[t])]
    return list(dict.fromkeys([*tools, *_find_chained_tools(check, failed_checks)]))


def _find_chained_tools(check: Check, failed_checks: Mapping[str, Check]) -> list[str]:
    """Return the other tools that had failed and now passed in one chain of `&&`."""
    parts = _PARTS.split(_QUOTATION.sub("''", check.command))
    commands = [" ".join(part.split()) for part in parts[::2]]
    if check.exit_code != 0 or set(parts[1::2]) != {"&&"}:
        # Behind a pipe the exit code is another's, but everything before `&&` has passed.
        check_index = max((n for n, part in enumerate(commands) if check.tool in part), default=0)
        if set(parts[1 : 2 * check_index : 2]) != {"&&"}:
            return []
        commands = commands[: check_index + 1]
    return [
        tool
        for tool, earlier in failed_checks.items()
        if tool != check.tool
        and any(tool in part for part in commands)
        and _covers_failure(replace(check, tool=tool), earlier)
    ]


def _covers_failure(check: Check, failed_check: Check) -> bool:
    """Return True if a run names no path, or a path that the failed run named or printed."""
    parts = _PARTS.split(_REDIRECTION.sub("", check.command))
    check_part = next((part for part in parts if check.tool in " ".join(part.split())), "")
    paths = _FILE_PATH.findall(check_part)
    failed_text = failed_check.command + failed_check.output
    return not paths or any(path in failed_text for path in paths)


def asks_for_failure(task: str) -> bool:
    """Return True if a prompt asks for a failing check, and not for a fix."""
    return bool(_FAILING_CHECK.search(task)) and not _FIX_REQUEST.search(task)


# ── other commands ───────────────────────────────────────────────────────────────────

# If the last command failed, the prompt failed, unless something followed. A command that failed
# and later passed shows a success. Commands that only look at something show nothing.
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_OUTPUT_FILE = re.compile(r"\s*\d?>+\s*[^\s&|;]+|\s*2>&1")
_COMMAND_PREFIX = re.compile(
    r"^\s*(?:cd \S+\s*&&\s*|(?:[A-Za-z_]\w*=\S*|sudo|time|command|env)\s+)+"
)
# Commands that look at something or keep house; their failure shows nothing of the work.
_READING_COMMAND = regex(
    r"\s*(?:(?:[A-Za-z_]\w*=\S*|sudo|time|!|if|then|else|do|done|fi|for|while)\s+)*(?:"
    r"(?:ls|ll|cat|bat|head|tail|less|more|grep|egrep|rg|ag|ack|fd|find|locate|tree|stat|file|wc|sort"
    r"|uniq|cut|awk|jq|yq|xargs|diff|cmp|comm|test|\[+|which|type|whereis|where|echo|printf|pwd|cd"
    r"|pushd|popd|env|printenv|set|export|source|\.(?=\s)|alias|date|sleep|wait|true|false|exit|ps|top|df|du"
    r"|free|uname|id|whoami|hostname|lsof|ss|netstat|ping|dig|nslookup|kill|pkill|pgrep|killall|rm|rmdir"
    r"|mkdir|touch|chmod|man|history|clear|md5sum|sha\d+sum|base64|column|tee)(?![\w-])"
    r"|sed (?!-i)|perl -ne|git (?!push\b|commit\b|apply\b|am\b|cherry-pick\b|rebase\b|merge\b)"
    r"|(?:docker|podman|kubectl|helm|docker compose|docker-compose)"
    r" (?:ps|logs|images|inspect|get|describe|top|version|info|ls|list|status|history)\b"
    r"|(?:npm|pnpm|yarn|pip3?|uv pip|cargo|gem|brew|apt|dnf|conda)"
    r" (?:ls|list|view|show|info|search|outdated|why|freeze|tree|config|audit|policy)\b"
    r"|systemctl (?:status|is-\w+)|journalctl|aws \S+ (?:describe|list|get)\S*"
    r"|gh (?!pr create|pr merge)"
    r"|(?:python[\d.]*|node|ruby|php|go|java|cargo|npm|terraform) (?:--?version|-V|-v|--help)\b)"
)
# The command had nothing to do.
_NOTHING_TO_DO = regex(r"nothing to commit|no changes added to commit|Everything up-to-date")
_SHELL_WORDS = frozenset({"", "done", "fi"})


def is_read_only(command: str) -> bool:
    """Return True if no part of a command changes anything."""
    parts = _PARTS.split(_QUOTED.sub("''", command))[::2]
    return all(part.strip() in _SHELL_WORDS or _READING_COMMAND.match(part) for part in parts)


def judge_command(command: str, output: str, code: int | None) -> Check | None:
    """Judge a command by its exit code, or return None if the code does not show the result.

    A command that could not start or end has neither passed nor failed.
    """
    bare_command = _COMMAND_PREFIX.sub("", _OUTPUT_FILE.sub("", command)).strip()
    operators = _PARTS.findall(_QUOTED.sub("''", bare_command))
    uses_code = set(operators) <= {"&&"}  # else the exit code may be that of another command
    if code is None or not uses_code or is_read_only(command) or _NOTHING_TO_DO.search(output):
        return None
    name = " ".join(bare_command.split())
    return judge_check(command, (name, True), output, code=code, at=None)


def last_failure(commands: Sequence[Check | None]) -> Check | None:
    """Return the last command if it failed or could not run. Checks are None in `commands`."""
    latest = commands[-1] if commands else None
    return latest if latest and not latest.passed else None


def last_repair(commands: Sequence[Check | None]) -> Check | None:
    """Return the last command that failed and then passed."""
    failed_names: set[str] = set()
    repair: Check | None = None
    for command in filter(None, commands):
        if not command.passed:
            failed_names.add(command.tool)
            if repair is not None and repair.tool == command.tool:
                repair = None
        elif command.tool in failed_names:
            repair = command
    return repair
