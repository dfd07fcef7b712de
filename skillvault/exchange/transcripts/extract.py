"""Extract the failures of a transcript, and their solutions, as a session of the vault.

A result with an error is a failure of its tool and command. The next result of the same command
without an error is a success, described by the calls between them. Everything else is dropped.
"""

import json
import re
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from skillvault.exchange.source_file import drop_empty, file_label
from skillvault.exchange.suite_report import failing_assertion, printable
from skillvault.exchange.transcripts.events import ToolCall, ToolResult
from skillvault.exchange.transcripts.reader import Transcript
from skillvault.model.errors import BadInputError
from skillvault.model.records import stamp
from skillvault.model.text.text import cut_between_words, shorten

MAX_BYTES = 256 * 1024  # of a session
_MAX_ENTRIES = 100  # failures, and successes
_MAX_LEMMA, _MAX_REASON, _MAX_TEXT, _MAX_CALL = 120, 800, 1200, 160  # characters
_MAX_RECENT, _MAX_OPEN = 200, 2000  # calls that are remembered, and calls without a result
_REASON_LINES = 3
_MAX_COMMAND, _MAX_OUTPUT = 4000, 64 * 1024  # characters that are read
_PATCH_FILE = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)
_COMMAND_KEYS = ("command", "cmd", "file_path", "path", "pattern", "url", "query", "input")
# Tools that only read, so they are not part of a solution.
_READING_TOOLS = frozenset(
    "Glob Grep LS Read TodoWrite update_plan view_image WebFetch WebSearch".split()
)
SHELLS = frozenset("Bash exec_command local_shell shell shell_command".split())

