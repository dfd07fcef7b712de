"""record, close, quarantine: record outcomes and the results of decisions."""

import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, NamedTuple, get_args

import click
from msgspec.structs import replace

from skillvault.api import Vault
from skillvault.cli.options import (
    Options,
    echo,
    input_file,
    open_vault,
    print_json,
    read_options,
    say,
    track,
    vault_option,
    write_options,
)
from skillvault.cli.run import ask_for_lesson, end_intake
from skillvault.clients import agents
from skillvault.exchange.suite_report import failing_assertion, printable
from skillvault.model.errors import SkillvaultError, UsageError
from skillvault.model.records import OBSERVERS, Observer, Status
from skillvault.model.text.text import cut_between_words, pluralize
from skillvault.serving.shelf import choose_domain
from skillvault.sessions.closing import Closing, closing_of_exit, read_closing
from skillvault.sessions.decision import outcome_of_failure
from skillvault.vault.files import layout

_TAIL_BYTES = 16 * 1024  # bytes of the output's end
_CHUNK_BYTES = 8192  # that are copied at once
_SIGNAL_EXIT_BASE = 128  # a shell adds the number of the signal that ended a command
_LIST_ADVICE = "see `skillvault quarantine list`"
_names = click.argument("names", nargs=-1, metavar="[NAME]...")
_all = click.option("--all", "everything", is_flag=True, help="Take all files in quarantine/.")
_RESULT_OPTIONS = "--junit FILE, --ctrf FILE, --from-exit N, --status S or --run -- COMMAND"
_REPORT_PATH = click.Path(path_type=Path, exists=True)
_MAX_COMMAND_LENGTH = 200  # characters of a command
_MAX_EVIDENCE_LINES = 40  # of the end of an output


# ── record ───────────────────────────────────────────────────────────────────────────


@click.command()
@click.argument("file", required=False)
@click.option("--example", is_flag=True, help="Print an example to edit; record nothing.")
@click.option("--failed", metavar="WHAT", help="Record without a file what was done and failed.")
@click.option("--because", metavar="WHY", help="Say what showed that it failed.")
@click.option("--worked", metavar="WHAT", help="Say what worked instead.")
@click.option(
    "--domain", metavar="NAME", help="Use this domain (default: the only one, or the repository's)."
)
@write_options
def record(
    file: str | None,
    example: bool,
    failed: str | None,
    because: str | None,
    worked: str | None,
    domain: str | None,
    options: Options,
) -> None:
    """Record one outcome from FILE, stdin (-), or in a sentence.

    The outcome is YAML, JSON, or Markdown with front matter. In a sentence:

    skillvault record --failed "Raised the timeout" --because "it failed again"
    """
    if example:
        path = layout.resource("vault_template") / "examples" / "outcome.yaml"
        echo(path.read_text(encoding="utf-8"), nl=False)
        return
    if failed is None and (because or worked or domain):
        raise UsageError(
            "--because, --worked and --domain work only with --failed; add it, or remove them"
        )
    if failed is not None and file is not None:
        raise UsageError(f"{file} and --failed are two outcomes; record them one by one")
    if failed is not None:
        _record_failure(options, domain, deed=failed, reason=because or "", remedy=worked or "")
        return
    if file is None and sys.stdin.isatty():
        raise UsageError(
            "no outcome; pass a FILE, - for stdin, or --failed WHAT --because WHY; "
            "`skillvault record --example` prints a file"
        )
    outcome = input_file(file or "-", ", or say it by --failed WHAT --because WHY")
    vault = options.open_vault()
    report = vault.record([outcome], **options.keywords, track=track)
    end_intake(vault, report, options)


def _record_failure(
    options: Options, domain: str | None, *, deed: str, reason: str, remedy: str
) -> None:
    if not (deed.strip() and reason.strip()):
        raise UsageError("--failed needs a text, and --because WHY: what showed that it failed")
    vault = options.open_vault()
    at = options.now or datetime.now(UTC).replace(microsecond=0)
    domain = domain or choose_domain(vault.shelf, Path.cwd())
    outcome = outcome_of_failure(deed, reason, domain, at, remedy=remedy)
    report = vault.record(outcome, **options.keywords)
    end_intake(vault, report, options)


# ── close ────────────────────────────────────────────────────────────────────────────


