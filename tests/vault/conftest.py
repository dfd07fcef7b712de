"""A new vault for every test here, copied from one that is made once: a third of the time."""

import gc
from pathlib import Path

import pytest

from skillvault.api import Vault
from tests.conftest import unguarded
from tests.vault.given import NOW


@pytest.fixture(scope="session")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault that nobody changes."""
    home = tmp_path_factory.mktemp("maker")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        for name in ("AUTHOR", "COMMITTER"):
            patch.setenv(f"GIT_{name}_NAME", "Ada Person")
            patch.setenv(f"GIT_{name}_EMAIL", "ada@example.org")
        Vault.init(home / "vault", ["perps", "coding"], now=NOW)
    gc.collect()  # a vault that nobody uses any more still holds its index open
    return home / "vault"


@pytest.fixture
def vault(pattern: Path, tmp_path: Path) -> Vault:
    """A new vault with two domains."""
    return Vault.open(unguarded(pattern, tmp_path / "vault"))
