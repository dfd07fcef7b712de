"""The week as Markdown: what it tells, and that no text of the vault is markup in it."""

import re
from datetime import timedelta

from markdown_it import MarkdownIt

from skillvault.api import Vault, page
from skillvault.page.summary import as_text, markdown_of
from tests.conftest import NOW
from tests.given import as_file, raw

FOREIGN = (
    "<img src=x onerror=alert(1)>",
    "[click](https://evil.example)",
    "![x](https://evil.example/x.png)",
    "see https://evil.example and www.evil.example",
    "**bold** _slanted_ ~~gone~~ `code`",
    "| a | b |",
    "# heading",
    "&lt;b&gt; &#60;b&#62;",
    "$x^2$ \\`x\\`",
    "line\n\n- list\n\n```\ncode\n```",
)


def test_foreign_text_is_no_markup() -> None:
    reader = MarkdownIt("gfm-like", {"html": True, "linkify": False}).disable("linkify")
    for text in FOREIGN:
        made = reader.render(f"- {as_text(text)}")
        assert set(re.findall(r"<(\w+)", made)) == {"ul", "li"}, (text, made)


def test_nobody_is_mentioned_and_no_address_becomes_a_link() -> None:
    assert as_text("ask @ada, see https://a.example or www.a.example") == (
        "ask \\@ ada, see https\\://a.example or www\\.a.example"
    ).replace("\\@", "@")


def test_the_week_tells_what_to_stop_what_was_learned_and_why(vault: Vault) -> None:
    vault.record([("a.json", as_file(raw()))], now=NOW)
    vault.run(now=NOW)
    text = markdown_of(page(vault, now=NOW + timedelta(minutes=1)))
    parts = [line for line in text.splitlines() if line.startswith("#")]
    assert parts == [
        "## What vault learned, 2026-11-13 to 2026-11-20",
        "### Stop doing, and do instead",
        "### Learned (1)",
        "### Does it help?",
    ]
    assert "Outcomes: 1 recorded (1 failure), 1 evaluated. Skills and facts: 1 learned." in text
    commit = vault.log(1)[0].sha[:10]
    learned = next(line for line in text.splitlines() if line.endswith(f"({commit})"))
    assert "fix-flaky-test: 1 outcome, 2026-11-01." in learned
    assert "Not known yet: no finished task has used a lesson." in text


def test_a_week_in_which_nothing_happened_says_so(vault: Vault) -> None:
    text = markdown_of(page(vault, now=NOW))
    assert "Outcomes: 0 recorded, 0 evaluated. Skills and facts: none." in text
