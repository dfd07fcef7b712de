"""List the skill formats of other programs. Add a format to `SKILL_FORMATS`.

Claude Code, Codex and OpenClaw read plain folders; each other format has its own module.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from skillvault.exchange.skills import (
    agent_skills,
    agents_md,
    claudefi,
    eurekaclaw,
    rule_files,
    well_known,
)
from skillvault.exchange.skills.folders import (
    TreeEntry,
    export_folders,
    read_folders,
    read_skill_pages,
)
from skillvault.exchange.source_tree import SourceTree, find_skills
from skillvault.model.export import Export, OutgoingSkill

# Yields the skills of a tree; the text is the name of the tree.
SkillReader = Callable[[SourceTree, str], Iterator[TreeEntry]]
# Exports live skills, best first, within a budget of characters.
SkillWriter = Callable[[Sequence[OutgoingSkill], int | None], Export]


class SkillFormat(NamedTuple):
    """The reader and the writer of one program's skills. Each may be None.

    `recognises` returns True for a tree of that program.
    """

    read: SkillReader | None = None
    write: SkillWriter | None = None
    recognises: Callable[[SourceTree], bool] = lambda _: False


# ── hosts that list skills within a budget of characters ─────────────────────────────

CLAUDE_CODE_BUDGET = 8_000  # 1 % of a context of 200,000 tokens
_CLAUDE_CODE_ROOT = ".claude/skills"


def _has_claude_code(tree: SourceTree) -> bool:
    return any(f"/{_CLAUDE_CODE_ROOT}/" in f"/{skill.folder}/" for skill in find_skills(tree))


_write_claude_skills = partial(
    export_folders,
    write=agent_skills.write_authored,
    cost=lambda skill: len(f"- {skill.name}: {skill.description}\n"),
    default_budget=CLAUDE_CODE_BUDGET,
)


def _encode_program(content: bytes) -> tuple[str, bytes]:
    """Encode a `Program` for JSON; only its type says that the file is executable."""
    return "executable", bytes(content)


def _write_plugin(skills: Sequence[OutgoingSkill], budget: int | None) -> Export:
    """Write skills as the only plugin of a marketplace for Claude Code.

    The version has a digest of the skills, so that the host sees that they changed.
    """
    export = _write_claude_skills(skills, budget, root="skills")
    content = msgspec.json.encode(export.units, order="sorted", enc_hook=_encode_program)
    digest = hashlib.sha256(content).hexdigest()[:8]
    plugin = {"name": "skillvault-skills", "description": "Skills of a skillvault vault"}
    person = {"name": "skillvault"}
    manifests = {
        "plugin.json": {**plugin, "version": f"1.0.0+{digest}", "author": person},
        "marketplace.json": {**plugin, "owner": person, "plugins": [{**plugin, "source": "./"}]},
    }
    files = {
        name: msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"
        for name, manifest in manifests.items()
    }
    return replace(export, units={**export.units, ".claude-plugin": files})


# The list of skills that Codex shows if it does not know the length of the context, without its
# built-in skills (1,723 characters in 0.169). Else the list may take 2 % of the context.
CODEX_BUDGET = 8_000 - 2_000


def _codex_line(skill: OutgoingSkill) -> int:
    return len(f"- {skill.name}: {skill.description} (file: r0/{skill.name}/SKILL.md)\n")


# The key of OpenClaw in `metadata`; it is `clawdbot` or `clawdis` in older files.
_OPENCLAW_REQUIREMENTS = re.compile(
    rb"^(?:metadata:)?[\s{]*[\"']?(?:openclaw|clawdbot|clawdis)[\"']?\s*:", re.MULTILINE
)
_OPENCLAW_FRAME = 97  # characters around name, description and place


def _openclaw_entry(skill: OutgoingSkill) -> int:
    path = f"skills/{skill.name}/SKILL.md"
    return _OPENCLAW_FRAME + len(f"{skill.name}{skill.description}{path}")


# The first format that recognises a tree reads it.
SKILL_FORMATS: dict[str, SkillFormat] = {
    "claudefi": SkillFormat(claudefi.read_reflections, None, claudefi.has_reflections),
    "eurekaclaw": SkillFormat(
        eurekaclaw.read_eurekaclaw, eurekaclaw.write_eurekaclaw, eurekaclaw.has_eurekaclaw
    ),
    "openclaw": SkillFormat(
        partial(read_folders, origin="openclaw"),
        partial(
            export_folders, root="skills", write=agent_skills.write_authored, cost=_openclaw_entry
        ),
        lambda tree: any(map(_OPENCLAW_REQUIREMENTS.search, read_skill_pages(tree).values())),
    ),
    "claude-code": SkillFormat(
        partial(read_folders, origin="claude-code"),
        partial(_write_claude_skills, root=_CLAUDE_CODE_ROOT),
        _has_claude_code,
    ),
    "claude-plugin": SkillFormat(None, _write_plugin),
    "agent-skills": SkillFormat(
        partial(read_folders, origin="agent-skills"), None, lambda tree: bool(find_skills(tree))
    ),
    "agents-md": SkillFormat(
        agents_md.read_sections,
        partial(rule_files.write_rules, host=rule_files.HOSTS["agents-md"]),
        agents_md.has_sections,
    ),
    "documents": SkillFormat(agents_md.read_documents),
    "codex": SkillFormat(
        None,
        partial(
            export_folders, root=".agents/skills", cost=_codex_line, default_budget=CODEX_BUDGET
        ),
    ),
    "well-known": SkillFormat(None, well_known.write_site),
    **{
        name: SkillFormat(None, partial(rule_files.write_rules, host=host))
        for name, host in rule_files.HOSTS.items()
        if name != agents_md.NAME  # it has an entry above, with a reader
    },
}


def format_of(tree: SourceTree) -> str | None:
    """Return the first format that recognises a tree of files, or None."""
    names = (name for name, format_ in SKILL_FORMATS.items() if format_.recognises(tree))
    return next(names, None)
