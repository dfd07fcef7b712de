"""Installed skills as they stand in the vault: their files, what lint says, their next versions."""

from skillvault.learning import install as rules
from skillvault.learning import lint
from skillvault.learning.install import Origin
from skillvault.learning.next_version import FILE, Files
from skillvault.model.records import Link
from skillvault.vault.commit.skill_versions import folder_files
from skillvault.vault.commit.store import Store
from skillvault.vault.files import internal
from skillvault.vault.files.redact import secret_kinds
from skillvault.vault.index.snapshot import Topics


def origins(head: Topics) -> dict[str, Origin]:
    """Skill -> where its latest version came from, of the installed ones that are there."""
    links: dict[str, Link] = {}
    for link in sorted(head.links.of_type("installed"), key=lambda link: link.created_at):
        if link.target in head.records:
            links[link.target.id] = link
    return {name: rules.origin_of(link) for name, link in links.items()}


def lint_of(files: Files) -> list[str]:
    """What a person should look at in a skill's files, a line each."""
    return lint.lint_lines(lint.findings(files, secret_kinds))


def lint_of_incoming(files: Files) -> list[str]:
    """The same of files that will stand in proposed/, with the mark of that shelf."""
    return lint_of({**files, FILE: internal.marked(FILE, files[FILE])})


def lint_of_waiting(store: Store, name: str) -> list[str]:
    """What a person should look at in an installed skill that waits; [] of any other."""
    head = store.head()
    skill = head.skills.proposed.get_many([name]).get(name)
    if skill is None or skill.origin != "installed":
        return []
    return lint_of(folder_files(store.git, head, f"proposed/{name}"))
