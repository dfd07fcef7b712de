"""generate: the guide of an action, the warning and the pattern of a subject, of their accounts.

Where one is there already, `refresh` writes it anew.
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning.account.evidence import to_text
from skillvault.learning.account.sentences import labels_of, tried_line
from skillvault.learning.account.statements import calls_for_skill, digest, shown_by
from skillvault.learning.contrast.episodes import in_words
from skillvault.learning.length import STATEMENTS, References, fit_body, head_line_limit
from skillvault.learning.naming import OF_DOMAIN, subject_key, subject_names
from skillvault.learning.rejection import Rejection
from skillvault.model.brief import Draft, Findings
from skillvault.model.change import Change, skill_series
from skillvault.model.policy import Policy
from skillvault.model.records import (
    Evaluation,
    Outcome,
    Ref,
    Skill,
    Subject,
    link_of,
    stamp,
)
from skillvault.model.skill_evidence import EVIDENCE, TRIED
from skillvault.model.text.text import count_of, how_many, inert, listed, shorten, slug, trimmed

STEP = "generate"
_TAGS = 16

State = Literal[
    "due", "waiting", "done", "counted", "unread", "older", "silent", "between", "not new",
    "put away", "over", "rejected", "retracted",
]  # fmt: skip


class Present(Struct, frozen=True, kw_only=True):
    """What there is of a subject's skill of one kind.

    `skill` stands on `shelf`. `more` are living ones of the same subject and kind that single
    outcomes made. `linked` are the evaluations that it rests on. `put_away`: who archived it, if
    that is not undone by itself. `rejection`: one was made and taken away. `unreadable`: where one
    stands that cannot be read. `clock`: the domain's time.
    """

    skill: Skill | None = None
    shelf: str = ""
    more: tuple[str, ...] = ()
    linked: frozenset[str] = frozenset()
    put_away: str | None = None
    rejection: Rejection | None = None
    unreadable: str | None = None
    clock: datetime | None = None


class Standing(Struct, frozen=True):
    """Where an account stands with its skill of one kind, and why."""

    state: State
    reason: str


def standing(findings: Findings, present: Present, policy: Policy) -> Standing:
    """Return whether a skill of an account is due, or why not."""
    if (there := _there(present)) is not None:
        return there
    if present.unreadable:
        return Standing(
            "put away", f"{present.unreadable} cannot be read; `skillvault check` says why"
        )
    if not findings.significant:
        return Standing("between", _not_significant(findings, policy))
    if not calls_for_skill(findings):
        alone = "it says neither what was done nor what to do; a guide needs two such"
        several = "nothing that its outcomes say would change a decision"
        return Standing("silent", alone if findings.kind == "guide" else several)
    if is_over(findings, present, policy):
        return Standing(
            "over", f"its time would have ended on {(expiry_of(findings, policy) or '')[:10]}"
        )
    return Standing("due", f"{_counted(findings)}; `skillvault run`")


def _there(present: Present) -> Standing | None:
    """What there is or was of a subject's skill; None for nothing."""
    if present.rejection:
        return Standing("rejected", present.rejection.sentence)
    if present.skill is None:
        return None
    if present.put_away:
        return Standing("put away", f"{present.skill.name} was put away by {present.put_away}")
    if present.shelf == "archive":
        return Standing("put away", f"{present.skill.name} is in archive/ until it says more")
    return Standing("done", f"generated {present.skill.name}")


def _not_significant(findings: Findings, policy: Policy) -> str:
    """Which outcomes it would take."""
    rules = policy.generate
    bound = rules.warning_below if findings.kind == "warning" else rules.pattern_above
    beyond = "below" if findings.kind == "warning" else "above"
    return f"a {findings.kind} needs a score {beyond} {bound * 100:+.6g} %"


