"""The commands that bring outcomes in and run the loop: init, record, import, run."""

import sys
from datetime import datetime
from pathlib import Path

import click

from skillvault import exchange
from skillvault.api import Vault
from skillvault.cli.report import print_done, print_intake, print_refused, print_run, run_shape
from skillvault.cli.shared import (
    as_json,
    dry_option,
    given_file,
    json_option,
    now_option,
    opened,
    say,
    track,
    vault_option,
)
from skillvault.errors import UnavailableError, UsageError
from skillvault.steps.registry import STEPS
from skillvault.steps.run import Report
from skillvault.vault.files import layout


@click.command()
@click.argument("path", default=".", type=click.Path(path_type=Path, file_okay=False))
@click.option("--domain", "domains", multiple=True, metavar="NAME", help="A domain; repeatable.")
@click.option("--post-merge", is_flag=True, help="Install a hook that runs the loop after a pull.")
@now_option
def init(path: Path, domains: tuple[str, ...], post_merge: bool, now: datetime | None) -> None:
    """Make a vault in PATH, or mend a clone of one (inbox, hooks)."""
    vault, made = Vault.init(path, domains, post_merge=post_merge, now=now)
    for line in made.did:
        click.echo(f"made {line}")
    if not made.did:
        click.echo(f"{vault.root} is a vault and lacks nothing")
    for line in made.left:
        say(f"left to you: {line}")
    if any(line.startswith("the first commit") for line in made.did):
        say("next: skillvault record --example > my-outcome.yaml, edit it, record it, run")


@click.command()
@click.argument("file", required=False)
@click.option("--example", is_flag=True, help="Print an outcome to start from, record nothing.")
@vault_option
@now_option
@dry_option
@json_option
def record(
    file: str | None,
    example: bool,
    vault_path: Path | None,
    now: datetime | None,
    dry: bool,
    as_data: bool,
) -> None:
    """Put one outcome (FILE or - for stdin; yaml, json or markdown) into the vault."""
    if example:
        click.echo(_example().read_text(encoding="utf-8"), nl=False)
        return
    if file is None and sys.stdin.isatty():
        raise UsageError("record what? give a FILE, - for stdin, or --example to see one")
    given = given_file(file or "-")
    report = opened(vault_path).record([given], now=now, dry=dry, track=track)
    _intake(report, dry=dry, as_data=as_data)


@click.command("import")
@click.argument("format_name", metavar="FORMAT", type=click.Choice(sorted(exchange.FORMATS)))
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--domain", metavar="NAME", help="The domain of these outcomes.")
@vault_option
@now_option
@dry_option
@json_option
def import_(
    format_name: str,
    files: tuple[Path, ...],
    domain: str | None,
    vault_path: Path | None,
    now: datetime | None,
    dry: bool,
    as_data: bool,
) -> None:
    """Bring in other people's results: FORMAT is what wrote FILES."""
    vault = opened(vault_path)
    report = vault.import_files(format_name, files, domain=domain, now=now, dry=dry, track=track)
    _intake(report, dry=dry, as_data=as_data)


def _intake(report: Report, *, dry: bool, as_data: bool) -> None:
    """Say what was taken in; exit 1 where something was not."""
    print_intake(report, dry=dry, as_data=as_data)
    if report.quarantined:
        sys.exit(1)


@click.command()
@click.argument("wanted", nargs=-1, metavar="[STEP]...", type=click.Choice(list(STEPS)))
@click.option("--batch", is_flag=True, help="Send what Claude is asked as a batch, at half price.")
@click.option("--retry", is_flag=True, help="Ask the judge again what it failed at.")
@vault_option
@now_option
@dry_option
@json_option
def run(
    wanted: tuple[str, ...],
    batch: bool,
    retry: bool,
    vault_path: Path | None,
    now: datetime | None,
    dry: bool,
    as_data: bool,
) -> None:
    """Do what is due, from the inbox to expiry, or these steps alone. One line a commit."""
    vault = opened(vault_path)
    if batch and dry:
        raise UsageError("--batch: is sent and paid for; leave out --dry-run")
    if retry:
        vault.store.ledger.revive()
    on_done = None if as_data else print_done
    report = vault.run(wanted, now=now, dry=dry, on_done=on_done, track=track, batch=batch)
    if as_data:
        as_json(run_shape(report))
        print_refused(report)
    else:
        print_run(report)
    if report.unavailable and not batch:
        sys.exit(UnavailableError.exit_code)


def _example() -> Path:
    return layout.resource("vault_template") / "examples" / "outcome.yaml"
