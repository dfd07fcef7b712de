"""search: skills, facts and evaluations that answer a text."""

from pathlib import Path

import click

from skillvault.cli.options import (
    at_option,
    echo,
    json_option,
    open_vault_at,
    print_json,
    vault_option,
)
from skillvault.model.text.text import shorten
from skillvault.vault.files.arrival import shown

KINDS = ("skill", "fact", "evaluation")


_LINE = 80  # characters of a text in a list


@click.command()
@click.argument("text")
@click.option("--kind", type=click.Choice(KINDS), help="Find only records of this kind.")
@click.option(
    "--domain",
    metavar="NAME",
    help="Find what is of this domain or none, and facts that hold there too.",
)
@click.option(
    "-k",
    "k",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Print at most N.",
)
@click.option("--words", is_flag=True, help="Rank by words alone, without word vectors.")
@click.option("--untrusted", is_flag=True, help="Find what untrusted sources say too.")
@at_option
@vault_option
@json_option
def search(  # noqa: PLR0913 (click hands a command one argument an option)
    text: str,
    kind: str | None,
    domain: str | None,
    k: int,
    words: bool,
    untrusted: bool,
    at: str | None,
    vault_path: Path | None,
    as_data: bool,
) -> None:
    """Search skills, facts and evaluations for TEXT.

    Prints the best first: score, kind, trust, id and text.
    """
    with open_vault_at(vault_path, at) as (vault, _):
        hits = vault.search(
            text, kind=kind, domain=domain, k=k, semantic=not words, untrusted=untrusted
        )
    if as_data:
        print_json(hits)
        return
    for hit in hits:
        columns = (f"{hit.score:.2f}", f"{hit.kind:10}", f"{hit.trust:9}", hit.id)
        echo(shown("  ".join([*columns, shorten(hit.text, _LINE)]).rstrip()))
    if not hits:
        echo("nothing found")
