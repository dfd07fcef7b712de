"""mcp: a server of the Model Context Protocol on stdin and stdout. Only it pays for the SDK."""

from importlib.util import find_spec
from pathlib import Path

import click

from skillvault.cli import mcp_server
from skillvault.cli.options import open_vault, vault_option
from skillvault.model.errors import UsageError


@click.command()
@click.option("--allow-review", is_flag=True, help="Offer tools to approve and reject skills too.")
@click.option(
    "--no-holdout",
    "lists_all",
    is_flag=True,
    help="Hold no skill out, as the client lists them all itself.",
)
@vault_option
def mcp(allow_review: bool, lists_all: bool, vault_path: Path | None) -> None:
    """Serve the vault's tools and skills to a client, by the Model Context Protocol.

    It is for `skillvault setup` to register: it reads stdin until its client closes it.
    """
    if not has_sdk():
        raise UsageError(
            "the extra `mcp` is not installed; `pip install 'skillvault-git[mcp]'` brings it"
        )
    vault = open_vault(vault_path)
    mcp_server.server_of(vault, may_review=allow_review, lists_all=lists_all).run("stdio")


def has_sdk() -> bool:
    """Whether the extra `mcp` is installed."""
    return find_spec("mcp") is not None
