"""Evidence for many rules in many files, beside one `git grep` for all their terms.

`python bench/capturing.py RULES FILES` prints the row of these sizes alone.
"""

import random
import string
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ground import Ground
from row import Figure, Row, Spent, faster, spent

from skillvault.loop.code_bases import evidence_of
from skillvault.model.policy import CapturePolicy
from skillvault.vault.code_base import open_code_base

_LINES, _NAMES = 60, 8  # of a file, and names on a line
_VOCABULARY = 30_000


def rows(_ground: Ground) -> Iterator[Row]:
    """1,000 rules against 2,000 files; for more call this module."""
    yield row_of(1_000, 2_000)


def row_of(rules: int, files: int) -> Row:
    """So many rules of two terms each against so many committed files."""
    chance = random.Random(26)
    names = [_name(chance) for _ in range(_VOCABULARY)]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        _write(place, names, files, chance)
        terms = [chance.choice(names) + chance.choice(("", "x")) for _ in range(2 * rules)]
        texts = [f"Use `{a}` with `{b}`." for a, b in zip(terms[::2], terms[1::2], strict=True)]
        ours = spent(lambda: _borne_out(place, texts))
        theirs = spent(lambda: _grepped(place, terms))
    return faster(
        f"evidence for {rules:,} rules in {files:,} files",
        Figure("each file read once", _seconds(ours), "s of processor"),
        Figure("one `git grep -lFIz -f` of all terms", _seconds(theirs), "s of processor"),
        1,
        "git says which files hold any term, not which holds which",
    )


def _seconds(cost: Spent) -> float:
    return cost.processor / 1e3


def _borne_out(place: Path, rules: list[str]) -> None:
    base = open_code_base(place, place / "no-vault")
    evidence_of([base], dict.fromkeys(rules, ()), CapturePolicy())


def _grepped(place: Path, terms: list[str]) -> None:
    patterns = place.with_name(f"{place.name}-terms")
    patterns.write_text("\n".join(terms) + "\n")
    command = ["git", "grep", "-lFIz", "-f", str(patterns), "HEAD"]
    subprocess.run(command, cwd=place, stdout=subprocess.DEVNULL, check=False)
    patterns.unlink()


def _write(place: Path, names: list[str], files: int, chance: random.Random) -> None:
    """A repository of so many files in folders of a hundred."""
    for number in range(files):
        path = place / f"m{number // 100}" / f"f{number}.py"
        path.parent.mkdir(exist_ok=True)
        lines = (" ".join(chance.choices(names, k=_NAMES)) for _ in range(_LINES))
        path.write_text("\n".join(lines) + "\n")
    for args in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "code"]):
        who = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
        subprocess.run(["git", *who, *args], cwd=place, check=True)


def _name(chance: random.Random) -> str:
    return "_".join("".join(chance.choices(string.ascii_lowercase, k=6)) for _ in range(2))


if __name__ == "__main__":
    row = row_of(*map(int, sys.argv[1:3]))
    print(row.work, row.ours, row.theirs, f"ratio {row.ratio:.1f}", sep="\n")
