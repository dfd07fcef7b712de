"""Render the page of a vault as one HTML file with all details, which loads nothing.

A content security policy in the file permits only its own style and script.
"""

import gzip
import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from hashlib import sha256
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import msgspec
from markupsafe import Markup
from msgspec import Struct

from skillvault.inspect.page import Page, SkillPage
from skillvault.inspect.week import EVENTS, DayChange
from skillvault.model.records import IMPORTANCES, LEARNED, Evaluation, Fact, Outcome, stamp
from skillvault.model.text.hidden_characters import escape_hidden, has_hidden
from skillvault.page import chart
from skillvault.page.decisions import skill_digest, undo_digest, waiting_digest
from skillvault.page.template import render
from skillvault.vault.files import layout

MAX_BYTES = 1_000_000  # bytes of all chunks in the file
_MAX_TEXT = 4000  # the most characters of a text; fewer if there are many texts
_MIN_TEXT = 60  # characters of a text, however many texts there are
_MAX_ALL_TEXTS = 2_500_000  # characters of all texts of outcomes
_MAX_IDS = 48  # outcomes that a list of a record names
_MAX_NODES = 48  # origins and commits of a record
_MAX_CONTEXT = 40  # entries of the context of an outcome
_SAMPLE = 400  # outcomes from which the length of texts is estimated
_DECISION_TEXTS = ("action", "target", "task", "reasoning", "report")
_RESULT_TEXTS = ("claim", "summary", "answer", "evidence")
_ESCAPE = re.compile(rb"\\u00|\\[bfr]")  # a control character as JSON has it, or a backslash
_CHUNK_SIZES = {"skill": 40, "fact": 200, "outcome": 400}  # records


class Chunk(Struct, frozen=True):
    """Some records of one kind, with the first id, and the compressed data in base64."""

    kind: str
    first: str
    data: str


