"""Find runs that repaired the failure of the run before them in their session."""

from skillvault.model.decision_outcomes import NEXT_WORDS
from skillvault.model.reaction import read_reaction
from skillvault.model.records import Outcome

_MIN_WORDS = 3  # words of a complaint that says something
_CHECKERS = ("exit-code", "tests", "ci", "verifier")


def words_of(outcome: Outcome) -> str:
    """Return the next words of a person if they reject the outcome or state a rule, else ""."""
    result = outcome.result
    if result.next_words or result.status != "failure":
        return result.next_words
    is_quotation = result.summary.startswith(NEXT_WORDS)
    return result.summary.removeprefix(NEXT_WORDS) if is_quotation else ""


def is_repair(failure: Outcome, repair: Outcome) -> bool:
    """Return True if the next prompt was about the failure, and its result was observed."""
    statuses = failure.result.status, repair.result.status
    if statuses != ("failure", "success") or repair.observer == "agent":
        return False
    if words := words_of(failure):
        is_telling = len(words.split()) >= _MIN_WORDS or bool(read_reaction(words).rules)
        task = repair.decision.task
        length = min(len(task), len(words))
        is_start = bool(length) and task[:length].split() == words[:length].split()
        return is_telling and is_start
    command = failure.result.summary.split("`")[1:2]
    return failure.observer in _CHECKERS and command == repair.result.summary.split("`")[1:2]
