"""Two thousand mutants of valid outcomes: each is taken or refused in words, and none is lost."""

import json
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from skillvault.api import Vault
from skillvault.loop.run import Report
from skillvault.model.text import strict_yaml
from tests.conftest import Person
from tests.given import NOW, as_file, raw, trade
from tests.intake.timed import taken
from tests.thorough import one_of

COUNT, BATCH = 2000, 400
SECONDS = 1.0  # a rule of the design, with room: of the processor, so that no neighbour counts
BOM = b"\xef\xbb\xbf"

Mutant = tuple[str, bytes]
Given = dict[str, Any]

# ── valid outcomes ───────────────────────────────────────────────────────────────────


def original(number: int) -> Given:
    """A valid outcome with every key, that can be told from every other one."""
    made = trade(number % 15) if number % 2 else raw(number % 15)
    made["decision"] |= {"id": f"d-{number}", "confidence": 0.5, "extra": {"a": [1, "b: c"]}}
    made["result"] |= {"summary": "It ended. ✓\n---\nReally.", "evidence": "504 == 200\n"}
    made["source"] |= {"session": f"s-{number}", "trust": "local"}
    context = {"volatility": "high", "calm": False, "load": 0.7, "none": None}
    return {**made, "event_id": f"e-{number}", "context": context, "applied": ["on", "no"]}


def written(given: Given, form: str) -> bytes:
    """An outcome as text of the form that its ending says."""
    if form == "json":
        return as_file(given)
    if form == "yaml":
        return strict_yaml.dump(given).encode(errors="surrogatepass")
    decision = given.get("decision")
    reasoning = "Because.\n\n---\n\nSo there."
    if isinstance(decision, dict):
        given = {**given, "decision": {k: v for k, v in decision.items() if k != "reasoning"}}
        reasoning = str(decision.get("reasoning"))
    return f"---\n{strict_yaml.dump(given)}---\n\n# {reasoning}\n\n---\n\nmore\n".encode()


FORMS = ("json", "yaml", "md")

# ── wrong types ──────────────────────────────────────────────────────────────────────

WRONG: tuple[Any, ...] = (
    None, True, 7, -1e300, 10**299, "", "x" * 100_000, [], [[]], ["x", 1], {}, {"a": {"b": [1]}},
)  # fmt: skip


