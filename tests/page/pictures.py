"""The pictures of the page in the README: `python -m tests.page.pictures`, or `make pictures`."""

import io
import shutil
import sys
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from skillvault.api import Vault, page
from skillvault.page.html import html_of
from tests.conftest import NOW
from tests.given import START, as_file, raw

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "pictures"
EXAMPLES = ROOT / "vault_template" / "examples"
COLOURS = 256  # of a picture, so that its file is small
# File -> (theme, height, the part that is shown unfolded).
PICTURES = {
    "first-screen.png": ("light", 1440, ""),
    "does-it-help.png": ("dark", 975, "#help"),
}
FAILED = (
    "FAILED tests/test_cart.py::test_total - assert 504 == 200",
    "FAILED tests/test_cart.py::test_discount - KeyError: 'currency'",
    "FAILED tests/test_cart.py::test_rounding - assert 9.99 == 10.0",
)


DEEDS = (
    "I change the total and run no test.",
    "I raise the timeout of the test until it passes.",
)
RULES = "## Style\n\n- Use uv, never pip.\n- Write amounts as integers of cents.\n"


def shown_vault(root: Path) -> Vault:
    """The examples of the package, decisions that applied what came of them, and two rules."""
    vault, _ = Vault.init(root, ["coding", "perps"], now=NOW - timedelta(days=30))
    examples = [EXAMPLES / name for name in ("trading.jsonl", "coding.jsonl")]
    vault.import_files("jsonl", examples, now=NOW - timedelta(days=2))
    vault.run(now=NOW - timedelta(days=2))
    names = [skill.name for skill in vault.skills() if skill.domain == "coding"][:4]
    files = [(f"{n}.json", as_file(decided(n, names))) for n in range(150)]
    vault.record(files, now=NOW)
    vault.run(now=NOW)
    document = root.with_name("CONTRIBUTING.md")
    document.write_text(RULES, encoding="utf-8")
    vault.curate.installer.learn(str(document), domain="coding", now=NOW)
    return vault


def decided(number: int, skills: list[str]) -> dict[str, Any]:
    """A decision that applied one of these skills, or none; some help more than others."""
    turn = number % (len(skills) + 1)
    chance = (0.5, 0.95, 0.8, 0.55, 0.2, 0.5)[turn]
    succeeded = (number * 37 % 100) / 100 < chance
    failed = {"status": "failure", "evidence": FAILED[number % len(FAILED)]}
    ended = {"status": "success", "evidence": "14 passed"} if succeeded else failed
    deed = "I write a failing test first, then the fix." if succeeded else DEEDS[number % 2]
    return raw(
        occurred_at=(START + timedelta(hours=3 * number)).isoformat(),
        decision__made_at=None,
        decision__action="change-code",
        decision__reasoning=deed,
        decision__target="cart",
        result=ended,
        applied=skills[turn - 1 : turn] if turn else [],
    )


def main() -> None:
    """Take them all."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("there is no chromium; `make browser` installs it as root on Debian")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        place = Path(folder) / "report.html"
        vault = shown_vault(Path(folder) / "my-vault")
        place.write_bytes(html_of(page(vault, since=NOW - timedelta(days=7), now=NOW)))
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, (theme, height, part) in PICTURES.items():
            scheme: Any = theme
            tab = browser.new_page(viewport={"width": 1200, "height": height}, color_scheme=scheme)
            tab.goto(f"{place.as_uri()}{part}")
            if part:
                tab.locator(f"{part} summary").click()
            tab.wait_for_timeout(500)
            image = Image.open(io.BytesIO(tab.screenshot())).convert("RGB")
            image.quantize(COLOURS).save(FOLDER / name, optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
