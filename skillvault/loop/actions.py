"""The rules of actions: what separates an action's outcomes, asked at its reading points."""

from collections.abc import Iterable, Sequence
from hashlib import sha256

import msgspec

from skillvault.learning.account.reading import last_point
from skillvault.learning.account.rules import action_rules
from skillvault.learning.generate.warning_pattern import STEP as GENERATE
from skillvault.learning.refresh import STEP as REFRESH
from skillvault.model.conditions import Separation
from skillvault.model.policy import Policy
from skillvault.vault.index.snapshot import Topics
from skillvault.vault.index.subjects import WritableSubjects

_Rules = tuple[Separation, ...]


class ActionRules:
    """The rules of a vault's actions in one run, each asked for once; `writes` keeps them."""

    def __init__(self, view: Topics, policy: Policy, writes: WritableSubjects | None) -> None:
        self._view = view
        self._policy = policy
        self._writes = writes
        self._ids: dict[tuple[str, str, str | None], list[str]] = {}  # what rules are read of
        self._rules: dict[str, _Rules] = {}  # by the digest of what they were computed from
        self._reviewed: dict[tuple[str, str], list[str]] = {}

    def rules(self, domain: str, action: str, until: str | None = None) -> _Rules:
        """What separates an action's outcomes, as of its last reading point.

        `until`: of its outcomes up to this one.
        """
        read = self._read(domain, action, until)
        digest = _digest(read)
        if digest not in self._rules:
            of, kept = self._view.subjects.rules(domain, action)
            self._rules[digest] = _decoded(kept) if of == digest else self._asked(read)
        return self._rules[digest]

    def review(self, outcomes: Iterable[str]) -> set[str]:
        """The first outcome of each subject of those actions whose rules are not those kept.

        They become due: what they tell of their action may be another.
        """
        actions = self._view.outcomes.actions_of(outcomes)
        return {first for domain, action in actions for first in self._review(domain, action)}

    def _review(self, domain: str, action: str) -> list[str]:
        if (domain, action) not in self._reviewed:
            _, kept = self._view.subjects.rules(domain, action)
            rules = self.rules(domain, action)
            changed = rules != _decoded(kept)
            firsts = self._view.outcomes.firsts_of_action(domain, action) if changed else []
            self._reviewed[domain, action] = firsts
            if self._writes:
                digest = _digest(self._read(domain, action, None))
                value = msgspec.msgpack.encode(rules)
                self._writes.keep_rules(domain, action, (digest, value))
                self._writes.mark_due((GENERATE, REFRESH), firsts)
        return self._reviewed[domain, action]

    def _asked(self, read: Sequence[str]) -> _Rules:
        outcomes = self._view.outcomes.get_many(read)
        return action_rules(list(outcomes.values()), self._policy)

    def _read(self, domain: str, action: str, until: str | None) -> list[str]:
        """The outcomes that the rules are read of: the latest ones of a reading point."""
        key = (domain, action, until)
        if key not in self._ids:
            outcomes = self._view.outcomes
            last = last_point(outcomes.count_of_action(domain, action, until))
            first = max(0, last - self._policy.evaluate.peers)
            self._ids[key] = outcomes.of_action(domain, action, first, last)
        return self._ids[key]


def _digest(read: Sequence[str]) -> str:
    return sha256("\n".join(read).encode()).hexdigest()


def _decoded(kept: bytes) -> _Rules:
    return msgspec.msgpack.decode(kept, type=_Rules) if kept else ()
