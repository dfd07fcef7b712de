"""Characters that hide, in every field that comes in and every place where somebody reads."""

import json
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.learning.recommend import render
from skillvault.model.text.hidden_characters import escape_hidden, hidden_characters
from skillvault.vault.git.repository import Git
from tests.conftest import Person
from tests.given import NOW, as_file, raw, shown
from tests.hidden import SEQUENCES

TAKEN = {name: text for name, text in SEQUENCES.items() if "\0" not in text}
_TOGETHER = 6  # sequences in one text, to keep the vaults small


def _several(sequences: Mapping[str, str]) -> list[str]:
    """The sequences, some in each text."""
    texts = list(sequences.values())
    parts = (texts[at : at + _TOGETHER] for at in range(0, len(texts), _TOGETHER))
    return ["x".join(part) for part in parts]


def hides(text: str) -> list[str]:
    """The names of what hides in a text."""
    return [one.name for one in hidden_characters(text)]


def _full(sequence: str, day: int) -> dict[str, Any]:
    """An outcome with a sequence in every field that takes text, its keys too."""
    numbers = count()

    def text(word: str) -> str:
        return f"{word} {next(numbers)} of day {day}{sequence} \nand on"

    return raw(
        day % 19,
        event_id=text("event"),
        decision__id=f"d-{day}{sequence}",
        decision__task=text("Make the test of the checkout pass"),
        decision__action=f"fix-flaky-test{sequence}",
        decision__target=f"checkout{sequence}",
        decision__reasoning=text("I raise the timeout from 2 s to 5 s because it is slow."),
        decision__report=text("The machine was slow."),
        decision__own={text("key"): [text("value")]},
        result__summary=text("It failed."),
        result__answer=text("24"),
        result__evidence=text("FAILED test_payment - assert 504 == 200"),
        context={f"load{sequence}": f"high{sequence}"},
        applied=[f"a-skill{sequence}"],
        lesson={
            "when": text("A test is flaky"),
            "do": text("Reproduce it before raising the timeout."),
            "because": text("the cause stays"),
            "evidence": text("FAILED test_payment"),
        },
        source={
            "agent": f"coder{sequence}", "session": f"s-{day}{sequence}", "batch": text("batch"),
            "model": text("model"),
        },
    )  # fmt: skip


def _history(vault: Vault) -> Iterator[str]:
    """Every file that ever was committed and every commit's message, as text."""
    git = Git(vault.root)
    lines = git.run("rev-list", "--all", "--objects").decode().split("\n")
    paths = dict(line.split(" ", 1) for line in lines if " " in line)
    files = [object_id for object_id, path in paths.items() if "." in path]
    yield from (content.decode() for content in git.blobs(files).values())
    yield git.run("log", "--all", "--format=%B").decode()


PLAIN = {"NO_COLOR": "1"}  # no escapes of our own


def _call(vault: Vault, *args: str) -> str:
    """Run a command and return its output on both streams."""
    result = CliRunner().invoke(cli, ["--vault", str(vault.root), *args], color=True, env=PLAIN)
    assert result.exception is None or isinstance(result.exception, SystemExit), args
    return result.stdout + result.stderr


def _commands(vault: Vault, domain: str = "coding") -> Iterator[tuple[str, ...]]:
    """Every command that tells something of the vault."""
    yield from (("status",), ("log",), ("check",), ("doctor",), ("stats",), ("quarantine", "list"))
    yield ("run", "--dry-run")
    yield ("search", "timeout flaky checkout", "--words")
    for form in ("prompt", "xml", "json"):
        about = ("--domain", domain, "--task", "A test of the checkout is flaky")
        yield ("recommend", *about, "--format", form, "--explain")
    for form in ("lines", "memory"):
        yield ("fact", "list", "--format", form)
    yield from (("skill", "list", "--layers"), ("skill", "list", "--proposed"))
    names = [entry.name for folder in ("skills", "proposed") for entry in vault.skills(folder)]
    for name in names:
        yield from (("skill", "show", name), ("why", name), ("stats", name))
    for waiting in vault.skills("proposed"):
        yield ("skill", "approve", waiting.name, "--dry-run")
    for fact in vault.memory.facts():
        yield from (("fact", "show", fact.id), ("why", fact.id), ("impact", fact.id))
    outcomes = list(vault.store.snapshot().outcomes)
    for outcome in outcomes[:3]:
        yield ("why-not", outcome)
        yield ("impact", outcome)


def test_nothing_that_hides_in_an_outcome_is_written_or_shown(vault: Vault) -> None:
    several = _several(TAKEN)
    for day, sequence in enumerate(several):
        door = "untrusted/" if day % 2 else ""
        (vault.root / f"inbox/{door}{day}.json").write_bytes(as_file(_full(sequence, day)))
        receipt = shown(
            domain="coding",
            decision=f"d-{day}{sequence}",
            task=f"Make it pass{sequence}",
            context={f"load{sequence}": f"high{sequence}"},
        )
        (vault.root / f"inbox/{door}r{day}.json").write_bytes(as_file(receipt))
    report = vault.run(now=NOW)
    assert not report.quarantined
    assert len(vault.store.snapshot().outcomes) == len(several)
    texts = list(_history(vault))
    assert len(texts) > 3 * len(several)
    assert [names for text in texts if (names := hides(text))] == []
    # YAML may write what hides as an escape of its own, which a reader gets back.
    assert not any(hides(str(o.decision) + str(o.result) + str(o.extra)) for o in _outcomes(vault))
    for command in _commands(vault):
        assert hides(_call(vault, *command)) == [], command


