"""What a clone is called among those of its vault: drawn once, in its own config."""

import getpass
import secrets

from skillvault.model.text.text import slug
from skillvault.vault.git.config import CLONE
from skillvault.vault.git.repository import Git

_USER = 24  # characters of a user's name


def clone_name(git: Git) -> str:
    """The clone's name, drawn if it has none."""
    return git.settings().clone or _draw(git)


def _draw(git: Git) -> str:
    name = f"{slug(_user(), limit=_USER) or 'clone'}-{secrets.token_hex(2)}"
    git.run("config", "--local", CLONE, name)
    return name


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return ""
