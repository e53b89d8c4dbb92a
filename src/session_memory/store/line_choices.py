"""Decisions of a person on the lines of a project's briefing for new sessions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.errors import Refused
from session_memory.paths import private_dir
from session_memory.store.json_files import read_json_file

FILE = "told.json"
LINE_CHARS = 400
_FIGURES = re.compile(r"\d+")

Choice = Literal["pin", "correct", "retire"]


class LineChoice(msgspec.Struct, frozen=True):
    """One decision on a line: always show it, reword it, or retire it."""

    project: str
    line: str
    """As it was shown; its figures may change, and it is still the same line."""
    choice: Choice
    text: str = ""
    """The corrected words."""

    @property
    def wording(self) -> str:
        """The words that are shown."""
        return self.text or self.line


def read_choices(data: Path, project: str | None = None) -> list[LineChoice]:
    """All decisions, or those on one project; none where there is no file."""
    hint = "delete that file; the decisions on lines are lost"
    choices = read_json_file(data / FILE, list[LineChoice], hint) or []
    return [each for each in choices if project in (None, each.project)]


def choose(data: Path, choice: LineChoice) -> None:
    """Keep a decision in place of an earlier one on the same line."""
    if choice.choice == "correct" and not 0 < len(choice.text) <= LINE_CHARS:
        raise Refused(f"a line has 1 to {LINE_CHARS} characters")
    take_back(data, choice.project, choice.line)
    _write(data, [*read_choices(data), choice])


def take_back(data: Path, project: str, line: str) -> None:
    """Drop the decision on a line: sessions decide again whether it is shown."""
    drop_choices(data, lambda each: each.project == project and is_same(each.line, line))


def drop_choices(data: Path, unwanted: Callable[[LineChoice], bool]) -> None:
    """Drop decisions."""
    before = read_choices(data)
    left = [each for each in before if not unwanted(each)]
    if len(left) < len(before):
        _write(data, left)


def is_same(line: str, other_line: str) -> bool:
    """Whether two lines differ in figures alone, such as how many sessions showed it."""
    return _FIGURES.sub("0", line) == _FIGURES.sub("0", other_line)


def as_chosen(
    lines: Sequence[str], choices: Sequence[LineChoice]
) -> list[tuple[str, LineChoice | None]]:
    """The lines to show, with the decision on each; pinned ones even if no session shows them."""
    chosen: list[tuple[str, LineChoice | None]] = []
    for line in lines:
        choice = next((each for each in choices if is_same(each.line, line)), None)
        if choice is None:
            chosen.append((line, None))
        elif choice.choice != "retire":
            chosen.append((choice.text or line, choice))
    shown = {choice.line for _, choice in chosen if choice}
    lasting = [each for each in choices if each.choice != "retire" and each.line not in shown]
    return [*chosen, *((each.wording, each) for each in lasting)]


def _write(data: Path, choices: list[LineChoice]) -> None:
    replace_file(private_dir(data) / FILE, msgspec.json.encode(choices))
