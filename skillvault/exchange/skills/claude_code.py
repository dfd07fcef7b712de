"""Skills as Claude Code has them: `.claude/skills/<name>/SKILL.md`, its own keys at the top."""

from collections.abc import Iterator, Sequence

from skillvault.exchange.skills.folders import TreeSkill, export_folders, read_folders, valid_writer
from skillvault.exchange.source_tree import SourceTree, find_skills
from skillvault.model.export import Export, OutgoingSkill
from skillvault.model.records import Problem

NAME = "claude-code"
ROOT = ".claude/skills"
BUDGET = 8_000  # characters of its list: 1 % of a context of 200,000 tokens
# Keys that it reads beside those of the specification.
KEYS = frozenset(
    """
    agent argument-hint arguments context disable-model-invocation disallowed-tools effort hooks
    model paths shell user-invocable when_to_use
    """.split()
)


def has_claude_code(tree: SourceTree) -> bool:
    """Return True if a tree has skills in the folder of Claude Code."""
    return any(f"/{ROOT}/" in f"/{skill.folder}/" for skill in find_skills(tree))


def read_claude_code(tree: SourceTree, folder: str) -> Iterator[TreeSkill | Problem]:
    """Yield every skill of a tree."""
    return read_folders(tree, folder, NAME)


def write_claude_code(skills: Sequence[OutgoingSkill], budget: int | None = None) -> Export:
    """Write the skills whose lines fit Claude Code's list, in their order."""
    return export_folders(skills, ROOT, valid_writer(KEYS), budget or BUDGET, cost=_claude_line)


def _claude_line(skill: OutgoingSkill) -> int:
    """Characters of its line in the list."""
    return len(f"- {skill.name}: {skill.description}\n")
