"""The group of all commands, each of which is imported when it is called."""

import difflib
import os
from importlib import import_module
from keyword import iskeyword
from pathlib import Path

import click

from skillvault import __version__
from skillvault.cli import completion
from skillvault.model.text.text import listed

# Each command stands in the module of its name, as a function of that name.
COMMANDS = tuple(
    """
    answer
    ask
    check
    close
    distill
    doctor
    export
    fact
    impact
    import
    init
    install
    judge
    learn
    log
    quarantine
    recommend
    record
    report
    retract
    review
    run
    search
    setup
    skill
    stats
    status
    sync
    undo
    watch
    why
    why-not
    """.split()
)
COMPLETING = "_SKILLVAULT_COMPLETE"  # set by a shell that completes a word
HIDDEN = ("hook", "mcp", "merge-driver")  # for programs: no person types them


class Commands(click.Group):
    """A group that knows its commands by name, so that one does not pay for the others."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's)
        """The names, sorted."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (click's)
        """The command of this name; None where there is none."""
        if cmd_name not in {*COMMANDS, *HIDDEN}:
            return None
        name = cmd_name.replace("-", "_") + ("_" if iskeyword(cmd_name) else "")
        command: click.Command = getattr(import_module(f"skillvault.cli.{name}"), name)
        if COMPLETING in os.environ:
            completion.complete_values(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called; one that there is not is answered with the nearest name."""
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            close = listed(difflib.get_close_matches(args[0], COMMANDS, n=2), last="or")
            hint = f"did you mean {close}?" if close else "`skillvault --help` lists them"
            raise click.UsageError(f"{args[0]}: no such command; {hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
@click.option(
    "--vault",
    "vault_path",
    envvar="SKILLVAULT_VAULT",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Use this vault (default: SKILLVAULT_VAULT, else here or the nearest folder above).",
)
def cli(vault_path: Path | None) -> None:
    """Turn what AI agents decided, and how it ended, into skills in a git repository."""
