"""Read and write the skills of a site: `.well-known/agent-skills/index.json` (0.2.0).

A skill of one file is published as that file, a larger skill as an archive. A file is accepted only
if its digest is in the index. Equal skills give equal bytes, with a fixed time.
"""

import hashlib
import io
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urljoin, urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from skillvault.exchange.skills import agent_skills
from skillvault.exchange.skills.agent_skills import FILE
from skillvault.exchange.skills.folders import listing_size, select_fitting, write_folders
from skillvault.exchange.source_tree import unpack
from skillvault.model.change import Program
from skillvault.model.errors import BadInputError
from skillvault.model.export import Export, OutgoingSkill
from skillvault.model.text import strict_json
from skillvault.model.text.text import is_slug

INDEX_PATH = ".well-known/agent-skills/index.json"
SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_MAX_ENTRIES = 2000

Fetch = Callable[[str], bytes]


# ── reading ───────────────────────────────────────────────────────────────────────────


class SiteSkill(Struct, frozen=True):
    """A skill in the index of a site."""

    name: str
    url: str
    digest: str
    packed: bool


def fetch_index(site: str, fetch: Fetch) -> tuple[list[SiteSkill], dict[str, BadInputError]]:
    """Return the skills of a site, and errors by key of its index.

    Raises BadInputError if the site has no index of this version.
    """
    url = f"{site}/{INDEX_PATH}"
    entries = _parse_entries(fetch(url), url)
    skills: list[SiteSkill] = []
    errors: dict[str, BadInputError] = {}
    for number, entry in enumerate(entries):
        try:
            skills.append(_parse_entry(entry, url))
        except BadInputError as error:
            errors[f"skills[{number}]"] = error
    return skills, errors


def fetch_files(skill: SiteSkill, fetch: Fetch) -> Mapping[str, bytes]:
    """Fetch the files of a skill. Raise BadInputError if the digest differs from the index."""
    content = fetch(skill.url)
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    if digest != skill.digest:
        raise BadInputError(
            f"{skill.url}: its digest is {digest[:19]}… and the index says "
            f"{skill.digest[:19]}…; tell the site's owner",
            code="digest",
        )
    return unpack(content) if skill.packed else {"SKILL.md": content}


def parse_answer(content: bytes, url: str, code: str) -> Any:
    """Parse the JSON of a server. Raise BadInputError with `code` for another text."""
    try:
        return strict_json.load(content.decode("utf-8-sig"))
    except (BadInputError, UnicodeDecodeError) as error:
        raise BadInputError(f"{url}: not JSON ({error})", code=code) from None


def _parse_entries(content: bytes, url: str) -> list[Any]:
    index = parse_answer(content, url, "bad-index")
    if not isinstance(index, dict) or index.get("$schema") != SCHEMA:
        raise BadInputError(
            f"{url}: no index of version 0.2.0, which has digests; its `$schema` must be {SCHEMA}",
            code="bad-index",
            key="$schema",
        )
    entries = index.get("skills")
    if not isinstance(entries, list) or len(entries) > _MAX_ENTRIES:
        raise BadInputError(
            f"{url}: skills: expected a list of at most {_MAX_ENTRIES}", code="bad-index"
        )
    return entries


def _parse_entry(entry: Any, url: str) -> SiteSkill:
    if not isinstance(entry, dict):
        raise BadInputError("expected a mapping", code="bad-index")
    name, address, digest = (entry.get(key) for key in ("name", "url", "digest"))
    if not isinstance(name, str) or not is_slug(name):
        raise BadInputError("name: not a skill's name", code="bad-index", key="name")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise BadInputError(
            f"{name}: digest: expected sha256: and 64 hex digits", code="digest", key="digest"
        )
    if not isinstance(address, str) or not address:
        raise BadInputError(f"{name}: url: missing", code="bad-index", key="url")
    if entry.get("type") not in ("skill-md", "archive"):
        message = f"{name}: type: {str(entry.get('type'))[:40]!r} is neither skill-md nor archive"
        raise BadInputError(message, code="bad-index", key="type")
    return SiteSkill(name, _skill_address(url, address, name), digest, entry["type"] == "archive")


def _skill_address(url: str, relative_url: str, name: str) -> str:
    try:
        address = urljoin(url, relative_url)
        scheme = urlsplit(address).scheme
    except ValueError as error:
        raise BadInputError(f"{name}: url: {error}", code="bad-index", key="url") from None
    if scheme not in ("https", "http"):
        raise BadInputError(f"{name}: url: {scheme} is not fetched", code="scheme", key="url")
    return address


# ── writing ───────────────────────────────────────────────────────────────────────────

ROOT, _, INDEX = INDEX_PATH.rpartition("/")
_MAX_FILES, _MAX_BYTES = 1_000, 50 * 1024 * 1024  # limits of clients for one archive
_MODIFICATION_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest of the zip format
_READABLE, _EXECUTABLE = 0o100644 << 16, 0o100755 << 16


def write_site(skills: Sequence[OutgoingSkill], budget: int | None) -> Export:
    """Write the index, and the file or archive of each skill in it."""
    fitting_skills, left_out = select_fitting(skills, budget, listing_size)
    export = write_folders(fitting_skills, ROOT, _pack_skill, left_out=left_out)
    descriptions = {skill.name: skill.description for skill in skills}
    entries = [
        _index_entry(name, descriptions[name], export.units[f"{ROOT}/{name}"])
        for name in export.skills
    ]
    index = msgspec.json.encode({"$schema": SCHEMA, "skills": entries})
    index_file = {INDEX: msgspec.json.format(index, indent=2) + b"\n"}
    return replace(export, units={**export.units, ROOT: index_file})


def _pack_skill(skill: OutgoingSkill) -> Mapping[str, bytes]:
    """Write a skill as the one file that clients fetch. Raise BadInputError if it is too large."""
    if len(skill.files) > _MAX_FILES or sum(map(len, skill.files.values())) > _MAX_BYTES:
        reason = f"has more than {_MAX_FILES:,} files or {_MAX_BYTES // 1024**2} MiB"
        raise BadInputError(f"{reason}, which clients refuse", code="too-large")
    files = agent_skills.write_valid(skill)
    return files if len(files) == 1 else {f"{skill.name}.zip": _zip_files(files)}


def _zip_files(files: Mapping[str, bytes]) -> bytes:
    """Pack files into a zip archive that is the same on every machine."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as zip_file:
        for path in sorted(files):
            entry = zipfile.ZipInfo(path, _MODIFICATION_TIME)
            entry.create_system = 3  # modes are Unix's
            entry.external_attr = _EXECUTABLE if isinstance(files[path], Program) else _READABLE
            zip_file.writestr(entry, files[path])
    return stream.getvalue()


def _index_entry(name: str, description: str, files: Mapping[str, bytes]) -> dict[str, Any]:
    ((path, content),) = files.items()
    return {
        "name": name,
        "type": "skill-md" if path == FILE else "archive",
        "description": description,
        "url": f"{name}/{path}",
        "digest": f"sha256:{hashlib.sha256(content).hexdigest()}",
    }
