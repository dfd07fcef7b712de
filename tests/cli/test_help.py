"""The help of every command: one whole line in the list, a metavar for every value."""

import pytest
from click import Choice, Command, Option
from click.testing import CliRunner

from skillvault.cli.commands import cli
from tests.tables import commands

COMMANDS = commands()


@pytest.mark.parametrize("group", ["", "fact", "quarantine", "setup", "skill"])
def test_the_help_of_each_command_is_one_whole_line(group: str) -> None:
    shown = CliRunner().invoke(cli, [*group.split(), "--help"], terminal_width=80)
    lines = shown.output.partition("\nCommands:\n")[2].splitlines()
    names = [name for name, _ in COMMANDS if name.rpartition(" ")[0] == group]
    assert [line for line in lines if "..." in line] == []
    assert {name.rpartition(" ")[2] for name in names} <= {line.split()[0] for line in lines}


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_the_help_begins_with_one_sentence_in_one_line(name: str, command: Command) -> None:
    first, _, rest = (command.help or "").partition("\n")
    assert first.endswith(".")
    assert rest == "" or rest.startswith("\n")


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_every_option_has_help_and_a_metavar_for_its_value(name: str, command: Command) -> None:
    options = [param for param in command.params if isinstance(param, Option)]
    assert [option.name for option in options if not option.help] == []
    values = [option for option in options if not option.is_flag]
    assert [
        option.name
        for option in values
        if option.metavar is None and not isinstance(option.type, Choice)
    ] == []
