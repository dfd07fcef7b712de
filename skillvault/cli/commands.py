"""The commands that change a vault, and the group that holds all of them."""

import sys
from datetime import datetime
from pathlib import Path

import click

from skillvault import __version__, exchange, steps
from skillvault.api import Vault
from skillvault.cli.doctor import doctor
from skillvault.cli.facts import fact
from skillvault.cli.quarantine import quarantine
from skillvault.cli.reading import check, impact, log, status, why, why_not
from skillvault.cli.report import print_done, print_intake, print_refused, print_run, run_shape
from skillvault.cli.serving import recommend, search, stats
from skillvault.cli.shared import (
    as_json,
    dry_option,
    json_option,
    now_option,
    opened,
    say,
    track,
    vault_option,
)
from skillvault.cli.skills import skill
from skillvault.cli.watch import watch
from skillvault.errors import UsageError
from skillvault.run import Report
from skillvault.vault import layout


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
@click.option(
    "--vault",
    "vault_path",
    envvar="SKILLVAULT_VAULT",
    type=click.Path(path_type=Path),
    help="The vault (default: found upward from here; or SKILLVAULT_VAULT).",
)
def cli(vault_path: Path | None) -> None:
    """Agents learn from outcomes; all of it is files in a git repository."""


@cli.command()
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


@cli.command()
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
    given = _given(file or "-")
    report = opened(vault_path).record([given], now=now, dry=dry, track=track)
    _intake(report, dry=dry, as_data=as_data)


@cli.command("import")
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


@cli.command()
@click.argument("wanted", nargs=-1, metavar="[STEP]...", type=click.Choice(list(steps.STEPS)))
@vault_option
@now_option
@dry_option
@json_option
def run(
    wanted: tuple[str, ...],
    vault_path: Path | None,
    now: datetime | None,
    dry: bool,
    as_data: bool,
) -> None:
    """Do what is due, from the inbox to expiry, or these steps alone. One line a commit."""
    vault = opened(vault_path)
    on_done = None if as_data else print_done
    report = vault.run(wanted, now=now, dry=dry, on_done=on_done, track=track)
    if as_data:
        as_json(run_shape(report))
        print_refused(report)
    else:
        print_run(report)


def _given(file: str) -> tuple[str, bytes]:
    """(name, bytes) of the file to record; stdin's name tells how it looks."""
    if file != "-":
        path = Path(file)
        if not path.is_file():
            what = "a folder; give a file in it" if path.is_dir() else "no such file"
            raise UsageError(f"{file}: {what}")
        return path.name, path.read_bytes()
    data = sys.stdin.buffer.read()
    if not data.strip():
        raise UsageError("nothing on stdin; give a FILE, or see `skillvault record --example`")
    start = data.lstrip()[:3]
    ending = "json" if start[:1] == b"{" else "md" if start == b"---" else "yaml"
    return f"stdin.{ending}", data


def _example() -> Path:
    return layout.resource("vault_template") / "examples" / "outcome.yaml"


for command in (status, log, why, impact, why_not, check, doctor, fact, skill, quarantine, watch):
    cli.add_command(command)
for command in (recommend, search, stats):
    cli.add_command(command)
