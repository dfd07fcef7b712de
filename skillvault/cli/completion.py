"""What a shell offers for a value: skills, domains, decisions of the vault that is meant.

A shell that completes a word gets no message: where there is no vault, nothing is offered.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from skillvault.cli.options import open_vault
from skillvault.model.errors import SkillvaultError

if TYPE_CHECKING:
    from skillvault.api import Vault

_MOST = 50  # decisions that are offered


def complete_values(command: click.Command) -> None:
    """Let the arguments and options of a command, and of those below it, offer what there is."""
    for param in command.params:
        offer = _OFFERS.get((command.name or "", param.name or "")) or _OFFERS.get(
            ("", param.name or "")
        )
        if offer is not None:
            param._custom_shell_complete = _completing(offer)  # noqa: SLF001 (as its constructor)
    if isinstance(command, click.Group):
        for below in command.commands.values():
            complete_values(below)


def _completing(
    offer: "Callable[[Vault, str], Iterable[str]]",
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    def complete(
        context: click.Context, _param: click.Parameter, beginning: str
    ) -> list[CompletionItem]:
        try:
            with context:
                vault = open_vault(context.params.get("vault_path"))
            names = sorted(set(offer(vault, beginning)))
        except SkillvaultError:
            return []
        return [CompletionItem(name) for name in names if name.startswith(beginning)]

    return complete


def _live_skills(vault: "Vault", _beginning: str) -> Iterable[str]:
    return [skill.name for skill in vault.shelf.skills()]


def _waiting_skills(vault: "Vault", _beginning: str) -> Iterable[str]:
    return vault.store.head().skills.proposed


def _archived_skills(vault: "Vault", _beginning: str) -> Iterable[str]:
    return vault.store.head().skills.archived


def _domains(vault: "Vault", _beginning: str) -> Iterable[str]:
    head = vault.store.head()
    return [*head.domains, *head.policy.domains]


def _decisions(vault: "Vault", beginning: str) -> Iterable[str]:
    return vault.store.head().recommendations.latest_decisions(beginning, _MOST)


# (command, its parameter) -> what is offered; "" stands for every command.
_OFFERS: "dict[tuple[str, str], Callable[[Vault, str], Iterable[str]]]" = {
    ("", "domain"): _domains,
    ("recommend", "decision"): _decisions,
    ("stats", "decision"): _decisions,
    ("close", "decision"): _decisions,
    ("import", "decision"): _decisions,
    ("stats", "skill"): _live_skills,
    ("recommend", "pins"): _live_skills,
    ("why", "ref"): _live_skills,
    ("impact", "ref"): _live_skills,
    ("show", "name"): _live_skills,
    ("retire", "name"): _live_skills,
    ("pin", "name"): _live_skills,
    ("approve", "name"): _waiting_skills,
    ("restore", "name"): _archived_skills,
}
