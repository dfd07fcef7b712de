"""Readers of a finished page: its elements, and the data in it."""

import gzip
import json
from base64 import b64decode
from html.parser import HTMLParser
from typing import Any


class Elements(HTMLParser):
    """The elements of a document with their attributes, and its text."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._within: list[str] = []
        self.data: dict[str, dict[str, Any]] = {"skill": {}, "fact": {}, "outcome": {}}
        self._kind: str | None = None
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._within.append(tag)
        self._kind = dict(attrs).get("data-kind") if tag == "script" else None

    def handle_endtag(self, tag: str) -> None:
        self._within.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        within = self._within[-1] if self._within else ""
        if self._kind and within == "script":
            self.data[self._kind] |= json.loads(gzip.decompress(b64decode(data)))
        elif within not in ("script", "style"):
            self.text.append(data)

    @property
    def words(self) -> str:
        """All that is read on it, blanks folded."""
        return " ".join("".join(self.text).split())
