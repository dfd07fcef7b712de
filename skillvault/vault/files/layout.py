"""Convert between records and their paths in a vault, and find the root of a vault.

Paths are POSIX paths relative to the root. Only slugs become part of a path.
"""

import os
import re
import shlex
from datetime import UTC
from functools import lru_cache
from pathlib import Path
from typing import cast

from skillvault.model import records
from skillvault.model.errors import NotAVaultError
from skillvault.model.lazy import regex
from skillvault.model.text.text import is_slug

VAULT_FILE = "vault.yaml"
KEYS = "allowed_signers"  # the keys of the persons with a role, in the format of ssh
LEARNINGS = "LEARNINGS.md"  # rules that agents append
LEARNED = f"skills/{records.LEARNED}/SKILL.md"  # the patterns, for hosts that load skills/
EXPERTISE = f"skills/{records.LEARNED}/resources/expertise.yaml"  # the patterns
INBOX = "inbox"
UNTRUSTED = "inbox/untrusted"
QUARANTINE = "quarantine"
UNTRACKED = (INBOX, QUARANTINE)  # folders that git ignores

SERVED = "skills"  # the folder that hosts load
SKILL_FOLDERS = (SERVED, "proposed", "archive")  # where a skill's folder may be
FOLDERS = (
    *("outcomes", "evaluations", "answers", "recommendations", "sessions", "memory"),
    *("retractions", *SKILL_FOLDERS, "links"),
)

_ID = regex(r"(?P<y>[0-9]{4})(?P<m>[0-9]{2})(?P<d>[0-9]{2})t[0-9]{6}z-[0-9a-f]{10}")
_DATED_PATH = regex(
    r"^(?P<folder>outcomes|evaluations|recommendations|retractions)/(?P<domain>[^/]+)/(?P<y>[0-9]{4})/(?P<m>[0-9]{2})/"
    r"(?P<d>[0-9]{2})/(?P<id>(?P=y)(?P=m)(?P=d)t[0-9]{6}z-[0-9a-f]{10})\.yaml\Z"
)
_SESSION = regex(r"^sessions/[0-9]{4}/[0-9]{2}/[0-9]{2}/(?P<id>[^/]+)\.yaml\Z")
_ANSWER = regex(r"^answers/(?P<domain>[^/]+)/[0-9]{4}/[0-9]{2}/(?P<id>[a-z]+-[0-9a-f]{12})\.json\Z")
# Files in a skill's folder that the program writes together with its SKILL.md.
_REFERENCE_FILE = regex(
    r"(?:skills|proposed|archive)/[^/]+/references/(?:evidence\.yaml|(?:statements|tried)\.md)"
)
_SKILL = regex(r"^(?:skills|proposed|archive)/(?P<id>[^/]+)/SKILL\.md\Z")
_TRIES_FILE = regex(r"skills/[^/]+/references/tried\.md")
_FACT = regex(r"^memory/(?P<domain>[^/]+)/(?P<id>[^/]+)\.md\Z")
_CORRECTION = regex(r"^(?:proposed|archive)/memory/(?P<domain>[^/]+)/(?P<id>[^/]+)\.md\Z")
_PATHS: dict[records.RecordKind, re.Pattern[str]] = {
    "session": _SESSION, "answer": _ANSWER, "skill": _SKILL, "fact": _FACT,
    "correction": _CORRECTION,
}  # fmt: skip
_LINKS = ".links.yaml"  # the ending of a list of links, beside the record with the links
_SKILL_LINKS = regex(r"^links/(?P<id>[^/]+)\.yaml\Z")


def real_path(path: Path) -> Path:
    """Resolve the links in a path. A cycle of links stays, and fails when it is opened."""
    return Path(os.path.realpath(path))


def find_root(start: Path) -> Path:
    """Return the nearest folder with a vault.yaml, which is `start` or a parent."""
    start = real_path(start)
    root = vault_above(start)
    if root is None:
        advice = explain_absence(start) or "run `skillvault init` or pass --vault"
        raise NotAVaultError(f"{start}: no vault here or above it (no {VAULT_FILE}); {advice}")
    return root


def named_root(path: Path) -> Path:
    """Return the root of the vault in a folder. Raise NotAVaultError if it is not the root."""
    folder = real_path(path)
    root = vault_above(folder)
    if root == folder:
        return folder
    advice = explain_absence(folder) or "correct the path, or run `skillvault init` there"
    if root is not None:
        advice = f"the vault above it is {root}"
    raise NotAVaultError(f"{path}: no vault here (no {VAULT_FILE} in it); {advice}")


def vault_above(folder: Path) -> Path | None:
    """Return the nearest folder with a vault.yaml, which is `folder` or a parent, or None."""
    return next((path for path in (folder, *folder.parents) if (path / VAULT_FILE).is_file()), None)


def explain_absence(folder: Path) -> str | None:
    """Return advice if a folder is in a vault that lost its vault.yaml, or in a bare repository."""
    for path in (folder, *folder.parents):
        if (path / ".git" / "skillvault" / "index.db").is_file():
            git = f"git -C {shlex.quote(str(path))}"
            return (
                f"`{git} restore vault.yaml` brings it back; if its removal was committed, "
                f"`{git} log -- vault.yaml` shows the commit to revert"
            )
    return explain_bare_repository(folder)


def explain_bare_repository(folder: Path) -> str | None:
    """Return advice if a folder is a bare repository or a git dir, else None."""
    if not ((folder / "HEAD").is_file() and (folder / "objects").is_dir()):
        return None
    return (
        "it is a bare repository, or the git dir of one, without a vault's files; clone it: "
        f"git clone {shlex.quote(str(folder))} DIR && skillvault init DIR"
    )


