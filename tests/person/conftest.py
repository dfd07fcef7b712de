"""Fixtures for the tests of a person who works beside the program."""

from pathlib import Path

import pytest

from tests.person import publication


@pytest.fixture(scope="session")
def template(_session_closed_off: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The vault of `publication`, made once; each test works in a copy."""
    root = tmp_path_factory.mktemp("person") / "vault"
    publication.made(root)
    return root
