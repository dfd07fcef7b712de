"""Skills as OpenClaw has them: `skills/<name>/SKILL.md` in a workspace, its own keys at the top.

Its requirements of a machine are in `metadata.openclaw` (older files: `clawdbot`, `clawdis`).
"""

import re
from collections.abc import Iterator, Sequence

from skillvault.exchange.skills.folders import (
    TreeSkill,
    export_folders,
    read_folders,
    read_skill_pages,
    valid_writer,
)
from skillvault.exchange.source_tree import SourceTree
from skillvault.model.export import Export, OutgoingSkill
from skillvault.model.records import Problem

NAME = "openclaw"
ROOT = "skills"
# Keys that it reads beside those of the specification.
KEYS = frozenset(
    """
    command-arg-mode command-dispatch command-tool disable-model-invocation homepage user-invocable
    version
    """.split()
)
_REQUIREMENTS = re.compile(
    rb"^(?:metadata:)?[\s{]*[\"']?(?:openclaw|clawdbot|clawdis)[\"']?\s*:", re.MULTILINE
)
_FRAME = 97  # characters around name, description and place in its list


def has_openclaw(tree: SourceTree) -> bool:
    """Return True if a tree has a skill with OpenClaw's requirements of a machine."""
    return any(map(_REQUIREMENTS.search, read_skill_pages(tree).values()))


def read_openclaw(tree: SourceTree, folder: str) -> Iterator[TreeSkill | Problem]:
    """Yield every skill of a tree."""
    return read_folders(tree, folder, NAME)


def write_openclaw(skills: Sequence[OutgoingSkill], budget: int | None = None) -> Export:
    """Write the skills whose entries fit the budget of characters; all without a budget."""
    return export_folders(skills, ROOT, valid_writer(KEYS), budget, cost=_openclaw_entry)


def _openclaw_entry(skill: OutgoingSkill) -> int:
    """Characters of its entry in the list."""
    return _FRAME + len(f"{skill.name}{skill.description}{ROOT}/{skill.name}/SKILL.md")
