"""Write and check the evidence file of a skill: the outcomes for and against each statement.

The command `check` counts every statement again from this file, by ids and values, never from
prose. The shape of the file is in `model/skill_evidence.py`.
"""

import json
from collections.abc import Sequence

import msgspec

from skillvault.learning.account.statements import findings_of, graded_findings, sides_of
from skillvault.model.brief import Account, Findings, Statement
from skillvault.model.conditions import Separation
from skillvault.model.policy import Policy
from skillvault.model.skill_evidence import SkillEvidence, StatementEvidence

_HEADER = "# Which outcomes stand for and against each statement. `skillvault check` counts them."
_SIDE_KEYS = ("for", "against", "others_for", "others_against")


def to_text(findings: Findings) -> str:
    """Render the evidence file, with each list on one line, so that diffs are readable."""
    read_ids = [outcome.id for outcome in findings.account.outcomes]
    significant_ids = [outcome.id for outcome in findings.significant]
    lines = [_HEADER, f"kind: {findings.kind}", f"read: {json.dumps(read_ids)}"]
    lines += [f"about: {json.dumps(significant_ids)}"] if significant_ids != read_ids else []
    lines.append("statements:" if findings.statements else "statements: []")
    for statement in findings.statements:
        lines.append(f"- statement: {json.dumps(statement.text, ensure_ascii=False)}")
        lines.append(f"  kind: {statement.kind}")
        sides = zip(_SIDE_KEYS, _sides(statement), strict=True)
        lines += [f"  {key}: {json.dumps(ids)}" for key, ids in sides if ids]
        if (rule := statement.rule) is not None:
            keys = ("action", "conditions", "result", "lead", "read", "until")
            values = msgspec.to_builtins({key: getattr(rule, key) for key in keys})
            if not rule.lead:
                del values["lead"]
            lines.append(f"  rule: {json.dumps(values, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


def _sides(statement: Statement) -> tuple[tuple[str, ...], ...]:
    return statement.supporting, statement.against, *statement.others


def find_miscounts(evidence: SkillEvidence, account: Account, policy: Policy) -> list[str]:
    """Return the statements whose counts differ from the records.

    `account` has the current records of the outcomes that the evidence file names.
    """
    if evidence.kind in ("warning", "pattern"):
        ids = evidence.about or evidence.read
        members = [outcome for outcome in account.outcomes if outcome.id in ids]
        findings = graded_findings(account, evidence.kind, members)
    else:
        findings = findings_of(account, evidence.kind, policy)
    counts = {(statement.text, _sides(statement)) for statement in findings.statements}
    return [
        item.statement
        for item in evidence.statements
        if item.sides != _count_sides(item, account, policy)
        and (item.statement, item.sides) not in counts
    ]


def _count_sides(
    item: StatementEvidence, account: Account, policy: Policy
) -> Sequence[tuple[str, ...]] | None:
    """Return the outcomes for and against a rule, counted anew, or None without a rule."""
    if item.rule is None:
        return None
    no_counts = {"met": (0, 0), "other": (0, 0), "episodes": (0, 0), "p": 1.0, "z": 0.0}
    rule = msgspec.convert({**no_counts, "holds_for": [], **item.rule}, Separation)
    outcomes = [outcome for outcome in account.outcomes if outcome.decision.action == rule.action]
    read_outcomes = [o for o in outcomes if o.occurred_at <= rule.until][-rule.read :]
    met_ids, other_ids = sides_of(rule, read_outcomes, policy)
    return *met_ids, *other_ids
