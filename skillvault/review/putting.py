"""What is put into the vault as a skill: clean, and read back as it was given.

Refuses; decides nothing and writes nothing.
"""

from typing import Any

import msgspec

from skillvault.model import codec, integrity
from skillvault.model.errors import BadInputError, UsageError
from skillvault.model.records import Ref, Skill
from skillvault.vault.commit.publish import StagedChange
from skillvault.vault.files import redact

_OPTIONAL = ("domain", "created", "expires", "subject", "account", "retired", "trial")
_LONGEST = 60  # characters of a value that is quoted


def cleaned(skill: Skill) -> Skill:
    """A skill without secrets and hidden characters, its description in one line, "" as None.

    UsageError if it has a value of another type than its field.
    """
    try:
        values: dict[str, Any] = redact.cleaned(msgspec.to_builtins(skill))
        clean = msgspec.convert(values, Skill)
    except msgspec.ValidationError as error:
        raise UsageError(f"{skill.name!s}: {error}; correct the value") from None
    empty = {key: None for key in _OPTIONAL if not getattr(clean, key)}
    description = " ".join(clean.description.split())
    return msgspec.structs.replace(clean, **empty, description=description, body=clean.body.strip())


def check_read_back(staged: StagedChange, skill: Skill) -> None:
    """UsageError if the file that a skill becomes is not read as that skill, or is no good one."""
    ((path, content),) = staged.files.items()
    try:
        decoded = codec.decode(Ref("skill", skill.name), content or b"")
    except BadInputError as error:
        raise UsageError(f"{skill.name}: cannot be read once written: {error.message}") from None
    for field in skill.__struct_fields__:
        given, read = getattr(skill, field), getattr(decoded, field)
        if given != read:
            raise UsageError(
                f"{skill.name}: {field}: {_quoted(given)} would be read as {_quoted(read)}; give "
                "what a skill's file can hold"
            )
    view = integrity.VaultRecords(
        records={path: decoded}, existing=frozenset(), strays=(), removed=lambda _: None
    )
    for problem in integrity.problems(view):
        raise UsageError(f"{skill.name}: {problem.message}")


def _quoted(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
