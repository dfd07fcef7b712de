"""agents_md: each section that a person wrote is rules or a skill."""

from collections.abc import Mapping, Sequence

import pytest

from skillvault.exchange.skills.folders import DocumentRule, TreeSkill
from skillvault.exchange.skills.formats import format_of
from skillvault.exchange.source_tree import SkippedFile, SourceTree, tree_of
from skillvault.model.errors import BadInputError
from skillvault.model.records import Problem
from skillvault.model.text import managed_block
from tests.exchange.skills.given import every, exported, flat, meta_of, outgoing, read_as

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


def test_each_section_with_a_statement_is_a_skill_or_rules() -> None:
    skills = read_as("agents-md", {"CLAUDE.md": PAGE.encode()})
    names = [folder.skill.name for folder in skills]
    assert names == ["shop", "testing"]
    assert skills[1].skill.description == "Use for Testing. Run `pytest -q` before each commit."
    assert "## no heading\npytest -q" in skills[1].skill.body
    assert skills[1].skill.body.startswith("## Testing\n")
    assert meta_of(skills[0].files["SKILL.md"])["metadata"]["agents-md.file"] == "CLAUDE.md"


def test_what_an_export_wrote_beside_a_person_s_text_comes_back_as_it_went() -> None:
    skills = read_as("agents-md", {"CLAUDE.md": PAGE.encode()})[:2]
    files = flat(exported("agents-md", *map(outgoing, skills)))
    block = files["AGENTS.md"].decode()
    page = f"## Mine\n\nOnly mine.\n\n{block}\n\n## More\n\nAlso mine.\n"
    found = read_as("agents-md", {**files, "AGENTS.md": page.encode()})
    back = {folder.skill.name: folder for folder in found}
    assert [*back] == ["shop", "testing", "mine", "more"]
    for folder in skills:
        again = back[folder.skill.name].skill
        assert (again.description, again.body) == (folder.skill.description, folder.skill.body)
        assert again.name == folder.skill.name


def test_every_such_file_of_a_tree_is_read_and_no_other() -> None:
    page = b"## A\n\nText.\n"
    files = {"AGENTS.md": page, "sub/CLAUDE.md": page + b"More.\n", "README.md": page}
    assert len(read_as("agents-md", files)) == 2


def rules(name: str, tree: SourceTree) -> list[tuple[str, str]]:
    entries = [entry for entry in every(name, tree) if isinstance(entry, DocumentRule)]
    return [(entry.text, entry.about) for entry in entries]


def passed_over(name: str, tree: SourceTree) -> dict[str, str]:
    found = every(name, tree)
    return {entry.path: entry.reason for entry in found if isinstance(entry, SkippedFile)}


@pytest.mark.parametrize(
    ("section", "stated"),
    [
        ("- Use tabs.\n- Keep views\n  thin.\n", ["Use tabs.", "Keep views thin."]),
        ("Follow these:\n\n- Never skip a test.\n", ["Never skip a test."]),
        ("Never push to main.\n", ["Never push to main."]),
        ("不要跳过测试。\n", ["不要跳过测试。"]),
        ("The shop is a Django app.\n", []),
        ("- `src/`: the code\n- `docs/`: the documents\n", []),
        ("1. Stop it.\n2. Start it.\n", []),
        ("1. Clone it.\n2. Run `uv sync`.\n3. Run `uv run pytest`.\n", []),
        ("Thanks for considering to contribute!\n", []),
        (
            "| Rule | Why |\n|---|---|\n| Never commit keys | leaks |\n",
            ["Never commit keys (leaks)"],
        ),
        ("Run it.\n\n```sh\nmake\n```\n", []),
    ],
)
def test_a_section_that_says_what_to_do_is_rules(section: str, stated: list[str]) -> None:
    tree = tree_of({"AGENTS.md": f"## Code\n\n{section}".encode()})
    assert rules("agents-md", tree) == [(text, "Code") for text in stated]
    assert len(read_as("agents-md", {"AGENTS.md": f"## Code\n\n{section}".encode()})) == (
        not stated
    )


@pytest.mark.parametrize(
    ("section", "texts"),
    [
        ("1. Always test\n2. Never push\n3. Use uv\n", ["Always test", "Never push", "Use uv"]),
        ("1. Clone it\n2. Open the page\n", []),
        ("## Don't\n\n- [x] commit `.env`\n", ["Don't: commit `.env`"]),
        ("## Richtlinien\n\n- Keine Makros\n- Kurze Namen\n", ["Keine Makros", "Kurze Namen"]),
        ("- Verwende Typen\n- Schreibe Tests\n", ["Verwende Typen", "Schreibe Tests"]),
        ("## 规范\n\n- 缩进两格\n", ["缩进两格"]),
        ("- 使用严格模式\n- 避免全局变量\n", ["使用严格模式", "避免全局变量"]),
        ("## Правила\n\n- Короткие имена\n", ["Короткие имена"]),
        ("- Пишите тесты\n- Не коммитьте ключи\n", ["Пишите тесты", "Не коммитьте ключи"]),
    ],
)  # fmt: skip
def test_rules_are_found_in_lists_of_any_form_and_language(section: str, texts: list[str]) -> None:
    found = rules("agents-md", tree_of({"AGENTS.md": section.encode()}))
    assert [text for text, _ in found] == texts


