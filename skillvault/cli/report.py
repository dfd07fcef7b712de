"""report: a page that shows what was learned and whether it helps, as a file or served.

`inspect/page.py` collects the page, `page/` renders it.
"""

import select
import sys
import termios
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from skillvault.api import Vault, page
from skillvault.cli.options import echo, now_option, open_vault, say, since_option, vault_option
from skillvault.cli.sync import stop_signals
from skillvault.inspect.page import Page
from skillvault.model.errors import UsageError
from skillvault.model.text.hidden_characters import escape_hidden
from skillvault.page import html, server, summary
from skillvault.page.decisions import Confirmation, WriteSession

_DEFAULT_FILE = Path("skillvault", "report.html")  # in the git folder, which git does not track
_CHECK_SECONDS = 0.2  # seconds between two checks for a signal


@click.command()
@since_option("7d")
@click.option("--domain", metavar="NAME", help="Show only this domain.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write to this file (default: in the git folder of the vault; with --md, stdout).",
)
@click.option("--md", "as_markdown", is_flag=True, help="Print the week as Markdown.")
@click.option("--serve", "serves", is_flag=True, help="Serve the page on this machine.")
@click.option(
    "--write", "decides", is_flag=True, help="With --serve: decide there, and confirm here."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="N", help="With --serve: use this port."
)
@now_option
@vault_option
def report(  # noqa: PLR0913 (an option each)
    since: timedelta | datetime | None,
    domain: str | None,
    output: Path | None,
    as_markdown: bool,
    serves: bool,
    decides: bool,
    port: int | None,
    now: datetime | None,
    vault_path: Path | None,
) -> None:
    """Make a page of what was learned, and whether it helps.

    Writes one HTML file that needs no network. It shows the week, the effect of skills, each
    domain, each skill with its outcomes, and the vault, as committed.
    """
    vault = open_vault(vault_path)

    def make_page() -> Page:
        end = now or datetime.now(UTC).replace(microsecond=0)
        start = end - since if isinstance(since, timedelta) else since
        return page(vault, since=start, domain=domain, now=end)

    if serves:
        if as_markdown or output is not None:
            raise UsageError("--serve writes no file; remove -o and --md")
        if decides and not sys.stdin.isatty():
            raise UsageError("--write asks in the terminal to confirm; run it in a terminal")
        decisions = WriteSession(vault, make_page, time.monotonic) if decides else None
        _serve(vault, make_page, port or 0, decisions)
    elif decides:
        raise UsageError("--write works only with --serve; add --serve")
    elif port is not None:
        raise UsageError("--port N works only with --serve; add --serve")
    elif as_markdown and output is None:
        echo(summary.markdown_of(make_page()), nl=False)
    else:
        content = (
            summary.markdown_of(make_page()).encode() if as_markdown else html.html_of(make_page())
        )
        _write_page(output or vault.store.git.dirs()[0] / _DEFAULT_FILE, content)


def _write_page(place: Path, content: bytes) -> None:
    try:
        place.write_bytes(content)
    except OSError as error:
        raise UsageError(
            f"-o {place}: {error.strerror}; choose a file that you may write"
        ) from None
    echo(str(place))


def _serve(
    vault: Vault, make_page: Callable[[], Page], port: int, decisions: WriteSession | None
) -> None:
    """Serve until Ctrl-C or SIGTERM; render the page once before, to find errors."""
    served_page = server.ServedPage(
        lambda: vault.store.snapshot().commit or "",
        lambda: html.html_of(make_page(), is_served=True, decides=decisions is not None),
        decisions,
    )
    with stop_signals() as stopping:
        served_page.current()  # inside the block, so that its threads block signals too
        with server.serving(served_page, port) as address:
            echo(f"{address}#token={decisions.token}" if decisions else address)
            say("the page follows the branch; Ctrl-C ends it")
            while not stopping():
                time.sleep(_CHECK_SECONDS)
                if decisions and not decisions.confirmations.empty():
                    _confirm(decisions.confirmations.get(), stopping)


def _confirm(confirmation: Confirmation, stopping: Callable[[], bool]) -> None:
    """Show a decision and read the answer of the person at this terminal."""
    termios.tcflush(sys.stdin, termios.TCIFLUSH)  # an answer comes after its question
    for line in confirmation.lines:
        say(escape_hidden(line))
    say("the page asks for this; type yes to confirm: ")
    while not stopping():
        if select.select([sys.stdin], [], [], _CHECK_SECONDS)[0]:
            confirmation.give_answer(is_confirmed=sys.stdin.readline().strip() == "yes")
            return
    confirmation.give_answer(is_confirmed=False)
