"""Draw charts as SVG: the lift of each skill, and success over time.

The positions are computed here, and a template draws them. A chart contains no script and loads
nothing. Inside the page it uses the page's colours.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from math import ceil, floor, log10, sqrt
from typing import NamedTuple

from markupsafe import Markup

from skillvault.inspect.page import Rate, Span
from skillvault.learning.effect.verdict import Verdict
from skillvault.learning.skill_stats import SkillStats
from skillvault.page.template import render

IN_FILE: Mapping[str, str] = {
    "ink": "#1c2430", "soft": "#52606d", "line": "#d5d9de", "paper": "#ffffff",
    "good": "#0a6b40", "bad": "#a8200d", "open": "#4b5a68",
}  # fmt: skip
IN_PAGE: Mapping[str, str] = {name: f"var(--{name})" for name in IN_FILE} | {"paper": "none"}

_WIDTH, _MARGIN = 760, 24
_PHONE_WIDTH = 420
_TOP, _ROW_HEIGHT = 40, 24
_MAX_LETTERS, _LETTER_WIDTH = 46, 6.8  # letters of a name, pixels of a letter
_MAX_PARTS = 6  # about the most parts of an axis
_MAX_DATES = 4  # dates of an axis
_MIN_LIFT = 0.05  # the lift on either side of 0 that is always drawn
_CIRCLE = "M-1 0a1 1 0 1 0 2 0a1 1 0 1 0-2 0z"
_DIAMOND = "M0-1.3L1.3 0L0 1.3L-1.3 0z"
_SQUARE = "M-.9-.9h1.8v1.8h-1.8z"


class LegendEntry(NamedTuple):
    """An entry of the legend, with its text, its colour, and its mark as a path of radius 1."""

    label: str
    mark: str
    colour: str
    dash: str = "none"


# Each verdict has a mark of its own, for readers who cannot tell the colours.
_VERDICTS: Mapping[Verdict, LegendEntry] = {
    "helps": LegendEntry("seems to help", _CIRCLE, "good"),
    "open": LegendEntry("open", _DIAMOND, "open"),
    "hurts": LegendEntry("seems to hurt", _SQUARE, "bad"),
}
_WITH = LegendEntry("with a lesson", _CIRCLE, "good")
_WITHOUT = LegendEntry("without a lesson", _DIAMOND, "open", "6 4")


class Scale(NamedTuple):
    """The values from `low` to `high`, drawn on the pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)


class Point(NamedTuple):
    """The decisions that ended in a span of days, as a mark that grows with their number."""

    span: Span
    rate: Rate
    x: float
    y: float
    radius: float


def lifts(title: str, skills: Sequence[SkillStats], colours: Mapping[str, str] = IN_FILE) -> Markup:
    """Return an SVG with one line for the lift of each skill, the worst at the bottom.

    All `skills` must have a lift and an interval.
    """
    rows = sorted(skills, key=lambda skill: (skill.lift or 0.0, skill.skill))
    bounds = [end for skill in rows for end in skill.interval or ()]
    ticks = _ticks(min(-_MIN_LIFT, *bounds), max(_MIN_LIFT, *bounds))
    name_width = max(min(len(skill.skill), _MAX_LETTERS) for skill in rows) * _LETTER_WIDTH
    counts = Counter(skill.verdict for skill in rows)
    return render(
        "lifts.svg",
        title=title,
        summary=", ".join(f"{verdict}: {counts[verdict]}" for verdict in _VERDICTS),
        rows=rows,
        looks=_VERDICTS,
        legend=_VERDICTS.values(),
        ticks=ticks,
        x=Scale(ticks[0], ticks[-1], _MARGIN + name_width, _WIDTH - _MARGIN),
        y=Scale(-0.5, len(rows) - 0.5, _TOP + _ROW_HEIGHT * len(rows), _TOP),
        letters=_MAX_LETTERS,
        width=_WIDTH,
        height=_TOP + _ROW_HEIGHT * len(rows) + 46,
        colours=colours,
    )


def _ticks(low: float, high: float) -> list[float]:
    """Return round values at equal distances that cover the range from `low` to `high`."""
    distance = (high - low) / _MAX_PARTS
    power = 10.0 ** floor(log10(distance))
    step = next(step for step in (power, 2 * power, 5 * power, 10 * power) if step >= distance)
    return [number * step for number in range(floor(low / step), ceil(high / step) + 1)]


def success(title: str, spans: Sequence[Span], colours: Mapping[str, str] = IN_FILE) -> Markup:
    """Return an SVG of the rate of success over time, with a skill and without."""
    first, last = spans[0], spans[-1]
    length = timedelta(days=first.days)
    x = Scale(
        first.start.timestamp(), (last.start + length).timestamp(), 52, _PHONE_WIDTH - _MARGIN
    )
    y = Scale(0, 1, 180, _TOP)
    count = round((last.start - first.start) / length) + 1
    return render(
        "success.svg",
        title=title,
        summary=f"From {first.start:%Y-%m-%d} to {last.start:%Y-%m-%d}.",
        series={
            _WITH: _points(spans, [span.applied for span in spans], x, y),
            _WITHOUT: _points(spans, [span.bare for span in spans], x, y),
        },
        legend=(_WITH, _WITHOUT),
        days=[
            first.start + number * length for number in range(0, count, ceil(count / _MAX_DATES))
        ],
        x=x,
        y=y,
        width=_PHONE_WIDTH,
        height=210,
        colours=colours,
    )


def _points(spans: Sequence[Span], rates: Sequence[Rate], x: Scale, y: Scale) -> list[Point]:
    largest_count = max((rate.count for rate in rates), default=0)
    return [
        Point(
            span,
            rate,
            x.at((span.start + timedelta(days=span.days) / 2).timestamp()),
            y.at(rate.share or 0.0),
            round(2.5 + 2.5 * sqrt(rate.count / largest_count), 1),
        )
        for span, rate in zip(spans, rates, strict=True)
        if rate.count
    ]
