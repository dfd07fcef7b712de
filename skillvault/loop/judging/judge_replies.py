"""Check the replies of any judge, and turn accepted replies into records and drafts.

A reply is foreign text: `check_reply` removes secrets and hidden characters, and refuses wrong
types and values. The steps call it for verdicts and lessons, and `write_draft` for texts.
"""

import math
from collections.abc import Iterable, Sequence
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
    Passage,
    Period,
    Recurrence,
    SessionExcerpt,
)
from skillvault.model.change import Change
from skillvault.model.errors import BadInputError, NoAnswerError
from skillvault.model.records import Answer, Fact, Outcome, Ref, Session, Trust
from skillvault.vault.files import redact
from skillvault.vault.index.snapshot import Snapshot

_Reply = TypeVar("_Reply", bound=Struct)


def check_reply(reply: object, kind: type[_Reply], noun: str) -> _Reply:
    """Return a reply as a clean record; raise NoAnswerError if it cannot be used."""
    try:
        record = msgspec.convert(redact.redact_value(_builtins(reply)), kind)
    except (msgspec.ValidationError, BadInputError, TypeError) as error:
        raise NoAnswerError(f"the judge's {noun} cannot be used ({error})") from None
    answer = getattr(reply, "answer", None)
    return replace(record, answer=answer) if isinstance(answer, AcceptedAnswer) else record


class AnswerMetadata(NamedTuple):
    """The domain of an answer, the time of its latest outcome, and its trust."""

    domain: str
    at: datetime
    trust: Trust = "local"


def metadata_of(outcomes: Sequence[Outcome]) -> AnswerMetadata:
    """Return the domain, latest time and least trust of the outcomes that an answer is about."""
    time = max(outcome.occurred_at for outcome in outcomes)
    return AnswerMetadata(outcomes[0].domain, time, _least_trust(outcomes))


def _least_trust(records: Iterable[Outcome | Fact | Session]) -> Trust:
    return "untrusted" if any(record.trust == "untrusted" for record in records) else "local"


def answer_record(
    answer: AcceptedAnswer, metadata: AnswerMetadata, session: str | None = None
) -> Answer:
    """Return the record that stores an answer in the vault."""
    return Answer(
        id=answer.topic.question,
        domain=metadata.domain,
        kind=answer.topic.kind,
        subject=answer.topic.subject,
        material=answer.topic.material,
        at=metadata.at,
        judge=answer.judge,
        session=session,
        trust=metadata.trust,
        reply=answer.reply,
    )


def with_draft(change: Change, draft: Draft, snapshot: Snapshot) -> Change:
    """Add the note of a draft to its change, and the answer from which the draft was made."""
    noted_change = change.with_note(draft.note)
    if draft.record is None or draft.record.id in snapshot.answers:
        return noted_change
    return replace(
        noted_change,
        writes=(*noted_change.writes, draft.record),
        targets=(*noted_change.targets, Ref("answer", draft.record.id)),
    )


def metadata_of_brief(brief: Brief) -> AnswerMetadata:
    """Return the domain, latest time and least trust of the material of a text."""
    if isinstance(brief, Recurrence):
        time = max(fact.order[0] for fact in brief.facts)
        return AnswerMetadata(brief.facts[0].domain, time, _least_trust(brief.facts))
    if isinstance(brief, SessionExcerpt):
        time = max(session.ended_at for session in brief.sessions)
        return AnswerMetadata(brief.domain, time, _least_trust(brief.sessions))
    if isinstance(brief, Passage):
        return AnswerMetadata(brief.source.domain, brief.source.created_at)
    return metadata_of(brief_outcomes(brief))


def brief_outcomes(brief: Brief) -> Sequence[Outcome]:
    """Return the outcomes in the material of a text. A text of facts or sessions has none."""
    match brief:
        case Findings():
            return brief.account.outcomes
        case Period():
            return brief.outcomes
        case Agreement():
            return brief.together.account.outcomes
        case Recurrence() | SessionExcerpt() | Passage():
            return ()


def write_draft(judge: Judge, brief: Brief) -> Draft | None:
    """Ask a judge for a text; if the reply cannot be used, return the offline text with a note."""
    reply = judge.write(brief)
    try:
        draft = None if reply is None else check_reply(reply, Draft, "text")
    except NoAnswerError as error:
        offline_draft = offline.OfflineJudge().write(brief)
        note = f"Written by the offline judge: {error}."
        return replace(offline_draft, note=note) if offline_draft else None
    if draft is None or draft.answer is None:
        return draft
    return replace(draft, record=answer_record(draft.answer, metadata_of_brief(brief)))


def _builtins(reply: object) -> object:
    """Return a reply as plain values; raise TypeError for a number that JSON does not have."""
    values = msgspec.to_builtins(reply)
    if isinstance(values, dict):
        values.pop("answer", None)  # clean already; its digests would look like secrets
    quality = values.get("quality_score") if isinstance(values, dict) else None
    if isinstance(quality, float) and math.isnan(quality):  # a range check lets it pass
        raise TypeError("quality_score is no number")
    return values
