"""A person's git in the middle of a publication: nothing is lost, and each byte stays theirs."""

from pathlib import Path

import pytest

from tests.person import publication
from tests.person.publication import AS_ASKED, COMMANDS

POINTS = ("objects-written", "intent-written", "file-placed", "before-index", "index-written",
          "before-swap", "branch-moved", "intent-done", "inbox-done")  # fmt: skip


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The vault that each case begins with."""
    root = tmp_path_factory.mktemp("publication") / "vault"
    publication.made(root)
    return root


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("point", POINTS)
def test_a_command_in_the_middle_loses_nothing(
    template: Path, tmp_path: Path, point: str, name: str
) -> None:
    root = publication.copied(template, tmp_path / "vault")
    with publication.interrupted(root, point, COMMANDS[name]) as codes:
        publication.run(root)
    assert codes, f"{point} is not reached"
    faults = publication.go_on(root)
    publication.let_time_pass(root)
    publication.run(root)
    publication.let_time_pass(root)
    publication.run(root)
    open_faults = [*faults, *publication.faults(root)]
    if name in AS_ASKED:
        open_faults = [
            fault for fault in open_faults if fault.startswith(("lost", "twice", "fsck", "a lock"))
        ]
    assert not open_faults
