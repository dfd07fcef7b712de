"""Read a site's skills by its index at `.well-known/agent-skills/index.json`, version 0.2.0.

Pure but for `fetch`. A file is taken only if its digest is the one in the index. An older index
has no digests and is refused.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

from msgspec import Struct

from skillvault.exchange.unpack import unpack
from skillvault.model.errors import BadInputError
from skillvault.model.text import strict_json
from skillvault.model.text.text import is_slug

INDEX_PATH = ".well-known/agent-skills/index.json"
SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_MAX_ENTRIES = 2000

Fetch = Callable[[str], bytes]


class SiteSkill(Struct, frozen=True):
    """A skill that a site's index names."""

    name: str
    url: str
    digest: str
    packed: bool


def fetch_index(site: str, fetch: Fetch) -> tuple[list[SiteSkill], dict[str, BadInputError]]:
    """Return (the skills of a site, place in its index -> error of an entry that is no skill).

    BadInputError where there is no index of this version.
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
    """Fetch the files of a skill, by path; BadInputError if the digest differs from the index."""
    content = fetch(skill.url)
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    if digest != skill.digest:
        raise BadInputError(
            f"{skill.url}: its digest is {digest[:19]}… and the index says "
            f"{skill.digest[:19]}…; tell the site's owner",
            code="digest",
        )
    return unpack(content) if skill.packed else {"SKILL.md": content}


def _parse_entries(content: bytes, url: str) -> list[Any]:
    try:
        index = strict_json.load(content.decode("utf-8-sig"))
    except (BadInputError, UnicodeDecodeError) as error:
        raise BadInputError(f"{url}: no JSON ({error})", code="bad-index") from None
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
    name, place, digest = (entry.get(key) for key in ("name", "url", "digest"))
    if not isinstance(name, str) or not is_slug(name):
        raise BadInputError("name: not a skill's name", code="bad-index", key="name")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise BadInputError(
            f"{name}: digest: expected sha256: and 64 hex digits", code="digest", key="digest"
        )
    if not isinstance(place, str) or not place:
        raise BadInputError(f"{name}: url: missing", code="bad-index", key="url")
    if entry.get("type") not in ("skill-md", "archive"):
        message = f"{name}: type: {str(entry.get('type'))[:40]!r} is neither skill-md nor archive"
        raise BadInputError(message, code="bad-index", key="type")
    return SiteSkill(name, _skill_address(url, place, name), digest, entry["type"] == "archive")


def _skill_address(url: str, place: str, name: str) -> str:
    try:
        address = urljoin(url, place)
        scheme = urlsplit(address).scheme
    except ValueError as error:
        raise BadInputError(f"{name}: url: no URL ({error})", code="bad-index", key="url") from None
    if scheme not in ("https", "http"):
        raise BadInputError(f"{name}: url: {scheme} is not fetched", code="scheme", key="url")
    return address
