"""Compiled expressions are found again by the next process, and nothing depends on the file."""

from __future__ import annotations

import ast
import marshal
import os
import re
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from session_memory import regex_cache
from session_memory.regex_cache import compiled

SOURCES = Path(regex_cache.__file__).parent
PROGRAM = """
import re
from session_memory import regex_cache
words = regex_cache.compiled(r"(?P<name>[a-z]+)-(\\d+)", re.IGNORECASE)
data = regex_cache.compiled(rb"\\bx{2,}")
print(words.sub(r"\\2-\\g<name>", "AB-12"), data.search(b"a xxx").span(), len(regex_cache._fresh))
"""
RIGHT = "12-AB (2, 5)"


def run(folder: Path, *options: str) -> str:
    """What the program prints: what was found, and how many expressions it had to compile."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, *options, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.strip()


def kept_in(folder: Path) -> Path:
    (path,) = folder.rglob("*.patterns*")
    return path


def sealed(body: bytes) -> bytes:
    return zlib.crc32(body).to_bytes(4, "little") + body


def listed(body: bytes) -> bytes:
    """A file whose list of expressions is this, without any."""
    return (len(body) + 4).to_bytes(4, "little") + sealed(body)


def test_the_next_process_compiles_nothing(tmp_path: Path) -> None:
    assert run(tmp_path) == f"{RIGHT} 2"
    assert run(tmp_path) == f"{RIGHT} 0"


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:100] + b"\xff" + data[101:],
        lambda data: listed(b"no marshal data"),
        lambda data: listed(marshal.dumps("something else")),
        lambda data: listed(marshal.dumps((("another Python", 0, 4), {}))),
    ],
)
def test_a_file_of_no_use_is_written_anew(tmp_path: Path, damage) -> None:
    run(tmp_path)
    path = kept_in(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    assert run(tmp_path) == f"{RIGHT} 2"
    assert run(tmp_path) == f"{RIGHT} 0"


@pytest.mark.parametrize("damage", [lambda data: data[:-40], lambda data: data[:-9] + b"damaged! "])
def test_a_damaged_expression_alone_is_compiled_again(tmp_path: Path, damage) -> None:
    run(tmp_path)
    path = kept_in(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    assert run(tmp_path) == f"{RIGHT} 1"
    assert run(tmp_path) == f"{RIGHT} 0"


def test_a_program_that_cannot_be_right_is_not_taken(tmp_path: Path) -> None:
    run(tmp_path)
    path = kept_in(tmp_path)
    data = path.read_bytes()
    python, lengths = marshal.loads(data[8:])
    start, wrong = int.from_bytes(data[:4], "little") + 4, dict[object, bytes]()
    for key, length in lengths.items():
        parts = marshal.loads(data[start + 4 : start + length])
        wrong[key] = sealed(marshal.dumps((parts[0], b"\xff" * 40, *parts[2:])))
        start += length
    head = marshal.dumps((python, {key: len(parts) for key, parts in wrong.items()}))
    path.write_bytes(listed(head) + b"".join(wrong.values()))
    assert run(tmp_path) == f"{RIGHT} 0"


def test_python_that_writes_no_bytecode_gets_no_file(tmp_path: Path) -> None:
    assert run(tmp_path, "-B") == f"{RIGHT} 2"
    assert not list(tmp_path.rglob("*.patterns*"))


def test_where_no_file_can_be_written_expressions_are_compiled_as_usual(tmp_path: Path) -> None:
    no_folder = tmp_path / "file"
    no_folder.write_bytes(b"")
    assert run(no_folder) == f"{RIGHT} 2"
    assert run(no_folder) == f"{RIGHT} 2"
    assert not list(tmp_path.rglob("*.patterns*"))


def test_an_expression_is_what_python_makes_of_it() -> None:
    for pattern, flags in (
        (r"(a)(?P<n>b)?|c", re.IGNORECASE),
        (r"(?x) a  # b", 0),
        (rb"[\w.]+", 0),
    ):
        ours, theirs = compiled(pattern, flags), re.compile(pattern, flags)
        assert ours == theirs
        assert (ours.groups, ours.groupindex) == (theirs.groups, theirs.groupindex)
    with pytest.raises(re.error):
        compiled("(")


def test_only_expressions_of_the_program_are_kept() -> None:
    """One that is made of a user's words would leave them in the file."""
    callers = [
        f"{path.relative_to(SOURCES)}:{function.name}"
        for path in sorted(SOURCES.rglob("*.py"))
        if "compiled" in (text := path.read_text(encoding="utf-8"))  # few files have to be parsed
        for function in ast.walk(ast.parse(text))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "compiled"
    ]
    assert callers == [
        "core/project/path_shape.py:_cached",
        "core/text/searchable.py:_no_blanks",
        "distil/cued_patterns.py:_compiled",
    ]


def test_our_expressions_are_the_same_in_every_process() -> None:
    """Words out of a set stand in another order each time, and would be compiled each time."""
    program = (
        "import session_memory.redact, session_memory.distil.sessions\n"
        "from session_memory import regex_cache\n"
        "print(*sorted(map(repr, {*regex_cache._stored(), *regex_cache._fresh})), sep='\\n')"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-B", "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPYCACHEPREFIX": "/nowhere"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1
    assert len(outputs.pop().splitlines()) > 100
