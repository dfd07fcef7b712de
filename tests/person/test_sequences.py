"""A person and the program in one vault, in orders that nobody thought of.

`make person` runs two thousand others, at random, and shrinks.
"""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.person.given import learned_vault
from tests.person.machine import PersonBeside

WANTED = os.environ.get("SKILLVAULT_SEQUENCES")
SEQUENCES = int(WANTED or 40)
SHARES = 4
STEPS = 12


@pytest.mark.parametrize("share", range(SHARES))
def test_a_person_and_the_program_keep_out_of_each_other_s_way(tmp_path: Path, share: int) -> None:
    learned_vault(tmp_path / "pattern")
    machine = type("Beside", (PersonBeside,), {"pattern": tmp_path / "pattern", "home": tmp_path})
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
