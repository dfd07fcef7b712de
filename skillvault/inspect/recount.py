"""Recount: every statement of a served skill, counted anew from the records."""

from collections.abc import Iterator

from skillvault.learning.account.evidence import miscounted
from skillvault.learning.account.statements import calls_for_skill, findings_of
from skillvault.model.brief import Account
from skillvault.model.errors import BadInputError
from skillvault.model.records import Problem
from skillvault.model.skill_evidence import EVIDENCE, from_text
from skillvault.vault.index.snapshot import Snapshot


def recount(head: Snapshot) -> Iterator[Problem]:
    """Yield what of the committed evidence of living skills the records do not give.

    Not of those that a person keeps as they are: pinned, or kept although nothing speaks for them.
    """
    held = {place.name for place in head.skills.without_outcomes()}
    paths = [
        path
        for shelf in ("skills", "proposed")
        for path in head.files.below(shelf)
        if path.endswith(f"/references/{EVIDENCE}")
    ]
    for path, content in sorted(head.files.read(paths).items()):
        name = path.split("/")[1]
        skill = head.skills.find(name)
        if name not in held and not (skill and skill.status == "pinned"):
            yield from _problems(head, path, content)


def _problems(head: Snapshot, path: str, content: bytes) -> Iterator[Problem]:
    try:
        evidence = from_text(content.decode(errors="replace"))
    except BadInputError as error:
        yield Problem(path, error.key, error.code, error.message)
        return
    records = head.outcomes.get_many(evidence.read)
    outcomes = tuple(records[name] for name in evidence.read if name in records)
    account = Account(
        outcomes=outcomes,
        evaluations=head.evaluations.get_many(evidence.read),
        tasks=head.recommendations.tasks(outcomes),
    )
    if missing := len(evidence.read) - len(outcomes):
        if not outcomes or calls_for_skill(findings_of(account, evidence.kind, head.policy)):
            message = f"{missing} of its outcomes are gone; run skillvault"
            yield Problem(path, "read", "gone", message)
        return
    for statement in miscounted(evidence, account, head.policy):
        message = f"the records do not give the counts of {statement!r}; run `skillvault run`"
        yield Problem(path, "statements", "miscounted", message)
