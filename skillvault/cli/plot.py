"""The lifts of a domain's skills as a picture: one line a skill, worst to best, with intervals."""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from skillvault.text import shorten

if TYPE_CHECKING:
    from skillvault.learning.effect.stats import SkillStats

_NAME, _PLOT, _NUMBERS = 320, 480, 220  # widths, in pixels
_COLUMNS = tuple(_NAME + _PLOT + right for right in (60, 140, 200))  # where the numbers end
_ROW, _TOP, _BOTTOM = 26, 64, 56
_LETTERS = 44  # of a name
_INK, _PALE = "#1f2933", "#cbd2d9"
_COLORS = {"helps": "#0b7a4b", "hurts": "#b42318", "open": "#52606d"}
_STEPS = (0.05, 0.1, 0.2, 0.25, 0.5, 1.0)


def svg(title: str, skills: Sequence["SkillStats"]) -> bytes:
    """An SVG of the skills that have a lift."""
    rows = sorted((s for s in skills if s.lift is not None), key=lambda s: (s.lift, s.skill))
    width, height = _NAME + _PLOT + _NUMBERS, _TOP + _ROW * max(1, len(rows)) + _BOTTOM
    picture = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width} {height}",
            "width": str(width),
            "height": str(height),
            "font-family": "system-ui, sans-serif",
            "font-size": "13",
        },
    )
    SubElement(picture, "rect", {"width": "100%", "height": "100%", "fill": "white"})
    _text(picture, title, 16, 26, size=17)
    _text(picture, "each skill's lift and its 95 % interval", 16, 46, fill=_COLORS["open"])
    for heading, x in zip(("lift", "P(lift > 0)", "uses"), _COLUMNS, strict=True):
        _text(picture, heading, x, 46, fill=_COLORS["open"], anchor="end")
    reach = max([0.1, *(abs(end) for s in rows for end in s.interval or ())])
    _axis(picture, reach, height)
    for i, skill in enumerate(rows):
        _line(picture, skill, reach, _TOP + _ROW * i + _ROW // 2)
    if not rows:
        _text(picture, "no skill has a lift yet", _NAME, _TOP + 18)
    indent(picture)
    drawn: bytes = tostring(picture, encoding="utf-8", xml_declaration=True)
    return drawn + b"\n"


def _x(value: float, reach: float) -> float:
    return round(_NAME + _PLOT * (value / reach + 1) / 2, 1)


def _axis(picture: Element, reach: float, height: int) -> None:
    step = next((s for s in _STEPS if reach / s <= 4), _STEPS[-1])
    floor = height - _BOTTOM
    for n in range(-int(reach / step), int(reach / step) + 1):
        x = _x(n * step, reach)
        color = _INK if n == 0 else _PALE
        _stroke(picture, (x, _TOP - 4), (x, floor), color, 1)
        _text(picture, f"{n * step:+.2f}" if n else "0", x, floor + 18, anchor="middle")
    middle = _x(0, reach)
    _text(picture, "change of the rate of success", middle, floor + 40, anchor="middle")


def _line(picture: Element, skill: "SkillStats", reach: float, y: int) -> None:
    color = _COLORS[skill.verdict]
    low, high = skill.interval or (0.0, 0.0)
    group = SubElement(picture, "g")
    SubElement(group, "title").text = f"{skill.skill}: {skill.decision}"
    _text(group, shorten(skill.skill, _LETTERS), _NAME - 12, y + 4, anchor="end")
    _stroke(group, (_x(low, reach), y), (_x(high, reach), y), color, 2)
    place = {"cx": str(_x(skill.lift or 0.0, reach)), "cy": str(y)}
    SubElement(group, "circle", {**place, "r": "4.5", "fill": color})
    numbers = (f"{skill.lift:+.2f}", f"{skill.p_helps:.2f}", str(skill.times_applied))
    for number, x in zip(numbers, _COLUMNS, strict=True):
        _text(group, number, x, y + 4, fill=color, anchor="end")


def _stroke(
    place: Element, start: tuple[float, float], end: tuple[float, float], color: str, width: int
) -> None:
    names = ("x1", "y1", "x2", "y2")
    ends = dict(zip(names, map(str, (*start, *end)), strict=True))
    SubElement(place, "line", {**ends, "stroke": color, "stroke-width": str(width)})


def _text(place: Element, text: str, x: float, y: float, **style: str | int) -> None:
    attributes = {"x": str(x), "y": str(y), "fill": str(style.get("fill", _INK))}
    if "anchor" in style:
        attributes["text-anchor"] = str(style["anchor"])
    if "size" in style:
        attributes["font-size"] = str(style["size"])
    SubElement(place, "text", attributes).text = text
