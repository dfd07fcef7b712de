"""Describe changes to a vault as values; only a `Change` alters a vault.

Every learning rule returns changes, and `Store.apply` commits them. Records that arrive, and many
similar changes in a row, share a commit. A dry run prints changes, a test compares them.
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
MAX_SUBJECT = 72  # characters
INTAKE_BATCH = 100  # the most records of one change of intake
# Values of `commit_with`: arriving records, and the changes of one decision, always share a commit.
INTAKE = "intake"
SHARED = "whole"
FORGET = "forget"  # the step that withdraws a rejection
REVERT = "revert"  # the step that undoes any other decision
MAX_SEPARATE = 2  # the most changes of skills in a row that get a commit each
# The most in a shared commit, whose message a person reads.
_MAX_RECORDS, _MAX_CHANGES = 2 * INTAKE_BATCH, 25
MAX_LINES = 40  # the most lines of a message before its trailers
_CUT_NOTE = "… {} more lines; the diff has all of it"

STEP_TRAILER = "Skillvault-Step"
SOURCE_TRAILER = "Skillvault-Source"
TARGET_TRAILER = "Skillvault-Target"
_JUDGE_TRAILER = "Skillvault-Judge"
WHY_TRAILER = "Skillvault-Why"
LINK = "link:"  # the prefix of a link's address
_MAX_WHY = 500  # the most characters of a person's reason in a trailer


class Program(bytes):
    """The bytes of an executable file: git stores it with mode 100755."""

    __slots__ = ()


class Edit(Struct, frozen=True):
    """A new value for one key in the front matter of a file, or in `vault.yaml`.

    None removes the key. Every other byte of the file stays.
    """

    path: str
    key: tuple[str, ...]
    value: str | bool | tuple[str, ...] | None


class Move(Struct, frozen=True):
    """A move of a folder of the vault with all its files."""

    source: str
    target: str


class Rewrite(Struct, frozen=True):
    """A new body for a markdown file, whose front matter stays.

    `theirs` are sections that a person wrote in another file and that remain the person's.
    """

    path: str
    body: str
    theirs: tuple[str, ...] = ()


class Replacement(Struct, frozen=True):
    """A new text for a file without front matter.

    `blob` is the version that the new text is based on, or None if there was no file. If the file
    `grows`, agents may append to it at any time, and their additions stay after the new text.
    """

    path: str
    content: bytes
    blob: str | None
    grows: bool = False


class Adoption(Struct, frozen=True):
    """A commit of text that agents appended to a file without committing it.

    `blob` is the committed version, or None if there is no file. In the work tree, `appended`
    follows it. `content` is the part that is committed, `left` the part that is not.
    """

    path: str
    blob: str | None
    appended: bytes
    content: bytes
    left: bytes = b""


class Join(Struct, frozen=True):
    """The history of another clone up to a commit, which is to be merged.

    With `forward`, the other history contains this one, so the branch moves without a new commit.
    `modes` are the modes of new files that are not regular files.
    """

    commit: str
    forward: bool = False
    modes: tuple[tuple[str, str], ...] = ()


class Change(Struct, frozen=True, kw_only=True):
    """A change that a commit, or a part of a commit, makes to a vault, with the reason.

    Lines of `reason` that begin with two spaces are a table and are not wrapped. `writes` are new
    records, `files` the bytes of whole files by path (`Program` for an executable), `removes` paths
    and links as `link:<id>`. `edits` and `rewrites` apply before `moves`; `adopts`, then `replaces`
    apply to existing files. `subject` omits the step. `takes` names the inbox entries that the
    commit makes redundant. Neighbouring changes with the same `commit_with` share a commit: intake
    always, others if there are more than a few. `why` quotes a person's reason for later runs.
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
        """The subject of a commit with this change alone, at most 72 characters."""
        return headline_of([self])

    def with_note(self, note: str) -> "Change":
        """Return the change with a note at the end of its reason, unless the note is empty."""
        return replace(self, reason=f"{self.reason}\n{note}") if note else self

    @property
    def message(self) -> str:
        """The message of a commit with this change alone."""
        return message_of([self])

    @property
    def needs(self) -> set[Ref]:
        """The records that must exist: the sources of the change and the targets of its links.

        Patterns and noted rules are entries of a file whose version the change states.
        """
        new_records = {ref_of(record) for record in self.writes}
        new_records |= {
            Ref("skill", path.split("/")[1])
            for path, _ in self.files
            if path.endswith("/SKILL.md") and path.count("/") == 2
        }
        new_records |= {Ref("skill", move.target.rpartition("/")[2]) for move in self.moves}
        targets = (record.target for record in self.writes if isinstance(record, Link))
        sources = (ref for ref in self.sources if ref.kind not in ("pattern", "rule"))
        return {*sources, *targets} - new_records


def skill_series(step: str, domain: str | None) -> str:
    """Return the `commit_with` for the changes that a step makes to skills of a domain."""
    return f"{step} {domain}"


class Part(Struct, frozen=True):
    """One change of a commit, with its step and the sources and targets in its trailers."""

    step: str
    sources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


def parts_of(changes: Iterable[Change]) -> list[Part]:
    """Return the parts of a commit with these changes, one for each change."""
    return [
        Part(change.step, tuple(map(str, change.sources)), tuple(map(str, change.targets)))
        for change in changes
    ]


