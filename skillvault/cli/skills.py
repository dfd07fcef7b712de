"""skill list, show, approve, retire, pin, restore."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import click
import msgspec

from skillvault.api import Vault
from skillvault.cli.report import print_committed, print_done, run_shape
from skillvault.cli.shared import (
    as_json,
    dry_option,
    json_option,
    now_option,
    opened,
    vault_option,
)
from skillvault.run import Report


@click.group()
def skill() -> None:
    """The skills of a vault."""


@skill.command("list")
@click.option("--proposed", "shelf", flag_value="proposed", help="Those that wait for you.")
@click.option("--archived", "shelf", flag_value="archive", help="Those out of service.")
@vault_option
@json_option
def list_(shelf: str | None, vault_path: Path | None, as_data: bool) -> None:
    """The skills that are served."""
    found = opened(vault_path).skills(shelf or "skills")
    if as_data:
        as_json(found)
        return
    if not found:
        click.echo("none here" if shelf else "no skills to show; `skillvault run` says why")
    width = max((len(one.name) for one in found), default=0)
    for one in found:
        until = f"until {one.expires[:10]}" if one.expires else ""
        click.echo(f"{one.name:{width}}  {one.status:8} {until}".rstrip())


@skill.command()
@click.argument("name")
@vault_option
@json_option
def show(name: str, vault_path: Path | None, as_data: bool) -> None:
    """One skill as it is committed."""
    vault = opened(vault_path)
    found, path = vault.skill(name)
    if as_data:
        as_json({**msgspec.to_builtins(found), "path": path})
    else:
        print_committed(vault, path)


def _curate(verb: str, sentence: str, act: Callable[[Vault], Callable[..., Report]]) -> None:
    """A command `skill VERB NAME` that makes one commit in the person's name."""

    @skill.command(verb, help=sentence)
    @click.argument("name")
    @vault_option
    @now_option
    @dry_option
    @json_option
    def command(
        name: str, vault_path: Path | None, now: datetime | None, dry: bool, as_data: bool
    ) -> None:
        report = act(opened(vault_path))(name, now=now, dry=dry)
        if as_data:
            as_json(run_shape(report))
            return
        for done in report.done:
            print_done(done)


_curate("approve", "Let a proposed skill in; it is served as testing.", lambda v: v.approve)
_curate("retire", "Take a skill out of service, into archive/.", lambda v: v.retire)
_curate("pin", "Keep a skill whatever its evidence and age.", lambda v: v.pin)
_curate("restore", "Bring an archived skill back as testing.", lambda v: v.restore)
