"""quarantine list, retry, drop: what could not be taken, and what becomes of it."""

from collections.abc import Sequence
from pathlib import Path

import click

from skillvault.cli.options import echo, json_option, open_vault, print_json, say, vault_option
from skillvault.model.errors import UsageError
from skillvault.vault.files.quarantine import QuarantinedFile

_LIST = "see `skillvault quarantine list`"

_names = click.argument("names", nargs=-1, metavar="[NAME]...")
_all = click.option("--all", "everything", is_flag=True, help="Take all files in quarantine/.")


@click.group()
def quarantine() -> None:
    """List, retry and drop files that were not taken."""


@quarantine.command("list")
@vault_option
@json_option
def list_(vault_path: Path | None, as_data: bool) -> None:
    """List the files in quarantine/ with their reasons."""
    files = open_vault(vault_path).quarantine.files()
    if as_data:
        print_json(files)
        return
    if not files:
        echo("quarantine/ is empty")
    width = max((len(held.name) for held in files), default=0)
    for held in files:
        echo(_line(held, width))


def _line(held: QuarantinedFile, width: int) -> str:
    at = f"line {held.line}"
    line = f" ({at})" if held.line is not None and at not in held.message else ""
    came = "  ".join(filter(None, (held.at, f"from {held.origin}" if held.origin else "")))
    return f"{held.name:{width}}  [{held.code}] {held.message}{line}  {came}".rstrip()


@quarantine.command()
@_names
@_all
@vault_option
def retry(names: tuple[str, ...], everything: bool, vault_path: Path | None) -> None:
    """Put files back into the inbox that they came from."""
    chosen = _wanted("retry", names, everything=everything)
    vault = open_vault(vault_path)
    back = vault.quarantine.retry(chosen)
    for file in back:
        echo(f"{file.name} -> inbox/{file.to}")
    if chosen is None:
        for held in vault.quarantine.files():
            say(f"not retried: {held.name}: `skillvault quarantine retry {held.name}` says why")
    say("next: skillvault run" if back else "nothing to retry")


@quarantine.command()
@_names
@_all
@click.option("--yes", is_flag=True, help="Confirm; without it nothing is removed.")
@vault_option
def drop(names: tuple[str, ...], everything: bool, yes: bool, vault_path: Path | None) -> None:
    """Remove files and their reasons for good."""
    chosen = _wanted("drop", names, everything=everything)
    going = open_vault(vault_path).quarantine.drop(chosen, dry=not yes)
    for name in going:
        echo(f"removed {name}" if yes else f"would remove {name}", err=not yes)
    if not going:
        say("nothing to drop")
    elif not yes:
        raise UsageError(
            f"{len(going)} file(s) would be removed for good; add --yes to remove them"
        )


def _wanted(verb: str, names: Sequence[str], *, everything: bool) -> Sequence[str] | None:
    """The names that were given; None for all."""
    if names and everything:
        raise UsageError(f"{verb}: pass NAMEs or --all, not both")
    if not names and not everything:
        raise UsageError(f"{verb}: pass a NAME or --all; {_LIST}")
    return None if everything else names
