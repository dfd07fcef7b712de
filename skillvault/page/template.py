"""The templates of the page and of its charts. The one home of jinja2.

It escapes whatever stands in a vault, and shows characters that hide as escapes.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from skillvault.inspect.page import Rate
from skillvault.model.text.hidden_characters import escaped
from skillvault.model.text.text import how_many, lead, shorten


def render(name: str, **values: Any) -> Markup:
    """Return a template filled with these values."""
    return Markup(_environment().get_template(name).render(values))  # noqa: S704 (it escapes)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    formats: dict[str, Callable[..., str]] = {
        "percent": _percent, "signed": _signed, "day": _date, "minute": _minute, "rate": _rate_text,
        "number": _number, "plural": how_many, "first_words": lead, "shorten": shorten,
    }  # fmt: skip
    environment.filters.update(formats)
    return environment


def _visible(value: Any) -> Any:
    """A text without what hides; our own files as they are."""
    if isinstance(value, Markup):
        return value
    return escaped(value) if isinstance(value, str) else value


# ── how values read ──────────────────────────────────────────────────────────────────


def _percent(fraction: float | None, digits: int = 0) -> str:
    return "–" if fraction is None else f"{100 * fraction:.{digits}f} %"


def _signed(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:+.{digits}f}".replace("-", "−")


def _number(value: float) -> str:
    return f"{value:+,.6g}".replace("-", "−")


def _rate_text(rate: Rate) -> str:
    return (
        f"{_percent(rate.share)} ({rate.successes} of {rate.count})" if rate.count else "none yet"
    )


def _date(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d")


def _minute(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M")
