"""The command that makes a page to look at: what was learned, whether it helps, of what it is."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from skillvault.api import page
from skillvault.cli.options import echo, now_option, open_vault, say, since_option, vault_option
from skillvault.errors import UsageError
from skillvault.lazy import LazyModule

if TYPE_CHECKING:
    from skillvault.page import html, summary
else:  # only who asks for it needs the extra
    html, summary = LazyModule("page.html"), LazyModule("page.summary")

_FILE = Path("report.html")


@click.command()
@since_option("7d")
@click.option("--domain", metavar="NAME", help="Tell of this domain alone.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write to this file (default: report.html; of --md the terminal).",
)
@click.option("--md", "as_markdown", is_flag=True, help="Print the week as Markdown.")
@now_option
@vault_option
def report(
    since: timedelta | datetime | None,
    domain: str | None,
    output: Path | None,
    as_markdown: bool,
    now: datetime | None,
    vault_path: Path | None,
) -> None:
    """Make a page of what was learned and whether it helps.

    One HTML file that needs no network: the week, the effect of skills, each domain, each skill
    back to its outcomes, the vault. It is made of what is committed.
    """
    vault, until = open_vault(vault_path), now or datetime.now(UTC).replace(microsecond=0)
    start = until - since if isinstance(since, timedelta) else since
    told = page(vault, since=start, domain=domain, now=until)
    if as_markdown and output is None:
        echo(summary.markdown_of(told), nl=False)
        return
    made = summary.markdown_of(told).encode() if as_markdown else html.html_of(told)
    place = output or _FILE
    try:
        place.write_bytes(made)
    except OSError as error:
        raise UsageError(
            f"-o {place}: {error.strerror}; choose a file that you may write"
        ) from None
    say(f"wrote {place}")
