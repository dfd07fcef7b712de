"""The rule files of hosts: rules and skills go out by one table, and come back as they went."""

from collections.abc import Mapping
from typing import Any

import pytest

from skillvault.exchange.skills.folders import DocumentRule
from skillvault.exchange.skills.rule_files import BUDGET, HOSTS, write_rules
from skillvault.exchange.source_tree import SkippedFile, tree_of
from skillvault.model.export import Export, OutgoingRule, OutgoingSkill
from skillvault.model.text import front_matter
from tests.exchange.skills.given import every, flat, outgoing, read_as, skill_file

RULES = (OutgoingRule("r1", "We use uv here,\nnever pip."), OutgoingRule("r2", "Views stay thin."))
HOST_NAMES = sorted(HOSTS)


def skill_of(name: str, description: str = "", body: str = "# Do it\n\nTwice.\n") -> OutgoingSkill:
    said = description or f"Use before {name}."
    return OutgoingSkill(
        name, said, {"SKILL.md": skill_file({"name": name, "description": said}, body)}
    )


def sent(name: str, *skills: OutgoingSkill, budget: int | None = None) -> Export:
    return write_rules(skills, budget, RULES, host=HOSTS[name])


def page_of(name: str, export: Export) -> str:
    return flat(export)[HOSTS[name].page].decode()


@pytest.mark.parametrize("name", HOST_NAMES)
def test_rules_and_skills_come_back_as_they_went(name: str) -> None:
    skills = (skill_of("one", "Use it: always."), skill_of("two", body="## A\n\n- Never b.\n"))
    entries = every("agents-md", tree_of(flat(sent(name, *skills))))
    rules = [entry.text for entry in entries if isinstance(entry, DocumentRule)]
    assert rules == ["We use uv here, never pip.", "Views stay thin."]
    back = {
        skill.skill.name: skill.skill for skill in read_as("agents-md", flat(sent(name, *skills)))
    }
    assert {one: back[one].description for one in back} == {
        "one": "Use it: always.", "two": "Use before two."
    }  # fmt: skip
    assert back["two"].body.strip() == "## A\n\n- Never b."


@pytest.mark.parametrize("name", [name for name in HOST_NAMES if HOSTS[name].is_shared])
def test_a_shared_page_lists_each_skill_with_its_path(name: str) -> None:
    export = sent(name, skill_of("one"))
    (path,) = set(flat(export)) - {HOSTS[name].page}
    assert f"- one (`{path}`): Use before one.\n" in page_of(name, export)
    assert "Twice." not in page_of(name, export)


@pytest.mark.parametrize("name", HOST_NAMES)
def test_a_page_keeps_to_four_kilobytes_and_what_is_cut_is_named(name: str) -> None:
    skills = [skill_of(f"skill-{number}", "数据 is read. " * 30) for number in range(90)]
    export = sent(name, *skills)
    assert len(page_of(name, export).encode()) <= BUDGET == 4096
    assert "never pip" in page_of(name, export)
    named = {one.skill for one in export.left_out}
    assert named | set(export.skills) == {skill.name for skill in skills}
    assert named
    assert len(sent(name, *skills, budget=100_000).skills) == 90


@pytest.mark.parametrize("page", ["# Mine\r\n\r\nText.  \r\n\r\n", "\ufeff# Mine\n", "Mine\n\n\n"])
def test_a_shared_page_is_a_persons_to_the_byte_outside_of_the_block(page: str) -> None:
    export = sent("gemini", skill_of("one"))
    block = flat(export)["GEMINI.md"]
    whole = export.owned_part.put("GEMINI.md", page.encode(), block)
    assert whole is not None
    assert export.owned_part.read("GEMINI.md", whole) == block
    assert export.owned_part.put("GEMINI.md", whole, block) == whole
    assert (b"\r\n" in whole) == (whole.count(b"\n") == whole.count(b"\r\n"))
    below = whole + b"\nBelow.\n"
    assert export.owned_part.put("GEMINI.md", below, None) == page.encode() + b"\nBelow.\n"
    assert export.owned_part.put("GEMINI.md", whole, None) == page.encode()


def test_a_block_with_other_line_ends_is_not_edited() -> None:
    export = sent("gemini", skill_of("one"))
    block = flat(export)["GEMINI.md"]
    whole = export.owned_part.put("GEMINI.md", b"Mine\n", block) or b""
    assert export.owned_part.read("GEMINI.md", whole.replace(b"\n", b"\r\n")) == block


def test_a_rule_that_does_not_fit_is_named_by_its_id() -> None:
    rules = (OutgoingRule("long", "Use uv. " * 600), *RULES)
    export = write_rules([], None, rules, host=HOSTS["gemini"])
    assert [one.skill for one in export.left_out] == ["long"]
    assert "Views stay thin." in page_of("gemini", export)


GLOBS = "src/**/*.ts,*.tsx"
ABOUT = {"description": "Use before one."}
FRONTS: list[tuple[str, dict[str, Any]]] = [
    ("cursor", {**ABOUT, "globs": GLOBS, "alwaysApply": False}),
    ("copilot", {**ABOUT, "applyTo": GLOBS}),
    ("windsurf", {"trigger": "glob", **ABOUT, "globs": GLOBS}),
]
SOURCES = {
    ".cursor/rules/one.mdc": "globs: src/**/*.ts,*.tsx\nalwaysApply: false\n",
    ".github/instructions/one.instructions.md": 'applyTo: "src/**/*.ts,*.tsx"\n',
    ".windsurf/rules/one.md": 'trigger: glob\nglobs: "src/**/*.ts,*.tsx"\n',
}


@pytest.mark.parametrize(("name", "front"), FRONTS)
@pytest.mark.parametrize("source", SOURCES)
def test_globs_go_from_any_host_to_any_host(
    name: str, front: Mapping[str, Any], source: str
) -> None:
    """And back: what a host's file says about when to read it is kept."""
    text = f"---\ndescription: The API\n{SOURCES[source]}---\n\n## Run\n\n```sh\nmake\n```\n"
    (skill,) = read_as("agents-md", {source: text.encode()})
    went = OutgoingSkill("one", "Use before one.", outgoing(skill).files)
    for _ in range(2):
        files = flat(sent(name, went))
        content = files[HOSTS[name].file.format("one")].decode()
        assert front_matter.read_foreign(content)[0] == front
        (again,) = read_as("agents-md", files)
        went = OutgoingSkill("one", again.skill.description, outgoing(again).files)


def test_a_rule_for_each_session_stays_one() -> None:
    text = "---\ndescription: The API\nalwaysApply: true\n---\n\n## Run\n\n```sh\nmake\n```\n"
    (skill,) = read_as("agents-md", {".cursor/rules/one.mdc": text.encode()})
    files = flat(sent("windsurf", OutgoingSkill("one", "Use.", outgoing(skill).files)))
    assert "trigger: always_on\n" in files[".windsurf/rules/one.md"].decode()


def test_a_file_longer_than_its_host_reads_is_left_out_and_named() -> None:
    export = sent("windsurf", skill_of("long", body="# A\n\n" + "Use it. " * 1600))
    assert export.skills == ()
    assert "reads 12,000 of a file" in export.left_out[0].reason


def test_a_page_alone_names_the_files_that_it_points_to() -> None:
    page = page_of("agents-md", sent("agents-md", skill_of("one")))
    entries = every("agents-md", tree_of({"AGENTS.md": page.encode()}))
    passed = [entry for entry in entries if isinstance(entry, SkippedFile)]
    assert passed == [
        SkippedFile("AGENTS.md#one", "only points to .skillvault/agents-md/one/SKILL.md")
    ]
