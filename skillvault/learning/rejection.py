"""What a person took away stays away: read from the trailers of the branch's history.

What was made is read there too, so that a link removed by hand does not make it again.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import cache

from msgspec import Struct

from skillvault.learning.naming import is_general, is_strategy, may_be_next
from skillvault.model.change import FORGET
from skillvault.model.records import Commit

# What is made of other records. A batch of intake has as many sources as targets, and
# nobody asks which of its sources made which of its targets.
_LEARNED = frozenset({"skill", "fact"})
# What a person decides makes nothing; it may be about a skill that is no file of the vault.
# As what is made across domains is asked for: a fact may make a skill of its own domain, too.
GENERAL = "general"
REJECT, UNDO = "reject", "undo"
_DECIDED = frozenset({"pin", "retire", "restore", REJECT, FORGET, UNDO})


class Rejection(Struct, frozen=True, order=True, omit_defaults=True):
    """A target that a commit made and that HEAD no longer has in any folder.

    `reason` is the person's who rejected it, "" if none is known. `like`: it was not made, as it
    says the same as this one, which `commit` rejected.
    """

    target: str
    commit: str
    reason: str = ""
    like: str = ""

    @property
    def sentence(self) -> str:
        """What became of it, and why."""
        name, because = self.target.partition(":")[2], f": {self.reason}" if self.reason else ""
        if self.like == name:
            return f"says what was rejected in {self.commit[:10]}{because}"
        if self.like:
            return f"says the same as {self.like}, rejected in {self.commit[:10]}{because}"
        return f"made {name} in {self.commit[:10]}, which was taken away since{because}"


class RejectedSkill(Struct, frozen=True, kw_only=True):
    """A proposal that a person rejected: what it said, when, and why.

    `replaces` is the approved skill whose next version it was.
    """

    skill: str
    domain: str | None
    body: str
    commit: str
    reason: str
    replaces: str | None = None


class Rejections:
    """Everything that was made once and taken away since.

    `commits` are the program's on the branch, newest first; `present` are the
    `<kind>:<id>` of all records in HEAD, the archive included. `withdrawn` are those that the
    program itself took away, because it says something else by now. `said` are the
    proposals that persons rejected, by what they said. `versions` gives the names that the next
    versions of skills have: these go by what they said alone, as the skill itself stays.
    """

    def __init__(
        self,
        commits: Iterable[Commit],
        present: Container[str],
        withdrawn: Container[str] = frozenset(),
        said: Sequence["RejectedSkill"] = (),
        *,
        versions: Callable[[], Container[str]] = frozenset,
    ) -> None:
        self.said = said
        self._versions = cache(versions)
        reasons = {f"skill:{refusal.skill}": refusal.reason for refusal in said}
        self._targets: dict[str, Rejection] = {}
        self._sources: dict[tuple[str, str, str], list[Rejection]] = {}
        self._sets: dict[tuple[str, Rejection], set[str]] = {}
        for commit in commits:
            for target in commit.targets if commit.step not in _DECIDED else ():
                gone = target not in present and target not in withdrawn
                if gone and not self._is_version(target):
                    self._add(commit, Rejection(target, commit.sha, reasons.get(target, "")))

    def _is_version(self, target: str) -> bool:
        kind, _, name = target.partition(":")
        return kind == "skill" and may_be_next(name) and name in self._versions()

    def _add(self, commit: Commit, rejection: Rejection) -> None:
        self._targets.setdefault(rejection.target, rejection)
        kind, _, name = rejection.target.partition(":")
        step = GENERAL if kind == "skill" and is_general(name) else commit.step
        for source in _made_of(commit, rejection.target):
            self._sources.setdefault((step, source, kind), []).append(rejection)
            first = self._targets[rejection.target]
            self._sets.setdefault((step, first), set()).add(source.partition(":")[2])

    def sources(self, step: str, kind: str) -> Iterator[str]:
        """The `<kind>:<id>` of what a step made something of this kind of, taken away since."""
        return (
            source for by, source, target_kind in self._sources if (by, target_kind) == (step, kind)
        )

    def of_target(self, ref: object) -> Rejection | None:
        """The rejection of this very record."""
        return self._targets.get(str(ref))

    def of_source(self, step: str, ref: object, kind: str, named: str = "") -> Rejection | None:
        """Return the rejection of what a step made of this record, of a name that begins so."""
        lead = f"{kind}:{named}"
        made = self._sources.get((step, str(ref), kind), ())
        return next((why for why in made if why.target.startswith(lead)), None)

    def sets(self, step: str) -> list[tuple[frozenset[str], Rejection]]:
        """(the ids of all it was made of, the rejection) of everything a step made."""
        return [
            (frozenset(sources), why) for (by, why), sources in self._sets.items() if by == step
        ]


def _made_of(commit: Commit, target: str) -> tuple[str, ...]:
    """The sources that this target is what a commit made of."""
    kind, _, name = target.partition(":")
    if kind == "fact" and 1 < len(commit.sources) == len(commit.targets):
        return (commit.sources[commit.targets.index(target)],)  # each of one, in their order
    return commit.sources if kind in _LEARNED and not is_strategy(name) else ()
