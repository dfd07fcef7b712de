"""hook: answer an event of an agent's client. On any error it exits with 0 and prints nothing.

A client passes the printed text to the agent. It takes an exit code of 2 for a veto of the prompt,
and the user would lose the prompt. `sessions/hooks.py` answers each event.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import click

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.cli.options import choose_vault, make_own_vault, say, vault_option
from skillvault.clients import agents
from skillvault.clients.hook_client import ASKING, MAKE_VAULT, longest_wait
from skillvault.clients.hook_server import HookRequest
from skillvault.clients.notes import MAX_INPUT
from skillvault.clients.payload import EVENTS, Payload, parse_payload
from skillvault.model.errors import NotAVaultError, SkillvaultError
from skillvault.model.text.hidden_characters import escape_hidden
from skillvault.sessions.hooks import MAX_ANSWER, HookClient, Hooks, HookVault
from skillvault.vault.commit.locks import DAEMON, holder
from skillvault.vault.disk import private_mode, write_whole
from skillvault.vault.files import layout, redact

LOG = "hook.log"
MAX_LOG_BYTES = 128 * 1024
_MAX_LINE_LENGTH = 400  # characters of a line in the log
CLIENTS = ("claude-code", "codex")
_IDLE_SECONDS = 600  # seconds after which the process that answers hooks ends
_SLOW_SECONDS = 1.0  # seconds that are worth a line in the log


# ── answers ──────────────────────────────────────────────────────────────────────────


@click.command()
@click.argument("event", type=click.Choice(EVENTS))
@click.option("--client", type=click.Choice(CLIENTS), default=CLIENTS[0], help="Say who calls.")
@click.option("--domain", metavar="NAME", help="Use this domain where no pattern names one.")
@click.option(
    "--link",
    "links",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Export the skills to DIR when a session begins, and recommend none.",
)
@click.option(
    "--background", "serves", is_flag=True, help="Start the process that answers the next hooks."
)
@click.option(
    MAKE_VAULT, "makes_vault", is_flag=True, help="Make the plugin's vault if there is none."
)
@vault_option
def hook(
    event: str, vault_path: Path | None, *, makes_vault: bool, serves: bool, **options: Any
) -> str:
    """Answer an event of an agent's client, whose payload is on stdin.

    `skillvault setup` registers it. On any error it exits with 0 and prints nothing. When a session
    begins without a vault, the user is told.
    """
    payload = parse_payload(sys.stdin.buffer.read(MAX_INPUT))
    if payload is None:
        raise click.ClickException("the payload on stdin is not an event of a session")
    root, notice = choose_vault(vault_path), ""
    try:
        if root is None and makes_vault:
            root = make_own_vault()
            notice = f"made {root}, a vault that learns from your sessions; see its README.md"
        vault = Vault.open(root)
    except (SkillvaultError, OSError) as error:
        if event != "SessionStart":
            raise
        return _notice_of(f"{error}; nothing is learned here")
    text = _react(vault, payload, os.environ, event=event, process=str(os.getpid()), **options)
    if notice:  # a vault without skills has nothing for the agent
        text = _notice_of(notice)
    if holder(vault.store.git.dirs()[1] / "skillvault" / DAEMON) is not None:
        return text  # the running daemon records the files of the inbox
    waits = vault.inbox.names() or vault.store.taken.commits()
    if serves:
        start_detached(vault.root, "watch", "--idle", str(_IDLE_SECONDS))
    elif event in ("SessionStart", "SessionEnd") and waits:
        start_detached(vault.root, "run")
    return text


def _notice_of(text: str) -> str:
    """Return the answer to a hook that shows a text to the user."""
    return json.dumps({"systemMessage": f"skillvault: {text}"})


def answer_request(vault: Vault, request: HookRequest) -> str | None:
    """Answer a hook's request, or return None if the hook must do the work itself."""
    start = time.monotonic()
    try:
        options = hook.make_context("hook", list(request.arguments)).params
        payload = parse_payload(request.payload)
        if payload is None:
            return None
        event_options = {name: options[name] for name in ("event", "client", "domain", "links")}
        text = _react(vault, payload, request.environment, process=request.process, **event_options)
        return escape_hidden(text)
    except (SkillvaultError, click.ClickException, OSError):
        return None
    finally:
        _log_run(request.arguments, time.monotonic() - start)


def _react(
    vault: Vault,
    payload: Payload,
    environment: Mapping[str, str],
    *,
    event: str,
    process: str,
    client: str,
    domain: str | None,
    links: Path | None,
) -> str:
    """Return the text for the client, "" if the text is too long."""
    caller = HookClient(
        name=client,
        domain=domain,
        links=links,
        is_attended=agents.attendance(environment),
        process=process,
    )
    now = datetime.now(UTC).replace(microsecond=0)
    text = Hooks(vault_parts(vault), caller, now).react(event, payload)
    if len(text) <= MAX_ANSWER:
        return text
    folder = vault.store.git.dirs()[0] / "skillvault"
    log_line(folder, f"{event}: {len(text)} characters are too many; none printed")
    return ""


