"""why-not: why something taught nothing."""

from pathlib import Path

import click

from skillvault.cli.options import echo, json_option, open_vault, print_json, vault_option


@click.command("why-not")
@click.argument("ref")
@vault_option
@json_option
def why_not(ref: str, vault_path: Path | None, as_data: bool) -> None:
    """Show why a record, a rule or a domain taught nothing.

    If it taught something, it shows what; with the numbers that decided it.
    """
    (kind, name), answers = open_vault(vault_path).why_not(ref)
    if as_data:
        print_json({kind: name, "steps": answers})
        return
    echo(f"{kind} {name}")
    for answer in answers:
        echo(f"  {answer.step}: {answer.state}: {answer.reason}")
