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
from collections.abc import Callable
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


def claude(words: list[str]) -> tuple[str, bool]:
    """Return the output of `claude -p`, and whether it fails."""
    options = dict(pairwise(words))
    parts = (options["--system-prompt"], sys.stdin.read(), options["--json-schema"])
    answers, status, fault = replies(questions_of(parts[0], parts[1], json.loads(parts[2])))
    usage = usage_of("claude", "".join(parts), answers)
    said = {"type": "result", "subtype": "success", "is_error": status != 200, "usage": usage}
    said |= {"result": fault or "Done.", "api_error_status": None if status == 200 else status}
    said |= {"terminal_reason": "completed" if status == 200 else "api_error"}
    if status == 200 and not fault:
        said["structured_output"] = answers
    return json.dumps(said), status != 200


def codex(words: list[str]) -> tuple[str, bool]:
    """Return the output of `codex exec --json`, and whether it fails."""
    options = dict(pairwise(words))
    place = Path(options["--output-schema"])
    parts = (place.with_name("system.md").read_text(), sys.stdin.read(), place.read_text())
    answers, status, fault = replies(questions_of(parts[0], parts[1], json.loads(parts[2])))
    events: list[object] = [{"type": "thread.started"}]
    if status != 200:
        events.append({"type": "error", "message": f"{status}: {fault}"})
        events.append({"type": "turn.failed", "error": {"message": f"{status}: {fault}"}})
    else:
        item = {"type": "agent_message", "text": fault or json.dumps(answers)}
        events.append({"type": "item.completed", "item": item})
        usage = usage_of("codex", "".join(parts), answers)
        events.append({"type": "turn.completed", "usage": usage})
    return "\n".join(map(json.dumps, events)), status != 200


def change_answers(output: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> str:
    """An output of either client with other answers."""
    lines = [json.loads(line) for line in output.splitlines()]
    for line in lines:
        if "structured_output" in line:
            line["structured_output"] = change(line["structured_output"])
        elif "text" in line.get("item", {}):
            line["item"]["text"] = json.dumps(change(json.loads(line["item"]["text"])))
    return "\n".join(map(json.dumps, lines))


def refusal_of(output: str) -> str:
    """An output of either client that is words in the place of the answers."""
    lines = [json.loads(line) for line in output.splitlines()]
    for line in lines:
        line.pop("structured_output", None)
        if "item" in line:
            line["item"]["text"] = "I cannot help with that."
    return "\n".join(map(json.dumps, lines))


def say(output: str | bytes, code: int = 0, error: str = "") -> None:
    """Print, and end with a code."""
    sys.stdout.buffer.write(output.encode() if isinstance(output, str) else output)
    sys.stdout.flush()
    sys.stderr.write(error)
    sys.exit(code)


def speak_after_the_kill(output: str) -> None:
    """Hang; a child that survives the kill prints something later."""
    if os.fork():
        time.sleep(60)
    os.setsid()
    time.sleep(1.5)
    say(output.replace("0.2", "0.9"))


def error_of(output: str, status: int | None, words: str) -> str:
    """Return the output of either client in the place of an answer."""
    if "structured_output" in output:
        said = {"subtype": "success", "is_error": True, "api_error_status": status}
        return json.dumps({"type": "result", **said, "result": words})
    return json.dumps({"type": "turn.failed", "error": {"message": words}})


LIMIT = "You've hit your 5-hour limit · resets in 2 hours 5 minutes"
# What a client does with a good output of its own.
HARMS: dict[str, Callable[[str], None]] = {
    "refuses": lambda out: say(refusal_of(out)),
    "rubbish": lambda out: say(f"\0{out[::-1]}"),
    "long": lambda out: say(f"{'x' * 3_000_000}{out}"),
    "hangs": lambda _: time.sleep(60),
    "upgraded": lambda _: say("", 1, "error: unknown option '--safe-mode'"),
    "limit": lambda out: say(error_of(out, 429, LIMIT), 1),
    "is-error": lambda out: say(error_of(out, 500, "API Error: 500"), 1),
    "empty": lambda out: say(change_answers(out, lambda _: {})),
    "partial": lambda out: say(out[: len(out) // 2]),
    "error-with-code-0": lambda out: say(error_of(out, None, "API Error: overloaded"), 0),
    "good-with-code-1": lambda out: say(out, 1),
    "after-the-kill": speak_after_the_kill,
    "not-utf-8": lambda out: say(out.encode().replace(b"a", b"\xff")),
    "huge-stderr": lambda out: say(out, 0, "warning\n" * 400_000),
    "wrong-ids": lambda out: say(
        change_answers(out, lambda all_: {f"x{name}": one for name, one in all_.items()})
    ),
    "of-another": lambda out: say(
        change_answers(out, lambda all_: dict(zip(all_, [*all_.values()][::-1], strict=True)))
    ),
}


def main() -> None:
    """Do what the command line says, and what the test wants done instead."""
    name, words = Path(sys.argv[0]).name, sys.argv[1:]
    harm = os.environ.get("FAKE_FAULT")
    if words[:1] in (["auth"], ["login"]):
        sys.exit(harm == "logged-out")
    output, fails = {"claude": claude, "codex": codex}[name](words)
    if harm in HARMS:
        HARMS[harm](output)
    say(output, fails)


if __name__ == "__main__":
    main()
