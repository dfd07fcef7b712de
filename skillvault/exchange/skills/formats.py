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

# A tree of files, and its name -> its skills.
Reader = Callable[[SourceTree, str], Iterator[TreeSkill | Problem]]
# Live skills, best first, and a budget of characters -> their export.
Writer = Callable[[Sequence[OutgoingSkill], int | None], Export]


class SkillFormat(NamedTuple):
    """A reader and a writer for the skills of one program; None if there is none.

    `recognises` returns True for a tree of that program.
    """

    read: Reader | None = None
    write: Writer | None = None
    recognises: Callable[[SourceTree], bool] = lambda _: False


# The first format that recognises a tree reads it.
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
    """Find the format of a tree of files; None if no format recognises it."""
    names = (name for name, format_ in SKILL_FORMATS.items() if format_.recognises(tree))
    return next(names, None)
