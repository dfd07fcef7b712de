"""A vault for the page's tests: two domains, a strategy, skills that were applied, a surprise."""

from datetime import timedelta
from pathlib import Path

from skillvault.api import Vault
from skillvault.sessions.closing import Closing
from tests.conftest import NOW
from tests.given import as_file, raw, trade

LATER = NOW + timedelta(hours=1)


def learned_vault(root: Path) -> Vault:
    """A vault that learned, was asked, and learned again."""
    vault, _ = Vault.init(root, ["coding", "perps"], now=NOW - timedelta(days=21))
    scores = (-0.112, 0.05, -0.13, 0.02, 0.31, -0.11)
    first = [trade(n, scores[n % 6], decision__target=f"COIN-{n % 3}") for n in range(14)]
    tests = [raw(n, decision__target=f"服务-{n % 2}") for n in range(4)]
    vault.record([(f"{n}.json", as_file(one)) for n, one in enumerate([*first, *tests])], now=NOW)
    claimed = {"status": "success", "claim": "All tests pass.", "claimed": "success"}
    vault.record([("c.json", as_file(raw(5, decision__id="d-1", result=claimed)))], now=NOW)
    seen = Closing(status="failure", observed_by="ci", evidence="FAILED test_payment")
    vault.close("d-1", seen, now=NOW)
    vault.run(now=NOW)
    name = next(one.name for one in vault.skills() if one.name.startswith("warning-perps"))
    later = [
        trade(15 + n, scores[(n + n // 2) % 6], applied=[name] if n % 2 else []) for n in range(4)
    ]
    vault.record([(f"l{n}.json", as_file(one)) for n, one in enumerate(later)], now=NOW)
    vault.run(now=NOW)
    return vault
