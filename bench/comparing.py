"""Facts of several domains compared: of what changed alone, beside all of them."""

from collections.abc import Iterator
from datetime import timedelta

from ground import Ground
from remembered import DOMAINS
from row import Figure, Row, faster, spent
from stream import START

from skillvault import Vault

FACTS = 10_000
TOLD = "Write the idempotency key before the first retry of a request."


def rows(ground: Ground) -> Iterator[Row]:
    """`promote` over all facts, and once one more came."""
    count = FACTS // 10 if ground.quick else FACTS
    yield compared(Vault.open(ground.memory(count)), count)


def compared(vault: Vault, count: int) -> Row:
    """The two runs in one vault of so many facts."""
    vault.status()  # the index is there
    now = START + timedelta(days=1)
    steps = ["promote"]
    whole = spent(lambda: vault.run(steps, now=now))
    vault.memory.add_fact(TOLD, DOMAINS[0], now=now)
    vault.status()
    one = spent(lambda: vault.run(steps, now=now))
    work = f"facts of {len(DOMAINS)} domains compared, {count:,} there"
    ours = Figure("one more", one.wall / 1e3, "s")
    note = f"{one.processor / 1e3:.2f} s and {whole.processor / 1e3:.2f} s of the processor"
    return faster(work, ours, Figure("all of them", whole.wall / 1e3, "s"), 4, note)
