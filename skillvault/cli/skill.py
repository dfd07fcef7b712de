"""skill list, show, diff, create, rename, approve, reject, retire, pin, restore.

`review/curate.py` carries out the decisions.
"""

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from skillvault.api import Vault, question
from skillvault.cli.options import (
    MAX_LISTED,
    Options,
    at_option,
    echo,
    echo_diff,
    open_history,
    open_vault,
    open_vault_as_of,
    print_json,
    read_options,
    say,
    write_options,
)
from skillvault.cli.run import decide_each, print_changes, print_committed, print_sides
from skillvault.exchange.sources import parse_source
from skillvault.inspect import lookup
from skillvault.learning import lint
from skillvault.learning.recommend.shelf import is_hidden, stack_layers
from skillvault.loop.clock import clock
from skillvault.loop.run import Report, Run
from skillvault.model.errors import UsageError
from skillvault.model.records import ShelfSkill, Skill, ref_of
from skillvault.review import proposal

if TYPE_CHECKING:
    from skillvault.review.curate import Curator


@click.group()
def skill() -> None:
    """List, show and decide about skills."""


@skill.command("list")
@click.option(
    "--proposed", "folder", flag_value="proposed", help="List skills that wait for your approval."
)
@click.option("--archived", "folder", flag_value="archive", help="List skills in archive/.")
@click.option("--layers", is_flag=True, help="List every layer's file, and which one wins.")
@click.option(
    "--tag", "tags", multiple=True, metavar="TAG", help="List skills with this tag; repeatable."
)
@click.option("--role", metavar="ROLE", help="List skills for this role.")
@click.option("--stage", metavar="STAGE", help="List skills for this stage.")
@read_options
def list_(
    folder: str | None,
    layers: bool,
    tags: tuple[str, ...],
    role: str | None,
    stage: str | None,
    vault_path: Path | None,
    as_json: bool,
) -> None:
    """List the skills of the vault, or of all layers.

    With --layers, --tag, --role or --stage, lists the skills of all layers.
    """
    if layers or tags or role or stage:
        if folder:
            raise UsageError(
                f"{folder}/ is not a layer; remove --layers, --tag, --role and --stage"
            )
        matches = partial(_matches, tags, role, stage)
        _list_layers(open_vault(vault_path), matches, as_json=as_json, shows_all=layers)
        return
    vault = open_vault(vault_path)
    skills = vault.skills(folder or "skills")
    if as_json:
        print_json(skills)
        return
    if not skills:
        echo("no skills there" if folder else "no skills to show; `skillvault run -v` says why")
    width = max((len(entry.name) for entry in skills), default=0)
    for entry in skills:
        expiry = f"expires {entry.expires[:10]}" if entry.expires else ""
        echo(f"{entry.name:{width}}  {entry.status:8} {expiry}".rstrip())
    _say_clocks(question(vault), {entry.domain for entry in skills if entry.expires})


def _say_clocks(run: Run, domains: Collection[str | None]) -> None:
    """Print the domains at rest, whose expiry dates do not count from today."""
    for domain in sorted(domains, key=str):
        time = clock(run.snapshot, domain, run.now, run.profile)
        if time is not None and time.date() < run.now.date():
            name = domain or "the vault"
            say(f"dates of {name} count from its latest outcome, {time:%Y-%m-%d}, not from today")


def _matches(tags: tuple[str, ...], role: str | None, stage: str | None, candidate: Skill) -> bool:
    return (
        (not tags or not set(tags).isdisjoint(candidate.tags))
        and (role is None or role in candidate.roles)
        and (stage is None or stage in candidate.stages)
    )


def _list_layers(
    vault: Vault, matches: Callable[[Skill], bool], *, as_json: bool, shows_all: bool
) -> None:
    """List the skills of all layers; with `shows_all`, also files that are overridden."""
    files = stack_layers(vault.shelf.layers())
    hidden = vault.store.snapshot().policy.shelf.hidden
    rows = [
        _layer_row(file, wins, hidden)
        for file, wins in files
        if (shows_all or (wins and not is_hidden(file, hidden))) and matches(file.skill)
    ]
    for problem in vault.shelf.problems:
        say(f"not read: {problem.path}: {problem.message}")
    if as_json:
        print_json(rows)
        return
    if not rows:
        echo("no skill of any layer matches")
    width = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        mark = "*" if row["wins"] else " "
        note = "  (hidden)" if row["hidden"] else ""
        echo(f"{mark} {row['name']:{width}}  {row['layer']:6}  {row['path']}{note}")
    if shows_all and rows:
        say("* marks the file that is served")