@pytest.mark.parametrize(
    "title",
    [
        "What not to do", "Things we don't do", "We do not", "Never do this", "Please do not",
        "Don't do this", "Don’t", "Don'ts", "What we don't want", "Not this", "Bad practices",
        "Things to avoid", "Forbidden", "Verboten", "Запрещено", "À éviter", "Prohibido",
        "禁止事项",
    ],
)  # fmt: skip
def test_a_rule_keeps_the_negation_of_its_heading(title: str) -> None:
    page = f"## {title}\n\n- Use eval.\n- Don't push.\n- Please never sleep.\n"
    found = rules("agents-md", tree_of({"AGENTS.md": page.encode()}))
    texts = [text for text, _ in found]
    assert texts == [f"{title}: Use eval.", "Don't push.", "Please never sleep."]


@pytest.mark.parametrize(
    ("section", "texts"),
    [
        ("### Don't\n\n- Use eval.\n\n### Do\n\n- Use ast.\n", ["Don't: Use eval.", "Use ast."]),
        ("**Never:**\n\n- Use eval.\n\nInstead:\n\n- Use ast.\n", ["Never: Use eval.", "Use ast."]),
        ("**Don't**\n\n- Use eval.\n", ["Don't: Use eval."]),
        ("| Do | Don't |\n|--|--|\n| Use a | Use b |\n", ["Use a", "Don't: Use b"]),
        ("- Use ast.\n- Don't use eval.\n", ["Use ast.", "Don't use eval."]),
        ("- Use eval.\n- Push to main.\n", []),  # of which kind, nobody knows
    ],
)
def test_dos_and_donts_are_told_apart(section: str, texts: list[str]) -> None:
    tree = tree_of({"AGENTS.md": f"## Dos and Don'ts\n\n{section}".encode()})
    assert [text for text, _ in rules("agents-md", tree)] == texts


def test_a_negative_that_is_no_prohibition_does_not_replace_that_of_its_heading() -> None:
    page = "## Avoid\n\n- Not writing tests\n- Merge without tests\n- Secrets must not leak\n"
    found = rules("agents-md", tree_of({"AGENTS.md": page.encode()}))
    assert [text for text, _ in found] == [
        "Avoid: Not writing tests", "Avoid: Merge without tests", "Secrets must not leak"
    ]  # fmt: skip


@pytest.mark.parametrize("page", ["", "---\nalwaysApply: true\n---\n", "## Rules\n\n- **:**\n"])
def test_a_page_without_a_statement_is_named(page: str) -> None:
    reasons = passed_over("agents-md", tree_of({".cursor/rules/a.mdc": page.encode()}))
    assert [*reasons.values()] == ["states nothing"]


def test_a_section_that_only_points_to_files_states_nothing() -> None:
    page = b"# Shop\n\n@AGENTS.md\n@~/.claude/me.md\n\n## Rules\n\n- Use uv.\n"
    tree = tree_of({"CLAUDE.md": page})
    assert passed_over("agents-md", tree) == {"CLAUDE.md#shop": "states nothing"}
    assert rules("agents-md", tree) == [("Use uv.", "Rules")]


@pytest.mark.parametrize(
    ("front", "start"),
    [
        ('globs: "*.ts"\nalwaysApply: false', "For `*.ts`: "),
        ("globs: [a.ts, b.ts]", "For `a.ts,b.ts`: "),
        ("applyTo: src/**", "For `src/**`: "),
        ('applyTo: "**"', ""),
        ('globs: "*.ts"\nalwaysApply: true', ""),
        ("description: Types", ""),
    ],
)
def test_a_rule_names_the_files_that_its_page_is_for(front: str, start: str) -> None:
    page = f"---\n{front}\n---\n\n- Always use strict mode.\n".encode()
    ((text, _),) = rules("agents-md", tree_of({".cursor/rules/ts.mdc": page}))
    assert text == f"{start}Always use strict mode."


def test_a_list_below_a_title_of_rules_is_rules() -> None:
    tree = tree_of({"AGENTS.md": b"## Conventions\n\n- 100 characters a line\n"})
    assert rules("agents-md", tree) == [("100 characters a line", "Conventions")]


@pytest.mark.parametrize(
    "text",
    [
        "@AGENTS.md\n", "# Claude\n\nSee [AGENTS.md](AGENTS.md).\n", "Read docs/AGENTS.md.",
        "Die Regeln stehen in AGENTS.md.", "请阅读 AGENTS.md 获取说明。", "Правила в AGENTS.md",
    ],
)  # fmt: skip
def test_a_page_that_points_to_another_is_named(text: str) -> None:
    reasons = passed_over("agents-md", tree_of({"CLAUDE.md": text.encode()}))
    assert reasons["CLAUDE.md"].startswith("only points to another file")


