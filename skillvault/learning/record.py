"""The rule of `record`: check incoming records against the vault, and build their commits.

Before, `model/intake.py` checks each record alone.
"""

import difflib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from skillvault.model import decision_outcomes
from skillvault.model.change import INTAKE, Change
from skillvault.model.decision_outcomes import Claim
from skillvault.model.errors import BadInputError
from skillvault.model.policy import Policy
from skillvault.model.records import Outcome, Recommendation, Session, ref_of
from skillvault.model.text.text import join_items, make_inert, pluralize

_MIN_LIKENESS = 0.8  # a name that is so similar to a domain may be misspelt

Event = tuple[str, str | None, str | None]


def event_of(outcome: Outcome) -> Event:
    """Return the key of an outcome's event: trust, agent and event id."""
    return (outcome.trust, outcome.source.agent, outcome.event_id)


def check_domain(domain: str, domains: Collection[str], policy: Policy) -> None:
    """Raise BadInputError if a domain is not allowed or looks like a misspelt domain."""
    declared = policy.domains
    if policy.record.domains == "closed" and domain not in declared:
        raise BadInputError(
            f"domain: {domain} is not one of {join_items(sorted(declared), last='or') or 'none'}; "
            "add it to `domains` in vault.yaml or correct it",
            code="unknown-domain",
            key="domain",
        )
    all_domains = {*domains, *declared}
    if domain not in all_domains and (close := near_domain(domain, all_domains)):
        raise BadInputError(
            f"domain: {domain} is new here; did you mean {close}? If not, add {domain} to "
            "`domains` in vault.yaml",
            code="unknown-domain",
            key="domain",
        )


def near_domain(domain: str, domains: Collection[str]) -> str | None:
    """Return the domain that a name may misspell, or None.

    Names that differ only in digits are a series, not typing errors.
    """
    series = re.sub(r"\d+", "0", domain)
    candidates = sorted(name for name in domains if re.sub(r"\d+", "0", name) != series)
    matches = difflib.get_close_matches(domain, candidates, n=1, cutoff=_MIN_LIKENESS)
    return matches[0] if matches else None


def check_event(outcome: Outcome, events: Mapping[Event, Outcome]) -> None:
    """Raise BadInputError if the agent used an event id before for other content."""
    if outcome.event_id is None:
        return
    earlier_outcome = events.get(event_of(outcome))
    if earlier_outcome is not None and earlier_outcome.received != outcome.received:
        raise BadInputError(
            f"event_id: {outcome.event_id!r} was already used for {earlier_outcome.id} with other "
            "content; give a new event its own id",
            code="conflicting-duplicate",
            key="event_id",
        )


def check_claim(
    outcome: Outcome, receipts: Iterable[Recommendation], claims: Sequence[Claim]
) -> None:
    """Raise BadInputError if the decision of an outcome belongs to another agent.

    `receipts` has all recommendations for the decision, `claims` the claims of its trusted
    outcomes. An untrusted outcome is not checked, because it never gets the receipts.
    """
    trusted = [receipt for receipt in receipts if receipt.trust == "local"]
    if outcome.trust == "untrusted" or not trusted:
        return
    if not decision_outcomes.select_receipts(decision_outcomes.claim_of(outcome), trusted, claims):
        raise BadInputError(
            f"decision.id: {outcome.decision.id!r} is another agent's decision, to which skills "
            "were recommended; give this one an id of its own, or name in source.agent who asked",
            code="conflicting-duplicate",
            key="decision.id",
        )


def check_session(session: Session, recorded_session: Session | None) -> None:
    """Raise BadInputError if a session with this id was recorded with other content."""
    if recorded_session is not None and recorded_session.received != session.received:
        raise BadInputError(
            f"id: session {make_inert(session.name, 80)} is in the vault already, as it was on "
            f"{recorded_session.ended_at:%Y-%m-%d}; give what came after an id of its own",
            code="conflicting-duplicate",
            key="id",
        )


def record_change(
    domain: str, records: Sequence[Outcome | Recommendation | Session], takes: Sequence[str]
) -> Change:
    """Return the change that stores outcomes, recommendations and sessions of one domain."""
    outcomes = [record for record in records if isinstance(record, Outcome)]
    sessions = [record for record in records if isinstance(record, Session)]
    recommendations = len(records) - len(outcomes) - len(sessions)
    statuses = Counter(outcome.result.status for outcome in outcomes)
    counts = [f"{statuses[s]} {s}" for s in ("success", "failure", "neutral") if statuses[s]]
    agents = sorted({make_inert(o.source.agent, 60) for o in outcomes if o.source.agent})
    by = f", reported by {join_items(agents)}" if agents else ""
    sizes = len(outcomes), recommendations, len(sessions)
    pairs = zip(sizes, ("outcome", "recommendation", "session"), strict=True)
    nouns = [pluralize(count, noun) for count, noun in pairs if count]
    lines = [f"{join_items(counts)}{by}."] if outcomes else []
    if recommendations:
        lines.append(f"What was shown before {pluralize(recommendations, 'decision')}.")
    for session in sessions:
        name, day = make_inert(session.name, 60), f"{session.ended_at:%Y-%m-%d}"
        failure_count, success_count = len(session.failures), len(session.successes)
        lines.append(f"Session {name} ended {day}: {failure_count} failed, {success_count} worked.")
    return Change(
        step="record",
        subject=f"{join_items(nouns)} in {domain}",
        reason="\n".join(lines),
        writes=tuple(records),
        targets=tuple(map(ref_of, records)),
        takes=tuple(takes),
        commit_with=INTAKE,
    )
