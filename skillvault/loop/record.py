"""record: take in what arrived, refuse what cannot be taken."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from msgspec import Struct

from skillvault.learning.record import (
    check_domain,
    check_event,
    check_session,
    event_of,
    record_change,
)
from skillvault.loop.quota import split_files, why_files
from skillvault.loop.receipts import Receipts, with_names
from skillvault.loop.run import Run
from skillvault.model import codec, intake
from skillvault.model.change import BATCH, Change
from skillvault.model.decision_outcomes import as_agents_word
from skillvault.model.errors import BadInputError
from skillvault.model.records import Outcome, Recommendation, Ref, Session, Trust, ref_of
from skillvault.vault.files import arrival, layout, redact
from skillvault.vault.files.arrival import ReceivedFile
from skillvault.vault.files.inbox import WRITING, Inbox
from skillvault.vault.index.snapshot import Topics

_Arrived = Outcome | Recommendation | Session
_NO_DECISION = (
    "the vault knows no outcome and no recommendation of its decision yet, so it has no domain; "
    "it is taken when one arrives, or give --domain"
)


class Intake(Struct, frozen=True):
    """What a run takes of the inbox, and (reason -> names) what it leaves there.

    `held` says why untrusted files wait for another day, "" if none does.
    """

    names: Sequence[str] = ()
    arrived: Sequence[ReceivedFile] = ()
    left: Mapping[str, Sequence[str]] = {}
    held: str = ""


def intake_of(
    inbox: Inbox, head: Topics, patience: float | None, now: datetime, *, dry: bool
) -> Intake:
    """What is in the inbox, once it is no longer being written or patience is over."""
    arrived = inbox.quarantine.changed_files() if dry else ()
    if not dry:
        inbox.sweep_drafts()
        inbox.quarantine.requeue_changed()
    present = inbox.names()
    held = split_files(head, inbox, present, now).held
    takable = sorted(set(present).difference(held))
    names, young = inbox.wait_until_stable(
        head.policy.record.settle_seconds, patience, names=takable
    )
    left = {WRITING: young, **inbox.obstacles()}
    return Intake(names, arrived, left, why_files(head, held, now) if held else "")


class _InboxFile(NamedTuple):
    """What a file says, and how far its folder is trusted."""

    name: str
    values: dict[str, Any]
    trust: Trust


def step(run: Run) -> Iterator[Change]:
    """A change for every so many records of a domain."""
    rejections = run.rejections
    fresh: dict[Ref, _Arrived] = {}
    names: dict[Ref, list[str]] = {}
    for name, one in _admitted(run):
        ref = ref_of(one)
        refused = rejections.of_target(ref)
        recorded = ref in run.view.records
        if refused or recorded or ref in fresh:
            run.report.known.append(one.id)
        if refused:
            run.report.rejected.append(refused)
        if refused or recorded:
            run.forget(name)  # the vault's history holds it
        else:
            fresh.setdefault(ref, one)
            names.setdefault(ref, []).append(name)
    free = run.free(fresh.values())
    ready = {ref: one for ref, one in fresh.items() if free[layout.path_of(one)]}
    for domain in sorted({one.domain for one in ready.values()}):
        refs = sorted(ref for ref, one in ready.items() if one.domain == domain)
        for start in range(0, len(refs), BATCH):
            batch = refs[start : start + BATCH]
            taken = [name for ref in batch for name in names[ref]]
            yield record_change(domain, [ready[ref] for ref in batch], taken)


def waiting(run: Run) -> int:
    """How many files lie in the inbox, without those that wait for another day."""
    return len(run.inbox.names()) - held(run)


def held(run: Run) -> int:
    """How many untrusted files there is no room for today."""
    return len(split_files(run.view, run.inbox, run.inbox.names(), run.now).held)


def _admitted(run: Run) -> list[tuple[str, _Arrived]]:
    """(inbox name, record) of everything that may be taken, in the order of the ids.

    The order of the ids decides between two that conflict, not the order of arrival.
    """
    readable = list(_readable(run))
    parsed = [(name, record) for name, record in readable if isinstance(record, Outcome)]
    shown = [(name, record) for name, record in readable if isinstance(record, Recommendation)]
    ended = [(name, record) for name, record in readable if isinstance(record, Session)]
    shown.sort(key=lambda pair: (pair[1].id, pair[1].trust, pair[0]))
    # A receipt may arrive with its outcome.
    arrived = [receipt for _, receipt in shown]
    receipts = Receipts(run.view, run.inbox, run.now, arrived=arrived, read=run.options.names)

    def read_text(name: str, blob: str) -> str:
        return run.shelf.uses.read(run.view)(name, blob)

    named_outcomes = (
        (name, with_names(outcome, receipts.own, read_text))
        for name, outcome in _without_conflicts(run, parsed, receipts)
    )
    return [*named_outcomes, *shown, *_admitted_sessions(run, ended)]


def _readable(run: Run) -> Iterator[tuple[str, _Arrived]]:
    """(inbox name, record) of what can be read; the rest is refused.

    A result that leaves its domain to its decision comes last; one of an unknown decision waits.
    """
    domains = _DecisionDomains(run.view)
    without_domain: list[_InboxFile] = []
    for name, item in run.track(list(_received(run)), "reading"):
        try:
            file = _parsed(item, run)
            if _needs_domain(file.values):
                without_domain.append(file)
                continue
            record = _record_of(file, run)
        except BadInputError as error:
            run.refuse(name, error)
        else:
            domains.note(record)
            yield name, record
    for file in without_domain:
        try:
            if domain := domains.domain_of(file):
                named = file._replace(values={**file.values, "domain": domain})
                yield file.name, _record_of(named, run)
            else:
                run.leave([file.name], _NO_DECISION)
        except BadInputError as error:
            run.refuse(file.name, error)


def _admitted_sessions(
    run: Run, ended: Iterable[tuple[str, Session]]
) -> Iterator[tuple[str, Session]]:
    """Those of which no other content stands under the same id."""
    ordered = sorted(ended, key=lambda pair: (pair[1].id, pair[1].trust, pair[0]))
    sessions = dict(run.view.sessions.get_many(session.id for _, session in ordered))
    for name, session in ordered:
        try:
            check_session(session, sessions.get(session.id))
        except BadInputError as error:
            run.refuse(name, error)
        else:
            sessions.setdefault(session.id, session)
            yield name, session


def _without_conflicts(
    run: Run, parsed: list[tuple[str, Outcome]], receipts: Receipts
) -> Iterator[tuple[str, Outcome]]:
    """Those that claim no event and no decision that is another's; the others are refused."""
    # One record through both doors is local: `local` stands before `untrusted`.
    parsed = sorted(parsed, key=lambda pair: (pair[1].id, pair[1].trust, pair[0]))
    named = {outcome.event_id for _, outcome in parsed if outcome.event_id}
    events = {event_of(earlier): earlier for earlier in run.view.outcomes.by_event(named)}
    recorded = run.view.records.existing(ref_of(outcome) for _, outcome in parsed)
    for name, outcome in parsed:
        try:
            check_event(outcome, events)
            if ref_of(outcome) not in recorded:  # else it was taken before
                receipts.check_claim(outcome)
        except BadInputError as error:
            run.refuse(name, error)
            continue
        if outcome.event_id:
            events.setdefault(event_of(outcome), outcome)
        receipts.take(outcome)
        yield name, outcome


