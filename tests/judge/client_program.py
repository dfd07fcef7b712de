"""A client in headless mode as a test scripts it: it asks the API of the test for each question.

Run as `claude` or `codex`, it prints what the real one prints of the replies and of the faults. It
needs nothing but the standard library.
"""

import http.client
import json
import os
import re
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

QUESTION = re.compile(
    r"(?ms)^# (q\d+): follow instructions (\w)\n(<record>.*?</record>)$",
)
LIST = re.compile(r"(?ms)^# ((?:facts|sections|calibration) \d+)\n<record>\n(.*?)\n</record>$")
INSTRUCTIONS = re.compile(r"(?ms)^# Instructions (\w)\n(.*?)(?=^# Instructions \w$|\Z)")
Request = dict[str, Any]
OVERHEAD = {"claude": 500, "codex": 1400}  # tokens beside the questions, as was measured


def usage_of(program: str, sent: str, answers: object) -> dict[str, int]:
    """The tokens of a call, at four characters each."""
    read = OVERHEAD[program] + len(sent) // 4
    return {"input_tokens": read, "output_tokens": len(json.dumps(answers)) // 4}


def questions_of(system: str, user: str, schema: Request) -> dict[str, Request]:
    """The questions of a prompt as requests to the API, by name."""
    texts = dict(INSTRUCTIONS.findall(system))
    lists = {f"see {name}": json.loads(text) for name, text in LIST.findall(user)}
    found = {}
    for name, letter, record in QUESTION.findall(user):
        data = json.loads(record.removeprefix("<record>\n").removesuffix("\n</record>"))
        for key, value in data.items():
            if isinstance(value, str) and value in lists:
                data[key] = lists[value]
        framed = f"<record>\n{json.dumps(data)}\n</record>"
        found[name] = {
            "system": [{"type": "text", "text": texts[letter]}],
            "messages": [{"role": "user", "content": framed}],
            "output_config": {"format": {"schema": schema["$defs"][letter]}},
        }
    return found


def ask(request: Request) -> tuple[int | None, bytes]:
    """The status and the body of an answer; no status if the wire fails."""
    place = urlsplit(os.environ["ANTHROPIC_BASE_URL"])
    connection = http.client.HTTPConnection(place.hostname or "", place.port)
    try:
        connection.request("POST", "/v1/messages", json.dumps(request))
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return None, b""


def replies(asked: dict[str, Request]) -> tuple[dict[str, object], int | None, str]:
    """The answers by name, the status of the first fault, and its words; "" without one."""
    answers: dict[str, object] = {}
    for name, request in asked.items():
        status, body = ask(request)
        try:
            message = json.loads(body)
            if status != 200:
                return {}, status, message["error"]["message"]
            text = "".join(part.get("text", "") for part in message["content"])
        except (ValueError, KeyError, TypeError):
            return {}, status if status != 200 else None, "API Error: cannot be read"
        try:
            answers[name] = json.loads(text)
        except (ValueError, RecursionError):
            return {}, 200, text[:100]
    return answers, 200, ""


def claude(words: list[str]) -> None:
    """Print what `claude -p` prints."""
    options = dict(pairwise(words))
    parts = (options["--system-prompt"], sys.stdin.read(), options["--json-schema"])
    answers, status, fault = replies(questions_of(parts[0], parts[1], json.loads(parts[2])))
    usage = usage_of("claude", "".join(parts), answers)
    said = {"type": "result", "subtype": "success", "is_error": status != 200, "usage": usage}
    said |= {"result": fault or "Done.", "api_error_status": None if status == 200 else status}
    said |= {"terminal_reason": "completed" if status == 200 else "api_error"}
    if status == 200 and not fault:
        said["structured_output"] = answers
    print(json.dumps(said))
    sys.exit(status != 200)


def codex(words: list[str]) -> None:
    """Print what `codex exec --json` prints."""
    options = dict(pairwise(words))
    place = Path(options["--output-schema"])
    parts = (place.with_name("system.md").read_text(), sys.stdin.read(), place.read_text())
    answers, status, fault = replies(questions_of(parts[0], parts[1], json.loads(parts[2])))
    print(json.dumps({"type": "thread.started"}))
    if status != 200:
        print(json.dumps({"type": "error", "message": f"{status}: {fault}"}))
        print(json.dumps({"type": "turn.failed", "error": {"message": f"{status}: {fault}"}}))
        sys.exit(1)
    item = {"type": "agent_message", "text": fault or json.dumps(answers)}
    print(json.dumps({"type": "item.completed", "item": item}))
    print(
        json.dumps({"type": "turn.completed", "usage": usage_of("codex", "".join(parts), answers)})
    )


def main() -> None:
    """Do what the command line says, and what the test wants done instead."""
    name, words = Path(sys.argv[0]).name, sys.argv[1:]
    if words[:1] in (["auth"], ["login"]):
        sys.exit("FAKE_LOGGED_OUT" in os.environ)
    if "FAKE_OUTPUT" in os.environ:
        sys.stdout.write(os.environ["FAKE_OUTPUT"])
        sys.exit(1)
    if size := int(os.environ.get("FAKE_SIZE", "0")):
        sys.stdout.write("x" * size)
        sys.stdout.flush()
    time.sleep(float(os.environ.get("FAKE_SECONDS", "0")))
    {"claude": claude, "codex": codex}[name](words)


if __name__ == "__main__":
    main()
