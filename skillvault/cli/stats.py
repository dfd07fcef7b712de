"""The command that tells whether skills help, and what became of one decision."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skillvault.cli.shared import as_json, json_option, opened, say, vault_option
from skillvault.errors import UsageError
from skillvault.text import shorten
from skillvault.vault.files.arrival import shown

if TYPE_CHECKING:
    from skillvault.learning.effect.stats import SkillStats, VersionStats

_NAME = 44  # letters of a skill in a list


@click.command()
@click.argument("skill", required=False)
@click.option("--domain", metavar="NAME", help="Show only the skills of this domain.")
@click.option(
    "--decision", metavar="ID", help="Show instead what one decision was shown and applied."
)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.svg",
    help="Draw the lifts, worst to best, into a file.",
)
@vault_option
@json_option
def stats(
    skill: str | None,
    domain: str | None,
    decision: str | None,
    plot: Path | None,
    vault_path: Path | None,
    as_data: bool,
) -> None:
    """Show whether skills help, or what became of a decision.

    For each skill: its uses, its lift, and the status that follows.
    """
    if decision is not None:
        if skill or domain or plot:
            raise UsageError(
                "--decision ID asks about one decision; remove SKILL, --domain and --plot"
            )
        _print_decision(opened(vault_path).stats(decision), as_data=as_data)
        return
    found = opened(vault_path).effects(skill, domain=domain)
    if plot is not None:
        _draw(plot, domain or "all domains", found)
    elif as_data:
        as_json(found[0] if skill and found else found)
    elif skill:
        for one in found:
            _print_skill(one)
    else:
        _print_all(found)


def _draw(plot: Path, domain: str, found: "list[SkillStats]") -> None:
    from skillvault.cli.plot import svg  # noqa: PLC0415 (loaded when it is needed)

    try:
        plot.write_bytes(svg(f"What skills change: {domain}", found))
    except OSError as error:
        raise UsageError(
            f"--plot {plot}: {error.strerror}; choose a file that you may write"
        ) from None
    say(f"wrote {plot}")


# ── skills ───────────────────────────────────────────────────────────────────────────


def _print_all(found: "list[SkillStats]") -> None:
    for one in found:
        lift = "no lift yet" if one.lift is None else _lift(one)
        used = f"{one.times_applied} uses, {one.success_count} succeeded"
        click.echo(shown(f"{shorten(one.skill, _NAME):{_NAME}}  {used}  {lift}  {one.decision}"))
    if not found:
        click.echo(
            "no skill was used yet; name the skills that an outcome applied under its key `applied`"
        )


def _print_skill(one: "SkillStats") -> None:
    about = ", ".join(filter(None, (one.kind, one.domain)))
    click.echo(shown(f"{one.skill} ({about}): {one.decision}"))
    for line in _lines(one):
        click.echo(f"  {line}")
    if one.merged:
        click.echo(shown(f"  stands for {', '.join(one.merged)}, whose uses are among these"))
    for n, old in enumerate(one.earlier, 1):
        click.echo(f"  text {n}, before a person rewrote it:")
        for line in _lines(old):
            click.echo(f"    {line}")


def _lines(one: "VersionStats") -> list[str]:
    if not one.times_applied and not one.shown and not one.held_out:
        return ["not used yet"]
    rate = "" if one.success_rate is None else f" ({one.success_rate:.0%})"
    used = f"applied {one.times_applied} times: {one.success_count} succeeded{rate}"
    used += f", {one.failure_count} failed"
    if one.consecutive_failures:
        used += f", the last {one.consecutive_failures} in a row"
    average = "" if one.ema is None else f", EMA {one.ema:.2f}"
    found = [used, f"Wilson bound {one.wilson:.2f}{average}"]
    if one.lift is not None:
        found.append(f"{_lift(one)}, standard error {one.error:.3f}, base rate {one.base_rate:.2f}")
    found.append(f"closed decisions: shown to {one.shown}, held out from {one.held_out}")
    return found


def _lift(one: "VersionStats") -> str:
    low, high = one.interval or (0.0, 0.0)
    return f"lift {one.lift:+.3f} ({low:+.3f} to {high:+.3f}), P(lift > 0) = {one.p_helps:.3f}"


# ── one decision ─────────────────────────────────────────────────────────────────────


def _print_decision(found: dict[str, Any], *, as_data: bool) -> None:
    if as_data:
        as_json(found)
        return
    score = "" if found["score"] is None else f", score {found['score']:+g}"
    click.echo(shown(f"{found['decision']} in {found['domain']}: {found['outcome']}{score}"))
    for row in found["skills"]:
        click.echo(shown(f"  {row['skill']}: {_part(row)}"))
    if not found["skills"]:
        click.echo("  no skill was shown or applied")


def _part(row: dict[str, Any]) -> str:
    """What a skill had to do with a decision."""
    offered = "shown" if row["shown"] else "held out" if row["held_out"] else "not shown"
    if not row["applied"]:
        return f"{offered}, not applied"
    quote = f": {' '.join(row['quote'].split())}" if row["quote"] else ""
    return f"{offered}, applied ({row['match']}, {row['confidence']:.2f}){quote}"
