"""What `init` sets in a vault that an older version made: the mark of skills that wait or rest.

Floor 3, beside the steps. It decides nothing about a skill.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

from skillvault.change import FOUNDING, Change, Edit
from skillvault.errors import EditedError
from skillvault.steps.curate import decide
from skillvault.vault.commit.store import Store
from skillvault.vault.files import internal
from skillvault.vault.index.snapshot import Topics
from skillvault.vault.setup import SetupReport

_WHY = (
    "`npx skills` installs what stands in proposed/ and archive/, unless it says "
    "`metadata.internal: true`. Nothing else of these files changes:"
)


def mark_skills(store: Store, now: datetime) -> SetupReport:
    """Mark what stands in proposed/ and archive/ without `metadata.internal`, with one commit.

    What is edited locally, or cannot be marked, is left and named.
    """
    report = SetupReport()
    head = store.head()
    files = head.files.read(unmarked(head))
    if not files:
        return report
    if reason := store.paused(head.policy):
        report.left.append(f"run `skillvault init` again, to mark {_count(files)}: {reason}")
        return report
    ready = _markable(files, report)
    for path, reason in store.local_edits(ready).items():
        report.left.append(f"{path}: {reason}; commit or undo it, and run `skillvault init` again")
        del ready[path]
    if ready:
        decide(store, _marking(ready), now, dry=False)
        report.did.append(f"metadata.internal: true in {_count(ready)} that hosts must not load")
    return report


def unmarked(head: Topics) -> Iterator[str]:
    """The paths of the skills that are not served and do not say so to hosts."""
    for shelf, skills in (("proposed", head.skills.proposed), ("archive", head.skills.archived)):
        yield from (f"{shelf}/{name}/SKILL.md" for name, s in skills.items() if not s.internal)


def _markable(files: Mapping[str, bytes], report: SetupReport) -> dict[str, bytes | None]:
    """path -> bytes with the mark, of those that can have it."""
    ready: dict[str, bytes | None] = {}
    for path, content in sorted(files.items()):
        try:
            ready[path] = internal.marked(path, content)
        except EditedError as error:
            report.left.append(str(error))
    return ready


def _marking(paths: Mapping[str, bytes | None]) -> Change:
    return Change(
        step=FOUNDING,
        subject=f"mark {_count(paths)} that hosts must not load",
        reason="\n".join([_WHY, *(f"  {path}" for path in paths)]),
        edits=tuple(Edit(path, internal.KEY, value=True) for path in paths),
    )


def _count(paths: Mapping[str, object]) -> str:
    return f"{len(paths)} skill{'' if len(paths) == 1 else 's'}"
