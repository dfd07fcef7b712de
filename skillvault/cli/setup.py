"""setup, mcp: connect a client to the vault, complete in a shell, serve the vault to a client."""

import os
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from skillvault.api import Vault
from skillvault.cli import exchange, mcp_server
from skillvault.cli.commands import COMPLETING
from skillvault.cli.options import (
    choose_vault,
    dry_option,
    echo,
    echo_diff,
    import_option,
    make_own_vault,
    open_vault,
    say,
    track,
    vault_option,
    vault_path_of,
)
from skillvault.cli.service import service_of
from skillvault.clients.hook_client import MAKE_VAULT
from skillvault.clients.notes import calls_folder, domain_of, exclude_file
from skillvault.clients.setups import SHELLS, SetupOptions, completion_edit
from skillvault.model.change import Change, Edit
from skillvault.model.errors import NotAVaultError, UsageError
from skillvault.model.records import Problem
from skillvault.model.text.text import pluralize
from skillvault.review.commits import commit_changes
from skillvault.sessions import trial
from skillvault.sessions.client_setup import (
    ClientSetup,
    FileChange,
    SetupRecord,
    carry_out_edit,
    state_of,
)
from skillvault.vault.commit.locks import DAEMON, holder
from skillvault.vault.files import layout
from skillvault.vault.setup import check_domains


@click.command()
@click.option("--allow-review", is_flag=True, help="Offer tools to approve and reject skills too.")
@click.option(
    "--no-holdout",
    "lists_all",
    is_flag=True,
    help="Hold no skill out, as the client lists them all itself.",
)
@click.option(
    MAKE_VAULT, "makes_vault", is_flag=True, help="Make the plugin's vault if there is none."
)
@vault_option
def mcp(allow_review: bool, lists_all: bool, makes_vault: bool, vault_path: Path | None) -> None:
    """Serve the vault's tools and skills to a client, by the Model Context Protocol.

    `skillvault setup` registers it. It reads stdin until its client closes it.
    """
    if not has_sdk():
        raise UsageError(
            "the extra `mcp` is not installed; `pip install '.[mcp]'` in a clone of skillvault "
            "brings it"
        )
    if makes_vault and choose_vault(vault_path) is None:
        vault_path = make_own_vault()
    vault = open_vault(vault_path)
    mcp_server.server_of(vault, may_review=allow_review, lists_all=lists_all).run("stdio")


def has_sdk() -> bool:
    """Return True if the extra `mcp` is installed."""
    return find_spec("mcp") is not None


_CLIENTS = ("claude-code", "codex")
_JUDGES = ("client", "agent", "offline")
_CHOICE = """\
Who should judge outcomes and write the texts of skills?
  offline  a program on this machine; nothing is sent, nothing is paid
  client   {client}, in the background after sessions: it gets decisions, results and the
           statements of skills, without secrets, by your own login; about 1,500 tokens an outcome,
           at most {calls} calls and {tokens:,} tokens a day
  agent    the agent in your session, if it runs `skillvault ask`; it gets the same
`skillvault ask --dry-run` prints all that the client would be sent. vault.yaml holds the choice."""


@click.group()
def setup() -> None:
    """Connect an agent's client, or complete commands in a shell."""


@click.command()
@click.option(
    "--project",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    help="Hook up the client in DIR (default: here).",
)
@click.option("--user", "is_user", is_flag=True, help="Hook it up in all of your projects.")
@click.option("--shared", "is_shared", is_flag=True, help="Write the settings that a team commits.")
@click.option("--domain", metavar="NAME", help="Use this domain (default: the repository's name).")
@click.option(
    "--link",
    "links",
    is_flag=True,
    help="Put the skills into the client's own folder; whether they help is not measured then.",
)
@click.option(
    "--judge", type=click.Choice(_JUDGES), help="Say who judges (default: ask, or leave it)."
)
@click.option("--check", "checks", is_flag=True, help="Say where it is set up, and if it works.")
@click.option("--remove", "removes", is_flag=True, help="Remove all that setup wrote.")
@click.option("--yes", is_flag=True, help="Change the files without asking.")
@click.option("-v", "--verbose", is_flag=True, help="Print the changes as diffs.")
@import_option
@vault_option
@dry_option
@click.pass_context
def _connect(  # noqa: PLR0913 (click hands a command one argument an option)
    context: click.Context,
    /,
    domain: str | None,
    links: bool,
    removes: bool,
    checks: bool,
    judge: str | None,
    yes: bool,
    verbose: bool,
    imports: bool | None,
    vault_path: Path | None,
    dry: bool,
    **scope: Any,
) -> None:
    """Connect an agent's client: its hooks, its tools, its notes.

    Lists the files that it changes. If a file cannot be read, the command leaves it, says what to
    do by hand, and exits with 1.
    """
    client = str(context.info_name)
    check_domains([domain] if domain is not None else [])
    if checks:
        _check(client)
        return
    project = _project(**scope)
    setups = ClientSetup()
    record = setups.record_of(client, project)
    vault = _vault_of(record, vault_path) if removes else open_vault(vault_path)
    options = SetupOptions(
        vault=vault.root if vault else Path(record.vault),
        calls=calls_folder(vault.store.git.dirs()[0] / "skillvault" if vault else Path()),
        exclude=exclude_file(project) if project else None,
        project=project,
        domain=domain,
        links=links,
        is_shared=scope["is_shared"],
        mcp=has_sdk(),
    )
    if vault and not removes and project and project.is_relative_to(vault.root.resolve()):
        raise UsageError(
            f"{project}: is inside the vault; pass the project in which the agent works as "
            "--project DIR"
        )
    changes = setups.changes(client, options, removes=removes)
    for change in changes:
        _print_change(change, removes=removes, verbose=verbose)
    if not (dry or removes or yes or _agrees(changes, options.vault)):
        say("nothing was changed")
        return
    if not dry:
        if vault and record.links and (removes or not links):
            _say_left(vault.exporter.withdraw(client, project or Path.home()).left)
        setups.carry_out(client, options, changes, removes=removes)
        if vault and not removes:
            _complete(vault, client, options, judge=judge, imports=imports)
    _say_end(client, changes, options, dry=dry, removes=removes)
    if vault and removes:
        _say_watcher(vault)
    if any(change.trouble for change in changes):
        sys.exit(1)


