"""Write rules and skills as the rule files of hosts, such as AGENTS.md or .cursor/rules.

Each session of a host reads a page with the rules, and each skill has a file. If a person may also
write in the page, the part of skillvault is between two marks, and the page lists the paths of the
skills. docs/skills.md has the table of hosts.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from skillvault.exchange.skills import agent_skills
from skillvault.exchange.skills.agent_skills import FILE
from skillvault.exchange.skills.folders import fit_descriptions, select_fitting
from skillvault.model.errors import BadInputError
from skillvault.model.export import Export, ExportedPart, OmittedSkill, OutgoingRule, OutgoingSkill
from skillvault.model.text import front_matter, managed_block, strict_yaml
from skillvault.model.text.managed_block import EXPORT

BUDGET = 4096  # bytes of the page, which each session pays for
SKILL_MARK = "<!-- skillvault:skill {} -->"  # the line before the text of a skill
_ANY_MARK = re.compile(r"<!-- skillvault:(?:begin|end|skill\b)")
_NOTICE = "<!-- Written by `skillvault export`: change the vault, not the text here. -->"
_RULES = "\n## Rules and facts\n\n"
_SKILLS = "\n## Skills\n\nBefore a task that one of these lines describes, read its file.\n\n"
_MARK_REASON = "its text has a mark of an export in it; reword it"
_PAGE_DESCRIPTION = "Rules and facts of this project"


class Scope(NamedTuple):
    """The condition to read a file: always, for files of these globs, or as described."""

    description: str
    globs: str = ""
    is_always: bool = False


def read_scope(meta: Mapping[str, Any], description: str) -> Scope:
    """Return the condition in the front matter of a file for one of the hosts."""
    globs = meta.get("globs") or meta.get("applyTo") or ""
    globs = ",".join(map(str, globs)) if isinstance(globs, list) else str(globs)
    values = (meta.get("alwaysApply"), meta.get("trigger"), globs)
    is_always = not {"always_on", "**", "**/*", "true"}.isdisjoint(str(v).lower() for v in values)
    return Scope(description, "" if is_always else globs, is_always)


def _dump_front(**values: Any) -> str:
    return strict_yaml.dump({key: value for key, value in values.items() if value})


def _cursor_front(scope: Scope) -> str:
    # Cursor reads globs as a plain list with commas, without quotes.
    always = str(scope.is_always).lower()
    globs = f"globs: {scope.globs}".rstrip()
    return f"{_dump_front(description=scope.description)}{globs}\nalwaysApply: {always}\n"


def _copilot_front(scope: Scope) -> str:
    return _dump_front(
        description=scope.description, applyTo="**" if scope.is_always else scope.globs
    )


def _windsurf_front(scope: Scope) -> str:
    trigger = "always_on" if scope.is_always else "glob" if scope.globs else "model_decision"
    return _dump_front(trigger=trigger, description=scope.description, globs=scope.globs)


class RuleHost(NamedTuple):
    """The page and the files of a host.

    `file` is the path of a skill's file with `{}` for its name. `front` writes the front matter of
    a file, or is None if the host reads a folder with all files of the skill. A person may write in
    a page that `is_shared`. `max_characters` limits the characters of a file.
    """

    page: str
    file: str
    front: Callable[[Scope], str] | None = None
    is_shared: bool = True
    max_characters: int | None = None


HOSTS = {
    "agents-md": RuleHost("AGENTS.md", ".skillvault/agents-md/{}"),
    "gemini": RuleHost("GEMINI.md", ".skillvault/gemini/{}"),
    "copilot": RuleHost(
        ".github/copilot-instructions.md", ".github/instructions/{}.instructions.md", _copilot_front
    ),
    "cursor": RuleHost(
        ".cursor/rules/skillvault_rules.mdc", ".cursor/rules/{}.mdc", _cursor_front, is_shared=False
    ),
    "windsurf": RuleHost(
        ".windsurf/rules/skillvault_rules.md",
        ".windsurf/rules/{}.md",
        _windsurf_front,
        is_shared=False,
        max_characters=12_000,
    ),
}


def write_rules(
    skills: Sequence[OutgoingSkill],
    budget: int | None = None,
    rules: Sequence[OutgoingRule] = (),
    *,
    host: RuleHost,
) -> Export:
    """Write the rules, and then the skills whose lines fit the budget, best first."""
    free_bytes = (budget or BUDGET) - len(_frame([_RULES, _SKILLS]))
    omitted: list[OmittedSkill] = []
    rule_lines: list[str] = []
    for rule in rules:
        line = f"- {' '.join(rule.text.split())}\n"
        size = len(line.encode())
        if _ANY_MARK.search(line):
            omitted.append(OmittedSkill(rule.id, _MARK_REASON))
        elif size > free_bytes:
            reason = f"is a rule of {size} bytes; {free_bytes} of the budget are free"
            omitted.append(OmittedSkill(rule.id, reason))
        else:
            rule_lines.append(line)
            free_bytes -= size
    files = dict(_write_files(skills, host, omitted))
    readable = [skill for skill in skills if skill.name in files]

    def line_size(skill: OutgoingSkill) -> int:
        return len(_skill_line(host, skill).encode())

    if host.is_shared:
        fitting_skills, left_out, cut = fit_descriptions(readable, free_bytes, line_size)
    else:
        (fitting_skills, left_out), cut = select_fitting(readable, free_bytes, line_size), None
    page = _page(host, rule_lines, fitting_skills)
    units = dict(files[skill.name] for skill in fitting_skills)
    if page and host.is_shared:
        units[""] = {host.page: page.encode()}
    elif page:
        units[host.page] = {"": page.encode()}
    names = tuple(skill.name for skill in fitting_skills)
    return Export(units, names, (*omitted, *left_out), _part_of(host), cut)


def _frame(parts: Sequence[str]) -> str:
    return EXPORT.enclose("\n".join([_NOTICE, *parts]))


def _skill_line(host: RuleHost, skill: OutgoingSkill) -> str:
    path = host.file.format(skill.name) + ("" if host.front else f"/{FILE}")
    return f"- {skill.name} (`{path}`): {' '.join(skill.description.split())}\n"


def _page(host: RuleHost, rule_lines: Sequence[str], skills: Sequence[OutgoingSkill]) -> str:
    """Return the page or its part between the marks, or "" if it has no content."""
    parts = [_RULES + "".join(rule_lines)] if rule_lines else []
    if skills and host.is_shared:
        parts.append(_SKILLS + "".join(_skill_line(host, skill) for skill in skills))
    if not parts:
        return ""
    block = _frame(parts)
    if host.is_shared or host.front is None:
        return block
    return f"---\n{host.front(Scope(_PAGE_DESCRIPTION, is_always=True))}---\n\n{block}\n"


def _write_files(
    skills: Sequence[OutgoingSkill], host: RuleHost, omitted: list[OmittedSkill]
) -> Iterator[tuple[str, tuple[str, Mapping[str, bytes]]]]:
    """Yield (name, (path, files)) for each skill, and add the others to `omitted`."""
    for skill in skills:
        path = host.file.format(skill.name)
        try:
            if host.front is None:
                _check_marks(skill.description)
                yield skill.name, (path, agent_skills.write_valid(skill))
            else:
                yield skill.name, (path, {"": _file_text(skill, host, host.front).encode()})
        except BadInputError as error:
            omitted.append(OmittedSkill(skill.name, error.message))


def _file_text(skill: OutgoingSkill, host: RuleHost, front: Callable[[Scope], str]) -> str:
    """Return a skill as one file, with the globs that its author gave it for another host."""
    author_meta = agent_skills.read_author_meta(skill.files)
    _, body = front_matter.read_foreign(front_matter.text_of(skill.files[FILE]))
    description = " ".join(skill.description.split())
    _check_marks(f"{description}\n{body}")
    scope = read_scope(author_meta, description)
    mark = SKILL_MARK.format(skill.name)
    text = f"---\n{front(scope)}---\n\n{mark}\n{body}\n"
    limit = host.max_characters
    if limit and len(text) > limit:
        reason = f"takes {len(text):,} characters, and the host reads {limit:,} of a file"
        raise BadInputError(f"{reason}; shorten it", code="too-long")
    return text


def _check_marks(text: str) -> None:
    if _ANY_MARK.search(text):
        raise BadInputError(_MARK_REASON, code="mark")


def _part_of(host: RuleHost) -> ExportedPart:
    """Return the part of a file that an export owns: between the marks if shared, else all."""

    def read(path: str, content: bytes) -> bytes | None:
        return _read_block(content) if path == host.page else content

    def replace(path: str, old_content: bytes | None, part: bytes | None) -> bytes | None:
        return _replace_block(old_content or b"", part) if path == host.page else part

    return ExportedPart(read, replace)


def _read_block(content: bytes) -> bytes | None:
    """Return the block of a page with LF as line end, or None if there is none."""
    _, block, _ = managed_block.split_page(front_matter.text_of(content), EXPORT)
    return "\n".join(block.splitlines()).encode() or None


def _replace_block(content: bytes, block: bytes | None) -> bytes | None:
    """Replace or remove the block of a page. Return None if nothing else is left."""
    page = front_matter.text_of(content)
    bom = "\ufeff" if content.startswith(b"\xef\xbb\xbf") else ""
    managed_block.split_page(page, EXPORT)  # refuses marks that are not one pair
    if block is not None:
        return (bom + managed_block.put_block(page, block.decode(), EXPORT)).encode()
    page = managed_block.without_block(page, EXPORT)
    return (bom + page).encode() if page.strip() else None
