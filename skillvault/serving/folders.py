"""Find the folders of skills outside the vault, and keep the index up to date with them.

A folder is listed once and read where it changed. The index can be deleted at any time.
"""

import hashlib
import secrets
from collections.abc import Iterator
from pathlib import Path

from skillvault.learning.recommend import shelf
from skillvault.model.policy import ShelfPolicy
from skillvault.model.records import Problem, ShelfSkill
from skillvault.serving import background
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layers, layout
from skillvault.vault.files.listing import EMPTY, list_folder
from skillvault.vault.index.snapshot import Snapshot, Staging


class Folders:
    """The folders of this package, of installed packages, of the policy, and of `add_folder`.

    All threads share the state: each reads or replaces it as a whole.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._added: list[Path] = []
        # The policy, the folders that this machine allows, and the index state of the last update.
        self._last_update: tuple[ShelfPolicy, tuple[Path, ...], str | None] | None = None
        self._places: list[tuple[str, str]] = []
        self._missing: list[Problem] = []

    def add_folder(self, folder: Path) -> None:
        """Add a folder above the others."""
        self._added.append(folder.resolve())
        self.reload()

    def reload(self) -> None:
        """List the folders again when the index is next updated."""
        self._last_update = None

    def follow(self, snapshot: Staging) -> None:
        """Update the index from the folders, and mark the skills that are served."""
        settings = snapshot.policy.shelf
        readable = self._readable_folders(settings)
        if self._last_update == (settings, readable, snapshot.layers.state):
            return
        self._places, self._missing = self._list_folders(settings, readable)
        old_listings = snapshot.layers.listings()
        listings = {
            folder: list_folder(Path(folder), old_listings.get(folder, EMPTY))
            for _, folder in self._places
        }
        has_changed = snapshot.layers.keep_files(self._places, listings)
        arrangement = repr((self._places, sorted(settings.hidden)))
        digest = hashlib.sha256(arrangement.encode("utf-8", "surrogateescape")).hexdigest()
        if has_changed or not (snapshot.layers.state or "").startswith(digest):
            winners = shelf.winners(self.layers(snapshot))
            snapshot.layers.update(winners, settings.hidden, f"{digest} {secrets.token_hex(8)}")
        self._last_update = settings, readable, snapshot.layers.state

    def layers(self, snapshot: Snapshot) -> list[list[ShelfSkill]]:
        """Return the skills of each layer in order, even skills that are not served."""
        skills = snapshot.layers.by_position()
        return [skills.get(position, []) for position in range(len(self._places))]

    def problems(self, snapshot: Snapshot) -> list[Problem]:
        """Return the unreadable files and folders as problems."""
        return [*self._missing, *snapshot.layers.unreadable()]

    def _readable_folders(self, rules: ShelfPolicy) -> tuple[Path, ...]:
        """Return the outside folders that this machine allows the vault to read."""
        root = self._store.root
        if not layers.outside_folders(root, rules.dirs):
            return ()
        return layers.allowed_folders(root, self._store.git.settings().dirs)

    def _list_folders(
        self, rules: ShelfPolicy, readable: tuple[Path, ...]
    ) -> tuple[list[tuple[str, str]], list[Problem]]:
        """List the folders as (kind of layer, path), and problems for missing folders.

        A folder that is named twice is listed at its last position.
        """
        folders, problems = layers.find_layers(self._store.root, rules.dirs, readable)
        for folder in self._added:
            if folder.is_dir():
                folders.append(folder)
            else:
                message = "no such folder; add one that is there"
                problems.append(Problem(str(folder), None, "no-folder", message))
        domains = dict.fromkeys(map(str, reversed(folders)))
        places = [("domain", folder) for folder in reversed(domains)]
        return [("seed", str(layers.seed_folder())), *places], problems


def find_unknown_names(snapshot: Snapshot) -> Iterator[Problem]:
    """Yield a note for each name in `shelf` of vault.yaml without a skill or domain.

    `head` must be up to date with the other layers.
    """
    settings = snapshot.policy.shelf
    known_names = set(snapshot.layers.names())
    for key, names in (("hidden", settings.hidden), ("pinned", settings.pinned)):
        for name in names:
            if name not in known_names:
                message = f"{name}: no package and no folder has a skill of this name; remove it"
                yield _policy_problem(key, "unknown-skill", message)
    for domain in settings.seeds:
        similar_name = background.unknown_domain(snapshot, domain)
        if similar_name is not None:
            hint = f"did you mean {similar_name}?"
            if not similar_name:
                hint = "remove it, or record an outcome of it"
            yield _policy_problem("seeds", "unknown-domain", f"{domain}: no such domain; {hint}")


def _policy_problem(key: str, code: str, message: str) -> Problem:
    return Problem(layout.VAULT_FILE, f"shelf.{key}", code, message)