for _client in _CLIENTS:
    setup.add_command(_connect, _client)


@setup.command()
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@click.option("--remove", "removes", is_flag=True, help="Remove the line that setup wrote.")
@dry_option
def completion(shell: str | None, removes: bool, dry: bool) -> None:
    """Set up tab completion of commands in your shell.

    Adds one line to a file that each new shell reads, and prints the change as a diff. Without a
    SHELL, it is your login shell.
    """
    login_shell = os.environ.get("SHELL", "")
    name = shell or Path(login_shell).name
    if name not in SHELLS:
        names = ", ".join(SHELLS)
        raise UsageError(
            f"SHELL is {login_shell or 'not set'}; pass the shell to complete in: {names}"
        )
    change = carry_out_edit(completion_edit(name, COMPLETING), removes=removes, dry=dry)
    if change.trouble:
        raise UsageError(f"{change.path}: {change.trouble}; add this line:\n{change.by_hand}")
    echo(change.diff, nl=False)
    if change.before == change.after:
        say(f"nothing to change: {name} is {'not ' if removes else ''}set up in {change.path}")
    elif not dry:
        say(f"{change.path}: changed; it counts in each new {name}")


def _print_change(change: FileChange, *, removes: bool, verbose: bool) -> None:
    """Print a file with its added or removed part, or with its diff."""
    if change.trouble:
        say(f"left as it is: {change.path}: {change.trouble}")
        if change.by_hand:
            say(f"by hand, put this into it:\n{change.by_hand.rstrip()}")
    elif verbose:
        echo_diff(change.diff.splitlines())
    else:
        verb = "removes" if removes or not change.summary else "adds"
        summary = change.summary or "what an earlier setup added"
        is_new, is_gone = change.before is None, change.after is None
        note = " (a new file)" * is_new + " (and the file)" * is_gone
        echo(f"{change.path}: {verb} {summary}{note}")


def _agrees(changes: Sequence[FileChange], vault: Path) -> bool:
    """Ask a person in a terminal whether to change the files; `d` prints the changes."""
    changes = [change for change in changes if not change.trouble]
    if not changes or not sys.stdin.isatty():
        return True
    say(
        "Hooks will note your prompts and the agent's tool calls on this machine, in "
        f"{vault}; a daemon commits there what they teach."
    )
    question = f"Change {pluralize(len(changes), 'file')}? [Y/n, d shows the changes]"
    choice: Any = {"type": click.Choice("ynd", case_sensitive=False), "show_choices": False}
    while True:
        answer = click.prompt(question, default="y", show_default=False, err=True, **choice)
        if answer != "d":
            return bool(answer == "y")
        for change in changes:
            _print_change(change, removes=False, verbose=True)


def _say_watcher(vault: Vault) -> None:
    """Print that a vault's daemon still runs, and the command that stops it."""
    owner = holder(vault.store.git.dirs()[1] / "skillvault" / DAEMON)
    if owner is not None:
        command = f"kill {owner.split()[1]}"
        if service_of(vault.root, home=Path.home()).path.exists():
            command = f"skillvault --vault {shlex.quote(str(vault.root))} watch --remove-service"
        say(f"`skillvault watch` still runs for {vault.root}; `{command}` stops it")


