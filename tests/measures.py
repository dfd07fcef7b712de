"""The measures of the code: names, sizes, imports. `python -m tests.measures` prints them."""

import argparse
import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parent.parent / "skillvault"
# Words that say nothing of what a variable holds.
PLACEHOLDERS = frozenset(
    "found one said told known each made wanted left given asked got gone item items thing things"
    " stuff obj tmp temp foo ret res val".split()
)
# Tokens that are no code.
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


class Place(NamedTuple):
    """A name and where it stands."""

    name: str
    module: str
    line: int

    def __str__(self) -> str:
        return f"{self.module}:{self.line} {self.name}"


@cache
def modules() -> list[str]:
    """Return the path of each module below the package, without its ending, sorted."""
    return sorted(str(p.relative_to(PACKAGE).with_suffix("")) for p in PACKAGE.rglob("*.py"))


def text_of(module: str) -> str:
    """Return the source of a module."""
    return (PACKAGE / f"{module}.py").read_text(encoding="utf-8")


@cache
def tree(module: str) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(text_of(module))


@cache
def functions(module: str) -> list[_Function]:
    """Every function of a module, methods and inner ones included."""
    return [node for node in ast.walk(tree(module)) if isinstance(node, _FUNCTION)]


def _own(function: _Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function without those of its inner functions."""
    nodes: list[ast.AST] = [*function.body]
    while nodes:
        node = nodes.pop()
        yield node
        if not isinstance(node, (*_FUNCTION, ast.ClassDef)):
            nodes += ast.iter_child_nodes(node)


def local_names(module: str) -> Iterator[Place]:
    """Yield the parameters and variables of each function, each name once a function."""
    for function in functions(module):
        arguments = function.args
        lines = {
            argument.arg: argument.lineno
            for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            if argument.arg not in {"self", "cls"}
        }
        for node in _own(function):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                lines.setdefault(node.id, node.lineno)
        yield from (Place(name, module, line) for name, line in lines.items())


def placeholders() -> tuple[list[Place], int]:
    """Return (the local names that say nothing, the number of all local names)."""
    names = [place for module in modules() for place in local_names(module)]
    return [place for place in names if place.name in PLACEHOLDERS], len(names)


def repeated_functions(modules_each: int = 4) -> dict[str, set[str]]:
    """Return each function name that several modules define, with its modules.

    Dunders are left out, and the methods of a protocol's implementations are not.
    """
    homes: defaultdict[str, set[str]] = defaultdict(set)
    for module in modules():
        for function in functions(module):
            if not function.name.startswith("__"):
                homes[function.name].add(module)
    return {name: at for name, at in sorted(homes.items()) if len(at) >= modules_each}


def repeated_classes() -> dict[str, set[str]]:
    """Return each class name that two or more modules define, with its modules."""
    homes: defaultdict[str, set[str]] = defaultdict(set)
    for module in modules():
        for node in ast.walk(tree(module)):
            if isinstance(node, ast.ClassDef):
                homes[node.name].add(module)
    return {name: at for name, at in sorted(homes.items()) if len(at) > 1}


def class_sizes() -> list[tuple[int, Place]]:
    """(methods, class) of every class, the largest first."""
    sizes = [
        (sum(isinstance(child, _FUNCTION) for child in node.body),
         Place(node.name, module, node.lineno))
        for module in modules()
        for node in ast.walk(tree(module))
        if isinstance(node, ast.ClassDef)
    ]  # fmt: skip
    return sorted(sizes, reverse=True)


def _is_command(function: _Function) -> bool:
    """Return True for a function that click calls, which has one argument for each option."""
    decorators = map(ast.unparse, function.decorator_list)
    return any(word in text for text in decorators for word in ("click", "option", "command"))


def many_arguments(most: int = 4) -> list[Place]:
    """Return the functions with more than `most` positional arguments, click's left out."""
    places = []
    for module in modules():
        for function in functions(module):
            names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
            count = len([name for name in names if name not in {"self", "cls"}])
            if count > most and not _is_command(function):
                places.append(Place(function.name, module, function.lineno))
    return places


def inner_imports() -> list[Place]:
    """The imports that stand inside functions."""
    return [
        Place(ast.unparse(node), module, node.lineno)
        for module in modules()
        for function in functions(module)
        for node in _own(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]


def imports(module: str) -> Iterator[str]:
    """The dotted names that a module imports, at its top, in functions, for types only."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            if node.module and node.module.startswith("skillvault"):
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def imported(module: str) -> frozenset[str]:
    """The modules of the package that a module imports."""
    paths = {name.removeprefix("skillvault.").replace(".", "/") for name in imports(module)}
    return frozenset(paths.intersection(modules()) - {module})


def cycle(module: str) -> list[str]:
    """Return the modules by which a module imports itself, or none."""
    trails = [[name] for name in imported(module)]
    seen: set[str] = set()
    while trails:
        trail = trails.pop()
        if trail[-1] == module:
            return trail
        if trail[-1] not in seen:
            seen.add(trail[-1])
            trails += [[*trail, name] for name in imported(trail[-1])]
    return []


def cycles() -> dict[str, list[str]]:
    """Return, for each module that imports itself, the trail by which it does."""
    return {module: trail for module in modules() if (trail := cycle(module))}


# ── size ─────────────────────────────────────────────────────────────────────────────


def packages() -> list[str]:
    """Every package of the first level, and `(top)` for the modules beside them."""
    return sorted({_package(module) for module in modules()})


def _package(module: str) -> str:
    return module.split("/", maxsplit=1)[0] if "/" in module else "(top)"


def code_lines(package: str) -> int:
    """The lines of a package's code, without blanks, comments and docstrings."""
    return sum(_code_lines(module) for module in modules() if _package(module) == package)


def _code_lines(module: str) -> int:
    text = text_of(module)
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in _documented(tree(module)):
        if ast.get_docstring(node, clean=False) is not None:
            lines.difference_update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(lines)


def all_lines(module: str) -> int:
    """The lines of a module, whatever stands in them."""
    return len(text_of(module).splitlines())


def importers() -> dict[str, set[str]]:
    """Module -> the modules of the package that import it."""
    users: dict[str, set[str]] = {module: set() for module in modules()}
    for module in modules():
        for name in imported(module):
            users[name].add(module)
    return users


# They are entries of a registry: commands, steps, formats.
_ENTRIES = ("cli/", "loop/", "exchange/", "seed_skills/")


def with_one_importer() -> list[str]:
    """The modules that exactly one other imports, entries of registries apart."""
    return [
        module
        for module, users in importers().items()
        if len(users) == 1 and not module.startswith(_ENTRIES) and not module.endswith("__init__")
    ]


# ── language ─────────────────────────────────────────────────────────────────────────

# Local names that are no nouns.
NO_NOUNS = frozenset(
    "found one said known each told made wanted left rest again asked gone seen taken given meant"
    " stands before after own other others kept ours theirs new old shown read whole ended now"
    " together every apart alike there what behind near fresh some held due put borne bare far"
    " often then who such same all none beside above below further until yet still anew lasting"
    " looked written worded marked counted named placed ordered joined".split()
)
_QUESTION = re.compile(r"(What|Which|Whose|Whether|How|When|Where|Those|If|The one)\b")
_PARTICIPLE = re.compile(r"_?[a-z]+(ed|en|wn|ld|id|ft|pt)")
_PREPOSITION = re.compile(r"_(in|by|at|as|for|on|to|from|with|of_all)$")
_NO_NOUN_CLASS = re.compile(
    r"_?([A-Z][a-z]*(ed|en|wn|rne|old|aid|ept|eld)|Elsewhere|Apart|Beside|Alike|Together)$"
)


def _documented(tree: ast.Module) -> Iterator[ast.Module | ast.ClassDef | _Function]:
    """The nodes of a module that may have a docstring."""
    kinds = (ast.Module, ast.ClassDef, *_FUNCTION)
    return (node for node in ast.walk(tree) if isinstance(node, kinds))


@cache
def docstrings() -> list[str]:
    """Every docstring of the package, its tests and its benches."""
    root = PACKAGE.parent
    paths = (
        path for top in (PACKAGE.name, "tests", "bench") for path in (root / top).rglob("*.py")
    )
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in sorted(paths))
    nodes = (node for each in trees for node in _documented(each))
    return [text for node in nodes if (text := ast.get_docstring(node))]


def docstrings_of_questions() -> list[str]:
    """The docstrings that open with What, Which, Whether, How or their like."""
    return [text for text in docstrings() if _QUESTION.match(text)]


def local_names_in_all() -> list[Place]:
    """The local names of every function of the package."""
    return [place for module in modules() for place in local_names(module)]


def function_names() -> list[str]:
    """The name of each function, as often as it is defined."""
    return [function.name for module in modules() for function in functions(module)]


def participles() -> list[str]:
    """The functions that are named by a bare participle."""
    return [name for name in function_names() if _PARTICIPLE.fullmatch(name)]


def prepositions() -> list[str]:
    """The functions whose names end in a preposition, `x_of` excepted."""
    return [name for name in function_names() if _PREPOSITION.search(name)]


def classes_without_noun() -> list[str]:
    """The classes that are named by a participle or an adverb."""
    return [
        node.name
        for module in modules()
        for node in ast.walk(tree(module))
        if isinstance(node, ast.ClassDef) and _NO_NOUN_CLASS.fullmatch(node.name)
    ]


def _lines(homes: Mapping[str, Iterable[str]]) -> list[str]:
    return [f"{name}: {', '.join(sorted(at))}" for name, at in homes.items()]


def measures() -> dict[str, tuple[str, list[str]]]:
    """Return each measure by its name: the figure and its places."""
    empty, count = placeholders()
    sizes = class_sizes()
    return {
        "placeholder local names": (
            f"{100 * len(empty) / count:.1f} % of {count}", list(map(str, empty))),
        "function names in four or more modules": (
            str(len(repeated_functions())), _lines(repeated_functions())),
        "class names in two or more modules": (
            str(len(repeated_classes())), _lines(repeated_classes())),
        "methods of the largest class": (
            f"{sizes[0][0]} ({sizes[0][1]})", [f"{n} {place}" for n, place in sizes[:10]]),
        "functions with more than four positional arguments": (
            str(len(many_arguments())), list(map(str, many_arguments()))),
        "imports inside functions": (str(len(inner_imports())), list(map(str, inner_imports()))),
        "modules in an import cycle": (str(len(cycles())), _lines(cycles())),
        "modules": (str(len(modules())), []),
    }  # fmt: skip


def main() -> None:
    """Print the measures; `--list` prints their places."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print where each stands")
    places = parser.parse_args().list
    for name, (figure, lines) in measures().items():
        print(f"{name}: {figure}")
        if places:
            print("".join(f"    {line}\n" for line in lines), end="")


if __name__ == "__main__":
    main()
