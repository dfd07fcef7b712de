"""Profiles: the names that a vault can choose between, and the numbers that go with them.

`vault.yaml` names one; what it says of a number itself stands over the profile's. The rules of
each stand in `skillvault/loop/profiles.py`.
"""

from collections.abc import Mapping
from typing import Any, Literal

ProfileName = Literal["lift", "seed", "wilson"]

# profile -> section -> key -> its number, if that is not the default
SETTINGS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "seed": {
        "promote": {"gate": "quality", "min_sessions": 0, "every": 5},
        "generate": {"strategy_max": 20},
        "recommend": {"bodies": None, "facts": 0, "budget": None, "task": 0.0},
        "effect": {"holdout": 0.0},
    },
}
