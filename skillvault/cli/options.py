"""What the commands share: the options, opening the vault, JSON, progress."""

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from skillvault.api import Vault
from skillvault.errors import UsageError
from skillvault.hidden_characters import escaped, json_escaped

_F = TypeVar("_F", bound=Callable[..., Any])
_SANE = (1970, 9000)  # years whose expiry dates a calendar still has
_AGO = re.compile(r"(?P<count>[0-9]{1,4})(?P<unit>[hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_LONG = 200  # items from which on work is worth a progress bar


def print_json(value: Any) -> None:
    """Print a value as JSON, the only thing on stdout; what hides stands as an escape of JSON."""
    encoded = msgspec.json.format(msgspec.json.encode(value), indent=2)
    click.echo(json_escaped(encoded.decode()))


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text that does nothing to a terminal: what hides stands as a visible escape."""
    click.echo(escaped(text), err=err, nl=nl)


def say(message: str) -> None:
    """A line for the person, on stderr."""
    echo(message, err=True)


def vault_option(function: _F) -> _F:
    """`--vault PATH` of one command; the group's stands behind it (`open_vault`)."""
    return click.option(
        "--vault",
        "vault_path",
        type=click.Path(path_type=Path),
        metavar="PATH",
        help="Use this vault (default: SKILLVAULT_VAULT, else here or the nearest folder above).",
    )(function)


def json_option(function: _F) -> _F:
    """`--json`: a stable shape on stdout, nothing else."""
    return click.option("--json", "as_data", is_flag=True, help="Print JSON.")(function)


def now_option(function: _F) -> _F:
    """`--now TIME`: the clock for tests and replays."""
    return click.option(
        "--now", callback=_time, metavar="TIME", help="Use this time instead of the clock."
    )(function)


def since_option(function: _F) -> _F:
    """`--since TIME`: a time, a day, or how long ago."""
    return click.option(
        "--since",
        callback=_ago,
        metavar="TIME",
        help="Show what was made since then: 1w, 3d, 12h ago, a day or a time.",
    )(function)


def dry_option(function: _F) -> _F:
    """`--dry-run`: the same path, nothing published."""
    return click.option(
        "--dry-run", "dry", is_flag=True, help="Print the changes without making them."
    )(function)


def open_vault(vault_path: Path | None) -> Vault:
    """The vault that is vault_path_of."""
    return Vault.open(vault_path_of(vault_path))


def vault_path_of(vault_path: Path | None) -> Path:
    """Where to look for the vault: the command's `--vault`, the group's, the environment's."""
    before: Path | None = click.get_current_context().find_root().params.get("vault_path")
    return vault_path or before or Path()


def _time(_context: click.Context, _option: click.Parameter, value: str | None) -> datetime | None:
    if value is None:
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        raise UsageError(f"--now {value}: not a time; write it as 2026-11-20T10:15:00Z") from None
    if not _SANE[0] <= at.year <= _SANE[1]:
        raise UsageError(f"--now {value}: the year must be from {_SANE[0]} to {_SANE[1]}")
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _ago(_context: click.Context, _option: click.Parameter, value: str | None) -> datetime | None:
    if value is None:
        return None
    if match := _AGO.fullmatch(value):
        return datetime.now(UTC) - int(match["count"]) * _UNITS[match["unit"]]
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        raise UsageError(
            f"--since {value}: not a time; write it as 1w, 3d, 12h, 2026-11-20 or "
            "2026-11-20T10:15:00Z"
        ) from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def input_file(file: str) -> tuple[str, bytes]:
    """(name, bytes) of a file that is handed over; stdin's name tells how it looks."""
    if file != "-":
        path = Path(file)
        if not path.is_file():
            what = "is a folder; pass a file" if path.is_dir() else "no such file; check the path"
            raise UsageError(f"{file}: {what}")
        return path.name, path.read_bytes()
    data = sys.stdin.buffer.read()
    if not data.strip():
        raise UsageError(
            "stdin is empty; pass a FILE, or pipe one in (`skillvault record --example` prints one)"
        )
    start = data.lstrip()[:3]
    ending = "json" if start[:1] == b"{" else "md" if start == b"---" else "yaml"
    return f"stdin.{ending}", data


def track(items: Sequence[Any], what: str) -> Iterable[Any]:
    """A progress bar on stderr for long work, where somebody looks."""
    if len(items) < _LONG:
        return items
    from rich import console, progress  # noqa: PLC0415 (only long work pays for rich)

    screen = console.Console(stderr=True)
    return progress.track(
        items, what, console=screen, transient=True, disable=not screen.is_terminal
    )
