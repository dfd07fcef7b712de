"""Skills as Codex has them: `.agents/skills/<name>/SKILL.md`, by the specification."""

from collections.abc import Sequence

from skillvault.exchange.skills.folders import export_folders, valid_writer
from skillvault.model.export import Export, OutgoingSkill

ROOT = ".agents/skills"
# Characters of its list if it does not know the context, less those of Codex's built-in skills
# (1,723 in 0.169). In a known context the list may take 2 %. Codex cuts descriptions beyond that.
BUDGET = 8_000 - 2_000


def write_codex(skills: Sequence[OutgoingSkill], budget: int | None = None) -> Export:
    """Write the skills whose lines fit Codex's list, in their order."""
    return export_folders(skills, ROOT, valid_writer(), budget or BUDGET, cost=_codex_line)


def _codex_line(skill: OutgoingSkill) -> int:
    """Characters of its line in the list."""
    return len(f"- {skill.name}: {skill.description} (file: r0/{skill.name}/SKILL.md)\n")
