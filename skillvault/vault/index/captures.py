"""When evidence for rules was last looked for, and what was seen then. Disposable, as all here."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from skillvault.vault.index.reader import Topic

_KEPT = "select name, value from state where name = 'capture'"


class LookedFor(Struct, frozen=True):
    """What stood where when evidence was looked for: blobs by path, versions of code by place.

    `tail` betrays what stood in the work tree behind the committed rules; `settings` is what the
    policy said; `at` a unix time.
    """

    at: float
    blobs: Mapping[str, str | None]
    tail: str
    code: Mapping[str, str]
    settings: str


_DECODER = msgspec.msgpack.Decoder(LookedFor)


class Captures(Topic):
    """The last look for evidence."""

    @property
    def last(self) -> LookedFor | None:
        """The last one; None if none is known of."""
        return self._reader.source.kept(_KEPT, _DECODER.decode).get("capture")

    def note(self, looked_for: LookedFor) -> None:
        """Note what was seen."""
        value = msgspec.msgpack.encode(looked_for)
        self._reader.change_rows("insert or replace into state values ('capture', ?)", [value])
