"""The rule of `generate`: decide if findings make a new skill, and build its commit.

Kinds are the guide of an action, the warning and the pattern of a subject, and the evolved skill
and the strategy of a domain. `refresh.py` updates skills that exist already.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning.account.evidence import to_text
from skillvault.learning.account.sentences import labels_of, tried_line
from skillvault.learning.account.statements import calls_for_skill, digest, evidence_ids
from skillvault.learning.contrast.episodes import episode_words
from skillvault.learning.length import ComposedText, References, compose_text, head_line_limit
from skillvault.learning.naming import DOMAIN_KINDS, subject_key, subject_names
from skillvault.learning.rejection import Rejection
from skillvault.model.brief import Draft, Findings
from skillvault.model.change import Change, skill_series
from skillvault.model.policy import Policy
from skillvault.model.records import Evaluation, Outcome, Ref, Skill, Subject, link_of, stamp
from skillvault.model.skill_evidence import EVIDENCE, TRIED
from skillvault.model.text.text import (
    count_of,
    join_items,
    make_inert,
    pluralize,
    shorten,
    slug,
    trim_to_tokens,
)

STEP = "generate"
_MAX_TAGS = 16

State = Literal[
    "due", "waiting", "done", "counted", "unread", "older", "silent", "between", "not new",
    "archived", "over", "rejected", "retracted", "repeats", "too little",
]  # fmt: skip


class ExistingSkill(Struct, frozen=True, kw_only=True):
    """The existing skill of a subject and a kind, if there is one.

    `folder` is the top folder of `skill`, and `others` has the folders of other skills of the same
    subject and kind. `linked` has the evaluations with a link to the skill. `archiver` says who
    archived the skill if only a person may restore it. `rejection` is set if a person removed it.
    `unreadable` is the path of a skill that cannot be read. `clock` is the time of the domain.
    """

    skill: Skill | None = None
    folder: str = ""
    others: tuple[str, ...] = ()
    linked: frozenset[str] = frozenset()
    archiver: str | None = None
    rejection: Rejection | None = None
    unreadable: str | None = None
    clock: datetime | None = None


class SkillState(Struct, frozen=True):
    """The state of a record on the way to a skill (`due` makes the skill), and the reason."""

    state: State
    reason: str


def skill_state(findings: Findings, existing: ExistingSkill, policy: Policy) -> SkillState:
    """Return the state of findings on their way to a skill; the state `due` makes it."""
    if (state := _existing_state(existing)) is not None:
        return state
    if existing.unreadable:
        reason = f"{existing.unreadable} cannot be read; `skillvault check` says why"
        return SkillState("archived", reason)
    if not findings.significant:
        bound = f"above {policy.generate.pattern_above * 100:+.6g} %"
        if findings.kind == "warning":
            bound = f"below {policy.generate.warning_below * 100:+.6g} %"
        return SkillState("between", f"a {findings.kind} needs a score {bound}")
    if not calls_for_skill(findings):
        reason = "nothing that its outcomes say would change a decision"
        if findings.kind == "guide":
            reason = "it says neither what was done nor what to do; a guide needs two such outcomes"
        return SkillState("silent", reason)
    if is_expired(findings, existing, policy):
        end = expiry_of(findings, policy) or ""
        return SkillState("over", f"its time would have ended on {end[:10]}")
    return SkillState("due", f"{_outcome_counts(findings)}; `skillvault run`")


def _existing_state(existing: ExistingSkill) -> SkillState | None:
    if existing.rejection:
        return SkillState("rejected", existing.rejection.sentence)
    if skill := existing.skill:
        if existing.archiver:
            return SkillState("archived", f"{skill.name} was archived by {existing.archiver}")
        if existing.folder == "archive":
            return SkillState("archived", f"{skill.name} is in archive/ until it says more")
        return SkillState("done", f"generated {skill.name}")
    return None


def _outcome_counts(findings: Findings) -> str:
    count = len(findings.account.outcomes)
    nouns = {"warning": "failures or losses", "pattern": "successes or gains"}
    if findings.kind not in nouns:
        return pluralize(count, "outcome")
    return f"{count_of(len(findings.significant), count)} outcomes are {nouns[findings.kind]}"


def skill_subject(findings: Findings) -> Subject:
    """Return the subject of a skill: its domain, and action and target if its kind has them."""
    outcome = findings.account.outcomes[0]
    if findings.kind in DOMAIN_KINDS:
        return outcome.domain, "", None
    return outcome.subject if findings.kind != "guide" else (*outcome.subject[:2], None)


# ── the change ───────────────────────────────────────────────────────────────────────


def skill_change(
    findings: Findings, draft: Draft, *, is_taken: Callable[[str], bool], policy: Policy
) -> Change:
    """Return the change that adds the skill of a subject, with its links."""
    outcome = findings.account.outcomes[0]
    subject = skill_subject(findings)
    names = subject_names(findings.kind, subject, outcome.trust)
    name = next(name for name in names if not is_taken(name))
    at = creation_time(findings)
    text = skill_text(findings, draft, policy)
    skill = replace(
        new_skill(findings, draft, text, name=name, at=at, policy=policy),
        subject=subject_key(subject),
        account=digest(findings),
    )
    return addition_change(findings, skill, text, sources=evidence_ids(findings), at=at)


def new_skill(
    findings: Findings, draft: Draft, text: ComposedText, *, name: str, at: datetime, policy: Policy
) -> Skill:
    """Return a new skill; its time to live starts at `at`."""
    first, days = findings.account.outcomes[0], policy.days(findings.kind)
    return Skill(
        name=name,
        description=shorten(draft.description, 1024),
        body=text.body,
        tags=subject_tags(findings.account.outcomes),
        kind=findings.kind,
        domain=first.domain,
        status="testing" if first.trust == "local" else "proposed",
        origin="generated",
        created=stamp(at),
        expires=expiry_time(at, days) if days else None,
        trust=first.trust,
    )


def subject_tags(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """Return the tags of a skill: the domains, actions and targets of its outcomes."""
    labels = [outcome.subject[index] or "" for index in range(3) for outcome in outcomes]
    return tuple(dict.fromkeys(filter(None, map(slug, labels))))[:_MAX_TAGS]


def addition_change(
    findings: Findings, skill: Skill, text: ComposedText, *, sources: Iterable[str], at: datetime
) -> Change:
    """Return the change that adds a skill, with links from the evaluations `sources`."""
    outcome, target = findings.account.outcomes[0], Ref("skill", skill.name)
    refs = tuple(Ref("evaluation", outcome_id) for outcome_id in sources)
    links = tuple(link_of("generated", source, target, at) for source in refs)
    return Change(
        step=STEP,
        subject=skill.name,
        commit_with=skill_series(STEP, outcome.domain),
        reason=_reason(findings),
        writes=(skill, *links),
        files=reference_files(skill.name, new_skill_folder(outcome), text.files),
        sources=refs,
        targets=(target,),
        judge=judges_of(findings.significant, findings.account.evaluations),
    )


def is_expired(findings: Findings, existing: ExistingSkill, policy: Policy) -> bool:
    """Return True if the time to live of a skill has ended by the clock of its domain."""
    end = expiry_of(findings, policy)
    return bool(existing.clock and end and end < stamp(existing.clock))


def new_skill_folder(outcome: Outcome) -> str:
    """Return the folder of a new skill: proposed/ if its outcome is untrusted."""
    return "skills" if outcome.trust == "local" else "proposed"


def creation_time(findings: Findings) -> datetime:
    """Return the time of the latest outcome that supports a skill."""
    ids = set(evidence_ids(findings))
    return max(outcome.occurred_at for outcome in findings.account.outcomes if outcome.id in ids)


def expiry_of(findings: Findings, policy: Policy) -> str | None:
    """Return the end of a skill's time to live, or None for a kind that never expires."""
    days = policy.days(findings.kind)
    return expiry_time(creation_time(findings), days) if days else None


