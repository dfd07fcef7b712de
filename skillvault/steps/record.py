"""record: take in what arrived, refuse what cannot be taken."""

from collections.abc import Iterable, Iterator

from skillvault.change import Change
from skillvault.errors import BadInputError
from skillvault.intake import outcome_from
from skillvault.learning import record
from skillvault.records import Outcome, Ref
from skillvault.run import Run
from skillvault.vault import codec, layout
from skillvault.vault.inbox import Received
from skillvault.vault.redact import redacted


def step(run: Run) -> Iterator[Change]:
    """One commit a domain."""
    rejections = run.rejections
    fresh: dict[str, Outcome] = {}
    names: dict[str, list[str]] = {}
    for name, outcome in _admitted(run):
        refused = rejections.of_target(Ref("outcome", outcome.id))
        recorded = run.view.has(Ref("outcome", outcome.id))
        if refused or recorded or outcome.id in fresh:
            run.report.known.append(outcome.id)
        if refused:
            run.report.rejected.append(refused)
        if refused or recorded:
            run.forget(name)  # the vault's history holds it
        else:
            fresh.setdefault(outcome.id, outcome)
            names.setdefault(outcome.id, []).append(name)
    free = run.free(fresh.values())
    ready = [o for o in fresh.values() if free[layout.path_of(o)]]
    for domain, batch in by_domain(ready).items():
        yield record.change(domain, batch, [name for o in batch for name in names[o.id]])


def _admitted(run: Run) -> list[tuple[str, Outcome]]:
    """(inbox name, outcome) of everything that may be taken, in the order of the ids.

    The order of the ids decides between two that conflict, not the order of arrival.
    """
    parsed: list[tuple[str, Outcome]] = []
    for name, item in run.track(list(_received(run)), "reading"):
        try:
            parsed.append((name, _parsed(item, run)))
        except BadInputError as error:
            run.refuse(name, error)
    # One record through both doors is local: `local` stands before `untrusted`.
    parsed.sort(key=lambda pair: (pair[1].id, pair[1].trust, pair[0]))
    named = {outcome.event_id for _, outcome in parsed if outcome.event_id}
    events = {record.event_of(earlier): earlier for earlier in run.view.of_events(named)}
    admitted: list[tuple[str, Outcome]] = []
    for name, outcome in parsed:
        try:
            record.check_event(outcome, events)
        except BadInputError as error:
            run.refuse(name, error)
        else:
            admitted.append((name, outcome))
            if outcome.event_id:
                events.setdefault(record.event_of(outcome), outcome)
    return admitted


def _received(run: Run) -> Iterator[tuple[str, Received | BadInputError]]:
    """What arrived: handed over in memory, else what waits in the inbox."""
    yield from ((item.name, item) for item in run.arrived)
    for name in run.names:
        try:
            item = run.inbox.read(name)
        except BadInputError as error:
            yield name, error
        else:
            if item is not None:
                yield name, item


def _parsed(item: Received | BadInputError, run: Run) -> Outcome:
    """The outcome in a file, without its secrets; BadInputError where it is none."""
    if isinstance(item, BadInputError):
        raise item
    raw = codec.incoming(item.name, item.data)
    kind = raw.get("type", "outcome")
    if kind != "outcome":
        raise BadInputError(
            f"type: {kind!r} is not taken by this version; it takes outcome",
            code="unknown-type",
            key="type",
        )
    outcome = outcome_from(
        raw,
        trust=item.trust,
        now=run.now,
        unbounded=run.policy.record.scores == "unbounded",
        ahead=run.policy.ahead,
    )
    if outcome.domain not in run.policy.domains:
        record.check_domain(outcome.domain, run.domains_seen[outcome.trust], run.policy)
    return redacted(outcome)


def by_domain(records: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """The outcomes of each domain, in the order of their ids."""
    found: dict[str, list[Outcome]] = {}
    for one in sorted(records, key=lambda o: (o.domain, o.id)):
        found.setdefault(one.domain, []).append(one)
    return found
