"""Commands that are no checks but still show how a prompt ended.

If the last command failed, the prompt failed, unless something followed. A command that failed and
later passed shows a success. Commands that only look at something show nothing.
"""

import re
from collections.abc import Sequence

from skillvault.exchange.transcripts.checks import Check, judge_check
from skillvault.model.lazy import regex

_PARTS = re.compile(r"&&|\|\||[;|\n]")
_QUOTATION = re.compile(r"'[^']*'|\"[^\"]*\"")
_REDIRECTION = re.compile(r"\s*\d?>+\s*[^\s&|;]+|\s*2>&1")
_PREFIX = re.compile(r"^\s*(?:cd \S+\s*&&\s*|(?:[A-Za-z_]\w*=\S*|sudo|time|command|env)\s+)+")
# Commands that look at something or keep house; their failure shows nothing of the work.
_LOOK = regex(
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
_STATEMENT = frozenset({"", "done", "fi"})


def is_read_only(command: str) -> bool:
    """Return True if all parts of a command only look at something."""
    parts = _PARTS.split(_QUOTATION.sub("''", command))
    return all(part.strip() in _STATEMENT or _LOOK.match(part) for part in parts)


def judge_command(command: str, output: str, code: int | None) -> Check | None:
    """Judge the run of a command by its exit code; None if that says nothing of the work.

    The command that could not start or end has not passed, and has not failed.
    """
    bare_command = _PREFIX.sub("", _REDIRECTION.sub("", command)).strip()
    operators = set(_PARTS.findall(_QUOTATION.sub("''", bare_command)))
    uses_code = operators <= {"&&"}  # else the exit code may be that of another command
    if code is None or not uses_code or is_read_only(command) or _NOTHING_TO_DO.search(output):
        return None
    name = " ".join(bare_command.split())
    return judge_check(command, (name, True), output, code=code, at=None)


def last_failure(commands: Sequence[Check | None]) -> Check | None:
    """Return the last command if it failed or could not run; None stands for a check."""
    return next((command for command in commands[-1:] if command and not command.passed), None)


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
