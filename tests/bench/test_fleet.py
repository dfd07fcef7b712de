"""The bench of a fleet: an hour of clones that push to one host."""

import pytest
from fleet import hour


def test_a_clone_alone_is_never_refused() -> None:
    seen = hour(rate=60, sync=1.0, vaults=1, clones=1)
    assert seen.pushes > 0
    assert (seen.pulls, seen.refused, seen.given_up) == (0, 0, 0)


@pytest.mark.parametrize("clones", [2, 50, 500])
def test_a_vault_takes_one_push_in_the_time_of_a_sync(clones: int) -> None:
    seen = hour(rate=600, sync=2.0, vaults=1, clones=clones)
    assert 0 < seen.pushes <= 1800
    assert seen.refused > 0


def test_vaults_do_not_meet() -> None:
    one, two = (hour(rate=60, sync=1.0, vaults=vaults, clones=1) for vaults in (1, 20))
    assert one.refused == two.refused == 0
    assert two.pushes > 10 * one.pushes
