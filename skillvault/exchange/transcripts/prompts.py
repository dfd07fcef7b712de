"""Read the prompts of a transcript, with the work of the agent and the end of each prompt.

Memory is bounded: long texts are cut, after redaction, so that no part of a secret is left.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from skillvault.exchange.suite_report import printable
from skillvault.exchange.transcripts import checks, events, extract
from skillvault.exchange.transcripts.checks import Check
from skillvault.exchange.transcripts.reader import Transcript, helper_files
from skillvault.exchange.transcripts.subjects import continues_task
from skillvault.model.reaction import read_reaction
from skillvault.model.reasoning import fault_line
from skillvault.model.text.text import ARROW, shorten

_MAX_TASK, _MAX_REASONING, _MAX_CLAIM, _MAX_OUTPUT = 8000, 8000, 4000, 4000  # characters
_MAX_COMMAND = 200  # characters of a command that is not a check
_MAX_CHANGES = 5  # calls that are described for a prompt
_MAX_ATTEMPTS, _MAX_FAILURE = 4, 120  # attempts of a prompt; characters of a failure
_MAX_OPEN, _MAX_ENTRIES = 500, 50  # calls without a result; skills, checks, commits of a prompt
_EDIT_TOOLS = frozenset(
    "Edit MultiEdit NotebookEdit Write apply_patch create_file str_replace".split()
)
# A shell command that changes files.
_CHANGING_COMMAND = re.compile(
    r"(?:^|[;&|\n]\s*)(?:sed -i|perl -pi|tee|mv|cp|rm|mkdir|touch|patch|git (?:apply|checkout|reset"
    r"|revert|restore|stash|merge|rebase|rm|mv)|apply_patch|npm (?:i|install)\b|pip install)\b"
    r"|(?<![0-9&>])>{1,2}\s*(?!&|/dev/null)[\w./~$-]",
    re.MULTILINE,
)
_COMMIT_LINE = re.compile(r"^\[[^\]\n]*?\b([0-9a-f]{7,40})\] ", re.MULTILINE)
_TEST_FILE = re.compile(r"(?:^|[/_.-])(?:tests?|specs?|__tests__)(?=[/_.-]|$)", re.IGNORECASE)
_POLL_TOOL = "write_stdin"  # Codex's tool to ask about a running command
SUBAGENTS = "subagents"  # the folder of a session's subagents
_SKILL_FILE = re.compile(r"(?:^|/)([a-z0-9][a-z0-9-]{0,63})/SKILL\.md\b")


class Attempt(Struct, kw_only=True):
    """One way that the agent tried for a prompt, up to the check that it failed.

    `remarks` are the messages before its first change. It `is_retry` if a check had failed before,
    and `changes_code` if it edited more than tests. `failure` is what its last check printed.
    """

    remarks: list[str] = field(default_factory=list)
    has_changed: bool = False
    is_retry: bool = False
    changes_code: bool = False
    failure: str = ""

    def add_remark(self, text: str) -> None:
        """Add a message of the agent, if nothing was changed yet."""
        if not self.has_changed and sum(map(len, self.remarks)) < _MAX_REASONING:
            self.remarks.append(text)


class PromptRun(Struct, kw_only=True):
    """A prompt and the agent's work for it.

    `message` is the same in each copy of the prompt. `header` is the header of the transcript at
    the prompt, with the model that answered. `attempts` are what the agent tried, in order, and
    `claim` is the last message. `skills` are the skills that the agent read, `commits` the short
    ids of its commits. `changes` has a few words for each call that changed something, `files` the
    number of edits of each file. `commands` are the other commands, with None in the place of a
    check. `next_words` is what the user typed afterwards, or None, and corrections typed during the
    work. `next_attended` is True in an attended session, False for a script, and None if unknown.
    `later_ids` are the ids of prompts that only continued the task. It `is_stale` if something
    changed after the last check, and `has_untried_changes` if something changed after the last
    check or command.
    """

    id: str | None
    text: str
    at: datetime | None
    message: str = ""
    header: events.Header = field(default_factory=events.Header)
    ended_at: datetime | None = None
    attempts: list[Attempt] = field(default_factory=lambda: [Attempt()])
    claim: str = ""
    is_stale: bool = False
    has_untried_changes: bool = False
    is_interrupted: bool = False
    skills: list[str] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    commands: list[Check | None] = field(default_factory=list)
    commits: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    files: dict[str, int] = field(default_factory=dict)
    next_words: str | None = None
    next_attended: bool | None = None
    later_ids: list[str] = field(default_factory=list)

    def add_words(self, text: str | None, attended: bool | None) -> None:
        """Add words that the user typed after the work, or typed to correct it."""
        if text:
            self.next_attended = attended and (self.next_words is None or self.next_attended)
            self.next_words = f"{self.next_words}\n{text}" if self.next_words else text

    def has_continuation(self, text: str) -> bool:
        """Return True if the next prompt only continues the task."""
        return continues_task(text, self.text, is_interrupted=self.is_interrupted)

    @property
    def check(self) -> Check | None:
        """The check that decides how the prompt ended, unless something changed after it.

        Another command decides if it ran last and failed, or if it is repaired and there is no
        check. If the last command could not run, nothing decides.
        """
        check = None if self.is_stale else checks.find_deciding_check(self.checks)
        if self.has_untried_changes or (check is not None and not check.passed):
            return check
        command = checks.last_failure(self.commands) or check or checks.last_repair(self.commands)
        return command if command and command.passed is not None else None

    @property
    def is_command(self) -> bool:
        """True if a command, not a check, decides how the prompt ended."""
        return self.check is not None and self.check not in self.checks

    @property
    def has_changed(self) -> bool:
        """True if a call changed something."""
        return self.attempts[0].has_changed

    @property
    def reasoning(self) -> str:
        """The messages before the last attempt, or without a change all but the last message."""
        remarks = next((a.remarks for a in reversed(self.attempts) if a.has_changed), None)
        if remarks is None:
            remarks = [text for text in self.attempts[0].remarks if text != self.claim]
        return shorten_lines("\n".join(remarks), _MAX_REASONING)

    @property
    def failed_attempts(self) -> list[str]:
        """The attempts before the last one, each with its failure."""
        changed_attempts = [attempt for attempt in self.attempts if attempt.has_changed]
        return [
            f"{attempt.remarks[-1]}{ARROW}{attempt.failure}"
            for attempt in changed_attempts[:-1]
            if attempt.remarks and (attempt.is_retry or attempt.changes_code)
        ]

    def note_change(self, files: Sequence[str]) -> None:
        """Note a change of files. After a failed check it begins the next attempt."""
        attempt = self.attempts[-1]
        if not attempt.has_changed:
            attempt.is_retry = any(check.passed is False for check in self.checks)
        attempt.has_changed = True
        attempt.changes_code |= any(not _TEST_FILE.search(file) for file in files)
        self.is_stale = bool(self.checks)
        self.has_untried_changes = True

    def note_check(self, check: Check) -> None:
        """Note a check. If it fails, what comes next is another attempt."""
        self.checks = [*self.checks, check][-_MAX_ENTRIES:]
        attempt = self.attempts[-1]
        if check.passed is False and attempt.has_changed:
            attempt.failure = shorten(fault_line(check.output) or "failed", _MAX_FAILURE)
            self.attempts = [*self.attempts, Attempt()]
            del self.attempts[1:-_MAX_ATTEMPTS]


class _Call(Struct, frozen=True):
    """A call of a tool that has no result yet."""

    tool: str
    command: str
    prompt: PromptRun


class PromptTally:
    """Collects the events of a transcript by prompt, and yields each prompt when it ends."""

    def __init__(self, patterns: Sequence[str], redact: Callable[[str], str]) -> None:
        self._patterns = [re.compile(pattern) for pattern in patterns]
        self._clean = redact
        self._calls: OrderedDict[str, _Call] = OrderedDict()
        self._running: OrderedDict[str, _Call] = OrderedDict()

    def open_run(self, event: events.Prompt) -> PromptRun:
        """Start the record of a new prompt."""
        text = self._clean_text(event.text, _MAX_TASK)
        return PromptRun(id=event.id, text=text, at=event.at, message=event.message)

    def note_event(self, event: events.Event, run: PromptRun) -> None:
        """Add an event to the record of its prompt. A new prompt may continue the task."""
        times = filter(None, (event.at, run.ended_at))  # a copy may have another order
        run.ended_at = max(times, default=None)
        match event:
            case events.Remark(text=text) if text.strip():
                run.claim = self._clean_text(text, _MAX_CLAIM)
                run.attempts[-1].add_remark(run.claim)
            case events.ToolCall():
                self._begin_call(event, run)
            case events.ToolResult():
                self._finish_call(event)
            case events.Interruption():
                run.is_interrupted = True
            case events.Prompt(is_midway=True):
                if read_reaction(event.typed_text, run.claim).is_correction:
                    run.add_words(event.typed_text, event.attended)
            case events.Prompt(id=prompt_id):
                run.is_interrupted = False
                run.later_ids += [prompt_id] if prompt_id else []

    def read_subagent(self, path: Path) -> dict[str, list[Check]]:
        """Read a subagent's file, and return the checks that were run for each prompt."""
        commands: dict[str, str] = {}
        checks_by_prompt: dict[str, list[Check]] = {}
        for event in Transcript(path):
            if (
                isinstance(event, events.ToolCall)
                and event.tool in extract.SHELLS
                and len(commands) < _MAX_OPEN
            ):
                commands[event.id] = extract.command_of(event.arguments)
            elif isinstance(event, events.ToolResult) and (event.running_name or event.is_refused):
                commands.pop(event.id, None)  # only the parent sees its end, or it never began
            elif (
                isinstance(event, events.ToolResult)
                and event.prompt
                and event.id in commands
                and (check := self._judge_check(commands.pop(event.id), event))
            ):
                earlier_checks = checks_by_prompt.get(event.prompt, ())
                checks_by_prompt[event.prompt] = [*earlier_checks, check][-_MAX_ENTRIES:]
        return checks_by_prompt

    def _begin_call(self, call: events.ToolCall, run: PromptRun) -> None:
        command = extract.command_of(call.arguments)
        running_call = self._running.get(str(call.arguments.get("session_id")))
        polled_call = running_call if call.tool == _POLL_TOOL else None
        latest_call = polled_call or _Call(call.tool, command, run)
        extract.store_latest(self._calls, call.id, latest_call, _MAX_OPEN)
        if call.tool in _EDIT_TOOLS or (
            call.tool in extract.SHELLS and _CHANGING_COMMAND.search(command)
        ):
            files = extract.edited_files(call) if call.tool in _EDIT_TOOLS else []
            run.note_change(files)
            if len(run.changes) < _MAX_CHANGES:
                run.changes.append(extract.describe_call(call, self._clean))
            for file in files:
                if file in run.files or len(run.files) < _MAX_ENTRIES:
                    run.files[file] = run.files.get(file, 0) + 1
        skill = _find_skill(call, command)
        if skill and skill not in run.skills and len(run.skills) < _MAX_ENTRIES:
            run.skills.append(skill)

    def _finish_call(self, result: events.ToolResult) -> None:
        call = self._calls.pop(result.id, None) or self._running.pop(result.id, None)
        if call is None or call.tool not in extract.SHELLS or result.is_refused:
            return
        if result.running_name:
            extract.store_latest(self._running, result.running_name, call, _MAX_OPEN)
            return
        run = call.prompt
        if check := self._judge_check(call.command, result):
            run.note_check(check)
            run.commands.append(None)
            run.is_stale = run.has_untried_changes = False
        elif command_run := checks.judge_command(
            call.command, extract.tail_of(result.text), result.exit_code
        ):
            run.commands.append(self._clean_command(command_run))
            run.has_untried_changes = False
        run.commands = run.commands[-_MAX_ENTRIES:]
        if "git commit" in call.command and not result.is_error and len(run.commits) < _MAX_ENTRIES:
            run.commits += _COMMIT_LINE.findall(result.text)[:1]

    def _judge_check(self, command: str, result: events.ToolResult) -> Check | None:
        tool = checks.find_tool(command, self._patterns)
        if tool is None:
            return None
        output = self._clean_output(extract.tail_of(result.text))
        clean_command = self._clean_text(command, _MAX_TASK)
        return checks.judge_check(clean_command, tool, output, code=result.exit_code, at=result.at)

    def _clean_command(self, command: Check) -> Check:
        output = "" if command.passed else self._clean_output(command.output)
        return replace(
            command, command=self._clean_text(command.command, _MAX_COMMAND), output=output
        )

    def _clean_output(self, text: str) -> str:
        return shorten_lines(self._clean(printable(text)), _MAX_OUTPUT)

    def _clean_text(self, text: str, size: int) -> str:
        return shorten_lines(self._clean(printable(text)), size, from_start=True)


