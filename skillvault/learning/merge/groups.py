"""merge: which subjects say the same, so that one skill stands for three or more of them.

Computed from what their accounts say by now, in the order of their names, whatever arrived first.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import sha256

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning.account.causes import own_values, signature
from skillvault.learning.rejection import Rejection
from skillvault.model.brief import Cause, Findings, RefusedAnswers
from skillvault.model.policy import MergePolicy
from skillvault.model.records import Outcome, SkillKind
from skillvault.model.sameness.form import normal_form

STEP = "merge"


class Voice(Struct, frozen=True, kw_only=True, order=True):
    """What a subject says for a kind of skill, as keys of its causes.

    `subject` is as `metadata.subject` states it, `first` one of its outcomes, by which it is found.
    """

    subject: str
    first: str
    causes: tuple[str, ...]


class Group(Struct, frozen=True, kw_only=True):
    """Subjects of a domain that say the same, by their names.

    `key` is what most of them say, `stated` the key that their living skill states until it is
    written anew, if that is another.
    """

    domain: str
    kind: SkillKind
    key: str
    voices: tuple[Voice, ...]
    stated: str = ""

    @property
    def subject(self) -> str:
        """What an evolved skill of it is to state as its subject."""
        return f"{self.domain} / {self.kind} / {self.key}"

    @property
    def stated_subject(self) -> str:
        """What its living skill states as its subject."""
        return f"{self.domain} / {self.kind} / {self.stated or self.key}"

    def known_by(self, keys: Collection[str]) -> "Group":
        """The group whose skill states one of these keys, that most of it says, if it says any."""
        counts = Counter(key for voice in self.voices for key in voice.causes if key in keys)
        if not counts:
            return self
        return replace(self, stated=min(counts, key=lambda key: (-counts[key], key)))

    @property
    def subjects(self) -> frozenset[str]:
        """Its subjects."""
        return frozenset(voice.subject for voice in self.voices)


def cause_keys(findings: Findings) -> tuple[str, ...]:
    """What a subject says, in keys that are equal for what says the same; sorted.

    Nothing of one whose task had answers refused: those are told with it alone.
    """
    if any(isinstance(statement, RefusedAnswers) for statement in findings.statements):
        return ()
    outcomes = {outcome.id: outcome for outcome in findings.account.outcomes}
    keys: set[str] = set()
    for statement in findings.statements:
        if isinstance(statement, Cause) and statement.alike:
            form = _form(statement, outcomes[statement.shown_by[0]])
            keys.add(f"{statement.kind}-{sha256(form).hexdigest()[:12]}")
    return tuple(sorted(keys))


def _form(cause: Cause, outcome: Outcome) -> bytes:
    """What is equal for causes that say the same, in whatever subject."""
    if cause.kind == "error":
        return signature(cause.quote).encode()
    form = normal_form(cause.quote, own_values(outcome))
    return msgspec.json.encode(form, order="deterministic")


def groups(
    domain: str, kind: SkillKind, voices: Iterable[Voice], rules: MergePolicy
) -> Iterator[Group]:
    """The groups of a domain's subjects: in the order of names, the first unused is the seed."""
    ordered = sorted(voice for voice in voices if voice.causes)
    holders: dict[str, list[Voice]] = defaultdict(list)
    for voice in ordered:
        for key in voice.causes:
            holders[key].append(voice)
    used: set[str] = set()
    for seed in ordered:
        if seed.subject in used:
            continue
        near = {voice for key in seed.causes for voice in holders[key]}
        fresh = [voice for voice in near if voice.subject not in used]
        members = sorted(voice for voice in fresh if _agree(seed, voice, rules))
        if len(members) > rules.min_similar:
            used.update(voice.subject for voice in members)
            yield Group(domain=domain, kind=kind, key=_most_said(members), voices=tuple(members))


def with_stated(alike: Sequence[Group], keys: Collection[str]) -> Iterator[Group]:
    """The groups of a domain with what their skills state; `keys` are those of the living ones.

    A skill stands for one group: for that whose key it states, else for the first that says it.
    """
    free = set(keys).difference(group.key for group in alike)
    for group in alike:
        named = group if group.key in keys else group.known_by(free)
        free.discard(named.stated)
        yield named


def _agree(a: Voice, b: Voice, rules: MergePolicy) -> bool:
    """Whether more than this part of what the one says that says less stands in the other too."""
    shared = len(set(a.causes) & set(b.causes))
    return shared > rules.similarity * min(len(a.causes), len(b.causes))


def _most_said(voices: Sequence[Voice]) -> str:
    counts = Counter(key for voice in voices for key in voice.causes)
    return min(counts, key=lambda key: (-counts[key], key))


def rejected(
    sources: Collection[str], sets: Iterable[tuple[frozenset[str], Rejection]]
) -> Rejection | None:
    """The rejection of a merge that two of these sources were part of."""
    return next((why for members, why in sets if len(members.intersection(sources)) > 1), None)
