"""Open the code bases that vault.yaml names, and search them for evidence of rules.

`capture` and `why-not` use this module. `learning/capture/evidence.py` decides how many files are
enough support for a rule.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from skillvault.learning.capture.evidence import CodeEvidence, Terms, rule_evidence, search_terms
from skillvault.learning.capture.patterns import CodeSupport
from skillvault.loop.run import BrokenRule, Run
from skillvault.model.errors import GitError
from skillvault.model.policy import CapturePolicy
from skillvault.model.records import Problem
from skillvault.model.text.text import rule_key
from skillvault.vault import code_base
from skillvault.vault.code_base import CodeBase, UnreadableCodeError
from skillvault.vault.files import layout

_MAX_PLACES = 5  # places to list for a broken rule
_UNREADABLE_VERSION = "?"
_Answer = TypeVar("_Answer")


# ── code bases ───────────────────────────────────────────────────────────────────────


class CodeBases(Struct, frozen=True):
    """The readable code bases, and the problems with the unreadable ones."""

    readable: Sequence[CodeBase]
    problems: Sequence[Problem]

    @property
    def versions(self) -> Mapping[str, str]:
        """The version of each readable code base, by name."""
        return {base.name: base.version[:10] for base in self.readable}


def open_code_bases(run: Run) -> CodeBases:
    """Open the code bases of a run; each folder once."""
    readable_bases: list[CodeBase] = []
    problems: list[Problem] = []
    settings = {path: setting for setting, path in reversed(_code_folders(run).items())}
    for path, name in _unique_names(reversed(settings)).items():
        try:
            readable_bases.append(code_base.open_code_base(path, run.store.root, name))
        except UnreadableCodeError as error:
            problems.append(_skipped_problem(settings[path], str(error)))
    return CodeBases(readable_bases, problems)


def ask_readable(
    bases: CodeBases, question: Callable[[Sequence[CodeBase]], _Answer]
) -> tuple[CodeBases, _Answer]:
    """Ask the code bases a question; return the bases that were readable, and the answer."""
    while True:
        try:
            return bases, question(bases.readable)
        except UnreadableCodeError as error:
            readable = [base for base in bases.readable if base.name != error.name]
            bases = CodeBases(readable, [*bases.problems, _skipped_problem(error.name, str(error))])


def versions(run: Run) -> dict[str, str]:
    """Map each code base, as vault.yaml names it, to its commit, or to "" without git."""
    commits: dict[str, str] = {}
    for name, path in _code_folders(run).items():
        try:
            commits[name] = code_base.committed_version(path)
        except (GitError, OSError):
            commits[name] = _UNREADABLE_VERSION
    return commits


def _code_folders(run: Run) -> dict[str, Path]:
    if run.options.code:
        return {str(path): layout.real_path(path) for path in run.options.code}
    return {name: layout.real_path(run.store.root / name) for name in run.policy.capture.code}


def _unique_names(folders: Iterable[Path]) -> dict[Path, str]:
    depths = dict.fromkeys(folders, 1)
    while True:
        names = {folder: "-".join(folder.parts[-depth:]) for folder, depth in depths.items()}
        counts = Counter(names.values())
        new_depths = {
            folder: depth + 1
            for folder, depth in depths.items()
            if counts[names[folder]] > 1 and depth < len(folder.parts)
        }
        if not new_depths:
            return names
        depths |= new_depths


def _skipped_problem(name: str, reason: str) -> Problem:
    message = f"code base not searched: {reason}"
    return Problem(name, "capture.code", "not-asked", message)


# ── evidence in code ─────────────────────────────────────────────────────────────────


class RuleEvidence(Struct, frozen=True):
    """A rule with its search terms and its evidence in code."""

    rule: str
    terms: Terms
    evidence: CodeEvidence

    @property
    def key(self) -> str:
        """The key that rules with the same meaning share."""
        return rule_key(self.rule)


def evidence_of(
    bases: Sequence[CodeBase], scopes: Mapping[str, tuple[str, ...]], policy: CapturePolicy
) -> dict[str, RuleEvidence]:
    """Return the evidence of rules in code, by rule key.

    `scopes` maps the text of each rule to the file patterns in which the rule holds.
    """
    evidence: dict[str, RuleEvidence] = {}
    for scope in dict.fromkeys(scopes.values()):
        rules = [rule for rule, patterns in scopes.items() if patterns == scope]
        terms_by_rule = {rule: search_terms(rule) for rule in rules}
        all_terms = (term for terms in terms_by_rule.values() for term in terms.all)
        occurrences = code_base.search_code(bases, all_terms, scope)
        for rule, terms in terms_by_rule.items():
            support = rule_evidence(terms, occurrences.files, occurrences.searched, policy)
            evidence[rule_key(rule)] = RuleEvidence(rule, terms, support)
    return evidence


def find_support(
    bases: Sequence[CodeBase], evidence: Mapping[str, RuleEvidence]
) -> dict[str, CodeSupport]:
    """Return the support of rules in code, by rule key, without rules that forbid something."""
    positive_rules = [rule for rule in evidence.values() if rule.terms.polarity == "positive"]
    lines = _find_lines(bases, [rule for rule in positive_rules if rule.evidence.is_enough])
    line_counts = {key: sum(map(len, files.values())) for key, files in lines.items()}
    return {
        rule.key: CodeSupport(rule.evidence, line_counts.get(rule.key, 0), _stamps_of(bases, rule))
        for rule in positive_rules
    }


def find_broken_rules(
    bases: Sequence[CodeBase], evidence: Mapping[str, RuleEvidence]
) -> list[BrokenRule]:
    """Return the rules that code breaks, with the lines that break them."""
    negative_rules = (rule for rule in evidence.values() if rule.terms.polarity == "negative")
    broken_rules = [rule for rule in negative_rules if rule.evidence.files]
    lines = _find_lines(bases, broken_rules)
    rules: list[BrokenRule] = []
    for rule in broken_rules:
        files = lines[rule.key]
        places = [f"{path}:{line}" for path in sorted(files) for line in files[path]]
        if len(places) > _MAX_PLACES:
            places[_MAX_PLACES:] = [f"{len(places) - _MAX_PLACES} more"]
        rules.append(BrokenRule(rule.rule, tuple(places)))
    return rules


def _find_lines(
    bases: Sequence[CodeBase], rules: Iterable[RuleEvidence]
) -> dict[str, dict[str, list[int]]]:
    return code_base.lines_of(
        bases, {rule.key: (rule.evidence.terms, rule.evidence.files) for rule in rules}
    )


def _stamps_of(bases: Sequence[CodeBase], rule: RuleEvidence) -> str:
    if len(bases) == 1:
        return bases[0].stamp
    names = {path.partition("/")[0] for path in rule.evidence.files}
    return ", ".join(base.stamp for base in bases if base.name in names)
