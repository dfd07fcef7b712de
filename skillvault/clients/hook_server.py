"""Answer hooks on a Unix socket, so that a hook costs only the start of Python.

`clients.hook_client` describes the protocol. This module does not interpret events.
"""

import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import skillvault
from skillvault.clients.hook_client import ACCEPTED, DONE, ENVIRONMENT, GO, is_private, socket_path

_PATIENCE = 1.0  # seconds for a client to send its request, and to confirm that it still waits
_MAX_REQUEST = 32 * 1024 * 1024  # bytes
_WAITING = 64  # the most connections that wait to be accepted


class HookRequest(NamedTuple):
    """An event to answer. `process` is the id of the hook's process."""

    arguments: list[str]
    payload: bytes
    process: str
    environment: Mapping[str, str]


class HookServer:
    """A server that answers the hooks of one vault, one after the other.

    `answer` returns the text that the hook prints, or None if the hook must do the work itself.
    """

    def __init__(self, root: Path, answer: Callable[[HookRequest], str | None]) -> None:
        self._socket_path = Path(socket_path(str(root)))
        self._answer = answer
        # One thread answers all hooks, so that they share its connections and their caches.
        self._answering = ThreadPoolExecutor(max_workers=1)
        self._last_request = time.monotonic()
        self._program = _program_state()
        self._listener: socket.socket | None = None
        self._inode = 0

    def start(self) -> bool:
        """Listen in a thread. Return False if another process listens or the folder is unusable.

        A folder is unusable if other users may enter it or if its path is too long.
        """
        folder = self._socket_path.parent
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            if not is_private(str(folder)) or _is_answered(self._socket_path):
                listener.close()
                return False
            self._socket_path.unlink(missing_ok=True)
            listener.bind(str(self._socket_path))
            self._socket_path.chmod(0o600)
            listener.listen(_WAITING)
        except OSError:  # hooks then do the work themselves
            listener.close()
            return False
        self._listener = listener
        self._inode = self._socket_path.stat().st_ino
        threading.Thread(target=self._listen, args=(listener,), daemon=True).start()
        return True

    def close(self) -> None:
        """Stop listening."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None
            self._answering.shutdown(wait=False)
            with suppress(FileNotFoundError):
                if self._socket_path.stat().st_ino == self._inode:  # not replaced by a server
                    self._socket_path.unlink()

    @property
    def idle_seconds(self) -> float:
        """The seconds since the last request, or infinity if the program on disk has changed."""
        is_current = self._program == _program_state()
        return time.monotonic() - self._last_request if is_current else float("inf")

    def _listen(self, listener: socket.socket) -> None:
        while self._listener is listener:
            try:
                connection, _ = listener.accept()
            except OSError:  # the listener was closed
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError, ValueError):  # the client left, or broke the protocol
            connection.settimeout(_PATIENCE)
            if _peer_of(connection) not in (None, os.getuid()):
                return
            request = _read_request(connection)
            if request is None or self._program != _program_state():
                return
            connection.sendall(ACCEPTED)
            if connection.recv(1) != GO:
                return
            text = self._answering.submit(self._answer_now, request).result()
            if text is not None:
                connection.sendall(DONE + text.encode(errors="replace"))

    def _answer_now(self, request: HookRequest) -> str | None:
        self._last_request = time.monotonic()
        text = self._answer(request)
        self._last_request = time.monotonic()
        return text


def _read_request(connection: socket.socket) -> HookRequest | None:
    data = b""
    while b"\n" not in data[:64]:
        if not (part := connection.recv(65536)):
            return None
        data += part
    sizes, _, data = data.partition(b"\n")
    head_size, payload_size = map(int, sizes.split())
    if head_size + payload_size > _MAX_REQUEST:
        return None
    while len(data) < head_size + payload_size:
        if not (part := connection.recv(1 << 20)):
            return None
        data += part
    process, *texts = data[:head_size].decode(errors="surrogateescape").split("\0")
    environment = dict(zip(ENVIRONMENT, texts, strict=False))
    return HookRequest(texts[len(ENVIRONMENT) :], data[head_size:], process, environment)


def _peer_of(connection: socket.socket) -> int | None:
    """Return the user id of the client, or None if the system does not know it."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    layout = struct.Struct("3i")
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, layout.size)
    user_id: int = layout.unpack(credentials)[1]
    return user_id


def _is_answered(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_PATIENCE)
        try:
            connection.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        return True


def _program_state() -> tuple[int, int]:
    """Return a value that changes when the program is upgraded."""
    try:
        status = Path(skillvault.__file__).stat()
    except FileNotFoundError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_ino)
