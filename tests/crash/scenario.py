"""The process to be killed: a machine's work in a vault, repeated until it is done.

python -m tests.crash.scenario ROOT
"""

import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from skillvault.api import Vault
from skillvault.model.errors import SkillvaultError
from skillvault.vault.git import objects
from tests.given import NOW, as_file, passing, raw, trade

RECORDED = 3  # outcomes that the command records itself
DROPPED = 5  # outcomes that agents dropped into the inbox before
LATER = NOW + timedelta(days=61)
LATE = {
    f"event-{name}": passing(name, LATER, event_id=f"event-{name}") for name in ("coding", "perps")
}
BAD = b"domain: [\n"
RULES = tuple(f"Rule {n}: get loggers by `{term}`." for n in range(2) for term in ("get_log", "no"))


def given(number: int) -> dict[str, Any]:
    """An outcome that can be told from every other one."""
    named: dict[str, Any] = {
        "event_id": f"event-{number}",
        "decision__target": f"target-{number % 4}",
    }
    return trade(number, **named) if number % 2 else raw(number, **named)


def _note_rules(vault: Vault) -> Path:
    """Note the rules that nobody noted yet; return the code, which supports half of them."""
    code = vault.root.with_name(f"{vault.root.name}-code")
    code.mkdir(exist_ok=True)
    for name in "abc":
        (code / f"{name}.py").write_text("log = get_log()\n")
    for rule in RULES:
        if rule not in noted(vault.root):
            vault.learn(rule)
    return code


def noted(root: Path) -> str:
    """Return the text of all rules in the work tree."""
    paths = (root / "LEARNINGS.md", root / "skills/learned/resources/expertise.yaml")
    return "".join(path.read_text() for path in paths if path.exists())


def main(root: Path) -> None:
    """Record, run, decide, and let time pass; repeat each step that was cut off."""
    objects.MIN_PACKED = 20  # so that a vault of a few outcomes writes packs, too
    vault = Vault.open(root)
    # A clock that went back would find the outcomes it took before in the future.
    turned = root.with_name(f"{root.name}-turned-late")
    now = LATER if turned.exists() else NOW
    vault.record([(f"own-{n}.json", as_file(given(n))) for n in range(RECORDED)], now=now)
    code = _note_rules(vault)
    vault.run(now=now, code=[code])
    learned = [skill for skill in vault.skills() if skill.kind == "warning"]
    for skill in learned[:1]:
        vault.curate.retire(skill.name, now=now)
        vault.curate.restore(skill.name, now=now)
    turned.touch()
    vault.record([(f"{name}.json", as_file(late)) for name, late in LATE.items()], now=LATER)
    vault.run(now=LATER, code=[code])


def outcomes() -> Iterator[bytes]:
    """The files that agents dropped."""
    yield from (as_file(given(RECORDED + n)) for n in range(DROPPED))


def play(root: Path) -> None:
    """Do all that in a process of its own, which ends with the exit code of an error."""
    try:
        main(root)
    except SkillvaultError as error:
        print(error)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    play(Path(sys.argv[1]))
