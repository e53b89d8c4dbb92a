"""A home with agent logs, a store next to it, and sweeps over both."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from session_memory.adapters.claude.log_builder import START, ClaudeLog
from session_memory.adapters.common import Adapter, Block, SourceFile, read_lines
from session_memory.adapters.registry import adapters
from session_memory.core.project.disk_tree import DiskTree
from session_memory.core.schema import Digest, Session, SessionEvent
from session_memory.forget.plan import ForgetRequest, apply_forget, plan_forget
from session_memory.ingest.context import SweepContext
from session_memory.ingest.report import SweepReport
from session_memory.ingest.sweep import sweep
from session_memory.settings import Config, Ingest, Retention, Source, Sources
from session_memory.store import open_store
from session_memory.store.lock import exclusive
from session_memory.store.port import SessionQuery, SessionReader, Store
from session_memory.store.unfinished import marked
from session_memory.testing.command import run_command
from session_memory.testing.new_stores import open_or_create

DAY_MS = 86_400_000
NOW = START + 30 * DAY_MS


class _Context(SweepContext, frozen=True):
    """A sweep's context that makes new stores faster, and may put something in front of them."""

    open_as: Callable[[Store], Any] | None = None

    def open_store(self) -> Store:
        """The store, or what the test put in front of it."""
        store = open_or_create(self.store_directory, self.clock())
        return self.open_as(store) if self.open_as else store


