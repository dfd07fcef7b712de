"""Sites on loopback that offer skills, honest and hostile: real HTTP, scripted by path."""

import hashlib
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from skillvault.exchange.skills.well_known import INDEX_PATH, SCHEMA
from skillvault.model.change import Program

SKILL = b"---\nname: review\ndescription: Reviews a change. Use before a merge.\n---\n\n# Review\n"


class Reply(NamedTuple):
    """The answer of a path. `pause`: seconds before each byte of the body, or of the headers."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = {}
    pause: float = 0.0
    slow_headers: bool = False


Routes = dict[str, Reply | Callable[[], Reply]]


def skill_file(name: str, text: str = "Do it.", **metadata: str) -> bytes:
    """A SKILL.md."""
    lines = "".join(f"\n  {key}: {value}" for key, value in metadata.items())
    more = f"\nmetadata:{lines}" if lines else ""
    return f"---\nname: {name}\ndescription: What {name} does.{more}\n---\n\n{text}\n".encode()


def zipped(files: Mapping[str, bytes]) -> bytes:
    """A zip of these files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path)
            entry.create_system, entry.external_attr = 3, _mode(data) << 16
            archive.writestr(entry, data)
    return content.getvalue()


def tarred(files: Mapping[str, bytes], *others: tarfile.TarInfo) -> bytes:
    """A tar.gz of these files, and of other entries without content."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for path, data in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), _mode(data)
            archive.addfile(entry, io.BytesIO(data))
        for entry in others:
            archive.addfile(entry)
    return content.getvalue()


def _mode(data: bytes) -> int:
    return 0o755 if isinstance(data, Program) else 0o644


def digest(content: bytes) -> str:
    """Return the digest of a content as an index writes it."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def entry(name: str, content: bytes, **changes: Any) -> dict[str, Any]:
    """A skill in an index, at a path of its own."""
    packed = not content.startswith(b"---")
    return {
        "name": name,
        "type": "archive" if packed else "skill-md",
        "description": f"What {name} does.",
        "url": f"/files/{name}",
        "digest": digest(content),
        **changes,
    }


def index(*entries: Mapping[str, Any], schema: str = SCHEMA) -> bytes:
    """An index of skills."""
    return json.dumps({"$schema": schema, "skills": entries}).encode()


def offering(**skills: bytes) -> Routes:
    """The routes of a site with these skills."""
    entries = [entry(name, content) for name, content in skills.items()]
    files = {f"/files/{name}": Reply(content) for name, content in skills.items()}
    return {f"/{INDEX_PATH}": Reply(index(*entries)), **files}


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        route = self.server.routes.get(self.path, Reply(b"nothing here", 404))
        reply = route if isinstance(route, Reply) else route()
        try:
            self._send(reply)
        except OSError:  # the other side has gone, as it should
            self.close_connection = True

    def _send(self, reply: Reply) -> None:
        if reply.slow_headers:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            self._drip(b"x" * 10_000, reply.pause)
        self.send_response(reply.status)
        headers = {"Content-Length": str(len(reply.body)), **reply.headers}
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        if reply.pause:
            self._drip(reply.body, reply.pause)
        else:
            self.wfile.write(reply.body)

    def _drip(self, content: bytes, pause: float) -> None:
        for number in range(len(content)):
            if self.server.closing.wait(pause):
                return
            self.wfile.write(content[number : number + 1])
            self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    routes: Routes
    asked: list[str]
    closing: threading.Event


class Site(NamedTuple):
    """A running site: where it is, its routes (which a test may change), what was asked of it."""

    url: str
    routes: Routes
    asked: list[str]


@contextmanager
def serving(routes: Routes) -> Iterator[Site]:
    """A site on loopback while a test needs it."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.routes, server.asked, server.closing = routes, [], threading.Event()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield Site(f"http://127.0.0.1:{server.server_port}", routes, server.asked)
    finally:
        server.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