def _layer_row(file: ShelfSkill, wins: bool, hidden: Collection[str]) -> dict[str, Any]:
    """Return the JSON of a file for `skill list --layers`; a hidden file is not served."""
    fields = ("kind", "domain", "status", "origin", "tags", "roles", "stages")
    values = {field: getattr(file.skill, field) for field in fields}
    is_off = is_hidden(file, hidden)
    served = {"wins": wins and not is_off, "hidden": is_off}
    return {"name": file.skill.name, "layer": file.layer, **served, **values, "path": file.path}


@skill.command()
@click.argument("name")
@at_option
@read_options
def show(name: str, at: str | None, vault_path: Path | None, as_json: bool) -> None:
    """Print one skill of the vault or of another layer.

    Prints the results of its use, and the runs for and against it, on stderr.
    """
    with open_vault_as_of(vault_path, at) as (vault, _):
        _show(vault, name, as_json=as_json)


def _show(vault: Vault, name: str, *, as_json: bool) -> None:
    record, path = vault.skill(name)
    is_local = not Path(path).is_absolute()
    is_off = not is_local and record.name in vault.store.snapshot().policy.shelf.hidden
    stats = next(iter(vault.stats(path.split("/")[1] if is_local else record.name)), None)
    if as_json:
        sides = msgspec.to_builtins(lookup.both_sides(question(vault).snapshot, ref_of(record)))
        print_json(
            {**msgspec.to_builtins(record), "path": path, "hidden": is_off, "stats": stats, **sides}
        )
        return
    if is_local:
        print_committed(vault, path)
    else:
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise UsageError(f"{path}: changed meanwhile and cannot be read; ask again") from None
        echo(text, nl=False)
        say(f"not of this vault: {path}; `skillvault skill list --layers` shows every layer")
    if is_off:
        say(f"hidden; `skillvault skill restore {record.name}` serves it again")
    print_sides(vault, ref_of(record))
    if is_local and proposal.quotes_removed_lines(vault.store.snapshot(), record):
        say("its description quotes a line that is gone; edit the key `description`, too")
    if stats and stats.times_applied:
        say(f"{stats.decision} (`skillvault stats {stats.skill}`)")


@skill.command()
@click.argument("name")
@click.argument("revision", required=False)
@read_options
def diff(name: str, revision: str | None, vault_path: Path | None, as_json: bool) -> None:
    """Show how the text of a skill changed.

    Without REVISION, compares a proposal with the skill that it replaces, and any other skill with
    its text before the latest commit.
    """
    pair = proposal.text_pair(question(open_history(vault_path)), name, revision)
    if as_json:
        print_json({**msgspec.to_builtins(pair), "diff": pair.diff})
        return
    echo_diff(pair.diff)
    if not pair.diff:
        say(f"{name}: says the same as {pair.old}")


@skill.command()
@click.argument("name")
@click.option("--domain", metavar="NAME", help="Serve the skill in this domain alone.")
@click.option("--description", metavar="TEXT", default="", help="Say what it does, and when.")
@click.option("--edit", is_flag=True, help="Open the draft in your editor.")
@click.option("--commit", is_flag=True, help="Commit the draft at once.")
@write_options
def create(
    name: str, domain: str | None, description: str, edit: bool, commit: bool, options: Options
) -> None:
    """Write a draft of a skill of your own, and print its path.

    The skill is served once you commit the file.
    """
    if edit and commit:
        raise UsageError("--commit commits the draft as it is; leave --edit or --commit out")
    vault = options.open_vault()
    report = vault.curate.create(
        name, domain=domain, description=description, commit=commit, **options.keywords
    )
    path = vault.root / "skills" / name / "SKILL.md"
    if report.done:
        print_changes(report, as_json=options.as_json)
        return
    if edit:
        click.edit(filename=str(path))
    if options.as_json:
        print_json({"path": str(path)})
    else:
        echo(str(path))
        say("edit it, then commit it: git add and git commit serve it")


