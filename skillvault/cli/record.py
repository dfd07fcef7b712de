"""record: put one outcome into the vault."""

import sys
from datetime import datetime
from pathlib import Path

import click

from skillvault.cli.options import (
    dry_option,
    echo,
    input_file,
    json_option,
    now_option,
    open_vault,
    track,
    vault_option,
)
from skillvault.cli.run_report import end_intake
from skillvault.model.errors import UsageError
from skillvault.vault.files import layout


@click.command()
@click.argument("file", required=False)
@click.option("--example", is_flag=True, help="Print an example to edit; record nothing.")
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
    """Record one outcome from FILE, or from stdin (-).

    The outcome is YAML, JSON, or Markdown with front matter.
    """
    if example:
        echo(_example().read_text(encoding="utf-8"), nl=False)
        return
    if file is None and sys.stdin.isatty():
        raise UsageError(
            "no outcome; pass a FILE, or - for stdin; `skillvault record --example` prints one"
        )
    outcome = input_file(file or "-")
    vault = open_vault(vault_path)
    report = vault.record([outcome], now=now, dry=dry, track=track)
    end_intake(vault, report, dry=dry, as_data=as_data)


def _example() -> Path:
    return layout.resource("vault_template") / "examples" / "outcome.yaml"