@click.command()
@click.argument("decision", metavar="ID")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND]")
@click.option("--junit", type=_REPORT_PATH, metavar="FILE", help="Read this JUnit report.")
@click.option("--ctrf", type=_REPORT_PATH, metavar="FILE", help="Read this CTRF report.")
@click.option("--from-exit", type=int, metavar="N", help="Read a command's exit code.")
@click.option("--status", type=click.Choice(get_args(Status)), help="State what a person saw.")
@click.option("--run", "runs", is_flag=True, help="Run COMMAND and read its exit code.")
@click.option("--evidence", metavar="TEXT", help="Add evidence for the result.")
@click.option("--lesson", metavar="TEXT", help="Add what to do next time; works without a result.")
@click.option("--by", type=click.Choice(OBSERVERS), help="Name who saw the result.")
@click.option("--agent", metavar="NAME", help="Choose this agent's decision.")
@click.option(
    "--domain", metavar="NAME", help="Use this domain (default: the decision's, else the only one)."
)
@write_options
def close(
    decision: str,
    command: tuple[str, ...],
    evidence: str | None,
    lesson: str | None,
    by: Observer | None,
    agent: str | None,
    domain: str | None,
    options: Options,
    **sources: Any,
) -> None:
    """Close a decision: record how it ended.

    The result joins what was recommended and recorded for ID, in any order. If the decision of an
    outcome has no id, pass the id of the outcome.
    """
    source = _choose_source(sources, command, teaches=bool(lesson and lesson.strip()))
    if source == "runs" and options.as_json:
        raise UsageError("--run prints what COMMAND prints, so it has no --json; remove --json")
    vault = options.open_vault()
    code = 0
    if source == "runs":
        closing, code = _run_and_close(command)
    else:
        closing = _closing_of_source(source, sources[source])
    closing = replace(
        closing,
        agent=agent,
        domain=domain,
        observed_by=by or closing.observed_by,
        evidence=closing.evidence if evidence is None else evidence,
        lesson=lesson or "",
    )
    if (agent_name := agents.find_agent()) and closing.observed_by != "agent":
        say(f"seen by the agent, not by {closing.observed_by}: this is a session of {agent_name}")
        closing = replace(closing, observed_by="agent")
    if source == "runs":
        _close_quietly(vault, decision, closing, **options.keywords)
        sys.exit(code)
    report = vault.close(decision, closing, **options.keywords)
    end_intake(vault, report, options)


def _choose_source(sources: dict[str, Any], command: tuple[str, ...], *, teaches: bool) -> str:
    """Return the option that says how the decision ended, or `status` for a lesson alone.

    UsageError if no option or several are given, or a command without `--run`.
    """
    options = [name for name, value in sources.items() if value is not None and value is not False]
    if not options and teaches:
        options = ["status"]
    if len(options) != 1:
        raise UsageError(f"state the result in one way: {_RESULT_OPTIONS}; or --lesson TEXT alone")
    if (options == ["runs"]) != bool(command):
        raise UsageError("--run needs a COMMAND after --, and only --run takes one")
    return options[0]


def _closing_of_source(source: str, value: Any) -> Closing:
    if source in ("junit", "ctrf"):
        return read_closing(source, value)
    if source == "from_exit":
        return closing_of_exit(value)
    return Closing(status=value, observed_by="person")


def _run_and_close(command: tuple[str, ...]) -> tuple[Closing, int]:
    run = watch_command(command)
    lines = printable(run.output).splitlines()[-_MAX_EVIDENCE_LINES:]
    evidence = failing_assertion(run.output) if run.exit_code else "\n".join(lines)
    words = cut_between_words(shlex.join(command), _MAX_COMMAND_LENGTH)
    return closing_of_exit(run.exit_code, evidence, words), run.exit_code


def _close_quietly(
    vault: Vault, decision: str, closing: Closing, *, now: datetime | None, dry: bool
) -> None:
    """Close a decision after a command ran; the exit code of the command is passed on anyway."""
    try:
        report = vault.close(decision, closing, now=now, dry=dry)
    except SkillvaultError as error:
        say(f"skillvault: not closed: {error}")
        return
    for refusal in report.quarantined:
        say(f"skillvault: not closed: {refusal.message}")
    for work in report.waiting:
        say(f"skillvault: {decision} waits: {work.reason}")
    if report.done:
        say(f"skillvault: {decision} closed: {closing.status}, by {closing.observed_by}")
        ask_for_lesson(vault, report)


# ── a command that is watched ────────────────────────────────────────────────────────


class CommandResult(NamedTuple):
    """The exit code of a command, as a shell reports it, and the end of its output."""

    exit_code: int
    output: str


