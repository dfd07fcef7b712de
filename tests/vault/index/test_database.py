"""index: what was parsed is kept, is right or absent, and can be deleted at any time."""

import os
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.api import Vault
from skillvault.loop.registry import AGENDA
from skillvault.model import codec
from skillvault.model.records import (
    Evaluation,
    Fact,
    Link,
    Outcome,
    Problem,
    Record,
    Ref,
    Skill,
    link_of,
)
from skillvault.vault.index.connection import IndexDatabase
from skillvault.vault.index.follow import follow_tip
from skillvault.vault.index.rows import decode
from tests.conftest import Person
from tests.given import NOW, as_file, evaluation, outcome, raw, trade
from tests.vault.given import DATA, HAND_MADE, anew, shown

STORED = "select path, type, value from file"
TEXTS = st.text(max_size=20)
RECORDS = (
    st.builds(lambda extra: outcome(raw(more=extra)), DATA)
    | st.builds(lambda text: evaluation(outcome(), key_insight=text), TEXTS | st.none())
    | st.builds(lambda text: Fact(id="a", domain="b", text=text, created_at=NOW), TEXTS)
    | st.builds(lambda text, tags: Skill("s", text, tags=tuple(tags)), TEXTS, st.lists(TEXTS))
    | st.just(link_of("merged", Ref("skill", "a"), Ref("skill", "b"), NOW))
    | st.builds(lambda text: Problem("a", None, "yaml", text), TEXTS)
)


@given(st.lists(RECORDS, max_size=4))
def test_what_is_read_back_is_what_was_kept(
    records: list[Outcome | Evaluation | Fact | Skill | Link | Problem],
) -> None:
    kept = {f"skills/s{n}/SKILL.md": (f"{n}", record) for n, record in enumerate(records)}
    database = IndexDatabase(None, lambda: None, AGENDA)
    database.put_files(kept)
    found = {path: (kind, value) for path, kind, value in database.rows(STORED)}
    for path, (_, record) in kept.items():
        kind, value = found[path]
        # An outcome may bring along what no database takes, such as a number beyond 64 bits.
        assert isinstance(record, Outcome) if value is None else decode(kind, value) == record


def place(vault: Vault) -> Path:
    """Return the path of a vault's index."""
    return vault.root / ".git/skillvault/index.db"


def learned(vault: Vault) -> None:
    """Outcomes, and what comes of them."""
    files = [(f"{n}.json", as_file(trade(n, -0.11 - n / 1000))) for n in range(19)]
    vault.record(files, now=NOW)
    vault.run(now=NOW)


def seen(vault: Vault) -> tuple[object, ...]:
    """Return everything that a fresh process reads from the vault."""
    fresh = Vault.open(vault.root)
    return (
        fresh.skills(),
        fresh.memory.facts(),
        fresh.check().problems,
        dict(fresh.store.snapshot().outcomes),
    )


