"""The step `record`: turn the files of the inbox into records, and refuse bad files.

`model/intake.py` checks the keys of a record; `learning/record.py` checks if it contradicts other
records. A run chooses its files with `choose_inbox_files` before the steps begin.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple, get_args

from msgspec import Struct

from skillvault.learning import record as record_rules
from skillvault.loop.receipts import Receipts
from skillvault.loop.run import Run
from skillvault.loop.untrusted_quota import file_wait_reason, find_over_quota
from skillvault.model import codec, intake
from skillvault.model.change import INTAKE_BATCH, Change
from skillvault.model.decision_outcomes import as_agent_statement
from skillvault.model.errors import BadInputError
from skillvault.model.records import Outcome, Recommendation, Ref, Session, Trust, ref_of
from skillvault.vault.files import arrival, layout, redact
from skillvault.vault.files.arrival import ReceivedFile
from skillvault.vault.files.inbox import WRITING, Inbox
from skillvault.vault.index.snapshot import Snapshot

_ArrivedRecord = Outcome | Recommendation | Session
_UNKNOWN_DECISION = (
    "the vault knows no outcome and no recommendation of its decision yet, so it has no domain; "
    "it is taken when one arrives, or give --domain"
)


class InboxSelection(Struct, frozen=True):
    """The inbox files that a run takes, and the files that it leaves, by reason.

    `wait_reason` says why untrusted files wait for another day, or is "" if no file waits.
    """

    names: Sequence[str] = ()
    received_files: Sequence[ReceivedFile] = ()
    left_names: Mapping[str, Sequence[str]] = {}
    wait_reason: str = ""


def choose_inbox_files(
    inbox: Inbox, snapshot: Snapshot, patience: float | None, now: datetime, *, dry: bool
) -> InboxSelection:
    """Choose the inbox files to take: complete files, and files that stay incomplete too long.

    `patience` is the number of seconds to wait for files that are still being written.
    """
    received_files = inbox.quarantine.changed_files() if dry else ()
    if not dry:
        inbox.sweep_drafts()
        inbox.quarantine.requeue_changed()
    names = inbox.names()
    excess_names = find_over_quota(snapshot, inbox, names, now)
    allowed = sorted(set(names).difference(excess_names))
    settle_seconds = snapshot.policy.record.settle_seconds
    stable_names, young_names = inbox.wait_until_stable(settle_seconds, patience, names=allowed)
    obstacles = {WRITING: young_names, **inbox.obstacles()}
    reason = file_wait_reason(snapshot, excess_names, now) if excess_names else ""
    return InboxSelection(stable_names, received_files, obstacles, reason)


def report_left_files(run: Run, selection: InboxSelection) -> None:
    """Report why a run leaves files in the inbox."""
    for reason, names in selection.left_names.items():
        run.leave_in_inbox(names, reason)
    if selection.wait_reason:
        run.defer(layout.UNTRUSTED, selection.wait_reason, tomorrow=True)


class _InboxFile(NamedTuple):
    name: str
    values: dict[str, Any]
    trust: Trust


def step(run: Run) -> Iterator[Change]:
    """Yield a change for each batch of records of a domain."""
    records: dict[Ref, _ArrivedRecord] = {}
    names: dict[Ref, list[str]] = {}
    for name, record in _admit_files(run):
        ref = ref_of(record)
        rejection = run.rejections.of_target(ref)
        is_recorded = ref in run.snapshot.records
        if rejection or is_recorded or ref in records:
            run.report.known.append(record.id)
        if rejection:
            run.report.rejected.append(rejection)
        if rejection or is_recorded:
            run.drop_recorded_file(name)
        else:
            records.setdefault(ref, record)
            names.setdefault(ref, []).append(name)
    paths = run.find_writable(records.values())
    writable = {ref: record for ref, record in records.items() if layout.path_of(record) in paths}
    for domain in sorted({record.domain for record in writable.values()}):
        refs = sorted(ref for ref, record in writable.items() if record.domain == domain)
        for start in range(0, len(refs), INTAKE_BATCH):
            batch = refs[start : start + INTAKE_BATCH]
            file_names = [name for ref in batch for name in names[ref]]
            yield record_rules.record_change(domain, [writable[ref] for ref in batch], file_names)


def count_work(run: Run) -> int:
    """Return the number of inbox files that may be taken today."""
    return len(run.inbox.names()) - count_over_quota(run)


def count_over_quota(run: Run) -> int:
    """Return the number of untrusted files that exceed today's quota."""
    return len(find_over_quota(run.snapshot, run.inbox, run.inbox.names(), run.now))


