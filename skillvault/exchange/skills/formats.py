"""The formats of skills that other programs read and write."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from skillvault.exchange.skills import (
    agents_md,
    claude_code,
    claudefi,
    codex,
    eurekaclaw,
    folders,
    openclaw,
    well_known,
)
from skillvault.exchange.skills.folders import TreeSkill
from skillvault.exchange.source_tree import SourceTree
from skillvault.model.export import Export, OutgoingSkill
from skillvault.model.records import Problem

# A tree of files, and what it is called -> its skills.
Reader = Callable[[SourceTree, str], Iterator[TreeSkill | Problem]]
# Live skills, best first, and a budget of characters -> what they become.
Writer = Callable[[Sequence[OutgoingSkill], int | None], Export]


class SkillFormat(NamedTuple):
    """How skills of one program come in and go out; None for a way that there is not.

    `recognises`: whether a tree looks like one of that program.
    """

    read: Reader | None = None
    write: Writer | None = None
    recognises: Callable[[SourceTree], bool] = lambda _: False


# A tree is of the first that recognises it.
SKILL_FORMATS: dict[str, SkillFormat] = {
    "claudefi": SkillFormat(claudefi.read_reflections, None, claudefi.has_reflections),
    "eurekaclaw": SkillFormat(
        eurekaclaw.read_eurekaclaw, eurekaclaw.write_eurekaclaw, eurekaclaw.has_eurekaclaw
    ),
    "openclaw": SkillFormat(openclaw.read_openclaw, openclaw.write_openclaw, openclaw.has_openclaw),
    "claude-code": SkillFormat(
        claude_code.read_claude_code, claude_code.write_claude_code, claude_code.has_claude_code
    ),
    "agent-skills": SkillFormat(folders.read_plain, None, folders.has_skills),
    "agents-md": SkillFormat(
        agents_md.read_sections, agents_md.write_sections, agents_md.has_sections
    ),
    "codex": SkillFormat(None, codex.write_codex),
    "well-known": SkillFormat(None, well_known.write_site),
}


def format_of(tree: SourceTree) -> str | None:
    """The format that a tree of files is in; None if it is in none."""
    names = (name for name, format_ in SKILL_FORMATS.items() if format_.recognises(tree))
    return next(names, None)