def _offer_sessions(
    vault: Vault, client: str, options: SetupOptions, *, imports: bool | None
) -> None:
    """Offer to read the sessions of the project, or of all projects."""
    project, settings = options.project, vault.store.snapshot().policy.hook
    words = [*_command_of(client, options), "--vault", str(options.vault), "--import"]
    words += ["--domain", options.domain] if options.domain else []
    words += ["--link"] * options.links
    domain_in = partial(domain_of, patterns=settings.domains, default=options.domain)
    groups = trial.find_new_sessions(vault.store.snapshot().outcomes, domain_in, project)
    scope = "in this project" if project else "in all of your projects"
    exchange.offer_sessions(vault, groups, scope, words, imports=imports)


def _command_of(client: str, options: SetupOptions) -> list[str]:
    """Return the command that sets up a client in one project or in all projects of a user."""
    scope = ["--shared"] * options.is_shared
    if options.project is None:
        scope = ["--user"]
    elif options.project != Path.cwd():
        scope += ["--project", str(options.project)]
    return ["skillvault", "setup", client, *scope]


def _complete(
    vault: Vault, client: str, options: SetupOptions, *, judge: str | None, imports: bool | None
) -> None:
    _appoint_judge(vault, client, judge)
    _offer_sessions(vault, client, options, imports=imports)
    if options.links:
        _export(vault, client, options)


def _appoint_judge(vault: Vault, client: str, judge: str | None) -> None:
    """Write the judge to vault.yaml; a person in a terminal is asked, once."""
    policy = vault.store.snapshot().policy.judge
    settings = vault.store.snapshot().files.read([layout.VAULT_FILE])[layout.VAULT_FILE]
    if judge is None:
        if b"\njudge:" in settings or not sys.stdin.isatty():
            return
        limits = {"calls": policy.client_calls_per_day, "tokens": policy.client_tokens_per_day}
        say(_CHOICE.format(client=client, **limits))
        judge = click.prompt("judge", type=click.Choice(_JUDGES), default="offline", err=True)
    values = {"provider": judge, **({"client": client} if judge == "client" else {})}
    edits = tuple(
        Edit(layout.VAULT_FILE, ("judge", key), value)
        for key, value in values.items()
        if getattr(policy, key) != value or b"\njudge:" not in settings
    )
    if edits:
        change = Change(step="setup", subject=f"{judge} is the judge", edits=edits)
        commit_changes(vault.store, [change], datetime.now(UTC).replace(microsecond=0), dry=False)
        say(f"vault.yaml: the judge is {judge}")
        vault.run(track=track)  # a change of vault.yaml makes everything due


def _check(client: str) -> None:
    """Print the state of each setup of a client; exit with 1 if one does not work."""
    states = [state_of(record) for record in ClientSetup().records() if record.client == client]
    for state in states:
        echo("\n".join(state.lines))
    if not states:
        say(f"{client} is not set up; `skillvault setup {client}` in a project hooks it up")
    if not states or any(state.problems for state in states):
        sys.exit(1)


def _project(*, project: Path | None, is_user: bool, is_shared: bool) -> Path | None:
    """Return the folder to set up; None for all projects of a user."""
    if is_user and (project is not None or is_shared):
        raise UsageError("--user is for all projects; remove --project and --shared")
    return None if is_user else (project or Path()).resolve()


def _vault_of(record: SetupRecord, vault_path: Path | None) -> Vault | None:
    """Return the vault of a setup; None if it is gone, because a removal works without it."""
    path = vault_path_of(vault_path) or (Path(record.vault) if record.vault else None)
    try:
        return open_vault(path)
    except NotAVaultError:
        return None


def _export(vault: Vault, client: str, options: SetupOptions) -> None:
    """Export the skills to the folder in which the client looks for skills."""
    is_known = options.domain in vault.store.snapshot().domains
    root = options.project or Path.home()
    report = vault.exporter.export(client, root, domain=options.domain if is_known else None)
    say(f"listed with {client}'s own: {pluralize(len(report.skills), 'skill')}")
    _say_left(report.left)


def _say_left(problems: list[Problem]) -> None:
    for problem in problems:
        say(f"left as it is: {problem.path}: {problem.message}")


def _say_end(
    client: str, changes: list[FileChange], options: SetupOptions, *, dry: bool, removes: bool
) -> None:
    count = sum(not change.trouble for change in changes)
    files = f"{count} file{'s' * (count != 1)}"
    if dry:
        say(f"{files} would change; -v prints the diff")
    elif not changes:
        note = f"not hooked up here; `skillvault setup {client} --check` says where it is"
        say(f"nothing to change: {client} is {note if removes else 'hooked up here'}")
    elif removes:
        say(f"{files} put back")
    else:
        undo = shlex.join([*_command_of(client, options), "--remove"])
        say(f"{files} changed; restart {exchange.CLIENT_NAMES[client]}; `{undo}` takes it back")
        if client == "codex":
            say("in Codex, trust the project, and its hooks with /hooks")
