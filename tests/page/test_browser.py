"""The page in a browser: quiet, asks for nothing, a click each to an outcome and back, for all.

Debian's chromium and axe-core, which `make browser` gets, are needed; else the tests are skipped.
"""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from skillvault.api import Vault, page
from tests.conftest import Person
from tests.given import as_file, raw
from tests.page.test_html import filled, hostile
from tests.page.test_server import Deciding, Served, add_rule, commit_mine
from tests.page.world import LATER, learned_vault
from tests.thorough import one_of, pairs

pytest.importorskip("playwright", reason="playwright is not installed")
from playwright.sync_api import Browser, Page, sync_playwright

from skillvault.page import server
from skillvault.page.html import html_of

# Read here, for a test sees nothing of the environment that it runs in.
CHROMIUM = os.environ.get("SKILLVAULT_CHROMIUM") or shutil.which("chromium")
AXE = Path(__file__).resolve().parents[2] / ".venv/browser/node_modules/axe-core/axe.min.js"
LOOKS = [(width, theme) for width in (390, 1280) for theme in ("light", "dark")]

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no chromium; `make browser` installs it as root on Debian"
)


class Opened(NamedTuple):
    """A page that is open, what its console said, and the addresses that it asked for."""

    page: Page
    said: list[str]
    asked: list[str]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return learned_vault(tmp_path_factory.mktemp("world") / "vault")


