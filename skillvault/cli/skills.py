"""skill list, show, approve, retire, pin, restore."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

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
    say,
    vault_option,
)
from skillvault.errors import UsageError
from skillvault.records import Shelved, Skill
from skillvault.steps.run import Report


@click.group()
def skill() -> None:
    """List, show and decide about skills."""


@skill.command("list")
@click.option(
    "--proposed", "shelf", flag_value="proposed", help="List skills that wait for your approval."
)
@click.option("--archived", "shelf", flag_value="archive", help="List skills in archive/.")
@click.option("--layers", is_flag=True, help="List every layer's file, and which one wins.")
@click.option(
    "--tag", "tags", multiple=True, metavar="TAG", help="List skills with this tag; repeatable."
)
@click.option("--role", metavar="ROLE", help="List skills for this role.")
@click.option("--stage", metavar="STAGE", help="List skills for this stage.")
@vault_option
@json_option
def list_(
    shelf: str | None,
    layers: bool,
    tags: tuple[str, ...],
    role: str | None,
    stage: str | None,
    vault_path: Path | None,
    as_data: bool,
) -> None:
    """List the skills of the vault, or of all layers.

    With --layers, --tag, --role or --stage those of all layers.
    """
    if layers or tags or role or stage:
        if shelf:
            raise UsageError(f"{shelf}/ is not a layer; remove --layers, --tag, --role and --stage")
        _list_layers(opened(vault_path), _asks(tags, role, stage), as_data=as_data, every=layers)
        return
    found = opened(vault_path).skills(shelf or "skills")
    if as_data:
        as_json(found)
        return
    if not found:
        click.echo("no skills there" if shelf else "no skills to show; `skillvault run` says why")
    width = max((len(one.name) for one in found), default=0)
    for one in found:
        until = f"until {one.expires[:10]}" if one.expires else ""
        click.echo(f"{one.name:{width}}  {one.status:8} {until}".rstrip())


def _asks(tags: tuple[str, ...], role: str | None, stage: str | None) -> Callable[[Skill], bool]:
    """Whether a skill is one that is asked for."""

    def asked(one: Skill) -> bool:
        return (
            (not tags or not set(tags).isdisjoint(one.tags))
            and (role is None or role in one.roles)
            and (stage is None or stage in one.stages)
        )

    return asked


def _list_layers(
    vault: Vault, asked: Callable[[Skill], bool], *, as_data: bool, every: bool
) -> None:
    """The skills of all layers; `every`: also the files that a later layer overrides."""
    from skillvault.learning.recommend.shelf import stacked  # noqa: PLC0415 (loaded when it is needed)

    files = stacked(vault.shelf.layers())
    found = [_layered(one, wins) for one, wins in files if (wins or every) and asked(one.skill)]
    for problem in vault.shelf.problems:
        say(f"not read: {problem.path}: {problem.message}")
    if as_data:
        as_json(found)
        return
    if not found:
        click.echo("no skill of any layer matches")
    width = max((len(row["name"]) for row in found), default=0)
    for row in found:
        mark = "*" if row["wins"] else " "
        click.echo(f"{mark} {row['name']:{width}}  {row['layer']:6}  {row['path']}")
    if every and found:
        say("* marks the file that is served")


def _layered(one: Shelved, wins: bool) -> dict[str, Any]:
    """`skill list --layers --json`, one file."""
    fields = ("kind", "domain", "status", "origin", "tags", "roles", "stages")
    said = {field: getattr(one.skill, field) for field in fields}
    return {"name": one.skill.name, "layer": one.layer, "wins": wins, **said, "path": one.path}


@skill.command()
@click.argument("name")
@vault_option
@json_option
def show(name: str, vault_path: Path | None, as_data: bool) -> None:
    """Print one skill as it is committed.

    What its use showed goes to stderr.
    """
    vault = opened(vault_path)
    found, path = vault.skill(name)
    known = next(iter(vault.effects(path.split("/")[1])), None)
    if as_data:
        as_json({**msgspec.to_builtins(found), "path": path, "stats": known})
        return
    print_committed(vault, path)
    if known and known.times_applied:
        say(f"{known.decision} (`skillvault stats {known.skill}`)")


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


_curate("approve", "Approve a proposed skill; it is served as testing.", lambda v: v.approve)
_curate("retire", "Move a skill to archive/, so that it is not served.", lambda v: v.retire)
_curate("pin", "Keep a skill, whatever its effect and age.", lambda v: v.pin)
_curate("restore", "Bring an archived skill back, as testing.", lambda v: v.restore)
