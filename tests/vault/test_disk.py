"""Processes that have ended, and drafts that they left."""

import os

from skillvault.vault.disk import draft_name, is_abandoned, is_alive


def test_a_process_that_has_ended_and_stays_as_a_zombie_does_not_run() -> None:
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)  # its end is not taken: it is a zombie
    try:
        assert not is_alive(child)
        assert is_abandoned(f"{child}-1")
    finally:
        os.waitpid(child, 0)
    assert not is_alive(child)


def test_this_process_runs_and_abandons_no_draft() -> None:
    assert is_alive(os.getpid())
    assert not is_abandoned(draft_name())