def _counted(findings: Findings) -> str:
    outcomes = findings.account.outcomes
    if findings.kind not in _NOUNS:
        return how_many(len(outcomes), "outcome")
    noun = _NOUNS[findings.kind]
    return f"{count_of(len(findings.significant), len(outcomes))} outcomes are {noun}"


_NOUNS = {"warning": "failures or losses", "pattern": "successes or gains"}


def skill_subject(findings: Findings) -> Subject:
    """Return what a skill is about: a guide an action, a strategy or an evolved skill a domain."""
    first = findings.account.outcomes[0]
    if findings.kind in OF_DOMAIN:
        return first.domain, "", None
    return first.subject if findings.kind != "guide" else (*first.subject[:2], None)


# ── the change ───────────────────────────────────────────────────────────────────────


def skill_change(
    findings: Findings, draft: Draft, *, taken: Callable[[str], bool], policy: Policy
) -> Change:
    """The commit that adds a subject's skill, with its links."""
    first = findings.account.outcomes[0]
    subject = skill_subject(findings)
    names = subject_names(findings.kind, subject, first.trust)
    name = next(name for name in names if not taken(name))
    at = made_at(findings)
    text = skill_text(findings, draft, policy)
    skill = replace(
        new_skill(findings, draft, text, name=name, at=at, policy=policy),
        subject=subject_key(subject),
        account=digest(findings),
    )
    return addition(findings, skill, text, sources=shown_by(findings), at=at)


def new_skill(
    findings: Findings,
    draft: Draft,
    text: "ComposedText",
    *,
    name: str,
    at: datetime,
    policy: Policy,
) -> Skill:
    """A warning or a pattern that is made at a time, and lives from then on."""
    first, days = findings.account.outcomes[0], policy.days(findings.kind)
    return Skill(
        name=name,
        description=shorten(draft.description, 1024),
        body=text.body,
        tags=skill_tags(findings),
        kind=findings.kind,
        domain=first.domain,
        status="testing" if first.trust == "local" else "proposed",
        origin="generated",
        created=stamp(at),
        expires=expiry_after(at, days) if days else None,
        trust=first.trust,
    )


def addition(
    findings: Findings,
    skill: Skill,
    text: "ComposedText",
    *,
    sources: Iterable[str],
    at: datetime,
) -> Change:
    """The commit that adds a skill, with its links from these outcomes."""
    first, target = findings.account.outcomes[0], Ref("skill", skill.name)
    refs = tuple(Ref("evaluation", outcome_id) for outcome_id in sources)
    links = tuple(link_of("generated", source, target, at) for source in refs)
    return Change(
        step=STEP,
        subject=skill.name,
        commit_with=skill_series(STEP, first.domain),
        reason=skill_reason(findings),
        writes=(skill, *links),
        files=placed(skill.name, skill_shelf(first), text.files),
        sources=refs,
        targets=(target,),
        judge=judges_of(findings),
    )


def is_over(findings: Findings, present: Present, policy: Policy) -> bool:
    """Whether its time to live would be over by its domain's clock."""
    ends = expiry_of(findings, policy)
    return bool(present.clock and ends and ends < stamp(present.clock))


def skill_shelf(outcome: Outcome) -> str:
    """Where a skill of an outcome like this one stands."""
    return "skills" if outcome.trust == "local" else "proposed"


def made_at(findings: Findings) -> datetime:
    """When a skill was made: the time of the latest outcome that it rests on."""
    of = set(shown_by(findings))
    return max(o.occurred_at for o in findings.account.outcomes if o.id in of)


def expiry_of(findings: Findings, policy: Policy) -> str | None:
    """When its time to live ends; None for a kind that has none."""
    days = policy.days(findings.kind)
    return expiry_after(made_at(findings), days) if days else None


def expiry_after(at: datetime, days: int) -> str:
    """When a time to live of so many days ends."""
    return stamp(at + timedelta(days=days))


