"""sync, watch: synchronize clones, and run in the background. Also the merge driver of git."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import click
import msgspec

from skillvault import api
from skillvault.api import Vault
from skillvault.cli import hook
from skillvault.cli.options import (
    Options,
    common_options,
    echo,
    json_option,
    now_option,
    print_json,
    say,
    track,
)
from skillvault.cli.run import print_done, print_run
from skillvault.cli.service import service_of, start_service, stop_service
from skillvault.clients import hook_server
from skillvault.clients.notes import has_open_session
from skillvault.learning.sync.table import rule_of
from skillvault.learning.sync.three_way import Versions
from skillvault.loop.run import Report, WaitingWork
from skillvault.model.errors import SkillvaultError, UsageError
from skillvault.model.text.text import pluralize
from skillvault.team.proposal_refs import BranchCleanup
from skillvault.team.sync import SyncReport
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import policy_of

_FILE_PATH = click.Path(path_type=Path)


@click.command("merge-driver", hidden=True)
@click.argument("base", type=_FILE_PATH)
@click.argument("ours", type=_FILE_PATH)
@click.argument("theirs", type=_FILE_PATH)
@click.argument("path")
def merge_driver(base: Path, ours: Path, theirs: Path, path: str) -> None:
    """Merge one file for git: %O %A %B %P; exit 1 leaves it to the person."""
    kind = layout.kind_of(path)
    if kind is None:
        say(f"{path}: not a record of the vault; resolve it with git")
        sys.exit(1)
    try:
        old_data, our_data, their_data = (file.read_bytes() for file in (base, ours, theirs))
        merged_data = rule_of(kind)(Versions(old_data or None, our_data, their_data))
        if path == layout.VAULT_FILE:
            policy_of(merged_data)
    except (SkillvaultError, OSError, ValueError) as error:
        say(f"{path}: {error}")
        sys.exit(1)
    ours.write_bytes(merged_data)


@click.command()
@click.option("--take-over", is_flag=True, help="Make this clone the one that learns.")
@common_options(now_option, json_option)
def sync(take_over: bool, options: Options) -> None:
    """Fetch, merge, check and push the vault.

    Pushes nothing that would break the vault, and never forces. Without a connection, your commits
    wait.
    """
    result = api.sync(options.open_vault(), take_over=take_over, now=options.now)
    print_json(result) if options.as_json else print_sync_report(result)
    if result.problems:
        sys.exit(1)


def print_sync_report(report: SyncReport) -> None:
    """Print the result of a sync, and the decisions left to the user."""
    if report.claimed:
        echo(f"this clone, {report.claimed}, learns from now on")
    if report.received:
        suffix = f", merged as {report.merged[:10]}" if report.merged else ""
        echo(f"received {pluralize(report.received, 'commit')}{suffix}")
    for place in report.decided:
        echo(f"  changed on both sides: {place}")
    if report.sent:
        echo(f"sent {pluralize(report.sent, 'commit')}")
    is_idle = not (report.received or report.sent or report.claimed)
    if is_idle and not report.problems and not report.away:
        echo(f"nothing new here or in {report.remote}")
    for problem in report.problems:
        say(f"{problem.path}: {problem.message} [{problem.code}]")
    if report.problems:
        say("nothing was pushed; both sides stay as they are")
    for key, values in report.undecided.items():
        say(f"vault.yaml: {key} is {' or '.join(values)}; write one, and remove the comment")
    print_merged_branches(report.branches)
    if report.away:
        say(f"{report.away}; {pluralize(report.waiting, 'commit')} wait")


def print_merged_branches(branches: BranchCleanup) -> None:
    """Print the merged branches of proposals: those removed, and those that stay with a reason."""
    if branches.removed:
        echo(f"removed, since they are merged: {', '.join(branches.removed)}")
    for branch, reason in branches.left.items():
        say(f"{branch}: {reason}")


@click.command()
@click.option("--once", is_flag=True, help="Do what `skillvault run` does, and end.")
@click.option(
    "--sync",
    "syncs",
    is_flag=True,
    help="Also run `skillvault sync` after commits and every minute.",
)
@click.option(
    "--idle",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="End after so many seconds without a hook.",
)
@click.option(
    "--install-service",
    "service",
    flag_value="install",
    help="Let systemd or launchd run it, now and at each login.",
)
@click.option(
    "--remove-service", "service", flag_value="remove", help="Stop that service for good."
)
@common_options(now_option)
def watch(
    once: bool, syncs: bool, idle: float | None, service: str | None, options: Options
) -> None:
    """Run the loop whenever a file arrives in the inbox.

    Ctrl-C or SIGTERM ends it.
    """
    if options.now and not once:
        raise UsageError("--now works only with --once; add --once or remove --now")
    vault = options.open_vault()
    if service:
        if once or idle is not None:
            raise UsageError(
                f"--{service}-service makes no run; write it without --once and --idle"
            )
        _change_service(vault, service, syncs=syncs)
        return
    if once and syncs:
        raise UsageError("--sync keeps running; run `skillvault sync` beside --once")
    if once:
        print_run(vault, vault.run(now=options.now, on_done=print_done, track=track))
        return
    with stop_signals() as has_signal:
        # Imported here: only `watch` needs watchdog, and its threads must block signals too.
        from skillvault.daemon import Watch  # noqa: PLC0415

        server = hook_server.HookServer(vault.root, partial(hook.answer_request, vault))

        def is_over() -> bool:
            return has_signal() or (idle is not None and server.idle_seconds > idle)

        daemon = Watch(
            vault,
            stopping=is_over,
            say=say,
            on_done=print_done,
            on_report=_report_printer(vault),
            track=track,
            synchronize=_synchronizer(vault) if syncs else None,
            on_start=server.start,  # not earlier, because a running daemon has the socket
        )
        try:
            daemon.run()
        finally:
            server.close()


def _change_service(vault: Vault, action: str, *, syncs: bool) -> None:
    """Install or remove the service of a vault, and print what its manager shows."""
    service = service_of(vault.root.resolve(), home=Path.home(), syncs=syncs)
    if action == "install":
        echo(start_service(service))
        say(f"{service.path}; `skillvault watch --remove-service` stops it for good")
    else:
        stop_service(service)
        echo(f"removed {service.path}")


@contextmanager
def stop_signals() -> Iterator[Callable[[], bool]]:
    """Block SIGTERM and Ctrl-C, also for git processes; yield a function that checks for one.

    A terminal and systemd send signals to git too, and a killed git would leave a change half made.
    A signal that was ignored before stays ignored, such as in a script after `&`.
    """
    signals = {s for s in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(s) != signal.SIG_IGN}
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, signals)

    def has_signal() -> bool:
        return bool(signal.sigpending() & signals)

    try:
        yield has_signal
    finally:
        if not has_signal():  # else it would kill a process that is ending anyway
            signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)


def _synchronizer(vault: Vault) -> Callable[[], None]:
    """Return a function that synchronizes the clones and prints news."""
    last_report: SyncReport | None = None

    def synchronize() -> None:
        nonlocal last_report
        report = api.sync(vault)
        has_news = report.received or report.sent or report.claimed
        if has_news or report != last_report:
            print_sync_report(report)
        last_report = report

    return synchronize


def _report_printer(vault: Vault) -> Callable[[Report], None]:
    """Return a function that prints what is new in a report.

    It then asks the judge's client, if no session is open.
    """
    last_waiting: list[WaitingWork] = []

    def print_news(report: Report) -> None:
        nonlocal last_waiting
        waiting = [entry for entry in report.waiting if entry not in last_waiting]
        # The report is not kept, because it holds the whole vault in memory.
        last_waiting = report.waiting
        print_run(vault, msgspec.structs.replace(report, waiting=waiting))
        if report.done and not has_open_session(vault.store.git.dirs()[0] / "skillvault"):
            hook.ask_in_background(vault)

    return print_news
