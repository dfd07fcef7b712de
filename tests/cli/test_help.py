"""The help of every command: one whole line in the list, a metavar for every value."""

import pytest
from click import Choice, Command, Option
from click.testing import CliRunner

from skillvault.cli.commands import COMMANDS as CLI_COMMANDS
from skillvault.cli.commands import GROUPS, cli
from tests.tables import commands

COMMANDS = commands()


@pytest.mark.parametrize("group", ["", "fact", "quarantine", "setup", "skill"])
def test_the_help_of_each_command_is_one_whole_line(group: str) -> None:
    shown = CliRunner().invoke(cli, [*group.split(), "--help"], terminal_width=80)
    lines = shown.output.partition("\n\nOptions:\n")[2].splitlines()
    names = [name for name, _ in COMMANDS if name.rpartition(" ")[0] == group]
    assert [line for line in lines if "..." in line] == []
    firsts = {line.split()[0] for line in lines if line}
    assert {name.rpartition(" ")[2] for name in names} <= firsts


def test_each_command_is_in_one_group_of_the_help() -> None:
    grouped = [name for _, _, names in GROUPS for name in names.split()]
    assert len(grouped) == len(set(grouped))
    assert set(CLI_COMMANDS) <= set(grouped)


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("list", "skillvault skill list"),
        ("show a-name", "skillvault skill show a-name"),
        ("add a-fact", "skillvault fact add a-fact"),
        ("staus", "skillvault status"),
    ],
)
def test_a_wrong_command_names_the_right_one(words: str, call: str) -> None:
    result = CliRunner().invoke(cli, words.split())
    assert result.exit_code == 2
    assert f"did you mean `{call}`" in result.output


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