_Redact = Callable[[str], str]
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def session_of(transcript: Transcript, domain: str, redact: _Redact) -> dict[str, Any]:
    """Extract the session of a transcript, at most 256 KiB, with texts cleaned by `redact`.

    Raises BadInputError if nothing failed in it.
    """
    extract = _Extract(redact)
    for event in transcript:
        if isinstance(event, ToolCall) and not event.by_subagent:
            extract.call(event)
        elif isinstance(event, ToolResult) and not event.by_subagent:
            extract.end(event)
    header, name = transcript.header, file_label(transcript.path)
    if header.session is None or header.ended_at is None:
        message = f"{name}: tells of no session; give a transcript with at least one prompt"
        raise BadInputError(message, code="missing-key", key="id")
    if not extract.failures:
        message = f"{name}: no tool failed in this session, so there is nothing to distill"
        raise BadInputError(message, code="nothing-failed")
    session = {
        "type": "session",
        "id": header.session,
        "domain": domain,
        "ended_at": stamp(header.ended_at.replace(microsecond=0)),
        "agent": transcript.client,
        "failures": extract.failures,
        "successes": extract.successes,
        "transcript": transcript.client,
    }
    while len(json.dumps(session, ensure_ascii=False).encode(errors="replace")) > MAX_BYTES:
        longer_key = max("failures", "successes", key=lambda key: len(session[key]))
        session = {**session, longer_key: session[longer_key][: len(session[longer_key]) * 3 // 4]}
    return session


class _Extract:
    """The failures and successes so far, with a bounded memory of calls.

    Texts are redacted before they are cut, so that no part of a secret is left.
    """

    def __init__(self, redact: _Redact) -> None:
        self.failures: list[dict[str, str]] = []
        self.successes: list[dict[str, str]] = []
        self._redact = redact
        self._number = 0
        self._recent: deque[tuple[int, _CallSummary]] = deque(maxlen=_MAX_RECENT)
        self._open: OrderedDict[str, tuple[int, _CallSummary]] = OrderedDict()
        self._failed: OrderedDict[_CallSummary, int] = OrderedDict()  # when it failed last

    def call(self, call: ToolCall) -> None:
        """Add a call of a tool."""
        self._number += 1
        summary = _summarize_call(call)
        store_latest(self._open, call.id, (self._number, summary), _MAX_OPEN)
        if call.tool not in _READING_TOOLS:
            self._recent.append((self._number, summary))

    def end(self, result: ToolResult) -> None:
        """Add the result of a call."""
        number, summary = self._open.pop(result.id, (0, None))
        if summary is None:
            return
        plain_summary = summary._replace(replaced=None)  # an edit of one file after another
        failure_number = self._failed.get(plain_summary)
        if result.is_error:
            if len(self.failures) < _MAX_ENTRIES:
                self._add_failure(
                    plain_summary, result, self._describe_calls(failure_number, number)
                )
            store_latest(self._failed, plain_summary, number, _MAX_OPEN)
        elif failure_number is not None:
            del self._failed[plain_summary]
            text = self._describe_calls(failure_number, number)
            if text and len(self.successes) < _MAX_ENTRIES:
                self.successes.append({"lemma": _lemma(plain_summary, self._clean), "text": text})

    def _add_failure(self, summary: "_CallSummary", result: ToolResult, attempt: str) -> None:
        lines = failing_assertion(self._clean(tail_of(result.text))).splitlines()[-_REASON_LINES:]
        code = f"exit code {result.exit_code}" if result.exit_code is not None else ""
        reason = shorten(" ".join(line.strip() for line in lines), _MAX_REASON) or code
        failure = drop_empty(lemma=_lemma(summary, self._clean), reason=reason, attempt=attempt)
        if failure not in self.failures:
            self.failures.append(failure)

    def _describe_calls(self, start: int | None, end: int) -> str:
        """Describe the calls between a failure and the next call of the same command."""
        if start is None:
            return ""
        summaries = dict.fromkeys(
            summary for number, summary in self._recent if start < number < end
        )
        return shorten(
            "; ".join(_describe_summary(summary, self._clean) for summary in summaries), _MAX_TEXT
        )

    def _clean(self, text: str) -> str:
        return self._redact(printable(text))


class _CallSummary(NamedTuple):
    """A remembered call: its tool, its command or file, and (old text, new text) of an edit."""

    tool: str
    command: str
    replaced: tuple[str, str] | None = None


def describe_call(call: ToolCall, redact: _Redact) -> str:
    """Describe a call in a few words, and an edit by its old and new text."""
    return _describe_summary(_summarize_call(call), redact)


def _summarize_call(call: ToolCall) -> _CallSummary:
    old_text, new_text = (call.arguments.get(key) for key in ("old_string", "new_string"))
    edit = (
        (_cut_command(old_text), _cut_command(new_text))
        if isinstance(old_text, str) and isinstance(new_text, str)
        else None
    )
    return _CallSummary(_cut_command(call.tool), _cut_command(command_of(call.arguments)), edit)


def _describe_summary(summary: _CallSummary, redact: _Redact) -> str:
    if summary.replaced is None:
        return f"`{shorten(redact(summary.command or summary.tool), _MAX_CALL)}`"
    texts = (shorten(redact(text), _MAX_CALL // 2) for text in summary.replaced)
    return f"{_lemma(summary, redact)}: replace {' by '.join(f'`{text}`' for text in texts)}"


def _lemma(summary: _CallSummary, redact: _Redact) -> str:
    """Return the tool and command of a call, or only the command of a shell."""
    command, tool = (shorten(redact(text), _MAX_LEMMA) for text in (summary.command, summary.tool))
    return command if command and summary.tool in SHELLS else f"{tool} {command}".strip()


def store_latest(entries: OrderedDict[_Key, _Value], key: _Key, value: _Value, limit: int) -> None:
    """Store a value as the latest, and drop the oldest value beyond the limit."""
    entries[key] = value
    entries.move_to_end(key)
    if len(entries) > limit:
        entries.popitem(last=False)


def _cut_command(text: str) -> str:
    return cut_between_words(text, _MAX_COMMAND)


def tail_of(text: str) -> str:
    """Return the last lines of a long text."""
    return text if len(text) <= _MAX_OUTPUT else text[-_MAX_OUTPUT:].partition("\n")[2]


def edited_files(call: ToolCall) -> list[str]:
    """Return the files of an edit or a patch."""
    patch_files = _PATCH_FILE.findall(command_of(call.arguments))
    paths = (call.arguments.get(key) for key in ("file_path", "notebook_path", "path"))
    return patch_files or [path for path in paths if isinstance(path, str) and path][:1]


def command_of(arguments: Mapping[str, Any]) -> str:
    """Return the command, file or query that a call is about."""
    values: Iterable[object] = (arguments.get(key) for key in _COMMAND_KEYS)
    for value in values:
        if isinstance(value, list):
            return " ".join(map(str, value[-1:] if value[:2] == ["bash", "-lc"] else value))
        if isinstance(value, str) and value.strip():
            return value
    return ""
