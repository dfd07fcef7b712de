"""The daemon as a service of the user: a unit of systemd, or an agent of launchd.

A service belongs to one vault, and is named by its folder and a digest of its path. Nothing here
needs root.
"""

import hashlib
import os
import plistlib
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from skillvault.model.errors import UsageError
from skillvault.model.text.text import slug

_DIGEST_DIGITS = 6  # hexadecimal digits, by which two vaults in folders of one name differ
_UNIT_TEMPLATE = """[Unit]
Description=skillvault learns in {folder}

[Service]
ExecStart={command}
Restart=on-failure
RestartSec=10
RestartPreventExitStatus=2 3

[Install]
WantedBy=default.target
"""


class Service(Struct, frozen=True):
    """The file of a service, its content, and the commands that start, show and stop it."""

    path: Path
    content: bytes
    start: tuple[tuple[str, ...], ...]
    show: tuple[str, ...]
    stop: tuple[str, ...]


def service_of(
    root: Path, *, home: Path, syncs: bool = False, platform: str = sys.platform
) -> Service:
    """Return the service that watches a vault, for systemd or launchd."""
    options = ("--vault", str(root), *(["--sync"] if syncs else []))
    command = (sys.executable, "-m", "skillvault", "watch", *options)
    digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:_DIGEST_DIGITS]
    name = f"skillvault-{slug(root.name, limit=40) or 'vault'}-{digest}"
    if platform == "darwin":
        return _launchd_agent(f"org.skillvault.{name}", command, home)
    unit = f"{name}.service"
    words = " ".join(map(_quote_word, command))
    return Service(
        home / ".config/systemd/user" / unit,
        _UNIT_TEMPLATE.format(folder=str(root).replace("%", "%%"), command=words).encode(),
        (
            ("systemctl", "--user", "daemon-reload"),
            ("systemctl", "--user", "enable", "--now", unit),
        ),
        ("systemctl", "--user", "--no-pager", "--lines=0", "status", unit),
        ("systemctl", "--user", "disable", "--now", unit),
    )


def _quote_word(word: str) -> str:
    """Quote a word of ExecStart, in which systemd expands `%` and `$`."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _launchd_agent(label: str, command: Sequence[str], home: Path) -> Service:
    path, log = home / f"Library/LaunchAgents/{label}.plist", home / f"Library/Logs/{label}.log"
    content = plistlib.dumps(
        {
            "Label": label,
            "ProgramArguments": list(command),
            "EnvironmentVariables": {"PATH": os.environ.get("PATH", os.defpath)},  # finds git
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "StandardOutPath": str(log),
            "StandardErrorPath": str(log),
        }
    )
    domain = f"gui/{os.getuid()}"
    return Service(
        path,
        content,
        (("launchctl", "bootstrap", domain, str(path)),),
        ("launchctl", "print", f"{domain}/{label}"),
        ("launchctl", "bootout", f"{domain}/{label}"),
    )


def start_service(service: Service) -> str:
    """Write, start and show a service; return what its manager shows.

    A running service is stopped first, or it would keep its old options. UsageError if the manager
    refuses; the file stays then.
    """
    if service.path.exists():
        with suppress(UsageError):  # it may not run
            _run_manager(service.stop, f"{service.path} stays")
    service.path.parent.mkdir(parents=True, exist_ok=True)
    service.path.write_bytes(service.content)
    for command in service.start:
        _run_manager(command, f"{service.path} is written")
    return _run_manager(service.show, f"{service.path} is written, and the service was started")


def stop_service(service: Service) -> None:
    """Stop a service and remove its file; UsageError if there is none."""
    if not service.path.exists():
        raise UsageError(f"{service.path}: no such service; `--install-service` makes it")
    _run_manager(service.stop, f"{service.path} stays")
    service.path.unlink()


def _run_manager(command: Sequence[str], state: str) -> str:
    line = " ".join(command)
    try:
        process = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise UsageError(f"{state}, but {command[0]}: {error.strerror}; start it by hand") from None
    if process.returncode:
        reason = process.stderr.strip().partition("\n")[0] or f"exit code {process.returncode}"
        raise UsageError(f"{state}, but `{line}` failed: {reason}")
    return process.stdout.strip()
