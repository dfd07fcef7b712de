"""What `shelf` in vault.yaml names and nothing has: a mistake in a name does nothing else."""

from collections.abc import Iterator

from skillvault.model.records import Problem
from skillvault.serving.background import unknown_domain
from skillvault.vault.files import layout
from skillvault.vault.index.snapshot import Topics


def names_of_nothing(head: Topics) -> Iterator[Problem]:
    """A note for each name that `shelf` hides, pins or serves for nothing.

    `head` has the layers before the vault's as they are.
    """
    rules = head.policy.shelf
    there = set(head.layers.names())
    for key, names in (("hidden", rules.hidden), ("pinned", rules.pinned)):
        for name in names:
            if name not in there:
                message = f"{name}: no package and no folder has a skill of this name; remove it"
                yield _note(key, "unknown-skill", message)
    for domain in rules.seeds:
        near = unknown_domain(head, domain)
        if near is not None:
            hint = f"did you mean {near}?" if near else "remove it, or record an outcome of it"
            yield _note("seeds", "unknown-domain", f"{domain}: no such domain; {hint}")


def _note(key: str, code: str, message: str) -> Problem:
    return Problem(layout.MARK, f"shelf.{key}", code, message)
