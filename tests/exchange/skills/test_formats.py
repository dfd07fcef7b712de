"""Formats of skills: what goes there and back loses nothing that the other format can hold."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from skills_ref import validate  # type: ignore[import-untyped]

from skillvault.exchange.skills import formats, well_known
from skillvault.exchange.skills.agent_skills import read_author_meta
from skillvault.exchange.skills.folders import TreeSkill
from skillvault.exchange.skills.formats import SKILL_FORMATS, format_of
from skillvault.exchange.source_tree import tree_of
from skillvault.model.change import Program
from skillvault.model.export import OutgoingSkill
from skillvault.model.records import ExternalUse, Problem
from skillvault.model.text import front_matter
from tests.exchange.skills.given import (
    BODY,
    FILES,
    NESTED,
    TEXT,
    WORD,
    body_of,
    every,
    exported,
    files_in,
    flat,
    meta_of,
    outgoing,
    read_as,
    skill_file,
)
from tests.thorough import examples

# What each program writes at the top beside the specification's keys.
OWN: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "claude-code": {
        "allowed-tools": st.just("Read Bash(git:*)"),
        "argument-hint": TEXT,
        "disable-model-invocation": st.booleans(),
        "hooks": st.just({"Stop": [{"command": "true"}]}),
    },
    "openclaw": {"homepage": TEXT, "user-invocable": st.booleans(), "version": TEXT},
    "eurekaclaw": {
        "tags": st.lists(TEXT, max_size=3),
        "agent_roles": st.lists(WORD, max_size=2),
        "pipeline_stages": st.lists(WORD, max_size=2),
        "version": st.just("1.0"),
        "source": st.sampled_from(["seed", "distilled", "manual"]),
        "created_at": st.just("2026-03-22T08:19:27.986985"),
        "usage_count": st.integers(0, 40),
        "success_rate": st.sampled_from([0.0, 0.63, 1.0]),
    },
}
WRITERS = sorted(name for name, format_ in SKILL_FORMATS.items() if format_.write)


def _authored(name: str) -> st.SearchStrategy[dict[str, Any]]:
    metadata = st.dictionaries(WORD.filter(lambda key: key != "metadata"), NESTED, min_size=1)
    own = {key: value for key, value in OWN[name].items() if name == "eurekaclaw"}
    optional = {} if own else OWN[name]
    return st.fixed_dictionaries(
        {"name": st.just("review-it"), "description": TEXT, **own},
        optional={**optional, "metadata": metadata},
    )


@pytest.mark.parametrize("name", OWN)
@settings(max_examples=examples(100))
@given(data=st.data(), files=FILES)
def test_there_and_back_a_folder_loses_nothing(
    name: str, data: st.DataObject, files: dict[str, bytes]
) -> None:
    front = data.draw(_authored(name))
    root = f"{SKILL_ROOTS[name]}/review-it"
    before = {f"{root}/SKILL.md": skill_file(front)}
    before |= {f"{root}/{path}": content for path, content in files.items()}
    (skill,) = read_as(name, before)
    after = flat(exported(name, outgoing(skill), budget=10_000))
    assert meta_of(after.pop(f"{root}/SKILL.md")) == front
    assert after == {path: data for path, data in before.items() if not path.endswith("/SKILL.md")}


SKILL_ROOTS = {"claude-code": ".claude/skills", "openclaw": "skills", "eurekaclaw": "skills"}


@given(
    st.dictionaries(WORD.filter(lambda key: key != "metadata"), NESTED, max_size=3),
    st.text("ab.! \n", min_size=1, max_size=300).filter(str.strip),
)
def test_by_the_specification_nothing_is_lost_either(top: dict[str, Any], text: str) -> None:
    front = {**top, "name": "review-it", "description": " ".join(text.split())}
    (skill,) = read_as("agent-skills", {"review-it/SKILL.md": skill_file(front)})
    for name in ("claude-code", "codex", "openclaw", "well-known"):
        sent = flat(exported(name, outgoing(skill), budget=10_000))
        page = next(content for path, content in sent.items() if path.endswith("/SKILL.md"))
        (again,) = read_as("agent-skills", {"review-it/SKILL.md": page})
        assert read_author_meta(again.files) == read_author_meta(skill.files)


@given(st.text("ab: \n#*é", max_size=60), TEXT)
def test_there_and_back_a_section_keeps_its_text_and_when_to_use_it(body: str, when: str) -> None:
    said = {"name": "review-it", "description": " ".join(when.split())}
    (skill,) = read_as("agent-skills", {"review-it/SKILL.md": skill_file(said, f"x{body}\n")})
    sent = flat(exported("agents-md", outgoing(skill)))
    (again,) = read_as("agents-md", sent)
    assert (again.skill.name, again.skill.description) == ("review-it", said["description"])
    assert again.skill.body == skill.skill.body


@given(st.lists(st.sampled_from(["alpha", "beta", "gamma"]), unique=True, min_size=1), FILES)
def test_a_site_is_read_back_as_it_was(names: list[str], files: dict[str, bytes]) -> None:
    skills = [
        OutgoingSkill(
            name, f"Use for {name}.", {"SKILL.md": _page(name), **(files if place else {})}
        )
        for place, name in enumerate(names)
    ]
    site = flat(exported("well-known", *skills))
    assert site == flat(exported("well-known", *skills))
    place = "https://skills.example"
    read = {f"{place}/{path}": content for path, content in site.items()}.__getitem__
    listings, refused = well_known.fetch_index(place, read)
    assert not refused
    assert {entry.name: dict(well_known.fetch_files(entry, read)) for entry in listings} == {
        skill.name: skill.files for skill in skills
    }


def _page(name: str) -> bytes:
    return skill_file({"name": name, "description": f"Use for {name}."})


def test_an_archive_has_a_fixed_time_and_no_compression() -> None:
    files = {"SKILL.md": _page("alpha"), "scripts/a.sh": b"echo\n" * 50}
    site = flat(exported("well-known", OutgoingSkill("alpha", "Use for alpha.", files)))
    packed = zipfile.ZipFile(io.BytesIO(site[".well-known/agent-skills/alpha/alpha.zip"]))
    entries = packed.infolist()
    assert [entry.filename for entry in entries] == ["SKILL.md", "scripts/a.sh"]
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert {entry.compress_type for entry in entries} == {zipfile.ZIP_STORED}
    index = json.loads(site[".well-known/agent-skills/index.json"])
    assert index["skills"][0]["type"] == "archive"


# ── which format ─────────────────────────────────────────────────────────────────────


EUREKA = {"name": "a", "description": "b", "agent_roles": ["theory"]}


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"a/SKILL.md": skill_file({"name": "a", "description": "b"})}, "agent-skills"),
        ({"SKILL.md": skill_file({"name": "a", "description": "b"})}, "agent-skills"),
        ({".claude/skills/a/SKILL.md": _page("a")}, "claude-code"),
        ({"a/SKILL.md": skill_file(EUREKA)}, "eurekaclaw"),
        ({"theory/a.md": skill_file({"name": "a", "description": "b"})}, "eurekaclaw"),
        (
            {"a/skill.md": skill_file('name: a\nmetadata: {"openclaw": {"emoji": "x"}}\n')},
            "openclaw",
        ),
        (
            {"a/SKILL.md": skill_file("name: a\nmetadata:\n  clawdbot:\n    os: [linux]\n")},
            "openclaw",
        ),
        ({"warning-perps-1767917147919.md": b"# Warning: x\n"}, "claudefi"),
        ({"CLAUDE.md": b"# Project\n"}, "agents-md"),
        ({"docs/AGENTS.md": b"# Project\n"}, "agents-md"),
        ({"README.md": b"# Project\n"}, None),
        ({"warning-perps-1767917147919.md": _page("a")}, "eurekaclaw"),
    ],
)
def test_a_tree_says_what_it_is(files: dict[str, bytes], name: str | None) -> None:
    assert format_of(tree_of(files)) == name


def test_a_skill_that_cannot_be_read_is_a_problem_and_the_others_come_in() -> None:
    files = {"good/SKILL.md": _page("good"), "bad/SKILL.md": b"# No paragraph\n"}
    files |= {"up/SKILL.md": _page("up"), "up/a\\b": b""}
    for name in ("agent-skills", "claude-code", "openclaw", "eurekaclaw"):
        found = every(name, tree_of(files))
        problems = {p.path: p.code for p in found if isinstance(p, Problem)}
        assert problems == {"bad/SKILL.md": "no-front-matter", "up": "unsafe-path"}
        assert [s.folder.skill.name for s in found if isinstance(s, TreeSkill)] == ["good"]


# ── what a host takes ────────────────────────────────────────────────────────────────


def _skills(count: int, sentences: int) -> list[OutgoingSkill]:
    text = " ".join(f"Sentence {number} tells more of it." for number in range(sentences))
    names = [f"skill-{number:03}" for number in range(count)]
    return [
        OutgoingSkill(
            name,
            f"Use before {name}. {text}",
            {"SKILL.md": skill_file({"name": name, "description": f"Use before {name}. {text}"})},
        )
        for name in names
    ]


@pytest.mark.parametrize(("name", "limit"), [("claude-code", 8000), ("codex", 6000)])
def test_descriptions_are_cut_alike_at_a_sentence_before_a_skill_is_left_out(
    name: str, limit: int
) -> None:
    export = exported(name, *_skills(40, 12))
    assert len(export.skills) == 40
    assert export.cut is not None
    pages = [content for path, content in flat(export).items() if path.endswith("SKILL.md")]
    descriptions = [meta_of(content)["description"] for content in pages]
    assert all(len(text) <= export.cut and text.endswith("of it.") for text in descriptions)
    assert sum(map(len, descriptions)) < limit
    (again,) = read_as("agent-skills", {"skill-000/SKILL.md": pages[0]})
    assert again.skill.description == _skills(1, 12)[0].description


def test_what_does_not_fit_then_is_left_out_the_best_first() -> None:
    skills = _skills(150, 12)
    export = exported("codex", *skills)
    assert export.cut == 100
    assert export.skills == tuple(skill.name for skill in skills[: len(export.skills)])
    assert len(export.skills) + len(export.left_out) == 150
    assert export.left_out[0].reason.endswith("of the budget of 6000 are free")


def test_a_budget_is_the_caller_s_where_one_is_given() -> None:
    assert len(exported("codex", *_skills(40, 1), budget=400).skills) < 6
    assert exported("codex", *_skills(40, 12), budget=100_000).cut is None
    assert len(exported("openclaw", *_skills(40, 12)).skills) == 40
    assert len(exported("agents-md", *_skills(400, 1)).skills) < 400


@pytest.mark.parametrize("name", ["codex", "well-known"])
def test_an_export_is_valid_by_the_specification(name: str, tmp_path: Path) -> None:
    front = (
        "name: Review_It\ndescription: >\n  Reviews: twice.\ntags: [a, b c]\n"
        "metadata: {openclaw: {requires: {bins: [gh]}}, author: x}\n"
    )
    (skill,) = read_as("agent-skills", files_in("review", SKILL_md=skill_file(front), a_md=b"# A"))
    plain = OutgoingSkill(skill.skill.name, skill.skill.description, outgoing(skill).files)
    export = exported(name, plain)
    assert export.skills == ("review-it",)
    for path, content in flat(export).items():
        place = tmp_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    for packed in tmp_path.rglob("*.zip"):
        zipfile.ZipFile(packed).extractall(packed.parent)
    (page,) = tmp_path.rglob("SKILL.md")
    assert validate(page.parent) == []
    assert meta_of(page.read_bytes())["metadata"]["openclaw"] == {"requires": {"bins": ["gh"]}}


def test_a_host_that_reads_keys_of_its_own_gets_them_where_their_author_wrote_them() -> None:
    front = "name: a\ndescription: b\ndisable-model-invocation: true\nhomepage: c\n"
    (skill,) = read_as("agent-skills", {"a/SKILL.md": skill_file(front)})
    tops = {
        name: {*meta_of(next(iter(flat(exported(name, outgoing(skill))).values())))}
        - {"name", "description", "metadata"}
        for name in ("claude-code", "codex", "openclaw")
    }
    author_keys = {"disable-model-invocation", "homepage"}
    assert tops == {"claude-code": author_keys, "codex": set(), "openclaw": author_keys}


WRITTEN = {
    "a list of tools": 'allowed-tools:\n  - Read\n  - "Bash(make:*)"\n',
    "tools in flow style": "allowed-tools: [Read, Grep]  # no more\n",
    "tools in one text": "allowed-tools: Read, Grep\n",
    "a version with a zero": "version: 1.10\n",
    "nested values": "metadata:\n  a:\n    t: [x, y]\n  on: 2026-01-05\n  b: yes\n  c: null\n",
    "hooks": "hooks:\n  PreToolUse:\n    - matcher: Bash\n",
    "arguments": 'argument-hint: "[item] [count]"\narguments: [item, count]\n',
    "numbers": "a: 0x1F\nb: 1_000\nc: 1e3\nd: .5\ne: 010\nf: 12:30\n",
    "quotes and comments": "# by hand\nlicense: 'MIT'   # why\nx: \"\\u00e9\"\n\ny: |\n  a\n  b\n",
    "reserved keys": "status: draft\nmetadata: {status: x, origin: y, internal: false}\n",
    "an empty value": "homepage:\nmetadata:\n",
    "an empty mapping": "homepage:\nmetadata: {}\n",
    "a text with dashes": "license: a --- b\nmetadata:\n  x: c --- d\n",
}  # fmt: skip


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize("case", WRITTEN)
def test_front_matter_comes_back_byte_for_byte(case: str, eol: str) -> None:
    front = f"name: Review It\ndescription: Reads.\n{WRITTEN[case]}"
    page = skill_file(front).replace(b"\n", eol.encode())
    (skill,) = read_as("agent-skills", {"review-it/SKILL.md": page})
    for name in ("claude-code", "openclaw"):
        (content,) = flat(exported(name, outgoing(skill))).values()
        assert content.decode() == page.decode()


def test_a_name_that_only_the_folder_has_is_not_added() -> None:
    page = skill_file("description: Reads.\n")
    (skill,) = read_as("agent-skills", {"review-it/SKILL.md": page})
    assert flat(exported("claude-code", outgoing(skill))) == {
        ".claude/skills/review-it/SKILL.md": page
    }


@given(st.data())
@settings(max_examples=examples(100))
def test_any_front_matter_comes_back_byte_for_byte(data: st.DataObject) -> None:
    values = data.draw(st.dictionaries(WORD, NESTED, max_size=4))
    is_flow = data.draw(st.booleans())
    text = yaml.safe_dump(values, sort_keys=False, default_flow_style=is_flow) if values else ""
    page = skill_file(f"name: review-it\ndescription: Reads.\n{'' if is_flow else text}")
    if is_flow and values:
        page = skill_file(f"name: review-it\ndescription: Reads.\nmetadata:\n  x: {text}")
    (skill,) = read_as("agent-skills", {"review-it/SKILL.md": page})
    (content,) = flat(exported("claude-code", outgoing(skill))).values()
    assert content.decode() == page.decode()


def test_a_change_in_the_vault_changes_that_key_alone() -> None:
    front = "name: a\ndescription: b\nallowed-tools: [Read,  Grep]  # two\nversion: 1.10\n"
    (skill,) = read_as("agent-skills", {"a/SKILL.md": skill_file(front)})
    content = skill.files["SKILL.md"]
    for key, value in (("description", "c"), ("license", "MIT")):
        content = front_matter.with_key(content, (key,), value)
    changed = OutgoingSkill("a", "c", {"SKILL.md": content})
    (page,) = flat(exported("claude-code", changed)).values()
    expected = front.replace("description: b", "description: c") + "license: MIT\n"
    assert page.decode() == skill_file(expected).decode()


def test_tools_that_are_a_list_are_one_text_by_the_specification() -> None:
    front = "name: a\ndescription: b\nallowed-tools: [Read, 'Bash(git:*)']\nversion: 1.10\n"
    (skill,) = read_as("agent-skills", {"a/SKILL.md": skill_file(front)})
    assert skill.skill.version == "1.10"
    (page,) = flat(exported("codex", outgoing(skill))).values()
    assert meta_of(page)["allowed-tools"] == "Read Bash(git:*)"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("Use when: a\n  build: fails", "Use when: a build: fails"),
        ("Use when: red\n  or not\n  at all: go", "Use when: red or not at all: go"),
        ("*Always* use it: now", "*Always* use it: now"),
        ('"Use "this" one"', 'Use "this" one'),
        ("@agent reads", "@agent reads"),
    ],
)
def test_a_value_that_is_no_yaml_is_read_as_it_is_meant(written: str, value: str) -> None:
    front = f"# top\nname: a\ndescription: {written}\nversion: 1.10\n"
    (skill,) = read_as("agent-skills", {"a/SKILL.md": skill_file(front)})
    assert skill.skill.description == value
    (page,) = flat(exported("claude-code", outgoing(skill))).values()
    expected = front.replace(written, json.dumps(value))
    assert page.decode() == skill_file(expected).decode()


@pytest.mark.parametrize(
    ("name", "slug"),
    [("数据 分析", "shuju-fenxi"), ("Анализ", "analiz"), ("データ", "deta"), ("Ärger", "arger")],
)  # fmt: skip
def test_a_name_in_any_script_is_kept_and_gets_a_slug(name: str, slug: str) -> None:
    page = skill_file(f"name: {name}\ndescription: b\n")
    (skill,) = read_as("agent-skills", {"x/SKILL.md": page})
    assert skill.skill.name == slug
    assert flat(exported("claude-code", outgoing(skill))).popitem() == (
        f".claude/skills/{slug}/SKILL.md",
        page,
    )


def test_the_hosts_limits_are_as_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "skills.md").read_text(encoding="utf-8")
    for budget in (formats.CLAUDE_CODE_BUDGET, formats.CODEX_BUDGET):
        assert f"{budget:,}" in page


def test_the_counters_go_where_the_format_has_them() -> None:
    skill = OutgoingSkill("a", "Use it.", {"SKILL.md": _page("a")}, ExternalUse(7, 0.75))
    for name in WRITERS:
        text = b"".join(flat(exported(name, skill)).values())
        assert (b"usage_count: 7" in text) == (name == "eurekaclaw")


def test_a_skill_whose_text_would_end_the_part_of_an_agents_md_is_left_out() -> None:
    page = skill_file({"name": "a", "description": "b"}, "# A\n")
    skill = OutgoingSkill("a", "<!-- skillvault:end -->", {"SKILL.md": page})
    export = exported("agents-md", skill)
    assert export.units == {}
    assert "mark of an export" in export.left_out[0].reason


def test_a_page_that_cannot_be_read_is_left_out() -> None:
    broken = OutgoingSkill("a", "b", {"SKILL.md": b"# none\n"})
    for name in WRITERS:
        export = exported(name, broken)
        assert not export.skills
        assert [(left.skill, "front matter" in left.reason) for left in export.left_out] == [
            ("a", True)
        ]


assert BODY.endswith("\n")
assert body_of(skill_file({"name": "a"})) == BODY.strip()


def test_a_tag_that_looks_like_a_mapping_is_a_word() -> None:
    front = {"name": "review-it", "description": "Review it.", "tags": [" {}"], "usage_count": 0}
    path = "skills/review-it/SKILL.md"
    (skill,) = read_as("eurekaclaw", {path: skill_file(front)})
    assert meta_of(flat(exported("eurekaclaw", outgoing(skill)))[path])["tags"] == [" {}"]


@pytest.mark.parametrize("name", sorted(n for n, each in SKILL_FORMATS.items() if each.write))
def test_an_executable_file_goes_to_every_host(name: str) -> None:
    page = b"---\nname: a\ndescription: Use it.\n---\n\nText.\n"
    exports = [
        exported(name, OutgoingSkill("a", "Use it.", {"SKILL.md": page, "scripts/a.sh": script}))
        for script in (b"ls\n", Program(b"ls\n"))
    ]
    assert {"a"} == set(exports[0].skills) == set(exports[1].skills)
    plugins = [export.units.get(".claude-plugin") for export in exports]
    assert (plugins[0] != plugins[1]) == (name == "claude-plugin"), "the version tells the mode"
