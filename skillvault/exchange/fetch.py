"""Fetch URLs with a check at every redirect, and fetch skills from the registry ClawHub.

A name is resolved once, and the connection goes to the checked address. Plain http is only allowed
to this machine. A private address is refused, except this machine's if the user named it.
"""

import contextlib
import functools
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, urlencode

from skillvault.exchange.skills.well_known import Fetch, parse_answer
from skillvault.exchange.source_tree import MAX_BYTES, unpack
from skillvault.exchange.sources import SkillSource
from skillvault.model.errors import BadInputError, UsageError
from skillvault.model.text.text import shorten

try:
    import httpx2
except ImportError:
    raise UsageError(
        "fetching skills needs an extra; run `pip install '.[install]'` in a clone of skillvault, "
        "or install from a folder or a git URL"
    ) from None

_MAX_REDIRECTS = 5
_MAX_SECONDS = 60.0  # for one file, including redirects and waiting
_MAX_PAUSE = 15.0  # seconds between two bytes
_MAX_RETRIES = 3  # retries while a server is busy
_BUSY_STATUSES = (429, 503)
_REDIRECT_STATUSES = (301, 302, 303, 307, 308)
_HEADERS = {"Accept-Encoding": "identity", "User-Agent": "skillvault"}
_CONNECTION_EVENTS = ("connect_tcp.complete", "start_tls.complete")
_MAX_ERROR_BYTES = 64 * 1024  # bytes of an error's page


