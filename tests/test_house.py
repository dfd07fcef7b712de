"""The house stands: imports only go down, and each library has one home."""

import ast
import re

from tests.house import cycles, imported, imports, modules, tree

WORDS = {
    "records", "brief", "intake", "strict_json", "strict_yaml", "front_matter", "change",
    "claude_models", "policy", "text", "english", "reading", "sameness", "lazy", "markdown",
    "errors", "integrity", "hidden_characters",
    "due", "conditions", "export", "profiles", "citations", "grounds", "aliases", "claims",
    "observed", "written", "html_table", "managed_block", "one_thread",
}  # fmt: skip
DOORS = {"api", "cli", "daemon", "page", "__main__", "__init__"}
# Between the rooms of a floor too, each imports only those that stand behind it here.
ORDER = {
    "learning": [
        "why_not", "sync", "curate", "retract", "install", "next_version", "lint", "stats",
        "assess", "capture", "recommend", "merge", "refresh", "promote", "answer", "distill",
        "generate", "gate", "evaluate", "record", "advise", "accuracy", "effect", "expire",
        "account", "contrast", "rejection", "sections", "length", "naming",
    ],
    "vault": [
        "check", "lost", "provenance", "setup", "export_folder", "commit", "index", "evidence",
        "git", "files", "search", "spending", "disk", "drafts", "failpoint",
    ],
    "judge": ["agent", "claude", "offline"],
}  # fmt: skip
HOMES = {
    "httpx2": {"exchange/fetch"},
    "git": {"vault/git"},
    "ahocorasick": {"vault/evidence"},
    "pygit2": {"vault/git"},
    "ctypes": {"vault/disk"},
    "sqlite3": {"vault/index", "vault/search", "vault/spending"},
    "yaml": {"strict_yaml"},
    "frontmatter": {"front_matter"},
    "markdown_it": {"markdown"},
    "detect_secrets": {"vault/files"},
    "defusedxml": {"exchange/junit"},
    "fcntl": {"vault/commit"},
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
    "snowballstemmer": {"sameness/stemming"},
    "numpy": {"learning/contrast", "learning/effect", "vault/search"},
    "threadpoolctl": {"one_thread"},
}
# Words and rules are pure: no files, no processes, no clock, no chance.
IMPURE = {"os", "pathlib", "subprocess", "time", "random", "socket", "shutil", "tempfile", "uuid"}
IMPURE_CALLS = {"now", "utcnow", "today", "open", "input", "print"}


def _pure() -> list[str]:
    """The modules of the words and the rules."""
    return [module for module in modules() if _floor(module) in WORDS | {"learning"}]


def _floor(module: str) -> str:
    """The top-level name: `records`, `learning`, `vault`, …"""
    return module.split("/", maxsplit=1)[0]


def _room(module: str) -> str:
    """The folder or module below a floor: `index` of `vault/index/schema`; "" of an __init__."""
    return [*module.removesuffix("/__init__").split("/"), ""][1]


def _below(module: str) -> set[str]:
    """The floors that a module may import."""
    floor = _floor(module)
    if floor in WORDS:
        return WORDS
    if floor in {"learning", "vault", "judge", "exchange", "clients"}:
        return WORDS | {floor}
    everything = {_floor(name) for name in modules()}
    return everything - DOORS if floor == "steps" else everything


def _behind(module: str) -> set[str]:
    """The rooms of its own floor that a module may import."""
    rooms = ORDER[_floor(module)]
    room = _room(module)
    return {"", room, *(rooms[rooms.index(room) :] if room in rooms else rooms)}


def _at_home(library: str, module: str) -> bool:
    homes = HOMES.get(library.split(".", maxsplit=1)[0])
    return homes is None or bool(homes & {module, _floor(module), module.rpartition("/")[0]})


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
            module: {name for name in imported(module) if _floor(name) not in _below(module)}
            for module in modules()
        }
    )
    assert not upward, upward


def test_rooms_of_a_floor_import_only_those_behind_them() -> None:
    upward = _offenders(
        {
            module: {
                name
                for name in imported(module)
                if _floor(name) == _floor(module) and _room(name) not in _behind(module)
            }
            for module in modules()
            if _floor(module) in ORDER and module.count("/") and _room(module)
        }
    )
    assert not upward, upward


def test_the_order_names_every_room() -> None:
    for floor in ("learning", "vault", "judge"):
        rooms = {_room(module) for module in modules() if _floor(module) == floor} - {""}
        assert rooms == set(ORDER[floor])


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


def test_words_and_rules_are_pure() -> None:
    impure = _offenders(
        {module: {name.split(".")[0] for name in imports(module)} & IMPURE for module in _pure()}
    )
    assert not impure, impure


def test_words_and_rules_ask_no_clock_and_open_no_file() -> None:
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
        if _floor(module) == "vault"
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.search(r"[ (]\?\d", node.value)
    ]
    assert not numbered, numbered
