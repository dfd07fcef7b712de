"""How much evidence a fact has for it and against it: if it is told, and with which counts."""

from math import exp, lgamma, log

from skillvault.model.records import Fact

_LESSON = "its own lesson"  # what stands before a quoted lesson; other quotations are of a ground
_CHANCE = 0.05  # a ground that ended both ways is told below it


def is_contested(fact: Fact, runs: int, against: int) -> bool:
    """Return True if a fact is not told; a person's word is one run for it.

    As much is against it as for it, or it states a ground that ended either way as by chance.
    """
    if against >= runs + (fact.kind == "human"):
        return against > 0
    return against > 0 and _states_ground(fact) and not _leans(runs, against)


def told_text(fact: Fact, runs: int, against: int, *, is_counted: bool = False) -> str:
    """Return what a fact says, after the rate at which its runs ended so if some did not.

    `is_counted`: after their number, too, if all of several ended so.
    """
    if fact.kind == "human" or not (against or (is_counted and runs > 1)):
        return fact.text
    rate = f"{runs} of {runs + against}" if against else f"{runs}"
    return f"In {rate} runs: {fact.text}"


def _states_ground(fact: Fact) -> bool:
    statement = fact.text.partition("\n")[0]
    return fact.kind == "judge" and "“" in statement and _LESSON not in statement


def _leans(runs: int, against: int) -> bool:
    """Return True if a fair coin shows one side so often in fewer than one of 20 tries."""
    tries = runs + against
    of_all = lgamma(tries + 1) - tries * log(2)  # in logarithms, for 2**tries has no float
    chances = (exp(of_all - lgamma(n + 1) - lgamma(tries - n + 1)) for n in range(runs, tries + 1))
    return sum(chances) < _CHANCE
