"""Propose rules and skills from documents that a user installed.

`review/installing.py` reads the documents and calls `find_new_rules`. The judge reads passages
without plain rules; `loop/answer.py` proposes the judge's findings with `decide_passage`.
`learning/corrections.py` builds the changes.
"""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from skillvault.learning import corrections, install
from skillvault.loop.run import Run
from skillvault.loop.similar_facts import find_similar_versions
from skillvault.model.brief import Draft
from skillvault.model.change import Change
from skillvault.model.records import Correction, Ref, Skill, stamp
from skillvault.model.text.text import slug
from skillvault.vault.index.snapshot import Snapshot


class ProposedRules(NamedTuple):
    """The rules that are new to a vault, and the number of rules that the vault has already."""

    rules: list[Correction]
    repeats: int


def find_new_rules(snapshot: Snapshot, rules: Iterable[Correction]) -> ProposedRules:
    """Return the rules that were never in the vault; newer values supersede facts."""
    proposals: dict[str, Correction] = {}
    repeated_ids: set[str] = set()
    for rule in rules:
        versions = find_similar_versions(snapshot, rule.text, rule.domain, scope=rule.scope)
        repeated_ids.update(fact.id for fact in versions.copies)
        if not versions.copies:
            older_id = versions.replaced[-1].id if versions.replaced else None
            proposals[rule.id] = replace(rule, supersedes=older_id)
    refs = [Ref(kind, rule_id) for rule_id in proposals for kind in ("correction", "fact")]
    repeated_ids |= {ref.id for ref in snapshot.history.find_known(refs)}
    repeated_ids |= {ref.id for ref in refs if ref in snapshot.records}
    texts = {" ".join(fact.text.split()) for fact in snapshot.facts.values()}
    repeated_ids |= {rule_id for rule_id, rule in proposals.items() if rule.text in texts}
    new_rules = [rule for rule_id, rule in proposals.items() if rule_id not in repeated_ids]
    return ProposedRules(new_rules, len(repeated_ids))


def decide_passage(run: Run, passage: Correction, draft: Draft) -> Change | None:
    """Return the change that proposes the judge's findings in a passage, or None.

    A draft with a note comes from the offline judge, which cannot read passages.
    """
    if draft.note:
        return None
    page = passage.session.removeprefix(corrections.DOCUMENT)
    rules = (
        corrections.document_rule(
            text,
            passage.domain,
            passage.scope,
            page=page,
            about=passage.about or "",
            at=passage.created_at,
        )
        for text in draft.rules
    )
    skill = _build_skill(run, passage, draft) if draft.sections else None
    return corrections.decided_change(passage, find_new_rules(run.snapshot, rules).rules, skill)


def _build_skill(run: Run, passage: Correction, draft: Draft) -> Skill | None:
    name = install.free_name(
        slug(draft.title) or passage.id,
        passage.id.removeprefix(corrections.PASSAGE),
        run.snapshot.skills.is_name_taken,
    )
    if name is None:
        return None
    page = passage.session.removeprefix(corrections.DOCUMENT)
    body = f"{draft.sections[0][1]}\n\nFrom {page}, {passage.about or 'its beginning'}."
    return Skill(
        name=name,
        description=draft.description,
        body=body,
        status="proposed",
        origin="installed",
        created=stamp(passage.created_at),
    )
