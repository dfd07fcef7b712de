"""init: make a vault, or complete a clone of one."""

from datetime import datetime
from pathlib import Path

import click

from skillvault.api import Vault
from skillvault.cli.options import echo, now_option, say


@click.command()
@click.argument("path", default=".", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--domain", "domains", multiple=True, metavar="NAME", help="Add a domain; repeatable."
)
@click.option("--post-merge", is_flag=True, help="Install a hook that runs the loop after a pull.")
@click.option("--nested", is_flag=True, help="Make it even inside another git repository.")
@now_option
def init(
    path: Path, domains: tuple[str, ...], post_merge: bool, nested: bool, now: datetime | None
) -> None:
    """Make a vault in PATH, or complete a clone of one.

    It adds what is missing: inbox/, quarantine/, the hook.
    """
    vault, made = Vault.init(path, domains, post_merge=post_merge, nested=nested, now=now)
    for line in made.did:
        echo(f"made {line}")
    if not made.did:
        echo(f"{vault.root} is a complete vault; nothing to do")
    for line in made.left:
        say(f"to do by hand: {line}")
    if any(line.startswith("the first commit") for line in made.did):
        say("next: skillvault record --example > my-outcome.yaml, edit it, record it, run")
