"""Imports only go down the layers, and each library has one home."""

import ast
import re

from tests.measures import cycles, imported, imports, modules, tree

# From the lowest; a package imports only packages of the layers below, and itself.
LAYERS = (
    {"model"},
    {"learning"},
    {"vault", "judge", "exchange", "clients"},
    {"loop", "serving", "sessions"},
    {"review", "inspect", "team"},
    {"api", "cli", "daemon", "page", "__main__", "__init__"},
)
# The packages of these layers work together; those of the edges do not know each other.
TOGETHER = LAYERS[3:]
PURE = {"model", "learning"}
# Within these packages too, a part imports only those that follow it here.
ORDER = {
    "learning": [
        "why_not", "seed", "sync", "curate", "fact_review", "install", "next_version",
        "skill_stats", "assess", "corrections", "lint", "capture", "recommend", "merge", "refresh",
        "promote", "answer", "distill", "generate", "gate", "evaluate", "record", "advise",
        "accuracy", "effect", "expire", "account", "tries", "contrast", "rejection", "sections",
        "length", "naming", "rules",
    ],
    "vault": [
        "check", "provenance", "setup", "export_folder", "commit", "index", "code_base",
        "git", "files", "search", "spending", "disk", "failpoint", "arguments",
    ],
    "judge": ["client", "agent", "claude", "offline"],
}  # fmt: skip
HOMES = {
    "httpx2": {"exchange/fetch"},
    "git": {"vault/git"},
    "ahocorasick": {"vault/code_base", "vault/files"},
    "pygit2": {"vault/git"},
    "ctypes": {"vault/disk"},
    "sqlite3": {"vault/index", "vault/search", "vault/spending"},
    "yaml": {"model/text/strict_yaml"},
    "frontmatter": {"model/text/front_matter"},
    "anyascii": {"exchange/skills/agent_skills"},
    "markdown_it": {"model/text/markdown"},
    "defusedxml": {"exchange/junit"},
    "fcntl": {"vault/commit", "clients/notes"},
    "click": {"cli"},
    "mcp": {"cli"},
    "mcp_types": {"cli"},
    "pydantic": {"cli"},
    "rich": {"cli"},
    "jinja2": {"page/template"},
    "markupsafe": {"page"},
    "watchdog": {"daemon"},
    "anthropic": {"judge/claude"},
    "wordllama": {"vault/search"},
    "Stemmer": {"model/sameness/form"},
    "numpy": {"learning/contrast", "learning/effect", "vault/search"},
}
# Words and rules are pure: no files, no processes, no clock, no chance.
IMPURE = {"os", "pathlib", "subprocess", "time", "random", "socket", "shutil", "tempfile", "uuid"}
IMPURE_CALLS = {"now", "utcnow", "today", "open", "input", "print"}


def _pure() -> list[str]:
    """The modules of the two pure packages."""
    return [module for module in modules() if _package(module) in PURE]


def _package(module: str) -> str:
    """The top-level name: `model`, `learning`, `vault`, …"""
    return module.split("/", maxsplit=1)[0]


def _part(module: str) -> str:
    """The folder or module below a package: `index` of `vault/index/schema`; "" of an __init__."""
    return [*module.removesuffix("/__init__").split("/"), ""][1]


def _below(module: str) -> set[str]:
    """The packages that a module may import."""
    package = _package(module)
    layer = next(place for place, packages in enumerate(LAYERS) if package in packages)
    beside = LAYERS[layer] if LAYERS[layer] in TOGETHER else {package}
    return set().union(beside, *LAYERS[:layer])


def _parts_below(module: str) -> set[str]:
    """The parts of its own package that a module may import."""
    parts = ORDER[_package(module)]
    part = _part(module)
    return {"", part, *(parts[parts.index(part) :] if part in parts else parts)}


def _at_home(library: str, module: str) -> bool:
    homes = HOMES.get(library.split(".", maxsplit=1)[0])
    return homes is None or bool(homes & {module, _package(module), module.rpartition("/")[0]})


def _calls(module: str) -> set[str]:
    """The last names of the functions that a module calls."""
    calls = (node.func for node in ast.walk(tree(module)) if isinstance(node, ast.Call))
    return {getattr(func, "attr", getattr(func, "id", "")) for func in calls}


def _handlers(module: str) -> list[ast.ExceptHandler]:
    return [node for node in ast.walk(tree(module)) if isinstance(node, ast.ExceptHandler)]


def _swallows(handler: ast.ExceptHandler) -> bool:
    """A handler that does nothing, or one of every exception that does not raise it again."""
    nodes = ast.walk(handler.type) if handler.type else ()
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    broad = handler.type is None or bool(names & {"Exception", "BaseException"})
    raises = any(isinstance(node, ast.Raise) and node.exc is None for node in handler.body)
    return (broad and not raises) or all(isinstance(node, ast.Pass) for node in handler.body)


def _offenders(findings: dict[str, set[str]]) -> list[str]:
    """A line a module that breaks the rule, with what breaks it there."""
    return [f"{module}: {', '.join(sorted(names))}" for module, names in findings.items() if names]


def test_imports_only_go_down() -> None:
    upward = _offenders(
        {
            module: {name for name in imported(module) if _package(name) not in _below(module)}
            for module in modules()
        }
    )
    assert not upward, upward


def test_parts_of_a_package_import_only_those_below_them() -> None:
    upward = _offenders(
        {
            module: {
                name
                for name in imported(module)
                if _package(name) == _package(module) and _part(name) not in _parts_below(module)
            }
            for module in modules()
            if _package(module) in ORDER and module.count("/") and _part(module)
        }
    )
    assert not upward, upward


def test_the_order_names_every_part() -> None:
    for package, order in ORDER.items():
        parts = {_part(module) for module in modules() if _package(module) == package} - {""}
        assert parts == set(order)


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert not cycles()


def test_each_library_has_one_home() -> None:
    strays = _offenders(
        {
            module: {name for name in imports(module) if not _at_home(name, module)}
            for module in modules()
        }
    )
    assert not strays, strays


def test_records_and_rules_are_pure() -> None:
    impure = _offenders(
        {module: {name.split(".")[0] for name in imports(module)} & IMPURE for module in _pure()}
    )
    assert not impure, impure


def test_records_and_rules_ask_no_clock_and_open_no_file() -> None:
    impure = _offenders({module: _calls(module) & IMPURE_CALLS for module in _pure()})
    assert not impure, impure


def test_every_module_says_what_it_is_for() -> None:
    silent = [module for module in modules() if not ast.get_docstring(tree(module))]
    assert not silent, silent


def test_no_exception_is_swallowed() -> None:
    handlers = _offenders(
        {
            module: {f"line {node.lineno}" for node in _handlers(module) if _swallows(node)}
            for module in modules()
        }
    )
    assert not handlers, handlers


def test_no_query_numbers_its_values() -> None:
    """From Python 3.14 on sqlite3 refuses a sequence of values for `?1`."""
    numbered = [
        f"{module}: {node.value}"
        for module in modules()
        if _package(module) == "vault"
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.search(r"[ (]\?\d", node.value)
    ]
    assert not numbered, numbered
