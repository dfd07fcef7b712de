"""A model on loopback that says what a test wants said: the real Claude Code and Codex ask it."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Block = dict[str, Any]


def words(text: str) -> Block:
    """Something that the model says."""
    return {"type": "text", "text": text}


def tool(name: str, **arguments: Any) -> Block:
    """A tool that the model calls."""
    return {"type": "tool_use", "name": name, "input": arguments}


class ScriptedModel:
    """`turns` are said one after the other; then it says that it is done. `requests` is what came.

    A request for no tools, such as for a title, gets a word and uses up no turn. The agent that is
    given a task of `subagents` says the turns of that task.
    """

    def __init__(self, turns: Sequence[Sequence[Block]]) -> None:
        self.turns = [list(turn) for turn in turns]
        self.subagents: dict[str, list[list[Block]]] = {}
        self.requests: list[dict[str, Any]] = []
        self.url = ""
        self._turn = threading.Lock()

    def reply_to(self, request: dict[str, Any]) -> list[Block]:
        """Return the model's reply to a request."""
        with self._turn:
            if not request.get("tools"):
                return [words("ok")]
            self.requests.append(request)
            first = json.dumps(request.get("messages", [])[:1], ensure_ascii=False)
            tasks = [task for task in self.subagents if json.dumps(task)[1:-1] in first]
            turns = self.subagents[tasks[0]] if tasks else self.turns
            return turns.pop(0) if turns else [words("Done.")]

    def texts(self) -> list[str]:
        """Each request as the text that the model sees: system and messages."""
        return [
            json.dumps(
                [r.get("system", r.get("instructions")), r.get("messages", r.get("input"))],
                ensure_ascii=False,
            )
            for r in self.requests
        ]


@contextmanager
def serving_model(
    *turns: Sequence[Block], kind: type[ScriptedModel] = ScriptedModel
) -> Iterator[ScriptedModel]:
    """The model, as long as a test asks it."""
    model = kind(turns)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            request = json.loads(self.rfile.read(length) or b"{}")
            if "count_tokens" in self.path:
                self._send("application/json", json.dumps({"input_tokens": 100}).encode())
            elif self.path.startswith("/v1/messages"):
                blocks = model.reply_to(request)
                self._send("text/event-stream", b"".join(_stream(blocks, request.get("model", ""))))
            elif self.path.startswith("/v1/responses"):
                self._send("text/event-stream", b"".join(_response(model.reply_to(request))))
            else:
                self._send("application/json", b"{}")

        def do_GET(self) -> None:
            self._send("application/json", b"{}")

        def do_HEAD(self) -> None:
            self._send("application/json", b"")

        def _send(self, kind: str, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: object) -> None:
            """Nothing: the tests look at what arrives."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    model.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _stream(blocks: Sequence[Block], model: str) -> Iterator[bytes]:
    """A reply as events, as the API sends it."""
    usage = {"input_tokens": 10, "output_tokens": 10}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []}
    yield _event("message_start", message={**message, "stop_reason": None, "usage": usage})
    for place, block in enumerate(blocks):
        if block["type"] == "text":
            opened, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            opened = {**block, "id": f"toolu_{id(block):x}", "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield _event("content_block_start", index=place, content_block=opened)
        yield _event("content_block_delta", index=place, delta=delta)
        yield _event("content_block_stop", index=place)
    calls = any(block["type"] == "tool_use" for block in blocks)
    reason = "tool_use" if calls else "end_turn"
    yield _event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage=usage)
    yield _event("message_stop")


def _response(blocks: Sequence[Block]) -> Iterator[bytes]:
    """A reply as events, as the API that Codex asks sends it."""
    yield _event("response.created", response={"id": "resp_1"})
    for place, block in enumerate(blocks):
        item: Block = {"id": f"item_{id(block):x}"}
        if block["type"] == "text":
            content = [{"type": "output_text", "text": block["text"]}]
            item |= {"type": "message", "role": "assistant", "content": content}
        else:
            call = {"call_id": f"call_{id(block):x}", "arguments": json.dumps(block["input"])}
            item |= {"type": "function_call", "name": block["name"], **call}
        yield _event("response.output_item.done", output_index=place, item=item)
    usage = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
    yield _event("response.completed", response={"id": "resp_1", "usage": usage})


def _event(kind: str, **values: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **values})}\n\n".encode()
