"""Serve the page on this machine, and render it again after each commit.

Other sites cannot read it, because a request must name this machine as its host. It is read-only
unless decisions are taken. A decision needs a cookie and must come from the page itself.
"""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from msgspec import Struct

from skillvault.model.errors import SkillvaultError, UsageError
from skillvault.page.decisions import WriteSession
from skillvault.page.html import SCRIPT

HOST = "127.0.0.1"
_COOKIE = "skillvault"
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class PageReply(Struct, frozen=True):
    """The reply to a request, with status, body and content type."""

    status: HTTPStatus
    body: bytes
    kind: str = "text/plain"
    cookie: str = ""


class ServedPage:
    """The page at the head of the branch. `head` returns the commit, and `make` renders the page.

    Without `decisions`, it is read-only.
    """

    def __init__(
        self,
        head: Callable[[], str],
        make: Callable[[], bytes],
        decisions: WriteSession | None = None,
    ) -> None:
        self.head = head
        self.decisions = decisions
        self._make = make
        self._cached: tuple[str, bytes] | None = None
        self._lock = threading.Lock()

    def current(self) -> bytes:
        """Return the page. Other requests wait while it is rendered."""
        with self._lock:
            head = self.head()
            if self._cached is None or self._cached[0] != head:
                self._cached = head, self._make()
            return self._cached[1]


@contextmanager
def serving(page: ServedPage, port: int) -> Iterator[str]:
    """Serve a page until the block ends, and yield its address. Port 0 means any free port."""
    try:
        server = ThreadingHTTPServer((HOST, port), _handler_of(page))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"--port {port}: {reason}; choose another, or 0 for any free one"
        ) from None
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler_of(page: ServedPage) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers GET, HEAD, and POST if decisions are taken."""

        server_version, sys_version = "skillvault", ""

        def do_GET(self) -> None:
            """Send the page, or the commit of its branch."""
            self._send(answer_request(page, self))

        def do_HEAD(self) -> None:
            """Send the headers only."""
            self._send(answer_request(page, self), body=False)

        def do_POST(self) -> None:
            """Open the session, or take a decision."""
            self._send(answer_request(page, self))

        def _send(self, reply: PageReply, *, body: bool = True) -> None:
            self.send_response(reply.status)
            for name, value in _HEADERS.items():
                self.send_header(name, value)
            self.send_header("Content-Type", f"{reply.kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(reply.body)))
            if reply.cookie:
                value = f"{_COOKIE}={reply.cookie}; HttpOnly; SameSite=Strict; Path=/"
                self.send_header("Set-Cookie", value)
            self.end_headers()
            if body:
                self.wfile.write(reply.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (http.server's)
            """Log nothing, because the terminal shows only the address."""

    return Handler


def answer_request(page: ServedPage, request: BaseHTTPRequestHandler) -> PageReply:
    """Return the reply to a request, which must name this machine as its host."""
    address: Any = request.server.server_address
    host, headers = f"{HOST}:{address[1]}", request.headers
    if headers.get("Host") not in (host, f"localhost:{address[1]}"):
        return PageReply(HTTPStatus.FORBIDDEN, b"this page is for this machine alone\n")
    is_form = request.command == "POST"
    try:
        return post_reply(page, request, host) if is_form else page_reply(page, request.path)
    except SkillvaultError as error:
        status = HTTPStatus.FORBIDDEN if is_form else HTTPStatus.SERVICE_UNAVAILABLE
        return PageReply(status, f"{error}\n".encode())


def post_reply(page: ServedPage, request: BaseHTTPRequestHandler, host: str) -> PageReply:
    """Return the reply to a form. The token opens the session, a decision needs its cookie."""
    decisions, headers = page.decisions, request.headers
    if decisions is None:
        return PageReply(HTTPStatus.NOT_IMPLEMENTED, b"this page is read-only\n")
    if headers.get("Host") != host or headers.get("Origin") != f"http://{host}":
        raise UsageError("this page takes no form of another site")
    length = headers.get("Content-Length") or ""
    if not re.fullmatch("[0-9]{1,6}", length):
        raise UsageError("the form has no length, or it is too long")
    body = request.rfile.read(int(length))
    if request.path == "/session":
        cookie = decisions.open_session(body.decode(errors="replace"))
        return PageReply(HTTPStatus.OK, b"", cookie=cookie)
    values = [part.strip().partition("=") for part in (headers.get("Cookie") or "").split(";")]
    cookie = next((value for name, _, value in values if name == _COOKIE), "")
    if request.path != "/decide" or not decisions.has_session(cookie):
        raise UsageError("this browser may not decide; start the report again")
    return PageReply(HTTPStatus.OK, decisions.decide(body).encode())


def page_reply(page: ServedPage, path: str) -> PageReply:
    """Return the reply to a request for a path."""
    if path == "/":
        return PageReply(HTTPStatus.OK, page.current(), "text/html")
    if path == "/page.js":
        return PageReply(HTTPStatus.OK, SCRIPT.read_bytes(), "text/javascript")
    if path == "/head":
        return PageReply(HTTPStatus.OK, page.head().encode())
    return PageReply(HTTPStatus.NOT_FOUND, b"there is only the page, at /\n")