def vault_parts(vault: Vault) -> HookVault:
    """Return the parts of a vault that events need."""
    return HookVault(
        root=vault.root,
        store=vault.store,
        inbox=vault.inbox,
        shelf=lambda: vault.shelf,
        export=lambda to, folder, domain: vault.exporter.export(to, folder, domain=domain),
        questions=lambda session: _count_questions(vault, session),
        ask=lambda: ask_in_background(vault),
    )


def _count_questions(vault: Vault, session: str) -> int:
    """Count the open questions for the agent of a session, up to the limit of one prompt."""
    if vault.store.snapshot().policy.judge.provider != "agent":
        return 0
    return len(vault.queue.next_questions(session=session))


# ── the process of a hook ────────────────────────────────────────────────────────────


def run_quietly(words: list[str]) -> NoReturn:
    """Run the hook, print its whole text or nothing, and exit with 0."""
    if ASKING in os.environ:
        os._exit(0)
    start = time.monotonic()
    deadline = threading.Timer(longest_wait(), _give_up, args=(words,))
    deadline.daemon = True
    deadline.start()
    answer, stdout_fd = "", os.dup(1)
    try:
        os.dup2(2, 1)  # only the answer is for the agent
        answer = cli(words, standalone_mode=False, prog_name="skillvault")
    finally:  # whatever was raised, the user goes on
        deadline.cancel()
        try:
            _log_run(words, time.monotonic() - start)
            if isinstance(answer, str) and answer:
                os.write(stdout_fd, escape_hidden(answer).encode(errors="replace"))
        finally:
            os._exit(0)


def split_vault(words: list[str]) -> list[str]:
    """Split each argument `--vault=PATH` into `--vault` and `PATH`."""
    return [part for w in words for part in (w.split("=", 1) if w.startswith("--vault=") else [w])]


def _give_up(words: list[str]) -> None:
    """Exit without an answer, and index a slow vault in the background for the next time."""
    root = _find_root(words)
    if root is not None:
        wait = f"{longest_wait():.0f} s"
        _log_event(words, f"gave up after {wait}; the index is brought up to date meanwhile")
        start_detached(root, "status")
    os._exit(0)


def _find_root(words: list[str]) -> Path | None:
    """Return the vault of the command line, the environment or this folder, else None."""
    values = [words[index + 1] for index, word in enumerate(words[:-1]) if word == "--vault"]
    path = values[-1] if values else os.environ.get("SKILLVAULT_VAULT")
    try:
        return layout.named_root(Path(path)) if path else layout.find_root(Path())
    except NotAVaultError:
        return None


def start_detached(root: Path, *words: str) -> None:
    """Start a command on a vault that outlives this process."""
    subprocess.Popen(
        [sys.executable, "-m", "skillvault", "--vault", str(root), *words],
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def ask_in_background(vault: Vault) -> None:
    """Start a process that sends the due questions to the judge's client, if it has one."""
    if ASKING not in os.environ and vault.store.snapshot().policy.judge.provider == "client":
        start_detached(vault.root, "ask", "--send", "--when-due")


# ── the log ──────────────────────────────────────────────────────────────────────────


def _log_run(words: list[str], seconds: float) -> None:
    """Log an error, or a run that took long."""
    error = sys.exc_info()[1]
    if error is not None:
        _log_event(words, f"{type(error).__name__}: {error}")
    elif seconds > _SLOW_SECONDS:
        _log_event(words, f"took {seconds:.1f} s")


def _log_event(words: list[str], text: str) -> None:
    """Write a line to the vault's log; to stderr without a vault, or if the log fails."""
    line = f"{' '.join(words[:2])}: {text}"
    root = _find_root(words)
    try:
        if root is not None and (root / ".git").is_dir():
            log_line(root / ".git" / "skillvault", line)
            return
    except OSError as error:
        line = f"{line} ({error})"
    say(f"skillvault: {line}")


def log_line(folder: Path, text: str) -> None:
    """Append a line without secrets; a log that is too long loses its older half."""
    path = folder / LOG
    folder.mkdir(parents=True, exist_ok=True)
    mode = private_mode(folder) & 0o666
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    line = f"{at} {' '.join(redact.redact_value(text).split())[:_MAX_LINE_LENGTH]}\n".encode(
        errors="replace"
    )
    if path.exists() and path.stat().st_size + len(line) > MAX_LOG_BYTES:
        newer_half = path.read_bytes()[-MAX_LOG_BYTES // 2 :].partition(b"\n")[2]
        write_whole(path, newer_half, mode)
    path.touch(mode)
    with path.open("ab") as file:
        file.write(line)
