"""The code bases of a vault: which can be read here, at which versions, and what they support."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from skillvault.learning.capture.evidence import CodeEvidence, Terms, rule_evidence, search_terms
from skillvault.learning.capture.patterns import CodeSupport
from skillvault.loop.run import Broken, Run
from skillvault.model.errors import GitError
from skillvault.model.policy import CapturePolicy
from skillvault.model.records import Problem
from skillvault.model.text.text import rule_key
from skillvault.vault.code_base import (
    CodeBase,
    UnreadableCodeError,
    committed_version,
    lines_of,
    open_code_base,
    search_code,
)
from skillvault.vault.files import layout

_PLACES = 5  # at which a broken rule is told


class RuleEvidence(Struct, frozen=True):
    """The terms of a rule, and what code says of it."""

    rule: str
    terms: Terms
    evidence: CodeEvidence

    @property
    def key(self) -> str:
        """What the rule has in common with others that say the same."""
        return rule_key(self.rule)


def evidence_of(
    bases: Sequence[CodeBase], scopes: Mapping[str, tuple[str, ...]], policy: CapturePolicy
) -> dict[str, RuleEvidence]:
    """Key of a rule -> what code says of it; `scopes` are the patterns of files of each rule."""
    evidence: dict[str, RuleEvidence] = {}
    for scope in dict.fromkeys(scopes.values()):
        terms = {rule: search_terms(rule) for rule, of_rule in scopes.items() if of_rule == scope}
        every = (term for of_rule in terms.values() for term in of_rule.all)
        occurrences = search_code(bases, every, scope)
        for rule, of_rule in terms.items():
            worth = rule_evidence(of_rule, occurrences.files, occurrences.searched, policy)
            evidence[rule_key(rule)] = RuleEvidence(rule, of_rule, worth)
    return evidence


def borne_out(
    bases: Sequence[CodeBase], evidence: Mapping[str, RuleEvidence]
) -> dict[str, CodeSupport]:
    """Key -> how code bears out each rule that forbids nothing."""
    positive = [rule for rule in evidence.values() if rule.terms.polarity == "positive"]
    lines = _lines(bases, [rule for rule in positive if rule.evidence.worth.promote])
    sums = {key: sum(map(len, by_file.values())) for key, by_file in lines.items()}
    return {
        rule.key: CodeSupport(rule.evidence, sums.get(rule.key, 0), _code(bases, rule))
        for rule in positive
    }


def broken_rules(bases: Sequence[CodeBase], evidence: Mapping[str, RuleEvidence]) -> list[Broken]:
    """The rules that code breaks, each with where."""
    negative = (rule for rule in evidence.values() if rule.terms.polarity == "negative")
    broken = [rule for rule in negative if rule.evidence.files]
    lines = _lines(bases, broken)
    return [Broken(rule.rule, tuple(_broken_places(lines[rule.key]))) for rule in broken]


def _lines(
    bases: Sequence[CodeBase], rules: Iterable[RuleEvidence]
) -> dict[str, dict[str, list[int]]]:
    return lines_of(bases, {rule.key: (rule.evidence.terms, rule.evidence.files) for rule in rules})


def _broken_places(lines: Mapping[str, Sequence[int]]) -> list[str]:
    places = [f"{path}:{line}" for path in sorted(lines) for line in lines[path]]
    more = len(places) - _PLACES
    return [*places[:_PLACES], *([f"{more} more"] if more > 0 else [])]


def _code(bases: Sequence[CodeBase], rule: RuleEvidence) -> str:
    """The code bases that the evidence is of, each with its version."""
    if len(bases) == 1:
        return bases[0].stamp
    names = {path.partition("/")[0] for path in rule.evidence.files}
    return ", ".join(base.stamp for base in bases if base.name in names)


_UNREADABLE = "?"
_Answer = TypeVar("_Answer")


class CodeBases(Struct, frozen=True):
    """The code bases that can be read, and why others cannot: these are not asked."""

    readable: Sequence[CodeBase]
    problems: Sequence[Problem]

    @property
    def versions(self) -> Mapping[str, str]:
        """Name -> version, of those that can be read."""
        return {base.name: base.version[:10] for base in self.readable}


def open_code_bases(run: Run) -> CodeBases:
    """The code bases that this run asks, each once."""
    readable: list[CodeBase] = []
    problems: list[Problem] = []
    places = {place: named for named, place in reversed(_named_places(run).items())}
    for place, name in _names_of(reversed(places)).items():
        try:
            readable.append(open_code_base(place, run.store.root, name))
        except UnreadableCodeError as error:
            problems.append(_not_asked(places[place], str(error)))
    return CodeBases(readable, problems)


def asked(
    bases: CodeBases, question: Callable[[Sequence[CodeBase]], _Answer]
) -> tuple[CodeBases, _Answer]:
    """What the code bases answer, and which of them could be read all through."""
    while True:
        try:
            return bases, question(bases.readable)
        except UnreadableCodeError as error:
            readable = [base for base in bases.readable if base.name != error.name]
            bases = CodeBases(readable, [*bases.problems, _not_asked(error.name, str(error))])


def _names_of(places: Iterable[Path]) -> dict[Path, str]:
    """What each place is called: its folder, with those above it as far as others have its name."""
    depths = dict.fromkeys(places, 1)
    while True:
        names = {place: "-".join(place.parts[-depth:]) for place, depth in depths.items()}
        every = [*names.values()]
        longer = {
            place: depth + 1
            for place, depth in depths.items()
            if every.count(names[place]) > 1 and depth < len(place.parts)
        }
        if not longer:
            return names
        depths |= longer


def versions(run: Run) -> dict[str, str]:
    """Place -> the version of each code base; "" for a folder without git."""
    return {name: _version_at(place) for name, place in _named_places(run).items()}


def _named_places(run: Run) -> dict[str, Path]:
    """Each code base as it was named, and where it is."""
    if run.options.code:
        return {str(path): layout.real_path(path) for path in run.options.code}
    return {name: layout.real_path(run.store.root / name) for name in run.policy.capture.code}


def _version_at(place: Path) -> str:
    try:
        return committed_version(place)
    except (GitError, OSError):
        return _UNREADABLE


def _not_asked(name: str, reason: str) -> Problem:
    message = f"code base not asked, nothing is concluded from it: {reason}"
    return Problem(name, "capture.code", "not-asked", message)
