"""The charts: marks and colours, a legend, texts that are texts, nothing that a page forbids."""

from datetime import UTC, datetime, timedelta
from xml.etree.ElementTree import fromstring

import pytest

from skillvault.learning.stats import SkillStats
from skillvault.steps.page.benefit import Rate, Span

pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
from skillvault.page import chart

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


def test_a_verdict_has_a_mark_of_its_own_as_well_as_a_colour() -> None:
    picture = fromstring(chart.lifts("Lifts", SKILLS))  # noqa: S314 (our own)
    groups = {g.get("id"): g for g in picture.iter(f"{SVG}g")}
    uses = [next(groups[f"skill-{n}"].iter(f"{SVG}use")) for n in range(3)]
    marks = [use.get("{http://www.w3.org/1999/xlink}href") for use in uses]
    assert len(set(marks)) == 3
    assert len({use.get("style") for use in uses}) == 3


def test_a_name_is_a_text_and_no_formula() -> None:
    picture = chart.lifts("Lifts", [measured("$x^2$-<b>", 0.1, "helps")])
    texts = [text.text for text in fromstring(picture).iter(f"{SVG}text")]  # noqa: S314 (our own)
    assert "$x^2$-<b>" in texts


def test_the_same_skills_are_drawn_the_same() -> None:
    assert chart.lifts("Lifts", SKILLS) == chart.lifts("Lifts", SKILLS)


@pytest.mark.parametrize("picture", [chart.lifts("Lifts", SKILLS), chart.success("Rates", SPANS)])
def test_in_a_page_a_chart_has_no_style_of_its_own_and_no_id_twice(picture: bytes) -> None:
    made = chart.for_page(picture)
    assert "style" not in made
    assert "#1c2430" not in made  # but the theme's
    assert "var(--ink)" in made
    ids = [element.get("id") for element in fromstring(made).iter() if element.get("id")]  # noqa: S314 (our own)
    assert len(ids) == len(set(ids))
    assert all(f"#{name}" in made for name in ids)  # something refers to it


def test_two_charts_of_a_page_share_no_id() -> None:
    pictures = (chart.lifts("Lifts", SKILLS), chart.success("Rates", SPANS))
    first, second = (
        {element.get("id") for element in fromstring(chart.for_page(p)).iter()} - {None}  # noqa: S314 (our own)
        for p in pictures
    )
    assert not first & second
