"""The charts, drawn by matplotlib: the lift of each skill, success over time. The one home of it.

A chart is an SVG whose texts are texts. In a page its colours are those of the page's theme.
"""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from skillvault.errors import UsageError
from skillvault.text import shorten

try:
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import PercentFormatter
except ImportError:
    raise UsageError("charts need an extra; run `pip install 'skillvault-git[report]'`") from None

if TYPE_CHECKING:
    from skillvault.learning.effect.verdict import Verdict
    from skillvault.learning.stats import SkillStats
    from skillvault.steps.page.benefit import Rate, Span

_INK, _SOFT, _LINE, _PAPER = "#1c2430", "#52606d", "#d5d9de", "#fffffe"
_GOOD, _BAD, _OPEN = "#0a6b40", "#a8200d", "#4b5a68"
# A verdict is told by its mark as well as by its colour.
_MARKS: "Mapping[Verdict, tuple[str, str]]" = {
    "helps": ("o", _GOOD),
    "open": ("D", _OPEN),
    "hurts": ("s", _BAD),
}
_THEME = {
    _INK: "var(--ink)", _SOFT: "var(--soft)", _LINE: "var(--line)", _PAPER: "none",
    _GOOD: "var(--good)", _BAD: "var(--bad)", _OPEN: "var(--open)",
}  # fmt: skip
_INCH = 72  # points, which are the pixels of an SVG
_WIDTH = 760
_LETTERS = 46  # of a name
_SETTINGS: Any = {
    "svg.fonttype": "none", "font.size": 11, "text.color": _INK, "axes.edgecolor": _SOFT,
    "axes.labelcolor": _INK, "xtick.color": _SOFT, "ytick.color": _INK, "text.parse_math": False,
    "axes.facecolor": _PAPER, "figure.facecolor": _PAPER, "legend.frameon": False,
}  # fmt: skip
_SVG = "http://www.w3.org/2000/svg"
_HREF = "{http://www.w3.org/1999/xlink}href"
_PLACE = re.compile(r"url\(#(.*)\)")


def lifts(title: str, skills: "Sequence[SkillStats]") -> bytes:
    """An SVG of the skills that have a lift, a line each, the worst at the bottom.

    `skills` are those with a lift and an interval.
    """
    rows = sorted(skills, key=lambda skill: (skill.lift or 0.0, skill.skill))
    height = 96 + 24 * len(rows)
    with mpl.rc_context(_SETTINGS):
        figure = Figure(figsize=(_WIDTH / _INCH, height / _INCH), dpi=_INCH, layout="constrained")
        axes = figure.add_subplot()
        for place, skill in enumerate(rows):
            _draw_lift(axes, skill, place)
        axes.axvline(0, color=_INK, linewidth=1, zorder=1)
        axes.set_yticks(range(len(rows)), [shorten(skill.skill, _LETTERS) for skill in rows])
        axes.set_ylim(-0.7, len(rows) - 0.3)
        axes.set_xlabel("lift: change of the rate of success, with its 95 % interval")
        _add_legend(axes, [_mark_of(verdict) for verdict in _MARKS])
        _frame(axes, "x")
        titles = {f"skill-{n}": f"{s.skill}: {s.decision}" for n, s in enumerate(rows)}
        return _svg(figure, title, titles)


def _draw_lift(axes: Any, skill: "SkillStats", place: int) -> None:
    mark, colour = _MARKS[skill.verdict]
    low, high = skill.interval or (0.0, 0.0)
    axes.plot([low, high], [place, place], color=colour, linewidth=2, solid_capstyle="butt")
    (point,) = axes.plot([skill.lift or 0.0], [place], mark, color=colour, markersize=7)
    point.set_gid(f"skill-{place}")


def _mark_of(verdict: "Verdict") -> Line2D:
    mark, colour = _MARKS[verdict]
    return Line2D([], [], color=colour, marker=mark, linewidth=2, label=verdict)


