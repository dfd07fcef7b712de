"""record: take in what arrived, refuse what cannot be taken."""

from collections.abc import Iterable, Iterator

from skillvault.learning import record
from skillvault.loop.quota import split_files
from skillvault.loop.receipts import Receipts, with_names
from skillvault.loop.results import NO_DECISION, DecisionDomains
from skillvault.loop.run import Run
from skillvault.model.change import BATCH, Change
from skillvault.model.errors import BadInputError
from skillvault.model.intake import outcome_from, recommendation_from, session_from
from skillvault.model.records import Outcome, Recommendation, Ref, Session, Trust, ref_of
from skillvault.model.text.text import listed
from skillvault.vault.files import layout
from skillvault.vault.files.arrival import Received

_Arrived = Outcome | Recommendation | Session
_TYPES = ("outcome", "recommendation", "session")


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
        refs = sorted((ref for ref, one in ready.items() if one.domain == domain), key=_place)
        for start in range(0, len(refs), BATCH):
            batch = refs[start : start + BATCH]
            taken = [name for ref in batch for name in names[ref]]
            yield record.record_change(domain, [ready[ref] for ref in batch], taken)


def waiting(run: Run) -> int:
    """How many files lie in the inbox, without those that wait for another day."""
    return len(run.inbox.names()) - held(run)


def held(run: Run) -> int:
    """How many untrusted files there is no room for today."""
    return len(split_files(run.view, run.inbox, run.inbox.names(), run.now).held)


def _place(ref: Ref) -> tuple[str, str]:
    return ref.kind, ref.id


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
    """(inbox name, record) of what can be read; the rest is refused."""
    homeless: list[tuple[str, Received]] = []
    domains = DecisionDomains(run.view)
    for name, item in run.track(list(_received(run)), "reading"):
        try:
            if isinstance(item, Received) and domains.is_wanted(item):
                homeless.append((name, item))
                continue
            record = _parsed(item, run)
        except BadInputError as error:
            run.refuse(name, error)
        else:
            domains.note(record)
            yield name, record
    yield from _given_domains(run, homeless, domains)


def _given_domains(
    run: Run, homeless: Iterable[tuple[str, Received]], domains: DecisionDomains
) -> Iterator[tuple[str, _Arrived]]:
    """Results that leave their domain to their decision; one of an unknown decision waits."""
    for name, item in homeless:
        try:
            if domain := domains.domain_of(item):
                yield name, _parsed(item, run, domain)
            else:
                run.leave([name], NO_DECISION)
        except BadInputError as error:
            run.refuse(name, error)


def _admitted_sessions(
    run: Run, ended: Iterable[tuple[str, Session]]
) -> Iterator[tuple[str, Session]]:
    """Those of which no other content stands under the same id."""
    ordered = sorted(ended, key=lambda pair: (pair[1].id, pair[1].trust, pair[0]))
    sessions = dict(run.view.sessions.get_many(session.id for _, session in ordered))
    for name, session in ordered:
        try:
            record.check_session(session, sessions.get(session.id))
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
    events = {record.event_of(earlier): earlier for earlier in run.view.outcomes.by_event(named)}
    recorded = run.view.records.existing(ref_of(outcome) for _, outcome in parsed)
    for name, outcome in parsed:
        try:
            record.check_event(outcome, events)
            if ref_of(outcome) not in recorded:  # else it was taken before
                receipts.check_claim(outcome)
        except BadInputError as error:
            run.refuse(name, error)
            continue
        if outcome.event_id:
            events.setdefault(record.event_of(outcome), outcome)
        receipts.take(outcome)
        yield name, outcome


def _received(run: Run) -> Iterator[tuple[str, Received | BadInputError]]:
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


def _parsed(item: Received | BadInputError, run: Run, domain: str | None = None) -> _Arrived:
    """The record in a file, without its secrets; BadInputError where it is none.

    `domain` is that of a file that names none.
    """
    if isinstance(item, BadInputError):
        raise item
    from skillvault.vault.files import codec, redact  # noqa: PLC0415 (only who parses pays)

    raw = codec.incoming(item.name, item.data)
    raw = raw if domain is None else {**raw, "domain": domain}
    kind = raw.get("type", "outcome")
    if kind not in _TYPES:
        raise BadInputError(
            f"type: {kind!r} is not taken by this version; it takes {listed(_TYPES, last='or')}",
            code="unknown-type",
            key="type",
        )
    if kind == "recommendation":
        shown = recommendation_from(raw, trust=item.trust, now=run.now, ahead=run.policy.ahead)
        _check_domain(run, shown.domain, shown.trust)
        return redact.redacted_recommendation(shown)
    if kind == "session":
        session = session_from(raw, trust=item.trust, now=run.now, ahead=run.policy.ahead)
        _check_domain(run, session.domain, session.trust)
        return redact.redacted_session(session)
    outcome = outcome_from(
        raw,
        trust=item.trust,
        now=run.now,
        unbounded=run.policy.record.scores == "unbounded",
        ahead=run.policy.ahead,
    )
    _check_domain(run, outcome.domain, outcome.trust)
    return redact.redacted(outcome)


def _check_domain(run: Run, domain: str, trust: Trust) -> None:
    if domain not in run.policy.domains:
        record.check_domain(domain, run.domains_seen[trust], run.policy)


def by_domain(records: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """The outcomes of each domain, in the order of their ids."""
    found: dict[str, list[Outcome]] = {}
    for one in sorted(records, key=lambda o: (o.domain, o.id)):
        found.setdefault(one.domain, []).append(one)
    return found
