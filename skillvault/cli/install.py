"""install: skills of other people, and their newer versions."""

import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from skillvault.cli.options import (
    dry_option,
    json_option,
    now_option,
    open_vault,
    print_json,
    say,
    vault_option,
)
from skillvault.cli.run_report import pack, print_done
from skillvault.exchange.sources import REGISTRY, SkillSource, source_of
from skillvault.model.errors import UsageError
from skillvault.model.records import Problem
from skillvault.review.installing import Installed, InstallReport, Offered


@click.command()
@click.argument("source", required=False)
@click.option("--list", "lists", is_flag=True, help="Print what SOURCE offers; install nothing.")
@click.option(
    "--skill", "names", multiple=True, metavar="NAME", help="Install this skill; repeatable."
)
@click.option(
    "--update", "updates", is_flag=True, help="Bring in newer versions of SOURCE, or all."
)
@click.option("--seeds", is_flag=True, help="Copy the package's own skills into skills/.")
@click.option("--force", is_flag=True, help="With --seeds: over those that stand there.")
@click.option(
    "--registry",
    envvar="CLAWHUB_REGISTRY",
    default=REGISTRY,
    metavar="URL",
    help="Ask this ClawHub registry (default: CLAWHUB_REGISTRY, else clawhub.ai).",
)
@vault_option
@now_option
@dry_option
@json_option
def install(  # noqa: PLR0913 (click hands a command one argument an option)
    source: str | None,
    lists: bool,
    names: tuple[str, ...],
    updates: bool,
    seeds: bool,
    force: bool,
    registry: str,
    vault_path: Path | None,
    now: datetime | None,
    dry: bool,
    as_data: bool,
) -> None:
    """Install skills of other people, to wait for your approval.

    SOURCE is a folder, a git URL (`#REF:FOLDER` behind it), owner/repo[/folder] on GitHub, a site
    with an index of skills, or clawhub:owner/name. With --update it is the name of a skill.
    """
    _check_options(source, names, lists=lists, updates=updates, seeds=seeds, force=force)
    vault = open_vault(vault_path)
    installer = vault.curate.installer
    if lists:
        offers, problems = installer.offers(_source_from(source, registry), names)
        _print_offers(offers, problems, as_data=as_data)
        return
    if seeds:
        report = installer.seeds(force=force, now=now, dry=dry)
    elif updates:
        report = installer.update([source] if source else [], now=now, dry=dry)
    else:
        report = installer.install(_source_from(source, registry), names, now=now, dry=dry)
    if not dry and report.installed:
        pack(vault)
    print_report(report, as_data=as_data)


def _check_options(
    source: str | None,
    names: Sequence[str],
    *,
    lists: bool,
    updates: bool,
    seeds: bool,
    force: bool,
) -> None:
    """UsageError for options that do not go together."""
    if lists + updates + seeds > 1:
        raise UsageError("--list, --update and --seeds are three questions; ask one at a time")
    if force and not seeds:
        raise UsageError("--force goes with --seeds; what is installed waits and replaces nothing")
    if seeds and source:
        raise UsageError(f"--seeds copies the package's own skills; leave {source} out")
    if names and (updates or seeds):
        raise UsageError("--skill chooses of a SOURCE; leave it out here")
    if not (source or updates or seeds):
        raise UsageError(
            "name a SOURCE: a folder, a git URL, owner/repo, a site, clawhub:owner/name"
        )


def _source_from(text: str | None, registry: str) -> SkillSource:
    place = text or ""
    return source_of(place, registry=registry, is_folder=Path(place).expanduser().is_dir())


def _print_offers(offers: Sequence[Offered], problems: Sequence[Problem], *, as_data: bool) -> None:
    if as_data:
        print_json({"skills": offers, "problems": problems})
    else:
        width = max((len(offer.name) for offer in offers), default=0)
        for offer in offers:
            click.echo(f"{offer.name:{width}}  {' '.join(offer.description.split())}")
        _say_problems(problems)
    if problems:
        sys.exit(1)


def print_report(report: InstallReport, *, as_data: bool) -> None:
    """What came in; exit code 1 if something did not."""
    if as_data:
        print_json(_shape(report))
    else:
        for installed in report.installed:
            _print_installed(installed)
        for sentence in report.known:
            say(sentence)
        for waiting in report.waiting:
            say(f"waiting: {waiting.path}: {waiting.reason}")
        _say_problems(report.problems)
    if report.problems or report.waiting:
        sys.exit(1)


def _print_installed(installed: Installed) -> None:
    for done in installed.done:
        print_done(done)
    for line in installed.lint:
        say(line)
    if installed.lint:
        say(
            f"proposed: {installed.name}; `skillvault skill show {installed.name}` reads it, "
            f"`skillvault skill approve {installed.name}` serves it"
        )


def _say_problems(problems: Sequence[Problem]) -> None:
    for problem in problems:
        say(f"not installed: {problem.path}: {problem.message} [{problem.code}]")


def _shape(report: InstallReport) -> dict[str, Any]:
    """`install --json`."""
    rows = [
        {
            "name": installed.name,
            "source": installed.url,
            "digest": installed.digest,
            "lint": installed.lint,
            "commits": [done.commit for done in installed.done],
        }
        for installed in report.installed
    ]
    plain = msgspec.to_builtins({"waiting": report.waiting, "problems": report.problems})
    return {"installed": rows, "known": report.known, **plain}
