"""By what an agent may call a skill or fact that it was shown: name, handle, title.

Handles (`S1`, `F2`) and titles mean something only within one answer, so they are resolved with
the record of what was shown for that decision.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from skillvault import markdown
from skillvault.records import Recommendation

# In capitals or brackets: a skill's own name is in small letters.
_HANDLE = re.compile(r"\[\s*(?P<inner>[SsFf]\d{1,3})\s*\]|(?P<plain>[SF]\d{1,3})")


def handle_in(text: str) -> str | None:
    """The handle that a text is, brackets and letter case aside; None if it is none."""
    match = _HANDLE.fullmatch(text.strip())
    return (match["inner"] or match["plain"]).upper() if match else None


def aliases_of(
    shown: Iterable[Recommendation], title: Callable[[str, str], str] | None = None
) -> dict[str, str]:
    """Handle, or folded title -> the name of what was shown for one decision.

    Of several answers the latest one counts. `title` gives that of a skill's text by its name and
    version.
    """
    names: dict[str, str] = {}
    for recommendation in sorted(shown, key=lambda record: (record.at, record.id)):
        for number, skill in enumerate(recommendation.shown, 1):
            names[skill.handle or f"S{number}"] = skill.skill
            if title is not None:
                names[folded_title(title(skill.skill, skill.blob))] = skill.skill
        for number, fact in enumerate(recommendation.facts, 1):
            names[fact.handle or f"F{number}"] = fact.fact
    names.pop("", None)
    return names


def resolved(called: Iterable[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """What an agent names, by their names; what `aliases_of` does not know stays as it is."""
    keyed = ((handle_in(call) or folded_title(call), call) for call in called)
    return tuple(dict.fromkeys(names.get(key, call) for key, call in keyed))


def title_of(body: str) -> str:
    """The first heading of a skill's text, "" if it has none."""
    return next(iter(markdown.headings(body)), "")


def folded_title(title: str) -> str:
    """A title as it is compared: no marks of markdown, no letter case."""
    return " ".join(title.strip(" #*_`\"'“”").casefold().split())