def _received(run: Run) -> Iterator[tuple[str, ReceivedFile | BadInputError]]:
    """What arrived: handed over in memory, else what waits in the inbox."""
    yield from ((item.name, item) for item in run.options.arrived)
    for name in run.options.names:
        try:
            item = run.inbox.read_file(name)
        except BadInputError as error:
            yield name, error
        else:
            if item is not None:
                yield name, item


def _parsed(item: ReceivedFile | BadInputError, run: Run) -> _InboxFile:
    """Read a file; one of an agent cannot say that anybody else saw how it ended."""
    if isinstance(item, BadInputError):
        raise item
    values: Mapping[str, Any] = codec.parse_incoming(item.name, item.data)
    is_attested = item.is_attested or arrival.is_attested(
        run.store.git.dirs()[0], item.name, item.data
    )
    if not is_attested:
        values = as_agents_word(values)
    return _InboxFile(item.name, dict(values), item.trust)


def _record_of(file: _InboxFile, run: Run) -> _Arrived:
    """The record in a file, without its secrets; BadInputError where it is none."""
    record = intake.parse_record(
        file.values,
        trust=file.trust,
        now=run.now,
        unbounded=run.policy.record.scores == "unbounded",
        ahead=run.policy.ahead,
        clean=redact.redact_value(file.values),
    )
    if record.domain not in run.policy.domains:
        domains = run.domains_seen[record.trust]
        check_domain(record.domain, domains, run.policy)
    return record


class _DecisionDomains:
    """The domain of each decision, as an outcome or a receipt has it, recorded or arrived.

    Who described the decision comes before who asked.
    """

    def __init__(self, view: Topics) -> None:
        self._view = view
        self._arrived: dict[tuple[Trust, str], list[tuple[bool, str, str]]] = {}

    def note(self, record: _Arrived) -> None:
        """Take in what arrived."""
        if isinstance(record, Outcome) and record.decision.id:
            self._note_domain(record.decision.id, record)
        elif isinstance(record, Recommendation):
            self._note_domain(record.decision, record)

    def domain_of(self, file: _InboxFile) -> str | None:
        """The domain of a result's decision; None while nobody knows it."""
        decision: str = file.values["decision"]["id"]
        for outcome in self._view.outcomes.by_decision(decision):
            self._note_domain(decision, outcome)
        for receipt in self._view.recommendations.by_decision(decision):
            self._note_domain(decision, receipt)
        trusts: tuple[Trust, Trust] = (file.trust, "local")
        entries = next(
            filter(None, (self._arrived.get((trust, decision)) for trust in trusts)), None
        )
        return min(entries)[2] if entries else None

    def _note_domain(self, decision: str, record: Outcome | Recommendation) -> None:
        is_receipt = isinstance(record, Recommendation)
        key = record.trust, decision
        self._arrived.setdefault(key, []).append((is_receipt, record.id, record.domain))


def _needs_domain(values: Mapping[str, Any]) -> bool:
    """Whether a file is a result that leaves its domain to its decision."""
    decision, result = values.get("decision"), values.get("result")
    is_named = isinstance(decision, dict) and isinstance(decision.get("id"), str)
    is_observed = isinstance(result, dict) and result.get("observed_by") is not None
    is_outcome = values.get("type", "outcome") == "outcome"
    return is_outcome and values.get("domain") is None and is_named and is_observed
