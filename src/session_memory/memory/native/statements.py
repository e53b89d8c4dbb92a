"""What a file of instructions states, line by line: list items, sentences, commands in code."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from session_memory.core.text.own_text import BEGIN, END
from session_memory.memory.native.files import NativeFile

LONGEST = 2_000
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(.*\S)")
_MARKUP = re.compile(r"[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}")
_FENCE = re.compile(r"^\s*(```|~~~)\s*(\w*)")
_SHELL = ("", "sh", "bash", "shell", "console", "zsh")
_PROMPT = re.compile(r"^\s*[$%>]\s+")
_COMMENT = re.compile(r"\s+#.*$")


class Statement(msgspec.Struct, frozen=True):
    """One line of a file that says something."""

    file: NativeFile
    line: int
    """From 1."""
    text: str
    heading: str = ""
    is_code: bool = False
    """A line of a block of shell code: a command."""
    is_item: bool = False
    """A list item of its own line, which can go without breaking what is around it."""


def statements_of(file: NativeFile) -> list[Statement]:
    """The statements of a file, without our own block and without code that is no shell."""
    return list(_statements(file))


def _statements(file: NativeFile) -> Iterator[Statement]:
    heading, language, ours, front = "", None, False, False
    lines = file.text.splitlines()
    for number, whole in enumerate(lines, 1):
        line = whole if len(whole) <= LONGEST else ""  # no statement is as long
        if number == 1 and line.strip() == "---":
            front = True
        elif front:
            front = line.strip() != "---"
        elif BEGIN in line or END in line:
            ours = BEGIN in line
        elif fence := _FENCE.match(line):
            language = fence[2].lower() if language is None else None
        elif ours or not line.strip():
            continue
        elif language is not None:
            if language in _SHELL:
                command = _COMMENT.sub("", _PROMPT.sub("", line)).strip()
                if command and not command.startswith("#"):
                    yield Statement(file, number, command, heading, is_code=True)
        elif line.startswith("#"):
            heading = line.strip("# ").strip() if line.startswith("##") else ""  # or a title
        elif not line.lstrip().startswith(("|", "<!--", "@", ">")):
            item = _ITEM.match(line)
            text = _MARKUP.sub("", item[1] if item else line.strip())
            following = lines[number] if number < len(lines) else ""
            alone = item is not None and not (
                following.startswith((" ", "\t")) and following.strip()
            )
            yield Statement(file, number, text, heading, is_item=alone)
