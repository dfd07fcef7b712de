"""Shared parts of the commands: options, opening the vault, printing, progress bars.

Every text of a command is printed by `echo`, `say` or `print_json`, which escape hidden characters.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import reduce, wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
import msgspec

from skillvault import api
from skillvault.clients import hook_client
from skillvault.model.errors import UsageError
from skillvault.model.text import hidden_characters
from skillvault.sessions import client_setup
from skillvault.vault.commit import locks
from skillvault.vault.files import layout
from skillvault.vault.git import repository

_Command = TypeVar("_Command", bound=Callable[..., Any])
_ALLOWED_YEARS = (1970, 9000)  # years of which expiry dates are still valid
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_MAX_UNITS = 10_000  # the most hours, days or weeks of a span of time
MAX_LISTED = 10  # items that are printed one by one; more are counted
_MIN_BAR_ITEMS = 200  # items of work that are worth a progress bar


def print_json(value: Any) -> None:
    """Print a value as JSON, the only thing on stdout, with hidden characters escaped."""
    encoded = msgspec.json.format(msgspec.json.encode(value), indent=2)
    click.echo(hidden_characters.escape_json(encoded.decode()))  # noqa: TID251 (escaped as JSON is)


def echo(text: str = "", *, err: bool = False, nl: bool = True, color: str | None = None) -> None:
    """Print a text with hidden characters escaped, so that it cannot control the terminal.

    The color shows only on a terminal, and not if NO_COLOR is set.
    """
    safe_text = hidden_characters.escape_hidden(text)
    if color and not os.environ.get("NO_COLOR"):
        safe_text = click.style(safe_text, fg=color)
    click.echo(safe_text, err=err, nl=nl)  # noqa: TID251 (the one place)


_DIFF_COLORS = (("+++", None), ("---", None), ("+", "green"), ("-", "red"), ("@@", "cyan"))


def echo_diff(lines: Iterable[str]) -> None:
    """Print the lines of a diff, each in the color of its kind."""
    for line in lines:
        echo(line, color=next((hue for sign, hue in _DIFF_COLORS if line.startswith(sign)), None))


def list_some(items: Sequence[str], limit: int = MAX_LISTED) -> str:
    """Join the first items by commas, and count the others."""
    remainder = f" and {len(items) - limit} more" if len(items) > limit else ""
    return f"{', '.join(items[:limit])}{remainder}"


def say(message: str) -> None:
    """Print a line for the person, on stderr."""
    echo(message, err=True)


class VaultPath(click.Path):
    """The folder of a vault; an empty text, as from an unset variable, is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert the folder to a path."""
        if not os.fspath(value):
            self.fail("it is empty; pass the folder of a vault", param, ctx)
        return super().convert(value, param, ctx)


def vault_option(function: _Command, envvar: str | None = None) -> _Command:
    """Add `--vault PATH` to one command; the group's is the default (`open_vault`)."""
    return click.option(
        "--vault",
        "vault_path",
        envvar=envvar,
        type=VaultPath(path_type=Path),
        metavar="PATH",
        help="Use this vault (default: SKILLVAULT_VAULT, else here or above, else of `setup`).",
    )(function)


def verbose_option(function: _Command) -> _Command:
    """Add `--verbose`: print all items of a long list."""
    return click.option(
        "-v", "--verbose", is_flag=True, help=f"Print each one, even of more than {MAX_LISTED}."
    )(function)


def json_option(function: _Command) -> _Command:
    """Add `--json`: a stable shape on stdout, nothing else."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def import_option(function: _Command) -> _Command:
    """Add `--import/--no-import`; see `offer_sessions`."""
    return click.option(
        "--import/--no-import",
        "imports",
        default=None,
        help="Read your earlier sessions, or leave them (default: ask, in a terminal).",
    )(function)


def now_option(function: _Command) -> _Command:
    """Add `--now TIME`: the clock for tests and replays."""
    return click.option(
        "--now", callback=_parse_time, metavar="TIME", help="Use this time instead of the clock."
    )(function)


def at_option(function: _Command) -> _Command:
    """Add `--at REV|DATE`: the vault at an earlier commit or time."""
    return click.option(
        "--at", metavar="REV|DATE", help="Answer as of a commit, a time, or the end of a day."
    )(function)


def since_option(default: str) -> Callable[[_Command], _Command]:
    """Add `--since AGE`: a span of time or a first day; `default` is for the help."""
    return click.option(
        "--since",
        callback=_parse_since,
        metavar="AGE",
        help=f"Look back so far: 7d, 2w, 12h, or a day such as 2026-11-20 (default: {default}).",
    )


def dry_option(function: _Command) -> _Command:
    """Add `--dry-run`: do the same work without publishing the changes."""
    return click.option(
        "--dry-run", "dry", is_flag=True, help="Print the changes without making them."
    )(function)


class Options(NamedTuple):
    """The common options of a command; one that it does not have keeps its default."""

    vault_path: Path | None
    now: datetime | None = None
    dry: bool = False
    as_json: bool = False

    def open_vault(self) -> "api.Vault":
        """Open the vault of the command."""
        return open_vault(self.vault_path)

    @property
    def keywords(self) -> dict[str, Any]:
        """The time and the dry run, as keywords of a method that commits."""
        return {"now": self.now, "dry": self.dry}


def common_options(*adders: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--vault` and the options that follow it; the command gets them all as `options`."""

    def add_options(function: Callable[..., Any]) -> Any:
        @wraps(function)
        def call_with_options(**values: Any) -> Any:
            common = {key: values.pop(key) for key in Options._fields if key in values}
            return function(options=Options(**common), **values)

        return reduce(lambda command, add: add(command), adders[::-1], call_with_options)

    return lambda function: vault_option(add_options(function))