def test_what_was_read_once_is_not_parsed_again(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned(vault)
    before = seen(vault)
    parsed: list[str] = []
    parse = codec.decode

    def counted(ref: Ref, data: bytes, domain: str | None = None) -> Record:
        parsed.append(ref.id)
        return parse(ref, data, domain)

    monkeypatch.setattr(codec, "decode", counted)
    assert seen(vault) == before
    assert parsed == []


def damaged(path: Path) -> None:
    path.write_bytes(b"no database at all" * 100)


def cut_off(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def of_another_version(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("pragma user_version = 7")


@pytest.mark.parametrize("harm", [Path.unlink, damaged, cut_off, of_another_version])
def test_whatever_happens_to_it_the_answers_stay_the_same(vault: Vault, harm: object) -> None:
    learned(vault)
    before = seen(vault)
    assert place(vault).is_file()
    assert callable(harm)
    harm(place(vault))
    assert seen(vault) == before
    assert seen(vault) == before


def test_a_rewound_and_a_replaced_head_are_read_as_they_are(vault: Vault, person: Person) -> None:
    empty = seen(vault)
    learned(vault)
    full = seen(vault)
    tip = person.git("rev-parse", "HEAD")
    first = person.git("rev-list", "--max-parents=0", "HEAD")
    person.git("reset", "-q", "--hard", first)
    assert (seen(vault), vault.skills()) == (empty, empty[0])
    person.git("reset", "-q", "--hard", tip)
    assert (seen(vault), vault.skills()) == (full, full[0])


def test_a_message_that_names_a_step_twice_is_two_parts_of_one_commit(
    vault: Vault, person: Person
) -> None:
    lines = [f"Skillvault-Step: refresh\nSkillvault-Target: skill:{name}" for name in "ab"]
    person.git("commit", "--allow-empty", "-qm", "refresh: a, b\n\n" + "\n".join(lines))
    parts = [(commit.step, commit.targets) for commit in vault.log(limit=1)]
    assert sorted(parts) == [("refresh", ("skill:a",)), ("refresh", ("skill:b",))]
    assert shown(vault) == shown(anew(vault.root))


def test_what_came_and_went_between_two_looks_is_known_to_be_gone(
    vault: Vault, person: Person
) -> None:
    before = person.git("rev-parse", "HEAD")
    vault.record([("a.json", as_file(raw()))], now=NOW)
    vault.run(now=NOW)
    person.git("revert", "--no-edit", "HEAD")
    person.git("switch", "-qc", "side", before)
    vault.store.snapshot()
    person.git("switch", "-q", "main")
    assert shown(vault) == shown(anew(vault.root))


def test_a_domain_that_is_left_without_outcomes_leaves_nothing(
    vault: Vault, person: Person
) -> None:
    vault.record([("a.json", as_file(raw()))], now=NOW)
    vault.shelf.ready()
    person.git("rm", "-rq", "outcomes")
    person.git("commit", "-qm", "gone")
    assert shown(vault) == shown(anew(vault.root))


def test_a_file_that_says_something_else_is_read_anew(vault: Vault, person: Person) -> None:
    path = "skills/mine/SKILL.md"
    person.write(path, HAND_MADE.format(name="mine"))
    person.git("add", "-A")
    person.git("commit", "-qm", "mine")
    assert [one.status for one in vault.skills()] == ["testing"]
    person.write(path, HAND_MADE.format(name="mine") + "More.\n")
    person.git("add", "-A")
    person.git("commit", "-qm", "more")
    assert vault.skill("mine")[0].body == Vault.open(vault.root).skill("mine")[0].body
    assert vault.skill("mine")[0].body.endswith("More.")


def test_two_processes_and_more_may_use_it_at_once(vault: Vault) -> None:
    learned(vault)
    before = seen(vault)
    place(vault).unlink()
    found: list[tuple[object, ...]] = []
    threads = [threading.Thread(target=lambda: found.append(seen(vault))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [before] * 6


def test_where_it_cannot_be_written_the_vault_is_read_without(vault: Vault) -> None:
    learned(vault)
    before = seen(vault)
    for path in place(vault).parent.glob("index.db*"):
        path.unlink()
    place(vault).mkdir()
    assert seen(vault) == before


def test_who_asked_for_head_before_another_went_ahead_leads_nobody_back(
    vault: Vault, person: Person
) -> None:
    learned(vault)
    vault.store.snapshot()
    older = person.git("rev-parse", "HEAD~1")
    tips = iter([older])
    follow_tip(vault.store.index, vault.store.git, lambda: next(tips, vault.store.git.head()))
    assert vault.store.index.commit == person.git("rev-parse", "HEAD")


def test_the_first_reading_of_a_vault_tells_how_far_it_is(vault: Vault) -> None:
    learned(vault)
    for path in place(vault).parent.glob("index.db*"):
        path.unlink()
    store, shown = Vault.open(vault.root).store, list[tuple[int, str]]()

    def track(items: Sequence[Any], what: str) -> Sequence[Any]:
        shown.append((len(items), what))
        return items

    store.index.track = track
    count = len(store.snapshot().files)
    assert shown == [(count, "Reading the vault")]
