"""The mark of a skill that hosts must not load: `metadata.internal: true`, an unquoted boolean.

A host that walks the whole tree, such as `npx skills`, leaves such files out. The mark belongs to
a shelf: what stands in proposed/ or archive/ has it. Bytes in, bytes out.
"""

from skillvault.model.errors import BadInputError, EditedError
from skillvault.model.text import front_matter

KEY = ("metadata", "internal")


def is_marked(content: bytes) -> bool:
    """Whether a skill's file has the mark; False for what cannot be read."""
    try:
        meta, _ = front_matter.read(front_matter.text_of(content))
    except BadInputError:
        return False
    metadata = meta.get("metadata")
    return isinstance(metadata, dict) and metadata.get("internal") is True


def marked(path: str, content: bytes) -> bytes:
    """A skill's file with the mark; EditedError if other text would change."""
    if is_marked(content):
        return content
    try:
        front_matter.text_of(content)
        return front_matter.with_key(content, KEY, value=True)
    except BadInputError as error:
        raise EditedError(f"{path}: {error}") from None


def unmarked(path: str, content: bytes) -> bytes:
    """A skill's file that has the mark without it; EditedError if other text would change."""
    try:
        return front_matter.without_key(content, KEY)
    except BadInputError as error:
        raise EditedError(f"{path}: {error}") from None
