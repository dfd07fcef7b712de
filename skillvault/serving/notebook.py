"""What agents note for each other in a vault, and what of it they are told."""

from collections.abc import Sequence

from skillvault.learning.capture import prompt
from skillvault.loop import learned as tiers
from skillvault.vault.commit.store import Store


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
        """The rules that were noted and that no run committed yet: no prompt has them."""
        return tiers.uncommitted_rules(self._store, self._store.head())

    def learned(self, base: str = "") -> str:
        """A prompt with the best patterns and the latest rules behind it.

        As it is if nothing was learned; they have at most `capture.budget` tokens.
        """
        return prompt.behind(base, self.told().told)

    def told(self) -> "tiers.Learned":
        """The same patterns and rules, how many were cut, and why there are no patterns."""
        return tiers.learned(self._store)
