"""Remember the records that a person removed, so that the steps do not make them again.

The trailers of the commits on the branch name the records that were made; a record that no longer
exists was removed. Steps ask `Rejections` before they yield a change.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import cache

from msgspec import Struct

from skillvault.learning.naming import is_general, is_strategy, may_be_next, rule_digest
from skillvault.model.change import FORGET
from skillvault.model.records import Commit

# The kinds that are made of other records. For other kinds, the sources of a rejection are not
# needed.
_LEARNED_KINDS = frozenset({"skill", "fact"})
# The name of `promote` across domains; a fact may make a skill of its own domain, too.
GENERAL = "general"
REJECT, UNDO = "reject", "undo"
# The targets of these steps were not made by them.
_DECISION_STEPS = frozenset({"pin", "keep", "retire", "restore", REJECT, FORGET, UNDO})


class Rejection(Struct, frozen=True, order=True, omit_defaults=True):
    """A record that `commit` made and that HEAD no longer has.

    `reason` is the reason of the person, or "" if not known. If `like` is set, the record was never
    made, because it says the same as the record `like`, which `commit` rejected.
    """

    target: str
    commit: str
    reason: str = ""
    like: str = ""

    @property
    def sentence(self) -> str:
        """A sentence about the rejection, with the reason."""
        name, reason_text = self.target.partition(":")[2], f": {self.reason}" if self.reason else ""
        if self.like == name:
            return f"says what was rejected in {self.commit[:10]}{reason_text}"
        if self.like:
            return f"says the same as {self.like}, rejected in {self.commit[:10]}{reason_text}"
        return f"made {name} in {self.commit[:10]}, which was removed since{reason_text}"


class RejectedSkill(Struct, frozen=True, kw_only=True):
    """A proposal that a person rejected, with the commit and the reason of the rejection.

    `replaces` is the approved skill that the proposal would have replaced, or None.
    """

    skill: str
    domain: str | None
    body: str
    commit: str
    reason: str
    replaces: str | None = None


class Rejections:
    """The records that were made once and removed later.

    `commits` has the commits of skillvault on the branch, newest first. `records` has the
    `<kind>:<id>` of all records in HEAD, archive included, and `withdrawn_records` those that
    skillvault itself removed. `proposals` has the proposals that persons rejected. `versions`
    returns the names of next versions; these are compared by their texts alone.
    """

    def __init__(
        self,
        commits: Iterable[Commit],
        records: Container[str],
        withdrawn_records: Container[str] = frozenset(),
        proposals: Sequence["RejectedSkill"] = (),
        *,
        versions: Callable[[], Container[str]] = frozenset,
    ) -> None:
        self.proposals = proposals
        self._versions = cache(versions)
        reasons = {f"skill:{skill.skill}": skill.reason for skill in proposals}
        self._targets: dict[str, Rejection] = {}
        self._sources: dict[tuple[str, str, str], list[Rejection]] = {}
        self._sets: dict[tuple[str, Rejection], set[str]] = {}
        for commit in commits:
            for target in commit.targets if commit.step not in _DECISION_STEPS else ():
                if target in records or target in withdrawn_records:
                    continue
                kind, _, name = target.partition(":")
                if not (kind == "skill" and may_be_next(name) and name in self._versions()):
                    self._add(commit, Rejection(target, commit.sha, reasons.get(target, "")))

    def _add(self, commit: Commit, rejection: Rejection) -> None:
        self._targets.setdefault(_identity_of(rejection.target), rejection)
        kind, _, name = rejection.target.partition(":")
        step = GENERAL if kind == "skill" and is_general(name) else commit.step
        for source in _sources_of(commit, rejection.target):
            self._sources.setdefault((step, source, kind), []).append(rejection)
            rejected_at = self._targets[_identity_of(rejection.target)]
            self._sets.setdefault((step, rejected_at), set()).add(source.partition(":")[2])

    def sources(self, step: str, kind: str) -> Iterator[str]:
        """Yield the sources (`<kind>:<id>`) of the removed records that a step made."""
        return (
            source for by, source, target_kind in self._sources if (by, target_kind) == (step, kind)
        )

    def of_target(self, ref: object) -> Rejection | None:
        """Return the rejection of a record, or None."""
        return self._targets.get(_identity_of(str(ref)))

    def of_source(self, step: str, ref: object, kind: str, prefix: str = "") -> Rejection | None:
        """Return the rejection of a record of a kind that a step made from a source, or None."""
        start = f"{kind}:{prefix}"
        rejections = self._sources.get((step, str(ref), kind), ())
        return next((r for r in rejections if r.target.startswith(start)), None)

    def sets(self, step: str) -> list[tuple[frozenset[str], Rejection]]:
        """Return (ids of all sources, rejection) for each removed record of a step."""
        return [(frozenset(sources), r) for (by, r), sources in self._sets.items() if by == step]


def _identity_of(target: str) -> str:
    """Return the id of a record, or for a rule the digest that all its wordings share."""
    kind, _, name = target.partition(":")
    return f"{kind}:{rule_digest(name)}" if kind == "correction" else target


def _sources_of(commit: Commit, target: str) -> tuple[str, ...]:
    kind, _, name = target.partition(":")
    if kind == "fact" and 1 < len(commit.sources) == len(commit.targets):
        return (commit.sources[commit.targets.index(target)],)  # one source for each target
    return commit.sources if kind in _LEARNED_KINDS and not is_strategy(name) else ()