def paths(given: Given, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of every key."""
    for key, value in given.items():
        yield (*above, key)
        if isinstance(value, dict):
            yield from paths(value, (*above, key))


def put(given: Given, path: tuple[str, ...], value: Any) -> Given:
    """Return the outcome with another value at a path."""
    head, *rest = path
    return {**given, head: put(given[head], tuple(rest), value) if rest else value}


def wrong_types() -> Iterator[Mutant]:
    """Yield each key with each wrong value, in the forms by turns."""
    keys = list(paths(original(1)))
    for at, path in enumerate(keys):
        for which, value in enumerate(WRONG):
            number = at * len(WRONG) + which
            form = FORMS[number % 3]
            made = put(original(2 * number + 1), path, value)
            yield f"type-{'.'.join(path)}-{which}.{form}", written(made, form)


# ── mutations of bytes ───────────────────────────────────────────────────────────────


def at(rng: random.Random, data: bytes) -> int:
    """Return a random place in the bytes."""
    return rng.randrange(len(data))


def inserted(rng: random.Random, data: bytes, piece: bytes) -> bytes:
    """Insert a piece at a random place."""
    place = at(rng, data)
    return data[:place] + piece + data[place:]


def chunk(rng: random.Random, data: bytes) -> tuple[int, int]:
    """Return the beginning and the end of a random chunk of the bytes."""
    first = at(rng, data)
    return first, min(len(data), first + rng.randint(1, 60))


def flipped(rng: random.Random, data: bytes) -> bytes:
    """Flip one bit in some of the bytes."""
    found = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        found[at(rng, data)] ^= 1 << rng.randrange(8)
    return bytes(found)


def truncated(rng: random.Random, data: bytes) -> bytes:
    """Keep only the beginning, or the end."""
    place = at(rng, data)
    return data[:place] if rng.random() < 0.7 else data[place:]


def doubled(rng: random.Random, data: bytes) -> bytes:
    """Repeat a chunk."""
    first, last = chunk(rng, data)
    return data[:last] + data[first:last] + data[last:]


def deleted(rng: random.Random, data: bytes) -> bytes:
    """Delete a chunk."""
    first, last = chunk(rng, data)
    return data[:first] + data[last:]


def swapped(rng: random.Random, data: bytes) -> bytes:
    """Exchange two chunks."""
    (a, b), (c, d) = sorted((chunk(rng, data), chunk(rng, data)))
    return data[:a] + data[c:d] + data[min(b, c) : c] + data[a:b] + data[d:]


def controlled(rng: random.Random, data: bytes) -> bytes:
    """Insert control characters, NUL among them, plain or of the upper half."""
    codes = [rng.choice([*range(32), 0x7F, 0x80, 0x85, 0x9B, 0x2028, 0xFFFE]) for _ in range(3)]
    return inserted(rng, data, "".join(map(chr, codes)).encode())


def not_utf8(rng: random.Random, data: bytes) -> bytes:
    """Insert bytes that are no UTF-8: halves, overlong forms, surrogates."""
    pieces = (b"\xff", b"\xc3", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe2\x82")
    return inserted(rng, data, rng.choice(pieces))


def marked(rng: random.Random, data: bytes) -> bytes:
    """Add byte order marks: at the front, twice, in between, or of UTF-16."""
    return rng.choice(
        (BOM + data, BOM * 2 + data, inserted(rng, data, BOM), data.decode().encode("utf-16"))
    )


def huge(rng: random.Random, data: bytes) -> bytes:
    """Replace a digit by a huge number."""
    numbers = (b"9" * 299, b"9" * 20_000, b"1e999", b"-1e308", b"1" + b"0" * 400 + b".5", b"1e-999")
    digits = [i for i, byte in enumerate(data) if chr(byte).isdigit()]
    place = rng.choice(digits)
    return data[:place] + rng.choice(numbers) + data[place + 1 :]


def deep(rng: random.Random, data: bytes) -> bytes:
    """Insert 3 to 2,000 openings of nested values."""
    piece = rng.choice((b"[", b'{"a":', b"- ", b"? ", b"{", b"[{"))
    return inserted(rng, data, piece * rng.choice((3, 25, 2000)))


def line_more(rng: random.Random, data: bytes, line: bytes) -> bytes:
    """Add a line, or in JSON a member."""
    if data.startswith(b"{"):
        return data[:-1] + b", " + line + b"}"
    ends = [i + 1 for i, byte in enumerate(data) if byte == 0x0A]
    place = rng.choice(ends)
    return data[:place] + line + b"\n" + data[place:]


def key_twice(rng: random.Random, data: bytes) -> bytes:
    """Add a key that is there already."""
    key = rng.choice((b"domain", b"decision", b"result", b"occurred_at", b"event_id"))
    return line_more(rng, data, b'"%s": "coding"' % key)


def tagged(rng: random.Random, data: bytes) -> bytes:
    """Insert tags, anchors, aliases, merge keys, documents, directives."""
    lines = (
        b'x: !!python/object/apply:os.system ["true"]', b"x: !!python/name:os.system", b"x: !t y",
        b"x: &a [1]", b"x: *a", b"x: &a {b: *a}", b"<<: {domain: perps}", b"<<: *a", b"---", b"...",
        b"%YAML 9.9", b"%TAG ! tag:x,2026:", b"? [a, b]\n: c", b"x: !!binary AAAA", b"&a x: 1",
        b"!!str domain: perps", b"\tx: 1", b"x: `y`", b"x: @y", b"- x",
    )  # fmt: skip
    return line_more(rng, data, rng.choice(lines))


MUTATIONS: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    flipped, truncated, doubled, deleted, swapped, controlled, not_utf8, marked, huge, deep,
    key_twice, tagged,
)  # fmt: skip


def of_bytes(count: int) -> Iterator[Mutant]:
    """Yield so many mutants, the same every time; every mutation meets every form equally often."""
    for number in range(count):
        rng = random.Random(number)
        mutate = MUTATIONS[number % len(MUTATIONS)]
        form = FORMS[number // len(MUTATIONS) % len(FORMS)]
        data = mutate(rng, written(original(10_000 + number), form))
        again = rng.choice(MUTATIONS) if rng.random() < 0.2 and mutate is not marked else None
        yield f"{mutate.__name__}-{number}.{form}", _again(again, rng, data)


def _again(mutate: Callable[..., bytes] | None, rng: random.Random, data: bytes) -> bytes:
    # What reads the text of the valid form is for the first time only.
    fit = mutate in (flipped, truncated, doubled, deleted, swapped, not_utf8)
    return mutate(rng, data) if mutate and fit and data else data


def mutants() -> list[Mutant]:
    """Return all mutants."""
    found = list(wrong_types())
    return [*found, *of_bytes(COUNT - len(found))]


# ── the rules ────────────────────────────────────────────────────────────────────────


def fed(vault: Vault, given: list[Mutant]) -> Report:
    """Put files into the inbox, and return the report of the run that records them."""
    for name, data in given:
        (vault.root / "inbox" / name).write_bytes(data)
    return vault.run(["record"], now=NOW)


def reasons(vault: Vault) -> list[dict[str, Any]]:
    """The reasons that lie beside the files in quarantine."""
    folder = vault.root / "quarantine"
    told = (
        Path(folder / f"{name}.error.json").read_text()
        for name in vault.inbox.quarantine.file_names()
    )
    return [json.loads(text) for text in told]


@pytest.mark.parametrize("batch", one_of(3, range(COUNT // BATCH)))
def test_each_mutant_is_a_record_or_lies_in_quarantine_and_none_is_lost(
    vault: Vault, person: Person, batch: int
) -> None:
    given = mutants()[batch :: COUNT // BATCH]
    report = fed(vault, given)
    found = len(vault.store.snapshot().outcomes)
    assert found + len(report.quarantined) + len(report.known) == len(given) == BATCH
    assert found >= 20
    told = reasons(vault)
    assert len(told) == len(report.quarantined) >= 20
    for reason in told:
        assert reason["code"]
        assert len(reason["message"].splitlines()) == 1
    assert (vault.inbox.names(), report.waiting, person.status()) == ([], [], "")
    assert vault.check().problems == []


def timed(name: str, data: bytes) -> tuple[float, str]:
    """(seconds of the processor, what became of a file)."""
    start = time.process_time()
    code = taken(name, data)
    return time.process_time() - start, code


@pytest.mark.parametrize("form", FORMS)
def test_each_mutant_is_taken_or_refused_within_a_second(form: str) -> None:
    given = [mutant for mutant in mutants() if mutant[0].endswith(form)]
    found = [(*timed(*mutant), mutant[0]) for mutant in given]
    assert [name for took, _, name in found if took > SECONDS] == []
    assert all(code for _, code, _ in found)
    accepted = sum(code == "taken" for _, code, _ in found)
    assert len(given) // 20 < accepted < len(given) // 2
