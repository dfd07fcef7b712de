"""What of a judge's reply is believed, whoever made the judge: its types, choices and ranges.

A reply is foreign text: secrets and hidden characters leave it, and what
cannot be used is refused as a bad reply is.
"""

import math
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from skillvault.judge import Judge
from skillvault.judge.offline import judge as offline
from skillvault.model.brief import (
    AcceptedAnswer,
    Agreement,
    Brief,
    Draft,
    Findings,
    Period,
    Recurrence,
    SessionExcerpt,
)
from skillvault.model.change import Change
from skillvault.model.errors import BadInputError, NoAnswerError
from skillvault.model.records import Answer, Outcome, Ref, Trust
from skillvault.vault.files import redact
from skillvault.vault.index.snapshot import Topics

_Reply = TypeVar("_Reply", bound=Struct)


def check_reply(reply: object, kind: type[_Reply], what: str) -> _Reply:
    """A reply as the record it must be, clean; UnansweredError says what is wrong with it."""
    try:
        record = msgspec.convert(redact.redact_value(_builtins(reply)), kind)
    except (msgspec.ValidationError, BadInputError, TypeError) as error:
        raise NoAnswerError(f"the judge's {what} cannot be used ({error})") from None
    answer = getattr(reply, "answer", None)
    return (
        msgspec.structs.replace(record, answer=answer)
        if isinstance(answer, AcceptedAnswer)
        else record
    )


class AnswerPlace(NamedTuple):
    """Where an answer stands: the domain, the latest outcome that it is about, its trust."""

    domain: str
    at: datetime
    trust: Trust = "local"


def place_of(outcomes: Sequence[Outcome]) -> AnswerPlace:
    """Where an answer about outcomes stands: it has the least of their trust."""
    trusts = {outcome.trust for outcome in outcomes}
    trust: Trust = "untrusted" if "untrusted" in trusts else "local"
    return AnswerPlace(outcomes[0].domain, max(o.occurred_at for o in outcomes), trust)


def answer_record(answer: AcceptedAnswer, place: AnswerPlace, session: str | None = None) -> Answer:
    """An answer as the vault keeps it."""
    return Answer(
        id=answer.matter.question,
        domain=place.domain,
        kind=answer.matter.kind,
        subject=answer.matter.subject,
        material=answer.matter.material,
        at=place.at,
        judge=answer.judge,
        session=session,
        trust=place.trust,
        reply=answer.reply,
    )


def told_by(change: Change, draft: Draft, view: Topics) -> Change:
    """A change that a text makes, with its note and the answer that the text was made of."""
    noted = change.with_note(draft.note)
    if draft.record is None or draft.record.id in view.answers:
        return noted
    return replace(
        noted,
        writes=(*noted.writes, draft.record),
        targets=(*noted.targets, Ref("answer", draft.record.id)),
    )


def place_of_brief(brief: Brief) -> AnswerPlace:
    """Where the answer of a text stands."""
    match brief:
        case Findings():
            return place_of(brief.account.outcomes)
        case Recurrence():
            trusts = {fact.trust for fact in brief.facts}
            trust: Trust = "untrusted" if "untrusted" in trusts else "local"
            times = [fact.order[0] for fact in brief.facts]
            return AnswerPlace(brief.facts[0].domain, max(times), trust)
        case Period():
            return place_of(brief.outcomes)
        case Agreement():
            return place_of(brief.together.account.outcomes)
        case SessionExcerpt():
            sessions = brief.sessions
            low: Trust = "untrusted" if any(s.trust == "untrusted" for s in sessions) else "local"
            return AnswerPlace(brief.domain, max(s.ended_at for s in sessions), low)


def draft_by(judge: Judge, brief: Brief) -> Draft | None:
    """The text that a judge writes; for one that cannot be used the offline one, with a note."""
    draft = judge.write(brief)
    try:
        usable = None if draft is None else check_reply(draft, Draft, "text")
    except NoAnswerError as error:
        plain = offline.OfflineJudge().write(brief)
        note = f"Written by the offline judge: {error}."
        return msgspec.structs.replace(plain, note=note) if plain else None
    if usable is None or usable.answer is None:
        return usable
    return replace(usable, record=answer_record(usable.answer, place_of_brief(brief)))


def _builtins(reply: object) -> object:
    """A reply as plain values; TypeError for a number that is none."""
    plain = msgspec.to_builtins(reply)
    if isinstance(plain, dict):
        plain.pop("answer", None)  # clean already, and digests are no secrets
    quality = plain.get("quality_score") if isinstance(plain, dict) else None
    if isinstance(quality, float) and math.isnan(quality):  # which no range leaves out
        raise TypeError("quality_score is no number")
    return plain
