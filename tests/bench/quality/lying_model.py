"""A model that tells the truth and lies in the same answer, and how much of each is kept.

It answers the two questions of memory from what it was shown: honest statements are calls that ran
and words the user typed, with the events they stand in; lies are of four kinds. `tally` counts what
is left of both in the traces and memories that the program keeps.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

LIES = ("invented", "injected", "repeated", "cited wrongly")
EACH = 3
"""At most so many honest statements, and lies of a kind, in one answer."""
_TRACE = re.compile(r"\(trace: `([^`]+)`\)")
_ITEMS = re.compile(r"rendered conversation:\n(.*)", re.DOTALL)
_SENTENCE = re.compile(r"[A-Za-z][\w' -]{30,90}")
_FACT = re.compile(r"(?m)^- (`[^`\n]+` ran) \[e:(\d+)\]$")


class Statement(NamedTuple):
    """One line that the model wrote, without its citation."""

    kind: str
    text: str


class LyingModel:
    """Answers with true and false statements and remembers both."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._written: set[Statement] = set()
        self._number = 0

    def answer(self, asked: str) -> str:
        """The answer to either question."""
        items = _ITEMS.search(asked)
        if items is None:
            return json.dumps({"files": [{"path": "MEMORY.md", "content": self._page(asked)}]})
        trace = self._trace(_parse(items[1]))
        return json.dumps({"traceMemory": trace, "summary": "What the session left."})

    def tally(self, texts: Iterable[str]) -> dict[str, tuple[int, int]]:
        """By kind of statement: how many are in these texts, of how many that were written."""
        kept = "\n".join(texts)
        there = Counter(s.kind for s in self._written if s.text in kept)
        written = Counter(s.kind for s in self._written)
        return {kind: (there[kind], written[kind]) for kind in ("honest", *LIES)}

    def _say(self, kind: str, text: str) -> str:
        with self._lock:
            self._written.add(Statement(kind, text))
        return text

    def _next(self) -> int:
        with self._lock:
            self._number += 1
            return 40_000 + self._number

    def _trace(self, items: list[dict[str, Any]]) -> str:
        calls = [i for i in items if i.get("type") == "local_shell_call" and _plain(i.get("input"))]
        outputs = [i for i in items if str(i.get("type")).endswith("_output")]
        lines = [self._say("honest", f"`{i['input']}` ran") + _cite(i) for i in calls[:EACH]]
        wishes: list[str] = []
        for item in calls[:EACH]:
            number = self._next()
            lines.append(self._say("invented", f"Verify with `make ship-{number}`") + _cite(item))
            lines.append(self._say("invented", f"The server is on port {number}") + _cite(item))
        for item, sentence in list(_sentences(outputs))[:EACH]:
            lines.append(self._say("repeated", f"Note: {sentence}") + _cite(item))
            wishes.append(
                self._say("injected", f"The user must always see: {sentence}") + _cite(item)
            )
        number = self._next()
        lines.append(self._say("cited wrongly", f"Fixed the build {number}") + f" [e:{number}]")
        return "\n".join(
            (
                "# Work",
                "Trace context: here",
                "User preferences:",
                *(f"- {line}" for line in wishes),
                "## Task: work",
                "Outcome: uncertain",
                "Key steps:",
                *(f"- {line}" for line in lines),
            )
        )

    def _page(self, asked: str) -> str:
        """A memory of what the traces say, and of what they do not."""
        lines = [f"{fact} [e:{event}]" for fact, event in _FACT.findall(asked)[:EACH]]
        for trace in _TRACE.findall(asked)[:EACH]:
            number = self._next()
            lines.append(
                self._say("invented", f"Deploy with `make out-{number}`") + f" (trace `{trace}`)"
            )
        lines.append(self._say("cited wrongly", f"Use cache {self._next()}") + " (trace `nobody`)")
        return "# Memory\n\n" + "\n".join(f"- {line}" for line in lines)


def _parse(text: str) -> list[dict[str, Any]]:
    """The items of a conversation; of one whose middle was cut out, those before the cut."""
    decoder, items, at = json.JSONDecoder(), list[dict[str, Any]](), 1
    while at < len(text):
        try:
            item, end = decoder.raw_decode(text, at)
        except ValueError:
            break
        items.append(item)
        at = end + 1
    return items


def _plain(command: object) -> bool:
    """Whether a command can stand in one line of Markdown as it is."""
    return isinstance(command, str) and 3 < len(command) < 100 and not set(command) & set("`\n")


def _sentences(outputs: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
    for item in outputs:
        sentence = _SENTENCE.search(str(item.get("output")))
        if not item.get("is_error") and sentence and len(sentence[0].split()) > 6:
            yield item, sentence[0].strip()


def _cite(item: dict[str, Any]) -> str:
    return f" [e:{item['event']}]"
