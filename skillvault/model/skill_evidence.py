"""Read the evidence file of a skill, which lists the outcomes for each of its statements."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from skillvault.model.brief import StatementKind
from skillvault.model.errors import BadInputError
from skillvault.model.records import SkillKind
from skillvault.model.text import strict_yaml

EVIDENCE = "evidence.yaml"
TRIED = "tried.md"  # the file of a guide with all its tries


class TryLines(Struct, frozen=True):
    """The tries of a guide from its file, one in each line."""

    lines: tuple[str, ...]


def parse_tries(content: bytes) -> TryLines:
    """Parse the file with the tries of a guide."""
    text = content.decode(errors="replace")
    return TryLines(tuple(line for line in text.splitlines() if line.startswith("- ")))


class StatementEvidence(Struct, frozen=True, kw_only=True, rename={"supporting": "for"}):
    """The outcomes for and against a statement. `rule` is set if the statement is a rule."""

    statement: str
    kind: StatementKind
    supporting: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    others_for: tuple[str, ...] = ()
    others_against: tuple[str, ...] = ()
    rule: Mapping[str, Any] | None = None

    @property
    def sides(self) -> tuple[tuple[str, ...], ...]:
        """The ids for and against the statement, then the ids of the other outcomes."""
        return self.supporting, self.against, self.others_for, self.others_against


class SkillEvidence(Struct, frozen=True, kw_only=True):
    """The evidence file of a skill, with the outcomes that it covers and those that were read."""

    kind: SkillKind
    read: tuple[str, ...]
    statements: tuple[StatementEvidence, ...] = ()
    about: tuple[str, ...] = ()


def from_text(text: str) -> SkillEvidence:
    """Parse an evidence file. Raise BadInputError if that fails."""
    try:
        return msgspec.convert(strict_yaml.load(text), SkillEvidence, strict=False)
    except msgspec.ValidationError as error:
        raise BadInputError(f"cannot be read as evidence: {error}", code="invalid") from None
