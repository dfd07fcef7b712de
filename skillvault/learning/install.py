"""Build the changes that install skills of other people; these skills wait in `proposed/`.

`review/installing.py` reads the files of a skill, as bytes by path in its folder. Only a person
changes an approved skill, so a newer version of it is a new proposal.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import asdict, replace

from skillvault.learning.naming import next_names
from skillvault.learning.next_version import Files, metadata_of
from skillvault.learning.promote.facts import human_fact_id
from skillvault.model.change import Change, Program
from skillvault.model.errors import BadInputError
from skillvault.model.records import Fact, Importance, Link, Ref, link_of
from skillvault.model.text.text import MAX_SLUG, pluralize

STEP = "install"
_TAIL_DIGITS = 6  # hex digits of the digest at the end of a name, if the name alone is taken
_ID_DIGITS = 16  # hex digits of the digest in an id
_HIGH_CONFIDENCE, _MEDIUM_CONFIDENCE = 0.85, 0.7  # lower bounds of high and medium importance
_MAX_PLACE = 40  # characters of an address in the subject of a commit


class Origin(Struct, frozen=True):
    """The source of an installed skill, with its version.

    `digest` is the digest of the published files, and `files` their number. `registry` is the
    registry that named the source, or "".
    """

    url: str
    version: str
    digest: str
    files: int
    registry: str = ""

    @property
    def ref(self) -> Ref:
        """The ref of the source, which is no record of the vault."""
        return Ref("origin", self.digest.removeprefix("sha256:")[:_ID_DIGITS])

    def link(self, name: str, now: datetime) -> Link:
        """Return the link that records the installation of a skill from this source."""
        link = link_of("installed", self.ref, Ref("skill", name), now)
        return replace(link, metadata={key: v for key, v in asdict(self).items() if v})


def origin_of(link: Link) -> Origin:
    """Return the origin in an `installed` link; raise BadInputError for a broken link."""
    try:
        values = {key: str(link.metadata.get(key, "")) for key in ("url", "version", "digest")}
        registry = str(link.metadata.get("registry", ""))
        return Origin(**values, files=int(link.metadata.get("files", 0)), registry=registry)
    except (TypeError, ValueError):
        raise BadInputError(
            f"links/{link.target.id}.yaml: {link.id}: metadata: not what an installation writes; "
            "restore the line with git",
            code="bad-value",
            key="metadata",
        ) from None


def digest_of(files: Files) -> str:
    """Return `sha256:` and the digest of files, which includes their executable bits."""
    digest = hashlib.sha256()
    for path in sorted(files):
        mark = "*" if isinstance(files[path], Program) else ""
        digest.update(f"{path}\0{mark}{len(files[path])}\0".encode() + files[path])
    return f"sha256:{digest.hexdigest()}"


def free_name(name: str, digest: str, is_taken: Callable[[str], bool]) -> str | None:
    """Return the name, or the name with six digits of the digest, or None if both are taken."""
    tail = f"-{digest.removeprefix('sha256:')[:_TAIL_DIGITS]}"
    names = (name, name[: MAX_SLUG - len(tail)].rstrip("-") + tail)
    return next((candidate for candidate in names if not is_taken(candidate)), None)


def name_update(name: str, files: Files, *, is_approved: bool) -> tuple[str, str | None]:
    """Return the name of a newer version, and the approved skill that it replaces, or None."""
    if is_approved:
        return next(next_names(name)), name
    replaced_name = metadata_of(files).get("replaces")
    return name, str(replaced_name) if replaced_name else None


def install_change(
    name: str, files: Files, origin: Origin, *, lint: Sequence[str], now: datetime
) -> Change:
    """Return the change that installs a skill as a proposal."""
    version = f", version {origin.version}" if origin.version else ""
    sentence = f"From {origin.url}{version}: {pluralize(origin.files, 'file')}, {origin.digest}."
    return Change(
        step=STEP,
        subject=f"{name} from {_end_of(origin.url)}",
        reason="\n".join([sentence, *lint]),
        writes=(origin.link(name, now),),
        files=_folder_files(f"proposed/{name}", files),
        sources=(origin.ref,),
        targets=(Ref("skill", name),),
    )


def update_changes(
    install: Change, published: Files, merged_files: Files, paths: Iterable[str]
) -> list[Change]:
    """Return the changes that update a skill: the published files, then a person's edits.

    `install` is the change that installs the new version; `paths` has the files of the version that
    waits now. The edits are a second change, so that the next update can find the published files
    in the first.
    """
    name = install.targets[0].id
    folder = f"proposed/{name}"
    removed_paths = (path for path in paths if path not in published)
    update = replace(install, removes=_folder_paths(folder, removed_paths))
    if merged_files == published:
        return [update]
    edits = {path: data for path, data in merged_files.items() if published.get(path) != data}
    deleted_paths = (path for path in published if path not in merged_files)
    merge_change = Change(
        step=STEP,
        subject=f"{name} keeps what was changed here",
        reason="Merged with the version that was installed before as the base.",
        files=_folder_files(folder, edits),
        removes=_folder_paths(folder, deleted_paths),
        targets=install.targets,
    )
    return [update, merge_change]


def seed_change(name: str, files: Files, paths: Iterable[str]) -> Change:
    """Return the change that copies a skill of the package, in place of its old files `paths`."""
    removed_paths = (path for path in paths if path not in files)
    return Change(
        step=STEP,
        subject=f"{name}, a skill of the package",
        reason="Copied into skills/, where it may be edited; it is served, not the package's.",
        files=_folder_files(f"skills/{name}", files),
        removes=_folder_paths(f"skills/{name}", removed_paths),
        targets=(Ref("skill", name),),
    )


def _folder_files(folder: str, files: Files) -> tuple[tuple[str, bytes], ...]:
    return tuple((f"{folder}/{path}", files[path]) for path in sorted(files))


def _folder_paths(folder: str, paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(f"{folder}/{path}" for path in set(paths)))


def _end_of(url: str) -> str:
    """Shorten an address for the subject of a commit, from its start, in whole segments."""
    segments = url.split("/")
    while len(segments) > 1 and sum(map(len, segments)) + len(segments) > _MAX_PLACE:
        del segments[0]
    end = "/".join(segments)
    return end if end == url else f"…/{end}"


def memory_fact(text: str, confidence: float, created: str, domain: str) -> Fact:
    """Return a fact from the memory of another program; its confidence becomes the importance."""
    importance: Importance = "high" if confidence >= _HIGH_CONFIDENCE else "medium"
    at = datetime.fromisoformat(created).replace(microsecond=0) if created else None
    return Fact(
        id=human_fact_id(domain, text),
        domain=domain,
        text=text,
        importance=importance if confidence >= _MEDIUM_CONFIDENCE else "low",
        kind="distilled",
        created_at=at.replace(tzinfo=at.tzinfo or UTC) if at else None,
    )


def memory_change(domain: str, facts: Sequence[Fact]) -> Change:
    """Return the change that adds facts of another program's memory."""
    return Change(
        step="import",
        subject=f"{pluralize(len(facts), 'fact')} of {domain}",
        reason="\n".join(f"- {fact.text}" for fact in facts),
        writes=tuple(facts),
        targets=tuple(Ref("fact", fact.id) for fact in facts),
    )
