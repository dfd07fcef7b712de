"""A skill of a ClawHub registry: what the registry says of it, then its archive.

Pure but for `fetch`. What the registry itself holds back, or warns of, is not taken.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from msgspec import Struct

from skillvault.exchange.unpack import unpack
from skillvault.exchange.well_known import Fetch
from skillvault.model.errors import BadInputError
from skillvault.model.text import strict_json
from skillvault.model.text.text import shorten


class Release(Struct, frozen=True):
    """A version of a skill in a registry."""

    owner: str
    slug: str
    version: str


def latest(registry: str, owner: str, slug: str, fetch: Fetch) -> Release:
    """The latest version of a skill; BadInputError, in the registry's words, if it is held back."""
    query = urlencode({"ownerHandle": owner})
    url = f"{registry}/api/v1/skills/{quote(slug, safe='')}?{query}"
    answer = _mapping(fetch(url), url)
    name = f"clawhub:{owner}/{slug}"
    _refuse_flagged(name, answer.get("moderation"))
    version = answer.get("latestVersion")
    number = version.get("version") if isinstance(version, dict) else None
    if not isinstance(number, str) or not number:
        raise BadInputError(
            f"{name}: the registry names no version of it; look at it there", code="no-version"
        )
    return Release(owner, slug, number)


def files_of_release(registry: str, release: Release, fetch: Fetch) -> Mapping[str, bytes]:
    """The files of a version, by path."""
    query = urlencode(
        {"slug": release.slug, "ownerHandle": release.owner, "version": release.version}
    )
    return unpack(fetch(f"{registry}/api/v1/download?{query}"))


def _refuse_flagged(name: str, moderation: Any) -> None:
    if not isinstance(moderation, dict):
        return
    verdict = moderation.get("verdict")
    blocked = moderation.get("isMalwareBlocked") or verdict == "malicious"
    if not (blocked or moderation.get("isSuspicious") or verdict == "suspicious"):
        return
    codes = moderation.get("reasonCodes")
    words = [str(moderation.get("summary") or ""), *(codes if isinstance(codes, list) else [])]
    says = "; ".join(shorten(str(word), 300) for word in words if word)
    mark = "blocks it as malicious" if blocked else "flags it as suspicious"
    raise BadInputError(f"{name}: the registry {mark}: {says or 'no reason given'}", code="flagged")


def _mapping(content: bytes, url: str) -> dict[str, Any]:
    try:
        value = strict_json.load(content.decode("utf-8-sig"))
    except (BadInputError, UnicodeDecodeError) as error:
        raise BadInputError(f"{url}: no JSON ({error})", code="bad-answer") from None
    if not isinstance(value, dict):
        raise BadInputError(f"{url}: expected a mapping; is this a registry?", code="bad-answer")
    return value
