"""init, check, doctor: make a vault, check its files, find what keeps it from working."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from click.core import ParameterSource

from skillvault import api
from skillvault.api import Vault
from skillvault.api import doctor as examine
from skillvault.cli import exchange, run
from skillvault.cli.options import (
    Options,
    VaultPath,
    choose_vault,
    common_options,
    echo,
    import_option,
    list_some,
    now_option,
    open_vault,
    print_json,
    read_options,
    say,
    vault_path_of,
)

if TYPE_CHECKING:
    from skillvault.inspect.doctor import Row
from skillvault.model.errors import UsageError
from skillvault.model.records import Problem
from skillvault.model.text.text import pluralize
from skillvault.sessions import transcripts, trial
from skillvault.vault.files import layout

_WORKFLOW_FILES = {"github": ".github/workflows/skillvault.yml", "gitlab": ".gitlab-ci.yml"}
_COLORS = {"problem": "red", "note": "yellow", "ok": "green"}  # of a row of `doctor`


@click.command()
@click.argument("path", required=False, type=VaultPath(path_type=Path, file_okay=False))
@click.option(
    "--domain", "domains", multiple=True, metavar="NAME", help="Add a domain; repeatable."
)
@click.option("--post-merge", is_flag=True, help="Install a hook that runs the loop after a pull.")
@click.option("--nested", is_flag=True, help="Create it inside another git repository.")
@click.option(
    "--ci",
    type=click.Choice(list(_WORKFLOW_FILES)),
    help="Write the workflow of a team for this forge.",
)
@import_option
@common_options(now_option)
def init(
    path: Path | None,
    domains: tuple[str, ...],
    post_merge: bool,
    nested: bool,
    ci: str | None,
    imports: bool | None,
    options: Options,
) -> None:
    """Create a vault in PATH, or set up a clone.

    Without PATH, uses the vault that `--vault` or SKILLVAULT_VAULT names, else the current folder.
    Adds what is missing: inbox/, quarantine/, the hook.
    """
    path = _choose_folder(path, options.vault_path)
    vault, report = Vault.init(path, domains, post_merge=post_merge, nested=nested, now=options.now)
    if ci:
        workflow, template = (
            vault.root / _WORKFLOW_FILES[ci],
            layout.resource("vault_template") / f"ci/{ci}.yml",
        )
        if not workflow.exists():
            workflow.parent.mkdir(parents=True, exist_ok=True)
            workflow.write_bytes(template.read_bytes())
            report.did.append(f"{_WORKFLOW_FILES[ci]}; set its variables, and commit it")
        elif workflow.read_bytes() != template.read_bytes():
            report.left.append(f"{_WORKFLOW_FILES[ci]} stays as it is; add the jobs of {template}")
    for line in report.did:
        echo(f"made {line}")
    if not report.did:
        echo(f"{vault.root} is a complete vault; nothing to do")
    for line in report.left:
        say(f"to do by hand: {line}")
    is_new = any(line.startswith("the first commit") for line in report.did)
    if imports or (is_new and domains in ((), (transcripts.CODING,))):
        outcomes = vault.store.snapshot().outcomes
        groups = trial.find_new_sessions(outcomes, lambda _: transcripts.CODING)
        words = ["skillvault", "init", str(vault.root), "--import"]
        exchange.offer_sessions(vault, groups, "in all of your projects", words, imports=imports)
    if is_new:
        say("next: skillvault setup claude-code (or codex) in your project, or without an agent:")
        say("      skillvault record --example > my-outcome.yaml, edit it, record it, run")


def _choose_folder(path: Path | None, vault_path: Path | None) -> Path:
    folder = vault_path_of(vault_path)
    if path is None or folder is None or layout.real_path(path) == layout.real_path(folder):
        return path or folder or Path()
    group = click.get_current_context().find_root()
    if vault_path or group.get_parameter_source("vault_path") is not ParameterSource.ENVIRONMENT:
        raise UsageError(f"{path} and --vault {folder} are two folders; name one")
    return path


@click.command()
@click.option("--staged", is_flag=True, help="Check the staged files instead of the work tree.")
@click.option(
    "--against", metavar="BASE", help="Check by the roles at this commit who made the later ones."
)
@read_options
def check(staged: bool, against: str | None, vault_path: Path | None, as_json: bool) -> None:
    """Check that the files of a vault are valid and agree.

    Prints each problem, and exits with 1 if there is one.
    """
    if staged and against:
        raise UsageError("--staged files have no commit yet; remove --against")
    index = os.environ.get("GIT_INDEX_FILE") if staged else None
    report = open_vault(vault_path).check(
        staged=staged, index=str(Path(index).absolute()) if index else None, against=against
    )
    if as_json:
        print_json(msgspec.to_builtins(report))
    else:
        for problem in report.problems:
            echo(_problem_line(problem), err=staged)
        for note in report.notes if not staged else ():
            echo(f"note: {_problem_line(note)}")
        if not staged and not report.problems:
            echo("no problems found")
    if report.problems:
        sys.exit(1)


def _problem_line(problem: Problem) -> str:
    return f"{problem.path}: {problem.message} [{problem.code}]"


@click.command()
@click.option("--upgrade", is_flag=True, help="Say what `skillvault run --upgrade` would change.")
@read_options
def doctor(upgrade: bool, vault_path: Path | None, as_json: bool) -> None:
    """Find what keeps the vault from working, and say how to fix it.

    Exits with 1 if there is a problem. Changes only what a killed skillvault left half-made.
    """
    if upgrade:
        _preview_upgrade(open_vault(vault_path), as_json=as_json)
        return
    rows = examine(choose_vault(vault_path))
    print_json(rows) if as_json else _print_rows(rows)
    if any(row.state == "problem" for row in rows):
        sys.exit(1)


def _preview_upgrade(vault: Vault, *, as_json: bool) -> None:
    """Print a line for each step, with the number of its records and the first of them."""
    report = api.upgrade(vault, dry=True)
    if as_json:
        print_json(run.run_shape(report))
        return
    refs: dict[tuple[str, str], list[str]] = {}
    for result in report.done:
        for ref in result.change.targets:
            refs.setdefault((result.change.step, ref.kind), []).append(ref.id)
    for (step, kind), names in refs.items():
        echo(f"{step:9} {pluralize(len(names), kind)}: {list_some(sorted(names), 3)}")
    if refs:
        say("`skillvault run --upgrade` makes one commit of it, which you can read and revert")
    else:
        echo("nothing would change")


def _print_rows(rows: "list[Row]") -> None:
    width = max(len(row.check) for row in rows)
    for row in rows:
        echo(f"{row.state:7}  {row.check:{width}}  {row.detail}", color=_COLORS.get(row.state))
        if row.fix:
            echo(f"{'':7}  {'':{width}}  fix: {row.fix}")
