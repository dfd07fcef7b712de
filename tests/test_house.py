"""The house stands: imports only go down, and each library has one home."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "skillvault"
WORDS = {
    "records", "brief", "intake", "recommended", "strict_json", "change", "models", "policy",
    "text", "errors", "integrity",
}  # fmt: skip
DOORS = {"api", "cli", "daemon", "__main__", "__init__"}
HOMES = {
    "git": {"vault/launch"},
    "pygit2": {"vault/objects"},
    "ctypes": {"vault/disk"},
    "sqlite3": {
        "vault/due",
        "vault/index",
        "vault/ledger",
        "vault/ranking",
        "vault/stems",
        "vault/tables",
    },
    "yaml": {"vault/strict_yaml"},
    "frontmatter": {"vault/codec"},
    "detect_secrets": {"vault/redact"},
    "defusedxml": {"exchange/junit"},
    "fcntl": {"vault/held"},
    "click": {"cli"},
    "rich": {"cli"},
    "watchdog": {"daemon"},
    "anthropic": {"judge/claude"},
    "wordllama": {"vault/meaning"},
    "numpy": {"learning/lift", "vault/meaning"},
}
# Words and rules are pure: no files, no processes, no clock, no chance.
IMPURE = {"os", "pathlib", "subprocess", "time", "random", "socket", "shutil", "tempfile", "uuid"}


def _modules() -> list[str]:
    return sorted(str(p.relative_to(PACKAGE).with_suffix("")) for p in PACKAGE.rglob("*.py"))


def _imports(module: str) -> Iterator[str]:
    tree = ast.parse((PACKAGE / f"{module}.py").read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            if node.module and node.module.startswith("skillvault"):
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _room(module: str) -> str:
    """The top-level room: `records`, `learning`, `vault`, …"""
    return module.split("/", maxsplit=1)[0]


def _seen(module: str) -> set[str]:
    """The rooms of the house that a module imports."""
    names = [name.split(".") for name in _imports(module) if name.startswith("skillvault.")]
    rooms = {parts[1] for parts in names}
    return {r for r in rooms if (PACKAGE / r).is_dir() or (PACKAGE / f"{r}.py").is_file()}


def _allowed(module: str) -> set[str]:
    room = _room(module)
    everything = {_room(m) for m in _modules()}
    if room in WORDS:
        return WORDS
    if room in {"learning", "vault", "judge", "exchange"}:
        return WORDS | {room}
    if room in {"steps", "run", "judges", "gate", "questions", "serving", "doctor"}:
        return everything - DOORS
    return everything


@pytest.mark.parametrize("module", _modules())
def test_imports_only_go_down(module: str) -> None:
    assert _seen(module) <= _allowed(module)


@pytest.mark.parametrize("module", _modules())
def test_each_library_has_one_home(module: str) -> None:
    for name in _imports(module):
        homes = HOMES.get(name.split(".")[0])
        assert homes is None or module in homes or _room(module) in homes, name


@pytest.mark.parametrize("module", [m for m in _modules() if _room(m) in WORDS | {"learning"}])
def test_words_and_rules_are_pure(module: str) -> None:
    assert not {name.split(".")[0] for name in _imports(module)} & IMPURE


@pytest.mark.parametrize("module", [m for m in _modules() if _room(m) in WORDS | {"learning"}])
def test_words_and_rules_ask_no_clock_and_open_no_file(module: str) -> None:
    for node in ast.walk(ast.parse((PACKAGE / f"{module}.py").read_text())):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            assert name not in {"now", "utcnow", "today", "open", "input", "print"}, module


@pytest.mark.parametrize("module", _modules())
def test_every_module_says_what_it_is_for(module: str) -> None:
    tree = ast.parse((PACKAGE / f"{module}.py").read_text())
    assert ast.get_docstring(tree), module


@pytest.mark.parametrize("module", _modules())
def test_no_exception_is_swallowed(module: str) -> None:
    for node in ast.walk(ast.parse((PACKAGE / f"{module}.py").read_text())):
        if not isinstance(node, ast.ExceptHandler):
            continue
        names = (
            {n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)} if node.type else {""}
        )
        if names & {"", "Exception", "BaseException"}:
            assert any(isinstance(n, ast.Raise) and n.exc is None for n in node.body), module
        assert not all(isinstance(n, ast.Pass) for n in node.body), module
