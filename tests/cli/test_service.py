"""The daemon as a service: the file is one that the system's manager takes."""

import plistlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from skillvault.cli.service import service_of, start_service, stop_service
from skillvault.model.errors import UsageError

ODD = 'my "50%" $vault'


def test_a_unit_quotes_what_systemd_expands(tmp_path: Path) -> None:
    service = service_of(tmp_path / ODD, home=tmp_path, syncs=True, platform="linux")
    assert service.path.parent == tmp_path / ".config/systemd/user"
    assert re.fullmatch(r"skillvault-my-50-vault-[0-9a-f]{6}\.service", service.path.name)
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
    with pytest.raises(
        UsageError, match=r"skillvault-vault-\w+.service is written, but systemctl: No"
    ):
        start_service(service)
    assert service.path.read_bytes() == service.content
    service.path.unlink()
    with pytest.raises(UsageError, match="no such service"):
        stop_service(service)


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_vaults_in_folders_of_one_name_have_a_service_each(tmp_path: Path, platform: str) -> None:
    roots = [tmp_path / "home/vault", tmp_path / "team/vault"]
    services = [service_of(root, home=tmp_path, platform=platform) for root in roots]
    assert services[0].path != services[1].path
    assert services[0].stop != services[1].stop


def test_a_service_that_runs_is_started_anew_with_its_new_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = tmp_path / "systemctl"
    manager.write_text(f'#!/bin/sh\necho "$2" >> {tmp_path}/log\ntest "$2" != disable\n')
    manager.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for syncs in (False, True):
        start_service(service_of(tmp_path / "vault", home=tmp_path, syncs=syncs, platform="linux"))
    words = (tmp_path / "log").read_text().split()
    assert words.count("enable") == 2
    assert words.index("disable") < len(words) - 1 - words[::-1].index("enable")
