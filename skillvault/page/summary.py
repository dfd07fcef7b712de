"""Write the week of a vault as Markdown for a comment or a chat.

Text of the vault is escaped, so that it cannot act as markup.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from skillvault.inspect.page import Benefit, Page
from skillvault.inspect.week import EVENTS
from skillvault.learning.skill_stats import SkillStats
from skillvault.model.text.hidden_characters import escape_hidden
from skillvault.model.text.text import flatten

_MAX_ENTRIES = 5  # entries listed for each event
_MARKUP = re.compile(r"([\\`*_\[\]<>#&|~!$])")
_ADDRESS = re.compile(r"(?i)\b(https?|ftp|mailto|www)([:.])")
_EVERYBODY = re.compile(r"@(?=\w)")


def markdown_of(page: Page) -> str:
    """Return the week as Markdown: stops, surprises, lessons, and the effect of skills."""
    return "\n".join(_summary_lines(page)) + "\n"


def _summary_lines(page: Page) -> Iterator[str]:
    week = page.week
    domain_note = f", domain {as_text(page.domain)}" if page.domain else ""
    period = f"{_iso_day(week.since)} to {_iso_day(week.until)}"
    yield f"## What {as_text(page.name)} learned, {period}{domain_note}"
    yield ""
    results = ", ".join(f"{count} {status}" for status, count in sorted(week.ended.items()))
    recorded = f"{week.recorded} recorded" + (f" ({results})" if results else "")
    counts = ", ".join(f"{count} {event}" for event, count in week.counts.items() if count)
    yield f"Outcomes: {recorded}, {week.evaluated} evaluated. Skills and facts: {counts or 'none'}."
    if page.stops:
        yield from ("", "### Stop doing, and do instead", "")
        for stop in page.stops[:_MAX_ENTRIES]:
            failed = f" ({stop.failures} of {stop.count} failed)" if stop.count else ""
            yield f"- {as_text(stop.deed)}: {as_text(stop.result)}{failed}"
            if stop.instead:
                yield f"  - instead: {as_text(stop.instead)}"
        yield from _more(len(page.stops))
    if week.surprises:
        yield from ("", "### Surprises", "")
        for surprise in week.surprises[:_MAX_ENTRIES]:
            reason = f": {as_text(surprise.why)}" if surprise.why else ""
            title = f"**{as_text(surprise.about)}** {as_text(surprise.title)}"
            yield f"- {title}{reason} (`{surprise.outcome}`)"
        yield from _more(len(week.surprises))
    for event in EVENTS:
        entries = [entry for entry in week.happened if entry.event == event]
        if entries:
            yield from ("", f"### {event.capitalize()} ({len(entries)})", "")
            for entry in entries[:_MAX_ENTRIES]:
                reason = f" – {as_text(entry.why)}" if entry.why else ""
                yield f"- **{as_text(entry.what)}**{reason} ({entry.commit})"
            yield from _more(len(entries))
    yield from ("", "### Does it help?", "")
    yield from _benefit_lines(page.benefit)


def _more(count: int) -> Iterator[str]:
    if count > _MAX_ENTRIES:
        yield f"- and {count - _MAX_ENTRIES} more"


def _benefit_lines(benefit: Benefit) -> Iterator[str]:
    yield benefit.sentence
    if measured := benefit.measured:
        yield from ("", "| skill | effect | 95 % | uses | what follows |")
        yield "| --- | ---: | ---: | ---: | --- |"
        best, worst = measured[:_MAX_ENTRIES], measured[_MAX_ENTRIES:][-_MAX_ENTRIES:]
        yield from map(_lift_line, [*best, *worst])


def _lift_line(skill: SkillStats) -> str:
    low, high = skill.interval or (0.0, 0.0)
    numbers = f"{skill.lift:+.3f} | {low:+.2f} to {high:+.2f} | {skill.times_applied}"
    return f"| {as_text(skill.skill)} | {numbers} | {as_text(skill.decision)} |"


def _iso_day(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d")


def as_text(text: str) -> str:
    """Escape foreign text to one line of Markdown without markup, links, tags or mentions."""
    line = _MARKUP.sub(r"\\\1", flatten(escape_hidden(text)))
    return _EVERYBODY.sub("@ ", _ADDRESS.sub(r"\1\\\2", line))
