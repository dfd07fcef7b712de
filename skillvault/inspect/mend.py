"""Making once more what commits did that a person's git left in no branch."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from msgspec.structs import replace

from skillvault.model.change import INTAKE, JUDGE, STEP, Change, Move, Part, parts_in
from skillvault.vault.commit.store import Store
from skillvault.vault.disk import guarded
from skillvault.vault.files import layout
from skillvault.vault.git.lost import Diff, LostCommit, new_home
from skillvault.vault.git.trees import with_mode
from skillvault.vault.index.records import ref_from
from skillvault.vault.lost import lost_changes

_TRAILER = "Skillvault-"


def mend(store: Store, now: datetime) -> int:
    """Make lost commits once more, all at once; how many files they touch.

    EditedError if one of these is edited locally, PausedError if nothing may be committed.
    """
    head = store.head()
    commits = lost_changes(store.git, head)
    if not commits:
        return 0
    try:
        staged = [store.stage(change) for commit in commits for change in _changes(store, commit)]
        with guarded():
            store.apply(staged, head.commit, now=now, policy=head.policy)
    finally:
        store.roll_back()
    return len({path for commit in commits for path in commit.files})


def _changes(store: Store, lost: LostCommit) -> Iterator[Change]:
    """What each step did in a lost commit, as far as it is to be done once more."""
    lines = lost.message.splitlines()
    parts = parts_in(lines)
    paths_of = _by_part(lost.files, parts)
    for part, paths in zip(parts, paths_of, strict=True):
        if paths:
            yield replace(
                _change(store, {path: lost.files[path] for path in paths}),
                step=part.step,
                subject=_subject(lines[0], part),
                reason="\n".join([*_reason(lines), _why(lost)]),
                sources=tuple(map(ref_from, part.sources)),
                targets=tuple(map(ref_from, part.targets)),
                judge=_judge(lines, part),
                commit_with=INTAKE if len(parts) > 1 else "",
            )


def _change(store: Store, files: Mapping[str, Diff]) -> Change:
    """What makes these files as they were after a commit; what it moved is moved."""
    homes = {path: home for path in files if (home := new_home(path, files))}
    entries = {path: diff.after for path, diff in files.items() if diff.after}
    data = store.git.blobs(entry.id for entry in entries.values())
    sources = {target: path for path, target in homes.items()}  # where moved files stand by now
    moves = {(_skill_folder(path), _skill_folder(target)) for path, target in homes.items()}
    return Change(
        step="",
        subject="",
        files=tuple(
            (sources.get(path, path), with_mode(data[entry.id], entry))
            for path, entry in entries.items()
        ),
        moves=tuple(Move(source, target) for source, target in sorted(moves)),
    )


def _skill_folder(path: str) -> str:
    return "/".join(path.split("/")[:2])


def _by_part(paths: Iterable[str], parts: list[Part]) -> list[list[str]]:
    """The paths of each part: of the one whose trailers name the record, else of the first."""
    places: list[list[str]] = [[] for _ in parts]
    for path in paths:
        ref = str(layout.ref_of(path))
        named = (number for number, part in enumerate(parts) if number and ref in part.targets)
        places[next(named, 0)].append(path)
    return places


def _why(lost: LostCommit) -> str:
    return f"Made once more: this was commit {lost.sha[:10]}, which no branch has any more."


def _reason(lines: Iterable[str]) -> list[str]:
    """A commit's message without its first line and its trailers."""
    return [line for line in list(lines)[1:] if not line.startswith(_TRAILER)]


def _subject(headline: str, part: Part) -> str:
    """What a commit's subject says of one of its steps."""
    start = f"{part.step}: "
    subjects = [text.removeprefix(start) for text in headline.split("; ") if text.startswith(start)]
    return subjects[0] if subjects else "what was lost"


def _judge(lines: Iterable[str], part: Part) -> str | None:
    """Who judged in a step, by the trailers of its commit."""
    step = None
    for line in lines:
        key, _, value = line.partition(": ")
        if key == STEP:
            step = value
        elif key == JUDGE and step == part.step:
            return value
    return None
