"""Change: the only thing that alters a vault, as a frozen value.

Every learning rule returns changes; `Store.apply` turns one into one commit. A dry run
prints it, a test compares it.
"""

import textwrap
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from skillvault.records import Link, Record, Ref, ref_of
from skillvault.text import shorten

FORMAT = 1
SUBJECT = 72

STEP, SOURCE, TARGET, JUDGE = (
    "Skillvault-Step",
    "Skillvault-Source",
    "Skillvault-Target",
    "Skillvault-Judge",
)


class Edit(Struct, frozen=True):
    """One named key of a file's front matter gets a value; every other byte stays."""

    path: str
    key: tuple[str, ...]
    value: str


class Move(Struct, frozen=True):
    """A folder of the vault and all below it gets another place."""

    source: str
    target: str


class Rewrite(Struct, frozen=True):
    """The body of a markdown file gets another text; its front matter stays."""

    path: str
    body: str


class Change(Struct, frozen=True, kw_only=True):
    """What one commit does to a vault, and why.

    Of `reason` the lines that begin with two spaces are a table's and stay as they are.
    `writes` are new records and `files` new files of other kinds (path -> bytes), `edits`
    and `rewrites` apply before `moves`. `subject` stands without its step. `takes` names the inbox
    entries that become redundant once the commit is made.
    """

    step: str
    subject: str
    reason: str = ""
    writes: tuple[Record, ...] = ()
    files: tuple[tuple[str, bytes], ...] = ()
    edits: tuple[Edit, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    moves: tuple[Move, ...] = ()
    sources: tuple[Ref, ...] = ()
    targets: tuple[Ref, ...] = ()
    judge: str | None = None
    takes: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """The commit's subject: `<step>: <what>`, at most 72 characters."""
        return shorten(f"{self.step}: {self.subject}", SUBJECT)

    def noting(self, note: str) -> "Change":
        """The same change, with a line more in its reason; without a note as it is."""
        return replace(self, reason=f"{self.reason}\n{note}") if note else self

    @property
    def needs(self) -> set[Ref]:
        """The records that must be there: what it is made of, and what its links point to."""
        written = {ref_of(record) for record in self.writes}
        targets = (record.target for record in self.writes if isinstance(record, Link))
        return {*self.sources, *targets} - written

    @property
    def message(self) -> str:
        """The commit's whole message: subject, reason, trailers."""
        trailers = [f"{STEP}: {self.step}"]
        trailers += [f"{SOURCE}: {ref}" for ref in self.sources]
        trailers += [f"{TARGET}: {ref}" for ref in self.targets]
        trailers += [f"{JUDGE}: {self.judge}"] if self.judge else []
        trailers += [f"Skillvault-Format: {FORMAT}"]
        parts = [self.headline, _wrapped(self.reason), "\n".join(trailers)]
        return "\n\n".join(part for part in parts if part) + "\n"


def _wrapped(reason: str) -> str:
    """Prose filled to the width; tables whole, with a blank line around them."""
    lines = [line.rstrip() for line in reason.splitlines() if line.strip()]
    return "\n\n".join("\n".join(map(_laid, block)) for _, block in groupby(lines, _in_table))


def _in_table(line: str) -> bool:
    return line.startswith("  ")


def _laid(line: str) -> str:
    return line if _in_table(line) else textwrap.fill(" ".join(line.split()), SUBJECT)
