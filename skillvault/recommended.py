"""From foreign data to a Recommendation: what an agent was shown before a decision.

`recommendation_from` is the only way from what was written to the record. Pure: the time
and the door's trust are arguments.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from skillvault.errors import BadInputError
from skillvault.intake import check_slug, stored
from skillvault.records import Recommendation, Trust, moment_of, stamp

MAX_SHOWN = 1000  # skills in one list of it
_KEYS = frozenset(field.name for field in msgspec.structs.fields(Recommendation)) - {"extra"}
_OURS = frozenset({"id", "received", "type", "extra"})  # the vault's to give


def recommendation_from(
    raw: Mapping[str, Any],
    *,
    trust: Trust,
    now: datetime,
    ahead: timedelta = timedelta(days=1),
) -> Recommendation:
    """A validated Recommendation from a mapping; BadInputError names the key.

    `trust` is what the door gives; the record's own can only lower it. Times are refused
    beyond `now + ahead`.
    """
    known = {key: value for key, value in raw.items() if key not in _OURS}
    found = stored_recommendation({**known, "received": ""}, "")
    _check(found)
    if found.at - now > ahead:
        raise BadInputError(
            f"at: {stamp(found.at)} lies in the future (now is {stamp(now)}); give the time at "
            "which it was shown",
            code="future",
            key="at",
        )
    digest = hashlib.sha256(_normal_form(found).encode()).hexdigest()
    return msgspec.structs.replace(
        found,
        id=f"{moment_of(found.at)}-{digest[:10]}",
        received=digest,
        trust="untrusted" if "untrusted" in (trust, found.trust) else "local",
    )


def stored_recommendation(raw: Mapping[str, Any], recommendation_id: str) -> Recommendation:
    """A Recommendation as it was recorded; only its shape is checked again."""
    values = {key: value for key, value in raw.items() if key in _KEYS}
    extra = {key: value for key, value in raw.items() if key not in _KEYS}
    return stored({**values, "id": recommendation_id, "extra": extra}, Recommendation)


def plain_recommendation(record: Recommendation) -> dict[str, Any]:
    """The record as a mapping in the format's key order, without its id."""
    values: dict[str, Any] = msgspec.to_builtins(record)
    extra = values.pop("extra")
    received = values.pop("received")
    del values["id"]
    if record.trust == "local":
        del values["trust"]
    kept = {key: value for key, value in values.items() if value not in ({}, [])}
    return {**kept, "at": stamp(record.at), **extra, "received": received}


def _check(record: Recommendation) -> None:
    check_slug(record.domain)
    for key in ("shown", "held_out", "next"):
        if len(getattr(record, key)) > MAX_SHOWN:
            raise BadInputError(
                f"{key}: more than {MAX_SHOWN} skills; leave out the last ones",
                code="too-large",
                key=key,
            )
    try:
        record.at.astimezone(UTC)
    except OverflowError:
        raise BadInputError(
            f"at: {record.at} is no time in UTC; give the time at which it was shown",
            code="bad-value",
            key="at",
        ) from None


def _normal_form(record: Recommendation) -> str:
    """The record as canonical JSON, without what the vault gives (id, trust)."""
    body = plain_recommendation(msgspec.structs.replace(record, trust="local"))
    del body["received"]
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