def _admit_files(run: Run) -> list[tuple[str, _ArrivedRecord]]:
    """Return (inbox name, record) of all files without a conflict; refuse the others.

    Of two records in conflict, the record with the smaller id is taken, in any order of arrival.
    """
    # A record that arrived in both folders counts as local: `local` sorts before `untrusted`.
    files = sorted(_read_files(run), key=lambda pair: (pair[1].id, pair[1].trust, pair[0]))
    outcomes = [(name, record) for name, record in files if isinstance(record, Outcome)]
    receipts = [(name, record) for name, record in files if isinstance(record, Recommendation)]
    sessions = [(name, record) for name, record in files if isinstance(record, Session)]
    # A receipt may arrive together with its outcome.
    records = [receipt for _, receipt in receipts]
    all_receipts = Receipts(
        run.snapshot, run.inbox, run.now, arrived=records, names=run.options.names
    )
    named_outcomes = (
        (name, all_receipts.resolve_applied(outcome))
        for name, outcome in _admit_outcomes(run, outcomes, all_receipts)
    )
    return [*named_outcomes, *receipts, *_admit_sessions(run, sessions)]


def _read_files(run: Run) -> Iterator[tuple[str, _ArrivedRecord]]:
    """Yield (inbox name, record) of each readable file; refuse the others.

    An outcome without a domain gets the only domain of the vault or the domain of its decision. It
    is read last, and stays in the inbox while the decision is unknown.
    """
    domains, only_domain = _DecisionDomains(run.snapshot), run.snapshot.only_domain
    without_domain: list[_InboxFile] = []
    for name, item in run.track(list(_load_files(run)), "reading"):
        try:
            file = _parse_file(item, run)
            if _needs_domain(file.values):
                without_domain.append(file)
                continue
            if only_domain and _lacks_domain(file.values):
                file = _with_domain(file, only_domain)
            record = _record_of(file, run, domains)
        except BadInputError as error:
            run.quarantine_file(name, error)
        else:
            domains.note_record(record)
            yield name, record
    for file in without_domain:
        try:
            if domain := domains.domain_of(file) or only_domain:
                yield file.name, _record_of(_with_domain(file, domain), run, domains)
            else:
                run.leave_in_inbox([file.name], _UNKNOWN_DECISION)
        except BadInputError as error:
            run.quarantine_file(file.name, error)


def _admit_sessions(
    run: Run, files: Sequence[tuple[str, Session]]
) -> Iterator[tuple[str, Session]]:
    sessions = dict(run.snapshot.sessions.get_many(session.id for _, session in files))
    for name, session in files:
        try:
            record_rules.check_session(session, sessions.get(session.id))
        except BadInputError as error:
            run.quarantine_file(name, error)
        else:
            sessions.setdefault(session.id, session)
            yield name, session


def _admit_outcomes(
    run: Run, files: Sequence[tuple[str, Outcome]], receipts: Receipts
) -> Iterator[tuple[str, Outcome]]:
    """Yield outcomes; refuse those with the event or the decision of another outcome."""
    event_ids = {outcome.event_id for _, outcome in files if outcome.event_id}
    events = {
        record_rules.event_of(record): record
        for record in run.snapshot.outcomes.by_event(event_ids)
    }
    recorded_refs = run.snapshot.records.existing(ref_of(outcome) for _, outcome in files)
    for name, outcome in files:
        try:
            record_rules.check_event(outcome, events)
            if ref_of(outcome) not in recorded_refs:
                receipts.check_claim(outcome)
        except BadInputError as error:
            run.quarantine_file(name, error)
            continue
        if outcome.event_id:
            events.setdefault(record_rules.event_of(outcome), outcome)
        receipts.note_claim(outcome)
        yield name, outcome


