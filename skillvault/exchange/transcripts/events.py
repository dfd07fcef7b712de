"""The events of a transcript and its header, which are the same for every client."""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct


class Prompt(Struct, frozen=True):
    """A request of the user.

    `id` is the client's id of the prompt, which hooks get; a copy of the prompt may have another
    id. `message` is the same in each copy. `attended` is True if a person typed it in an attended
    session, or None if the client does not say. `pasted_parts` are the parts that the client marks
    as pasted. A prompt that `is_midway` was typed during the work on the previous prompt.
    """

    at: datetime | None
    text: str
    id: str | None = None
    message: str = ""
    attended: bool | None = None
    pasted_parts: tuple[str, ...] = ()
    is_midway: bool = False

    @property
    def typed_text(self) -> str:
        """The text without its pasted parts."""
        text = self.text
        for part in self.pasted_parts:
            text = text.replace(part, "", 1)
        return text.strip()


class Interruption(Struct, frozen=True):
    """The user stopped the agent."""

    at: datetime | None


class Remark(Struct, frozen=True):
    """A message of the agent."""

    at: datetime | None
    text: str


class ToolCall(Struct, frozen=True):
    """A call of a tool by the agent or a subagent."""

    at: datetime | None
    id: str
    tool: str
    arguments: Mapping[str, Any]
    by_subagent: bool = False


class ToolResult(Struct, frozen=True):
    """The result of the call with this id. `exit_code` is set for a command, if known.

    `prompt` is the id of the call's prompt, if known. A command that still runs ends in a later
    result with the id `running_name`. If it `is_refused`, the user did not allow the call.
    """

    at: datetime | None
    id: str
    text: str
    is_error: bool
    exit_code: int | None = None
    by_subagent: bool = False
    prompt: str | None = None
    running_name: str | None = None
    is_refused: bool = False


Event = Prompt | Interruption | Remark | ToolCall | ToolResult


class Header(Struct):
    """The metadata of a transcript, with the latest values in the lines read so far.

    `attended` is True if a person is at the client, False for a script, and None if the client does
    not say. `parent` is the session that started this session as a helper.
    """

    session: str | None = None
    parent: str | None = None
    attended: bool | None = None
    cwd: str | None = None
    model: str | None = None
    branch: str | None = None
    version: str | None = None
    ended_at: datetime | None = None

    def note(self, **values: object) -> None:
        """Store the values that are not empty."""
        for name, value in values.items():
            if isinstance(value, str) and value:
                setattr(self, name, value)


def message_id(text: str, position: str | int) -> str:
    """Return an id for a prompt that has none, from its text and its time or position."""
    digest = hashlib.sha256(f"{position}\n{text}".encode(errors="replace")).hexdigest()
    return f"prompt-{digest[:24]}"
