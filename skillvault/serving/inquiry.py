"""What a vault is asked about what it serves: which texts answer, and what their use showed.

Named as on the command line.
"""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, overload

from skillvault.model.errors import UsageError

if TYPE_CHECKING:
    from skillvault.learning.stats import SkillStats
    from skillvault.serving.shelf import Found, Shelf


class Inquiry:
    """The questions of a vault's shelf."""

    def __init__(self, shelf: "Callable[[], Shelf]", clock: Callable[[], datetime]) -> None:
        self._shelf, self._clock = shelf, clock

    def search(
        self,
        text: str,
        *,
        kind: str | None = None,
        domain: str | None = None,
        k: int = 10,
        semantic: bool = True,
        untrusted: bool = False,
    ) -> "list[Found]":
        """The skills, facts and evaluations that answer a text best.

        `kind` is skill, fact or evaluation; the score is a share of the query, 0..1. `semantic`:
        what is near in meaning comes first, where the extra of that name is installed.
        `untrusted`: also facts and evaluations of untrusted sources.
        """
        return self._shelf().search(
            text, kind=kind, domain=domain, k=k, semantic=semantic, untrusted=untrusted
        )

    @overload
    def stats(
        self, skill: str | None = None, *, domain: str | None = None
    ) -> "list[SkillStats]": ...

    @overload
    def stats(self, *, decision: str, agent: str | None = None) -> dict[str, Any]: ...

    def stats(
        self,
        skill: str | None = None,
        *,
        domain: str | None = None,
        decision: str | None = None,
        agent: str | None = None,
    ) -> "list[SkillStats] | dict[str, Any]":
        """What is known of one skill's use, or of every used one's (of a domain), best lift first.

        With a `decision` what it was shown, what it applied and how it ended; see `effect.detect`.
        `agent`: of several that use the same id, whose it is; else of the one who asked.
        UsageError for a skill or a decision that there is not.
        """
        if decision is not None:
            if skill or domain:
                raise UsageError("a decision has neither a skill nor a domain; ask for one of them")
            return self._shelf().stats(decision, agent)
        if agent is not None:
            raise UsageError("an agent's name says whose decision is meant; pass its id too")
        return self._shelf().effects(skill, domain, now=self._clock())
