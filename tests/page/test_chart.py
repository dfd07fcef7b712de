"""The charts: marks and colours, a legend, texts that are texts, nothing that runs."""

import re
from datetime import UTC, datetime, timedelta
from xml.etree.ElementTree import Element, fromstring

import pytest

from skillvault.inspect.page import Rate, Span
from skillvault.learning.skill_stats import SkillStats
from skillvault.model.text.hidden_characters import escape_hidden
from skillvault.page import chart
from tests.page.test_html import hostile

SVG = "{http://www.w3.org/2000/svg}"
START = datetime(2026, 11, 1, tzinfo=UTC)


def measured(skill: str, lift: float, verdict: str) -> SkillStats:
    return SkillStats(
        skill=skill,
        kind="warning",
        domain="coding",
        status="testing",
        verdict=verdict,  # type: ignore[arg-type] # of a table
        decision="testing: as the test says",
        selection="known",
        trial=None,
        next_trial=None,
        is_trial=False,
        earlier=[],
        merged=[],
        times_applied=9,
        success_count=5,
        failure_count=4,
        success_rate=5 / 9,
        consecutive_failures=0,
        ema=None,
        wilson=0.3,
        last_applied=None,
        overruled=0,
        shown=9,
        held_out=0,
        lift=lift,
        interval=(lift - 0.1, lift + 0.1),
        p_helps=0.5,
    )


SKILLS = [measured("a", 0.2, "helps"), measured("b", 0.0, "open"), measured("c", -0.2, "hurts")]
SPANS = [Span(START + timedelta(days=n), 1, Rate(n, n + 1), Rate(1, 2)) for n in range(9)]
PICTURES = [
    chart.lifts("Lifts", SKILLS, chart.IN_PAGE),
    chart.success("Rates", SPANS, chart.IN_PAGE),
]


def elements(picture: str, tag: str) -> list[Element]:
    return [*fromstring(picture).iter(f"{SVG}{tag}")]  # noqa: S314 (our own)


def rows(picture: str) -> list[Element]:
    """The parts of a chart that stand for a skill each."""
    return [group for group in elements(picture, "g") if group.find(f"{SVG}title") is not None]


def test_a_verdict_has_a_mark_of_its_own_as_well_as_a_colour() -> None:
    skills = rows(chart.lifts("Lifts", SKILLS))
    assert len({skill.findall(f"{SVG}path")[1].get("d") for skill in skills}) == 3
    assert len({skill.get("fill") for skill in skills}) == 3


def test_an_interval_lies_around_its_lift_and_the_worst_at_the_bottom() -> None:
    worst, *_, best = rows(chart.lifts("Lifts", SKILLS))
    line, mark = (path for path in worst.iter(f"{SVG}path"))
    low, y, high = re.findall(r"[\d.]+", line.get("d", ""))
    at = re.findall(r"[\d.]+", mark.get("transform", ""))
    assert float(low) < float(at[0]) < float(high)
    assert at[1] == y
    assert float(y) > float(re.findall(r"[\d.]+", best.findall(f"{SVG}path")[0].get("d", ""))[1])


@pytest.mark.parametrize("lift", [0.0, 1e-9, 0.04, -0.5, 0.9])
def test_an_axis_has_a_few_round_figures_and_zero(lift: float) -> None:
    picture = chart.lifts("Lifts", [measured("a", lift, "open")])
    texts = [text.text or "" for text in elements(picture, "text")]
    figures = [text for text in texts if re.fullmatch(r"[+−]\d\.\d\d|0", text)]
    assert "0" in figures
    assert 4 <= len(figures) == len(set(figures)) <= 9


@pytest.mark.parametrize("name", ["$x^2$-<b>", *hostile()])
def test_a_name_is_a_text_and_nothing_else(name: str) -> None:
    picture = chart.lifts(name, [measured(name, 0.1, "helps")])
    plain = chart.lifts("Lifts", [measured("a", 0.1, "helps")])
    assert [e.tag for e in fromstring(picture).iter()] == [e.tag for e in fromstring(plain).iter()]  # noqa: S314 (our own)
    assert elements(picture, "title")[0].text == escape_hidden(name)


def test_the_same_skills_are_drawn_the_same() -> None:
    assert chart.lifts("Lifts", SKILLS) == chart.lifts("Lifts", SKILLS[::-1])


def test_a_chart_says_what_it_is_to_who_does_not_see_it() -> None:
    for picture in PICTURES:
        root = fromstring(picture)  # noqa: S314 (our own)
        assert root.get("role") == "img"
        title, summary = [*root][:2]
        assert (title.tag, summary.tag) == (f"{SVG}title", f"{SVG}desc")
        assert title.text
        assert summary.text


def test_a_mark_over_time_tells_how_many_decisions_it_stands_for() -> None:
    titles = [title.text for title in elements(chart.success("Rates", SPANS), "title")]
    assert titles[1] == "2026-11-01: 0 % (0 of 1) succeeded with a lesson"
    assert titles[10] == "2026-11-01: 50 % (1 of 2) succeeded without a lesson"


@pytest.mark.parametrize("picture", PICTURES)
def test_in_a_page_a_chart_has_the_colours_of_the_theme_and_no_style(picture: str) -> None:
    assert "#" not in picture
    assert "var(--ink)" in picture
    assert not re.search("style|script|href| id=", picture)
