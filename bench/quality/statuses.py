"""Accuracy of the skills' statuses as a vault keeps them: records in, `assess` out.

Simulated decisions become receipts and outcomes of a vault of its own. It is looked at once, at
the end, or after each decision, as a daemon does.

python bench/quality/statuses.py FOLDER KIND WORLDS [FIRST] [HOLDOUT] [--each]
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from effects import defined

from skillvault.api import Vault

START = datetime(2026, 1, 1, tzinfo=UTC)
NOW = START + timedelta(days=200)
_WHO = {"GIT_AUTHOR_NAME": "b", "GIT_AUTHOR_EMAIL": "b@example.com"}
_WHO |= {"GIT_COMMITTER_NAME": "b", "GIT_COMMITTER_EMAIL": "b@example.com"}


class Judged(NamedTuple):
    """A skill at the end: true effect, estimate and error, status, every status it had."""

    truth: float
    lift: float
    error: float
    status: str
    had: frozenset[str]


def judged(world: tuple[Any, ...], root: Path, *, each: bool) -> Iterator[Judged]:
    """Yield a world's skills as a vault judges them, once or after each decision."""
    skills, decisions, truth = world
    vault = _vault(root, skills)
    had: dict[str, set[str]] = {name: set() for name in skills}
    batches = [[n] for n in range(len(decisions))] if each else [list(range(len(decisions)))]
    for batch in batches:
        vault.record([file for n in batch for file in _files(n, decisions[n])], now=NOW)
        for done in vault.run(["assess"], now=NOW).done:
            status, name = done.change.subject.split(" ")[:2]
            had[name].add(status)
    known = {one.skill: one for one in vault.stats()}
    for name in sorted(known):
        one = known[name]
        if one.lift is not None and one.error is not None:
            yield Judged(truth[name], one.lift, one.error, one.status, frozenset(had[name]))


def _vault(root: Path, skills: Sequence[str]) -> Vault:
    vault, _ = Vault.init(root)
    for name in skills:
        folder = root / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: d\n---\n\nDo it.\n")
    when = {"GIT_COMMITTER_DATE": (START - timedelta(days=9)).isoformat()}
    for command in (["add", "-A"], ["commit", "-qm", "skills", "--no-verify"]):
        subprocess.run(["git", *command], cwd=root, check=True, env={**os.environ, **_WHO, **when})
    return vault


def _files(number: int, decision: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """A decision's receipt and its outcome, an hour after the one before."""
    at = (START + timedelta(hours=number)).isoformat()
    use = decision["skills"]
    offers = {
        key: [{"skill": s, "blob": "0" * 40} for s in use if use[s]["shown"] == is_shown]
        for key, is_shown in (("shown", True), ("held_out", False))
    }
    about = {"domain": decision["domain"], "decision": f"d-{number}", "at": at}
    yield f"r{number}.json", json.dumps({"type": "recommendation", **about, **offers}).encode()
    outcome = {
        "domain": decision["domain"],
        "occurred_at": at,
        "decision": {"id": f"d-{number}", "action": "act"},
        "result": {"status": "success" if decision["success"] else "failure"},
        "applied": [s for s in use if use[s]["applied"]],
    }
    yield f"o{number}.json", json.dumps(outcome).encode()


def told(found: Sequence[Judged]) -> str:
    """The figures of many skills in a line."""
    helpful = [one for one in found if one.truth > 0]
    harmful = [one for one in found if one.truth < 0]
    others = [one for one in found if one.truth <= 0]
    covered = sum(abs(one.truth - one.lift) < 1.96 * one.error for one in found)
    shares = {
        "helpful proven": [one.status == "proven" for one in helpful],
        "harmful retired": [one.status == "retired" for one in harmful],
        "not helpful proven": [one.status == "proven" for one in others],
        "helpful ever retired": ["retired" in one.had for one in helpful],
        "not helpful ever proven": ["proven" in one.had for one in others],
    }
    parts = [f"{what} {sum(some) / max(1, len(some)):.3f}" for what, some in shares.items()]
    return f"{', '.join(parts)}, coverage {covered / len(found):.3f} of {len(found)} skills"


def main() -> None:
    """Print the figures of some worlds of a kind."""
    words = [word for word in sys.argv[1:] if word != "--each"]
    bench, kind, worlds = Path(words[0]), words[1], int(words[2])
    first = int(words[3]) if len(words) > 3 else 1
    holdout = float(words[4]) if len(words) > 4 else 0.1
    make = defined(bench / "simulator/worlds.py")["world"]
    found: list[Judged] = []
    for seed in range(first, first + worlds):
        with tempfile.TemporaryDirectory() as folder:
            world = make(seed, kind, holdout=holdout)
            found += judged(world, Path(folder) / "vault", each="--each" in sys.argv)
    print(f"{kind}, hold-out {holdout:g}: {told(found)}")


if __name__ == "__main__":
    main()
