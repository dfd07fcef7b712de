"""A record with what it came from, or what came of it, as a tree of lines."""

from typing import Any

from skillvault.cli.options import echo

_LAYERS = {"seed": "comes with the package", "domain": "comes from a folder of skills"}


def print_tree(tree: dict[str, Any], below: str) -> None:
    """Print a tree; `below` is the key of its branches: `sources` or `targets`."""
    echo(_node(tree["ref"]))
    _print_branches(tree[below], below, "")
    if not tree[below] and (layer := tree["ref"].get("layer")):
        echo(f"└── ({_LAYERS[layer]})")
    elif not tree[below] and "pattern" not in tree:  # which comes of a rule, told below
        nothing = (
            "written by hand or not linked" if below == "sources" else "nothing came of it yet"
        )
        echo(f"└── ({nothing})")
    echo("commits:")
    for commit in tree["commits"]:
        by = commit["step"] or "by hand"
        echo(f"  {commit['sha'][:10]} {commit['date'][:10]} {commit['subject']} ({by})")


def _print_branches(branches: list[dict[str, Any]], below: str, lead: str) -> None:
    for number, branch in enumerate(branches):
        last = number == len(branches) - 1
        link = branch["link"].rpartition("-")[0] if branch["link"] else "of"
        echo(f"{lead}{'└── ' if last else '├── '}{link} {_node(branch['ref'])}")
        _print_branches(branch[below], below, lead + ("    " if last else "│   "))


def _node(ref: dict[str, Any]) -> str:
    return f"{ref['kind']} {ref['id']}" + (f"  {ref['path']}" if ref["path"] else "  (removed)")
