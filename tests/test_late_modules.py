"""Modules that are loaded late are what they would be otherwise, for whoever uses them first."""

from __future__ import annotations

import subprocess
import sys

import pytest

from session_memory.late_modules import LATE

START = (
    "import sys, threading\n"
    "from session_memory.late_modules import load_late\n"
    "load_late(); load_late()\n"
)


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", START + program], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("name", sorted(LATE))
def test_a_late_module_is_the_same_module(name: str) -> None:
    facts = (
        f"import importlib; module = importlib.import_module({name!r})\n"
        "facts = (module.__name__, module.__file__, module.__spec__.origin, module.__package__)\n"
        "names = sorted(name for name in dir(module) if name != '_late_loader')\n"
    )
    told = "print(facts, names, type(module).__name__, type(module.__loader__).__name__)"
    late = run(
        f"{facts}assert not {{'Any', 'sys', 're', 'functools'}} & {{*vars(module)}}, 'too early'\n"
        f"getattr(module, 'Any', None); {facts}{told}"
    )
    plain = subprocess.run(
        [sys.executable, "-c", facts + told], capture_output=True, text=True, check=True
    )
    assert late == plain.stdout.strip()


def test_importing_it_again_does_not_load_it_and_taking_a_name_does() -> None:
    program = (
        "import inspect\nimport inspect as again\n"
        "print('ast' in sys.modules)\n"
        "from inspect import cleandoc\n"
        "print('ast' in sys.modules, again.cleandoc is cleandoc, hasattr(inspect, 'nothing'))"
    )
    assert run(program).split() == ["False", "True", "True", "False"]


def test_threads_that_ask_at_once_all_get_it() -> None:
    program = (
        "import inspect\n"
        "start, found = threading.Barrier(8), []\n"
        "def ask():\n"
        "    start.wait(); found.append(inspect.Signature)\n"
        "threads = [threading.Thread(target=ask) for _ in range(8)]\n"
        "[thread.start() for thread in threads]; [thread.join() for thread in threads]\n"
        "print(len(found), len(set(found)))"
    )
    assert run(program) == "8 1"


def test_typing_extensions_can_be_imported_by_others() -> None:
    pytest.importorskip("typing_extensions")
    assert run("import typing_extensions, msgspec\nprint(typing_extensions.TypedDict)")
