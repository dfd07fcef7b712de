"""agents_md: each section that a person wrote is a skill, and an export comes back as it went."""

from tests.exchange.skills.given import exported, flat, meta_of, outgoing, read_as

PAGE = """\
# Shop

A web shop in Django.

## Testing

Run `pytest -q` before each commit.

```sh
## no heading
pytest -q
```

## 风格

用黑色格式。

## Empty

## Testing

Never mark a test as flaky.
"""


def test_each_section_with_a_statement_is_a_skill() -> None:
    skills = read_as("agents-md", {"CLAUDE.md": PAGE.encode()})
    names = [folder.skill.name for folder in skills]
    assert names[:2] == ["shop", "testing"]
    assert names[2].startswith("section-")
    assert names[3] == "testing"
    assert skills[1].skill.description == "Use for Testing. Run `pytest -q` before each commit."
    assert "## no heading\npytest -q" in skills[1].skill.body
    assert skills[1].skill.body.startswith("## Testing\n")
    assert meta_of(skills[0].files["SKILL.md"])["metadata"]["agents-md.file"] == "CLAUDE.md"


def test_what_an_export_wrote_beside_a_person_s_text_comes_back_as_it_went() -> None:
    skills = read_as("agents-md", {"CLAUDE.md": PAGE.encode()})[:2]
    block = flat(exported("agents-md", *map(outgoing, skills)))["AGENTS.md"].decode()
    page = f"## Mine\n\nOnly mine.\n\n{block}\n\n## More\n\nAlso mine.\n"
    found = read_as("agents-md", {"AGENTS.md": page.encode()})
    back = {folder.skill.name: folder for folder in found}
    assert [*back] == ["shop", "testing", "mine", "more"]
    for folder in skills:
        again = back[folder.skill.name].skill
        assert (again.description, again.body) == (folder.skill.description, folder.skill.body)
        assert again.name == folder.skill.name


def test_every_such_file_of_a_tree_is_read_and_no_other() -> None:
    page = b"## A\n\nText.\n"
    files = {"AGENTS.md": page, "sub/CLAUDE.md": page, "README.md": page}
    assert len(read_as("agents-md", files)) == 2
