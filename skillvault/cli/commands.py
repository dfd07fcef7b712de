"""The group of all commands, which imports a command only when it is called.

Add a command to `_MODULES` and to a group in `GROUPS`.
"""

import difflib
import os
import shlex
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING

import click

from skillvault import __version__
from skillvault.cli.options import open_vault, vault_option
from skillvault.model.errors import SkillvaultError
from skillvault.model.text import hidden_characters
from skillvault.model.text import text as texts

if TYPE_CHECKING:
    from skillvault.api import Vault


_MAX_DECISIONS = 50  # decisions that are offered


def complete_values(command: click.Command) -> None:
    """Add shell completion to the parameters of a command and its subcommands."""
    for param in command.params:
        offer = _OFFERS.get((command.name or "", param.name or "")) or _OFFERS.get(
            ("", param.name or "")
        )
        if offer is not None:
            param._custom_shell_complete = _completer(offer)  # noqa: SLF001 (as its constructor)
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            complete_values(subcommand)


def _completer(
    offer: "Callable[[Vault, str], Iterable[str]]",
) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    def complete(context: click.Context, _param: click.Parameter, beginning: str) -> list[str]:
        try:
            with context:
                vault = open_vault(context.params.get("vault_path"))
            names = sorted(set(offer(vault, beginning)))
        except SkillvaultError:
            return []
        return [name for name in names if name.startswith(beginning) and _can_be_typed(name)]

    return complete


def _can_be_typed(name: str) -> bool:
    """Return True if a name is one line and has no hidden characters."""
    return hidden_characters.escape_hidden(name) == name and len(name.splitlines()) == 1


def _live_skills(vault: "Vault", _beginning: str) -> Iterable[str]:
    return [skill.name for skill in vault.shelf.skills()]


def _domains(vault: "Vault", _beginning: str) -> Iterable[str]:
    snapshot = vault.store.snapshot()
    return [*snapshot.domains, *snapshot.policy.domains]


def _decisions(vault: "Vault", beginning: str) -> Iterable[str]:
    return vault.store.snapshot().recommendations.latest_decisions(beginning, _MAX_DECISIONS)


# The values to offer for (command, parameter); "" stands for every command.
_OFFERS: "dict[tuple[str, str], Callable[[Vault, str], Iterable[str]]]" = {
    ("", "domain"): _domains,
    ("recommend", "decision"): _decisions,
    ("stats", "decision"): _decisions,
    ("close", "decision"): _decisions,
    ("import", "decision"): _decisions,
    ("stats", "skill"): _live_skills,
    ("recommend", "pins"): _live_skills,
    ("why", "ref"): _live_skills,
    ("impact", "ref"): _live_skills,
    ("show", "name"): _live_skills,
    ("retire", "names"): _live_skills,
    ("pin", "names"): _live_skills,
    ("approve", "names"): lambda vault, _: vault.store.snapshot().skills.proposed,
    ("approve", "ids"): lambda vault, _: [rule.id for rule in vault.memory.waiting()],
    ("reject", "ids"): lambda vault, _: [rule.id for rule in vault.memory.waiting()],
    ("keep", "ids"): lambda vault, _: [fact.id for fact in vault.memory.due()],
    ("restore", "names"): lambda vault, _: vault.store.snapshot().skills.archived,
}


# The commands of each module, each a function of that name.
_MODULES = {
    "answer": "answer ask judge",
    "cold": "clone cold",
    "erase": "erase",
    "fact": "fact",
    "exchange": "export import install learn",
    "init": "check doctor init",
    "recommend": "recommend search",
    "record": "close quarantine record",
    "report": "report",
    "review": "retract review undo",
    "run": "distill run",
    "setup": "setup",
    "skill": "skill",
    "status": "stats status",
    "sync": "sync watch",
    "try_": "try",
    "why": "impact log why why-not",
}
COMMANDS = {name: module for module, names in _MODULES.items() for name in names.split()}
# The groups of `--help`: the title, an example, and the commands by use.
GROUPS = (
    (
        "Every day",
        'recommend "Fix the flaky checkout test"',
        "try recommend record close run search learn distill",
    ),
    ("Review", "skill approve guide-coding-fix", "review skill fact undo retract quarantine"),
    ("Look", "why guide-coding-fix", "status stats report log why why-not impact"),
    ("Team", "sync", "sync install export erase"),
    (
        "Set up",
        "import claude-code ~/.claude/projects",
        "init clone setup import watch doctor check cold judge ask answer",
    ),
)
_COMMAND_GROUPS = ("skill", "fact", "quarantine", "setup")  # commands with commands below them
# Commands that only programs call.
HIDDEN = {"hook": "hook", "mcp": "setup", "merge-driver": "sync"}
COMPLETING = "_SKILLVAULT_COMPLETE"  # set by a shell that completes a word


class CommandGroup(click.Group):
    """A group that imports a command only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's)
        """Return the names, sorted."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (click's)
        """Return the command of this name; None for an unknown name."""
        module = (COMMANDS | HIDDEN).get(cmd_name)
        if module is None:
            return None
        name = cmd_name.replace("-", "_") + ("_" if iskeyword(cmd_name) else "")
        command: click.Command = getattr(import_module(f"skillvault.cli.{module}"), name)
        if COMPLETING in os.environ:
            complete_values(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the called command; an error suggests the most similar name."""
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            close = self._find_nested(ctx, args) or [
                f"skillvault {name}" for name in difflib.get_close_matches(args[0], COMMANDS, n=2)
            ]
            calls = texts.join_items([f"`{call}`" for call in close], last="or")
            hint = f"did you mean {calls}?" if close else "`skillvault --help` lists them"
            raise click.UsageError(f"{args[0]}: no such command; {hint}", ctx)
        arguments = args[1 : args.index("--") if "--" in args else None]
        if "" in arguments:
            raise click.UsageError("an argument is empty; write it, or leave it out", ctx)
        return super().resolve_command(ctx, args)

    def _find_nested(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Return the full calls for a subcommand without its group: `skill list` for `list`."""
        groups = {name: self.get_command(ctx, name) for name in _COMMAND_GROUPS}
        return [
            shlex.join(["skillvault", name, *args])
            for name, group in groups.items()
            if isinstance(group, click.Group) and args[0] in group.commands
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in groups, each with an example."""
        width = max(map(len, COMMANDS))
        for title, example, names in GROUPS:
            commands = {name: self.get_command(ctx, name) for name in names.split()}
            limit = formatter.width - width - 6
            rows = [
                (name.ljust(width), command.get_short_help_str(limit))
                for name, command in commands.items()
                if command
            ]
            with formatter.section(title):
                formatter.write_dl(rows)
                formatter.write(f"  Example: skillvault {example}\n")


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
@partial(vault_option, envvar="SKILLVAULT_VAULT")
def cli(vault_path: Path | None) -> None:
    """Turn what AI agents decided, and how it ended, into skills in a git repository."""
