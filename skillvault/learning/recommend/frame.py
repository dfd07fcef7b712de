"""The frame around a skill's text in a prompt, which the text itself cannot leave.

What imitates a tag of the frame comes out as plain text; nothing else of it changes.
"""

import re
from html import escape
from typing import Any

_TAGS = "skills|skill|instruction"
# White space and controls hide a tag from a reader no more than from a model.
_TAG = re.compile(rf"<(?=[\s\x00-\x1f/]*(?:{_TAGS})(?![\w-]))", re.IGNORECASE)


def inert(body: str) -> str:
    """A body, stripped, whose tags of the frame are none any more."""
    return _TAG.sub("&lt;", body).strip()


def element(tag: str, text: str, **attributes: Any) -> str:
    """`<tag key="value">`, the text and the end tag, each on lines of their own."""
    said = "".join(f' {key}="{_attribute(str(value))}"' for key, value in attributes.items())
    return f"<{tag}{said}>\n{text}\n</{tag}>"


def _attribute(value: str) -> str:
    return escape(" ".join(value.split()))