def success(title: str, spans: "Sequence[Span]") -> bytes:
    """An SVG of the rate of success over time, with a skill and without."""
    with mpl.rc_context(_SETTINGS):
        figure = Figure(figsize=(_WIDTH / _INCH, 250 / _INCH), dpi=_INCH, layout="constrained")
        axes = figure.add_subplot()
        lines = [
            _draw_rates(axes, spans, [span.applied for span in spans], ("o", "-", _GOOD, "with")),
            _draw_rates(axes, spans, [span.bare for span in spans], ("D", "--", _OPEN, "without")),
        ]
        axes.set_ylim(-0.04, 1.04)
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        locator: Any = AutoDateLocator(minticks=3, maxticks=8)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
        _add_legend(axes, lines)
        _frame(axes, "y")
        return _svg(figure, title, {})


def _draw_rates(
    axes: Any, spans: "Sequence[Span]", rates: "Sequence[Rate]", look: tuple[str, Any, str, str]
) -> Line2D:
    """A line over the spans in which anything ended; the larger a mark, the more did."""
    mark, dash, colour, name = look
    told = [
        (span.start + timedelta(days=span.days) / 2, rate)
        for span, rate in zip(spans, rates, strict=True)
        if rate.count
    ]
    most = max((rate.count for _, rate in told), default=1)
    places = [at for at, _ in told]
    shares = [rate.share or 0.0 for _, rate in told]
    sizes = [16 + 60 * rate.count / most for _, rate in told]
    axes.plot(places, shares, dash, color=colour, linewidth=1.6)
    axes.scatter(places, shares, sizes, color=colour, marker=mark, zorder=3)
    return Line2D([], [], color=colour, marker=mark, linestyle=dash, label=f"{name} a skill")


def _add_legend(axes: Any, lines: Sequence[Line2D]) -> None:
    axes.legend(handles=lines, loc="lower right", bbox_to_anchor=(1, 1), ncols=len(lines))


def _frame(axes: Any, grid: str) -> None:
    """Only what leads the eye."""
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(length=0)
    axes.grid(axis=grid, color=_LINE, linewidth=0.8)
    axes.set_axisbelow(True)


# ── the SVG ──────────────────────────────────────────────────────────────────────────


def _svg(figure: Figure, title: str, titles: Mapping[str, str]) -> bytes:
    """The figure with a title, and one of each part by its id; the same of the same, always."""
    drawn = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": title}):
        FigureCanvasSVG(figure).print_svg(drawn, metadata=dict.fromkeys(("Date", "Creator")))
    ET.register_namespace("", _SVG)
    root = ET.fromstring(drawn.getvalue())  # noqa: S314 (our own)
    for metadata in root.findall(f"{{{_SVG}}}metadata"):
        root.remove(metadata)
    root.set("role", "img")
    root.set("aria-label", title)
    _add_title(root, title)
    for group in root.iter(f"{{{_SVG}}}g"):
        if (text := titles.get(group.get("id", ""))) is not None:
            _add_title(group, text)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _add_title(place: ET.Element, text: str) -> None:
    title = ET.Element(f"{{{_SVG}}}title")
    title.text = text
    place.insert(0, title)


def for_page(svg: bytes) -> str:
    """A chart as part of a page: in the colours of its theme, without a style of its own."""
    root = ET.fromstring(svg)  # noqa: S314 (our own)
    used = set(_names_used(root))
    for parent in [*root.iter()]:
        for child in [*parent]:
            if child.tag == f"{{{_SVG}}}style":
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
        if element.get("id") not in used:
            element.attrib.pop("id", None)
        if (target := element.attrib.pop(_HREF, None)) is not None:
            element.set("href", target)
        for name, value in _looks(element.attrib.pop("style", "")):
            element.set(name, value)
    root.set("stroke-linejoin", "round")
    for size in ("width", "height"):
        root.attrib.pop(size, None)
    return ET.tostring(root, encoding="unicode")


def _names_used(root: ET.Element) -> Iterator[str]:
    """The ids that something refers to."""
    for element in root.iter():
        for name, value in element.attrib.items():
            if name == _HREF:
                yield value.removeprefix("#")
            elif match := _PLACE.search(value):
                yield match[1]


def _looks(style: str) -> Iterator[tuple[str, str]]:
    """The declarations of a style as attributes, which no policy forbids."""
    for declaration in filter(None, style.split(";")):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name == "font":
            size = re.search(r"[\d.]+px", value)
            yield "font-size", size[0] if size else "11px"
        else:
            yield name, _THEME.get(value, value)
