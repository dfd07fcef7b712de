"""The input and output values of the estimate of a skill's effect; `estimate` computes them."""

import math
from typing import Literal, NamedTuple

from msgspec import Struct

Offer = Literal["shown", "held", ""]
Column = tuple[str, int]  # a skill, and which version of its text, from 0

UNSEEN = 0.25  # how likely a shown skill was applied that the reasoning does not name


class Observation(Struct, frozen=True, gc=False):  # in no cycle, and there are a million
    """The part of one skill in one closed decision.

    `offer` says if the skill was `shown` or `held` out, "" for neither. `weight` (0..1) is the
    certainty that it was applied. `group` is the action and target, `made` the time in microseconds
    since 1970. Decisions of one `episode` share their luck; "" is no episode.
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
    """The decisions on one action and target: their number, successes and weights.

    `weights` are by index: first those of the columns, then those of their offers.
    """

    count: int
    successes: int
    weights: dict[int, float]


class Sums(Struct, frozen=True):
    """The sums of a domain's decisions that the estimate needs; columns count from 0.

    The index of a column is its number for its uses, and its number plus the number of columns for
    its offers. `firsts`, `seconds` and `weights` are arrays as bytes: two indices, and the sum of
    their products over the decisions. `hits` are the weights of the successes. `shared` is the
    factor of a column's variance because episodes share luck. `latest` is (precision, effect) of
    the latest uses alone, (0, 0) without earlier ones. `changed` is the variance by which an effect
    may have changed.
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

    `latest` is the effect of the latest applications; None if there are no earlier ones.
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
        """The effect of all applications."""
        return Effect(self.lift, self.error)

    @property
    def recent(self) -> Effect:
        """The effect of the latest applications, or of all if there are no earlier ones."""
        return self.latest or self.all_time

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the effect."""
        return self.lift - 1.96 * self.error, self.lift + 1.96 * self.error

    def chance_of_none(self, scale: float, looks: int) -> float:
        """Return the chance that a skill without effect looks so strong at one of its looks.

        Few looks share the chance: look k has 1/k(k+1) of it (Lan and DeMets 1983). For any number
        of looks, the mixture bound of Robbins 1970 (with Ville 1939) holds, if effects spread by
        `scale`. The ratio is by Savage and Dickey.
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
    latest: tuple[float, float]  # the precision and the effect of the latest applications
    changed: float  # the variance by which the effect may have changed
