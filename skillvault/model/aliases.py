"""Resolve the names that an agent uses for a skill or fact that it was shown.

An agent may write the name, the handle (`S1`, `F2`) or the title. Handles and titles are only valid
within one answer, so they are resolved with the record of that answer.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping

from skillvault.model.records import Recommendation, Trust
from skillvault.model.text import markdown
from skillvault.model.text.text import MAX_SLUG, is_slug, slug

# `[S1]`, as an answer writes it, and the text behind it: `[S1] NAME`, `[S1]: ...`.
_HANDLE = re.compile(r"\[\s*(?P<handle>[SsFf]\d{1,3})\s*\](?P<rest>.*)", re.DOTALL)
# Without brackets a handle has a capital, because a skill's own name is in small letters.
_BARE_HANDLE = re.compile(r"(?P<handle>[SF]\d{1,3})(?:\s*:?\s+(?P<rest>.+))?", re.DOTALL)
_SESSION_DIGITS = 6  # digits of a digest that distinguish ids of sessions


def parse_handle(text: str) -> str | None:
    """Return the handle in brackets at the start of a text in capitals, or None."""
    match = _HANDLE.match(text.strip())
    return match["handle"].upper() if match else None


def aliases_of(
    recommendations: Iterable[Recommendation], title: Callable[[str, str], str] | None = None
) -> dict[str, str]:
    """Return the skill or fact for each name, `[handle]` and folded title that was shown.

    `recommendations` are the answers for one decision; the handles of the latest count. A title of
    two skills, or a title that is the name of another skill, is omitted. `title` returns the title
    of a skill from its name and version.
    """
    answers = sorted(recommendations, key=lambda record: (record.at, record.id))
    skills = [skill for answer in answers for skill in answer.shown]
    full_names = [skill.skill for skill in skills]
    full_names += [fact.fact for answer in answers for fact in answer.facts]
    candidates: dict[str, set[str]] = {}
    for name in full_names:
        candidates.setdefault(fold_title(name), set()).add(name)
    for skill in skills:
        heading = title(skill.skill, skill.blob) if title is not None else ""
        candidates.setdefault(fold_title(heading), set()).add(skill.skill)
    names = {key: next(iter(group)) for key, group in candidates.items() if key and len(group) == 1}
    for answer in answers[-1:]:
        for number, skill in enumerate(answer.shown, 1):
            names[f"[{skill.handle or f'S{number}'}]"] = skill.skill
        for number, fact in enumerate(answer.facts, 1):
            names[f"[{fact.handle or f'F{number}'}]"] = fact.fact
    return names | {name: name for name in full_names}


def resolve_names(calls: Iterable[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """Replace handles and titles with the names of skills and facts."""
    return tuple(dict.fromkeys(_resolve(call, names) for call in calls))


def find_unknown_handles(calls: Iterable[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """Return the words in `calls` that look like handles but name nothing that was shown."""
    return tuple(
        call
        for call in dict.fromkeys(calls)
        if parse_handle(call)
        or ((plain := _BARE_HANDLE.fullmatch(call.strip())) and not plain["rest"])
        if _resolve(call, names) not in names
    )


def _resolve(call: str, names: Mapping[str, str]) -> str:
    """Return the name for a word. A title beside a handle takes precedence."""
    hyphenated = call.replace("_", "-")  # as a foreign log spells a name
    if names.get(hyphenated) == hyphenated:
        return call
    text = call.strip()
    if match := _HANDLE.fullmatch(text):
        if "[" in match["rest"]:
            return call  # more than one
        handle_id = names.get(f"[{match['handle'].upper()}]", call)
        return names.get(fold_title(match["rest"]), handle_id)
    if (title_id := names.get(fold_title(text))) is not None:
        return title_id
    if match := _BARE_HANDLE.fullmatch(text):
        key = fold_title(match["rest"]) if match["rest"] else f"[{match['handle']}]"
        return names.get(key, call)
    return call


def title_of(body: str) -> str:
    """Return the first heading of a skill's text, or ""."""
    return next(iter(markdown.headings(body)), "")


def fold_title(title: str) -> str:
    """Return a title without markdown marks and in lower case, for comparison."""
    return " ".join(title.strip(" #*_`\"'“”:–—-").casefold().split())


def session_id(name: str, trust: Trust = "local") -> str:
    """Return the id of a session, which is its name if that can be a file name.

    Another name, or a name from an untrusted source, becomes a slug with a digest. So an untrusted
    source cannot take the id of another session.
    """
    plain_name = name.replace("_", "-")
    if trust == "local" and is_slug(plain_name):
        return plain_name
    qualified_name = name if trust == "local" else f"{trust} {name}"
    digits = hashlib.sha256(qualified_name.encode(errors="replace")).hexdigest()[:_SESSION_DIGITS]
    return f"{slug(name, limit=MAX_SLUG - 1 - _SESSION_DIGITS) or 'session'}-{digits}"
