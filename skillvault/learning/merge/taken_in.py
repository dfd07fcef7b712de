"""What a person wrote in a skill while another clone merged it: the evolved skill takes it in.

The two met in a sync, which left the edited skill live. Once the evolved skill grows, it says what
the person wrote, in the person's sections, and the edited one goes to archive/ again.
"""

from collections.abc import Sequence

from msgspec import Struct

from skillvault.learning import sections
from skillvault.model.records import Skill
from skillvault.model.text import markdown
from skillvault.model.written import plain_section, sections_of

_HEAD = ""  # what stands before the first heading says which skill it is


class TakenIn(Struct, frozen=True):
    """The skill at `<shelf>/<name>`, and its sections (heading, text below it) of a person's."""

    place: str
    parts: tuple[tuple[str, str], ...]


def taken_in(place: str, skill: Skill, written: sections.Bodies) -> TakenIn | None:
    """What of an edited skill another can say; None if the edit is not all in sections of its own.

    A title that a person changed, or a section that one took away, says nothing elsewhere.
    """
    personal, texts = sections.theirs(written, skill.body), sections_of(skill.body)
    if not personal or not personal <= texts.keys() or any(key[0] == _HEAD for key in personal):
        return None
    parts = [(key[0], _text_under_heading(text)) for key, text in texts.items() if key in personal]
    return TakenIn(place, tuple(parts))


def with_parts(body: str, taken: Sequence[TakenIn]) -> tuple[str, tuple[str, ...]]:
    """(the body with the parts that it does not say yet, the sections by which it says them).

    A section whose heading the body has names the skill it is from.
    """
    texts = sections_of(body)
    said = set(map(_text_under_heading, texts.values()))
    headings = {heading for heading, _ in texts}
    added: list[str] = []
    for each in taken:
        name = each.place.rpartition("/")[2]
        for heading, text in each.parts:
            if text not in said:
                unique = f"{heading} ({name})" if heading in headings else heading
                added.append(f"## {unique}\n\n{text}")
                headings.add(heading)
    if markdown.swallows(body) or not added:
        return body, ()
    return "\n\n".join([body.rstrip("\r\n"), *added]), tuple(added)


def _text_under_heading(text: str) -> str:
    return plain_section(text.partition("\n")[2])
