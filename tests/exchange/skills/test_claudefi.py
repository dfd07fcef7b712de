"""claudefi: a reflection comes in with its kind and domain, and every byte of its text."""

import pytest

from skillvault.exchange.source_tree import tree_of
from skillvault.model.records import Problem
from tests.exchange.skills.given import every, meta_of, read_as

TEXT = """\
# Warning: perps close_position Pattern

*Generated from loss on 2026-01-09T00:05:47.919Z*
*P&L: $-40.00 (-66.7%)*

---

# Skill: Exit Early

- Close at -10 %.
"""


@pytest.mark.parametrize(
    ("path", "kind", "domain"),
    [
        ("warning-perps-1767917147919.md", "warning", "perps"),
        (".claude/reflections/pattern-dlmm-1767917147919.md", "pattern", "dlmm"),
        ("strategy-spot-momentum.md", "strategy", "spot"),
        ("evolved-warning-perps-1767917147919.md", "evolved", "perps"),
    ],
)
def test_its_name_says_what_it_is(path: str, kind: str, domain: str) -> None:
    (folder,) = read_as("claudefi", {path: TEXT.encode()})
    assert (folder.skill.kind, folder.skill.domain) == (kind, domain)
    assert folder.skill.name == path.rpartition("/")[2].removesuffix(".md")


def test_its_text_is_kept_and_its_description_says_when_to_use_it() -> None:
    (folder,) = read_as("claudefi", {"warning-perps-1767917147919.md": TEXT.encode()})
    content = folder.files["SKILL.md"]
    assert content.endswith(TEXT.encode())
    meta = meta_of(content)
    assert meta["description"] == (
        "Use before a decision in perps. Warning: perps close_position Pattern. Exit Early."
    )
    assert meta["metadata"]["claudefi.created"] == "2026-01-09T00:05:47.919Z"
    assert "created" not in meta["metadata"]  # let in late, it is not as old as it was there


def test_without_a_time_in_its_text_that_of_its_name_counts() -> None:
    (folder,) = read_as("claudefi", {"warning-perps-1767917147919.md": b"# Warning\n\n- A.\n"})
    created = meta_of(folder.files["SKILL.md"])["metadata"]["claudefi.created"]
    assert created == "2026-01-09T00:05:47Z"


def test_what_claudefi_retired_and_what_is_no_reflection_stay_out() -> None:
    page = TEXT.encode()
    files = {
        "archive/warning-perps-1767917147919.md": page,
        "notes.md": page,
        "pattern-perps-1767917147918.md": b"---\nname: a\n---\n",
        "warning-perps-1767917147920.md": page,
        "warning-perps-1767917147921.md": b"# \xff\n",
    }
    found = every("claudefi", tree_of(files))
    assert [p.path for p in found if isinstance(p, Problem)] == ["warning-perps-1767917147921.md"]
    assert len(found) == 2
