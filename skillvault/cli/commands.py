"""The group of all commands, each of which is imported when it is called."""

from importlib import import_module
from pathlib import Path

import click

from skillvault import __version__

# The name of a command -> the module and the function behind it.
COMMANDS = {
    "check": "reading:check",
    "doctor": "doctor:doctor",
    "fact": "facts:fact",
    "impact": "reading:impact",
    "import": "changing:import_",
    "init": "changing:init",
    "judge": "judging:judge",
    "log": "reading:log",
    "quarantine": "quarantine:quarantine",
    "recommend": "serving:recommend",
    "record": "changing:record",
    "run": "changing:run",
    "search": "serving:search",
    "skill": "skills:skill",
    "stats": "stats:stats",
    "status": "reading:status",
    "watch": "watch:watch",
    "why": "reading:why",
    "why-not": "reading:why_not",
}


class Commands(click.Group):
    """A group that knows its commands by name, so that one does not pay for the others."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's)
        """The names, sorted."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (click's)
        """The command of this name; None where there is none."""
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        module, _, name = place.partition(":")
        command: click.Command = getattr(import_module(f"skillvault.cli.{module}"), name)
        return command


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