def _load_files(run: Run) -> Iterator[tuple[str, ReceivedFile | BadInputError]]:
    yield from ((item.name, item) for item in run.options.received_files)
    for name in run.options.names:
        try:
            item = run.inbox.read_file(name)
        except BadInputError as error:
            yield name, error
        else:
            if item is not None:
                yield name, item


def _parse_file(item: ReceivedFile | BadInputError, run: Run) -> _InboxFile:
    """Parse a file; without an attestation, its result counts as reported by the agent."""
    if isinstance(item, BadInputError):
        raise item
    values: Mapping[str, Any] = codec.parse_incoming(item.name, item.data)
    is_attested = item.is_attested or arrival.is_attested(
        run.store.git.dirs()[0], item.name, item.data
    )
    if not is_attested:
        values = as_agent_statement(values)
    return _InboxFile(item.name, dict(values), item.trust)


def _record_of(file: _InboxFile, run: Run, domains: "_DecisionDomains") -> _ArrivedRecord:
    record = intake.parse_record(
        file.values,
        trust=file.trust,
        now=run.now,
        unbounded=run.policy.record.scores == "unbounded",
        ahead=run.policy.ahead,
        clean=redact.redact_value(file.values),
    )
    if record.domain not in run.policy.domains:
        record_rules.check_domain(record.domain, domains.recorded[record.trust], run.policy)
    return record


class _DecisionDomains:
    """The domains of decisions, from recorded and from new outcomes and receipts."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        # (trust, decision) -> (is a receipt, id, domain) of its records
        self._domains: dict[tuple[Trust, str], list[tuple[bool, str, str]]] = {}

    @cached_property
    def recorded(self) -> dict[Trust, frozenset[str]]:
        snapshot = self._snapshot
        return {
            trust: snapshot.outcomes.domains(trust) | snapshot.sessions.domains_of(trust)
            for trust in get_args(Trust)
        }

    def note_record(self, record: _ArrivedRecord) -> None:
        if isinstance(record, Outcome) and record.decision.id:
            self._note_domain(record.decision.id, record)
        elif isinstance(record, Recommendation):
            self._note_domain(record.decision, record)

    def domain_of(self, file: _InboxFile) -> str | None:
        """Return the domain of a result's decision, from outcomes first, or None if unknown."""
        decision: str = file.values["decision"]["id"]
        for outcome in self._snapshot.outcomes.by_decision(decision):
            self._note_domain(decision, outcome)
        for receipt in self._snapshot.recommendations.by_decision(decision):
            self._note_domain(decision, receipt)
        trusts: tuple[Trust, Trust] = (file.trust, "local")
        for trust in trusts:
            if sources := self._domains.get((trust, decision)):
                return min(sources)[2]
        return None

    def _note_domain(self, decision: str, record: Outcome | Recommendation) -> None:
        is_receipt = isinstance(record, Recommendation)
        key = record.trust, decision
        self._domains.setdefault(key, []).append((is_receipt, record.id, record.domain))


def _needs_domain(values: Mapping[str, Any]) -> bool:
    """Return True for an observed result without a domain, whose decision has an id."""
    decision, result = values.get("decision"), values.get("result")
    is_named = isinstance(decision, dict) and isinstance(decision.get("id"), str)
    is_observed = isinstance(result, dict) and result.get("observed_by") is not None
    return _lacks_domain(values) and is_named and is_observed


def _lacks_domain(values: Mapping[str, Any]) -> bool:
    return values.get("type", "outcome") == "outcome" and values.get("domain") is None


def _with_domain(file: _InboxFile, domain: str) -> _InboxFile:
    return file._replace(values={**file.values, "domain": domain})
