"""Somebody new: from the wheel to a learned skill in the prompt of the real Claude Code.

The page for agents has the commands; `pytest -s` prints how long each took.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.interop.desk import FAILS, end_hook_server, introduce_to_git
from tests.interop.programs import QUIET, Program
from tests.interop.scripted_model import serving_model, tool, words

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(
    r"<!-- from-nothing:begin -->\n```sh\n(.*?)```\n<!-- from-nothing:end -->", re.DOTALL
)


def commands_of_the_page() -> list[str]:
    """Return the commands that the page tells somebody new to type."""
    match = BLOCK.search((ROOT / "docs/agents.md").read_text(encoding="utf-8"))
    assert match
    return [line.partition("  #")[0].strip() for line in match[1].splitlines()]


class Newcomer:
    """Somebody whose home holds a project whose test fails, and a name for git."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.claude = Program("claude", home)
        introduce_to_git(home)
        (home / "shop").mkdir()
        (home / "shop/test_cart.py").write_text(FAILS)
        subprocess.run(["git", "init", "-q"], cwd=home / "shop", check=True)

    def types(self, command: str, **more: str) -> None:
        """Type one line in a shell, which keeps its folder and what was exported."""
        begun = time.monotonic()
        state = self.home / ".shell"
        keep = f"export -p > {state} && echo cd \\'$PWD\\' >> {state}"
        restore = f". {state}" if state.exists() else "cd ~"
        pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        path = f"{Path(sys.base_prefix) / 'bin'}:{self.claude.folder}:/usr/bin:/bin"
        done = subprocess.run(
            ["bash", "-c", f"{restore}\n{command} || exit\n{keep}"],
            cwd=self.home,
            env={"HOME": str(self.home), "PATH": path, **QUIET, **pip, **more},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        print(f"{time.monotonic() - begun:6.1f} s  {command}")

    def waits_for_skill(self) -> str:
        """The name of what the first session taught, once the vault has learned it."""
        begun = time.monotonic()
        while not (skills := list((self.home / "vault/skills").glob("*/SKILL.md"))):
            assert time.monotonic() - begun < 120, "nothing was learned"
            time.sleep(0.2)
        print(f"{time.monotonic() - begun:6.1f} s  until the vault had learned")
        (skill,) = skills
        return skill.parent.name


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is published."""
    place = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = place.glob("*.whl")
    return wheel


def test_somebody_new_reads_what_the_first_session_taught(wheel: Path, tmp_path: Path) -> None:
    *first, last = (
        command.replace("'.[mcp]'", f"'{wheel}[mcp]'") for command in commands_of_the_page()
    )
    assert sum(command.startswith("skillvault ") for command in first) <= 3
    newcomer = Newcomer(tmp_path / "home")
    check = tool("Bash", command="python3 -m unittest -q", description="test")
    done = [words("All done, it works.")]
    with serving_model([check], done, [words("Hello.")]) as model:
        client = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "dummy"}
        for command in first:
            newcomer.types(command, **client)
        skill = newcomer.waits_for_skill()
        newcomer.types(last, **client)
        end_hook_server(newcomer.home / "vault")
    *of_first, prompt = model.texts()
    assert f"- {skill}: " in prompt  # of the briefing
    assert skill not in "".join(of_first)
