"""Help that fits narrow terminals: click folds neither examples nor long choices of options."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import click

from session_memory.cli.terminal import NARROWEST, fold, hanging

_AS_IS = "\b"
"""Click prints the paragraph below such a line as it is."""


class HelpFormatter(click.HelpFormatter):
    """Click's own, which also folds examples and choices."""

    def write_text(self, text: str) -> None:
        """A paragraph or several, as wide as there is room."""
        room = max(self.width - self.current_indent, 11)
        super().write_text("\n".join(_folded(text, room)))

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """Options or commands, each with its description next to it, or below if narrow."""
        pairs, indent = list(rows), " " * self.current_indent
        at = min(max(len(name) for name, _ in pairs), col_max) + col_spacing
        if self.width - len(indent) - at < NARROWEST:
            at = 6
        for name, text in pairs:
            *above, last = _folded_choices(name, self.width - len(indent))
            if len(last) > at - col_spacing:
                above, last = [*above, last], ""
            lines = [f"{indent}{line}" for line in above]
            if text or last:
                lines += hanging(f"{indent}{last:<{at}}", text, self.width)
            self.write("".join(f"{line.rstrip()}\n" for line in lines))


def _folded_choices(name: str, room: int) -> list[str]:
    lines = fold(name.replace("|", "| "), room)
    return [line.replace("| ", "|") for line in lines]


class HelpContext(click.Context):
    """A context whose help fits."""

    formatter_class = HelpFormatter

    def make_formatter(self) -> click.HelpFormatter:
        """Before help is made: the words that it uses are explained below it."""
        from session_memory.cli.terms import explain_terms  # for help alone

        explain_terms(self.command)
        return super().make_formatter()


def _folded(text: str, room: int) -> Iterator[str]:
    as_is = False
    for line in text.split("\n"):
        as_is = line == _AS_IS or (as_is and bool(line.strip()))
        if not as_is or len(line) <= room:
            yield line
            continue
        content = line.lstrip()
        indent = line[: len(line) - len(content)]
        command, *about = re.split(r"\s{2,}", content, maxsplit=1)
        yield from hanging(indent, command, room)
        for words in about:
            yield from hanging(f"{indent}    ", words, room)
