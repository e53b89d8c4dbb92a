"""The last redaction of all text that leaves: private parts, secrets, paths of this machine.

What is stored was redacted when it came in, by the rules of that day. Here the rules of today run
once more, over everything, and names of directories become what they are to the repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, cast

import msgspec

from session_memory.core.text.safe_text import stripped
from session_memory.redact import Redactor, drop_private, render

# Home directories of anybody, as paths and as some agents write them into names of folders.
_HOMES = re.compile(
    r"(?:/home/|/Users/|[A-Za-z]:[\\/]+Users[\\/]+)[^/\\\s\"':]+"
    r"|/root(?=/|$|[\s\"':])"
    r"|(?<![\w.])-(?:home|Users)-[A-Za-z0-9_]+"
)


class Border:
    """Cleans what leaves from one project."""

    def __init__(self, redactor: Redactor, roots: Iterable[str], home: str = "") -> None:
        self._redactor = redactor
        # The longest first: a worktree may lie inside the repository.
        places = sorted({root.rstrip("/\\") for root in roots}, key=lambda root: (-len(root), root))
        self._places = [place for place in places if len(place) > 1]
        self._home = home.rstrip("/\\")

    def text(self, text: str) -> str:
        """The text as another person may read it."""
        text, _ = drop_private(text)
        # First by the rules that see paths as they are, then again: a shorter line may show more.
        clean = self._relative(render(self._redactor.redact_text(stripped(text))))
        return render(self._redactor.redact_text(clean))

    def value(self, value: Any) -> Any:
        """A document of texts, lists and tables, with every text and every name in it cleaned."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list | tuple):
            return [self.value(item) for item in cast("list[Any]", value)]
        if isinstance(value, dict):
            table = cast("dict[str, Any]", value)
            return {self.text(name): self.value(item) for name, item in table.items()}
        return value

    def struct(self, value: msgspec.Struct) -> dict[str, Any]:
        """A value as a clean document; fields that hold secrets by their name are redacted too."""
        plain = msgspec.json.encode(msgspec.to_builtins(value, str_keys=True))
        return self.value(msgspec.json.decode(self._redactor.redact_json(plain)))

    def _relative(self, text: str) -> str:
        for root in self._places:
            text = text.replace(f"{root}/", "").replace(f"{root}\\", "")
            text = re.sub(rf"{re.escape(root)}(?![\w.-])", ".", text)
            dashed = root.replace("/", "-")
            text = re.sub(rf"(?<![\w.]){re.escape(dashed)}(?![\w.])", ".", text)
        if len(self._home) > 1:
            text = re.sub(rf"{re.escape(self._home)}(?![\w.-])", "~", text)
        return _HOMES.sub("~", text)
