"""The part of a page that an export manages, between two marks. Pure.

Nothing outside of the marks is changed.
"""

from skillvault.model.errors import BadInputError
from skillvault.model.text import front_matter

BEGIN, END = "<!-- skillvault:begin -->", "<!-- skillvault:end -->"
SKILL = "<!-- skillvault:skill {} -->"  # the line before the text of a skill


def split_marks(text: str) -> tuple[str, str, str]:
    """Split a text into the part before the marks, the marked part, and the part after."""
    begin_count, end_count = text.count(BEGIN), text.count(END)
    if (begin_count, end_count) == (0, 0):
        return text, "", ""
    start, end = text.find(BEGIN), text.find(END)
    if (begin_count, end_count) != (1, 1) or end < start:
        message = f"the marks {BEGIN} and {END} must stand once each, in this order; mend them"
        raise BadInputError(message, code="marks")
    return text[:start], text[start : end + len(END)], text[end + len(END) :]


def read_part(content: bytes) -> bytes | None:
    """Return the marks and the text between them; None without marks."""
    return split_marks(front_matter.text_of(content))[1].encode() or None


def replace_part(old_content: bytes | None, part: bytes | None) -> bytes | None:
    """Replace the part between the marks; append it if the file has no marks."""
    text = "" if old_content is None else front_matter.text_of(old_content)
    bom = "\ufeff" if old_content and old_content.startswith(b"\xef\xbb\xbf") else ""
    head, block, tail = split_marks(text)
    if part is None:
        remaining_text = (head.rstrip("\n") + "\n" if head.strip() else "") + tail.lstrip("\n")
        return (bom + remaining_text).encode() if remaining_text.strip() else None
    if not block:
        head = f"{head.rstrip()}\n\n" if head.strip() else ""
        tail = "\n"
    return (bom + head + part.decode() + tail).encode()
