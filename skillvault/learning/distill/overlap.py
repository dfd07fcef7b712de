"""Which sessions say the same: by their statements, each with what it is about.

Compared is what was recorded, not how a judge put it: two judges would make two things of it.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning import sections
from skillvault.learning.distill.skill import composed, excerpt_of, tags_of
from skillvault.learning.expire import key_edits
from skillvault.learning.generate.warning_pattern import expiry_after, placed
from skillvault.learning.length import References
from skillvault.learning.merge.groups import STEP
from skillvault.learning.naming import free_name
from skillvault.model.brief import Draft
from skillvault.model.change import Change, Edit, Move, Rewrite, skill_series
from skillvault.model.policy import Policy
from skillvault.model.records import Link, Ref, Session, Skill, link_of, stamp
from skillvault.model.sameness.form import Form, normal_form
from skillvault.model.sameness.forms import Forms
from skillvault.model.text import markdown
from skillvault.model.text.text import shorten, slug


class SessionMerging(Struct, frozen=True, kw_only=True):
    """Skills of sessions that say the same, and become one.

    `sessions` are excerpts of all that stand behind them, oldest first. `own` are the names of
    those that go, `into` is the evolved one that takes them in, if there is one. `at` is when it
    is made.
    """

    sessions: tuple[Session, ...]
    own: tuple[str, ...]
    into: Skill | None
    at: datetime

    @property
    def domain(self) -> str:
        """The domain of all of them."""
        return self.sessions[0].domain


def sessions_digest(sessions: Sequence[Session]) -> str:
    """Twelve hex digits of the sessions that an evolved skill tells of."""
    return sha256("\n".join(session.id for session in sessions).encode()).hexdigest()[:12]


def joining_change(
    due: SessionMerging, draft: Draft, *, taken: Callable[[str], bool], policy: Policy
) -> Change:
    """The commit that makes one skill of several; they go to archive/."""
    brief = excerpt_of(due.sessions)
    about = f"{slug(due.domain, limit=24)}-{_most_said(due.sessions)}".rstrip("-")
    name = free_name("evolved", about, (session.id for session in due.sessions), taken)
    text = composed(brief, draft, title="Evolved", limit=policy.merge.max_tokens)
    skill = Skill(
        name=name,
        description=shorten(draft.description, 1024),
        body=text.body,
        tags=tags_of(brief, draft),
        roles=draft.roles,
        stages=draft.stages,
        kind="evolved",
        domain=due.domain,
        account=sessions_digest(due.sessions),
        status="testing",
        origin="distilled",
        created=stamp(due.at),
        expires=expiry_after(due.at, policy.generate.evolved_days),
    )
    return Change(
        step=STEP,
        subject=name,
        commit_with=skill_series(STEP, due.domain),
        reason=_reason_of(due, name),
        writes=(skill, *_merged(due, name)),
        files=placed(name, "skills", text.files),
        moves=_put_away(due),
        sources=_behind(due),
        targets=(Ref("skill", name),),
    )


def widening_change(
    due: SessionMerging,
    skill: Skill,
    draft: Draft,
    written: sections.Written,
    *,
    references: References,
    policy: Policy,
) -> Change:
    """The commit by which an evolved skill takes in more skills, or more of their sessions."""
    path = f"skills/{skill.name}/SKILL.md"
    text = composed(
        excerpt_of(due.sessions),
        draft,
        title="Evolved",
        limit=policy.merge.max_tokens,
        references=references,
    )
    body = sections.rewritten(skill.body, written.bodies, text.body)
    links = tuple(_merged(due, skill.name))
    return Change(
        step=STEP,
        subject=f"grow {skill.name}",
        commit_with=skill_series(STEP, due.domain),
        reason=_reason_of(due, skill.name),
        writes=links,
        files=placed(skill.name, "skills", references.placed(text.files)),
        edits=tuple(_keys(due, skill, draft, written, path=path, policy=policy)),
        rewrites=(Rewrite(path, body),) if body != skill.body else (),
        moves=_put_away(due),
        sources=_behind(due),
        targets=(Ref("skill", skill.name), *(Ref("link", link.id) for link in links)),
    )


def _keys(
    due: SessionMerging,
    skill: Skill,
    draft: Draft,
    written: sections.Written,
    *,
    path: str,
    policy: Policy,
) -> Iterator[Edit]:
    grown = replace(
        skill,
        description=shorten(draft.description, 1024),
        account=sessions_digest(due.sessions),
        created=stamp(due.at),
        expires=expiry_after(due.at, policy.generate.evolved_days),
    )
    return key_edits(path, skill, grown, written, policy=policy)


def _most_said(sessions: Sequence[Session]) -> str:
    """What most of the sessions are about, as a slug; of equals the first by name."""
    slugs = ({slug(lemma, limit=26) for lemma in session.lemmas} for session in sessions)
    counts = Counter(lemma for some in slugs for lemma in some)
    return min(counts, key=lambda lemma: (-counts[lemma], lemma))


def _merged(due: SessionMerging, name: str) -> Iterator[Link]:
    """One link from each skill that goes."""
    for own in due.own:
        yield link_of("merged", Ref("skill", own), Ref("skill", name), due.at)


def _behind(due: SessionMerging) -> tuple[Ref, ...]:
    """What it is made of: the skills that go, or the sessions that came to it."""
    own = tuple(Ref("skill", name) for name in due.own)
    return own or tuple(Ref("session", session.id) for session in due.sessions)


def _put_away(due: SessionMerging) -> tuple[Move, ...]:
    return tuple(Move(f"skills/{name}", f"archive/{name}") for name in due.own)


def _reason_of(due: SessionMerging, name: str) -> str:
    lines = [f"{name} stands for {len(due.sessions)} sessions that say the same."]
    return "\n".join([*lines, *(f"{own} goes to archive/." for own in due.own)])


class Overlap(NamedTuple):
    """How many statements of two sessions the other one has too, and of how many."""

    mine: int
    of_mine: int
    others: int
    of_others: int

    @property
    def is_whole(self) -> bool:
        """Whether both say exactly the same."""
        return self.mine == self.of_mine and self.others == self.of_others

    def is_above(self, share: float) -> bool:
        """Whether they share more than this part of what the one says that says less."""
        return min(self.mine, self.others) > share * min(self.of_mine, self.of_others)


def statements_of(session: Session) -> tuple[str, ...]:
    """What an excerpt of a session says, each with what it is about."""
    failures = (f"{failure.lemma}: {failure.reason}" for failure in session.failures)
    successes = (f"{success.lemma}: {success.text}" for success in session.successes)
    return tuple(dict.fromkeys((*failures, *successes)))


class Overlaps:
    """Excerpts of sessions, and which of those added say the same as another."""

    def __init__(self, sessions: Iterable[Session] = ()) -> None:
        self._forms = Forms()
        self._holders: list[str] = []  # by the number of a form, the session that says it
        self._counts: dict[str, int] = {}
        for session in sessions:
            self._include(session)

    def _include(self, session: Session) -> None:
        """Compare with this one, too."""
        forms = _forms_of(session)
        self._counts[session.id] = len(forms)
        for form in forms:
            self._forms.add(form)
            self._holders.append(session.id)

    def of(self, session: Session) -> dict[str, Overlap]:
        """Session -> what it shares with this one, of those that share anything."""
        mine: dict[str, set[int]] = defaultdict(set)
        others: dict[str, set[int]] = defaultdict(set)
        forms = _forms_of(session)
        for place, form in enumerate(forms):
            for number in self._forms.same(form):
                mine[self._holders[number]].add(place)
                others[self._holders[number]].add(number)
        return {
            name: Overlap(len(mine[name]), len(forms), len(others[name]), self._counts[name])
            for name in sorted(mine)
            if name != session.id
        }


def says_all(body: str, session: Session) -> bool:
    """Whether a skill's text has all that an excerpt of a session says."""
    forms = _forms_in(body)
    return all(any(forms.same(normal_form(text)) for text in texts) for texts in _wordings(session))


