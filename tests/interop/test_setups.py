"""Each set-up of Claude Code, used by the real program and taken out again."""

from pathlib import Path

import pytest

from tests.interop.desk import CHECK, ClaudeDesk, put_on_path
from tests.interop.scripted_model import serving_model, tool, words

# A person's own settings, not as a program would write them.
SETTINGS = (
    '{"permissions": {"allow": ["Bash(ls)"]},\n'
    '   "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}'
)
PLACES = (
    "home/.claude/settings.json",
    "home/.claude/settings.local.json",
    "home/.claude/CLAUDE.md",
    "shop/.claude/settings.json",
    "shop/.claude/settings.local.json",
    "shop/CLAUDE.md",
    "shop/CLAUDE.local.md",
    "shop/.mcp.json",
    "shop/.git/info/exclude",
)


def _contents(folder: Path) -> dict[str, bytes | None]:
    """Return the content of each file that a client reads; None if there is no file."""
    files = {name: folder / name for name in PLACES}
    return {name: file.read_bytes() if file.exists() else None for name, file in files.items()}


@pytest.mark.parametrize("has_settings", [True, False])
@pytest.mark.parametrize("options", [("--user",), (), ("--shared",)])
def test_a_setup_works_and_leaves_every_byte_as_it_was(
    desk: ClaudeDesk, tmp_path: Path, options: tuple[str, ...], has_settings: bool
) -> None:
    put_on_path(desk.program, tmp_path)
    desk.program.more["SKILLVAULT_VAULT"] = str(desk.vault.root)
    if has_settings:
        for name in ("settings.json", "settings.local.json"):
            for folder in (desk.program.home, desk.project):
                (folder / ".claude").mkdir(exist_ok=True)
                (folder / ".claude" / name).write_text(SETTINGS)
        (desk.project / "CLAUDE.md").write_text("# Shop\r\n\r\nno newline at the end")
    config = desk.program.home / ".claude.json"
    with serving_model([words("Hello.")]) as model:
        desk.ask(model)  # what the program itself writes at its first start
    contents, files = _contents(tmp_path), desk.files()
    desk.setup(*options)
    assert _contents(tmp_path) != contents
    with serving_model([tool("Bash", command=CHECK)], [words("It fails.")]) as model:
        desk.ask(model)
    assert f'<skill name=\\"{desk.skill}\\"' in model.texts()[0]
    assert [outcome.result.status for outcome in desk.outcomes()] == ["failure"]
    desk.setup(*options, "--remove")
    assert (_contents(tmp_path), desk.files()) == (contents, files)
    assert "skillvault" not in config.read_text()
    assert [*desk.program.home.glob(".local/state/skillvault/setups/*")] == []
