"""The tables in the documents that come from the program.

`python -m tests.tables` writes them anew; `tests/test_documents.py` compares them.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from click import Command, Context, Group
from msgspec import Struct
from msgspec.structs import fields

from skillvault.cli.commands import GROUPS, cli
from skillvault.model import policy
from skillvault.model.policy import Policy, parse_policy, settings

DOCS = Path(__file__).resolve().parent.parent / "docs"


def commands() -> list[tuple[str, Command]]:
    """(name, command) of every command, those of groups as `skill list`."""
    return sorted(_below("", cli), key=lambda row: row[0])


def _below(prefix: str, group: Group) -> Iterator[tuple[str, Command]]:
    context = Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, Group):
            yield from _below(f"{prefix}{name} ", command)
        elif command is not None:
            yield f"{prefix}{name}", command


def command_table() -> str:
    """Every command with its arguments and the first line of its help, in groups."""
    lines = ["| command | what it does |", "|---|---|"]
    for title, _, names in GROUPS:
        lines.append(f"| **{title}** | |")
        lines += [
            _command_row(name, command)
            for group in names.split()
            for name, command in commands()
            if name.partition(" ")[0] == group
        ]
    return "\n".join(lines)


def _command_row(name: str, command: Command) -> str:
    arguments = command.collect_usage_pieces(Context(command))[1:]
    call = " ".join(["skillvault", name, *arguments])
    return f"| `{call}` | {(command.help or '').partition(chr(10))[0]} |"


def setting_sentences() -> dict[str, str]:
    """Key -> the comment above each setting in the source of the policy."""
    comments: dict[tuple[str, str], str] = {}
    section, sentence = "", list[str]()
    for line in Path(policy.__file__).read_text(encoding="utf-8").splitlines():
        if line.startswith("class "):
            section = line.removeprefix("class ").partition("(")[0]
        elif line.startswith("    # "):
            sentence.append(line.removeprefix("    # "))
        else:
            if field := re.match(r"    (\w+): ", line):
                comments[section, field[1]] = " ".join(sentence)
            sentence = []
    sections = {field.name: field.type for field in fields(Policy)}
    places = ((key, key.rpartition(".")) for key, _ in settings())
    return {
        key: comments[sections[head].__name__ if head else "Policy", name]
        for key, (head, _, name) in places
    }


def policy_table() -> str:
    """Every setting with its default and its sentence."""
    sentences = setting_sentences()
    lines = ["| key | default | what it means |", "|---|---|---|"]
    lines += [f"| `{key}` | `{_text(default)}` | {sentences[key]} |" for key, default in settings()]
    return "\n".join(lines)


def _text(default: object) -> str:
    return f"[{', '.join(map(str, default))}]" if isinstance(default, tuple) else str(default)


def seed_table() -> str:
    """Every setting in which the profile `seed` is not the default, with the test of each row."""
    lines = ["| what | default | seed | what it means | test |", "|---|---|---|---|---|"]
    numbers, sentences = dict(_numbers({})), setting_sentences()
    lines += [
        f"| `{key}` | `{numbers[key]}` | `{number}` | {sentences[key]} "
        f"| `tests/model/test_profiles.py::test_{key.replace('.', '_')}` |"
        for key, number in _numbers({"profile": "seed"})
        if number != numbers[key]
    ]
    return "\n".join(lines)


def _numbers(stated: dict[str, str]) -> Iterator[tuple[str, str]]:
    """(key, value) of every setting in a section of a policy."""
    policy = parse_policy(stated)
    for section in fields(policy):
        numbers = getattr(policy, section.name)
        for field in fields(numbers) if isinstance(numbers, Struct) else ():
            yield f"{section.name}.{field.name}", str(getattr(numbers, field.name))


# mark -> (page, what stands between `<!-- mark:begin -->` and `<!-- mark:end -->`)
TABLES: dict[str, tuple[str, Callable[[], str]]] = {
    "commands": ("cli.md", command_table),
    "policy": ("policy.md", policy_table),
    "seed": ("policy.md", seed_table),
}


def main() -> None:
    """Write every table into its page."""
    for mark, (page, table) in TABLES.items():
        path = DOCS / page
        begin, end = f"<!-- {mark}:begin -->\n", f"<!-- {mark}:end -->"
        before, _, rest = path.read_text(encoding="utf-8").partition(begin)
        behind = rest.partition(end)[2]
        path.write_text(f"{before}{begin}{table()}\n{end}{behind}", encoding="utf-8")


if __name__ == "__main__":
    main()
