"""The skills of the profile `seed`: a skill for each significant outcome, and merges of skills.

`loop/seed.py` reads the records and calls these rules. Similar skills are merged into one evolved
skill and archived. A person's edits stay.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning import generate
from skillvault.learning.account.reading import loss_or_gain
from skillvault.learning.account.statements import account_of, calls_for_skill, graded_findings
from skillvault.learning.contrast.episodes import episode_words
from skillvault.learning.expire import rewrite_skill
from skillvault.learning.gate import reinforcement_change, repetition_words
from skillvault.learning.generate import SkillState
from skillvault.learning.length import ComposedText, References, compose_text, head_line_limit
from skillvault.learning.merge import SkillMerge, evolution_change, evolved_skill
from skillvault.learning.naming import numbered_name
from skillvault.learning.rejection import Rejection
from skillvault.learning.sections import WrittenTexts
from skillvault.model.brief import Agreement, Draft, Findings
from skillvault.model.change import Change, skill_series
from skillvault.model.phrases import describe_subject
from skillvault.model.policy import MergePolicy, Policy
from skillvault.model.records import Evaluation, Outcome, Ref, Skill, SkillKind
from skillvault.model.text import markdown
from skillvault.model.text.text import (
    count_of,
    count_tokens,
    format_percent,
    jaccard,
    join_items,
    pluralize,
    slug,
    trim_to_tokens,
    words,
)

_MAX_NAMES = 8  # subjects in a header


# ── the skill of one outcome ─────────────────────────────────────────────────────────


class OutcomeRecords(Struct, frozen=True, kw_only=True):
    """The records that decide on the skill of an evaluated outcome.

    `previous` is the outcome before it on the same subject. `skill` covers the outcome already;
    `warning` names the skill about an earlier failure on the subject. `rejection` is set if a
    person removed a skill of the outcome.
    """

    outcome: Outcome
    evaluation: Evaluation
    previous: Outcome | None = None
    task: str = ""
    skill: Skill | None = None
    warning: str | None = None
    rejection: Rejection | None = None


def significance(
    outcome: Outcome, previous: Outcome | None, policy: Policy
) -> tuple[SkillKind | None, str]:
    """Return the kind of an outcome's skill or None, and the reason; score or novelty decide."""
    score, rules = outcome.result.score, policy.generate
    if score is not None:
        kinds: dict[str, SkillKind] = {"loss": "warning", "gain": "pattern"}
        low, high = format_percent(rules.warning_below), format_percent(rules.pattern_above)
        reason = (
            f"score {format_percent(score)}; a warning needs less than {low}, a pattern more than"
        )
        return kinds.get(loss_or_gain(outcome, policy) or ""), f"{reason} {high}"
    if outcome.result.status == "failure":
        return "warning", "the first failure of its subject"
    if outcome.result.status == "success" and previous and previous.result.status == "failure":
        return "pattern", f"a success right after the failure {previous.id}"
    return None, "without a score a success counts right after a failure, a neutral outcome never"


def outcome_state(records: OutcomeRecords, policy: Policy) -> tuple[SkillState, Findings | None]:
    """Return the state of an outcome on its way to a skill, and its findings if that is due."""
    outcome = records.outcome
    kind, reason = significance(outcome, records.previous, policy)
    if records.skill is not None:
        return SkillState("done", f"it is in {records.skill.name}"), None
    if kind is None:
        has_score = outcome.result.score is not None
        return SkillState("between" if has_score else "not new", reason), None
    if records.rejection:
        return SkillState("rejected", records.rejection.sentence), None
    if outcome.ungraded_failure and records.warning:
        return SkillState("counted", f"a repeat of the failure that {records.warning} tells"), None
    tasks = {outcome.id: records.task} if records.task else {}
    account = account_of([outcome], {outcome.id: records.evaluation}, tasks)
    findings = graded_findings(account, kind, [outcome])
    if not calls_for_skill(findings):
        return SkillState("silent", "nothing that it says would change a decision"), None
    return SkillState("due", f"{reason}; `skillvault run`"), findings


def outcome_skill_change(
    findings: Findings,
    draft: Draft,
    *,
    is_taken: Callable[[str], bool],
    now: datetime,
    policy: Policy,
) -> Change:
    """Return the change that adds the skill of an outcome, with its link."""
    (outcome,) = findings.account.outcomes
    # A title in another script has no slug.
    topic = slug(draft.title) or slug(outcome.decision.action) or outcome.id[-10:]
    name = numbered_name(findings.kind, f"{slug(outcome.domain, limit=32)}-{topic}", is_taken)
    text = generate.skill_text(findings, draft, policy)
    skill = generate.new_skill(findings, draft, text, name=name, at=now, policy=policy)
    return generate.addition_change(findings, skill, text, sources=[outcome.id], at=now)


def repeats_change(skill: Skill, outcome_ids: Sequence[str], now: datetime) -> Change:
    """Return the change that links repeated failures to the skill of the first failure."""
    reason = f"The failure that it tells of happened {repetition_words(len(outcome_ids))}."
    sources = [Ref("evaluation", outcome_id) for outcome_id in outcome_ids]
    change = reinforcement_change(
        generate.STEP, Ref("skill", skill.name), sources, at=now, reason=reason
    )
    return replace(change, commit_with=skill_series(generate.STEP, skill.domain))


# ── the skills to merge ──────────────────────────────────────────────────────────────


