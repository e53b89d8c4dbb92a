"""What an agent planned and decided: plan and todo tool calls, and labelled lines in its texts."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from session_memory.core.digest import is_whole_plan
from session_memory.core.text.masks import excerpt, window
from session_memory.distil.colons import before_colons
from session_memory.regex_cache import compiled

ITEM_CHARS = 200
_PLAN_CHARS = 64 * 1024
_MAX_TASKS = 500

_DONE = frozenset(("completed", "complete", "done", "cancelled", "canceled", "deleted", "removed"))
_CREATED = compiled(r"Task #(\w{1,20}) created")

_DECISION = compiled(
    r"^[ \t>*_#-]{0,8}(?:decision|decided|entscheidung)[*_ ]{0,3}:[*_ ]{0,3}(\S.{4,400})$"
    r"|^[ \t>*_-]{0,8}((?:we(?:'ll| will| are going to| decided to)|i decided to|let's) (?:use"
    r"|go with"
    r"|keep|switch to|stay with) .{2,200} (?:because|since|instead of|rather than) .{3,200})$",
    re.I | re.M,
)
_DECISION_CUES = (
    *("ecision", "ecided", "ntscheidung", "e'll", "we will ", "We will ", "et's ", "DECISION"),
    "e are going to ",
)
_CHOICE_CUES = ("e'll", "e will ", "et's ", "e are going to ", "ecided to ")
"""Each choice of one thing over another has one of these, before the others."""
_DECISION_ENDINGS = frozenset(("ion", "ded", "ung"))
_DECISION_WORDS = (
    *("decision", "decided", "entscheidung", "because", "since", "instead of", "rather than"),
)
_TODO = compiled(
    r"^[ \t>*_-]{0,8}(?:todo|open|remaining|still open|follow-?ups?|not done)[*_ ]{0,3}:[*_ ]{0,3}"
    r"(\S.{3,400})$",
    re.I | re.M,
)
_TODO_WORDS = ("todo", "open", "remaining", "follow", "not done")
"""Each label has one of them."""
_TODO_ENDINGS = frozenset(("odo", "pen", "ing", "-up", "wup", "ups", "one"))
"""And ends with one of these."""


class _Item(msgspec.Struct):
    content: str | None = None
    step: str | None = None
    description: str | None = None
    title: str | None = None
    subject: str | None = None
    status: str | None = None

    def words(self) -> str:
        return self.content or self.step or self.subject or self.title or self.description or ""


class _Plan(msgspec.Struct):
    todos: list[_Item | str] = []
    plan: list[_Item | str] = []


class _Task(msgspec.Struct):
    subject: str | None = None
    title: str | None = None
    taskId: str | int | None = None  # noqa: N815 - Claude Code's own spelling
    status: str | None = None


_PLAN_DECODER = msgspec.json.Decoder(_Plan)
_TASK_DECODER = msgspec.json.Decoder(_Task)


class PlanLog:
    """The plan as the calls so far leave it."""

    __slots__ = ("_calls", "_created", "_tasks", "_text")

    def __init__(self) -> None:
        self._text = ""
        self._tasks: dict[str, tuple[str, bool]] = {}
        self._created = 0
        self._calls: dict[str, str] = {}

    def call(self, tool: str, text: str, call_id: str | None) -> None:
        """Take in one plan call; `text` is its input as JSON."""
        name = _folded(tool)
        if len(text) > _PLAN_CHARS:
            return
        if is_whole_plan(tool):
            self._text = text
        elif name == "taskcreate" and len(self._tasks) < _MAX_TASKS:
            task = _task(text)
            # The result has the number; until then assume the next one, as Claude Code counts.
            self._created += 1
            number = str(self._created)
            self._tasks[number] = ((task.subject or task.title or "") if task else "", False)
            if call_id is not None:
                self._calls[call_id] = number
        elif name == "taskupdate":
            task = _task(text)
            number = str(task.taskId) if task else ""
            if task and number in self._tasks:
                words, done = self._tasks[number]
                done = task.status in _DONE if task.status else done
                self._tasks[number] = (task.subject or words, done)

    def result(self, call_id: str | None, text: str) -> None:
        """Correct the number of a created task by what its result says."""
        number = self._calls.pop(call_id, None) if self._calls and call_id else None
        match = _CREATED.search(text, 0, 200) if number is not None else None
        if number is not None and match is not None and match[1] != number:
            self._tasks[match[1]] = self._tasks.pop(number)

    def items(self) -> tuple[list[str], int]:
        """Open items in order, and how many are done."""
        stated = [*_plan_items(self._text), *self._tasks.values()]
        opened = [excerpt(words, ITEM_CHARS) for words, done in stated if not done and words]
        return opened, sum(1 for _, done in stated if done)


@lru_cache(maxsize=2)  # the digest and the observations read the same texts
def decisions_in(text: str) -> tuple[str, ...]:
    """Lines labelled as a decision, or that choose one thing over another with a reason."""
    # Cheap tests first: nearly every text has none.
    is_labelled = not _DECISION_ENDINGS.isdisjoint(before_colons(text))
    if not is_labelled and not any(map(text.__contains__, _CHOICE_CUES)):
        return ()
    if not any(map(text.__contains__, _DECISION_CUES)):
        return ()
    if not any(map(text.lower().__contains__, _DECISION_WORDS)):
        return ()
    matches = _DECISION.finditer(window(text))
    return tuple(excerpt(match[1] or match[2], ITEM_CHARS) for match in matches)


def todos_in(text: str) -> list[str]:
    """Lines labelled as left to do."""
    if _TODO_ENDINGS.isdisjoint(before_colons(text)):
        return []
    if not any(map(text.lower().__contains__, _TODO_WORDS)):
        return []
    return [excerpt(match[1], ITEM_CHARS) for match in _TODO.finditer(window(text))]


def _folded(tool: str) -> str:
    return tool.lower().replace("_", "").replace("-", "")


def _plan_items(text: str) -> list[tuple[str, bool]]:
    if not text:
        return []
    try:
        plan = _PLAN_DECODER.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return []  # a plan of another shape says nothing; it still counts as a tool call
    return [
        (item, False) if isinstance(item, str) else (item.words(), item.status in _DONE)
        for item in plan.todos or plan.plan
    ]


def _task(text: str) -> _Task | None:
    try:
        return _TASK_DECODER.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
