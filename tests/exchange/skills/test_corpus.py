"""Round trips of all formats over front matter as people write it."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skills_ref import validate  # type: ignore[import-untyped]

from skillvault.exchange.skills.agent_skills import SkillFolder, read_author_meta
from skillvault.exchange.skills.formats import SKILL_FORMATS
from skillvault.learning.next_version import proposed_files
from skillvault.model.export import OutgoingSkill
from skillvault.model.text import front_matter
from tests.exchange.skills.given import exported, flat, outgoing, read_as, skill_file
from tests.exchange.skills.test_formats import WRITERS
from tests.thorough import THOROUGH

AUTHORED = ("claude-code", "openclaw")  # these give the author's front matter back
VALID = ("codex", "well-known")  # these are valid by the specification
# Ways to write each key; a key comes once.
WAYS = {
    "name": [
        "name: Review It\n", 'name: "数据分析"\n', "name: Проверка кода\n", "name: مراجعة\n",
        "name: résumé\n", "name: review-it\n", "name: 'review-it'\n", "name: 2026\n", "",
    ],
    "description": [
        "description: Reads it.\n", "description: Use when: a test fails.\n",
        "description: Use when: a test fails\n  and: the log is long.\n",
        "description: >-\n  Use when: a test fails\n  and: the log is long.\n",
        "description: |\n  First: this.\n  Then: that.\n", 'description: "Use: now"  # why\n',
        "description: 'It''s: here'\n", "description: reads\n  on two lines\n",
        "description: > Use when it fails\n", "description: | Use: when\n  it fails\n",
    ],
    "allowed-tools": [
        "allowed-tools:\n  - Read\n  - Bash(git:*)\n", "allowed-tools: [Read, 'Bash(make:*)']\n",
        "allowed-tools: Read, Grep\n", "allowed-tools: Read Bash(git:*)\n", "allowed-tools: []\n",
    ],
    "version": ["version: 1.10\n", "version: '1.10'\n", "version: 2\n", "version: 1.0.0-beta\n"],
    "date": ["date: 2026-01-05\n", "date: 2026-01-05T10:15:00Z\n", "date: 12:30\n"],
    "tags": ["tags: [a, b]\n", "tags: a, b\n"],
    "created_at": ["created_at: 2026-01-05T10:15:00+00:00\n"],
    "draft": ["draft: yes\n", "draft: No\n", "draft: on\n", "draft: ~\n", "draft:\n"],
    "license": ["license: MIT # or later\n", "license: a --- b\n"],
    "hooks": [
        "hooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - {type: command}\n",
        "hooks: {Stop: [{command: 'true'}]}\n",
    ],
    "arguments": ['argument-hint: "[item] [count]"\n', "arguments:\n- item\n- count\n"],
    "metadata": [
        "metadata:\n  a:\n    t: [x, y]\n  on: 2026-01-05\n  b: yes\n",
        "metadata: {openclaw: {a: 1}}\n",
        "metadata:\n  openclaw:\n    requires:\n      bins: []\n    env: {}\n  os: []\n",
        "metadata:\n", "metadata: {}\n", 'metadata: {"os": ["linux"], "v": 1.10}\n',
        "metadata: '{\"os\": 1}'\n",
        "metadata:\n  status: draft\n  tags: a b\n",
        "metadata:\n  version: 1.20\n  created: never\n", "metadata: {version: 3, tags: [x]}\n",
    ],
}  # fmt: skip


@st.composite
def _pages(draw: st.DrawFn) -> bytes:
    keys = draw(st.permutations(list(WAYS)))
    chosen = [key for key in keys if key == "description" or draw(st.booleans())]
    front = "".join(draw(st.sampled_from(WAYS[key])) for key in chosen)
    page = skill_file(front, draw(st.sampled_from(["# Do\n\nIt.\n", "Do: it", "a\n\n---\n\nb\n"])))
    return page.replace(b"\n", draw(st.sampled_from([b"\n", b"\r\n"])))


def _examples(count: int) -> int:
    return count if THOROUGH else count // 10


def _proposed(page: bytes) -> OutgoingSkill:
    """Return a skill as a vault has it once a person approved it."""
    (skill,) = read_as("agent-skills", {"review-it/SKILL.md": page})
    files = proposed_files(skill.files, skill.skill.name)
    return outgoing(SkillFolder(skill.skill, files))


@settings(max_examples=_examples(300))
@given(_pages())
def test_what_a_host_reads_comes_back_byte_for_byte(page: bytes) -> None:
    (skill,) = read_as("agent-skills", {"review-it/SKILL.md": page})
    is_valid = front_matter.mend(page.decode()) == page.decode()
    for name in AUTHORED:
        (content,) = flat(exported(name, _proposed(page))).values()
        if is_valid:
            assert content == page
        (copy,) = read_as("agent-skills", {"review-it/SKILL.md": content})
        assert copy.skill.description == skill.skill.description
        assert read_author_meta(copy.files) == read_author_meta(skill.files)


@settings(max_examples=_examples(200))
@given(_pages())
def test_a_valid_copy_has_all_that_the_author_wrote(page: bytes) -> None:
    (skill,) = read_as("agent-skills", {"review-it/SKILL.md": page})
    for name in VALID:
        files = flat(exported(name, _proposed(page)))
        content = next(data for path, data in files.items() if path.endswith("/SKILL.md"))
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / skill.skill.name
            place.mkdir()
            (place / "SKILL.md").write_bytes(content)
            assert validate(place) == []
        (copy,) = read_as("agent-skills", {"review-it/SKILL.md": content})
        metas = [read_author_meta(taken.files) for taken in (copy, skill)]
        for meta in metas:
            meta.pop("name", None)  # the name of the folder, if the author gave none
            if not meta.get("metadata"):  # an empty one is not kept by the specification
                meta.pop("metadata", None)
        assert metas[0] == metas[1]


@pytest.mark.parametrize("name", [name for name in WRITERS if SKILL_FORMATS[name].read])
@settings(max_examples=_examples(150))
@given(page=_pages())
def test_a_second_round_trip_changes_nothing(name: str, page: bytes) -> None:
    first = flat(exported(name, _proposed(page), budget=10_000))
    (copy,) = read_as(name, first)
    assert flat(exported(name, outgoing(copy), budget=10_000)) == first
