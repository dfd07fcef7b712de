"""Transcripts that agents' clients write, read as events; no vault, no clock, nothing is written.

A reader is lenient: formats move, so a line that it does not understand is counted and named.
"""

from skillvault.exchange.transcripts.events import (
    Event,
    Interruption,
    Prompt,
    Remark,
    ToolCall,
    ToolResult,
)
from skillvault.exchange.transcripts.extract import session_of
from skillvault.exchange.transcripts.reader import Transcript, client_of

__all__ = [
    "Event",
    "Interruption",
    "Prompt",
    "Remark",
    "ToolCall",
    "ToolResult",
    "Transcript",
    "client_of",
    "session_of",
]
