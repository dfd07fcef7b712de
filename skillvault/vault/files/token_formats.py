"""Tokens that name themselves by how they begin, as `token_formats.toml` lists them."""

import re
import tomllib
from pathlib import Path

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["format"]
_KINDS = {start: row["kind"] for row in _TABLE for start in row["starts"]}
_STARTS = sorted(_KINDS, key=len, reverse=True)


def _pattern(row: dict[str, str]) -> str:
    return f"(?:{'|'.join(map(re.escape, row['starts']))}){row['tail']}"


# `_` and `-` may stand before one, as in `key_hf_…`: what begins in the middle of a word is none.
TOKEN = re.compile(
    rf"(?<![A-Za-z0-9])(?:{'|'.join(map(_pattern, _TABLE))}"
    r"|[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,})"
)


def kind_of_token(token: str) -> str:
    """What a token that `TOKEN` finds is called."""
    start = next((start for start in _STARTS if token.startswith(start)), None)
    return _KINDS[start] if start else "Terraform Token"