class Fetcher:
    """An HTTP client for a source of skills, whose URL is `source`.

    Tests replace `resolve` and `transport`.
    """

    def __init__(
        self,
        source: str,
        *,
        seconds: float = _MAX_SECONDS,
        resolve: Callable[..., list[tuple[Any, ...]]] = socket.getaddrinfo,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self._source = _host_of(_parse_url(source))
        self._seconds = seconds
        self._resolve = resolve
        self._transport = transport
        self._addresses: dict[tuple[str, int], str] = {}

    def fetch(self, url: str) -> bytes:
        """Fetch the bytes at a URL. Raise BadInputError if that fails or is not allowed."""
        deadline = time.monotonic() + self._seconds
        for _ in range(_MAX_REDIRECTS + 1):
            target = _parse_url(url)
            if target.userinfo:
                raise _fetch_error(url, "a name or password in it", "credentials")
            with self._open_answer(target, deadline) as answer:
                if answer.status_code not in _REDIRECT_STATUSES:
                    return _read_body(answer, url)
                location = answer.headers.get("location", "")
            url = str(_parse_url(location, base=target))
        raise _fetch_error(url, f"more than {_MAX_REDIRECTS} redirects", "redirect")

    @contextlib.contextmanager
    def _open_answer(self, url: httpx2.URL, deadline: float) -> Iterator[httpx2.Response]:
        """Send a request, wait while the server is busy, and yield the unread answer."""
        timer = _Deadline(deadline)
        client = httpx2.Client(transport=self._transport, verify=_tls_context(), trust_env=False)
        with client, timer:
            for attempt in range(_MAX_RETRIES + 1):
                answer = self._send(client, url, timer)
                if answer.status_code not in _BUSY_STATUSES or attempt == _MAX_RETRIES:
                    break
                seconds = _retry_seconds(answer.headers.get("retry-after"))
                answer.close()
                if time.monotonic() + seconds > deadline:
                    raise _fetch_error(str(url), f"busy for {seconds:g} s; try again later", "busy")
                time.sleep(seconds)
            try:
                yield answer
            except httpx2.HTTPError as error:
                raise timer.request_error(str(url), error) from None
            finally:
                answer.close()

    def _send(self, client: httpx2.Client, url: httpx2.URL, timer: "_Deadline") -> httpx2.Response:
        address = self._resolve_address(url)
        headers = {**_HEADERS, "Host": url.netloc.decode("ascii")}
        timeout = httpx2.Timeout(_MAX_PAUSE)
        request = client.build_request(
            "GET",
            url.copy_with(host=address),
            headers=headers,
            timeout=timeout,
            extensions={"sni_hostname": url.host, "trace": timer.trace},
        )
        try:
            return client.send(request, stream=True, follow_redirects=False)
        except httpx2.HTTPError as error:
            raise timer.request_error(str(url), error) from None

    def _resolve_address(self, url: httpx2.URL) -> str:
        """Resolve a host once. Raise BadInputError if its address is not allowed."""
        if url.scheme not in ("https", "http"):
            reason = f"{url.scheme or 'no'} is not fetched, only https"
            raise _fetch_error(str(url), reason, "scheme")
        host = _host_of(url)
        if host not in self._addresses:
            self._addresses[host] = self._look_up_address(url)
        if url.scheme == "http" and not ipaddress.ip_address(self._addresses[host]).is_loopback:
            reason = "plain http, which anybody on the way may change"
            raise _fetch_error(str(url), reason, "scheme")
        return self._addresses[host]

    def _look_up_address(self, url: httpx2.URL) -> str:
        host, port = _host_of(url)
        try:
            entries = self._resolve(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise _fetch_error(str(url), f"no address of {host} ({error})", "unreachable") from None
        addresses = [str(entry[4][0]).partition("%")[0] for entry in entries]
        is_allowed = _host_of(url) == self._source and _is_local_name(host)
        for address in addresses:
            is_loopback = ipaddress.ip_address(address).is_loopback
            if not is_public(address) and not (is_allowed and is_loopback):
                raise _fetch_error(str(url), f"{host} is {address}, a private address", "private")
        if not addresses:
            raise _fetch_error(str(url), f"no address of {host}", "unreachable")
        return min(addresses, key=lambda address: ":" in address)  # IPv4 works everywhere


class _Deadline:
    """A timer that closes a connection at a deadline, even if the server still sends bytes."""

    def __init__(self, deadline: float) -> None:
        self._timer = threading.Timer(max(0.0, deadline - time.monotonic()), self._close_connection)
        self._timer.daemon = True
        self._stream: Any = None
        self._has_ended = False

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Remember the connection that the client opens."""
        if event.endswith(_CONNECTION_EVENTS):
            self._stream = info["return_value"]
            if self._has_ended:
                self._close_connection()

    def request_error(self, url: str, error: Exception) -> BadInputError:
        """Return the error for a failed request."""
        if self._has_ended or isinstance(error, httpx2.TimeoutException):
            return _fetch_error(url, "too slow; try again later", "slow")
        return _fetch_error(url, f"cannot be fetched ({error})", "unreachable")

    def _close_connection(self) -> None:
        self._has_ended = True
        if self._stream is not None:
            with contextlib.suppress(OSError):  # the connection has ended by itself
                self._stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


@functools.cache
def _tls_context() -> ssl.SSLContext:
    """Return the certificates that the machine trusts, which are cached because reading is slow."""
    return httpx2.create_ssl_context()


def is_public(address: str) -> bool:
    """Return True for an internet address, even inside an IPv6 address."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        ipv4 = ip.ipv4_mapped or ip.sixtofour or (ip.teredo or (None, None))[1]
        if ipv4 is not None:
            return is_public(str(ipv4))
        if ip in ipaddress.ip_network("64:ff9b::/96"):
            return is_public(str(ipaddress.ip_address(int(ip) & 0xFFFFFFFF)))
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def _is_local_name(host: str) -> bool:
    """Return True for a name that means this machine without a lookup."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _read_body(answer: httpx2.Response, url: str) -> bytes:
    """Read an answer. Raise BadInputError for an error status or too many bytes."""
    if answer.status_code != httpx2.codes.OK:
        content = _read_bytes(answer, url, limit=_MAX_ERROR_BYTES)
        message = shorten(content.decode(errors="replace"), 200)
        raise _fetch_error(url, f"the answer is {answer.status_code} {message}".rstrip(), "status")
    if answer.headers.get("content-encoding", "identity") != "identity":
        raise _fetch_error(url, "comes compressed, although it was requested as it is", "encoding")
    return _read_bytes(answer, url, limit=MAX_BYTES)


def _read_bytes(answer: httpx2.Response, url: str, *, limit: int) -> bytes:
    content = bytearray()
    for chunk in answer.iter_raw():
        content += chunk
        if len(content) > limit:
            raise _fetch_error(url, f"more than {limit} bytes", "too-large")
    return bytes(content)


def _retry_seconds(text: str | None) -> float:
    """Parse a server's `Retry-After`, a number of seconds or a date, to seconds; by default 1."""
    if text is None:
        return 1.0
    with contextlib.suppress(ValueError):
        return max(0.0, float(text))
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return 1.0


def _parse_url(url: str, base: httpx2.URL | None = None) -> httpx2.URL:
    """Parse a URL. A redirect may be relative to a `base`."""
    try:
        return base.join(url) if base else httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError) as error:
        raise _fetch_error(url, f"no URL ({error})", "bad-url") from None


def _host_of(url: httpx2.URL) -> tuple[str, int]:
    return url.host, url.port or (443 if url.scheme == "https" else 80)


def _fetch_error(url: str, reason: str, code: str) -> BadInputError:
    return BadInputError(f"{url[:200]}: {reason}", code=code)


# ── a registry ───────────────────────────────────────────────────────────────────────


def find_version(source: SkillSource, fetch: Fetch) -> str:
    """Find the latest version of a skill. Raise BadInputError if the registry flags the skill."""
    query = urlencode({"ownerHandle": source.owner})
    url = f"{source.url}/api/v1/skills/{quote(source.skill, safe='')}?{query}"
    answer = parse_answer(fetch(url), url, "bad-answer")
    if not isinstance(answer, dict):
        raise BadInputError(f"{url}: expected a mapping; is this a registry?", code="bad-answer")
    _refuse_flagged(source.address, answer.get("moderation"))
    latest = answer.get("latestVersion")
    version = latest.get("version") if isinstance(latest, dict) else None
    if not isinstance(version, str) or not version:
        message = f"{source.address}: the registry names no version of it; check its page there"
        raise BadInputError(message, code="no-version")
    return version


def fetch_version(source: SkillSource, version: str, fetch: Fetch) -> Mapping[str, bytes]:
    """Fetch the files of a version of a skill, by path."""
    query = urlencode({"slug": source.skill, "ownerHandle": source.owner, "version": version})
    return unpack(fetch(f"{source.url}/api/v1/download?{query}"))


def _refuse_flagged(address: str, moderation: Any) -> None:
    if not isinstance(moderation, dict):
        return
    verdict = moderation.get("verdict")
    is_blocked = moderation.get("isMalwareBlocked") or verdict == "malicious"
    if not (is_blocked or moderation.get("isSuspicious") or verdict == "suspicious"):
        return
    codes = moderation.get("reasonCodes")
    texts = [str(moderation.get("summary") or ""), *(codes if isinstance(codes, list) else [])]
    reasons = "; ".join(shorten(str(text), 300) for text in texts if text)
    action = "blocks it as malicious" if is_blocked else "flags it as suspicious"
    message = f"{address}: the registry {action}: {reasons or 'no reason given'}"
    raise BadInputError(message, code="flagged")