def chunks_of(page: Page, *, decides: bool = False) -> list[Chunk]:
    """Return the details of skills, facts and outcomes by id, at most `MAX_BYTES` bytes."""
    skills = _skill_data(page, decides=decides)
    chunks = [*_chunks("skill", skills), *_chunks("fact", _fact_data(page))]
    free_bytes = MAX_BYTES - _size(chunks)
    limit = min(_MAX_TEXT, max(_MIN_TEXT, _MAX_ALL_TEXTS // max(1, len(page.outcomes))))
    ids = list(page.outcomes)
    sample = ids[:: max(1, len(ids) // _SAMPLE)]
    sample_bytes = free_bytes * len(sample) / max(1, len(ids))
    while limit > _MIN_TEXT and _size(_outcome_chunks(page, sample, limit)) > sample_bytes:
        limit //= 2
    outcomes = _outcome_chunks(page, ids, limit)
    while limit > _MIN_TEXT and _size(outcomes) > free_bytes:
        limit //= 2
        outcomes = _outcome_chunks(page, ids, limit)
    return [*chunks, *outcomes]


def _outcome_chunks(page: Page, ids: Iterable[str], limit: int) -> list[Chunk]:
    """Return the chunks of outcomes, with texts of at most `limit` characters."""
    records = {
        key: _outcome_details(page, page.outcomes[key], page.evaluations.get(key), limit)
        for key in ids
    }
    return list(_chunks("outcome", records))


def _chunks(kind: str, records: Mapping[str, Any]) -> Iterator[Chunk]:
    ids, size = sorted(records), _CHUNK_SIZES[kind]
    for start in range(0, len(ids), size):
        part = {name: records[name] for name in ids[start : start + size]}
        content = msgspec.json.encode(part)
        if _ESCAPE.search(content) or has_hidden(content.decode()):
            content = msgspec.json.encode(_escape_texts(part))
        packed = gzip.compress(content, 6, mtime=0)
        yield Chunk(kind, ids[start], b64encode(packed).decode())


def _escape_texts(value: Any) -> Any:
    if isinstance(value, str):
        return escape_hidden(value)
    if isinstance(value, dict):
        return {key: _escape_texts(part) for key, part in value.items()}
    return [_escape_texts(part) for part in value] if isinstance(value, (list, tuple)) else value


def _size(chunks: Iterable[Chunk]) -> int:
    return sum(len(chunk.data) for chunk in chunks)


def _skill_data(page: Page, *, decides: bool) -> dict[str, Any]:
    applied: dict[str, list[str]] = defaultdict(list)
    for outcome, names in page.benefit.used.items():
        for name in names:
            applied[name].append(outcome)
    skills = {
        skill.name: _skill_details(skill, applied.get(skill.name, ())) for skill in page.skills
    }
    for skill in page.skills if decides else ():
        is_complete = escape_hidden(skills[skill.name]["text"]) == skill.skill.body
        if is_complete and skill.folder != "archive" and skill.name != LEARNED:
            skills[skill.name]["digest"] = skill_digest(page, skill)
    return skills


def _fact_data(page: Page) -> dict[str, Any]:
    return {
        name: {
            "text": _beginning(fact.text, _MAX_TEXT),
            "domain": fact.domain,
            "importance": fact.importance,
            "trust": fact.trust,
            "path": layout.fact_path(fact),
            "origins": page.origins[name][:_MAX_NODES],
        }
        for name, fact in page.facts.items()
    }


def _skill_details(skill_page: SkillPage, applied: Sequence[str]) -> dict[str, Any]:
    skill = skill_page.skill
    return {
        "title": skill_page.title,
        "text": _beginning(skill.body, 4 * _MAX_TEXT),
        "kind": skill.kind,
        "domain": skill.domain or "",
        "status": skill.status,
        "trust": skill.trust,
        "path": skill_page.path,
        "for": _first_ids(skill_page.sides.supporting),
        "against": _first_ids(skill_page.sides.against),
        "otherwise": _first_ids(skill_page.otherwise),
        "applied": _first_ids(applied),
        "origins": skill_page.origins[:_MAX_NODES],
        "history": [
            (c.commit, c.date, c.step, _beginning(c.subject, 200))
            for c in skill_page.history[:_MAX_NODES]
        ],
    }


def _first_ids(ids: Sequence[str]) -> tuple[int, Sequence[str]]:
    return len(ids), ids[:_MAX_IDS]


def _outcome_details(
    page: Page, outcome: Outcome, evaluation: Evaluation | None, limit: int
) -> dict[str, Any]:
    decision, result = outcome.decision, outcome.result
    context = islice(outcome.context.items(), _MAX_CONTEXT)
    details: dict[str, Any] = {
        "domain": outcome.domain,
        "at": stamp(outcome.occurred_at),
        "status": result.status,
        "trust": outcome.trust,
        "score": result.score,
        "amount": result.amount,
        "confidence": decision.confidence,
        "applied": page.benefit.used.get(outcome.id, ()),
        "context": [(_beginning(key, 60), _beginning(str(value), 80)) for key, value in context],
    }
    texts: dict[str, str | None] = {
        "unit": result.unit,
        "observer": result.observed_by,
        "agent": outcome.source.agent,
        "session": outcome.source.session,
        **{name: getattr(decision, name) for name in _DECISION_TEXTS},
        **{name: getattr(result, name) for name in _RESULT_TEXTS},
    }
    if outcome.lesson is not None:
        texts["lesson"] = outcome.lesson.do or outcome.lesson.when
    if evaluation is not None:
        texts |= {
            "insight": evaluation.key_insight,
            "better": evaluation.better_approach,
            "judge": evaluation.judge.name,
        }
        details |= {
            "good": evaluation.was_good_decision,
            "quality": evaluation.quality_score,
            "right": evaluation.judge_was_right,
        }
    details |= {key: _beginning(text, limit) for key, text in texts.items() if text}
    return {key: value for key, value in details.items() if value not in (None, "", (), [])}


def _beginning(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"


def first_ids(chunks: Sequence[Chunk]) -> dict[str, list[str]]:
    """Return the first id of each chunk by kind, in order."""
    return {kind: [c.first for c in chunks if c.kind == kind] for kind in _CHUNK_SIZES}


_WEEK = timedelta(days=7)
_STYLE = Path(__file__).with_name("page.css")
SCRIPT = _STYLE.with_name("page.js")
_MAX_LIFTS = 40  # lifts in a chart
_MIN_POINTS = 3  # points in a chart
_MAX_CHANGES = 120  # changes in the timeline
_MAX_ROWS = 100  # skills and facts of a domain, and effects


def html_of(page: Page, *, is_served: bool = False, decides: bool = False) -> bytes:
    """Return the page as a file. The script of a served page asks the server for changes.

    With `decides`, the page has forms for the decisions of a person.
    """
    chunks = chunks_of(page, decides=decides)
    style, script = (file.read_text(encoding="utf-8") for file in (_STYLE, SCRIPT))
    text = render(
        "page.html",
        page=page,
        week=page.week,
        period="this week" if page.week.until - page.week.since == _WEEK else "in these days",
        days=_days(page),
        lessons=_lessons(page),
        benefit=page.benefit,
        status=page.status,
        events=EVENTS,
        chunks=chunks,
        firsts=Markup(_inline(first_ids(chunks))),  # noqa: S704 (`<` is escaped in it)
        style=Markup(style),  # noqa: S704 (a file of the package)
        script=Markup(script),  # noqa: S704 (a file of the package)
        policy=_policy(style, script, is_served=is_served),
        is_served=is_served,
        decides=decides,
        waiting_digest=waiting_digest,
        undo_digest=undo_digest,
        lifts=_lifts(page),
        success=_success(page),
        drawn=_MAX_LIFTS,
        most_rows=_MAX_ROWS,
        stats={skill.skill: skill for skill in page.benefit.skills},
    )
    return text.encode("utf-8", "replace")


def _lifts(page: Page) -> Markup | None:
    """Return the chart of the best and worst lifts, or None for fewer than three lifts."""
    measured = page.benefit.measured
    if len(measured) > _MAX_LIFTS:
        measured = [*measured[: _MAX_LIFTS // 2], *measured[-_MAX_LIFTS // 2 :]]
    if len(measured) < _MIN_POINTS:
        return None
    return chart.lifts("The effect of each skill", measured, chart.IN_PAGE)


def _success(page: Page) -> Markup | None:
    """Return the chart of success over time, or None for fewer than three spans with skills."""
    spans = page.benefit.spans
    if sum(span.applied.count > 0 for span in spans) < _MIN_POINTS:
        return None
    title = "Success over time, with a lesson and without"
    return chart.success(title, spans, chart.IN_PAGE)


def _days(page: Page) -> list[tuple[date, list[DayChange]]]:
    changes = groupby(page.week.changes[:_MAX_CHANGES], lambda change: change.day)
    return [(day, list(day_changes)) for day, day_changes in changes]


def _lessons(page: Page) -> dict[str, tuple[list[SkillPage], list[Fact]]]:
    """Return (skills, most important facts) for each domain; "" means every domain."""
    lessons: dict[str, tuple[list[SkillPage], list[Fact]]] = defaultdict(lambda: ([], []))
    for skill in page.skills:
        if skill.folder != "proposed":
            lessons[skill.skill.domain or ""][0].append(skill)
    for fact in sorted(page.facts.values(), key=lambda fact: IMPORTANCES.index(fact.importance)):
        lessons[fact.domain][1].append(fact)
    return dict(sorted(lessons.items()))


def _policy(style: str, script: str, *, is_served: bool) -> str:
    """Return the Content-Security-Policy that permits only the page's own script and style."""
    digests = [b64encode(sha256(text.encode()).digest()).decode() for text in (style, script)]
    sources = "'self'" if is_served else "'none'"
    scripts = "'self'" if is_served else f"'sha256-{digests[1]}'"
    return (
        f"default-src 'none'; style-src 'sha256-{digests[0]}'; script-src {scripts}; "
        f"img-src data:; connect-src {sources}; base-uri 'none'; form-action 'none'"
    )


def _inline(value: object) -> str:
    """Return JSON that is safe inside an HTML script element."""
    text = msgspec.json.encode(value).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
