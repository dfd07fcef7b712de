"""A person and the program in one vault, in orders that nobody thought of.

`make thorough` runs more of them, `make person` two thousand others, at random, and shrinks.
"""

import os
import shutil
from datetime import date
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from skillvault.api import Vault
from skillvault.vault.commit.cold import leave_out_months
from tests.person.given import learned_vault
from tests.person.machine import PersonBeside
from tests.thorough import THOROUGH

WANTED = os.environ.get("SKILLVAULT_SEQUENCES")
SEQUENCES = int(WANTED or (40 if THOROUGH else 4))
SHARES = 4
STEPS = 12


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The vault that each sequence begins with."""
    root = tmp_path_factory.mktemp("learned") / "pattern"
    learned_vault(root)
    return root


@pytest.fixture(scope="module")
def light(full: Path) -> Path:
    """The same vault, with all outcomes in closed months."""
    root = full.with_name("light")
    shutil.copytree(full, root, symlinks=True)
    leave_out_months(Vault(root).store, date(2027, 6, 1), 1)
    return root


LIGHT_SHARES = SHARES if WANTED or THOROUGH else 1


@pytest.mark.parametrize(
    ("form", "share"),
    [*product(["full"], range(SHARES)), *product(["light"], range(LIGHT_SHARES))],
)
def test_a_person_and_the_program_keep_out_of_each_other_s_way(
    request: pytest.FixtureRequest, tmp_path: Path, form: str, share: int
) -> None:
    members = {"pattern": request.getfixturevalue(form), "home": tmp_path}
    machine = type("Beside", (PersonBeside,), members)
    shrinking = (Phase.shrink,) if WANTED else ()
    run_state_machine_as_test(
        machine if WANTED else seed(share)(machine),
        settings=settings(
            max_examples=max(1, SEQUENCES // SHARES),
            stateful_step_count=STEPS,
            phases=(Phase.explicit, Phase.generate, *shrinking),
            deadline=None,
            database=None,
            derandomize=not WANTED,
            suppress_health_check=list(HealthCheck),
        ),
    )
