"""An export of skills, as values: what goes out, the files that it becomes, what of each is ours.

No I/O here: a format writes exports, a folder is brought in step with one elsewhere.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from msgspec import Struct

from skillvault.model.records import ExternalUse

Units = Mapping[str, Mapping[str, bytes]]  # folder below the target -> path in it -> bytes


class OutgoingSkill(Struct, frozen=True):
    """A live skill as it leaves a vault: its files as they stand there, what its use showed."""

    name: str
    description: str
    files: Mapping[str, bytes]
    uses: ExternalUse | None = None


class OmittedSkill(Struct, frozen=True):
    """A live skill that is not exported, and why."""

    skill: str
    reason: str


class ExportedPart(NamedTuple):
    """What of a file is an export's; the rest is a person's, or another program's.

    `read` gives it (None: there is none), `put` the file with another one in place, or None for a
    file that has to go. Both are told the file's path in its folder.
    """

    read: Callable[[str, bytes], bytes | None]
    put: Callable[[str, bytes | None, bytes | None], bytes | None]


WHOLE = ExportedPart(lambda _path, content: content, lambda _path, _before, part: part)


class Export(Struct, frozen=True):
    """The files of an export, and the skills that are in it, best first.

    What stands in one folder of `units` is written together or not at all. `cut` is to how many
    characters descriptions were cut, None if all are whole.
    """

    units: Units
    skills: tuple[str, ...] = ()
    left_out: tuple[OmittedSkill, ...] = ()
    own: ExportedPart = WHOLE
    cut: int | None = None