def _outcomes(vault: Vault) -> list[Any]:
    return list(vault.store.snapshot().outcomes.values())


def _skill(name: str, sequence: str) -> str:
    return (
        f"---\nname: {name}\ndescription: A flaky test of the checkout{sequence} is raised\n"
        f"metadata:\n  domain: coding\n  tags: a{sequence} b\n---\n\n"
        f"# When the checkout is flaky{sequence}\n\n- Reproduce the timeout{sequence} first.\n"
    )


# Of these a file of YAML can hold the raw character; the rest makes it unreadable, which is told.
RAW = {
    name: text
    for name, text in SEQUENCES.items()
    if not any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 for c in text) and "\uffff" not in text
    and "\u2028" not in text and "\ufeff" not in text
}  # fmt: skip


def test_what_hides_in_a_person_s_file_is_shown_as_escapes(vault: Vault, person: Person) -> None:
    several = _several(RAW)
    for number, sequence in enumerate(several):
        for folder in ("skills", "proposed"):
            person.write(
                f"{folder}/flaky-{folder}-{number}/SKILL.md",
                _skill(f"flaky-{folder}-{number}", sequence),
            )
        fact = f"The checkout is flaky{sequence} when a timeout {number} is short.\n"
        person.write(f"memory/coding/fact-{number}.md", fact)
    person.git("add", "-A")
    person.git("commit", "-qm", "by hand\u202e")
    for command in _commands(vault):
        out = _call(vault, *command)
        assert hides(out) == [], command
    reversing = next(number for number, text in enumerate(several) if "\u202e" in text)
    assert "\\u202e" in _call(vault, "skill", "show", f"flaky-skills-{reversing}")
    answer = vault.recommend("coding", "A test of the checkout is flaky", budget=100_000)
    assert answer.recommended
    assert hides(render.prompt(answer)) == []


def test_json_gives_the_very_characters_back(vault: Vault, person: Person) -> None:
    person.write("skills/mine/SKILL.md", _skill("mine", "\u202e\U000e0041"))
    person.git("add", "-A")
    person.git("commit", "-qm", "by hand")
    out = _call(vault, "skill", "show", "mine", "--json")
    assert hides(out) == []
    assert "timeout\u202e\U000e0041 first" in json.loads(out)["body"]


def test_check_names_the_file_the_line_and_the_character(vault: Vault, person: Person) -> None:
    for number, sequence in enumerate(TAKEN.values()):
        text = f"A fact {number} of the checkout{sequence}.\n"
        person.write(f"memory/coding/f-{number}.md", f"---\nid: f-{number}\n---\n\n{text}")
    person.git("add", "-A")
    person.git("commit", "-qm", "by hand")
    problems = vault.check().problems
    for number, sequence in enumerate(TAKEN.values()):
        own = [p for p in problems if p.path == f"memory/coding/f-{number}.md"]
        first, *_ = expected = list(hidden_characters(f"A fact {number} of the checkout{sequence}"))
        assert f"line 5, column {first.column}: {first.name}, " in "".join(p.message for p in own)
        assert len(own) == len({one.name for one in expected})
        assert {p.code for p in own} == {"hidden-character"}
        assert all("remove it, or write it as \\" in p.message for p in own)
        assert not any(hides(p.message) for p in own)
    person.write("memory/coding/staged.md", "A staged\u2066 fact of the checkout.\n")
    person.git("add", "-A")
    (staged,) = vault.check(staged=True).problems
    assert (staged.path, staged.code) == ("memory/coding/staged.md", "hidden-character")


def test_a_file_that_is_refused_says_why_without_what_hides(vault: Vault) -> None:
    for number, sequence in enumerate(TAKEN.values()):
        bad = raw(decision__confidence=f"high{sequence}")
        (vault.root / f"inbox/{number}.json").write_bytes(as_file(bad))
        name = f"inbox/bad{number}{sequence}.yaml".replace("/e", "_").replace("//", "__")
        if "/" not in sequence and len(name) < 120:
            Path(vault.root / name).write_bytes(b"domain: [")
    (vault.root / "inbox/nul.json").write_bytes(as_file(raw(decision__action="a\0b")))
    report = vault.run(["record"], now=NOW)
    assert len(report.quarantined) > len(TAKEN)
    assert not any(hides(one.message + one.file) for one in report.quarantined)
    out = _call(vault, "quarantine", "list")
    assert hides(out) == []
    assert "high\\u202egnp.exe\\u202c" in out


def test_two_keys_that_become_one_are_refused(vault: Vault) -> None:
    given = raw(context={"load": "high", "lo\u200bad": "low"})
    report = vault.record([("a.json", as_file(given))], now=NOW)
    (refused,) = report.quarantined
    assert refused.code == "duplicate-key"
    assert "rename one of them" in refused.message


def test_a_fact_that_is_typed_is_cleaned(vault: Vault) -> None:
    report = vault.memory.add_fact("The checkout\u202e is \x1b[31mslow\x1b[0m at noon.", "coding")
    fact = report.done[0].change.writes[0]
    assert fact.text == "The checkout is slow at noon."  # type: ignore[union-attr]
    assert escape_hidden(report.done[0].change.message) == report.done[0].change.message
