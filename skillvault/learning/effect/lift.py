"""Values of the estimate of a skill's effect: observations and sums go in, lifts come out.

`estimate` computes the sums and the lifts; the index stores both.
"""

import math
from typing import Literal, NamedTuple

from msgspec import Struct

Offer = Literal["shown", "held", ""]
Column = tuple[str, int]  # a skill, and the number of its version, from 0

UNSEEN = 0.25  # probability that an agent applied a shown skill that its reasoning does not name


class Observation(Struct, frozen=True, gc=False):  # in no cycle, and there are a million
    """The role of one skill in one closed decision.

    `group` is the action and target. `made` is the time in microseconds since 1970. `weight` is
    the probability that the skill was applied, or negative if the skill was overruled. `offer` is
    "" if the skill was neither shown nor held out. Decisions of one `episode` share their luck;
    a decision of no episode has "".
    """

    decision: str
    skill: str
    group: str
    success: bool
    made: int
    applied: bool
    weight: float
    offer: Offer = ""
    episode: str = ""


class DecisionGroup(Struct, frozen=True):
    """The decisions on one action and target.

    `weights` maps an index to the sum of its weights. For the indices see `Sums`.
    """

    count: int
    successes: int
    weights: dict[int, float]


class Sums(Struct, frozen=True):
    """The sums of a domain's decisions that the estimate needs.

    With n columns, index i (0..n-1) stands for the uses of column i, and n + i for its offers.
    `firsts`, `seconds` and `weights` are arrays as bytes: two indices, and the sum over the
    decisions of the product of both. `hits` has the sum of the weights in successful decisions, by
    index. The others have one item for each column: `shared` is the factor of the variance because
    episodes share luck, `latest` the (precision, effect) of the latest uses or (0, 0) if there are
    no earlier uses, and `changed` the variance by which the effect may have changed. `noise` is
    the variance of one result.
    """

    columns: tuple[Column, ...] = ()
    firsts: bytes = b""
    seconds: bytes = b""
    weights: bytes = b""
    hits: tuple[float, ...] = ()
    groups: tuple[DecisionGroup, ...] = ()
    shared: tuple[float, ...] = ()
    latest: tuple[tuple[float, float], ...] = ()
    changed: tuple[float, ...] = ()
    noise: float = 0.0


class Effect(NamedTuple):
    """An effect on the rate of success, a fraction, and its standard error."""

    lift: float
    error: float

    @property
    def helps(self) -> float:
        """The probability that the effect is positive."""
        return 0.5 * math.erfc(-self.lift / (self.error * math.sqrt(2)))


class Lift(Struct, frozen=True):
    """An effect on the rate of success, a fraction, with its standard error and the base rate.

    `latest` is the effect of the latest uses, or None if there are no earlier uses.
    """

    lift: float
    error: float
    base: float
    latest: Effect | None = None

    @property
    def helps(self) -> float:
        """The probability that the effect is positive."""
        return self.all_time.helps

    @property
    def all_time(self) -> Effect:
        """The effect of all uses."""
        return Effect(self.lift, self.error)

    @property
    def recent(self) -> Effect:
        """The effect of the latest uses, or of all uses if there are no earlier uses."""
        return self.latest or self.all_time

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the effect."""
        return self.lift - 1.96 * self.error, self.lift + 1.96 * self.error

    def chance_of_none(self, scale: float, looks: int) -> float:
        """Return the probability that a skill without effect would seem this strong.

        The skill was judged `looks` times, and each look is another chance to err. The result is
        the smaller of two bounds. One gives look k 1/k(k+1) of the chance (Lan and DeMets 1983).
        The other is the mixture bound of Robbins 1970, for effects with standard deviation
        `scale`; its ratio is by Savage and Dickey.
        """
        score = abs(self.lift) / self.error
        tail_chance = Effect(score, 1.0).helps
        odds = math.log(2 * tail_chance * self.error / scale) + score * score / 2
        return min(1.0, looks * (looks + 1) * (1 - tail_chance), math.exp(-odds))


class DomainEffect(NamedTuple):
    """The effect of a column in one domain, the base rate, and the weight of its decisions."""

    mean: float
    variance: float
    base: float
    weight: float
    latest: tuple[float, float]  # the precision and the effect of the latest uses
    changed: float  # the variance by which the effect may have changed