def parse_parts(trailers: Iterable[str]) -> list[Part]:
    """Parse the trailers of a commit. A person's commit has no parts."""
    parts: list[tuple[str, dict[str, list[str]]]] = []
    for line in trailers:
        key, _, value = line.partition(": ")
        if key == STEP_TRAILER:
            parts.append((value, {SOURCE_TRAILER: [], TARGET_TRAILER: []}))
        elif parts and key in (SOURCE_TRAILER, TARGET_TRAILER):
            parts[-1][1][key].append(value)
    return [
        Part(step, tuple(ends[SOURCE_TRAILER]), tuple(ends[TARGET_TRAILER])) for step, ends in parts
    ]


def headline_of(changes: Iterable[Change]) -> str:
    """Return the subject of a commit: `<step>: <what>; <step>: <what>`.

    Consequences of a decision that do not fit into the line are only counted.
    """
    steps: dict[str, list[Change]] = {}
    for change in changes:
        steps.setdefault(change.step, []).append(change)
    subjects = [f"{step}: {_step_subject(batch)}" for step, batch in steps.items()]
    subject = escape_hidden("; ".join(subjects))
    batches = list(steps.values())
    if len(subject) > MAX_SUBJECT and len(batches) > 1 and batches[0][0].commit_with == SHARED:
        count = sum(map(len, batches[1:]))
        subject = escape_hidden(f"{subjects[0]}; {count} more: {', '.join([*steps][1:])}")
    return shorten(subject, MAX_SUBJECT)


def _step_subject(changes: Sequence[Change]) -> str:
    """Return the part of a subject line about one step: each change, or the first and a count."""
    if changes[0].commit_with == INTAKE or len(changes) <= MAX_SEPARATE:
        return ", ".join(dict.fromkeys(change.subject for change in changes))
    return f"{changes[0].subject} and {len(changes) - 1} more"


def message_of(changes: Sequence[Change]) -> str:
    """Return the message of a commit: its subject, reasons and trailers."""
    reasons = [*dict.fromkeys(_wrap(reason) for reason in _change_reasons(changes))]  # each once
    trailers = [line for change in changes for line in _trailers(change)]
    trailers += [f"Skillvault-Format: {FORMAT}"]
    parts = [part for part in (headline_of(changes), *reasons) if part]
    return "\n\n".join([_cut_paragraphs(parts), "\n".join(trailers)]) + "\n"


def _cut_paragraphs(parts: Sequence[str]) -> str:
    """Cut paragraphs to `MAX_LINES` lines in all. The last line counts the omitted lines.

    Each paragraph gets a share, so that a long one does not displace the beginning of another.
    """
    text = "\n\n".join(parts)
    count = text.count("\n") + 1
    if count <= MAX_LINES:
        return text
    paragraphs = [part.split("\n") for part in parts]
    shares = range(MAX_LINES, 1, -1)
    fitting = (n for n in shares if sum(min(len(part), n) + 1 for part in paragraphs) <= MAX_LINES)
    share = next(fitting, shares[-1])
    short_text = "\n\n".join(_first_lines(part, share) for part in paragraphs)
    lines = short_text.split("\n")[: MAX_LINES - 1]
    return "\n".join([*lines, _CUT_NOTE.format(count - len(lines))])


def _first_lines(lines: Sequence[str], max_lines: int) -> str:
    text = "\n".join(lines[:max_lines]).rstrip()
    return text if len(lines) <= max_lines or _in_table(lines[max_lines - 1]) else f"{text} …"


def group_by_commit(changes: Sequence[Change]) -> Iterator[Sequence[Change]]:
    """Yield the changes of each commit, in order."""
    for neighbours in group_neighbours(changes):
        if neighbours[0].commit_with in (INTAKE, SHARED) or len(neighbours) > MAX_SEPARATE:
            yield neighbours
        else:
            yield from ([change] for change in neighbours)


def group_neighbours(changes: Sequence[Change]) -> Iterator[Sequence[Change]]:
    """Split changes into groups of neighbours that may share a commit."""
    start, records = 0, 0
    for number, change in enumerate(changes):
        records += len(change.writes)
        is_full = records > _MAX_RECORDS or number - start == _MAX_CHANGES
        is_full = is_full and change.commit_with != SHARED
        is_alone = not change.commit_with or change.commit_with != changes[number - 1].commit_with
        if number and (is_full or is_alone):
            yield changes[start:number]
            start, records = number, len(change.writes)
    yield changes[start:]


def _change_reasons(changes: Sequence[Change]) -> Iterator[str]:
    is_same_subject = len({change.subject for change in changes}) == 1
    for change in changes:
        yield change.reason if is_same_subject else f"{change.headline}\n{change.reason}"


def _trailers(change: Change) -> Iterator[str]:
    yield f"{STEP_TRAILER}: {change.step}"
    yield from (f"{SOURCE_TRAILER}: {ref}" for ref in change.sources)
    yield from (f"{TARGET_TRAILER}: {ref}" for ref in change.targets)
    if change.judge:
        yield f"{_JUDGE_TRAILER}: {change.judge}"
    if change.why:
        yield f"{WHY_TRAILER}: {shorten(' '.join(escape_hidden(change.why).split()), _MAX_WHY)}"


def _wrap(reason: str) -> str:
    """Wrap prose but not tables, separate them by empty lines, and escape hidden characters."""
    lines = [line.rstrip() for line in escape_hidden(reason).splitlines() if line.strip()]
    blocks = []
    for is_table, group in groupby(lines, _in_table):
        block = list(group)
        if not is_table:
            block = [textwrap.fill(" ".join(line.split()), MAX_SUBJECT) for line in block]
        blocks.append("\n".join(block))
    return "\n\n".join(blocks)


def _in_table(line: str) -> bool:
    return line.startswith("  ")
