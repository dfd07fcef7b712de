"""What a person's config says of making commits, and how long that may be believed.

Git alone reads a config. What it said is kept as long as every file that it read, or could
have read, stands as it stood.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from skillvault.vault.git.process import Config, as_environment

# Where git looks for a person's config; it makes one state with the files themselves.
_PLACES = (
    "HOME",
    "XDG_CONFIG_HOME",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
)
_NAMES = (
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "EMAIL",
)
_MOMENT = 0.1  # seconds in which a file may be saved twice and look the same

State = tuple[object, ...]


class Settings(Struct, frozen=True):
    """What a person's config says of making commits.

    `signing` and `staging` are the settings to make them with, as git's environment. `modes`:
    whether the executable bit of a file in the work tree means anything; `named`: whether it says
    who commits, and `names` whom. `dirs` are the folders outside that a vault may read,
    `clone` is what this clone is called among those of its vault, `tracked` names the remote of a
    branch.
    """

    signs: bool
    modes: bool
    bare: bool
    named: bool
    names: Mapping[str, str | None]
    dirs: tuple[str, ...]
    clone: str
    remotes: tuple[str, ...]
    tracked: Mapping[str, str]
    signing: Mapping[str, str]
    staging: Mapping[str, str]

    def who(self) -> tuple[object, ...]:
        """All that git makes a person's name of; the same says the same name."""
        return *self.names.items(), *map(os.environ.get, _NAMES)


def settings_of(config: Config) -> Settings:
    """The settings that a config holds."""
    signing = {"user.useConfigOnly": "true", **(config.signers() if config.signs else {})}
    return Settings(
        signs=config.signs,
        modes=config.modes,
        bare=config.bare,
        named=config.named,
        names=config.identity,
        dirs=config.dirs,
        clone=config.clone,
        remotes=config.remotes,
        tracked=config.tracked,
        signing=as_environment(signing),
        staging=as_environment(config.without_filters()),
    )


class Believed(Struct, frozen=True):
    """Settings, and the state of the files and the environment that they were read from."""

    settings: Settings
    files: tuple[Path, ...]
    state: State

    @property
    def stands(self) -> bool:
        """Whether git would read the same again."""
        return self.state == _state(self.files)


def believed(config: Config, root: Path, since: float) -> Believed | None:
    """What git said in `root`; None if that must be asked again each time.

    `since` is when git was asked, in seconds: a file that was saved later, or just before, may
    have been saved unseen.
    """
    if config.scattered:
        return None
    files = tuple(sorted({*(root / name for name in config.files), *_usual()}))
    state = _state(files)
    saved = (status.st_ctime for file in files if (status := _stat(file)))
    return Believed(settings_of(config), files, state) if max(saved) < since - _MOMENT else None


def _usual() -> Iterator[Path]:
    """The files beside the repository's own that may be there the next time."""
    yield Path("/etc/gitconfig")
    yield from (Path(name) for key in _PLACES[2:4] if (name := os.environ.get(key)))
    home = Path(os.environ.get("HOME", "/"))
    yield home / ".gitconfig"
    yield Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git/config"


def _state(files: tuple[Path, ...]) -> State:
    return *map(os.environ.get, _PLACES), *map(_stamp, files)


def _stamp(file: Path) -> tuple[int, ...] | None:
    """What changes when a file is saved or replaced."""
    status = _stat(file)
    if status is None:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _stat(file: Path) -> os.stat_result | None:
    """A file's state; None for one that git cannot read either."""
    try:
        return file.stat()
    except OSError:
        return None