class PromptReader:
    """The prompts of one transcript, which can be read once, with the transcript's header."""

    def __init__(self, path: Path, patterns: Sequence[str], redact: Callable[[str], str]) -> None:
        """Raise BadInputError for a file that no known client wrote."""
        self.transcript = Transcript(path)
        self.header = self.transcript.header
        self._tally = PromptTally(patterns, redact)
        folder = path.with_suffix("") / SUBAGENTS
        files = sorted(folder.glob("*.jsonl")) if folder.is_dir() else helper_files(path)
        self._subagent_checks: dict[str, list[Check]] = {}
        for file in files:
            for prompt, new_checks in self._tally.read_subagent(file).items():
                self._subagent_checks.setdefault(prompt, []).extend(new_checks)

    def __iter__(self) -> Iterator[PromptRun]:
        """Yield each prompt when it is complete, without the lines of repeated prompts."""
        current: PromptRun | None = None
        messages: set[str] = set()
        for event in self.transcript:
            if not isinstance(event, events.Prompt) or event.is_midway:
                if current is not None:
                    self._tally.note_event(event, current)
                    current.header.model = self.header.model
                continue
            is_repeated = event.message in messages
            messages.add(event.message)
            if current is not None:
                if is_repeated and event.message == current.message:
                    continue
                if not is_repeated and current.has_continuation(event.text):
                    self._tally.note_event(event, current)
                    continue
                if not is_repeated:
                    current.add_words(event.typed_text, event.attended)
                if current.id == event.id:  # a fork gives its copies the id of its own prompt
                    current.id = None
                yield self._add_subagent_checks(current)
            current = None if is_repeated else self._open_run(event)
        if current is not None:
            yield self._add_subagent_checks(current)

    def _open_run(self, event: events.Prompt) -> PromptRun:
        run = self._tally.open_run(event)
        run.header = replace(self.header)
        return run

    def _add_subagent_checks(self, run: PromptRun) -> PromptRun:
        ids = (run.id or "", *run.later_ids)
        new_checks = [check for key in ids for check in self._subagent_checks.pop(key, [])]
        if new_checks:
            all_checks = sorted((*run.checks, *new_checks), key=lambda c: (c.at is not None, c.at))
            run.checks = all_checks[-_MAX_ENTRIES:]
        return run


def _find_skill(call: events.ToolCall, command: str) -> str | None:
    """Return the skill that a call reads with the Skill tool or as a file, or None."""
    if call.tool == "Skill":
        name = call.arguments.get("skill") or call.arguments.get("command")
        return str(name).rpartition(":")[2].lstrip("/") if isinstance(name, str) else None
    reads = call.tool == "Read" or call.tool in extract.SHELLS
    match = _SKILL_FILE.search(command) if reads and not _CHANGING_COMMAND.search(command) else None
    return match[1] if match else None


def shorten_lines(text: str, size: int, *, from_start: bool = False) -> str:
    """Cut a text to its last `size` characters, or to its first with `from_start`."""
    if len(text) <= size:
        return text
    if not from_start:
        return text[-size:].partition("\n")[2] or text[-size:]
    return text[:size] if "\n" in text else shorten(text, size)