def expiry_time(at: datetime, days: int) -> str:
    """Return the time some days after `at`, as text."""
    return stamp(at + timedelta(days=days))


def skill_text(
    findings: Findings, draft: Draft, policy: Policy, references: References | None = None
) -> ComposedText:
    """Return the text of a skill within its limit, and its new files.

    The files have the text beyond the limit, the evidence of each statement, and each run of a
    guide.
    """
    account, limit = findings.account, policy.generate.length(findings.kind)
    topic = trim_to_tokens(about_words(findings), head_line_limit(limit))
    episodes = episode_words(account.outcomes, policy.evaluate.episode_minutes)
    counts = outcome_words(account.outcomes, episodes)
    header = [f"{topic}: {counts}", f"Domain: {account.outcomes[-1].domain}"]
    kind = findings.kind.capitalize()
    text = compose_text(draft, kind, header, limit=limit, references=references or References())
    files = {EVIDENCE: to_text(findings), **text.files}
    if findings.kind == "guide":
        labels = labels_of(account)
        lines = [f"- {tried_line(attempt, labels)}" for attempt in reversed(account.tries)]
        files[TRIED] = "\n".join(["# Tried", "", *lines]) + "\n"
    return ComposedText(text.body, files)


def outcome_words(outcomes: Sequence[Outcome], episodes: str = "") -> str:
    """Return `3 outcomes on 2 occasions, the last on 2026-11-20`."""
    count = len(outcomes)
    day = f"{'the last ' * (count > 1)}on {outcomes[-1].occurred_at:%Y-%m-%d}"
    return f"{pluralize(count, 'outcome')}{episodes}, {day}"


def about_words(findings: Findings) -> str:
    """Return the subject of a skill in words: `open_long on SOL-PERP`."""
    domain, action, target = skill_subject(findings)
    names = [make_inert(name, 60) for name in (action, target) if name]
    return join_items(names, last="on") or domain


def reference_files(name: str, folder: str, files: dict[str, str]) -> tuple[tuple[str, bytes], ...]:
    """Return (path, content) of files in the references/ of a skill."""
    return tuple(
        (f"{folder}/{name}/references/{file}", text.encode()) for file, text in files.items()
    )


def _reason(findings: Findings) -> str:
    outcomes = findings.account.outcomes
    days = dict.fromkeys(f"{o.occurred_at:%Y-%m-%d}" for o in (outcomes[0], outcomes[-1]))
    lines = [f"{about_words(findings)}: {_outcome_counts(findings)}, {' to '.join(days)}."]
    if findings.kind == "strategy":
        return "\n".join([*lines, *(s.text for s in findings.statements if s.rule)])
    if evaluation := findings.account.evaluations.get(findings.significant[-1].id):
        lines.append(evaluation.key_insight or "")
    return "\n".join(lines)


def judges_of(outcomes: Iterable[Outcome], evaluations: Mapping[str, Evaluation]) -> str | None:
    """Return the names and versions of the judges of outcomes, or None without evaluations."""
    judges = {evaluations[outcome.id].judge for outcome in outcomes if outcome.id in evaluations}
    return join_items(sorted({f"{judge.name} {judge.version}" for judge in judges})) or None