class Wording(Struct, frozen=True, kw_only=True, order=True):
    """The words in the statements of a skill.

    `texts` has several sets of words for an `evolved` skill: also those of the skills it merged
    last.
    """

    created: str
    name: str
    texts: tuple[frozenset[str], ...]
    evolved: bool = False

    def is_similar(self, wording: "Wording", threshold: float) -> bool:
        """Return True if two of their texts are more similar (Jaccard index) than `threshold`."""
        pairs = ((first, second) for first in self.texts for second in wording.texts)
        return any(jaccard(first, second) > threshold for first, second in pairs)


class MergeGroup(Struct, frozen=True, kw_only=True):
    """The skills to merge, into the evolved skill `target` or into a new skill."""

    names: tuple[str, ...]
    target: str | None = None


def statement_words(body: str) -> frozenset[str]:
    """Return the words of the statements in a text, without headings and head."""
    return words("\n".join(markdown.statements(body)))


def find_merge_groups(
    wordings: Iterable[Wording],
    new_names: Collection[str],
    is_managed: Callable[[str], bool],
    rules: MergePolicy,
) -> list[MergeGroup]:
    """Return the groups in which to merge the new skills, the oldest first.

    A new skill joins a similar evolved skill, or makes a group with at least `min_similar` similar
    skills. A skill that a person edited or decided on is not merged.
    """
    sorted_wordings = sorted(wordings)
    grouped_names: set[str] = set()
    additions: dict[str, list[str]] = {}
    groups: list[MergeGroup] = []
    for wording in sorted_wordings:
        if wording.evolved or wording.name not in new_names or wording.name in grouped_names:
            continue
        matches = [
            candidate
            for candidate in sorted_wordings
            if candidate.name != wording.name and candidate.name not in grouped_names
            if wording.is_similar(candidate, rules.similarity)
        ]
        if not matches or not is_managed(wording.name):
            continue
        evolved_name = next((skill.name for skill in matches if skill.evolved), None)
        names = [skill.name for skill in matches if not skill.evolved and is_managed(skill.name)]
        if evolved_name:
            additions.setdefault(evolved_name, []).append(wording.name)
            grouped_names.add(wording.name)
        elif len(names) >= rules.min_similar:
            members = (*names, wording.name)
            groups.append(MergeGroup(names=tuple(sorted(members))))
            grouped_names.update(members)
    return groups + [MergeGroup(names=(*additions[t],), target=t) for t in sorted(additions)]


# ── the text of a merge ─────────────────────────────────────────────────────────────────────────


def evolved_text(
    merge: SkillMerge[Agreement], draft: Draft, policy: Policy, references: References
) -> ComposedText:
    """Return the text of an evolved skill, and its new files."""
    outcomes, limit = merge.brief.together.account.outcomes, policy.merge.max_tokens
    names = [describe_subject(findings.account.outcomes[0]) for findings in merge.brief.apart]
    name_list = _some_names(names, head_line_limit(limit))
    total = f"{len(outcomes)} outcomes{episode_words(outcomes, policy.evaluate.episode_minutes)}"
    header = [
        f"Stands for {pluralize(len(names), 'subject')}: {name_list}",
        f"As of {total}, {outcomes[-1].occurred_at:%Y-%m-%d}",
        f"Domain: {merge.domain}",
    ]
    return compose_text(draft, "Evolved", header, limit=limit, references=references)


def _some_names(names: Sequence[str], token_limit: int) -> str:
    for count in range(min(len(names), _MAX_NAMES), 0, -1):
        omission = [f"{len(names) - count} more"] if len(names) > count else []
        text = join_items([*names[:count], *omission])
        if count_tokens(text) <= token_limit:
            return text
    return trim_to_tokens(text, token_limit)


# ── the changes of a merge ──────────────────────────────────────────────────────────────────────


def merge_change(
    merge: SkillMerge[Agreement], draft: Draft, *, is_taken: Callable[[str], bool], policy: Policy
) -> Change:
    """Return the change that merges several skills into a new skill."""
    text = evolved_text(merge, draft, policy, References())
    skill = Skill(
        name=numbered_name("evolved", f"{slug(merge.domain, limit=32)}-{draft.title}", is_taken),
        body=text.body,
        tags=generate.subject_tags(merge.brief.together.account.outcomes),
        origin="generated",
    )
    return _merge_commit(merge, evolved_skill(merge, skill, draft, policy), text.files)


def growth_change(
    merge: SkillMerge[Agreement],
    skill: Skill,
    draft: Draft,
    old_texts: WrittenTexts,
    *,
    references: References,
    policy: Policy,
) -> Change:
    """Return the change that merges further skills into an evolved skill."""
    text = evolved_text(merge, draft, policy, references)
    new_skill = evolved_skill(merge, replace(skill, body=text.body), draft, policy)
    path = f"skills/{skill.name}/SKILL.md"
    edits, rewrites = rewrite_skill(path, skill, new_skill, old_texts, policy=policy)
    files = references.files_to_write(text.files)
    return _merge_commit(merge, skill, files, edits=edits, rewrites=rewrites)


def _merge_commit(
    merge: SkillMerge[Agreement], skill: Skill, files: dict[str, str], **parts: Any
) -> Change:
    findings = merge.brief.together
    outcomes = findings.account.outcomes
    is_warning = findings.kind == "warning"
    status, noun = (
        ("failure", "failures or losses") if is_warning else ("success", "successes or gains")
    )
    count = sum(outcome.result.status == status for outcome in outcomes)
    subjects = pluralize(len(merge.brief.apart), "subject")
    verb = "says" if len(merge.brief.apart) == 1 else "say"
    reason = (
        f"{skill.name} stands for {subjects} that {verb} the same: "
        f"{count_of(count, len(outcomes))} outcomes are {noun}."
    )
    judge = generate.judges_of(findings.significant, findings.account.evaluations)
    return evolution_change(merge, skill, files, reason=reason, judge=judge, **parts)