def test_equal_pages_and_links_are_read_once() -> None:
    tree = tree_of({"AGENTS.md": b"Use uv.\n", "CLAUDE.md": b"Use uv.", "GEMINI.md": b"Use uv.\n"})
    linked = SourceTree(tree.sizes, tree.read, {}, {"GEMINI.md": "AGENTS.md"})
    assert rules("agents-md", linked) == [("Use uv.", "Project notes")]
    assert passed_over("agents-md", linked) == {
        "CLAUDE.md": "says the same as AGENTS.md",
        "GEMINI.md": "says the same as AGENTS.md",
    }


@pytest.mark.parametrize("target", ["AGENTS.md", "docs/notes.md"])
def test_a_page_is_read_though_a_link_to_it_stands_first(target: str) -> None:
    path = ".github/copilot-instructions.md"
    tree = tree_of(dict.fromkeys((path, target), b"Use uv.\n"))
    linked = SourceTree(tree.sizes, tree.read, {}, {path: target})
    assert rules("agents-md", linked) == [("Use uv.", "Project notes")]


def test_boilerplate_and_comments_are_no_skills() -> None:
    page = (
        "# CLAUDE.md\n\nThis file provides guidance to Claude Code (claude.ai/code) when working "
        "with code in this repository.\n\n<!-- Use nothing. -->\n\n## Attribution\n\nBy Ann.\n"
    )
    tree = tree_of({"CLAUDE.md": page.encode()})
    assert passed_over("agents-md", tree) == {
        "CLAUDE.md#claude-md": "states nothing",
        "CLAUDE.md#attribution": "boilerplate",
    }


@pytest.mark.parametrize(
    ("path", "front"),
    [
        (".cursor/rules/api.mdc", "description: The API\nglobs: *.ts,src/**\nalwaysApply: false\n"),
        (".github/instructions/api.instructions.md", 'description: The API\napplyTo: "**/*.ts"\n'),
        (".windsurf/rules/api.md", "trigger: glob\ndescription: The API\n"),
        ("rules/api.mdc", "description: The API\n"),
        (".kiro/steering/api.md", "description: The API\n"),
        (".clinerules/api.md", "description: The API\n"),
    ],
)
def test_rules_of_other_tools_are_read_without_their_front_matter(path: str, front: str) -> None:
    text = f"---\n{front}---\n\n- Validate input.\n\n## Run\n\n```sh\nmake\n```\n"
    tree = tree_of({path: text.encode()})
    assert format_of(tree) == "agents-md"
    ((rule, about),) = rules("agents-md", tree)
    assert (rule.rpartition("`: ")[2], about) == ("Validate input.", "The API")
    (skill,) = read_as("agents-md", {path: text.encode()})
    assert skill.skill.description == "Use for Run. The API make"


def test_of_other_documents_only_rules_and_how_tos_are_read() -> None:
    page = b"# Contributing\n\nThanks!\n\n## Code\n\n- Add it.\n\n## Release\n\n1. Tag.\n2. Push.\n"
    files = {
        "CONTRIBUTING.md": page,
        "README.md": page,
        "docs/runbooks/db.md": b"1. Stop.\n2. Go.\n",
    }
    assert rules("documents", tree_of(files)) == [("Add it.", "Code")]
    assert [s.skill.name for s in read_as("documents", files)] == ["release", "project-notes"]
    assert passed_over("documents", tree_of(files)) == {
        "CONTRIBUTING.md#contributing": "neither rules nor steps"
    }


def test_a_page_that_cannot_be_read_is_named_and_the_others_are_read() -> None:
    large = b"## Style\n\n" + b"- Use spaces.\n" * 80_000
    pages = {"AGENTS.md": b"Use uv.\n", "CLAUDE.md": large, "sub/AGENTS.md": b"Use pip.\n"}

    def read(paths: Sequence[str]) -> Mapping[str, bytes]:
        if "sub/AGENTS.md" in paths:
            raise BadInputError("changed while it was read", code="changed")
        return {path: pages[path] for path in paths}

    tree = SourceTree(tree_of(pages).sizes, read)
    problems = [entry for entry in every("agents-md", tree) if isinstance(entry, Problem)]
    assert [(entry.path, entry.code) for entry in problems] == [
        ("CLAUDE.md", "too-large"),
        ("sub/AGENTS.md", "changed"),
    ]
    assert rules("agents-md", tree) == [("Use uv.", "Project notes")]


@pytest.mark.parametrize("mark", ["<!--", managed_block.SETUP.begin])
def test_begins_of_comments_without_an_end_are_read_in_one_pass(mark: str) -> None:
    page = "Use uv.\n\n" + mark * (1_000_000 // len(mark))
    assert ("Use uv.", "Project notes") in rules("agents-md", tree_of({"AGENTS.md": page.encode()}))


def test_each_section_has_its_own_place() -> None:
    titles = ["Run", "Run", "Run 2", "Run"]
    text = "".join(f"\n## {title}\n\n```sh\nmake\n```\n" for title in titles)
    entries = every("agents-md", tree_of({"CLAUDE.md": text.encode()}))
    places = [entry.path for entry in entries if isinstance(entry, TreeSkill)]
    assert len(places) == len(set(places)) == 4
