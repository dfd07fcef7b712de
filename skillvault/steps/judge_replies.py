"""What of a judge's reply is believed, whoever made the judge: its types, choices and ranges.

Floor 3, beside the steps. A reply is foreign text: secrets and hidden characters leave it, and what
cannot be used is refused as a bad reply is.
"""

import math
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

from skillvault.brief import Brief, Draft
from skillvault.errors import BadInputError, UnansweredError
from skillvault.judge import Judge
from skillvault.lazy import LazyModule

if TYPE_CHECKING:
    from skillvault.judge.offline import judge as offline
    from skillvault.vault.files import redact
else:  # a question asks no judge
    offline, redact = LazyModule("judge.offline.judge"), LazyModule("vault.files.redact")

_Reply = TypeVar("_Reply", bound=Struct)


def checked(reply: object, kind: type[_Reply], what: str) -> _Reply:
    """A reply as the record it must be, clean; UnansweredError says what is wrong with it."""
    try:
        return msgspec.convert(redact.cleaned(_builtins(reply)), kind)
    except (msgspec.ValidationError, BadInputError, TypeError) as error:
        raise UnansweredError(f"the judge's {what} cannot be used ({error})") from None


def draft_by(judge: Judge, brief: Brief) -> Draft | None:
    """The text that a judge writes; for one that cannot be used the offline one, with a note."""
    draft = judge.write(brief)
    try:
        return None if draft is None else checked(draft, Draft, "text")
    except UnansweredError as error:
        return _offline(brief, f"Written by the offline judge: {error}.")


def _builtins(reply: object) -> object:
    """A reply as plain values; TypeError for a number that is none."""
    plain = msgspec.to_builtins(reply)
    quality = plain.get("quality_score") if isinstance(plain, dict) else None
    if isinstance(quality, float) and math.isnan(quality):  # which no range leaves out
        raise TypeError("quality_score is no number")
    return plain


def _offline(brief: Brief, note: str) -> Draft | None:
    plain = offline.OfflineJudge().write(brief)
    return msgspec.structs.replace(plain, note=note) if plain else None
