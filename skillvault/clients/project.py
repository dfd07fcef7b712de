"""Which project a client works in, and which domain of a vault its folder belongs to."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from skillvault.model.text.text import slug


def project_of(folder: Path) -> Path:
    """The repository that holds a folder; the folder itself if none does."""
    return next((at for at in (folder, *folder.parents) if (at / ".git").exists()), folder)


def domain_of(folder: Path, patterns: Mapping[str, str], default: str | None) -> str:
    """The domain of the first pattern that a folder or one above it meets.

    Else the default, else the repository's name as a slug; "" if that has no letters.
    """
    project = project_of(folder)
    above = [str(at) for at in (folder, *folder.parents)]
    for pattern, domain in patterns.items():
        whole = str(Path(pattern).expanduser())
        if any(fnmatchcase(place, whole) for place in above):
            return domain
    return default or slug(project.name, limit=64)