@skill.command()
@click.argument("old")
@click.argument("new")
@write_options
def rename(old: str, new: str, options: Options) -> None:
    """Rename a skill; its history, links and use stay with it."""
    report = options.open_vault().curate.rename(old, new, **options.keywords)
    print_changes(report, as_json=options.as_json)


def _add_command(verb: str, sentence: str, act: Callable[[Vault], Callable[..., Report]]) -> None:
    """Add a command `skill VERB NAME...` that makes one commit for each name."""

    @skill.command(verb, help=sentence)
    @click.argument("names", metavar="NAME...", nargs=-1, required=True)
    @write_options
    def command(names: tuple[str, ...], options: Options) -> None:
        decide_each(names, options, act(options.open_vault()))


def _names_argument(command: Callable[..., None]) -> Callable[..., None]:
    return click.argument("names", metavar="[NAME]...", nargs=-1)(command)


def _from_option(verb: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    sentence = f"{verb} all that came from there."
    return click.option("--from", "source", metavar="SOURCE", help=sentence)


def _select_proposals(curate: "Curator", source: str | None, *, clean: bool = False) -> list[str]:
    """Return the names of the proposals of a source; a path, an address or a short name."""
    place, address = Path(source or "").expanduser(), source or ""
    if source and place.exists():
        address = str(place.resolve())
    elif source:
        address = parse_source(source).address
    names = curate.select_proposals(address, clean=clean)
    if not names:
        say("no proposed skill is selected; `skillvault review` shows what waits, rules too")
    return names


@skill.command()
@_names_argument
@_from_option("Approve")
@click.option(
    "--clean", is_flag=True, help="Approve all in which the lint finds nothing but links."
)
@write_options
def approve(names: tuple[str, ...], source: str | None, clean: bool, options: Options) -> None:
    """Approve proposed skills; they are served from now on.

    All of them are one commit. --from and --clean select together.
    """
    if bool(names) == bool(source or clean):
        raise UsageError("name skills, or select them by --from SOURCE or --clean")
    curate = options.open_vault().curate
    names = names or tuple(_select_proposals(curate, source, clean=clean))
    findings = [] if clean else [f for name in names if (f := curate.lint(name)) is not None]
    report = curate.approve(*names, **options.keywords)
    lines = [line for skill in findings for line in lint.lint_lines(skill)]
    if not options.as_json:
        for line in lines if len(findings) <= MAX_LISTED else [lint.sum_up(findings)]:
            say(line)
    print_changes(report, as_json=options.as_json, lint=lines)


@skill.command()
@_names_argument
@_from_option("Reject")
@click.option("--reason", metavar="TEXT", help="Say why; later runs repeat it.")
@click.option("--forget", is_flag=True, help="Undo a rejection: the proposal waits again.")
@write_options
def reject(
    names: tuple[str, ...],
    source: str | None,
    reason: str | None,
    forget: bool,
    options: Options,
) -> None:
    """Reject proposed skills, and later ones that say the same.

    All of them are one commit. Remembers the sources and the statements of each skill.
    """
    if bool(names) == bool(source):
        raise UsageError("name skills, or select them by --from SOURCE")
    if forget and (reason or len(names) != 1):
        raise UsageError("--forget takes one NAME and no --reason or --from; remove the others")
    curate = options.open_vault().curate
    if forget:
        report = curate.forget(names[0], **options.keywords)
    else:
        names = names or tuple(_select_proposals(curate, source))
        report = curate.reject(*names, reason=reason or "", **options.keywords)
    print_changes(report, as_json=options.as_json)


_add_command(
    "retire", "Move skills to archive/, or hide those of another layer.", lambda v: v.curate.retire
)
_add_command("pin", "Keep skills, whatever their effect and age.", lambda v: v.curate.pin)
_add_command("restore", "Restore archived, hidden or pinned skills.", lambda v: v.curate.restore)
