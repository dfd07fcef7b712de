"""The registry of the steps."""

import re
from importlib import import_module
from operator import attrgetter
from pathlib import Path

from skillvault.learning.assess import STEP as ASSESS
from skillvault.loop import profiles, registry
from skillvault.loop.registry import MOVERS, STEPS, WRITERS


def test_every_step_stands_at_the_place_that_names_it() -> None:
    for name, step in STEPS.items():
        assert step.name == name
        module = __import__(f"skillvault.loop.{name}", fromlist=["step"])
        assert callable(module.step)
        assert step.count_work is None or callable(module.count_work)


def test_what_writes_and_what_moves_skills_follows_from_the_registry() -> None:
    assert {
        "answer", "promote", "generate", "distill", "refresh", "merge", "capture"
    } == WRITERS  # fmt: skip
    assert {ASSESS, "expire", "refresh", "merge", "retire", "restore"} == MOVERS


def test_every_function_that_is_loaded_late_is_there() -> None:
    for module in (registry, profiles):
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        for place in re.findall(r'lazy\("([\w.]+:[\w.]+)"\)', source):
            name, _, path = place.partition(":")
            assert callable(attrgetter(path)(import_module(f"skillvault.{name}"))), place
