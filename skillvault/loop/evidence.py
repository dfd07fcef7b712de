"""How the code bases bear out rules and patterns, asked all at once."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from skillvault.learning.capture.evidence import CodeEvidence, evidence_for
from skillvault.learning.capture.patterns import Borne
from skillvault.learning.capture.terms import Terms, search_terms
from skillvault.loop.run import Broken
from skillvault.model.policy import CapturePolicy
from skillvault.model.text.text import rule_key
from skillvault.vault.evidence.code_base import CodeBase
from skillvault.vault.evidence.search import lines_of, search_code

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

    @property
    def is_broken(self) -> bool:
        """Whether code does what the rule forbids."""
        return self.terms.polarity == "negative" and bool(self.evidence.files)


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
            worth = evidence_for(of_rule, occurrences.files, occurrences.searched, policy)
            evidence[rule_key(rule)] = RuleEvidence(rule, of_rule, worth)
    return evidence


def borne_out(bases: Sequence[CodeBase], evidence: Mapping[str, RuleEvidence]) -> dict[str, Borne]:
    """Key -> how code bears out each rule that forbids nothing."""
    positive = [rule for rule in evidence.values() if rule.terms.polarity == "positive"]
    lines = _lines(bases, [rule for rule in positive if rule.evidence.worth.promote])
    sums = {key: sum(map(len, by_file.values())) for key, by_file in lines.items()}
    return {
        rule.key: Borne(rule.evidence, sums.get(rule.key, 0), _code(bases, rule))
        for rule in positive
    }


def broken_rules(bases: Sequence[CodeBase], evidence: Mapping[str, RuleEvidence]) -> list[Broken]:
    """The rules that code breaks, each with where."""
    broken = [rule for rule in evidence.values() if rule.is_broken]
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
