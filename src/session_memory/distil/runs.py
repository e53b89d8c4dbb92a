"""Tool calls joined with their results: commands, retries, loops, edits, checks and errors."""

from __future__ import annotations

from collections import deque

import msgspec

from session_memory.core.commands import changes_files, normalized, words
from session_memory.core.digest import (
    MAX_COMMANDS,
    MAX_ERRORS,
    MAX_FILES,
    MAX_LOOPS,
    MAX_TOOLS,
    fit_commands,
    fit_files,
)
from session_memory.core.hashing import text_key
from session_memory.core.schema import CommandRun, ErrorSeen, SessionEvent
from session_memory.core.text.masks import error_line, excerpt, mask, window
from session_memory.distil.check_output import check_passed
from session_memory.distil.checks import Check, check_of
from session_memory.distil.deliveries import delivers, was_refused

LOOP_TIMES = 3
LOOP_WINDOW = 12
_COMMAND_CHARS = 300
_SAMPLE_CHARS = 200
_LOOP_CHARS = 120
_COMPARED_CHARS = 4096  # a call of more is compared by a hash: the last dozen stay in memory
_MAX_OPEN = 2000  # calls whose result never came
_SLACK = 4  # lists may outgrow their limit this much before they are cut: few cuts, bounded memory
# Asking again whether something finished is how these tools are used.
_POLLS = words("bashoutput writestdin taskoutput tasklist taskget waitagent wait todoread")


class Run(msgspec.Struct):
    """A command under way; frozen into a CommandRun at the end."""

    value: CommandRun


class Call(msgspec.Struct):
    """A tool call that waits for its result."""

    pos: int
    tool: str
    files: tuple[str, ...]
    edits: bool
    edit_before: int
    command: str | None = None
    check: Check | None = None
    run: Run | None = None


