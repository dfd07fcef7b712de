"""The Messages API on loopback, scripted by a test; a real SDK talks to it over a real socket.

A script says what is answered to each request; `claude` answers as a sensible model would.
"""

import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import pytest

Body = dict[str, Any]
_FENCED = re.compile(r"<record>\n(.*?)\n</record>", re.DOTALL)


class Answer(NamedTuple):
    """An answer on the wire: `body` as it is, unless `how` is a fault of the wire."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = {"content-type": "application/json"}
    how: str = "whole"  # or: reset, short, hang, drip, slow


Script = Callable[[Body], Answer]


def message(said: object, stop: str = "end_turn", **usage: int) -> Answer:
    """A message of Claude's; `said` as JSON, or text as it is."""
    text = said if isinstance(said, str) else json.dumps(said)
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [{"type": "thinking", "thinking": "", "signature": ""}]
        + ([{"type": "text", "text": text}] if text else []),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 1000, "output_tokens": 200, **usage},
    }
    return Answer(body=json.dumps(body).encode())


def error(status: int, kind: str, said: str = "no", **headers: str) -> Answer:
    """An error as the API words it."""
    body = {"type": "error", "error": {"type": kind, "message": said}}
    sent = {"content-type": "application/json"}
    sent |= {key.replace("_", "-"): value for key, value in headers.items()}
    return Answer(status, json.dumps(body).encode(), sent)


def asked_for(body: Body) -> str:
    """Return what a request wants, by its schema: `verdict`, `insight`, `opinion` or `text`."""
    wanted = body["output_config"]["format"]["schema"]["required"]
    names = {"suggestion": "opinion", "quality_score": "verdict", "key_insight": "insight"}
    return next((name for key, name in names.items() if key in wanted), "text")


def text_of(turn: Body) -> str:
    """The text of a turn; what is cached of it stands in a part of its own."""
    said: str | list[Body] = turn["content"]
    return said if isinstance(said, str) else "".join(part["text"] for part in said)


def told(body: Body) -> str:
    """All text of a request."""
    turns = "\n".join(map(text_of, body["messages"]))
    return f"{body['system'][0]['text']}\n{turns}"


def record(body: Body) -> Body:
    """The data between the first mark and the first that closes it."""
    found = _FENCED.search(text_of(body["messages"][0]))
    assert found, "no data between the marks"
    data: Body = json.loads(found[1])
    return data


VERDICT: Body = {
    "quality_score": 0.2,
    "strengths": [],
    "weaknesses": ["It chases a move."],
    "missed_factors": [],
}
INSIGHT: Body = {
    "key_insight": "When funding is high, chasing a long leads to a loss in the cascade.",
    "insight_type": "risk",
    "applicability": "domain",
    "better_approach": "Wait until funding is back to normal.",
}


OPINION: Body = {
    "quality_score": 0.3,
    "confidence": 0.4,
    "warnings": ["The grounds are those of earlier losses."],
    "suggestion": "Wait until funding is back to normal.",
    "insight": "Chasing high funding again repeats what lost before.",
}


def claude(body: Body) -> Answer:
    """Answer a request as a sensible model does."""
    what = asked_for(body)
    if what == "verdict":
        return message(VERDICT)
    if what == "insight":
        return message(INSIGHT)
    if what == "opinion":
        return message(OPINION)
    return message(written(record(body)))


def written(data: Body) -> Body:
    """A text in the sections that are asked for."""
    texts = {name: f"- Claude on {name.lower()}: heed the funding." for name in data["sections"]}
    labels = {"tags": ["Payments", "gate way"], "roles": ["builder"], "stages": []}
    return {
        **(labels if "sessions" in data else {}),
        "title": "Chasing high funding",
        "description": "Longs that chase high funding lose. Use before opening a long.",
        "sections": [{"heading": name, "text": text} for name, text in texts.items()],
    }