@lru_cache(maxsize=1024)  # each session is compared with all skills of its domain
def _forms_in(body: str) -> Forms:
    forms = Forms()
    for statement in markdown.statements(body):
        forms.add(normal_form(statement))
    return forms


def groups_of(sessions: Collection[Session], share: float) -> Iterator[list[Session]]:
    """Those that say the same, directly or by way of others, in the order of time.

    Whatever their order of arrival; one that is like no other is a group of its own.
    """
    ordered = sorted(sessions, key=lambda session: session.order)
    overlaps = Overlaps(ordered)
    roots = {session.id: session.id for session in ordered}
    for session in ordered:
        for other, overlap in overlaps.of(session).items():
            if overlap.is_above(share):
                a, b = _first(roots, session.id), _first(roots, other)
                roots[max(a, b)] = min(a, b)
    grouped: dict[str, list[Session]] = defaultdict(list)
    for session in ordered:
        grouped[_first(roots, session.id)].append(session)
    yield from grouped.values()


def _first(roots: dict[str, str], name: str) -> str:
    while roots[name] != name:
        name = roots[name]
    return name


def _forms_of(session: Session) -> list[Form]:
    return list(dict.fromkeys(map(normal_form, statements_of(session))))


def _wordings(session: Session) -> Iterator[tuple[str, ...]]:
    """Each statement as it may stand in a text: with what it is about, or alone."""
    for failure in session.failures:
        alone = (failure.reason,) if failure.reason else ()
        yield (f"{failure.lemma}: {failure.reason}", *alone)
    for success in session.successes:
        alone = (success.text,) if success.text else ()
        yield (f"{success.lemma}: {success.text}", *alone)
