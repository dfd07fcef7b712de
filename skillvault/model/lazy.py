"""Modules that are loaded when something of them is used first.

A question loads only the modules that answer it, and they are still named at the top of a file:
under TYPE_CHECKING as any module, else as `LazyModule`.
"""

from importlib import import_module
from typing import Any


class LazyModule:
    """A module of this package, by its name."""

    def __init__(self, name: str) -> None:
        self._name = f"skillvault.{name}"

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)
