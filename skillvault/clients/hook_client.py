#!/usr/bin/env python3
"""Run a hook, as the command `skillvault-hook`: ask the hook server, or run `skillvault hook`.

`python -ISE` runs this file in 10 ms, the whole program takes 150, so this file imports nothing of
the package. The client sends a request to a Unix socket, gets `A` (accepted), sends `G` (go), gets
`D` (done) and the answer. Without `A` in time it sends no `G`, and the server drops the request.
"""

import _socket
import os
import sys
from select import select

_ACCEPT_TIMEOUT = 0.05  # seconds
_SLACK = 0.5  # seconds; the program gives up first
_PAUSE = 0.5  # seconds without input after which a payload that looks whole is whole
_MAX_INPUT = 16 * 1024 * 1024  # the most bytes of a payload
# The variables that show whether a user attends.
ENVIRONMENT = ("CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_ENTRYPOINT")
# Set in a client that is asked as the judge, because its events are not a user's.
ASKING = "SKILLVAULT_ASKING"
MAKE_VAULT = "--make-vault"  # create the user's own vault if there is no vault
ACCEPTED, GO, DONE = b"A", b"G", b"D"


def longest_wait() -> float:
    """Return the longest time in seconds that a user waits for a hook."""
    seconds = os.environ.get("SKILLVAULT_HOOK_SECONDS", "")
    return float(seconds) if seconds.isdecimal() else 4.0


def find_vault() -> str:
    """Return the vault of this process, or "".

    The environment variable comes first, then the nearest vault at or above the current folder,
    then the user's own vault.
    """
    if named_vault := os.environ.get("SKILLVAULT_VAULT"):
        return named_vault
    parts = current_folder().split("/")
    parents = ["/".join(parts[:length]) for length in range(len(parts), 0, -1)]
    folders = [*parents, own_vault_path()]
    return next((folder for folder in folders if os.access(f"{folder}/vault.yaml", os.F_OK)), "")


def current_folder() -> str:
    """Return the current folder, or the root if that folder is gone."""
    try:
        return os.getcwd()  # noqa: PTH109 (importing `pathlib` doubles the time)
    except FileNotFoundError:
        return "/"


def own_vault_path() -> str:
    """Return the path of the user's own vault, which the plugin creates."""
    data_home = os.environ.get("XDG_DATA_HOME") or f"{os.environ.get('HOME', '')}/.local/share"
    return f"{data_home}/skillvault/vault"


def link_calls(vault: str, client: str) -> None:
    """Link to the folder of a vault in which a client's hooks record tool calls.

    Without a vault, an earlier link is removed.
    """
    state_home = os.environ.get("XDG_STATE_HOME") or f"{os.environ.get('HOME', '')}/.local/state"
    link = f"{state_home}/skillvault/calls/{client}"
    try:
        os.makedirs(os.path.dirname(link), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
        if os.path.lexists(link):
            os.unlink(link)  # noqa: PTH108
        if vault:
            target = os.path.realpath(f"{vault}/.git/skillvault/sessions/calls")
            os.symlink(target, link)  # noqa: PTH211
    except OSError:  # without the folder, these hooks ask the server
        return


def socket_path(vault: str) -> str:
    """Return the path of the socket for a vault, which is a short path in a private folder."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    temporary = os.environ.get("TMPDIR", "/tmp")  # noqa: S108 (the folder in it is checked)
    folder = f"{runtime}/skillvault" if runtime else f"{temporary}/skillvault-{os.getuid()}"
    key = 0xCBF29CE484222325  # FNV-1a, because `hashlib` takes longer to load than all of this
    for byte in os.fsencode(os.path.realpath(vault)):
        key = (key ^ byte) * 0x100000001B3 % (1 << 64)
    return f"{folder}/{key:016x}"


def is_private(folder: str) -> bool:
    """Return True for a folder that only this user may enter."""
    status = os.lstat(folder)
    return status.st_uid == os.getuid() and status.st_mode & 0o170077 == 0o040000


def request_of(arguments: list[str], payload: bytes) -> bytes:
    """Build a request: the lengths of the head and the payload, then both texts."""
    values = [os.environ.get(name, "") for name in ENVIRONMENT]
    head = "\0".join([str(os.getpid()), *values, *arguments]).encode(errors="surrogateescape")
    return b"%d %d\n" % (len(head), len(payload)) + head + payload


def ask(arguments: list[str], payload: bytes) -> bytes | None:
    """Return the answer of the hook server, or None if no server answers in time."""
    if "--vault" not in arguments[:-1]:
        return None
    path = socket_path(arguments[arguments.index("--vault") + 1])
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        if not is_private(os.path.dirname(path)):  # noqa: PTH120 (importing `pathlib` doubles the time)
            return None
        connection.settimeout(_ACCEPT_TIMEOUT)
        connection.connect(path)
        connection.sendall(request_of(arguments, payload))
        if connection.recv(1) != ACCEPTED:
            return None
        connection.settimeout(longest_wait() + _SLACK)
        connection.sendall(GO)
        try:
            answer = b""
            while part := connection.recv(65536):
                answer += part
        except TimeoutError:  # the server has the event; do not wait any longer
            return b""
    except OSError:  # no server listens, or it does not answer in time
        return None
    finally:
        connection.close()
    return answer[1:] if answer[:1] == DONE else None


def read_payload() -> bytes:
    """Read the payload that the client wrote for the hook. The client may leave the pipe open."""
    payload = b""
    while len(payload) < _MAX_INPUT:
        is_ready = select([0], [], [], _PAUSE if b"}" in payload[-2:] else longest_wait())[0]
        part = os.read(0, 65536) if is_ready else b""
        if not part:
            break
        payload += part
    return payload


def run_program(arguments: list[str], payload: bytes) -> None:
    """Replace this process with the program, which reads the payload. The process id stays."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.close(reader)
        while payload:
            payload = payload[os.write(writer, payload) :]
        os._exit(0)
    os.close(writer)
    os.dup2(reader, 0)
    program = [sys.executable, "-m", "skillvault", "hook", "--background", *arguments]
    os.execv(program[0], program)  # noqa: S606 (no shell is wanted)


def main() -> None:
    """Answer the event that the command line names."""
    if ASKING in os.environ:
        return
    arguments, payload = sys.argv[1:], read_payload()
    if "--vault" not in arguments:
        vault = find_vault()
        if client := os.environ.get("SKILLVAULT_CLIENT"):
            link_calls(vault if arguments[:1] != ["SessionEnd"] else "", client)
        if vault:
            arguments = [*(word for word in arguments if word != MAKE_VAULT), "--vault", vault]
        elif MAKE_VAULT not in arguments:
            return
    answer = ask(arguments, payload)
    if answer is None:
        run_program(arguments, payload)
        return
    while answer:
        answer = answer[os.write(1, answer) :]


if __name__ == "__main__":
    main()
