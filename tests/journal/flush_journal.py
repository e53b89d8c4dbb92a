"""One journal with a clock that is set by hand, a scripted writer, and notes of every wait."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from session_memory.clock import local_date
from session_memory.journal import daily
from session_memory.journal.context import cleaner
from session_memory.journal.flush import FlushContext, Outcome, flush
from session_memory.journal.model_entry import WriteEntry, model_writer
from session_memory.journal.paths import JournalPaths, journal_paths, model_lock
from session_memory.redact import Redactor
from session_memory.testing.scripted_model import ScriptedModel

NOON = 1_772_452_800_000  # 2026-03-02T12:00:00Z
SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
CLEAN = cleaner(Redactor(b"k" * 32))


class Bench:
    """A journal of the project /work/shop below one directory."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.journal: JournalPaths = journal_paths(data, "/work/shop")
        self.now = NOON
        self.sleeps: list[float] = []
        self.compiled: list[tuple[str, ...]] = []
        self.model = ScriptedModel()
        self._names = 0

    def says(self, *answers: Any) -> ScriptedModel:
        """What the model answers from now on."""
        self.model = ScriptedModel(answers)
        return self.model

    def flush_context(self, write: WriteEntry | None = None, **more: Any) -> FlushContext:
        """What a flush needs."""
        return FlushContext(
            journal=self.journal,
            clock=lambda: self.now,
            write=write or model_writer(self.model, model_lock(self.data), 60.0, self.journal.root),
            clean=CLEAN,
            compile=self.compiled.append,
            sleep=self.sleeps.append,
            **more,
        )

    def excerpt(self, text: str = "**User:** fix the parser\n", name: str = "") -> Path:
        """An excerpt as another program would leave it, outside of the journal."""
        self._names += 1
        path = self.data.parent / (name or f"context-{self._names}.md")
        path.write_text(text, encoding="utf-8")
        return path

    def flush(self, path: Path, session: str = "s1", write: WriteEntry | None = None) -> Outcome:
        """One flush."""
        return flush(path, session, self.flush_context(write))

    def log(self) -> list[str]:
        """The lines of flush.log."""
        path = self.journal.flush_log
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def today(self) -> str:
        """Today's daily log."""
        path = self.journal.day(local_date(self.now))
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def entries(self) -> list[daily.Entry]:
        """Today's entries."""
        return daily.entries(self.today())


def never(*_arguments: Any) -> str:
    """A writer that nobody may ask."""
    raise AssertionError("asked")
