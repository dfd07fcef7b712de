"""Tests of the scan of /proc for files that other processes hold open."""

from pathlib import Path

import pytest

from skillvault.vault.commit import git_activity


def test_a_process_that_ended_during_the_scan_holds_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "11").mkdir()  # its descriptors are gone already
    (tmp_path / "12/fd").mkdir(parents=True)
    (tmp_path / "12/fd/3").symlink_to("/vault/file")
    monkeypatch.setattr(git_activity, "_PROC", tmp_path)
    assert list(git_activity.opened_files()) == ["/vault/file"]
