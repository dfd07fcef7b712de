"""A project in which the real Claude Code works."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from skillvault.api import Vault
from tests.conftest import Person
from tests.interop.desk import ClaudeDesk


@pytest.fixture
def desk(vault: Vault, person: Person, tmp_path: Path) -> Iterator[ClaudeDesk]:
    """A desk with the real program."""
    desk = ClaudeDesk(vault, person, tmp_path, "claude")
    yield desk
    desk.close()
