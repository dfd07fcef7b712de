"""The page as a file: what stands on it, for any vault, and that nothing in it runs."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from skillvault.api import Vault, page
from skillvault.model.text.hidden_characters import has_hidden, hidden_characters
from skillvault.page import html
from skillvault.page.html import html_of
from tests.conftest import NOW, Person
from tests.given import START, as_file, raw, trade
from tests.hidden import SEQUENCES
from tests.page.given import Elements

MARKUP = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</style><img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    "<svg><animate onbegin=alert(1) attributeName=x></svg>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<a href='javascript:alert(1)'>x</a>",
    "<math><mi//xlink:href='data:x,<script>alert(1)</script>'>",
    "<!-- --><script>alert(1)</script> -->",
    "{{ 7 * 7 }} {% raw %} ${7 * 7}",
    "<base href=//evil.example/>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<style>@import '//evil.example/x.css'</style>",
    "]]><script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\u202egnirts desrever\u202c",
    "\u2066isolated\u2069 \u200fright",
    "שלום <b>bold</b>",
)


def hostile(count: int = 100) -> list[str]:
    """Texts that would run, steer or hide something."""
    texts = [*MARKUP, *(f"a{sequence}b" for sequence in SEQUENCES.values())]
    while len(texts) < count:
        texts.append(f"{texts[len(texts) % len(MARKUP)]} {texts[-7]}")
    return texts[:count]


def told(vault: Vault, **options: Any) -> Elements:
    return Elements(html_of(page(vault, now=NOW + timedelta(hours=1), **options)).decode())


def filled(text: str, number: int) -> bytes:
    """An outcome that says a text in every field that takes one."""
    given = raw(
        occurred_at=(START + timedelta(hours=number)).isoformat(),
        decision__action=text,
        decision__target=text,
        decision__reasoning=text,
        decision__task=text,
        decision__report=text,
        result={
            "status": "failure",
            "summary": text,
            "evidence": text,
            "claim": text,
            "answer": text,
            "unit": text,
        },
        context={text[:40]: text},
        lesson={"when": text, "do": text, "because": text, "evidence": text},
        source={"agent": text, "session": text},
    )
    return as_file(given)


@pytest.fixture
def attacked(vault: Vault, person: Person) -> Vault:
    """A vault whose outcomes, facts and skills say hostile texts in every field."""
    texts = hostile()
    vault.record([(f"{n}.json", filled(text, n)) for n, text in enumerate(texts)], now=NOW)
    for n, text in enumerate(texts):
        line = " ".join(text.split())
        person.write(f"memory/coding/hostile-{n}.md", f"---\nimportance: high\n---\n\n{text}\n")
        front = f"name: hostile-{n}\ndescription: {line!r}\n"
        person.write(f"skills/hostile-{n}/SKILL.md", f"---\n{front}---\n\n# {line}\n\n- {text}\n")
    person.git("add", "memory", "skills")
    person.git("commit", "-qm", "Add <script>alert(1)</script>")
    vault.run(now=NOW)
    return vault


def test_a_hundred_hostile_texts_in_every_field_are_inert(attacked: Vault) -> None:
    document = html_of(page(attacked, now=NOW + timedelta(hours=1))).decode()
    shown = Elements(document)
    assert len(shown.data["outcome"]) >= 90
    assert len(shown.data["skill"]) >= 90
    allowed = set(
        "html head meta link title style body a header h1 h2 h3 h4 p bdi code nav ul ol li main "
        "noscript section div strong span b br table caption thead tbody tr th td data dl dt dd "
        "label input article footer script details summary".split()
    )
    assert {tag for tag, _ in shown.tags} <= allowed
    names = {name for _, attributes in shown.tags for name in attributes}
    assert not {name for name in names if name.startswith("on")}
    addresses = [a.get("href") or a.get("src") or "#" for tag, a in shown.tags]
    assert {address[0] for address in addresses} == {"#", "d"}  # here, and an empty picture
    assert [a for tag, a in shown.tags if tag == "script" and "src" in a] == []
    assert len([tag for tag, _ in shown.tags if tag == "script"]) == 2 + document.count(
        "data-kind="
    )
    assert not list(hidden_characters(document))
    assert not [
        text for text in _texts(shown.data) if has_hidden(text) and [*hidden_characters(text)]
    ]


def _texts(value: Any) -> list[str]:
    """Every text in some data."""
    if isinstance(value, str):
        return [value]
    parts = [*value, *value.values()] if isinstance(value, dict) else value
    return [text for part in parts for text in _texts(part)] if isinstance(parts, list) else []


def test_only_the_files_own_script_may_run_and_nothing_is_asked_for(vault: Vault) -> None:
    policy = next(
        str(a["content"]) for tag, a in told(vault).tags if a.get("http-equiv") is not None
    )
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert "connect-src 'none'" in policy


def test_an_empty_vault_has_a_page_that_says_how_to_begin(vault: Vault) -> None:
    words = told(vault).words
    assert "Nothing is learned yet" in words
    assert "skillvault setup claude-code --domain coding" in words
    assert "Does it help?" not in words


def test_a_vault_with_one_outcome_tells_its_one_guide(vault: Vault) -> None:
    vault.record([("a.json", as_file(raw()))], now=NOW)
    vault.run(now=NOW)
    (name,) = (one.name for one in vault.skills())
    shown = told(vault)
    assert "failed once" in shown.words
    assert "learned once" in shown.words
    assert "Not known yet: no finished task has used a lesson." in shown.words
    skill = shown.data["skill"][name]
    (outcome,) = shown.data["outcome"]
    assert skill["for"] == [1, [outcome]]
    assert skill["origins"] == [["generated", "evaluation", outcome]]
    assert [step for _, _, step, _ in skill["history"]] == ["generate"]


def test_a_vault_in_chinese_is_told_in_its_words(vault: Vault) -> None:
    text = "超时从两秒改到五秒，因为机器很慢。"
    given = raw(decision__action="修复测试", decision__target="结账服务", decision__reasoning=text)
    vault.record([("a.json", as_file(given))], now=NOW)
    vault.run(now=NOW)
    shown = told(vault)
    assert "修复测试" in shown.words
    assert "结账服务" in shown.words
    (outcome,) = shown.data["outcome"].values()
    assert outcome["reasoning"] == text


def test_a_domain_is_told_alone(vault: Vault) -> None:
    vault.record([("a.json", as_file(raw())), ("b.json", as_file(trade()))], now=NOW)
    vault.run(now=NOW)
    shown = told(vault, domain="perps")
    assert {one["domain"] for one in shown.data["outcome"].values()} == {"perps"}
    assert {one["domain"] for one in shown.data["skill"].values()} == {"perps"}
    assert "fix-flaky-test" not in shown.words


def test_long_texts_are_cut_until_the_details_fit(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["".join(chr(0x4E00 + (n * k * 7919) % 20000) for k in range(900)) for n in range(9)]
    files = [(f"{n}.json", as_file(raw(n, decision__reasoning=t))) for n, t in enumerate(texts)]
    vault.record(files, now=NOW)
    told_ = page(vault, now=NOW)
    whole = html.chunks_of(told_)
    monkeypatch.setattr(html, "MAX_BYTES", sum(len(chunk.data) for chunk in whole) // 2)
    cut = html.chunks_of(told_)
    assert sum(len(chunk.data) for chunk in cut) <= html.MAX_BYTES
    assert [chunk.first for chunk in cut] == [chunk.first for chunk in whole]


def test_the_script_writes_no_html() -> None:
    script = (Path(html.__file__).parent / "page.js").read_text(encoding="utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", script)


def test_a_long_proposal_says_how_much_of_it_is_not_shown(vault: Vault, person: Person) -> None:
    lines = "".join(f"- Line {number}.\n" for number in range(70))
    text = f"---\nname: long\ndescription: d\nmetadata:\n  status: proposed\n---\n\n{lines}"
    person.write("proposed/long/SKILL.md", text)
    person.git("add", "proposed")
    person.git("commit", "-qm", "a long one")
    (item,) = page(vault).waiting
    words = told(vault).words
    assert f"and {len(item.diff) - 60} more lines; skillvault review shows all." in words
