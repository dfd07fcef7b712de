"""log: the commits of the loop."""

from pathlib import Path

import click

from skillvault.cli.options import echo, json_option, open_vault, print_json, vault_option


@click.command()
@click.option(
    "-n", "limit", type=click.IntRange(min=1), metavar="N", help="Show only the newest N."
)
@vault_option
@json_option
def log(limit: int | None, vault_path: Path | None, as_data: bool) -> None:
    """Show the commits of the loop, newest first."""
    commits = open_vault(vault_path).log(limit)
    if as_data:
        print_json(commits)
        return
    for line in dict.fromkeys(f"{c.sha[:10]} {c.date[:10]} {c.subject}" for c in commits):
        echo(line)
