"""The lines that new sessions are told, kept from one run of the worker to the next.

Reading all digests of every project at each wake would be most of the work of a run. The lines of
a project are made again when one of its sessions or its instruction files changed, after a day, and
when pages were dropped because text had to go: the file lies among them and is dropped with them.
"""

from __future__ import annotations

import msgspec

from session_memory import __version__
from session_memory.atomic_files import replace_file
from session_memory.core.hashing import blake2b
from session_memory.core.schema import Project
from session_memory.memory.briefing import briefing_of
from session_memory.memory.instructions import read_instructions
from session_memory.paths import Paths, private_dir
from session_memory.settings import Config
from session_memory.store.line_choices import as_chosen, read_choices
from session_memory.store.port import CaptureStore
from session_memory.worker.injection_pages import FOLDER, LINES

DAY_MS = 86_400_000


class StoredBriefing(msgspec.Struct, frozen=True):
    """The lines of a project, and a hash of all that they were made of."""

    stamp: str
    lines: tuple[str, ...]


class Briefings:
    """The lines of each project, for one refresh of the pages."""

    def __init__(self, store: CaptureStore, paths: Paths, config: Config, now_ms: int) -> None:
        self._store = store
        self._choices = read_choices(paths.data)
        self._file = private_dir(paths.state / FOLDER) / LINES
        self._targets = [name for name in config.distribute.targets if name.endswith(".md")]
        self._day = now_ms // DAY_MS
        self._sessions = store.digest_stamps()
        self._stored = self._read()
        self._made: dict[str, StoredBriefing] = {}

    def lines(self, project: Project) -> tuple[str, ...]:
        """What a new session of the project is told."""
        instructions = read_instructions(project.root or "", self._targets)
        stamp = self._stamp(project, instructions)
        briefing = self._stored.get(project.key)
        if briefing is None or briefing.stamp != stamp:
            made = briefing_of(self._store, project, instructions)
            briefing = StoredBriefing(stamp, tuple(line.text for line in made))
        self._made[project.key] = briefing
        choices = [each for each in self._choices if each.project == project.key]
        return tuple(text for text, _ in as_chosen(briefing.lines, choices))

    def save(self) -> bool:
        """Keep the lines for the next run; False where pages were dropped since this one began.

        Text had to go then, and these lines may still hold it.
        """
        if not self._file.exists():
            return False
        if self._made != self._stored:
            replace_file(self._file, msgspec.json.encode(self._made))
        return True

    def _stamp(self, project: Project, instructions: str) -> str:
        sessions = self._sessions.get(project.key, "")
        parts = (__version__, self._day, project.root, project.aliases, instructions, sessions)
        return blake2b(msgspec.json.encode(parts), digest_size=16).hexdigest()

    def _read(self) -> dict[str, StoredBriefing]:
        """The stored lines; makes an empty file if there is none, so that `save` notices a drop."""
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, StoredBriefing])
        except FileNotFoundError:
            replace_file(self._file, b"{}")
        except (OSError, msgspec.DecodeError):
            pass  # made again
        return {}
