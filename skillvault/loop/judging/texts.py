"""The texts of skills that a question may be about: what each is written from, what rewrites it.

What a person wrote stays, as in any rewriting.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

from skillvault.learning.account.statements import calls_for_skill, digest
from skillvault.learning.distill.skill import excerpt_of, rewording_change
from skillvault.learning.generate.warning_pattern import ExistingSkill
from skillvault.learning.merge.sessions import sessions_digest
from skillvault.learning.promote import general
from skillvault.learning.promote import skills as recurrence
from skillvault.learning.promote.general import GeneralPattern
from skillvault.learning.promote.skills import Pattern
from skillvault.learning.refresh import refreshing
from skillvault.learning.refresh.refreshing import SkillRefresh
from skillvault.loop.derived_skills import shelf_of
from skillvault.loop.distill import DomainSessions
from skillvault.loop.general import told_everywhere
from skillvault.loop.merge import references
from skillvault.loop.next_versions import with_waiting_account
from skillvault.loop.promote import of_some, told_patterns
from skillvault.loop.run import Run
from skillvault.model.brief import Brief, Draft, Findings, SessionExcerpt
from skillvault.model.change import Change
from skillvault.model.records import Ref, Skill


class RewritableText(NamedTuple):
    """The text of a living skill: by name, what it is written from, and what writes it anew."""

    skill: str
    brief: Brief
    rewritten: Callable[[Draft], Change | None]


def texts_about(run: Run, domain: str, outcomes: Sequence[str]) -> Iterator[RewritableText]:
    """The texts of a domain: accounts that these outcomes are told in, and all others."""
    yield from run.rules.account_texts(run, domain, outcomes)
    for found, pattern, skill in told_patterns(run, domain):
        brief = recurrence.pattern_brief(pattern, found)
        yield RewritableText(skill.name, brief, partial(_recurring_text, run, pattern, skill))


def account_texts(run: Run, domain: str, outcomes: Sequence[str]) -> Iterator[RewritableText]:
    """Yield the texts of the accounts that tell these outcomes, and the strategy."""
    strategy = filter(None, [run.accounts.strategy(domain)])
    for account in chain(run.accounts.accounts_of(outcomes), strategy):
        for findings, present in run.accounts.of_kinds(account):
            if _is_as_counted(findings, present) and present.skill is not None:
                rewritten = partial(_account_text, run, findings, present)
                yield RewritableText(present.skill.name, findings, rewritten)


def general_texts(run: Run) -> Iterator[RewritableText]:
    """The texts of no domain."""
    for found, pattern in told_everywhere(run, of_some):
        brief = general.general_brief(pattern, found)
        if pattern.skill is not None:
            rewritten = partial(_general_text, run, pattern, pattern.skill)
            yield RewritableText(pattern.skill.name, brief, rewritten)


def _general_text(run: Run, pattern: GeneralPattern, skill: Skill, draft: Draft) -> Change | None:
    written, shelf = run.versions(skill.name), shelf_of(run, skill)
    return general.rewrite_change(pattern, draft, skill, written, shelf=shelf, policy=run.policy)


def session_texts(run: Run, domain: str) -> Iterator[RewritableText]:
    """The texts of a domain that tell of finished sessions."""
    view, excerpts = run.view, DomainSessions(run.view, domain, run.policy)
    names = [*view.skills.names("skills", domain), *view.skills.names("proposed", domain)]
    for name, skill in sorted(view.skills.live(names).items()):
        if skill.origin != "distilled" or skill.status in ("pinned", "retired"):
            continue
        if skill.replaces:
            continue  # told as the text of the skill that it replaces
        behind = excerpts.excerpts_behind(name)
        if skill.kind != "evolved":
            links = view.links.by_target([Ref("skill", name)])
            own = {link.source.id for link in links if link.type == "distilled"}
            behind = [session for session in behind if session.id in own]
        elif with_waiting_account(view, skill).account != sessions_digest(behind):
            continue
        if behind:
            brief = excerpt_of(behind)
            yield RewritableText(name, brief, partial(_session_text, run, brief, skill))


def _session_text(run: Run, brief: SessionExcerpt, skill: Skill, draft: Draft) -> Change | None:
    shelf = shelf_of(run, skill)
    return rewording_change(
        brief,
        draft,
        skill,
        run.versions(skill.name),
        shelf=shelf,
        references=references(run, shelf, skill),
        policy=run.policy,
    )


def _recurring_text(run: Run, pattern: Pattern, skill: Skill, draft: Draft) -> Change | None:
    written, shelf = run.versions(skill.name), shelf_of(run, skill)
    return recurrence.growth_change(
        pattern, draft, skill, written, shelf=shelf, now=run.now, policy=run.policy
    )


def _is_as_counted(findings: Findings, present: ExistingSkill) -> bool:
    """Return True if a skill lives, is the program's to write, and says what is counted now."""
    skill = present.skill
    if skill is None or present.shelf == "archive" or present.put_away:
        return False
    is_ours = skill.status not in ("pinned", "retired") and skill.origin == "generated"
    return is_ours and calls_for_skill(findings) and skill.account == digest(findings)


def _account_text(
    run: Run, findings: Findings, present: ExistingSkill, draft: Draft
) -> Change | None:
    assert present.skill is not None
    due = SkillRefresh(what="refresh", findings=findings, present=present)
    return refreshing.rewrite_change(
        due,
        draft,
        run.versions(present.skill.name),
        references=references(run, present.shelf, present.skill),
        policy=run.policy,
    )
