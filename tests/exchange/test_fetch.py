"""fetch: what comes of the network is checked at every hop, and never waited for without end."""

import socket
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from skillvault.exchange.fetch import Fetcher, is_public
from skillvault.exchange.source_tree import MAX_BYTES
from skillvault.model.errors import BadInputError
from tests.exchange.sites import Reply, Site, serving


@pytest.fixture
def site() -> Iterator[Site]:
    with serving({"/a": Reply(b"content")}) as site:
        yield site


def refused(fetcher: Fetcher, url: str) -> BadInputError:
    with pytest.raises(BadInputError) as caught:
        fetcher.fetch(url)
    return caught.value


def resolving(*addresses: str) -> Any:
    """A name server that gives another address each time."""
    answers = iter(addresses)

    def resolve(*_: Any, **__: Any) -> list[tuple[Any, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), 443))]

    return resolve


def test_what_is_at_a_url_of_the_source_is_fetched(site: Site) -> None:
    assert Fetcher(site.url).fetch(f"{site.url}/a") == b"content"


def test_a_redirect_within_the_source_is_followed(site: Site) -> None:
    site.routes["/b"] = Reply(status=302, headers={"Location": "/a"})
    assert Fetcher(site.url).fetch(f"{site.url}/b") == b"content"


@pytest.mark.parametrize(
    ("location", "code"),
    [
        ("http://10.0.0.1/a", "private"),
        ("http://192.168.1.1/a", "private"),
        ("http://169.254.169.254/latest/meta-data", "private"),
        ("http://[::1]/a", "private"),
        ("http://[::ffff:10.0.0.1]/a", "private"),
        ("http://0.0.0.0/a", "private"),
        ("http://localhost/a", "private"),
        ("http://127.0.0.1:1/a", "private"),
        ("https://2130706433/a", "private"),
        ("http://93.184.216.34/a", "scheme"),
        ("file:///etc/passwd", "scheme"),
        ("ftp://127.0.0.1/a", "scheme"),
        ("https://user:secret@93.184.216.34/a", "credentials"),
        ("/loop", "redirect"),
        ("http://[", "unreachable"),
    ],
)
def test_a_redirect_elsewhere_is_refused(site: Site, location: str, code: str) -> None:
    site.routes["/loop"] = Reply(status=302, headers={"Location": location})
    assert refused(Fetcher(site.url), f"{site.url}/loop").code == code


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply(b"x" * (MAX_BYTES + 1)), "too-large"),
        (Reply(b"x", headers={"Content-Encoding": "gzip"}), "encoding"),
        (Reply(b"no such skill", 404), "status"),
        (Reply(b"half", headers={"Content-Length": "10"}), "unreachable"),
        (Reply(b"x" * 10_000, pause=0.05), "slow"),
        (Reply(pause=0.05, slow_headers=True), "slow"),
        (Reply(status=429, headers={"Retry-After": "3600"}), "busy"),
        (Reply(status=429, headers={"Retry-After": "Fri, 01 Jan 2100 00:00:00 GMT"}), "busy"),
    ],
)
def test_an_answer_that_cannot_be_used_is_refused(site: Site, reply: Reply, code: str) -> None:
    site.routes["/x"] = reply
    assert refused(Fetcher(site.url, seconds=1), f"{site.url}/x").code == code


def test_an_error_is_told_in_the_server_s_words(site: Site) -> None:
    site.routes["/x"] = Reply(b"held back by a moderator", 451)
    message = refused(Fetcher(site.url), f"{site.url}/x").message
    assert message.endswith("/x: the answer is 451 held back by a moderator")


def test_a_busy_server_is_waited_for_as_it_says(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("skillvault.exchange.fetch.time.sleep", waits.append)
    replies = iter(
        [Reply(status=429, headers={"Retry-After": "7"}), Reply(status=503), Reply(b"x")]
    )
    site.routes["/x"] = lambda: next(replies)
    assert Fetcher(site.url).fetch(f"{site.url}/x") == b"x"
    assert waits == [7.0, 1.0]


def test_a_name_is_resolved_once_and_asked_at_that_address() -> None:
    asked: list[tuple[str, str, str]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sni = request.extensions["sni_hostname"]
        asked.append((request.url.host, request.headers["host"], sni))
        return httpx2.Response(200, stream=httpx2.ByteStream(b"x"))

    resolve = resolving("93.184.216.34", "10.0.0.1")
    transport = httpx2.MockTransport(answer)
    fetcher = Fetcher("https://skills.example", resolve=resolve, transport=transport)
    for _ in range(2):
        assert fetcher.fetch("https://skills.example/a") == b"x"
    assert asked == [("93.184.216.34", "skills.example", "skills.example")] * 2
    later = Fetcher("https://skills.example", resolve=resolve, transport=transport)
    assert refused(later, "https://skills.example/a").code == "private"
    assert len(asked) == 2


def test_a_public_name_for_this_machine_is_refused_though_the_source_names_it() -> None:
    fetcher = Fetcher("https://skills.example", resolve=resolving("127.0.0.1"))
    assert refused(fetcher, "https://skills.example/a").code == "private"


def test_a_host_without_an_address_is_a_sentence() -> None:
    def resolve(*_: Any, **__: Any) -> list[tuple[Any, ...]]:
        raise socket.gaierror(-2, "Name or service not known")

    fetcher = Fetcher("https://skills.example", resolve=resolve)
    assert refused(fetcher, "https://skills.example/a").code == "unreachable"


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("10.1.2.3", False),
        ("100.64.0.1", False),
        ("127.0.0.1", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("fe80::1", False),
        ("fc00::1", False),
        ("::ffff:192.168.0.1", False),
        ("64:ff9b::a00:1", False),
        ("2002:a00:1::", False),
        ("2001:0:53aa:64c:0:0:f5ff:fffe", False),
    ],
)
def test_an_address_is_public_or_not_whatever_it_hides(address: str, *, public: bool) -> None:
    assert is_public(address) is public
