"""The sessions of a domain behind its living skills, and which of them say the same."""

from collections.abc import Iterator

from skillvault.learning.distill.excerpt import excerpt
from skillvault.learning.distill.overlap import Overlaps, says_all
from skillvault.model.policy import Policy
from skillvault.model.records import Session, Skill, Trust
from skillvault.vault.index.snapshot import Topics


class DomainSessions:
    """What the living skills of a domain say that sessions may say again."""

    def __init__(self, view: Topics, domain: str, policy: Policy) -> None:
        self._view = view
        self._domain = domain
        self._policy = policy

    def excerpts_behind(self, skill: str) -> list[Session]:
        """What is told of the sessions that a skill was distilled from, oldest first."""
        sessions = self._view.sessions.in_order(self._view.sessions.behind(skill))
        return [excerpt(session, self._policy.distill) for session in sessions]

    def repeated_by(self, session: Session) -> str | None:
        """The living skill that says what an excerpt of a session says; the first by name.

        One of a session says neither less nor more; any other may say more. What is trusted is
        compared with what is trusted.
        """
        for name, skill in self._living(session.trust):
            behind = self.excerpts_behind(name) if skill.origin == "distilled" else []
            overlaps = Overlaps(behind).of(session)
            if any(overlap.is_whole for overlap in overlaps.values()):
                return name
            if not behind and says_all(skill.body, session):
                return name
        return None

    def _living(self, trust: Trust) -> Iterator[tuple[str, Skill]]:
        """The skills of the domain in skills/ and proposed/, by name."""
        view = self._view.skills
        names = [*view.names("skills", self._domain), *view.names("proposed", self._domain)]
        skills = view.live(names)
        # A next version tells of sessions once it takes the place of what it replaces.
        ours = (s for s in skills.items() if s[1].trust == trust and not s[1].replaces)
        yield from sorted(ours)
