"""Load modules and compile patterns when they are first used.

`from skillvault.loop import run` costs nothing until the first `run.…`. `from skillvault.loop.run
import Run` loads the module at once.
"""

import re
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from threading import RLock
from types import ModuleType
from typing import Any, cast

_LOCK = RLock()
# Attributes that an import statement reads of a module that was imported before.
_IMPORT_NAMES = frozenset(
    {"__class__", "__file__", "__name__", "__package__", "__path__", "__spec__"}
)


class _LazyModule(ModuleType):
    """A module whose code has not run yet.

    `importlib` has such a class, too, but it is not safe with threads before Python 3.12.4, and a
    second import statement loads it.
    """

    def __getattribute__(self, name: str) -> Any:
        if name not in _IMPORT_NAMES:
            with _LOCK:
                spec = object.__getattribute__(self, "__spec__")
                if spec.loader_state is not None:  # no other thread has begun
                    loader, spec.loader_state = spec.loader_state, None
                    try:
                        loader.exec_module(self)
                    except BaseException:
                        spec.loader_state = loader
                        raise
                    object.__setattr__(self, "__class__", ModuleType)
        return ModuleType.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value  # of the module itself, after its code has run


class _Loader(LazyLoader):
    """A loader that defers the code of its module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run no code until the module is first used."""
        spec = object.__getattribute__(module, "__spec__")
        spec.loader = spec.loader_state = module.__loader__ = self.loader
        module.__class__ = _LazyModule

    def __getattr__(self, name: str) -> Any:  # the source, the code, the resources
        return getattr(self.loader, name)


class _Finder:
    """A finder for the modules of this package.

    It is not based on `importlib.abc`, which loads much more.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module with a deferring loader. A package is loaded at once."""
        if not name.startswith("skillvault."):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None and not spec.submodule_search_locations:
            spec.loader = _Loader(spec.loader)
        return spec


def defer_modules() -> None:
    """Defer all modules of this package that are imported from now on."""
    sys.meta_path.insert(0, _Finder())


class _Regex:
    """A regular expression that is compiled when it is first used."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._pattern, self._flags)
        self.__dict__ |= {key: getattr(compiled, key) for key in dir(compiled) if key[0] != "_"}
        return getattr(compiled, name)


def regex(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that is compiled when it is first used. Most commands need few patterns."""
    return cast("re.Pattern[str]", _Regex(pattern, flags))