@pytest.fixture(scope="module")
def file(world: Vault, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a vault that learned."""
    place = tmp_path_factory.mktemp("page") / "report.html"
    place.write_bytes(html_of(page(world, now=LATER)))
    return place


def opened(browser: Browser, address: str, look: tuple[int, str] = (1280, "light")) -> Opened:
    width, theme = look
    context = browser.new_context(
        viewport={"width": width, "height": 800},
        color_scheme="dark" if theme == "dark" else "light",
    )
    context.set_default_timeout(10_000)
    tab = context.new_page()
    shown = Opened(tab, [], [])
    tab.on("console", lambda message: shown.said.append(message.text))
    tab.on("pageerror", lambda error: shown.said.append(str(error)))
    tab.on("dialog", lambda dialog: shown.said.append(f"a dialog: {dialog.message}"))
    tab.on("request", lambda request: shown.asked.append(request.url))
    tab.goto(address)
    return shown


def until(tab: Page, expression: str, value: object = None, seconds: float = 10) -> None:
    """Wait until something holds; by the debugger, which the page's policy does not bind."""
    end = time.monotonic() + seconds
    while not tab.evaluate(expression, value):
        assert time.monotonic() < end, expression
        tab.wait_for_timeout(30)


def follow(tab: Page, selector: str) -> str:
    """Click the first of these links, and wait for what it leads to; its address."""
    link = tab.locator(selector).first
    address = str(link.get_attribute("href"))
    link.click()
    until(tab, "address => location.hash === address", address)
    until(tab, "document.activeElement.matches('#detail h2')")
    return address


def unfold(tab: Page) -> None:
    """Open all that is folded."""
    tab.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")


def back(tab: Page) -> None:
    """By the page's own button."""
    before = tab.evaluate("location.hash")
    tab.get_by_role("button", name="back").click()
    until(tab, "before => location.hash !== before", before)


@pytest.mark.parametrize("look", LOOKS)
def test_the_console_is_quiet_and_nothing_is_asked_for(
    browser: Browser, file: Path, look: tuple[int, str]
) -> None:
    shown = opened(browser, file.as_uri(), look)
    shown.page.locator("#vault").scroll_into_view_if_needed()
    assert (shown.said, shown.asked) == ([], [file.as_uri()])
    assert shown.page.evaluate("document.documentElement.scrollWidth") == look[0]


@pytest.mark.parametrize(("part", "look"), pairs(["#stop", "#help", "#week", "#lessons"], LOOKS))
def test_each_part_leads_to_an_outcome_and_back(
    browser: Browser, file: Path, part: str, look: tuple[int, str]
) -> None:
    shown = opened(browser, file.as_uri(), look)
    tab = shown.page
    unfold(tab)
    first = follow(tab, f"{part} a[href^='#skill/'], {part} a[href^='#fact/']")
    follow(tab, "#detail a[href^='#outcome/']")
    assert tab.locator("#detail").inner_text().count("outcome")
    back(tab)
    until(tab, "document.activeElement.matches('#detail h2')")
    assert tab.evaluate("location.hash") == first
    back(tab)
    until(tab, "!document.querySelector('main > section').hidden")
    assert tab.evaluate("document.activeElement.getAttribute('href')") == first
    assert shown.said == []


@pytest.mark.parametrize("look", one_of(3, LOOKS))
def test_keys_alone_unfold_a_domain_open_a_lesson_and_come_back(
    browser: Browser, file: Path, look: tuple[int, str]
) -> None:
    tab = opened(browser, file.as_uri(), look).page
    press_until(tab, "document.activeElement.matches('#lessons summary')")
    tab.keyboard.press("Enter")
    press_until(tab, "document.activeElement.matches('#lessons li a')")
    tab.keyboard.press("Enter")
    until(tab, "document.activeElement.matches('#detail h2')")
    press_until(tab, "document.activeElement.matches('#detail button')", "Shift+Tab")
    tab.keyboard.press("Enter")
    until(tab, "document.activeElement.matches('#lessons li a')")


def press_until(tab: Page, expression: str, key: str = "Tab") -> None:
    """Press a key until the focus is where it should be."""
    for _ in range(200):
        tab.keyboard.press(key)
        if tab.evaluate(expression):
            return
    raise AssertionError(expression)


@pytest.mark.parametrize("width", [390, 1280])
def test_the_answers_stand_on_few_screens(browser: Browser, file: Path, width: int) -> None:
    tab = opened(browser, file.as_uri(), (width, "light")).page
    height = tab.evaluate("document.documentElement.scrollHeight")
    assert height <= {390: 8, 1280: 3}[width] * 800


def test_a_surprise_leads_to_its_outcome(browser: Browser, file: Path) -> None:
    tab = opened(browser, file.as_uri()).page
    unfold(tab)
    follow(tab, ".surprise a")
    text = tab.locator("#detail").inner_text()
    assert "What the agent claimed" in text
    assert "FAILED test_payment" in text


def test_the_graph_leads_from_a_skill_back_to_its_outcomes(browser: Browser, file: Path) -> None:
    tab = opened(browser, file.as_uri()).page
    unfold(tab)
    follow(tab, "#lessons a[href^='#skill/guide-coding']")
    tab.locator(".graph a[href^='#outcome/']").first.focus()
    tab.keyboard.press("Enter")
    until(tab, "location.hash.startsWith('#outcome/')")


def test_words_find_lessons(browser: Browser, file: Path) -> None:
    tab = opened(browser, file.as_uri()).page
    tab.get_by_label("Search the lessons").fill("guide perps")
    until(tab, "!document.getElementById('hits').hidden")
    (row,) = tab.locator("#hits li").all()
    assert row.inner_text().startswith("Guide: open_long")


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_no_violation(browser: Browser, file: Path, look: tuple[int, str]) -> None:
    if not AXE.exists():
        pytest.skip(f"{AXE} is not there; `make browser` installs it")
    tab = opened(browser, file.as_uri(), look).page
    axe = AXE.read_text(encoding="utf-8")
    places = ["#stop a[href^='#skill/']", "#detail a[href^='#outcome/']"]
    for number in range(len(places) + 1):
        unfold(tab)
        tab.evaluate(axe)  # by the debugger, which the page's policy does not bind
        found = tab.evaluate("axe.run().then(r => r.violations)")
        problems = [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in found]
        assert problems == []
        if number < len(places):
            follow(tab, places[number])


def test_a_page_that_is_served_follows_the_branch_where_one_is(
    browser: Browser, world: Vault
) -> None:
    served = Served(world)
    try:
        shown = opened(browser, f"{served.address}#lessons")
        before = shown.page.evaluate("document.querySelector('[data-head]').dataset.head")
        world.record([("z.json", as_file(raw(19)))])
        moved = shown.page.locator(f"script[data-head]:not([data-head='{before}'])")
        moved.wait_for(state="attached", timeout=60_000)
        assert shown.page.evaluate("location.hash") == "#lessons"
        assert {address.startswith(served.address) for address in shown.asked} == {True}
    finally:
        served.process.terminate()
        assert served.process.wait(60) == 0


def decide(tab: Page, button: str, text: str) -> int:
    """Write into the field of the first such button, press it, and return the reply's status."""
    unfold(tab)
    pressed = tab.get_by_role("button", name=button, exact=True).first
    pressed.locator("xpath=..").locator("textarea").fill(text)
    with tab.expect_response("**/decide") as reply:
        pressed.click()
    return reply.value.status


@pytest.fixture
def decidable(vault: Vault, person: Person, tmp_path: Path) -> Vault:
    """A vault that learned a skill; a rule and a skill of a person wait."""
    vault.record([("a.json", as_file(raw()))])
    vault.run()
    commit_mine(person, "proposed")
    add_rule(vault, tmp_path / "shop")
    return vault


TYPED = "# Mine\n\n</textarea><script>alert(1)</script><img src=x onerror=alert(1)>"


def test_each_decision_on_the_page_is_one_commit(browser: Browser, decidable: Vault) -> None:
    desk = Deciding(decidable, confirms=True)
    history = decidable.store.git.history
    with server.serving(desk.served, 0) as address:
        shown = opened(browser, f"{address}#token={desk.token}")
        tab = shown.page
        assert "token" not in tab.url
        for button in (
            "reject", "commit this text", "undo the latest commit", "approve",
        ):  # fmt: skip
            tip = decidable.store.snapshot().commit or ""
            if button == "commit this text":
                tab.evaluate("location.hash = '#skill/mine'")
                until(tab, "document.activeElement.matches('#detail h2')")
            assert decide(tab, button, TYPED) == 200
            (commit,) = history.commits_between(tip, "HEAD")
            assert history.author_and_text([commit])[commit][0] == "Ada Person"
            reloaded = tab.locator(f"script[data-head='{commit}']")
            reloaded.wait_for(state="attached", timeout=60_000)
            tab.evaluate("location.hash = ''")
        assert shown.said == []
    (skill,) = decidable.skills()
    assert (skill.name, decidable.skill("mine")[0].body) == ("mine", TYPED)


@pytest.mark.parametrize(("text", "confirms"), [("# Mine\n<<<<<<< x", True), (TYPED, False)])
def test_what_was_typed_stays_if_it_is_refused(
    browser: Browser, decidable: Vault, text: str, confirms: bool
) -> None:
    desk = Deciding(decidable, confirms=confirms)
    before = decidable.store.snapshot().commit
    with server.serving(desk.served, 0) as address:
        tab = opened(browser, f"{address}#token={desk.token}").page
        tab.evaluate("location.hash = '#skill/mine'")
        until(tab, "document.activeElement.matches('#detail h2')")
        assert decide(tab, "commit this text", text) == 403
        assert tab.get_by_label("Its text").input_value() == text
    assert decidable.store.snapshot().commit == before


def test_hostile_texts_do_nothing_in_a_browser(
    browser: Browser, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    vault, _ = Vault.init(tmp_path_factory.mktemp("hostile") / "vault", ["coding"])
    vault.record([(f"{n}.json", filled(text, n)) for n, text in enumerate(hostile())])
    vault.run()
    place = tmp_path / "report.html"
    place.write_bytes(html_of(page(vault), decides=True))
    shown = opened(browser, place.as_uri())
    tab = shown.page
    links = tab.locator("#week a")
    addresses = sorted(set(links.evaluate_all("all => all.map(a => a.getAttribute('href'))")))
    for address in addresses[:20]:
        tab.evaluate("address => { location.hash = address; }", address)
        until(tab, "document.activeElement.matches('#detail h2')")
        tab.evaluate("document.activeElement.blur()")
    outcomes = page(vault).outcomes
    for name in list(outcomes)[:40]:
        tab.evaluate("name => { location.hash = `#outcome/${name}`; }", name)
        until(tab, "document.activeElement.matches('#detail h2')")
        tab.evaluate("document.activeElement.blur()")
    assert (shown.said, shown.asked) == ([], [place.as_uri()])
    assert tab.locator("main script, main img, main iframe, main style").count() == 0
