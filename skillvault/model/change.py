"""Change: the only thing that alters a vault, as a frozen value.

Every learning rule returns changes; `Store.apply` turns one into one commit, and intake, or many
changes of one kind, into one with their neighbours. A dry run prints it, a test compares it.
"""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from skillvault.model.records import Link, Record, Ref, ref_of
from skillvault.model.text.hidden_characters import escape_hidden
from skillvault.model.text.text import shorten

FORMAT = 1
SUBJECT = 72
BATCH = 100  # records of one change that is intake
INTAKE = "intake"
WHOLE = "whole"  # changes that are one decision: one commit, however many they are
FORGET = "forget"  # the step that takes a rejection back
FEW = 2  # so many skills that a step changes in a row have a commit each
_RECORDS, _CHANGES = 2 * BATCH, 25  # of one commit that changes share: a person reads its message
LINES = 40  # of a message before its trailers, which are for the program
_CUT = "… {} more lines; the diff has all of it"

STEP, SOURCE, TARGET, JUDGE, WHY = (
    "Skillvault-Step",
    "Skillvault-Source",
    "Skillvault-Target",
    "Skillvault-Judge",
    "Skillvault-Why",
)
LINK = "link:"  # how the address of a link begins
_MAX_WHY = 500  # characters of a person's reason that a trailer holds


class Program(bytes):
    """The bytes of a file that may be run: git keeps it with mode 100755."""

    __slots__ = ()


class Edit(Struct, frozen=True):
    """One named key of a file's front matter, or of `vault.yaml`, gets a value; None takes it out.

    Every other byte stays.
    """

    path: str
    key: tuple[str, ...]
    value: str | bool | tuple[str, ...] | None


class Move(Struct, frozen=True):
    """A folder of the vault and all below it gets another place."""

    source: str
    target: str


class Rewrite(Struct, frozen=True):
    """The body of a markdown file gets another text; its front matter stays.

    `theirs` are the sections of it that a person wrote elsewhere, and that stay theirs.
    """

    path: str
    body: str
    theirs: tuple[str, ...] = ()


class Replacement(Struct, frozen=True):
    """A file without front matter gets a whole new text.

    `blob` is the version that the text was computed from, None for no file. `grows`: agents append
    to it at any time, and what they appended since stays behind the new text.
    """

    path: str
    content: bytes
    blob: str | None
    grows: bool = False


class Adoption(Struct, frozen=True):
    """What agents appended to a file, and nobody committed, is committed.

    `appended` stands in the work tree behind the committed version (`blob`, None for no file).
    `content` is what of it is committed, `left` what stays in the work tree behind that.
    """

    path: str
    blob: str | None
    appended: bytes
    content: bytes
    left: bytes = b""


class Join(Struct, frozen=True):
    """The history of another clone, which a commit takes in: up to which commit.

    `forward`: it holds all of ours, so that the branch moves on to it and no commit is made.
    `modes` are those of new files that are no regular ones.
    """

    commit: str
    forward: bool = False
    modes: tuple[tuple[str, str], ...] = ()


class Change(Struct, frozen=True, kw_only=True):
    """What one commit does to a vault, or a part of one, and why.

    Of `reason` the lines that begin with two spaces are a table's and stay as they are.
    `writes` are new records and `files` whole files (path -> bytes, a `Program` if it may be run),
    `removes` what goes: paths, and links as `link:<id>`;
    `edits` and `rewrites` apply before `moves`; `adopts`, then `replaces` are whole files that are
    there. `subject` stands without its step. `takes` names the inbox entries that become redundant
    once the commit is made. `commit_with`: it shares its commit with the changes beside it that
    state the same, intake always, others if they are more than a few. `why` is a person's reason
    in their own words, which later runs repeat.
    """

    step: str
    subject: str
    reason: str = ""
    writes: tuple[Record, ...] = ()
    files: tuple[tuple[str, bytes], ...] = ()
    removes: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    adopts: tuple[Adoption, ...] = ()
    replaces: tuple[Replacement, ...] = ()
    moves: tuple[Move, ...] = ()
    sources: tuple[Ref, ...] = ()
    targets: tuple[Ref, ...] = ()
    judge: str | None = None
    why: str = ""
    takes: tuple[str, ...] = ()
    commit_with: str = ""
    joins: Join | None = None

    @property
    def headline(self) -> str:
        """The subject of its commit if it has one to itself, at most 72 characters."""
        return headline_of([self])

    def with_note(self, note: str) -> "Change":
        """The same change, with a line more in its reason; without a note as it is."""
        return replace(self, reason=f"{self.reason}\n{note}") if note else self

    @property
    def message(self) -> str:
        """The whole message of its commit if it has one to itself."""
        return message_of([self])

    @property
    def needs(self) -> set[Ref]:
        """The records that must be there: what it is made of, and what its links point to.

        No pattern: that is an entry of a file whose version the change states.
        """
        written = {ref_of(record) for record in self.writes}
        written |= {Ref("skill", path.split("/")[1]) for path, _ in self.files if _is_skill(path)}
        targets = (record.target for record in self.writes if isinstance(record, Link))
        sources = (ref for ref in self.sources if ref.kind != "pattern")
        return {*sources, *targets} - written


def _is_skill(path: str) -> bool:
    return path.endswith("/SKILL.md") and path.count("/") == 2


def skill_series(step: str, domain: str | None) -> str:
    """By what many changes of one step to the skills of a domain share commits."""
    return f"{step} {domain}"


class Part(Struct, frozen=True):
    """What one change does in a commit: its step, and the ends that its trailers name."""

    step: str
    sources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


