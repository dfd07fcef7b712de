"""Cost of judging real outcomes: requests and tokens an outcome, with dollars.

    python bench/asking.py

Claude answers on loopback, as in the tests; four characters count as a token, the schema included.
The files of `../shared/data` are imported and judged at once. The benchmark does not measure the
value of the questions that are left out: the model that answers here says the same of everything.
"""

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from skillvault import Vault
from skillvault.model.claude_models import MODELS
from tests.conftest import NOW, Person
from tests.judge.server import Body, asked_for, serving, text_of

_DATA = Path(__file__).parents[2] / "shared" / "data"
_SETS = {
    "agent-runs": ("jsonl", "agent-runs/outcomes.jsonl"),
    "freqtrade": ("freqtrade", "freqtrade/backtest-result.json"),
}
_CHARACTERS = 4  # of a token, about
_MODEL = "claude-sonnet-5-5"


def _size(body: Body) -> int:
    """The tokens of a request."""
    texts = [part["text"] for part in body["system"]]
    texts += map(text_of, body["messages"])
    schema = json.dumps(body["output_config"]["format"]["schema"])
    return sum(map(len, [*texts, schema])) // _CHARACTERS


def _judged(root: Path, exporter: str, path: Path) -> int:
    """Import a file into a new vault that Claude judges, run, and count the outcomes."""
    vault, _ = Vault.init(root, now=NOW)
    page = root / "vault.yaml"
    text = page.read_text(encoding="utf-8").partition("\njudge:")[0].rstrip()
    text += "\njudge:\n  provider: claude\n  usd_per_day: 1000\n  calls_per_day: 100000\n"
    page.write_text(text, encoding="utf-8")
    Person(root).git("commit", "-q", "-am", "Appoint Claude", "--no-verify")
    vault.import_files(exporter, [path], now=NOW)
    vault.run(now=NOW)
    return len(vault.store.snapshot().outcomes)


def _rows() -> Iterator[str]:
    price = MODELS[_MODEL]
    for name, (exporter, path) in _SETS.items():
        with serving() as api, tempfile.TemporaryDirectory() as folder:
            os.environ |= {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": api.url}
            count = _judged(Path(folder) / "vault", exporter, _DATA / path)
            requests = list(api.requests)
        tokens = sum(map(_size, requests)) / count
        kinds = Counter(map(asked_for, requests))
        sizes: Counter[str] = Counter()
        for body in requests:
            sizes[asked_for(body)] += _size(body)
        print(name, count, dict(kinds), dict(sizes), file=sys.stderr)
        usd = tokens * price.read / 1e6
        asked = " | ".join(f"{kinds[kind]}" for kind in ("verdict", "insight", "text"))
        each = f"{len(requests) / count:.2f} | {tokens:,.0f} | ${usd:.4f}"
        yield f"| {name} | {count} | {asked} | {each} |"


if __name__ == "__main__":
    print(
        "| outcomes of | how many | verdicts | insights | texts | requests | tokens in | dollars |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for row in _rows():
        print(row, flush=True)
