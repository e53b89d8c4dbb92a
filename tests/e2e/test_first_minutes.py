"""The first five minutes at a terminal, screen by screen, as a person has approved them.

`make screens` writes the screens anew; look at each before you commit it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

if sys.platform != "linux":
    pytest.skip("folders for temporary files have longer names there", allow_module_level=True)

from tests.e2e.first_minutes_scene import Desk
from tests.e2e.pseudo_terminal import Seat, at_terminal

SCREENS = Path(__file__).parent / "screens"
VARIES = (
    (re.compile(r"\b[\d.,]+ ([KMGT]i)?B\b"), "# KiB"),
    (re.compile(r"\b\d+ ms\b"), "# ms"),
    (re.compile(r"\b\d+\.\d s\b"), "# s"),
    (re.compile(r"schema \d+"), "schema #"),
    (re.compile(r"data \(\w+\)"), "data (disk)"),
    (re.compile(r"(by|seal)=[0-9a-f]+"), r"\1=#"),
    # A busy machine starts our server late, and is told so.
    (re.compile(r"warn( +mcp .*)\n +fix: agents may start without our tools.*"), r"pass\1"),
    (re.compile(r"\b\d+ fine, \d+ warnings?"), "# fine, # warnings"),
    (re.compile(r"\b\d+ tools"), "# tools"),
    (re.compile(r"\b\d+ keys have"), "# keys have"),
)


class Step(NamedTuple):
    """A command, what is typed at its prompts, and the name of the screen it leaves."""

    screen: str
    command: str
    answers: tuple[tuple[str, str], ...] = ()
    code: int = 0


STEPS = (
    Step("01-nothing-yet", "session-memory"),
    Step("02-init", "session-memory init", (("[y/N", "y\n"),)),
    Step("03-sweep", "session-memory sweep"),
    Step("04-alone", "session-memory"),
    Step("05-status", "session-memory status"),
    Step("06-sessions", "session-memory sessions"),
    Step("07-search", "session-memory search double discount"),
    Step("08-show", "session-memory show 1"),
    Step("09-fix", "session-memory fix No module named shop"),
    Step("10-usage", "session-memory usage"),
    Step("11-pack", "session-memory project pack --project shop"),
    Step("12-rules", "session-memory rules"),
    Step("13-detect", "session-memory rules detect"),
    Step(
        "14-review",
        "session-memory rules review",
        (("[q]uit: ", "y\n"), ("[q]uit: ", "q\n"), ("[y/N]", "y\n")),
    ),
    Step("15-stages", "session-memory rules stages"),
    Step("18-observations", "session-memory project observations --project shop"),
    Step("19-settings", "session-memory config set retention.raw_max_age_days 90"),
    Step("20-settings-shown", "session-memory config"),
    Step("21-commands", "session-memory --help"),
    Step("22-topics", "session-memory help"),
    Step("23-wrong", "session-memory aprove 1", code=2),
    Step("24-withdraw", "session-memory rules withdraw --all"),
    Step("16-doctor", "session-memory doctor", code=3),
    Step("17-uninstall", "session-memory uninstall", (("[y/N", "y\n"),)),
)


@pytest.fixture
def desk() -> Iterator[Desk]:
    root = Path(tempfile.mkdtemp(prefix="sm-", dir="/tmp"))
    yield Desk(root)
    shutil.rmtree(root)


@pytest.mark.rows("CLI-09")
@pytest.mark.parametrize("columns", [80, 120])
def test_every_screen_is_the_one_that_was_looked_at(desk: Desk, columns: int) -> None:
    rewrite = bool(os.environ.get("REWRITE_SCREENS"))
    different: list[str] = []
    for step in STEPS:
        seat = Seat(desk.environ(), desk.home, columns)
        seen = at_terminal(seat, shlex.split(step.command), step.answers)
        text = seen.screen.replace(str(desk.root), "/tmp/sm-........")
        for pattern, constant in VARIES:
            text = pattern.sub(constant, text)
        text = f"$ {step.command}\n{text}"
        path = SCREENS / f"{step.screen}.{columns}.txt"
        if rewrite:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            different.append(f"{path.name} is now:\n{text}")
        assert seen.code == step.code, text
        assert max(map(len, seen.screen.splitlines())) <= columns
    assert not different, "\n".join(different)
