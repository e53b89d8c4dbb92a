"""The user's own agent as a model: one process per call, without a shell, nothing left running."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from typing import IO

import msgspec

from session_memory import settings
from session_memory.errors import ModelUnavailable
from session_memory.model import claude_cli, codex_cli
from session_memory.model.failures import CallFailed
from session_memory.model.marks import FOLDER_PREFIX, environment
from session_memory.model.port import Answer, Request

COMMANDS = {"claude_cli": "claude", "codex_cli": "codex"}
REAP_SECONDS = 5.0


class ProcessOutput(msgspec.Struct, frozen=True):
    """What a process printed, and its exit status."""

    output: str
    errors: str
    status: int


def open_agent(settings: settings.Model, environ: Mapping[str, str]) -> ClaudeCli | CodexCli:
    """The provider; raises ModelUnavailable if its command is not on the PATH."""
    command = COMMANDS[settings.provider]
    path = shutil.which(command, path=environ.get("PATH", ""))
    if path is None:
        raise ModelUnavailable(
            f"{command} is not on the PATH",
            hint=f"install {command}, or set model.provider to another",
        )
    if settings.provider == "claude_cli":
        return ClaudeCli(path, settings.name or claude_cli.SMALL_MODEL, environ)
    return CodexCli(path, settings.name, environ)


class ClaudeCli:
    """See model.port.Model."""

    provider = "claude_cli"
    works_in_folders = True

    def __init__(self, path: str, name: str, environ: Mapping[str, str]) -> None:
        self._path = path
        self._environ = dict(environ)
        self.name = name

    def ask(self, request: Request) -> Answer:
        """See model.port.Model."""
        env = {**environment(self._environ), **claude_cli.variables(request)}
        with _working_directory(request) as folder:
            call = [self._path, *claude_cli.arguments(request, self.name)]
            printed = run(call, claude_cli.prompt(request), request.timeout_s, folder, env)
        return claude_cli.read(printed.output, printed.errors, printed.status, self.name)


class CodexCli:
    """See model.port.Model."""

    provider = "codex_cli"
    works_in_folders = True

    def __init__(self, path: str, name: str, environ: Mapping[str, str]) -> None:
        self._path = path
        self._environ = dict(environ)
        self._user = codex_cli.user_config(environ)
        self.name = name or self._user.model

    def ask(self, request: Request) -> Answer:
        """See model.port.Model."""
        env = environment(self._environ, *filter(None, [self._user.key_variable]))
        with _working_directory(request) as folder, _schema_file(request) as schema:
            arguments = codex_cli.arguments(request, self.name, schema)
            overrides = [part for override in self._user.overrides for part in ("-c", override)]
            call = [self._path, *arguments, *overrides, "-"]
            printed = run(call, codex_cli.prompt(request), request.timeout_s, folder, env)
        return codex_cli.read(printed.output, printed.errors, printed.status, self.name)


def run(
    call: list[str], prompt: str, timeout_s: float, folder: str, env: Mapping[str, str]
) -> ProcessOutput:
    """Run one process to its end or its timeout, then kill whatever is left of its group."""
    # Files instead of pipes: a child process that outlives the agent would keep a pipe open.
    with (
        tempfile.TemporaryFile() as standard_input,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
    ):
        standard_input.write(prompt.encode("utf-8", "replace"))
        standard_input.seek(0)
        try:
            process = subprocess.Popen(
                call,
                cwd=folder,
                env=dict(env),
                stdin=standard_input,
                stdout=output,
                stderr=errors,
                start_new_session=True,  # its own process group, which can be killed as a whole
            )
        except OSError as error:
            name = os.path.basename(call[0])
            raise ModelUnavailable(f"{name} cannot be started: {error.strerror}") from None
        try:
            status = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise CallFailed(f"no answer within {timeout_s:g} seconds", "timeout") from None
        finally:
            _kill_group(process)
        return ProcessOutput(_text(output), _text(errors), status)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and everything it started."""
    if sys.platform == "win32":
        if process.poll() is None:
            tree = ["taskkill", "/T", "/F", "/PID", str(process.pid)]
            subprocess.run(tree, capture_output=True, check=False)
    else:
        # The leader may have ended while others of its group still run.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(REAP_SECONDS)


@contextlib.contextmanager
def _working_directory(request: Request) -> Generator[str]:
    """Where the agent runs: its folder, the given directory, or else an empty temporary one."""
    directory = request.folder or request.cwd
    if directory is not None:
        yield directory
        return
    with tempfile.TemporaryDirectory(prefix=FOLDER_PREFIX) as folder:
        yield folder


@contextlib.contextmanager
def _schema_file(request: Request) -> Generator[str | None]:
    """The schema as a file outside the folder, so that an agent that edits does not find it."""
    if request.schema is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix=FOLDER_PREFIX) as directory:
        path = os.path.join(directory, "schema.json")
        with open(path, "wb") as file:
            file.write(msgspec.json.encode(request.schema))
        yield path
