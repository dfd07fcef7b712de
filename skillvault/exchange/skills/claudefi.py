"""Read reflections of claudefi, which are flat files without front matter.

Their names have the kind and the domain. claudefi does not read skills, so there is no writer.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from skillvault.exchange.skills import agent_skills
from skillvault.exchange.skills.agent_skills import FILE, SkillFolder
from skillvault.exchange.skills.folders import TreeSkill, read_pages, tree_skill
from skillvault.exchange.source_tree import SourceTree
from skillvault.model.errors import BadInputError
from skillvault.model.records import Problem, stamp
from skillvault.model.text import front_matter, markdown, strict_yaml
from skillvault.model.text.text import shorten

NAME = "claudefi"
_PATH = re.compile(
    r"(?:.*/)?(?P<stem>(?P<kind>warning|pattern|strategy|evolved)-"
    r"(?:(?:warning|pattern|strategy)-)?(?P<domain>[a-z0-9]+)-(?P<at>[0-9]{13}|[a-z0-9-]+))\.md"
)
_TITLE = re.compile(rb"(?:\xef\xbb\xbf)?\s*# ")  # a file that begins with a title
_ARCHIVE = re.compile(r"(?:^|/)archive/")
_CREATION = re.compile(
    r"^\*(?:Generated|Evolved|Merged)\b.*? on (?P<at>[0-9TZ:.+-]+)", re.MULTILINE
)
_MAX_DESCRIPTION = 300


def has_reflections(tree: SourceTree) -> bool:
    """Return True if a tree has reflections of claudefi."""
    return any(_TITLE.match(content) for content in _read_pages(tree).values())


def read_reflections(tree: SourceTree, _folder: str) -> Iterator[TreeSkill | Problem]:
    """Yield every reflection of a tree except those in claudefi's archive."""
    for path, content in sorted(_read_pages(tree).items()):
        match = _PATH.fullmatch(path)
        if match and _TITLE.match(content):
            try:
                skill = _convert_reflection(match, front_matter.text_of(content))
            except BadInputError as error:
                yield Problem(path, error.key, error.code, error.message)
                continue
            yield tree_skill(skill, path, {FILE: content})


def _read_pages(tree: SourceTree) -> dict[str, bytes]:
    return read_pages(tree, lambda path: bool(_PATH.fullmatch(path)) and not _ARCHIVE.search(path))


def _convert_reflection(match: re.Match[str], text: str) -> SkillFolder | Problem:
    kind, domain = match["kind"], match["domain"]
    metadata = {"kind": kind, "domain": domain, "claudefi.file": f"{match['stem']}.md"}
    if time := _creation_time(match["at"], text):
        metadata["claudefi.created"] = time
    titles = (title.removeprefix("Skill: ") for title in markdown.titles(text))
    use = f"Use before a decision in {domain}. {'. '.join(titles)}."
    description = shorten(use, _MAX_DESCRIPTION)
    meta = {"name": match["stem"], "description": description, "metadata": metadata}
    return agent_skills.read_skill(
        {FILE: f"---\n{strict_yaml.dump(meta)}---\n\n{text}".encode()}, match["stem"], NAME
    )


def _creation_time(digits: str, text: str) -> str | None:
    if match := _CREATION.search(text):
        return match["at"]
    if digits.isdigit():
        return stamp(datetime.fromtimestamp(int(digits) // 1000, UTC))
    return None
