"""What the lines of one run of Aider mean.

`#### ` begins a line of a prompt, `> ` one that the program printed; all else is the answer. The
program ends both with two blanks, which distinguishes them from headings and quotes in an answer.
Versions before about 0.60 did not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from session_memory.adapters.common import Normalized, SourceFile, as_text
from session_memory.adapters.emit_events import EventEmitter
from session_memory.adapters.excerpt import EXCERPT, excerpt
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.whole_log import Records
from session_memory.core.schema import Usage

HEADER = r"# aider chat started at (?=\d{4}-\d\d-\d\d \d\d:\d\d)"
MARK = "  "
_COMMAND = re.compile(r"/([a-z][a-z-]*)(?:\s+|$)")
_REQUESTS = frozenset({"ask", "code", "architect", "context"})
"""Commands that take a request: what follows them is one."""
_ANSWER = re.compile(r"[^\n]*\? \(Y\)es/\(N\)o[^\n]*\]: ?[^\n]*$")
"""What a user answered to a question of the program, which logs some of these like prompts."""
_CLOSER = re.compile(r"> (?:Tokens: |\^C|Applied edit to |litellm\.|Retrying in )")
"""What the program prints after an answer, even one that ends inside a fence."""
_AMOUNT = r"([\d.,]+[kM]?)"
_TOKENS = re.compile(
    rf"Tokens: {_AMOUNT} sent,(?: {_AMOUNT} cache write,)?(?: {_AMOUNT} cache hit,)?"
    rf" {_AMOUNT} received\."
)
_COST = re.compile(r"Cost: \$([\d.,]+) message")
_MODEL = re.compile(r"(?:Main model|Models?): (\S+)")
_VERSION = re.compile(r"Aider v(\S+)$")
_FOLDER = re.compile(r"(Cur|Git) working dir: (.+)$")
_EDITED = re.compile(r"(?:Applied edit to|Creating empty file) (.+)$")
_RUNNING = re.compile(r"Running (.+)$")
_ERROR = (
    r"litellm\.|Traceback \(most recent call last\)|The LLM did not conform to the edit format"
    r"|# \d+ SEARCH/REPLACE blocks? failed"
    r"|[A-Za-z_.]+(?:Error|Exception): "
)
_ACTION = re.compile(
    f"(?:{_TOKENS.pattern}|{_EDITED.pattern}|{_RUNNING.pattern}|{_ERROR}"
    r"|\^C KeyboardInterrupt|Commit [0-9a-f]{7,40} )"
)
_NOISE = re.compile(
    r"$|\^C again to exit|Retrying in |Tokens: |Repo-map|Git repo: |Weak model: |Note: in-chat"
    r"|You can use /undo|.*\? \(Y\)es/\(N\)o"
)


def local_time(header: str) -> int | None:
    """When a run started, in milliseconds; its time has no zone, so it is this machine's."""
    try:
        moment = datetime.fromisoformat(re.sub(HEADER, "", header.lstrip("\ufeff")).strip())
        return round(moment.timestamp() * 1000)
    except (OverflowError, OSError, ValueError):
        return None


def emit(source: SourceFile, records: Records, bundle: Normalized) -> None:
    """Read one run."""
    (_, header), *rest = records or [(0, {})]
    name = as_text(header.get("run"))
    if not name:
        bundle.ignored["run/empty"] += 1
        return
    emitter = RunEmitter(PartBuilder(name), bundle)
    emitter.begin(header.get("started"))
    emitter.emit([as_text(record.get("line")) for _, record in rest])
    emitter.part.note("cwd", emitter.folder or as_text(header.get("folder")), 0)
    file_time = source.mtime_ns // 1_000_000 or None  # only the last run of a file has one
    emitter.finish(file_time if header.get("started") is None else None)


