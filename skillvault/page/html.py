"""The page of a vault as one HTML file, with the details it holds; nothing in it asks outside.

A policy in the file lets only its own style and script run.
"""

import gzip
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from markupsafe import Markup
from msgspec import Struct

from skillvault.inspect.page import Page, SkillPage
from skillvault.inspect.week import EVENTS, VaultEvent
from skillvault.model.records import Evaluation, Outcome, stamp
from skillvault.model.text.hidden_characters import escaped
from skillvault.page import chart
from skillvault.page.template import render
from skillvault.vault.files import layout

MOST = 2_200_000  # bytes of all chunks as they stand in the file
_TEXT = 4000  # characters of a text, fewer where there are many
_LEAST = 60
_TEXTS = 2_500_000  # characters of skill_page field of all outcomes
_SAMPLE = 1000  # outcomes by which the length of texts is chosen
_TOGETHER = {"skill": 40, "fact": 200, "outcome": 400}


class Chunk(Struct, frozen=True):
    """Some records of a kind: the first of their ids, and the data as text in base64."""

    kind: str
    first: str
    data: str


def chunks_of(page: Page) -> list[Chunk]:
    """The details of skills, facts and outcomes by id, at most `MOST` bytes of them."""
    chunks = [*_chunks("skill", _skill_data(page)), *_chunks("fact", _fact_data(page))]
    room = MOST - _size(chunks)
    limit = min(_TEXT, max(_LEAST, _TEXTS // max(1, len(page.outcomes))))
    ids = list(page.outcomes)
    some = ids[:: max(1, len(ids) // _SAMPLE)]
    of_some = room * len(some) / max(1, len(ids))
    while limit > _LEAST and _size(_chunks("outcome", _outcome_data(page, some, limit))) > of_some:
        limit //= 2
    while True:
        outcomes = list(_chunks("outcome", _outcome_data(page, ids, limit)))
        if _size(outcomes) <= room or limit <= _LEAST:
            return [*chunks, *outcomes]
        limit //= 2


def _chunks(kind: str, records: Mapping[str, Any]) -> Iterator[Chunk]:
    ids, size = sorted(records), _TOGETHER[kind]
    for start in range(0, len(ids), size):
        some = {name: records[name] for name in ids[start : start + size]}
        packed = gzip.compress(msgspec.json.encode(some), 6, mtime=0)
        yield Chunk(kind, ids[start], b64encode(packed).decode())


def _size(chunks: Iterable[Chunk]) -> int:
    return sum(len(chunk.data) for chunk in chunks)


def _skill_data(page: Page) -> dict[str, Any]:
    applied: dict[str, list[str]] = defaultdict(list)
    for outcome, names in page.benefit.used.items():
        for name in names:
            applied[name].append(outcome)
    return {one.name: _skill_details(one, applied.get(one.name, ())) for one in page.skills}


def _fact_data(page: Page) -> dict[str, Any]:
    return {
        name: {
            "text": _beginning(fact.text, _TEXT),
            "domain": fact.domain,
            "importance": fact.importance,
            "trust": fact.trust,
            "path": layout.fact_path(fact),
            "origins": page.origins[name],
        }
        for name, fact in page.facts.items()
    }


def _outcome_data(page: Page, ids: Iterable[str], limit: int) -> dict[str, Any]:
    return {
        name: _outcome_details(page, page.outcomes[name], page.evaluations.get(name), limit)
        for name in ids
    }


def _skill_details(skill_page: SkillPage, applied: Sequence[str]) -> dict[str, Any]:
    skill = skill_page.skill
    return {
        "title": escaped(skill_page.title),
        "text": _beginning(skill.body, 4 * _TEXT),
        "use": _beginning(skill.description, _TEXT),
        "kind": escaped(skill.kind),
        "domain": escaped(skill.domain or ""),
        "status": escaped(skill.status),
        "trust": escaped(skill.trust),
        "path": f"{skill_page.shelf}/{skill_page.name}/SKILL.md",
        "for": skill_page.sides.supporting,
        "against": skill_page.sides.against,
        "otherwise": skill_page.otherwise,
        "applied": applied,
        "origins": skill_page.origins,
        "history": [
            (t.commit, t.date, t.step, _beginning(t.subject, 200)) for t in skill_page.history
        ],
    }


def _outcome_details(
    page: Page, outcome: Outcome, evaluation: Evaluation | None, limit: int
) -> dict[str, Any]:
    decision, result = outcome.decision, outcome.result
    shown: dict[str, Any] = {
        "domain": outcome.domain,
        "at": stamp(outcome.occurred_at),
        "status": result.status,
        "path": layout.path_of(outcome),
        "trust": outcome.trust,
        "score": result.score,
        "amount": result.amount,
        "confidence": decision.confidence,
        "applied": page.benefit.used.get(outcome.id, ()),
        "context": [
            (_beginning(key, 60), _beginning(str(value), 80)) for key, value in _context(outcome)
        ],
    }
    texts: dict[str, str | None] = {
        "action": decision.action,
        "target": decision.target,
        "unit": result.unit,
        "observer": result.observed_by,
        "agent": outcome.source.agent,
        "session": outcome.source.session,
        "task": decision.task,
        "reasoning": decision.reasoning,
        "report": decision.report,
        "claim": result.claim,
        "summary": result.summary,
        "answer": result.answer,
        "evidence": result.evidence,
    }
    if outcome.lesson is not None:
        texts |= {"lesson": outcome.lesson.do or outcome.lesson.when}
    if evaluation is not None:
        texts |= {
            "insight": evaluation.key_insight,
            "better": evaluation.better_approach,
            "judge": evaluation.judge.name,
        }
        shown |= {"good": evaluation.was_good_decision, "quality": evaluation.quality_score}
        shown |= {"right": evaluation.judge_was_right}
    shown |= {key: _beginning(text, limit) for key, text in texts.items() if text}
    return {key: value for key, value in shown.items() if value not in (None, "", (), [])}


def _context(outcome: Outcome) -> Iterable[tuple[str, Any]]:
    context: Mapping[str, Any] = outcome.context
    return list(context.items())[:40]


def _beginning(text: str, limit: int) -> str:
    """A text as it is shown, its beginning if it is longer."""
    shown = escaped(text[:limit])
    return shown if len(text) <= limit else f"{shown}…"


def firsts(chunks: Sequence[Chunk]) -> dict[str, list[str]]:
    """Kind -> the first id of each of its chunks, in their order."""
    starts: dict[str, list[str]] = {kind: [] for kind in _TOGETHER}
    for chunk in chunks:
        starts[chunk.kind].append(chunk.first)
    return starts


_WEEK = timedelta(days=7)
_FOLDER = Path(__file__).parent
_DRAWN = 40  # lifts of a chart
_LISTED = 20  # things of one event that are listed


def html_of(page: Page, *, is_served: bool = False) -> bytes:
    """The page as a file. `is_served`: its script asks its server whether the branch has moved."""
    chunks = chunks_of(page)
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
        firsts=Markup(_inline(firsts(chunks))),  # noqa: S704 (`<` is escaped in it)
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


def learned_first(page: Page) -> Sequence[VaultEvent]:
    """What happened, what is new before what only became firmer."""
    order = ("learned", "merged", "proposed", "retired", "refreshed", "contradicted")
    rank = {event: place for place, event in enumerate(order)}
    return sorted(page.week.happened, key=lambda entry: rank.get(entry.event, len(order)))


def _listed(page: Page, event: str) -> tuple[list[VaultEvent], int]:
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