class Server:
    """The requests that came, and the answers to come; `script` may be changed at any time."""

    def __init__(self, script: Script, url: str = "") -> None:
        self.script = script
        self.url = url
        self.requests: list[Body] = []
        self.batches: dict[str, list[Body]] = {}
        self.ended = False  # whether batches have
        self.begins: Answer | None = None  # what is answered to one that is sent, if not its id
        self.lock = threading.Lock()

    @property
    def texts(self) -> str:
        """All that was ever sent."""
        return "\n".join(json.dumps(body, ensure_ascii=False) for body in self.requests)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: Server

    def do_POST(self) -> None:
        body: Body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.served.lock:
            if self.path.endswith("/batches"):
                answer = self._begun(body["requests"])
            else:
                self.served.requests.append(body)
                answer = self.served.script(body)
        self._try(answer)

    def do_GET(self) -> None:
        name = self.path.split("/")[4]
        with self.served.lock:
            if self.path.endswith("/results"):
                self._try(self._results(self.served.batches[name]))
            else:
                self._try(self._state(name))

    def _begun(self, requests: list[Body]) -> Answer:
        name = f"msgbatch_{len(self.served.batches) + 1}"
        self.served.batches[name] = requests
        return self.served.begins or self._state(name)

    def _state(self, name: str) -> Answer:
        """A batch, with the keys that the API gives it."""
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        body = {
            "id": name,
            "type": "message_batch",
            "processing_status": "ended" if self.served.ended else "in_progress",
            "request_counts": counts,
            "created_at": "2026-11-20T12:00:00Z",
            "expires_at": "2026-11-21T12:00:00Z",
            "results_url": f"{self.served.url}/v1/messages/batches/{name}/results",
        }
        return Answer(body=json.dumps(body).encode())

    def _results(self, requests: list[Body]) -> Answer:
        """One line a request, in another order than they were sent."""
        lines: list[Body] = []
        for request in reversed(requests):
            answer = self.served.script(request["params"])
            said = json.loads(answer.body)
            found = {"type": "succeeded", "message": said}
            result = found if answer.status == 200 else {"type": "errored", "error": said}
            lines.append({"custom_id": request["custom_id"], "result": result})
        body = "".join(json.dumps(line) + "\n" for line in lines)
        return Answer(200, body.encode(), {"content-type": "application/x-jsonl"})

    def _try(self, answer: Answer) -> None:
        try:
            self._answer(answer)
        except OSError:
            self.close_connection = True  # the client has hung up, as it should

    def _answer(self, answer: Answer) -> None:
        if answer.how == "reset":
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.shutdown(socket.SHUT_RD)
            self.close_connection = True
            return
        if answer.how == "hang":
            self._wait(60)
            return
        if answer.how == "slow":
            self._wait(0.05)
        self.send_response(answer.status)
        for key, value in answer.headers.items():
            self.send_header(key, value)
        more = 40 if answer.how == "short" else 0
        self.send_header("content-length", str(len(answer.body) + more))
        self.end_headers()
        if answer.how == "drip":
            for byte in answer.body:
                self.wfile.write(bytes([byte]))
                self._wait(0.05)
            return
        self.wfile.write(answer.body)
        self.close_connection = answer.how == "short"

    def _wait(self, seconds: float) -> None:
        """Wait, but not beyond the end of the test."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not _stopped.is_set():
            time.sleep(0.01)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name there)
        """Say nothing."""


_stopped = threading.Event()


@contextmanager
def serving(script: Script = claude) -> Iterator[Server]:
    """A server on a port of loopback."""
    _stopped.clear()
    served = Server(script)
    handler = type("Handler", (_Handler,), {"served": served})
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    http.daemon_threads = True
    served.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield served
    finally:
        _stopped.set()
        http.shutdown()
        thread.join()
        http.server_close()


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """The API that the environment leads to."""
    with serving() as served:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", served.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
        yield served