class RunEmitter(EventEmitter):
    """Turns the lines of one run into events, in their order."""

    folder = ""
    _model = ""
    _started: int | None = None
    _spent = _edits = 0
    _errors: frozenset[str] = frozenset()

    def begin(self, started: object) -> None:
        """Note when the run started: nothing else in it has a time."""
        self.part.begin()
        if isinstance(started, int):
            self._started = started
            self.part.note("started_at", started, 0)
            self.part.note("ended_at", started, 0)

    def emit(self, lines: list[str]) -> None:
        """Take in all lines of the run."""
        marked = next((x.endswith(MARK) for x in lines if x.startswith(("> ", "#### "))), True)
        begun = False
        for kind, group in _groups(lines, marked=marked):
            begun = begun or kind == "prompt"
            if kind == "prompt":
                self._prompt("\n".join(line[5:].rstrip() for line in group))
            elif kind == "output":
                self._output([line[1:].strip() for line in group], begun=begun)
            elif begun:
                self.say("\n".join(group).strip("\n"))
            else:
                self.bundle.ignored["startup"] += 1

    def _prompt(self, text: str) -> None:
        command = _COMMAND.match(text)
        if text.strip() in ("", "<blank>"):
            self.ignore("prompt/empty")
        elif _ANSWER.match(text):
            self.add("injected", "user", text, "answer")
        elif command is None:
            self.prompt(text)
        elif command[1] in _REQUESTS and command.end() < len(text):
            self.prompt(text[command.end() :])
        else:
            self.add("injected", "user", text, "command")

    def _output(self, lines: list[str], *, begun: bool) -> None:
        rest: list[str] = []
        for line in lines:
            if _ACTION.match(line):
                self._print(rest)
                rest = []
                self._act(line)
            elif self._fact(line):
                continue
            elif _NOISE.match(line) or not begun:
                self.ignore("output" if begun else "startup")
            else:
                rest.append(line)
        self._print(rest)

    def _print(self, lines: list[str]) -> None:
        """What the program printed that has no meaning of its own."""
        self.inject(excerpt("\n".join(lines), EXCERPT), "output")

    def _fact(self, line: str) -> bool:
        """Whether a line says something about the run rather than in it."""
        if match := _VERSION.match(line):
            self.part.note("client_version", match[1], 0)
            self.version = match[1]
        elif match := _MODEL.match(line):
            self._model = match[1]
            self.part.note_model(match[1], len(self.part.events))
        elif match := _FOLDER.match(line):
            if match[1] == "Cur" or not self.folder:
                self.folder = match[2]
        else:
            return False
        return True

    def _act(self, line: str) -> None:
        """Something that the program did, or that happened to it."""
        if match := _TOKENS.match(line):
            self._spend(line, match)
        elif match := _EDITED.match(line):
            self._edits += 1
            call_id = f"{self.part.external_id}:{self._edits}"
            self.call("edit", {"file_path": match[1]}, call_id, "edit")
            self.result(line, call_id)
        elif match := _RUNNING.match(line):
            self.call("run", {"command": match[1]}, "", "shell")
        elif line.startswith("^C"):
            self.interrupt(line)
        elif line.startswith("Commit "):
            self.add("system", "harness", line, "commit")
        else:
            self._fail(excerpt(line, EXCERPT))

    def _fail(self, text: str) -> None:
        if text in self._errors:
            self.ignore("error/repeated")
        else:
            self._errors |= {text}
            of_model = text.startswith(("# ", "The LLM"))
            self.fail(text, "edit_failed" if of_model else "api_error")

    def _spend(self, line: str, match: re.Match[str]) -> None:
        """What an answer cost; its tokens are rounded, and those sent have the cached in them."""
        sent, written, hit, received = (_amount(text) for text in match.groups())
        cost = _COST.search(line)
        self._spent += 1
        usage = Usage(
            key=f"{self.part.external_id}:{self._spent}",
            model=self._model,
            at=self._started,
            input=max(0, sent - written - hit),
            output=received,
            cache_write_5m=written,
            cache_read=hit,
            usd=_dollars(cost[1]) if cost else None,
        )
        self.part.spend(usage)
        last = self.part.events[-1] if self.part.events else None
        if last is not None and last.kind == "assistant_text":
            last.usage_key = usage.key


def _groups(lines: list[str], *, marked: bool) -> Iterator[tuple[str, list[str]]]:
    """Consecutive lines of one kind: `prompt`, `output` or `text`."""
    kind, group, fenced, blanks, printing = "", list[str](), False, 0, False
    for line in lines:
        if fenced and _CLOSER.match(line):
            fenced = False
        now = "text" if fenced else _kind_of(line, marked=marked)
        # Of an output of several lines only the first has the mark of one, and only the last ends.
        begins = kind == "output" and not blanks and line.startswith("> ")
        if marked and now == "text" and (printing or begins):
            group.append(line if begins else f"> {line}")
            printing = not line.endswith(MARK)
            continue
        printing = False
        if now == "text" and line.lstrip(" ").startswith(("```", "~~~")):
            fenced = not fenced
        if now == "text" and not line.strip() and kind != "text":
            blanks += 1  # between prompts or outputs; an answer never begins with one
            continue
        if now != kind or (now == "prompt" and _is_another(group, line, blanks, marked=marked)):
            if group:
                yield kind, group
            kind, group = now, []
        blanks = 0
        group.append(line)
    if group:
        yield kind, group


def _kind_of(line: str, *, marked: bool) -> str:
    if marked and not line.endswith(MARK):
        return "text"
    if line.startswith("#### ") or line == "####":
        return "prompt"
    return "output" if line.startswith("> ") or line == ">" else "text"


def _is_another(group: list[str], line: str, blanks: int, *, marked: bool) -> bool:
    """Whether a line of a prompt begins another one.

    Old versions put a blank line between the lines of one prompt, so there only commands divide.
    """
    if marked or not blanks:
        return blanks > 0
    return any(_COMMAND.match(text[5:]) for text in (group[0], line))


def _amount(text: str | None) -> int:
    """`3.2k` as 3200."""
    if not text:
        return 0
    times = {"k": 1000, "M": 1_000_000}.get(text[-1], 1)
    try:
        return min(round(float(text.rstrip("kM").replace(",", "")) * times), (1 << 53) - 1)
    except ValueError:
        return 0


def _dollars(text: str) -> float | None:
    try:
        return float(text.rstrip(".").replace(",", ""))
    except ValueError:
        return None
