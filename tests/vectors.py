"""The shared vectors: inputs and expected outputs of the rules."""

import json
from pathlib import Path
from typing import Any

import pytest

from skillvault.model.records import Skill

VECTORS = Path(__file__).resolve().parents[2] / "shared" / "vectors"


def vectors(name: str) -> list[Any]:
    """The rows of one file as parameters; one skipped parameter where it is absent."""
    path = VECTORS / f"{name}.json"
    if not path.is_file():
        absent = pytest.mark.skip(reason=f"{path} is not here; it holds the vectors")
        return [pytest.param(None, marks=absent)]
    rows = json.loads(path.read_text(encoding="utf-8"))["vectors"]
    return [pytest.param(row, id=row["id"]) for row in rows]


def skill_of(row: dict[str, Any]) -> Skill:
    """A skill as the vectors write it; `usage` is none of its fields."""
    tags, roles, stages = (tuple(row.get(key, ())) for key in ("tags", "roles", "stages"))
    return Skill(row["name"], row.get("description", ""), row["body"], tags, roles, stages)