class RunLog:
    """What the tool calls so far did."""

    def __init__(self) -> None:
        self.tools: dict[str, int] = {}
        self.files: dict[str, int] = {}
        self.errors: dict[str, ErrorSeen] = {}
        self.loops: dict[str, None] = {}
        self.dropped: dict[str, int] = {}
        self.calls = self.edits = self.retries = self.denials = 0
        self.tests_run = self.tests_failed = 0
        self.last_edit = -1
        self.calls_before_edit: int | None = None
        self._runs: list[Run] = []
        self._open: dict[str, Call] = {}
        self._recent: deque[tuple[str, str | int]] = deque(maxlen=LOOP_WINDOW)
        self._failed: Run | None = None

    def call(self, event: SessionEvent, pos: int) -> None:
        """Take in a tool call."""
        tool = event.tool or "unknown"
        self._count_tool(tool)
        command = event.command if event.tool_class == "shell" else None
        edits = event.tool_class == "edit" or (command is not None and changes_files(command))
        self._watch_loops(tool, command, event.text or "", edits)
        call = Call(pos, tool, event.files, edits, self.last_edit)
        if edits:
            if self.calls_before_edit is None:
                self.calls_before_edit = self.calls
            self.edits += 1
            self.last_edit = pos
            self._failed = None
        self.calls += 1
        if event.files:
            self._touch(event.files, 1 if edits else 0)
        if command is not None:
            self._command(call, command, event)
        if event.call_id is not None:
            self._open[event.call_id] = call
            if len(self._open) > _MAX_OPEN:
                del self._open[next(iter(self._open))]

    def result(self, event: SessionEvent) -> None:
        """Take in a result and join it to its call; without a call its error still counts."""
        call = self._open.pop(event.call_id, None) if event.call_id is not None else None
        denied = event.label == "denied"
        failed = event.is_error or event.exit_code not in (None, 0)
        text = event.text or ""
        if call is not None:
            if not call.files and event.files and not failed:
                self._touch(event.files, 1 if call.edits else 0)
            checked = call.check is not None and not denied
            passed = self._checked(call, event, text) if checked else None
            failed = passed is False or (failed and passed is not True)
            if call.run is not None and call.run.value.delivers and not denied:
                failed = failed or was_refused(call.command or "", window(text))
            if failed and call.edits and call.command is None:
                self._undo_edit(call)
            if call.run is not None:
                self._settle(call.run, event, failed=failed, denied=denied)
        self.denials += denied
        if failed and event.label != "interrupted":
            self.error(text, event.seq, call.tool if call else event.tool)

    def error(self, text: str, seq: int, tool: str | None) -> None:
        """Count an error under its template; a failure without words has none."""
        line = error_line(text)
        template = mask(line)
        if not template:
            return
        seen = self.errors.get(template)
        if seen is not None:
            self.errors[template] = msgspec.structs.replace(seen, count=seen.count + 1)
        elif len(self.errors) < MAX_ERRORS * _SLACK:
            self.errors[template] = ErrorSeen(template, 1, excerpt(line, _SAMPLE_CHARS), seq, tool)
        else:
            self._drop("errors", 1)

    def commands(self) -> tuple[CommandRun, ...]:
        """The commands worth keeping, in order; failures and verifications go last."""
        commands, dropped = fit_commands([run.value for run in self._runs])
        self._drop("commands", dropped)
        return commands

    def _count_tool(self, tool: str) -> None:
        if tool in self.tools or len(self.tools) < MAX_TOOLS:
            self.tools[tool] = self.tools.get(tool, 0) + 1
        else:
            self._drop("tools", 1)

    def _command(self, call: Call, command: str, event: SessionEvent) -> None:
        call.command = command[:_COMMAND_CHARS]
        call.check = check_of(command)
        if call.check is not None and "test" in call.check.kinds:
            self.tests_run += 1
        delivered = call.check is None and delivers(command)
        run = Run(
            CommandRun(
                call.command,
                at=event.at,
                seq=event.seq,
                verifies=call.check is not None or delivered,
                delivers=delivered,
            )
        )
        call.run = run
        # Running it again after a change is work; running it again as it was is a retry.
        failed, self._failed = self._failed, None
        if failed is not None:
            self.retries += normalized(failed.value.command) == normalized(run.value.command)
        self._runs.append(run)
        if len(self._runs) > MAX_COMMANDS * _SLACK:
            self._cut_runs()

    def _cut_runs(self) -> None:
        """Cut the older commands; the latest stay as they are, for results still to come."""
        older, latest = self._runs[:-MAX_COMMANDS], self._runs[-MAX_COMMANDS:]
        commands, dropped = fit_commands([run.value for run in older])
        self._drop("commands", dropped)
        self._runs = [Run(value) for value in commands] + latest

    def _settle(self, run: Run, event: SessionEvent, *, failed: bool, denied: bool) -> None:
        run.value = msgspec.structs.replace(
            run.value, exit=event.exit_code, is_error=failed, denied=denied
        )
        if failed and not denied:
            self._failed = run

    def _checked(self, call: Call, event: SessionEvent, text: str) -> bool | None:
        """Whether the verification in this call passed; counts failed tests."""
        if call.check is None or call.command is None:
            return None
        passed = check_passed(call.check, text, event.exit_code, event.is_error)
        if passed is None:
            return None
        if not passed and "test" in call.check.kinds:
            self.tests_failed += 1
        return passed

    def _undo_edit(self, call: Call) -> None:
        self.edits -= 1
        if self.last_edit == call.pos:
            self.last_edit = call.edit_before
        for path in call.files:
            if self.files.get(path, 0) > 0:
                self.files[path] -= 1

    def _touch(self, paths: tuple[str, ...], edits: int) -> None:
        for path in paths:
            self.files[path] = self.files.get(path, 0) + edits
        if len(self.files) > MAX_FILES * _SLACK:
            self.files, dropped = fit_files(self.files)
            self._drop("files", dropped)

    def _watch_loops(self, tool: str, command: str | None, text: str, edits: bool) -> None:
        if tool.lower().replace("_", "") in _POLLS:
            return
        said = command or text
        key = (tool, said if len(said) <= _COMPARED_CHARS else text_key(said))
        if edits and key not in self._recent:
            self._recent.clear()  # files changed: the same call may now give another result
        self._recent.append(key)
        if self._recent.count(key) >= LOOP_TIMES:
            shown = excerpt(f"{tool}: {said[:_COMMAND_CHARS]}", _LOOP_CHARS)
            if shown in self.loops or len(self.loops) < MAX_LOOPS:
                self.loops[shown] = None
            else:
                self._drop("loops", 1)

    def _drop(self, field: str, count: int) -> None:
        if count:
            self.dropped[field] = self.dropped.get(field, 0) + count