class Workspace:
    """One directory that holds everything a sweep reads and writes.

        space = Workspace(tmp_path)
        space.write(log)
        report = space.sweep()
        space.events(log.session_id)

    Raw text does not age out by the clock here unless a test asks for it: built logs have fixed
    times, and the clock of the machine that runs the tests goes on.
    """

    def __init__(self, root: Path, *, store: str = "store", **retention: int | None) -> None:
        self.root = root
        self.home = root / "home"
        self.claude = root / "claude"
        self.store_directory = root / store
        self.now = NOW
        self.retention = Retention(**{"raw_max_age_days": None, **retention})
        self.ingest = Ingest()
        self.adapters: Mapping[str, Adapter] = adapters()
        self.paths: dict[str, tuple[str, ...]] = {"claude": (str(self.claude),)}
        self.exclude: tuple[str, ...] = ()
        self.report: SweepReport | None = None
        """Of the last sweep in this process."""
        self.home.mkdir(parents=True, exist_ok=True)
        self.claude.mkdir(parents=True, exist_ok=True)

    # --- logs ---

    def write(self, *logs: ClaudeLog) -> list[Path]:
        """Write logs where Claude Code would."""
        return [log.write(self.claude) for log in logs]

    def files(self) -> list[Path]:
        """Every log file, in a fixed order."""
        return sorted(path for path in self.claude.rglob("*.jsonl") if path.is_file())

    def flavor_home(self, flavor: str) -> Path:
        """Where a flavour's logs are swept from; named once, it is swept from then on."""
        home = self.root / flavor
        home.mkdir(exist_ok=True)
        self.paths[flavor] = (str(home),)
        return home

    def log_hashes(self) -> dict[str, str]:
        """Hashes of every file of every flavour, to prove that none was changed."""
        return {
            str(path): hashlib.sha256(path.read_bytes()).hexdigest()
            for folders in self.paths.values()
            for folder in folders
            for path in sorted(Path(folder).rglob("*"))
            if path.is_file()
        }

    def with_store(self, store: str) -> Workspace:
        """The same logs and settings with another store."""
        other = copy.copy(self)
        other.paths, other.report = dict(self.paths), None
        other.store_directory = self.root / store
        return other

    # --- sweeps ---

    def config(self) -> Config:
        """The configuration of the next sweep."""
        flavors = {name: Source(paths=paths) for name, paths in self.paths.items()}
        sources = Sources(exclude_paths=self.exclude, flavors=flavors)
        return Config(sources=sources, retention=self.retention, ingest=self.ingest)

    def set_ingest(self, **limits: int) -> None:
        """Change how logs are read from now on."""
        self.ingest = msgspec.structs.replace(self.ingest, **limits)

    def read_in_blocks(self, block_bytes: int) -> None:
        """Read Claude logs in small blocks and commit after each, as large files make it happen."""

        def read(file: SourceFile, offset: int, line_cap: int) -> Iterator[Block]:
            return read_lines(file.path, offset, block_bytes=block_bytes, line_cap=line_cap)

        claude = msgspec.structs.replace(self.adapters["claude"], read=read)
        self.adapters = {**self.adapters, "claude": claude}
        self.set_ingest(commit_bytes=1)

    def set_retention(self, **caps: int | None) -> None:
        """Change the byte budget from now on."""
        self.retention = msgspec.structs.replace(self.retention, **caps)

    def sweep(
        self, *, dry_run: bool = False, open_as: Callable[[Store], Any] | None = None
    ) -> SweepReport:
        """One sweep in this process; `open_as` may put something in front of the store."""
        self.report = None
        self.report = sweep(self.sweep_context(open_as), dry_run=dry_run)
        return self.report

    def sweep_context(self, open_as: Callable[[Store], Any] | None = None) -> SweepContext:
        """What a sweep, or a worker, of this workspace needs."""
        return _Context(
            config=self.config(),
            adapters=self.adapters,
            environ={},
            home=str(self.home),
            store_directory=str(self.store_directory),
            tree=DiskTree(),
            clock=lambda: self.now,
            open_as=open_as,
        )

    def forget(self, **request: Any) -> None:
        """Forget as the command does, with the fields of a `ForgetRequest`."""
        directory = str(self.store_directory)
        forget = ForgetRequest(**request)
        with (
            exclusive(os.path.join(directory, "sweep.lock"), "a sweep"),
            self.store() as store,
            marked(directory),
        ):
            plan = plan_forget(store, forget)
            apply_forget(store, plan, forget)

    # --- real processes ---

    def write_config(self) -> Path:
        """The same configuration as a TOML file."""
        lines = ["[store]", f"path = {_toml(str(self.store_directory))}"]
        lines += ["[sources]", f"exclude_paths = {_toml(list(self.exclude))}"]
        for name, paths in self.paths.items():
            lines += [f"[sources.{name}]", f"paths = {_toml(list(paths))}"]
        for section, table in (("retention", self.retention), ("ingest", self.ingest)):
            lines.append(f"[{section}]")
            for key, value in msgspec.structs.asdict(table).items():
                lines.append(f"{key} = {_toml('unlimited' if value is None else value)}")
        path = self.root / f"{self.store_directory.name}.toml"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def environ(self) -> dict[str, str]:
        """The environment of a process that sees only this workspace."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("SESSION_MEMORY_")}
        inherited.pop("CLAUDE_CONFIG_DIR", None)
        ours = {"HOME": str(self.home), "USERPROFILE": str(self.home)}
        return {**inherited, **ours, "SESSION_MEMORY_HOME": str(self.root / "memory")}

    def start(self, *arguments: str, module: str = "session_memory") -> subprocess.Popen[str]:
        """Start `python -m module` on this workspace and do not wait for it."""
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            env=self.environ(),
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )

    def run_process(
        self, *arguments: str, module: str = "session_memory"
    ) -> subprocess.CompletedProcess[str]:
        """Run `python -m module` on this workspace to its end, in a process of its own."""
        process = self.start(*arguments, module=module)
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command on this workspace in this process: no interpreter has to start."""
        return run_command(*arguments, environ=self.environ(), directory=self.root)

    # --- what is stored ---

    @contextlib.contextmanager
    def store(self) -> Generator[Store]:
        """The store, open for a look."""
        with open_store(str(self.store_directory), self.now) as store:
            yield store

    def dump(self) -> list[dict[str, Any]]:
        """The canonical content."""
        with self.store() as store:
            return list(store.dump())

    def findings(self) -> list[str]:
        """What fsck finds wrong, in words."""
        with self.store() as store:
            return [f"{finding.check}: {finding.detail}" for finding in store.fsck()]

    def sessions(self) -> dict[str, Session]:
        """Every session by its native id."""
        with self.store() as store:
            return {session.external_id: session for session in store.sessions(SessionQuery())}

    def session(self, external_id: str) -> Session:
        """One session by its native id."""
        return self.sessions()[external_id]

    def events(self, external_id: str) -> list[SessionEvent]:
        """A session's live events with their texts."""
        with self.store() as store:
            return list(store.events(self._number(store, external_id), texts=True))

    def superseded(self, external_id: str) -> list[SessionEvent]:
        """A session's events that its rewritten log no longer holds."""
        with self.store() as store:
            return list(store.superseded_events(self._number(store, external_id)))

    def digest(self, external_id: str) -> Digest | None:
        """A session's digest."""
        with self.store() as store:
            return store.digest(self._number(store, external_id))

    @staticmethod
    def _number(store: SessionReader, external_id: str) -> int:
        session = store.own_session(external_id)
        assert session is not None, f"no session {external_id}"
        return session.id


def _toml(value: object) -> str:
    """Numbers, texts and lists of texts look alike in JSON and TOML."""
    return json.dumps(value)
