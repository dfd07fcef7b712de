"""Questions from Python and notebooks, named as on the command line: search, use, learned rules."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, overload

from skillvault.learning.capture import prompt
from skillvault.loop import learned as tiers
from skillvault.model.errors import UsageError
from skillvault.vault.commit.store import Store

if TYPE_CHECKING:
    from skillvault.learning.stats import SkillStats
    from skillvault.serving.shelf import SearchResult, Shelf


class Notebook:
    """The rules and patterns of a vault."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def learn(self, rule: str, scope: Sequence[str] = (), *, dry: bool = False) -> str:
        """Append a rule to LEARNINGS.md, without secrets; the rule as it stands there.

        `scope`: the patterns of the files that it is about, YAML and markdown among them. The next
        run commits it. UsageError for what can be no rule. `dry`: nothing is written.
        """
        return tiers.note_rule(self._store, rule, scope, dry=dry)

    def uncommitted(self) -> list[str]:
        """Return the noted rules that no run committed yet: no prompt has them."""
        return tiers.uncommitted_rules(self._store, self._store.head())

    def learned(self, base: str = "") -> str:
        """Return a prompt followed by the best patterns and the latest rules.

        They have at most `capture.budget` tokens; a vault that learned nothing adds none.
        """
        return prompt.behind(base, self.told().told)

    def told(self) -> "tiers.Learned":
        """Return the same patterns and rules, how many were cut, and why there are no patterns."""
        return tiers.learned(self._store)


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
    ) -> "list[SearchResult]":
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
        """Return the use of one skill, or of every used one (of a domain), best lift first.

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