write_options = common_options(now_option, dry_option, json_option)  # of a command that commits


def read_options(function: _Command) -> _Command:
    """Add the options of a command that answers: `--vault`, `--json`."""
    return vault_option(json_option(function))


def open_vault(vault_path: Path | None) -> "api.Vault":
    """Open the vault, with a progress bar for the first reading of its files."""
    vault = api.Vault.open(choose_vault(vault_path))
    vault.store.index.track = track
    return vault


def open_history(vault_path: Path | None) -> "api.Vault":
    """Open the vault for a question about its history; say so if a part of it is missing."""
    vault = open_vault(vault_path)
    if (vault.store.git.dirs()[1] / "shallow").exists():
        say(repository.SHALLOW)
    return vault


@contextmanager
def open_vault_as_of(
    vault_path: Path | None, at: str | None
) -> Iterator[tuple["api.Vault", datetime | None]]:
    """Open the vault and yield (vault, None), or (the earlier vault, its time) with `--at`.

    The earlier vault is read-only and is removed after the block. UsageError if there was no vault.
    """
    if at is None:
        yield open_vault(vault_path), None
        return
    vault = open_history(vault_path)
    branch = vault.store.snapshot().policy.branch
    with repository.check_out_past(vault.store.git, branch, at) as (root, time):
        yield api.Vault.open(root), time


def vault_path_of(vault_path: Path | None) -> Path | None:
    """Return the vault of the command's `--vault`, the group's `--vault`, or the environment."""
    group_path: Path | None = click.get_current_context().find_root().params.get("vault_path")
    return vault_path or group_path


def choose_vault(vault_path: Path | None) -> Path | None:
    """Return the vault of `--vault`, else of this folder or its setup, else the user's own."""
    path = vault_path_of(vault_path)
    root = hook_client.find_vault()
    if path is None and root in ("", hook_client.own_vault_path()):
        root = client_setup.vault_of_setup(hook_client.current_folder()) or root
    return path or (Path(root) if root else None)


def make_own_vault() -> Path:
    """Return the folder of the user's own vault, which is made if it is missing."""
    root = Path(hook_client.own_vault_path())
    root.parent.mkdir(parents=True, exist_ok=True)
    with locks.folder_lock(root.parent):
        if not (root / layout.VAULT_FILE).is_file():
            api.Vault.init(root)
    return root


def _parse_since(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> timedelta | datetime | None:
    """Parse a span of time or a start; None without a value."""
    if value is None:
        return None
    number, unit = value[:-1], _UNITS.get(value[-1:])
    if unit and number.isascii() and number.isdigit() and 0 < int(number) <= _MAX_UNITS:
        return int(number) * unit
    if start := _allowed_time(value):
        return start
    raise UsageError(f"--since {value}: not an age or a day; write 7d, 2w, 12h or 2026-11-20")


def _parse_time(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> datetime | None:
    if value is None:
        return None
    if time := _allowed_time(value):
        return time
    years = f"from {_ALLOWED_YEARS[0]} to {_ALLOWED_YEARS[1]}"
    raise UsageError(f"--now {value}: not a time {years}; write it as 2026-11-20T10:15:00Z")


def _allowed_time(text: str) -> datetime | None:
    """Parse a time of an allowed year; the default time zone is UTC."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    if not _ALLOWED_YEARS[0] <= time.year <= _ALLOWED_YEARS[1]:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def input_file(file: str, hint: str = "") -> tuple[str, bytes]:
    """Return the name and bytes of a file, or of stdin with a name for its format."""
    if file != "-":
        path = Path(file)
        if not path.is_file():
            message = (
                "is a folder; pass a file" if path.is_dir() else "no such file; check the path"
            )
            raise UsageError(f"{file}: {message}{hint}")
        return path.name, path.read_bytes()
    data = sys.stdin.buffer.read()
    if not data.strip():
        raise UsageError(
            "stdin is empty; pass a FILE, or pipe one in (`skillvault record --example` prints one)"
        )
    beginning = data.lstrip()[:3]
    ending = "json" if beginning[:1] == b"{" else "md" if beginning == b"---" else "yaml"
    return f"stdin.{ending}", data


def track(items: Sequence[Any], description: str) -> Iterator[Any]:
    """Show a progress bar for many items of work."""
    with progress_bar(description, iterable=items, is_short=len(items) < _MIN_BAR_ITEMS) as bar:
        yield from bar


def progress_bar(label: str, *, is_short: bool = False, **work: Any) -> Any:
    """Return a progress bar on stderr; a bar for short work, or without a terminal, is hidden.

    `work` is an `iterable`, or a `length` that `update` counts.
    """
    is_hidden = is_short or not sys.stderr.isatty()
    return click.progressbar(**work, label=f"{label:20}", file=sys.stderr, hidden=is_hidden)
