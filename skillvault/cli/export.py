"""export: the live skills in the format of another program."""

import sys
from pathlib import Path

import click

from skillvault.cli.options import (
    dry_option,
    json_option,
    open_vault,
    print_json,
    say,
    vault_option,
)
from skillvault.exchange.skills.formats import SKILL_FORMATS
from skillvault.serving.exporting import Exported

_FORMATS = sorted(name for name, format_ in SKILL_FORMATS.items() if format_.write)


@click.command()
@click.option(
    "--to",
    required=True,
    type=click.Choice(_FORMATS),
    help="Write them as this program reads them.",
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option("--domain", metavar="NAME", help="Export the skills of this domain, and of none.")
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    metavar="CHARACTERS",
    help="Let the skills take so much of what the host lists (default: its own limit).",
)
@vault_option
@dry_option
@json_option
def export(
    to: str,
    folder: Path,
    domain: str | None,
    budget: int | None,
    vault_path: Path | None,
    dry: bool,
    as_data: bool,
) -> None:
    """Write the live skills for another program.

    Best first by their effect; what DIR had of an earlier export follows. Exit code 1 if something
    in DIR was left as it is.
    """
    exporter = open_vault(vault_path).exporter
    exported = exporter.export(to, folder, domain=domain, budget=budget, dry=dry)
    if as_data:
        print_json(exported)
    else:
        _print(exported, dry=dry)
    if exported.left:
        sys.exit(1)


def _print(exported: Exported, *, dry: bool) -> None:
    for path in exported.removed:
        say(f"{'would remove' if dry else 'removed'}: {path}")
    if exported.cut:
        say(f"descriptions are cut to {exported.cut} characters to fit; --budget allows more")
    for skill in exported.left_out:
        say(f"left out: {skill.skill}: {skill.reason}")
    for problem in exported.left:
        say(f"left as it is: {problem.path}: {problem.message}")
    changes = [
        f"{len(exported.written)} written",
        f"{len(exported.removed)} removed",
        f"{exported.unchanged} as before",
    ]
    skills = f"{len(exported.skills)} skill{'s' * (len(exported.skills) != 1)}"
    prefix = "would export" if dry else "exported"
    click.echo(f"{prefix} {skills} to {exported.folder}; files: {', '.join(changes)}")
