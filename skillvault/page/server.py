"""Serve the page on this machine, read-only; render it again after each commit.

Other sites cannot read it, because a request must name this machine as its host.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from msgspec import Struct

from skillvault.model.errors import SkillvaultError, UsageError

HOST = "127.0.0.1"
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class PageReply(Struct, frozen=True):
    """The reply to a request: status, body and content type."""

    status: HTTPStatus
    body: bytes
    kind: str = "text/plain"


class ServedPage:
    """The page at the branch's head; `head` returns the commit, `make` renders the page."""

    def __init__(self, head: Callable[[], str], make: Callable[[], bytes]) -> None:
        self.head = head
        self._make = make
        self._cached: tuple[str, bytes] | None = None
        self._lock = threading.Lock()

    def current(self) -> bytes:
        """Return the page; concurrent requests wait while it is rendered."""
        with self._lock:
            head = self.head()
            if self._cached is None or self._cached[0] != head:
                self._cached = head, self._make()
            return self._cached[1]


@contextmanager
def serving(page: ServedPage, port: int) -> Iterator[str]:
    """Serve a page until the block ends and yield its address; port 0 means any free port."""
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
        """Answers GET and HEAD; any other method is not implemented."""

        server_version, sys_version = "skillvault", ""

        def do_GET(self) -> None:
            """Send the page, or the commit of its branch."""
            self._send(self._reply())

        def do_HEAD(self) -> None:
            """Send the headers only."""
            self._send(self._reply(), body=False)

        def _reply(self) -> PageReply:
            address: Any = self.server.server_address
            hosts = (f"{HOST}:{address[1]}", f"localhost:{address[1]}")
            if self.headers.get("Host") not in hosts:
                return PageReply(HTTPStatus.FORBIDDEN, b"this page is for this machine alone\n")
            try:
                return page_reply(page, self.path)
            except SkillvaultError as error:
                return PageReply(HTTPStatus.SERVICE_UNAVAILABLE, f"{error}\n".encode())

        def _send(self, reply: PageReply, *, body: bool = True) -> None:
            self.send_response(reply.status)
            for name, value in _HEADERS.items():
                self.send_header(name, value)
            self.send_header("Content-Type", f"{reply.kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            if body:
                self.wfile.write(reply.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (http.server's)
            """Log nothing, because the terminal shows only the address."""

    return Handler


def page_reply(page: ServedPage, path: str) -> PageReply:
    """Return the reply to a request for a path."""
    if path == "/":
        return PageReply(HTTPStatus.OK, page.current(), "text/html")
    if path == "/head":
        return PageReply(HTTPStatus.OK, page.head().encode())
    return PageReply(HTTPStatus.NOT_FOUND, b"there is only the page, at /\n")
