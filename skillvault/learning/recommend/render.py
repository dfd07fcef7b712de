"""Render a recommendation as a prompt for an agent, and as a record of what the agent got.

The texts of skills are data: the prompt has them in a frame of tags that they cannot close.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from html import escape
from typing import Any

import msgspec

from skillvault.learning.recommend.disclosure import INSTRUCTION, REMINDER, paths_of
from skillvault.learning.recommend.recommend import MAX_NEXT, Query, Selection, ServedSkill
from skillvault.model.errors import UsageError
from skillvault.model.lazy import regex
from skillvault.model.records import MAX_TEXT, Skill, stamp
from skillvault.model.text.hidden_characters import escape_hidden
from skillvault.model.text.text import join_items

_RECORDED_KEYS = ("blob", "relevance", "badge", "handle", "how")  # of a skill in a receipt
_TAGS = "skills|skill|named|facts|learned|instruction"
_MAX_TAG = 20  # characters
# A model recognizes a tag even with white space or control characters in it.
_TAG = regex(rf"<(?=[\s\x00-\x1f/]*(?:{_TAGS})(?![\w-]))", re.IGNORECASE)


def prompt(answer: Selection, *, knows_instruction: bool = False) -> str:
    """Render the skills with their badges, the facts and the instruction, or return "".

    With `knows_instruction`, one line reminds the agent of the instruction that it read before.
    """
    blocks = _blocks(answer, _with_badge)
    instruction = element("instruction", REMINDER if knows_instruction else INSTRUCTION)
    return "\n".join([*blocks, instruction]) if blocks else ""


def xml(answer: Selection) -> str:
    """Render skills and facts as XML, without badges and instruction, or return ""."""
    return "\n".join(_blocks(answer, _by_name))


def _blocks(answer: Selection, render_skill: Callable[[ServedSkill], str]) -> list[str]:
    texts = [render_skill(skill) for skill in answer.recommended if skill.how != "named"]
    named_skills = [skill for skill in answer.recommended if skill.how == "named"]
    texts += [element("named", _named_lines(named_skills))] if named_skills else []
    blocks = [element("skills", "\n".join(texts))] if texts else []
    facts = "\n".join(inert_body(f"[{fact.handle}] {fact.text}") for fact in answer.facts)
    return [*blocks, element("facts", facts)] if facts else blocks


def skills_xml(skills: Iterable[Skill]) -> str:
    """Return the `<skills>` block for some skills, or "" without skills."""
    blocks = "\n".join(map(_by_name, skills))
    return element("skills", blocks) if blocks else ""


def check_recordable(query: Query, task: str) -> None:
    """Raise UsageError for a value that the inbox would refuse later."""
    decision, agent = query.decision, query.agent
    if decision is None:
        if agent is not None:
            raise UsageError("an agent's name is recorded only with a decision; pass its id too")
        return
    if not decision.strip():
        raise UsageError("the decision's id is empty; pass the id that its outcome will have")
    if agent is not None and not agent.strip():
        raise UsageError("the agent's name is empty; pass the one that its outcome will have")
    try:
        values = [decision, agent, task, *query.context.items()]
        json.dumps(values, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        raise UsageError(
            "the decision's id, its agent, task or context contains a value that is neither UTF-8 "
            "text nor a finite number; replace it"
        ) from None
    if len(task.encode()) > MAX_TEXT:
        raise UsageError(
            f"the task is longer than {MAX_TEXT // 1024} KiB; pass what it asks for, or leave out "
            "the decision's id"
        )


def record(answer: Selection, query: Query, at: datetime, task: str = "") -> dict[str, Any]:
    """Return the recommendation as a record for the inbox; `task` is the agent's task."""
    if answer.decision is None:
        raise ValueError("a recommendation without a decision's id is not recorded")
    held_out = [withheld for withheld in answer.withheld if withheld.reason == "held-out"]
    no_candidates = ("held-out", "unknown-pin")
    others = [withheld for withheld in answer.withheld if withheld.reason not in no_candidates]
    counts = {
        "considered": answer.total_considered,
        "low_effectiveness": answer.excluded_low_effectiveness,
        "low_relevance": answer.excluded_low_relevance,
        "budget": answer.over_budget,
    }
    facts = [{"fact": fact.id, "blob": fact.blob, "handle": fact.handle} for fact in answer.facts]
    return {
        "type": "recommendation",
        "decision": answer.decision,
        **({"agent": query.agent} if query.agent else {}),
        "domain": answer.domain,
        "at": stamp(at),
        **({"task": task} if task.strip() else {}),
        "context": dict(query.context),
        **({"facts": facts} if facts else {}),
        "shown": [
            {"skill": skill.name, **{key: getattr(skill, key) for key in _RECORDED_KEYS}}
            for skill in answer.recommended
        ],
        "held_out": [{"skill": skill.name, "blob": skill.blob} for skill in held_out],
        "next": [{"skill": skill.name, "reason": skill.reason} for skill in others[:MAX_NEXT]],
        "counts": counts,
    }


def selection_values(answer: Selection) -> dict[str, Any]:
    """Return the answer as values for JSON, without the prompt."""
    plain_answer: dict[str, Any] = msgspec.to_builtins(answer)
    del plain_answer["over_budget"], plain_answer["prompt"]
    for key in ("near_domain", "unknown_context"):
        if not plain_answer[key] and plain_answer[key] != "":
            del plain_answer[key]
    for skill in plain_answer["withheld"]:
        del skill["blob"]
    return plain_answer


def _text(skill: ServedSkill | Skill) -> str:
    """Return the text of a skill to show, with the path of the whole text if it was cut."""
    if isinstance(skill, Skill) or skill.how == "whole":
        return skill.body
    path = f", or {skill.path}" if skill.path else ""
    return f"{skill.body}\n\n(The rest: `skillvault skill show {skill.name}`{path})"


def _by_name(skill: ServedSkill | Skill) -> str:
    return element("skill", inert_body(_text(skill)), name=skill.name)


def _with_badge(skill: ServedSkill) -> str:
    return element(
        "skill",
        inert_body(_text(skill)),
        name=skill.name,
        handle=f"[{skill.handle}]",
        badge=skill.badge,
        relevance=f"{math.floor(skill.relevance * 100 + 0.5)}%",
    )


def _named_lines(skills: Sequence[ServedSkill]) -> str:
    paths = paths_of((skill.name, skill.path) for skill in skills)
    ways = join_items(["`skillvault skill show NAME`", *paths], last="or")
    lines: list[str] = []
    for skill in skills:
        description = f": {skill.description}" if skill.description else ""
        lines.append(" ".join(f"[{skill.handle}] {skill.name}{description}".split()))
    return "\n".join(map(inert_body, [*lines, f"(Read one: {ways})"]))


# ── the frame around texts ───────────────────────────────────────────────────────────


def inert_body(body: str) -> str:
    """Escape the tags of the frame and hidden characters in a body, and strip it."""
    return _TAG.sub("&lt;", escape_hidden(body)).strip()


def frame_tags(text: str) -> list[str]:
    """Return the parts of a text that look like tags of the frame."""
    return [text[match.start() : match.start() + _MAX_TAG] for match in _TAG.finditer(text)]


def element(tag: str, text: str, **attributes: Any) -> str:
    """Return `<tag key="value">`, the text and the end tag, each on its own line."""
    values = {key: escape(" ".join(escape_hidden(str(v)).split())) for key, v in attributes.items()}
    attribute_text = "".join(f' {key}="{value}"' for key, value in values.items())
    return f"<{tag}{attribute_text}>\n{text}\n</{tag}>"
