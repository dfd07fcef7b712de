"""Find a session to distill, in a session file, in a client's transcript, or in its outcomes.

The result is a file for the inbox.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from skillvault.exchange.transcripts.extract import session_of
from skillvault.exchange.transcripts.reader import Transcript
from skillvault.model import codec
from skillvault.model.aliases import session_id
from skillvault.model.errors import BadInputError, UsageError
from skillvault.model.reasoning import describe_cause
from skillvault.model.records import Outcome, Ref, Trust, stamp
from skillvault.model.text.text import join_items, shorten
from skillvault.sessions.transcripts import CODING
from skillvault.vault.files.arrival import MAX_OUTCOME
from skillvault.vault.files.redact import redact_text
from skillvault.vault.index.snapshot import Snapshot

_MAX_ENTRIES = 100  # the most failures of a session, and the most successes
_MAX_TEXT_LENGTH = 1000  # characters of each text
_SESSION_FILE_ENDINGS = (".yaml", ".yml", ".json", ".md")
_TRUSTS: tuple[Trust, ...] = ("local", "untrusted")


class SessionSource(NamedTuple):
    """A session's id and its file as (file name, bytes), or no file if the vault has the session.

    `unread` counts the unknown lines of a transcript by kind.
    """

    session: str
    file: tuple[str, bytes] | None
    unread: dict[str, int]


def find_session(snapshot: Snapshot, text: str, domain: str | None) -> SessionSource:
    """Find the session in a file or with an id.

    `domain` is the default for a file, and selects among the outcomes of a session. Raises
    UsageError or BadInputError if there is no session.
    """
    path = Path(text)
    if path.is_file():
        domain = domain or snapshot.only_domain
        if path.suffix in _SESSION_FILE_ENDINGS:
            return _read_file(path, domain)
        transcript = Transcript(path)
        values = session_of(transcript, domain or CODING, redact_text)
        return _session_source(values)._replace(unread=dict(transcript.unread))
    return _find_in_vault(snapshot, text, domain)


def _find_in_vault(snapshot: Snapshot, name: str, domain: str | None) -> SessionSource:
    for trust in _TRUSTS:
        session = session_id(name, trust)
        if Ref("session", session) in snapshot.records:
            return SessionSource(session, None, {})
        if outcomes := snapshot.outcomes.by_session(name, trust):
            return _session_of_outcomes(outcomes, name, domain, trust)
    raise UsageError(
        f"{name}: neither a file nor a session of this vault; give a session's file, its id, or "
        "the transcript of a client"
    )


def _read_file(path: Path, domain: str | None) -> SessionSource:
    """Read a session file. Its key `type` may be missing."""
    try:
        values = {"type": "session", **codec.parse_incoming(path.name, _read_bytes(path))}
    except BadInputError as error:
        message = f"{path.name}: {error.message}"
        raise BadInputError(message, code=error.code, key=error.key, line=error.line) from None
    if domain is not None and values.get("domain") is None:
        values["domain"] = domain
    return _session_source(values)


def _read_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(MAX_OUTCOME + 1)
    if len(data) > MAX_OUTCOME:
        raise BadInputError(
            f"larger than {MAX_OUTCOME // 1024} KiB; keep the lines that show what failed",
            code="too-large",
        )
    return data


def _session_of_outcomes(
    outcomes: Sequence[Outcome], name: str, domain: str | None, trust: Trust
) -> SessionSource:
    domains = sorted({outcome.domain for outcome in outcomes})
    if domain is None and len(domains) > 1:
        raise UsageError(
            f"{name}: its outcomes are of {join_items(domains)}; choose with --domain {domains[0]}"
        )
    domain_outcomes = [outcome for outcome in outcomes if outcome.domain == (domain or domains[0])]
    if not domain_outcomes:
        raise UsageError(f"{name}: has no outcome in {domain}; there are {join_items(domains)}")
    return _session_source({**_session_values(domain_outcomes), "id": name, "trust": trust})


def _session_values(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    failures = [
        {
            "lemma": _lemma(outcome),
            "reason": shorten(describe_cause(outcome) or outcome.result.summary, _MAX_TEXT_LENGTH),
            "attempt": shorten(outcome.decision.reasoning, _MAX_TEXT_LENGTH),
        }
        for outcome in outcomes
        if outcome.result.status == "failure"
    ]
    successes = [
        {
            "lemma": _lemma(outcome),
            "text": shorten(outcome.decision.reasoning or outcome.result.summary, _MAX_TEXT_LENGTH),
        }
        for outcome in outcomes
        if outcome.result.status == "success"
    ]
    last_outcome = outcomes[-1]
    return {
        "type": "session",
        "domain": last_outcome.domain,
        "ended_at": stamp(last_outcome.occurred_at),
        "agent": last_outcome.source.agent,
        "failures": failures[:_MAX_ENTRIES],
        "successes": successes[:_MAX_ENTRIES],
    }


def _lemma(outcome: Outcome) -> str:
    decision = outcome.decision
    return shorten(" on ".join(filter(None, (decision.action, decision.target))), _MAX_TEXT_LENGTH)


def _session_source(session_values: Mapping[str, Any]) -> SessionSource:
    values = {key: value for key, value in session_values.items() if value is not None}
    data = json.dumps(values, ensure_ascii=False).encode(errors="replace")
    name = session_values.get("id")
    trust: Trust = "untrusted" if session_values.get("trust") == "untrusted" else "local"
    session = session_id(name, trust) if isinstance(name, str) else ""
    return SessionSource(session, (f"session-{session or 'unnamed'}.json", data), {})
