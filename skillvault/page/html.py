"""The page of a vault as one HTML file: nothing in it asks for anything outside of it.

A policy in the file lets only its own style and script run.
"""

from base64 import b64encode
from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import msgspec
from markupsafe import Markup

from skillvault.page import chart, payload
from skillvault.page.template import render
from skillvault.steps.page.page import Page
from skillvault.steps.page.week import EVENTS, Happened

_WEEK = timedelta(days=7)
_FOLDER = Path(__file__).parent
_DRAWN = 40  # lifts of a chart
_LISTED = 20  # things of one event that are listed


def html_of(page: Page, *, is_served: bool = False) -> bytes:
    """The page as a file. `is_served`: its script asks its server whether the branch has moved."""
    chunks = payload.chunks_of(page)
    style, script = _own_file("page.css"), _own_file("page.js")
    text = render(
        "page.html",
        page=page,
        week=page.week,
        period="this week" if page.week.until - page.week.since == _WEEK else "in these days",
        benefit=page.benefit,
        status=page.status,
        events=EVENTS,
        by_event={event: _listed(page, event) for event in EVENTS},
        learned=learned_first(page),
        chunks=chunks,
        firsts=Markup(_inline(payload.firsts(chunks))),  # noqa: S704 (`<` is escaped in it)
        style=Markup(style),  # noqa: S704 (a file of the package)
        script=Markup(script),  # noqa: S704 (a file of the package)
        policy=_policy(style, script, is_served=is_served),
        is_served=is_served,
        lifts=_lifts(page),
        success=_success(page),
        drawn=_DRAWN,
        stats={skill.skill: skill for skill in page.benefit.skills},
    )
    return text.encode("utf-8", "replace")


def _lifts(page: Page) -> Markup | None:
    """The lifts, those of the best and the worst of many; None if none is known."""
    measured = page.benefit.measured
    if len(measured) > _DRAWN:
        measured = [*measured[: _DRAWN // 2], *measured[-_DRAWN // 2 :]]
    if not measured:
        return None
    return chart.lifts("The lift of each skill", measured, chart.IN_PAGE)


def _success(page: Page) -> Markup | None:
    """Success over time; None as long as no decision applied a skill, or all ended at once."""
    spans = page.benefit.spans
    if not page.benefit.applied.count or len(spans) < 2:
        return None
    title = "Success over time, with a skill and without"
    return chart.success(title, spans, chart.IN_PAGE)


def learned_first(page: Page) -> Sequence[Happened]:
    """What happened, what is new before what only became firmer."""
    order = ("learned", "merged", "proposed", "retired", "refreshed", "contradicted")
    rank = {event: place for place, event in enumerate(order)}
    return sorted(page.week.happened, key=lambda entry: rank.get(entry.event, len(order)))


def _listed(page: Page, event: str) -> tuple[list[Happened], int]:
    """(what is listed of an event, how many more there are)."""
    entries = [entry for entry in page.week.happened if entry.event == event]
    return entries[:_LISTED], max(0, len(entries) - _LISTED)


def _policy(style: str, script: str, *, is_served: bool) -> str:
    """What a browser may do with the file: run its script, use its style, and nothing else."""
    ours = [b64encode(sha256(text.encode()).digest()).decode() for text in (style, script)]
    asks = "'self'" if is_served else "'none'"
    return (
        f"default-src 'none'; style-src 'sha256-{ours[0]}'; script-src 'sha256-{ours[1]}'; "
        f"img-src data:; connect-src {asks}; base-uri 'none'; form-action 'none'"
    )


def _inline(value: object) -> str:
    """JSON that stands in HTML: no end of a script can be in it."""
    text = msgspec.json.encode(value).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _own_file(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
