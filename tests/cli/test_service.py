"""The daemon as a service: the file is one that the system's manager takes."""

import plistlib
import shutil
import subprocess
from pathlib import Path

import pytest

from skillvault.cli.service import service_of, start_service, stop_service
from skillvault.model.errors import UsageError

ODD = 'my "50%" $vault'


def test_a_unit_quotes_what_systemd_expands(tmp_path: Path) -> None:
    service = service_of(tmp_path / ODD, home=tmp_path, syncs=True, platform="linux")
    assert service.path == tmp_path / ".config/systemd/user/skillvault-my-50-vault.service"
    (line,) = (x for x in service.content.decode().splitlines() if x.startswith("ExecStart="))
    assert line.endswith('my \\"50%%\\" $$vault" "--sync"')


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
def test_systemd_finds_no_fault_in_a_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    service = service_of(tmp_path / ODD, home=tmp_path, platform="linux")
    unit = tmp_path / service.path.name
    unit.write_bytes(service.content)
    command = ["systemd-analyze", "--user", "verify", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, unit.name in done.stderr) == (0, False), done.stderr


def test_an_agent_of_launchd_watches_the_vault(tmp_path: Path) -> None:
    service = service_of(tmp_path / ODD, home=tmp_path, platform="darwin")
    content = plistlib.loads(service.content)
    assert content["ProgramArguments"][-2:] == ["--vault", str(tmp_path / ODD)]
    assert content["KeepAlive"] == {"SuccessfulExit": False}
    assert service.path.stem == content["Label"]


def test_a_manager_that_is_missing_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    service = service_of(tmp_path / "vault", home=tmp_path, platform="linux")
    with pytest.raises(UsageError, match=r"skillvault-vault.service is written, but systemctl: No"):
        start_service(service)
    assert service.path.read_bytes() == service.content
    service.path.unlink()
    with pytest.raises(UsageError, match="no such service"):
        stop_service(service)
