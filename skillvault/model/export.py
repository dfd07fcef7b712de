"""The values of an export: its skills, its files, and the part of a file that it owns."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from msgspec import Struct

from skillvault.model.records import ExternalUse

Units = Mapping[str, Mapping[str, bytes]]  # folder below the target -> path in it -> bytes


class OutgoingSkill(Struct, frozen=True):
    """An unarchived skill that is exported, with its files and uses."""

    name: str
    description: str
    files: Mapping[str, bytes]
    uses: ExternalUse | None = None


class OutgoingRule(Struct, frozen=True):
    """A rule or fact that a person stated and that is exported. `id` is its id in the vault."""

    id: str
    text: str


class OmittedSkill(Struct, frozen=True):
    """A skill, or a rule by its id, that is not exported, and the reason."""

    skill: str
    reason: str


class ExportedPart(NamedTuple):
    """The part of a file that an export owns. The rest belongs to a person or another program.

    `read` returns the owned part, or None. `put` returns the file with a new part, or None if the
    file is to be deleted. Both take the path of the file in its folder, or "" for a single file.
    """

    read: Callable[[str, bytes], bytes | None]
    put: Callable[[str, bytes | None, bytes | None], bytes | None]


WHOLE_FILE = ExportedPart(lambda _path, content: content, lambda _path, _before, part: part)


class Export(Struct, frozen=True):
    """The files of an export, and its skills, best first.

    Each folder or file of `units` is written completely or not at all. Descriptions were cut to
    `cut` characters, or not at all if it is None.
    """

    units: Units
    skills: tuple[str, ...] = ()
    left_out: tuple[OmittedSkill, ...] = ()
    owned_part: ExportedPart = WHOLE_FILE
    cut: int | None = None
