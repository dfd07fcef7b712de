"""The command that keeps running: watch. Here are its signals and its words."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import click
import msgspec

from skillvault.api import Vault, sync
from skillvault.cli.options import now_option, open_vault, say, track, vault_option
from skillvault.cli.run_report import print_done, print_run
from skillvault.cli.sync import print_exchanged
from skillvault.learning.rejection import Rejection
from skillvault.loop.run import Report, Waiting
from skillvault.model.errors import UsageError
from skillvault.team.sync import Exchanged


@click.command()
@click.option("--once", is_flag=True, help="Do what `skillvault run` does, and end.")
@click.option(
    "--sync",
    "syncs",
    is_flag=True,
    help="Also run `skillvault sync`, after commits and each minute.",
)
@vault_option
@now_option
def watch(once: bool, syncs: bool, vault_path: Path | None, now: datetime | None) -> None:
    """Run the loop whenever a file arrives in the inbox.

    Ctrl-C or SIGTERM ends it.
    """
    if now and not once:
        raise UsageError("--now works only with --once; add --once or remove --now")
    vault = open_vault(vault_path)
    if once and syncs:
        raise UsageError("--sync keeps running; run `skillvault sync` beside --once")
    if once:
        print_run(vault.run(now=now, on_done=print_done, track=track))
        return
    with stop_signals() as stopping:
        # Here, as only who watches pays for watchdog, and its threads must hold signals back too.
        from skillvault.daemon import Watch  # noqa: PLC0415

        daemon = Watch(
            vault,
            stopping=stopping,
            say=say,
            on_done=print_done,
            on_report=_teller(),
            track=track,
            synchronize=_synchronizer(vault) if syncs else None,
        )
        daemon.run()


@contextmanager
def stop_signals() -> Iterator[Callable[[], bool]]:
    """Whether SIGTERM or Ctrl-C came; they are held back, also from each git we start.

    A terminal and systemd send them to git too, and one killed at its work would leave a
    change half made. One that was ignored before, as in a script's `&`, still is.
    """
    signals = {s for s in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(s) != signal.SIG_IGN}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)

    def arrived() -> bool:
        return bool(signal.sigpending() & signals)

    try:
        yield arrived
    finally:
        if not arrived():  # else it would now kill what ends by itself
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _synchronizer(vault: Vault) -> Callable[[], None]:
    """Brings the clones together, and prints what is new of that."""
    before: Exchanged | None = None

    def synchronize() -> None:
        nonlocal before
        exchanged = sync(vault)
        news = exchanged.received or exchanged.sent or exchanged.claimed
        if news or exchanged != before:
            print_exchanged(exchanged)
        before = exchanged

    return synchronize


def _teller() -> Callable[[Report], None]:
    """Prints what a run has to say, but for what the run before it said already."""
    before: tuple[list[Waiting], list[Rejection]] | None = None

    def tell(report: Report) -> None:
        nonlocal before
        news = report
        if before is not None:
            news = msgspec.structs.replace(
                report,
                waiting=[entry for entry in report.waiting if entry not in before[0]],
                rejected=[entry for entry in report.rejected if entry not in before[1]],
                reasons=dict,
            )
        # Not the report: it knows the whole vault as it was.
        before = report.waiting, report.rejected
        print_run(news)

    return tell