def parts_of(changes: Iterable[Change]) -> list[Part]:
    """What is done in the commit that these changes become, each change by itself."""
    return [
        Part(change.step, tuple(map(str, change.sources)), tuple(map(str, change.targets)))
        for change in changes
    ]


def parse_parts(trailers: Iterable[str]) -> list[Part]:
    """The same, read back from the lines `<key>: <value>` of a commit; [] of a person's."""
    parts: list[tuple[str, dict[str, list[str]]]] = []
    for line in trailers:
        key, _, value = line.partition(": ")
        if key == STEP:
            parts.append((value, {SOURCE: [], TARGET: []}))
        elif parts and key in (SOURCE, TARGET):
            parts[-1][1][key].append(value)
    return [Part(step, tuple(ends[SOURCE]), tuple(ends[TARGET])) for step, ends in parts]


def headline_of(changes: Iterable[Change]) -> str:
    """The subject of the commit that these changes become: `<step>: <what>; <step>: <what>`.

    What follows from a decision is counted if its names do not fit.
    """
    steps: dict[str, list[Change]] = {}
    for change in changes:
        steps.setdefault(change.step, []).append(change)
    first, *others = (f"{step}: {_subject(batch)}" for step, batch in steps.items())
    subject = escape_hidden("; ".join([first, *others]))
    batches = list(steps.values())
    if len(subject) > SUBJECT and others and batches[0][0].commit_with == WHOLE:
        count = sum(map(len, batches[1:]))
        subject = escape_hidden(f"{first}; {count} more: {', '.join([*steps][1:])}")
    return shorten(subject, SUBJECT)


def _subject(batch: Sequence[Change]) -> str:
    """What one step does in a commit; of many skills the first stands for all."""
    if batch[0].commit_with == INTAKE or len(batch) <= FEW:
        return ", ".join(dict.fromkeys(change.subject for change in batch))
    return f"{batch[0].subject} and {len(batch) - 1} more"


def message_of(changes: Sequence[Change]) -> str:
    """The whole message of the commit that these changes become: subject, reasons, trailers."""
    reasons = [*dict.fromkeys(_wrapped(reason) for reason in _reasons(changes))]  # each once
    trailers = [line for change in changes for line in _trailers(change)]
    trailers += [f"Skillvault-Format: {FORMAT}"]
    parts = [part for part in (headline_of(changes), *reasons) if part]
    return "\n\n".join([_within_lines(parts), "\n".join(trailers)]) + "\n"


def _within_lines(parts: Sequence[str]) -> str:
    """Paragraphs of at most so many lines; the last one says how many were left out.

    Each part has its share, so that a long one takes no other's first lines.
    """
    text = "\n\n".join(parts)
    count = text.count("\n") + 1
    if count <= LINES:
        return text
    whole = [part.split("\n") for part in parts]
    shares = range(LINES, 1, -1)
    fitting = (n for n in shares if sum(min(len(part), n) + 1 for part in whole) <= LINES)
    share = next(fitting, shares[-1])
    lines = "\n\n".join(_beginning(part, share) for part in whole).split("\n")[: LINES - 1]
    return "\n".join([*lines, _CUT.format(count - len(lines))])


def _beginning(lines: Sequence[str], most: int) -> str:
    first = "\n".join(lines[:most]).rstrip()
    return first if len(lines) <= most or _in_table(lines[most - 1]) else f"{first} …"


def group_by_commit(changes: Sequence[Change]) -> Iterator[Sequence[Change]]:
    """The changes that become one commit each, in their order."""
    for neighbours in group_neighbours(changes):
        if neighbours[0].commit_with in (INTAKE, WHOLE) or len(neighbours) > FEW:
            yield neighbours
        else:
            yield from ([change] for change in neighbours)


def group_neighbours(changes: Sequence[Change]) -> Iterator[Sequence[Change]]:
    """The changes beside each other that share a commit if they are enough, in their order."""
    start, records = 0, 0
    for number, change in enumerate(changes):
        records += len(change.writes)
        full = records > _RECORDS or number - start == _CHANGES
        full = full and change.commit_with != WHOLE
        alone = not change.commit_with or change.commit_with != changes[number - 1].commit_with
        if number and (full or alone):
            yield changes[start:number]
            start, records = number, len(change.writes)
    yield changes[start:]


def _reasons(changes: Sequence[Change]) -> Iterator[str]:
    """Why each change is made; with its subject if theirs differ."""
    alike = len({change.subject for change in changes}) == 1
    for change in changes:
        yield change.reason if alike else f"{change.headline}\n{change.reason}"


def _trailers(change: Change) -> Iterator[str]:
    """The trailers of one change."""
    yield f"{STEP}: {change.step}"
    yield from (f"{SOURCE}: {ref}" for ref in change.sources)
    yield from (f"{TARGET}: {ref}" for ref in change.targets)
    if change.judge:
        yield f"{JUDGE}: {change.judge}"
    if change.why:
        yield f"{WHY}: {shorten(' '.join(escape_hidden(change.why).split()), _MAX_WHY)}"


def _wrapped(reason: str) -> str:
    """Prose filled to the width; tables whole, with a blank line around them; what hides, shown."""
    lines = [line.rstrip() for line in escape_hidden(reason).splitlines() if line.strip()]
    return "\n\n".join("\n".join(map(_laid, block)) for _, block in groupby(lines, _in_table))


def _in_table(line: str) -> bool:
    return line.startswith("  ")


def _laid(line: str) -> str:
    return line if _in_table(line) else textwrap.fill(" ".join(line.split()), SUBJECT)
