"""The script of docs/team.md, and the workflows of a team."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from skillvault.vault.files import layout
from tests.clones import bare
from tests.in_process import run_script

DOCS = Path(__file__).resolve().parents[2] / "docs/team.md"
SCHEMAS = {"github": "vendor.github-workflows", "gitlab": "vendor.gitlab-ci"}
AGAINST = "skillvault check --against origin/main"
PEOPLE = ("ada", "ben", "eve", "kim", "lee")


def shell(script: str, folder: Path, **variables: str) -> str:
    """Run a script, which must succeed, and return its output."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, **variables}
    printed, code = run_script(f"set -u\n{script}", folder, environment)
    assert code == 0, (script, printed)
    return printed


def workflow(forge: str) -> Path:
    return layout.resource("vault_template") / f"ci/{forge}.yml"


@pytest.mark.parametrize("forge", SCHEMAS)
def test_a_workflow_has_the_form_of_its_forge(forge: str) -> None:
    program = Path(sys.executable).parent / "check-jsonschema"
    subprocess.run(
        [program, "--builtin-schema", SCHEMAS[forge], workflow(forge)],
        check=True,
        capture_output=True,
    )


def test_a_workflow_that_is_there_stays_and_is_named(tmp_path: Path) -> None:
    (tmp_path / ".gitlab-ci.yml").write_text("image: ours\n")
    init = "skillvault init --ci gitlab 2>&1"
    assert "by hand: .gitlab-ci.yml stays as it is" in shell(init, tmp_path)
    assert (tmp_path / ".gitlab-ci.yml").read_text() == "image: ours\n"
    shutil.copy(workflow("gitlab"), tmp_path / ".gitlab-ci.yml")
    assert "by hand" not in shell(init, tmp_path)


def test_the_evening_of_a_team(tmp_path: Path) -> None:
    text = DOCS.read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    make, clone, connect, record, learn, gate, monday, _, sign, roles = blocks[:10]
    remote = str(bare(tmp_path / "team.git"))
    for name in (*PEOPLE, "agent"):
        (tmp_path / name).mkdir()
    ada = tmp_path / "ada"
    shell(make, ada, REMOTE=remote)
    assert (ada / "vault/.github/workflows/skillvault.yml").is_file()
    for name in PEOPLE[1:]:
        shell(clone, tmp_path / name, REMOTE=remote)
    shell("git init -q shop", ada)
    shell(connect, ada)
    assert "skillvault" in shell("git -C shop show HEAD:.claude/settings.json", ada)
    shell(record, tmp_path / "agent", REMOTE=remote)
    proposals = re.findall(r"^proposal/\S+", shell(learn, ada / "vault"), re.MULTILINE)
    assert proposals
    for branch in proposals:
        assert "no problems" in shell(gate, tmp_path / "ben/vault", BRANCH=branch)
    merge = 'git switch -q main && git merge -q --no-ff --no-edit "origin/$BRANCH" && git push -q'
    shell(merge, tmp_path / "ben/vault", BRANCH=proposals[0])
    told = shell(monday, ada / "vault")
    assert f"removed, since they are merged: {proposals[0]}" in told
    assert (ada / "vault/skills" / proposals[0].removeprefix("proposal/")).is_dir()
    keys = tmp_path / "keys"
    keys.mkdir()
    for name in ("ada", "kim", "learner"):
        shell(f"ssh-keygen -q -t ed25519 -N '' -f {keys / name}", keys)
    shell(sign + roles, ada / "vault", KEY=str(keys / "ada"), KEYS=str(keys))
    kim = tmp_path / "kim/vault"
    shell("skillvault sync" + "\n" + sign, kim, KEY=str(keys / "kim"))
    shell(record.split("\n", 1)[1].replace("skillvault sync", AGAINST), kim)
    refusal = shell(f"echo 'profile: seed' >> vault.yaml; git commit -qam Mine; ! {AGAINST}", kim)
    assert "changes vault.yaml, and kim@example.org may only record; ask ada@" in refusal