def outcome_path(domain: str, outcome_id: str, folder: str = "outcomes") -> str:
    """Return `outcomes/<domain>/<yyyy>/<mm>/<dd>/<id>.yaml`."""
    match = _ID.fullmatch(outcome_id)
    if match is None or not is_slug(domain):
        raise ValueError(f"{domain}/{outcome_id} cannot become a path")
    return f"{folder}/{domain}/{match['y']}/{match['m']}/{match['d']}/{outcome_id}.yaml"


def is_outcome_id(text: str) -> bool:
    """Return True if a text has the form of an outcome's id."""
    return _ID.fullmatch(text) is not None


def session_path(record: records.Session) -> str:
    """Return `sessions/<yyyy>/<mm>/<dd>/<id>.yaml`, with the day (UTC) when the session ended."""
    _check_slugs(record.id)
    return f"sessions/{record.ended_at.astimezone(UTC):%Y/%m/%d}/{record.id}.yaml"


def answer_path(record: records.Answer) -> str:
    """Return `answers/<domain>/<yyyy>/<mm>/<key>.json` for the month (UTC) of an answer."""
    _check_slugs(record.domain, record.id)
    return f"answers/{record.domain}/{record.at.astimezone(UTC):%Y/%m}/{record.id}.json"


def skill_path(name: str, folder: str = "skills") -> str:
    """Return `<folder>/<name>/SKILL.md`."""
    if not is_slug(name) or folder not in SKILL_FOLDERS:
        raise ValueError(f"{folder}/{name} cannot become a path")
    return f"{folder}/{name}/SKILL.md"


def _check_slugs(*names: str) -> None:
    if not all(map(is_slug, names)):
        raise ValueError(f"{'/'.join(names)} cannot become a path")


def path_of(record: records.Record) -> str:
    """Return the path for a new record. Hosts do not load the folder of a `proposed` skill."""
    match record:
        case (
            records.Outcome()
            | records.Evaluation()
            | records.Recommendation()
            | records.Retraction()
        ):
            return outcome_path(record.domain, record.id, f"{type(record).__name__.lower()}s")
        case records.Session():
            return session_path(record)
        case records.Fact():
            _check_slugs(record.domain, record.id)
            return fact_path(record)
        case records.Correction():
            folder = "archive" if record.state == "withdrawn" else "proposed"
            return f"{folder}/memory/{record.domain}/{record.id}.md"
        case records.Skill():
            return skill_path(record.name, "proposed" if record.status == "proposed" else "skills")
        case records.Answer():
            return answer_path(record)
    raise ValueError(f"{record.id} is a line of a list; see `links_path`")


def fact_path(fact: records.Fact) -> str:
    """Return the path of a fact, which has the fact's id as file name."""
    return f"memory/{fact.domain}/{fact.id}.md"


@lru_cache(maxsize=1 << 12)
def ref_of(path: str) -> records.Ref | None:
    """Return the record at a path, or None if the path is not a record's."""
    if path.endswith(_LINKS):
        return None
    if match := _DATED_PATH.match(path):
        kind = cast("records.RecordKind", match["folder"].removesuffix("s"))
        return records.Ref(kind, match["id"])
    for kind, pattern in _PATHS.items():
        if match := pattern.match(path):
            return records.Ref(kind, match["id"])
    return None


def links_path(path: str) -> str:
    """Return the path of a record's list of links, which is in `links/` for a skill.

    Any other list is beside its record. In the folder of a skill, hosts would load the list.
    """
    if match := _SKILL.match(path):
        return f"links/{match['id']}.yaml"
    return f"{path.rpartition('.')[0]}{_LINKS}"


@lru_cache(maxsize=1 << 12)
def links_owner(path: str) -> records.Ref | None:
    """Return the record whose list of links has this path, or None."""
    if match := _SKILL_LINKS.match(path):
        return records.Ref("skill", match["id"])
    if not path.endswith(_LINKS):
        return None
    stem = path.removesuffix(_LINKS)
    return ref_of(f"{stem}.yaml") or ref_of(f"{stem}.md")


def holds_records(path: str) -> bool:
    """Return True for the path of a record or of a list of links."""
    return ref_of(path) is not None or links_owner(path) is not None


def is_tries_file(path: str) -> bool:
    """Return True for a file that lists the tries of a guide."""
    return _TRIES_FILE.fullmatch(path) is not None


def kind_of(path: str) -> str | None:
    """Return the kind of record at a path, the name of a file such as vault.yaml, or None."""
    if path in (VAULT_FILE, LEARNINGS, EXPERTISE):
        return path.rpartition("/")[2]
    if links_owner(path):
        return "links"
    if _REFERENCE_FILE.fullmatch(path):
        return "reference"
    ref = ref_of(path)
    return ref.kind if ref else None


def is_skill(path: str) -> bool:
    """Return True for the path of a SKILL.md in any folder."""
    return _SKILL.match(path) is not None


def domain_of(path: str) -> str | None:
    """Return the domain in the path of a record. Skills and sessions have none."""
    patterns = (_DATED_PATH, _FACT, _CORRECTION, _ANSWER)
    match = next((match for pattern in patterns if (match := pattern.match(path))), None)
    return match["domain"] if match else None


def folders_above(path: str) -> list[str]:
    """Return the folders above a path, starting with the top folder."""
    return [path[:i] for i, char in enumerate(path) if char == "/"]


def top_folder(path: str) -> str:
    """Return the first folder of a path."""
    return path.partition("/")[0]


def resource(name: str) -> Path:
    """Return a folder that ships with the package, such as `vault_template` or `hooks`.

    In a checkout it is beside the package, in an installed wheel inside it.
    """
    package_path = Path(__file__).resolve().parents[2] / name
    return package_path if package_path.is_dir() else package_path.parent.parent / name
