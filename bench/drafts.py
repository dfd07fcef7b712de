"""The texts of a made vault: drafts without a judge, and skills as the program left them."""

from collections.abc import Iterable

from msgspec.structs import replace

from skillvault.learning.sections import Version, WrittenTexts
from skillvault.model.brief import Draft
from skillvault.model.change import Change
from skillvault.model.records import Skill
from skillvault.model.text.text import sentences, shorten


def draft_of(text: str, title: str, headings: Iterable[str]) -> Draft:
    """A text of the length that the judge's have: under each heading what is known."""
    lines = [shorten(line, 200) for line in sentences(text)[:4]]
    sections = tuple((name, "\n".join(f"- {name}: {line}" for line in lines)) for name in headings)
    return Draft(shorten(title, 60), f"What is known of {title}: {shorten(text, 160)}", sections)


def skill_of(change: Change) -> Skill:
    """The skill that a change writes."""
    return next(record for record in change.writes if isinstance(record, Skill))


def unedited(skill: Skill) -> WrittenTexts:
    """That a skill is as the program left it."""
    return WrittenTexts([Version(None, skill.body)], [Version(None, skill.description)])


def whole(change: Change, skill: Skill) -> Change:
    """A change that writes a skill as a whole, where it would edit the file."""
    keys = {edit.key[-1]: edit.value for edit in change.edits}
    body = change.rewrites[0].body if change.rewrites else skill.body
    return replace(
        change,
        writes=(replace(skill, body=body, **keys), *change.writes),
        edits=(),
        rewrites=(),
    )
