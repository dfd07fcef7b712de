"""What happens in a transcript, whichever client wrote it, and what holds for all of it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct


class Prompt(Struct, frozen=True):
    """What a person asked."""

    at: datetime | None
    text: str
    id: str | None = None


class Interruption(Struct, frozen=True):
    """The person stopped the agent."""

    at: datetime | None


class Remark(Struct, frozen=True):
    """What the agent said."""

    at: datetime | None
    text: str


class ToolCall(Struct, frozen=True):
    """What the agent did by a tool; `aside`: a subagent did."""

    at: datetime | None
    id: str
    tool: str
    arguments: Mapping[str, Any]
    aside: bool = False


class ToolResult(Struct, frozen=True):
    """What came of the call of this id; `exit_code` is a command's, where it is told.

    `prompt` is what the call was made for, where that is told. `running`: it has not ended, and its
    end is told under this name. `refused`: the person did not allow it, and nothing ran.
    """

    at: datetime | None
    id: str
    text: str
    is_error: bool
    exit_code: int | None = None
    aside: bool = False
    prompt: str | None = None
    running: str | None = None
    refused: bool = False


Event = Prompt | Interruption | Remark | ToolCall | ToolResult


class Header(Struct):
    """What is known of a transcript by the lines read so far; the latest word counts."""

    session: str | None = None
    cwd: str | None = None
    model: str | None = None
    branch: str | None = None
    ended_at: datetime | None = None

    def note(self, **values: object) -> None:
        """Take in what a line says, where it says anything."""
        for name, value in values.items():
            if isinstance(value, str) and value:
                setattr(self, name, value)
