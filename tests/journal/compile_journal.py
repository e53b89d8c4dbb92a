"""A journal with days to compile, a clock set by hand, and a model that says what a test wrote."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.journal.flush_journal import CLEAN, NOON

from session_memory.clock import local_date
from session_memory.journal import daily
from session_memory.journal.articles import Article, render
from session_memory.journal.compile import CompileContext, CompileReport, compile_logs, select_logs
from session_memory.journal.files import atomic_write_text
from session_memory.journal.knowledge import read_knowledge
from session_memory.journal.model_call import JournalModel
from session_memory.journal.paths import JournalPaths, journal_paths, model_lock
from session_memory.testing.scripted_model import ScriptedModel

DAY_MS = 86_400_000
ENTRY = """**Context:** speeding up the parser (outcome: success)

**Decisions Made:**
- Cache the tokens in `src/lexer.py`, since reading them twice took most of the time.

**Lessons Learned:**
- Run `pytest -q tests/lexer` after each change of `src/lexer.py`, as the cache hides failures.
"""
OTHER = """**Context:** a smaller memory footprint

**Decisions Made:**
- Keep at most a thousand tokens in the cache of `src/lexer.py`, because logs can be huge.
- Prefer slots over dictionaries for every token, since they halve the memory of a big file.
"""


class Library:
    """The journal of /work/shop; days count from 2026-03-02."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.journal: JournalPaths = journal_paths(data, "/work/shop")
        self.now = NOON
        self.model: ScriptedModel | None = None
        self.warnings: list[str] = []

    def says(self, *answers: Any) -> ScriptedModel:
        """Turn a model on, with its answers."""
        self.model = ScriptedModel(answers)
        return self.model

    def add(self, content: str = ENTRY, session: str = "s1", day: int = 0) -> str:
        """An entry on a day; returns the name of its log."""
        at = NOON + day * DAY_MS
        key = hashlib.sha256(f"{content} {session} {day}".encode()).hexdigest()[:24]
        daily.append_entry(self.journal, daily.Entry(session, key, content), at)
        return f"{local_date(at)}.md"

    def log(self, name: str = "2026-03-02.md") -> Path:
        """The file of a log."""
        return self.journal.daily / name

    def context(self, timeout_s: float = 60.0) -> CompileContext:
        """What a compile needs."""
        lock = model_lock(self.data)
        model = JournalModel(self.model, lock, timeout_s) if self.model else None
        return CompileContext(self.journal, lambda: self.now, CLEAN, model, self.warnings.append)

    def compile(self, *, whole: bool = False, file: str | None = None) -> CompileReport:
        """Compile what is due, or all, or one."""
        context = self.context()
        return compile_logs(context, select_logs(context, everything=whole, file=file), whole=whole)

    @property
    def articles(self) -> dict[str, Article]:
        """The articles there are."""
        knowledge = read_knowledge(self.journal)
        assert knowledge.bad == ()
        return knowledge.articles

    @property
    def state(self) -> dict[str, Any]:
        """state.json."""
        return json.loads(self.journal.state.read_bytes()) if self.journal.state.exists() else {}

    def text(self, name: str) -> str:
        """A file of the journal."""
        path = self.journal.root / name
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def put(self, articles: Iterable[Article]) -> None:
        """Articles as somebody wrote them."""
        for article in articles:
            atomic_write_text(self.journal.knowledge / f"{article.path}.md", render(article))

    def tree(self) -> dict[str, bytes]:
        """Every file of the journal's root."""
        return {
            path.relative_to(self.journal.root).as_posix(): path.read_bytes()
            for path in sorted(self.journal.root.rglob("*"))
            if path.is_file()
        }


def article(path: str, body: str, **front: Any) -> Article:
    """A sound article; front matter can be set."""
    kind, _, name = path.partition("/")
    own: dict[str, Any] = {
        "concepts": {"aliases": (), "tags": (), "sources": ("daily/2026-03-02.md",)},
        "connections": {
            "connects": ("concepts/a", "concepts/b"),
            "sources": ("daily/2026-03-02.md",),
        },
        "qa": {"question": "why?", "consulted": (), "filed": "2026-03-02"},
    }[kind]
    dates = {} if kind == "qa" else {"created": "2026-03-02", "updated": "2026-03-02"}
    return Article(path, {"title": name.replace("-", " "), **own, **dates, **front}, body)


def written(title: str, *points: str, entry: str = "E1", **more: Any) -> dict[str, Any]:
    """One article of a model's answer."""
    said = [{"text": text, "entry": entry} for text in points]
    return {"kind": "concepts", "title": title, "points": said, **more}


def answer(*articles: dict[str, Any]) -> str:
    """A model's answer to a compile."""
    return json.dumps({"articles": articles})
