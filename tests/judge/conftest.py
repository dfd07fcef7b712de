"""The API on loopback, and vaults whose judge is Claude."""

import pytest

from skillvault.api import Vault
from tests.conftest import Person
from tests.judge.server import api

__all__ = ["api"]


def appoint(vault: Vault, **rules: object) -> None:
    """Have a person make Claude the judge."""
    lines = "".join(f"  {key}: {value}\n" for key, value in {"provider": "claude", **rules}.items())
    person = Person(vault.root)
    page = vault.root / "vault.yaml"
    head = page.read_text(encoding="utf-8").partition("\njudge:")[0].rstrip()
    page.write_text(f"{head}\njudge:\n{lines}", encoding="utf-8")
    # The hook is a Python of its own: half a second for each test.
    person.git("commit", "-q", "-am", "Appoint Claude", "--no-verify")


@pytest.fixture
def claudes(vault: Vault) -> Vault:
    """A new vault whose judge is Claude."""
    appoint(vault)
    return vault
