"""Fill in the templates of the page and its charts. Only this module uses jinja2.

All texts of a vault are escaped, including hidden characters in them.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from skillvault.inspect.page import Rate
from skillvault.model.text.hidden_characters import escape_hidden
from skillvault.model.text.text import first_sentences, pluralize, shorten


def render(name: str, **values: Any) -> Markup:
    """Fill in a template with values."""
    return Markup(_environment().get_template(name).render(values))  # noqa: S704 (it escapes)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_make_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    formats: dict[str, Callable[..., str]] = {
        "percent": _percent, "signed": _signed_text, "day": _date, "minute": _minute,
        "rate": _rate_text, "number": _number, "plural": pluralize, "first_words": first_sentences,
        "shorten": shorten, "chance": _chance,
    }  # fmt: skip
    environment.filters.update(formats)
    return environment


def _make_visible(value: Any) -> Any:
    """Escape hidden characters in a text, except in the package's own files."""
    if isinstance(value, Markup):
        return value
    return escape_hidden(value) if isinstance(value, str) else value


# ── formats ──────────────────────────────────────────────────────────────────────────


def _percent(fraction: float | None, digits: int = 0) -> str:
    return "–" if fraction is None else f"{100 * fraction:.{digits}f} %"


def _signed_text(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:+.{digits}f}".replace("-", "−")


def _chance(value: float | None) -> str:
    """Format a probability with three digits. It is never 0 or 1."""
    if value is None:
        return "–"
    return "< 0.001" if value < 0.001 else "> 0.999" if value > 0.999 else f"{value:.3f}"


def _number(value: float) -> str:
    return f"{value:+,.6g}".replace("-", "−")


def _rate_text(rate: Rate) -> str:
    return (
        f"{_percent(rate.share)} ({rate.successes:,} of {rate.count:,})"
        if rate.count
        else "none yet"
    )


def _date(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d")


def _minute(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M")
