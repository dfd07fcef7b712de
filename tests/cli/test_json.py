"""The output of `--json`; `test_shapes.py` compares its keys with docs/cli.md."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.loop.registry import STEPS
from tests.conftest import Person
from tests.given import as_file, raw

NOW = ["--now", "2026-11-20T12:00:00Z"]


def ask(vault: Vault, *args: str, exit_code: int = 0) -> Any:
    """The JSON on stdout of a command; it must be the only thing there."""
    result: Result = CliRunner().invoke(cli, ["--vault", str(vault.root), *args, "--json"])
    assert result.exit_code == exit_code, (result.output, result.exception)
    return json.loads(result.stdout)


@pytest.fixture
def learned(prepared: Callable[[Callable[[Vault], object]], Vault]) -> Vault:
    """A vault with one failure, its repeat, the guide of both, and the fact that they support."""
    return prepared(_learn)


def _learn(vault: Vault) -> None:
    vault.record([("a.json", as_file(raw(0))), ("b.json", as_file(raw(1)))])
    vault.run()


def test_status(learned: Vault) -> None:
    found = ask(learned, "status")
    assert found["domains"] == ["coding", "perps"]
    assert (found["format"], found["outcomes"], found["evaluations"]) == (1, 2, 2)
    assert found["links"] == {"total": 4, "generated": 2, "promoted": 1, "reinforced": 1}
    assert set(found["waiting"]) == set(STEPS)
    assert set(found["waiting"].values()) == {0}
    assert found["paused"] is None


def test_status_names_what_is_edited_if_a_step_has_to_do(learned: Vault) -> None:
    path = f"skills/{learned.skills()[0].name}/SKILL.md"
    (learned.root / path).write_text((learned.root / path).read_text() + "mine\n")
    assert ask(learned, "status")["edited"] == []
    (learned.root / "inbox/c.json").write_bytes(as_file(raw(2)))
    assert ask(learned, "status")["edited"] == [path]


def test_status_counts_what_waits(vault: Vault) -> None:
    vault.record([("a.json", as_file(raw()))])
    (vault.root / "inbox" / "b.json").write_bytes(as_file(raw(1)))
    waiting = ask(vault, "status")["waiting"]
    assert (waiting["record"], waiting["evaluate"], waiting["promote"]) == (1, 1, 1)
    assert (waiting["distill"], waiting["capture"], waiting["expire"]) == (0, 0, 0)


def test_skill_list_has_a_kind_for_every_skill(learned: Vault, person: Person) -> None:
    person.write("skills/mine/SKILL.md", "---\nname: mine\ndescription: does\n---\n\nText.\n")
    person.git("add", "skills")
    person.git("commit", "-qm", "mine")
    theirs, mine = ask(learned, "skill", "list")
    assert (mine["kind"], mine["origin"], mine["path"]) == (
        "manual",
        "manual",
        "skills/mine/SKILL.md",
    )
    assert (theirs["kind"], theirs["domain"]) == ("guide", "coding")


def test_skill_list_layers(vault: Vault, person: Person) -> None:
    person.write(
        "skills/reading-a-lift/SKILL.md",
        "---\nname: reading-a-lift\ndescription: does\nmetadata:\n  tags: lift\n---\n\nText.\n",
    )
    person.git("add", "skills")
    person.git("commit", "-qm", "mine")
    seed, mine = ask(vault, "skill", "list", "--layers", "--tag", "lift")
    assert [(one["layer"], one["wins"]) for one in (seed, mine)] == [
        ("seed", False),
        ("vault", True),
    ]
    assert mine["path"] == "skills/reading-a-lift/SKILL.md"


def test_why_goes_back_to_the_outcomes(learned: Vault) -> None:
    name = ask(learned, "skill", "list")[0]["name"]
    tree = ask(learned, "why", name)
    assert (tree["against"], tree["rules"]) == ([], [])
    assert tree["ref"] == {"kind": "skill", "id": name, "path": f"skills/{name}/SKILL.md"}
    assert [c["step"] for c in tree["commits"]] == ["generate"]
    links = [branch["link"].split("-")[0] for branch in tree["sources"]]
    assert links == ["generated", "generated"]
    for branch in tree["sources"]:
        assert branch["ref"]["kind"] == "evaluation"
        (leaf,) = branch["sources"]
        assert (leaf["link"], leaf["ref"]["kind"], leaf["sources"]) == (None, "outcome", [])


def test_impact_goes_forward_to_the_skills(learned: Vault) -> None:
    outcome = learned.why(learned.skills()[0].name)["sources"][0]["sources"][0]["ref"]
    tree = ask(learned, "impact", outcome["id"])
    assert tree["ref"] == outcome
    (evaluation,) = tree["targets"]
    assert evaluation["link"] is None
    assert evaluation["targets"][0]["ref"]["kind"] == "skill"


@pytest.mark.parametrize("form", ["path", "folder", "underscores"])
def test_why_takes_a_path_and_underscores(learned: Vault, form: str) -> None:
    name = learned.skills()[0].name
    text = {
        "path": f"skills/{name}/SKILL.md",
        "folder": str(learned.root / "skills" / name),
        "underscores": name.replace("-", "_"),
    }[form]
    assert ask(learned, "why", text)["ref"]["id"] == name


def test_a_skill_without_links_has_no_sources(learned: Vault, person: Person) -> None:
    person.write("skills/mine/SKILL.md", "---\nname: mine\ndescription: does\n---\n\nText.\n")
    person.git("add", "skills")
    person.git("commit", "-qm", "mine")
    assert ask(learned, "why", "mine")["sources"] == []


def test_run(vault: Vault) -> None:
    vault.record([("a.json", as_file(raw()))])
    report = ask(vault, "run", *NOW)
    assert [change["step"] for change in report["changes"]] == ["evaluate", "generate"]
    for change in report["changes"]:
        assert len(change["commit"]) == 40
    assert report["counts"] == {
        "insights_to_memory": 0,
        "patterns_to_skills": 0,
        "links_created": 1,
        "recommendations_created": 0,
        "detections": 0,
        "skills_updated": 0,
        "effectiveness_recalculated": 0,
    }


def test_a_dry_run_tells_the_same_changes_and_makes_none(vault: Vault) -> None:
    (vault.root / "inbox" / "a.json").write_bytes(as_file(raw()))
    before = vault.store.git.head()
    dry = ask(vault, "run", "--dry-run", *NOW)
    assert vault.store.git.head() == before
    real = ask(vault, "run", *NOW)
    assert [c["commit"] for c in dry["changes"]] == [None, None, None]
    without = [[{**c, "commit": None} for c in report["changes"]] for report in (dry, real)]
    assert without[0] == without[1]


def test_rejected_and_waiting(learned: Vault, person: Person) -> None:
    name = learned.skills()[0].name
    commit = learned.log()[0]
    person.git("revert", "--no-edit", commit.sha)
    assert ask(learned, "run")["rejected"] == [{"target": f"skill:{name}", "commit": commit.sha}]


def test_check(learned: Vault, person: Person) -> None:
    assert ask(learned, "check") == {"problems": [], "notes": []}
    person.write("skills/mine/SKILL.md", "---\nname: mine\n---\n\nText.\n")
    found = ask(learned, "check", exit_code=1)
    assert found["problems"] == [
        {
            "path": "skills/mine/SKILL.md",
            "key": "description",
            "code": "missing-key",
            "message": "description: missing; say what it does and when to use it",
        }
    ]


def test_record_and_import(vault: Vault, tmp_path: Path) -> None:
    file = tmp_path / "some.jsonl"
    file.write_text("\n".join(json.dumps(raw(day)) for day in range(3)))
    first = ask(vault, "import", "jsonl", str(file))
    assert (len(first["recorded"]), first["known"], first["quarantined"]) == (3, 0, [])
    again = ask(vault, "import", "jsonl", str(file))
    assert (again["recorded"], again["known"], again["quarantined"]) == ([], 3, [])
    bad = tmp_path / "bad.json"
    bad.write_bytes(as_file(raw(result__status="lost")))
    refused = ask(vault, "record", str(bad), exit_code=1)
    assert refused["quarantined"][0]["file"] == "bad.json"


def test_log(learned: Vault) -> None:
    commits = ask(learned, "log")
    assert [c["step"] for c in commits] == [
        "generate", "promote", "promote", "evaluate", "record", "init",
    ]  # fmt: skip


def test_why_not(learned: Vault) -> None:
    outcome = learned.why(learned.skills()[0].name)["sources"][0]["sources"][0]["ref"]["id"]
    found = ask(learned, "why-not", outcome)
    assert len(found["steps"]) == 4


@pytest.mark.parametrize("verb", ["retire", "pin"])
def test_writers_print_only_json(learned: Vault, verb: str) -> None:
    report = ask(learned, "skill", verb, learned.skills()[0].name)
    assert report["changes"][0]["step"] == verb


def test_fact_list_show_and_add(vault: Vault) -> None:
    added = ask(vault, "fact", "add", "Reproduce before you retry.", "--domain", "coding", *NOW)
    (target,) = added["changes"][0]["targets"]
    found = ask(vault, "fact", "list", "--domain", "coding")
    assert found == [
        {
            "id": target.removeprefix("fact:"),
            "domain": "coding",
            "importance": "medium",
            "kind": "human",
            "text": "Reproduce before you retry.",
            "path": f"memory/coding/{target.removeprefix('fact:')}.md",
            "note": "(2026-11-20)",
        }
    ]
    shown = ask(vault, "fact", "show", found[0]["id"])
    assert (shown["created_at"], shown["path"]) == ("2026-11-20T12:00:00Z", found[0]["path"])


def test_why_not_of_a_fact(vault: Vault) -> None:
    ask(vault, "fact", "add", "Reproduce before you retry.", "--domain", "coding", *NOW)
    (fact,) = vault.memory.facts()
    found = ask(vault, "why-not", fact.id)
    assert found["fact"] == fact.id
    assert [step["step"] for step in found["steps"]] == ["memory", "promote"]


def test_quarantine_list(vault: Vault) -> None:
    (vault.root / "inbox" / "untrusted" / "bad.json").write_bytes(as_file(raw(domain=None)))
    (vault.root / "quarantine" / "stray.json").write_bytes(b"{}")
    ask(vault, "run", *NOW)
    stray, bad = ask(vault, "quarantine", "list")
    assert bad == {
        "name": "untrusted-bad.json",
        "code": "missing-key",
        "message": bad["message"],
        "line": None,
        "at": "2026-11-20T12:00:00Z",
        "from": "untrusted/bad.json",
    }
    assert (stray["name"], stray["code"], stray["from"]) == ("stray.json", "no-reason", None)


def test_doctor(vault: Vault) -> None:
    rows = ask(vault, "doctor")
    assert {row["state"] for row in rows} <= {"ok", "note"}
    vault.store.git.run("checkout", "-q", "--detach")
    (paused,) = [row for row in ask(vault, "doctor", exit_code=1) if row["state"] == "problem"]
    assert paused == {
        "check": "paused",
        "state": "problem",
        "detail": "HEAD is detached",
        "fix": "run `git switch main`",
    }
