"""merge-driver: what a person's own `git merge` asks where both sides changed a record."""

import sys
from pathlib import Path

import click

from skillvault.cli.options import say
from skillvault.learning.sync.table import rule_of
from skillvault.learning.sync.three_way import Versions
from skillvault.model.errors import SkillvaultError
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import policy_of

_FILE = click.Path(path_type=Path)


@click.command("merge-driver", hidden=True)
@click.argument("base", type=_FILE)
@click.argument("ours", type=_FILE)
@click.argument("theirs", type=_FILE)
@click.argument("path")
def merge_driver(base: Path, ours: Path, theirs: Path, path: str) -> None:
    """Merge one file for git: %O %A %B %P; exit 1 leaves it to the person."""
    kind = layout.kind_of(path)
    if kind is None:
        say(f"{path}: no record of a vault; git leaves it to you")
        sys.exit(1)
    try:
        before, mine, other = (file.read_bytes() for file in (base, ours, theirs))
        merged = rule_of(kind)(Versions(before or None, mine, other))
        if path == layout.MARK:
            policy_of(merged)
    except (SkillvaultError, OSError, ValueError) as error:
        say(f"{path}: {error}")
        sys.exit(1)
    ours.write_bytes(merged)
