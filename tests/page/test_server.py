"""The page as it is served: on this machine alone, read only, after the branch."""

import http.client
import signal
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.model.errors import UsageError
from tests.given import as_file, raw


class Served:
    """A page that another process serves."""

    def __init__(self, vault: Vault) -> None:
        command = [sys.executable, "-m", "skillvault", "--vault", str(vault.root), "report"]
        self.process = subprocess.Popen(
            [*command, "--serve"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout
        self.address = self.process.stdout.readline().strip()

    def ask(
        self, path: str = "/", method: str = "GET", **headers: str
    ) -> tuple[int, str, dict[str, str]]:
        """(status, body, headers) of one request."""
        place = urlsplit(self.address)
        assert place.hostname
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=60)
        connection.request(method, path, headers=headers)
        reply = connection.getresponse()
        return reply.status, reply.read().decode(), dict(reply.getheaders())


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Vault, Served]]:
    vault, _ = Vault.init(tmp_path_factory.mktemp("served") / "vault", ["coding"])
    vault.record([("a.json", as_file(raw()))])
    vault.run()
    page = Served(vault)
    yield vault, page
    page.process.send_signal(signal.SIGTERM)
    assert page.process.wait(60) == 0


def test_it_is_served_on_loopback_alone_and_follows_the_branch(
    served: tuple[Vault, Served],
) -> None:
    vault, page = served
    assert urlsplit(page.address).hostname == "127.0.0.1"
    status, body, headers = page.ask()
    assert (status, headers["Cache-Control"]) == (200, "no-store")
    assert "connect-src &#39;self&#39;" in body
    before = page.ask("/head")[1]
    assert f'data-head="{before}"' in body
    vault.record([("b.json", as_file(raw(1)))])
    after = page.ask("/head")[1]
    assert after != before
    assert f'data-head="{after}"' in page.ask()[1]


def test_it_is_read_only_and_has_one_page(served: tuple[Vault, Served]) -> None:
    _, page = served
    assert [page.ask("/", method)[0] for method in ("POST", "PUT", "DELETE")] == [501] * 3
    assert page.ask("/", "HEAD")[1] == ""
    assert [page.ask(path)[0] for path in ("/../vault.yaml", "/vault.yaml", "/skills/")] == [
        404
    ] * 3


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", ""])
def test_a_page_of_somebody_else_cannot_read_it(served: tuple[Vault, Served], host: str) -> None:
    assert served[1].ask(Host=host)[0] == 403


def test_a_port_that_is_taken_is_one_sentence(served: tuple[Vault, Served]) -> None:
    vault, page = served
    args = ["--vault", str(vault.root), "report", "--serve", "--port"]
    result = CliRunner().invoke(cli, [*args, str(urlsplit(page.address).port)])
    assert isinstance(result.exception, UsageError)
    assert "choose another, or 0 for any free one" in str(result.exception)


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--serve", "--md"], "remove -o and --md"),
        (["--port", "80"], "add --serve"),
        (["--since", "soon"], "write 7d, 2w, 12h or 2026-11-20"),
        (["-o", "none/report.html"], "choose a file that you may write"),
    ],
)
def test_what_does_not_go_together_is_refused(
    served: tuple[Vault, Served], args: list[str], sentence: str
) -> None:
    result = CliRunner().invoke(cli, ["--vault", str(served[0].root), "report", *args])
    assert isinstance(result.exception, UsageError)
    assert sentence in str(result.exception)
