"""By what an agent may call a skill or fact that it was shown: name, handle, title.

Handles (`S1`, `F2`) and titles mean something only within one answer, so they are resolved with
the record of what was shown for that decision.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from skillvault.model.records import Recommendation
from skillvault.model.text import markdown

# `[S1]`, as an answer writes it, and what stands behind it: `[S1] NAME`, `[S1]: ...`.
_HANDLE = re.compile(r"\[\s*(?P<handle>[SsFf]\d{1,3})\s*\](?P<rest>.*)", re.DOTALL)
# Without brackets in capitals only: a skill's own name is in small letters.
_PLAIN = re.compile(r"(?P<handle>[SF]\d{1,3})(?:\s*:?\s+(?P<rest>.+))?", re.DOTALL)


def parse_handle(text: str) -> str | None:
    """The handle in brackets that a text begins with, in capitals; None if it does not."""
    match = _HANDLE.match(text.strip())
    return match["handle"].upper() if match else None


def aliases_of(
    shown: Iterable[Recommendation], title: Callable[[str, str], str] | None = None
) -> dict[str, str]:
    """Name, `[handle]`, or folded title -> the name of what was shown for one decision.

    Handles are those of the latest answer. A title that two have, or that is another's name, is
    none. `title` gives that of a skill's text by its name and version.
    """
    answers = sorted(shown, key=lambda record: (record.at, record.id))
    skills = [skill for answer in answers for skill in answer.shown]
    own = [skill.skill for skill in skills] + [f.fact for answer in answers for f in answer.facts]
    meant: dict[str, set[str]] = {}
    for name in own:
        meant.setdefault(folded_title(name), set()).add(name)
    for skill in skills:
        heading = title(skill.skill, skill.blob) if title is not None else ""
        meant.setdefault(folded_title(heading), set()).add(skill.skill)
    names = {key: next(iter(group)) for key, group in meant.items() if key and len(group) == 1}
    for answer in answers[-1:]:
        for number, skill in enumerate(answer.shown, 1):
            names[f"[{skill.handle or f'S{number}'}]"] = skill.skill
        for number, fact in enumerate(answer.facts, 1):
            names[f"[{fact.handle or f'F{number}'}]"] = fact.fact
    return names | {name: name for name in own}


def resolve_names(called: Iterable[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """What an agent names, by their names; what `aliases_of` does not know stays as it is."""
    return tuple(dict.fromkeys(_meant(call, names) for call in called))


def find_unknown_handles(called: Iterable[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """Those of `called` that are written as handles and mean nothing that was shown."""
    return tuple(
        call
        for call in dict.fromkeys(called)
        if parse_handle(call) or ((plain := _PLAIN.fullmatch(call.strip())) and not plain["rest"])
        if _meant(call, names) not in names
    )


def _meant(call: str, names: Mapping[str, str]) -> str:
    """The name that is meant; beside a handle its own words count before it."""
    hyphened = call.replace("_", "-")  # as a foreign log spells a name
    if names.get(hyphened) == hyphened:
        return call
    text = call.strip()
    if match := _HANDLE.fullmatch(text):
        if "[" in match["rest"]:
            return call  # more than one
        by_handle = names.get(f"[{match['handle'].upper()}]", call)
        return names.get(folded_title(match["rest"]), by_handle)
    if (by_title := names.get(folded_title(text))) is not None:
        return by_title
    if match := _PLAIN.fullmatch(text):
        key = folded_title(match["rest"]) if match["rest"] else f"[{match['handle']}]"
        return names.get(key, call)
    return call


def title_of(body: str) -> str:
    """The first heading of a skill's text, "" if it has none."""
    return next(iter(markdown.headings(body)), "")


def folded_title(title: str) -> str:
    """A title as it is compared: no marks of markdown, no letter case."""
    return " ".join(title.strip(" #*_`\"'“”:–—-").casefold().split())