def skill_tags(findings: Findings) -> tuple[str, ...]:
    """Return the slugs of the domain, the actions and the targets of a skill."""
    subjects = [outcome.subject for outcome in findings.account.outcomes]
    parts = [part for place in range(3) for subject in subjects if (part := subject[place])]
    return tuple(dict.fromkeys(filter(None, map(slug, parts))))[:_TAGS]


class ComposedText(Struct, frozen=True):
    """A skill's body, and its files in references/ by name."""

    body: str
    files: dict[str, str]


def skill_text(
    findings: Findings, draft: Draft, policy: Policy, references: References | None = None
) -> ComposedText:
    """Return the text within its length and the files beside it, next to those that are there.

    What has no room goes to a file; another says which outcomes stand behind each statement, and
    of a guide one has every try in a line.
    """
    account, files = findings.account, references or References()
    last, count = account.outcomes[-1], len(account.outcomes)
    of = how_many(count, "outcome")
    of += in_words(account.outcomes, policy.evaluate.episode_minutes)
    limit = policy.generate.length(findings.kind)
    most, file = head_line_limit(limit), files.free(STATEMENTS)
    header = [
        f"*{trimmed(about_words(findings), most)}, as of {of}, {last.occurred_at:%Y-%m-%d}*",
        f"*Domain: {last.domain}*",
    ]
    title = f"# {findings.kind.capitalize()}: {trimmed(draft.title, most)}"
    body, rest = fit_body([title, "\n".join(header)], draft.sections, limit, file)
    texts = {EVIDENCE: to_text(findings), **({file: rest} if rest else {})}
    if findings.kind == "guide":
        texts[TRIED] = tried_text(findings)
    return ComposedText(body, texts)


def about_words(findings: Findings) -> str:
    """Return what a skill is about, in words: `open_long on SOL-PERP`."""
    domain, action, target = skill_subject(findings)
    names = [inert(name, 60) for name in (action, target) if name]
    return listed(names, last="on") or domain


def tried_text(findings: Findings) -> str:
    """Return every try of a guide in a line, the latest first."""
    tries = findings.account.tries
    labels = labels_of(tries, findings.account.tasks)
    lines = [f"- {tried_line(attempt, labels)}" for attempt in reversed(tries)]
    return "\n".join(["# Tried", "", *lines]) + "\n"


def placed(name: str, shelf: str, files: dict[str, str]) -> tuple[tuple[str, bytes], ...]:
    """A skill's files in references/ at their paths."""
    return tuple(
        (f"{shelf}/{name}/references/{file}", text.encode()) for file, text in files.items()
    )


def skill_reason(findings: Findings) -> str:
    """Of what a skill is made."""
    outcomes = findings.account.outcomes
    days = dict.fromkeys(f"{o.occurred_at:%Y-%m-%d}" for o in (outcomes[0], outcomes[-1]))
    lines = [f"{about_words(findings)}: {_counted(findings)}, {' to '.join(days)}."]
    if findings.kind == "strategy":
        return "\n".join([*lines, *(one.text for one in findings.statements if one.rule)])
    evaluations = [account_evaluation(findings, outcome) for outcome in findings.significant]
    return "\n".join([*lines, *(e.key_insight or "" for e in evaluations[-1:] if e)])


def account_evaluation(findings: Findings, outcome: Outcome) -> Evaluation | None:
    """What the judge said of an outcome."""
    return findings.account.evaluations.get(outcome.id)


def judges_of(findings: Findings) -> str | None:
    """Who judged the outcomes that it is about."""
    ids = {outcome.id for outcome in findings.significant}
    judges = {e.judge for key, e in findings.account.evaluations.items() if key in ids}
    return listed(sorted({f"{judge.name} {judge.version}" for judge in judges})) or None


def subject_words(outcome: Outcome) -> str:
    """Return what an outcome is about: `open_long on SOL-PERP`."""
    names = [outcome.decision.action, outcome.decision.target]
    return listed([inert(name, 60) for name in names if name], last="on")
