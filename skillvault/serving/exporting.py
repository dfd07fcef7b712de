"""Export the live skills, best first, into a folder in the format of another program.

The folder is outside the vault; the vault does not change.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from skillvault.exchange import source_tree
from skillvault.exchange.skills import formats, rule_files
from skillvault.model.errors import BadInputError, UsageError
from skillvault.model.export import Export, OmittedSkill, OutgoingRule, OutgoingSkill, Units
from skillvault.model.records import IMPORTANCES, ExternalUse, Problem, ShelfSkill
from skillvault.model.text.text import join_items
from skillvault.vault import export_folder
from skillvault.vault.commit.skill_versions import folder_files
from skillvault.vault.commit.store import Store
from skillvault.vault.disk import pause_on_disk_errors
from skillvault.vault.files import layers, layout, listing

if TYPE_CHECKING:
    from skillvault.learning.recommend.recommend import Candidate
    from skillvault.serving.shelf import Shelf


class ExportReport(Struct, frozen=True):
    """The result of an export: its skills, best first, and the changes in its folder.

    `changed` are the skills with a written file, `rules` the ids of the rules on a written page.
    `cut` is the length to which descriptions were cut, or None. `written` and `removed` are paths
    below the folder. `left` are files that a person or another program wrote there.
    """

    format: str
    folder: str
    skills: list[str]
    changed: list[str]
    rules: list[str]
    left_out: list[OmittedSkill]
    cut: int | None
    written: list[str]
    removed: list[str]
    unchanged: int
    left: list[Problem]


class Exporter:
    """Writes a vault's skills to folders of other programs, and their rules."""

    def __init__(self, store: Store, shelf: "Callable[[], Shelf]") -> None:
        self._store = store
        self._shelf = shelf

    def export(
        self,
        to: str,
        target: Path | str,
        *,
        domain: str | None = None,
        budget: int | None = None,
        dry: bool = False,
    ) -> ExportReport:
        """Update a folder to the live skills of a domain and of no domain, or to all skills.

        `budget` limits the characters that a host lists; the default is the limit of the host.
        Raise UsageError for an unknown format, and for a folder of the vault.
        """
        root = Path(target).absolute()
        write, rules, page = _writer(to), list[OutgoingRule](), ""
        self._store.snapshot().check_domain(domain)
        if host := rule_files.HOSTS.get(to):
            rules, page = list(self._rules(domain, root.resolve().name)), host.page
            write = partial(rule_files.write_rules, rules=rules, host=host)
        live = list(self.outgoing(self._shelf().live(domain)))
        export = write([skill for skill in live if isinstance(skill, OutgoingSkill)], budget)
        unreadable = [skill for skill in live if isinstance(skill, OmittedSkill)]
        self._check_folder(root, export)
        drafts = self._store.git.dirs()[0] / "skillvault" / "drafts"
        with pause_on_disk_errors():
            result = export_folder.sync(root, to, export, drafts, dry=dry)
        paths = {name: _paths_of(export.units, name) for name in export.skills}
        blocked_paths = {problem.path for problem in result.left}
        skills = [name for name in export.skills if not paths[name] & blocked_paths]
        omitted = {unit.skill for unit in export.left_out}
        return ExportReport(
            format=to,
            folder=str(target),
            skills=skills,
            changed=[name for name in skills if paths[name] & {*result.written}],
            rules=[rule.id for rule in rules if page in result.written and rule.id not in omitted],
            left_out=[*export.left_out, *unreadable],
            cut=export.cut,
            **msgspec.structs.asdict(result),
        )

    def withdraw(self, to: str, target: Path) -> "export_folder.FolderReport":
        """Remove the exported files from a folder, except files that a person edited."""
        drafts = self._store.git.dirs()[0] / "skillvault" / "drafts"
        with pause_on_disk_errors():
            return export_folder.sync(target.absolute(), to, Export(units={}), drafts, dry=False)

    def outgoing(self, candidates: "Sequence[Candidate]") -> Iterator[OutgoingSkill | OmittedSkill]:
        """Yield the skills with their files and their use."""
        snapshot = self._store.snapshot()
        names = [candidate.name for candidate in candidates]
        vault_skills = snapshot.skills.get_many(names)
        layer_skills = {
            entry.skill.name: entry for entry in snapshot.layers.get_many(names, serving=True)
        }
        for candidate in candidates:
            name = candidate.name
            skill = vault_skills.get(name) or layer_skills[name].skill
            try:
                if name in vault_skills:
                    files = folder_files(self._store.git, snapshot, f"skills/{name}")
                else:
                    files = _layer_files(layer_skills[name])
            except BadInputError as error:
                yield OmittedSkill(name, error.message)
            else:
                uses = _uses(candidate, skill.elsewhere)
                yield OutgoingSkill(name, skill.description, files, uses)

    def _rules(self, domain: str | None, repository: str) -> list[OutgoingRule]:
        """Return the persons' rules for a repository or for all, the most important first."""
        facts = self._store.snapshot().facts
        superseded_ids = {fact.supersedes for fact in facts.values()}
        rules = [
            fact
            for fact in facts.values()
            if fact.kind in ("human", "correction")
            and fact.id not in superseded_ids
            and fact.trust == "local"
            and domain in (None, fact.domain)
            and fact.scope in (None, repository)
        ]
        rules.sort(key=lambda fact: (IMPORTANCES.index(fact.importance), fact.order))
        return [OutgoingRule(fact.id, fact.text) for fact in rules]

    def _check_folder(self, root: Path, export: Export) -> None:
        """Raise UsageError for an export into the folders of the vault."""
        vault = self._store.root.resolve()
        vault_folders = [vault / name for name in (*layout.FOLDERS, *layout.UNTRACKED)]
        for unit in export.units:
            path = layout.real_path(root / unit)
            if any(map(path.is_relative_to, vault_folders)):
                raise UsageError(f"{root}: belongs to the vault itself; export to another folder")


def _paths_of(units: Units, skill: str) -> set[str]:
    """Return the files of a skill in an export; all files if none has its name."""
    paths = {str(Path(unit, path)) for unit, files in units.items() for path in files}
    return {p for p in paths if skill in (*Path(p).parts, Path(p).name.partition(".")[0])} or paths


def _writer(name: str) -> "formats.SkillWriter":
    format_ = formats.SKILL_FORMATS.get(name)
    if format_ is None or format_.write is None:
        names = [name for name, format_ in formats.SKILL_FORMATS.items() if format_.write]
        raise UsageError(f"--to {name}: there are {join_items(sorted(names))}")
    return format_.write


def _layer_files(entry: ShelfSkill) -> dict[str, bytes]:
    """Return the files of a skill of another layer; BadInputError if they cannot be read."""
    path = Path(entry.path)
    if not listing.is_skill_file(path.name):  # one of many flat files
        return {listing.FILE: layers.skill_bytes(path)}
    tree = source_tree.folder_tree(path.parent)
    paths = source_tree.SkillPaths("", (*tree.sizes, *tree.unusable))
    files = source_tree.read_skill_files(tree, paths)
    return {listing.FILE: files.pop(path.name), **files}


def _uses(candidate: "Candidate", elsewhere: ExternalUse | None) -> ExternalUse | None:
    """Return the uses of a skill, here and elsewhere, with the latest moving average."""
    evidence = candidate.evidence
    if not evidence.times_applied:
        return elsewhere
    earlier = elsewhere or ExternalUse(0, None)
    rate = earlier.success_rate if evidence.ema is None else evidence.ema
    return ExternalUse(earlier.times_applied + evidence.times_applied, rate)
