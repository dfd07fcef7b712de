"""erase: remove a name, a secret or an outcome from the history.

This module asks the person at a terminal; `team/erase.py` rewrites the history.
"""

import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from skillvault.cli.options import echo, open_vault, say, vault_option
from skillvault.clients.agents import find_agent
from skillvault.model.errors import UsageError
from skillvault.model.text.text import pluralize
from skillvault.team import erase as erasing

_CONFIRMATION = "erase"  # that a person types to confirm
_MAX_PATHS = 20  # paths in the preview


@click.command()
@click.option("--follow", is_flag=True, help="Remove here what was erased in another clone.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and end.")
@vault_option
def erase(follow: bool, dry_run: bool, vault_path: Path | None) -> None:
    """Erase a name, a secret or an outcome from history.

    Works only in a terminal. It asks for the texts, so that no shell keeps them, shows what would
    change, and asks again. It is the one command that rewrites history and forces a push.
    """
    vault = open_vault(vault_path)
    if agent := find_agent():
        raise UsageError(f"only a person may erase, and {agent} runs this; use your own terminal")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("only a person may erase; run `skillvault erase` in a terminal")
    key = None
    git = vault.store.git
    if follow:
        prompt = "Key (empty: the one of this clone)" if erasing.read_key(git) else "Key"
        key = click.prompt(prompt, default="", hide_input=True, show_default=False).strip()
    texts = [] if follow else _ask_texts()
    if not (texts or follow):
        echo("nothing to erase")
        return

    def confirm(erasure: erasing.Erasure) -> bool:
        _print_preview(erasure)
        if dry_run:
            return False
        answer = click.prompt(f"Type `{_CONFIRMATION}` to do this", default="", show_default=False)
        return bool(answer.strip() == _CONFIRMATION)

    erasure = erasing.erase(vault.store, texts, confirm, key=key or None, now=datetime.now(UTC))
    if erasure.is_in_config:
        say(f"{git.dirs()[1]}/config still has the text, which only you may change")
    if not erasure.is_done:
        echo("nothing was changed")
    elif follow:
        echo("erased here; run `skillvault sync`")
    else:
        echo(f"erased; the key is in {git.dirs()[1]}/skillvault/{erasing.KEY_FILE}")
        say(
            "Hand the key to your team, not by git. Each clone then runs "
            f"`{erasing.FOLLOW_COMMAND}`. docs/safety.md says what forges and backups still have."
        )


def _ask_texts() -> list[str]:
    """Ask for texts until an empty line."""
    echo("Type what to erase, one a line: a name, a secret, the id of an outcome. Then Enter.")
    texts: list[str] = []
    while text := click.prompt(">", default="", show_default=False, prompt_suffix=" ").strip():
        texts.append(text)
    return texts


def _print_preview(erasure: erasing.Erasure) -> None:
    paths = [*erasure.paths, *erasure.local_files]
    commits, messages = pluralize(erasure.commits, "commit"), pluralize(erasure.messages, "message")
    echo(f"rewrites {commits}, with {messages} and {pluralize(len(paths), 'file')}:")
    for path in paths[:_MAX_PATHS]:
        echo(f"  {path}")
    if len(paths) > _MAX_PATHS:
        echo(f"  and {len(paths) - _MAX_PATHS} more")
    for ref in erasure.refs:
        echo(f"  moves {ref}")
    for ref in erasure.remote_refs:
        echo(f"  forces {ref} of the remote")
