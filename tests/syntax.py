"""What the tests about our own files look at, read once per file and process."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Function(NamedTuple):
    """A function that a file defines."""

    name: str
    is_async: bool
    lines: int
    parameters: int
    """How many are told apart by their order; those given by name explain themselves."""


class Claim(NamedTuple):
    """A `pytest.mark.rows(...)`."""

    line: int
    rows: tuple[object, ...]


class Syntax(NamedTuple):
    """The little that is kept of a file's tree: all trees together would fill the memory."""

    docstring: str | None
    imports: frozenset[str]
    """Modules that it imports; of `from package import name` also `package.name`."""
    functions: tuple[Function, ...]
    claims: tuple[Claim, ...]


@cache
def syntax_of(path: Path) -> Syntax:
    """Read a file once: no test changes our files, so none can change what another gets."""
    tree = ast.parse(path.read_bytes())
    imports: set[str] = set()
    functions: list[Function] = []
    claims: list[Claim] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imports |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            functions.append(_function(node))
        elif isinstance(node, ast.Call) and _is_claim(node.func):
            claims.append(Claim(node.lineno, tuple(map(_constant, node.args))))
    return Syntax(ast.get_docstring(tree), frozenset(imports), tuple(functions), tuple(claims))


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Function:
    names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    lines = (node.end_lineno or node.lineno) - node.lineno
    parameters = len(names) - (names[:1] in (["self"], ["cls"]))
    return Function(node.name, isinstance(node, ast.AsyncFunctionDef), lines, parameters)


def _is_claim(function: ast.expr) -> bool:
    is_rows = isinstance(function, ast.Attribute) and function.attr == "rows"
    return is_rows and ast.unparse(function) == "pytest.mark.rows"


def _constant(argument: ast.expr) -> object:
    """What is written out; None for anything that would have to be worked out."""
    return argument.value if isinstance(argument, ast.Constant) else None
