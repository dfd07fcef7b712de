"""Trees and skills that tests of formats begin with."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from skillvault.exchange.skills.agent_skills import SkillFolder
from skillvault.exchange.skills.folders import TreeEntry, TreeSkill
from skillvault.exchange.skills.formats import SKILL_FORMATS
from skillvault.exchange.source_tree import SourceTree, tree_of
from skillvault.model.export import Export, OutgoingSkill
from skillvault.model.records import ExternalUse, Problem
from skillvault.model.text import front_matter, strict_yaml

BODY = "# Review\n\nLook twice.\n"
WORD = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True)
TEXT = st.text("ab:{}[]'\"-# \n1.é", min_size=1, max_size=12).filter(
    lambda text: bool(text.strip()) and "---" not in text  # which ends a front matter for some
)
SCALAR = st.one_of(TEXT, st.booleans(), st.integers(-99, 99))
# What every reader of YAML takes: an empty list or map has no block style.
NESTED = st.recursive(
    SCALAR,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3) | st.dictionaries(WORD, inner, min_size=1)
    ),
    max_leaves=4,
)
FILES = st.dictionaries(
    st.sampled_from(["scripts/run.sh", "references/a.md", "notes.txt"]), st.binary(max_size=40)
)


def skill_file(front: Mapping[str, Any] | str, body: str = BODY) -> bytes:
    """A SKILL.md."""
    text = front if isinstance(front, str) else strict_yaml.dump(dict(front))
    return f"---\n{text}---\n\n{body}".encode()


def files_in(folder: str, **files: bytes) -> dict[str, bytes]:
    """Files by path, in a folder; `SKILL_md` stands for `SKILL.md`."""
    return {f"{folder}/{name.replace('_md', '.md')}": data for name, data in files.items()}


def read_as(name: str, files: Mapping[str, bytes], folder: str = "tree") -> list[SkillFolder]:
    """The skills of a tree in a format, which has no problems."""
    found = every(name, tree_of(files), folder)
    problems = [problem for problem in found if isinstance(problem, Problem)]
    assert not problems, problems
    return [skill.folder for skill in found if isinstance(skill, TreeSkill)]


def every(name: str, tree: SourceTree, folder: str = "tree") -> list[TreeEntry]:
    """The skills and problems of a tree in a format."""
    read = SKILL_FORMATS[name].read
    assert read is not None
    return list(read(tree, folder))


def outgoing(skill: SkillFolder, uses: ExternalUse | None = None) -> OutgoingSkill:
    """A skill that was taken in, once a person let it in."""
    content = front_matter.with_key(skill.files["SKILL.md"], ("metadata", "status"), "testing")
    files = {**skill.files, "SKILL.md": content}
    return OutgoingSkill(skill.skill.name, skill.skill.description, files, uses)


def exported(name: str, *skills: OutgoingSkill, budget: int | None = None) -> Export:
    """An export in a format."""
    write = SKILL_FORMATS[name].write
    assert write is not None
    return write(skills, budget)


def flat(export: Export) -> dict[str, bytes]:
    """Its files by path."""
    return {
        "/".join(filter(None, (unit, path))): content
        for unit, files in export.units.items()
        for path, content in files.items()
    }


def meta_of(content: bytes) -> dict[str, Any]:
    """A file's front matter."""
    return front_matter.read_document(front_matter.text_of(content))[0]


def body_of(content: bytes) -> str:
    """A file's text."""
    return front_matter.read_document(front_matter.text_of(content))[1]