def watch_command(command: Sequence[str]) -> CommandResult:
    """Run a command to its end; UsageError if the command cannot be started."""
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        raise UsageError(
            f"{command[0]}: {(error.strerror or 'cannot be started').lower()}; nothing was closed, "
            "check the command after --run --"
        ) from None
    tail = _OutputTail()
    pairs = ((process.stdout, sys.stdout.buffer), (process.stderr, sys.stderr.buffer))
    threads = [threading.Thread(target=tail.copy, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    code = _wait(process)
    for thread in threads:
        thread.join()
    return CommandResult(_SIGNAL_EXIT_BASE - code if code < 0 else code, tail.text)


def _wait(process: "subprocess.Popen[bytes]") -> int:
    """Wait for a command that handles Ctrl-C itself; return its exit code."""
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return process.wait()
    finally:
        signal.signal(signal.SIGINT, handler)


class _OutputTail:
    """The last bytes of two streams, in the order in which they were written."""

    def __init__(self) -> None:
        self._bytes = b""
        self._lock = threading.Lock()

    def copy(self, source: IO[bytes], target: IO[bytes]) -> None:
        """Copy a stream to its end, even if nobody reads the copy any more."""
        is_read = True
        while chunk := source.read1(_CHUNK_BYTES):  # type: ignore[attr-defined]  # of a buffered pipe
            with self._lock:
                self._bytes = (self._bytes + chunk)[-_TAIL_BYTES:]
            is_read = is_read and _is_written(chunk, target)

    @property
    def text(self) -> str:
        """The last output, from the start of a line."""
        text = self._bytes.decode(errors="replace")
        return text.partition("\n")[2] if len(self._bytes) == _TAIL_BYTES else text


def _is_written(chunk: bytes, target: IO[bytes]) -> bool:
    try:
        target.write(chunk)
        target.flush()
    except BrokenPipeError:
        return False
    return True


# ── quarantine ───────────────────────────────────────────────────────────────────────


@click.group()
def quarantine() -> None:
    """List, retry and drop refused files."""


@quarantine.command("list")
@read_options
def list_(vault_path: Path | None, as_json: bool) -> None:
    """List the files in quarantine/ with their reasons."""
    files = open_vault(vault_path).quarantine.files()
    if as_json:
        print_json(files)
        return
    if not files:
        echo("quarantine/ is empty")
    width = max((len(file.name) for file in files), default=0)
    for file in files:
        at = f"line {file.line}"
        line = f" ({at})" if file.line is not None and at not in file.message else ""
        origin = "  ".join(filter(None, (file.at, f"from {file.origin}" if file.origin else "")))
        echo(f"{file.name:{width}}  [{file.code}] {file.message}{line}  {origin}".rstrip())


@quarantine.command()
@_names
@_all
@vault_option
def retry(names: tuple[str, ...], everything: bool, vault_path: Path | None) -> None:
    """Move refused files back into their inbox."""
    chosen_names = _choose_names("retry", names, everything=everything)
    vault = open_vault(vault_path)
    files = vault.quarantine.retry(chosen_names)
    for file in files:
        echo(f"{file.name} -> inbox/{file.to}")
    if chosen_names is None:
        for entry in vault.quarantine.files():
            say(f"not retried: {entry.name}: `skillvault quarantine retry {entry.name}` says why")
    say("next: skillvault run" if files else "nothing to retry")


@quarantine.command()
@_names
@_all
@click.option("--yes", is_flag=True, help="Confirm; without it, nothing is removed.")
@vault_option
def drop(names: tuple[str, ...], everything: bool, yes: bool, vault_path: Path | None) -> None:
    """Remove refused files and their reasons for good."""
    chosen_names = _choose_names("drop", names, everything=everything)
    removed_names = open_vault(vault_path).quarantine.drop(chosen_names, dry=not yes)
    for name in removed_names:
        echo(f"removed {name}" if yes else f"would remove {name}", err=not yes)
    if not removed_names:
        say("nothing to drop")
    elif not yes:
        raise UsageError(f"add --yes to remove {pluralize(len(removed_names), 'file')} for good")


def _choose_names(verb: str, names: Sequence[str], *, everything: bool) -> Sequence[str] | None:
    if names and everything:
        raise UsageError(f"{verb}: pass NAMEs or --all, not both")
    if not names and not everything:
        raise UsageError(f"{verb}: pass a NAME or --all; {_LIST_ADVICE}")
    return None if everything else names
