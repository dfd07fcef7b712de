"""The hooks of `setup --shared` and of the plugin, called by the real Claude Code."""

import subprocess
import time
from pathlib import Path

from skillvault.api import Vault
from tests.interop.desk import (
    CHECK,
    FAILS,
    TASK,
    ClaudeDesk,
    end_hook_server,
    introduce_to_git,
    put_on_path,
)
from tests.interop.programs import Program
from tests.interop.scripted_model import serving_model, tool, words

ROOT = Path(__file__).parents[2]
FAILED = [tool("Bash", command=CHECK, description="test")]


def calls_links(program: Program) -> list[Path]:
    """The links to the folders of tools' calls that sessions left."""
    return [*(program.home / ".local/state/skillvault/calls").iterdir()]


def test_the_hooks_of_a_team_bring_skills_and_see_how_it_ended(
    desk: ClaudeDesk, tmp_path: Path
) -> None:
    desk.setup("--shared")
    put_on_path(desk.program, tmp_path)
    desk.program.more["SKILLVAULT_VAULT"] = str(desk.vault.root)
    (skill,) = desk.vault.skills()
    for _ in range(2):  # the second is answered by the process that the first has started
        with serving_model(FAILED, [words("All done, it works.")]) as model:
            done = desk.ask(model)
        assert (done.returncode, done.stdout.strip()) == (0, "All done, it works.")
        assert f'name=\\"{skill.name}\\"' in model.texts()[0]
    outcomes = desk.outcomes()
    assert [outcome.result.status for outcome in outcomes] == ["failure", "failure"]
    assert {outcome.observer for outcome in outcomes} == {"tests"}
    assert calls_links(desk.program) == []


def test_the_plugin_makes_a_vault_at_the_first_session(tmp_path: Path) -> None:
    claude = Program("claude", tmp_path / "home")
    put_on_path(claude, tmp_path)
    introduce_to_git(claude.home)
    project = tmp_path / "shop"
    project.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    (project / "test_cart.py").write_text(FAILS)
    for call in (("marketplace", "add", str(ROOT)), ("install", "skillvault@skillvault")):
        done = claude.run("plugin", *call, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    place = claude.home / ".local/share/skillvault/vault"
    claim = [words("All done, it works.")]
    with serving_model(FAILED, claim, FAILED, claim) as model:
        client = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "dummy"}
        options = ("--allowedTools", "Bash", "--output-format", "stream-json", "--verbose")
        first = claude.run("-p", TASK, *options, cwd=project, **client)
        vault = Vault.open(place)
        until = time.monotonic() + 60
        while not vault.skills() and time.monotonic() < until:
            time.sleep(0.2)
        second = claude.run("-p", TASK, *options, cwd=project, **client)
    end_hook_server(place)
    notice = f"skillvault: made {place}"
    assert (notice in first.stdout, notice in second.stdout) == (True, False)
    (skill,) = vault.skills()
    texts = model.texts()
    assert f"- {skill.name}: " in texts[2]
    assert skill.name not in "".join(texts[:2])
