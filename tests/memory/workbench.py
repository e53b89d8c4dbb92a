"""A workspace whose sessions become memory, with a scripted model or none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.memory.consolidate import ConsolidationResult, consolidate
from session_memory.memory.context import MemoryContext
from session_memory.memory.extract import ExtractReport, extract
from session_memory.memory.layout import memory_root
from session_memory.memory.log import MemoryLog, read_log
from session_memory.memory.selection import ExtractRequest
from session_memory.model.port import Model, Request
from session_memory.redact import Redactor
from session_memory.store.memories import Claim, Trace
from session_memory.store.port import Store
from session_memory.testing.workspace import Workspace

GOOD = """# Fixed the parser

Trace context: shop

User preferences: none observed

## Task: fix the parser
Outcome: success
Key steps:
- changed the parser
Things that did not work / things that can be improved:
- none
Reusable knowledge:
- pytest -q
Pointers and references (annotate why each item matters):
- src: the parser"""
SUMMARY = "Parser fixed; verify with pytest -q."


SHOP = "/work/shop"


def writes(text: str = "# Memory\n\n- run pytest -q\n", **files: str) -> Callable[[Request], str]:
    """An agent that writes MEMORY.md, and other files by path, into its folder."""

    def wrote(request: Request) -> str:
        assert request.folder is not None
        for name, content in {"MEMORY.md": cited(text, Path(request.folder)), **files}.items():
            path = Path(request.folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return "written"

    return wrote


def cited(text: str, folder: Path) -> str:
    """A page whose bullets cite the newest trace, as a well-behaved model writes it."""
    summary = (folder / "memory_summary.md").read_text()
    newest = summary.partition("(trace: `")[2].partition("`")[0]
    mark = f" (trace `{newest}`)"
    return "\n".join(f"{line}{mark}" if line[:2] == "- " else line for line in text.split("\n"))


def skill(text: str) -> str:
    return f"---\nname: a\ndescription: b\n---\n{text}\n"


def generation(number: int, skills: int = 3) -> Callable[[Request], str]:
    """An agent whose memory and skills all say of which generation they are."""
    names = [f"s{number % 2}-{each}" for each in range(skills)]
    links = "\n".join(f"- [{name}](skills/{name}/SKILL.md)" for name in (*names, "common"))
    text = f"# Memory\n\n- the parser of generation g{number}\n\n{links}\n"
    files = {f"skills/{name}/SKILL.md": skill(f"the parser of {name}") for name in names}
    common = {"skills/common/SKILL.md": skill(f"the parser of generation g{number}")}
    return writes(text, **common, **files)


def answer(trace: str = GOOD, summary: str = SUMMARY) -> str:
    """What a well-behaved model gives back."""
    return json.dumps({"traceMemory": trace, "summary": summary})


def no_model(_store: Store) -> Model | None:
    """No model is turned on."""
    return None


def unasked(_store: Store) -> Model | None:
    """A model that must not even be opened."""
    raise AssertionError("a model was resolved")


class Bench:
    """Logs, a store, and passes over them."""

    def __init__(self, root: Path) -> None:
        self.space = Workspace(root)
        self.data = self.space.store_directory
        self.logs = root / "logs"

    def context(self, model: Model | None = None, **changes: object) -> MemoryContext:
        fields: dict[str, object] = {
            "data": self.data,
            "log": MemoryLog(self.logs, lambda: self.space.now),
            "clock": lambda: self.space.now,
            "make_redactor": Redactor,
            "open_model": lambda _store: model,
            "wait": lambda _seconds: None,
            **changes,
        }
        return MemoryContext(**fields)  # pyright: ignore[reportArgumentType]

    def work(self, seed: int, *prompts: str, cwd: str = "/work/shop", edits: int = 1) -> ClaudeLog:
        """A session that changes something and verifies it, written to disk."""
        log = ClaudeLog(seed, cwd=cwd, start=1_772_442_000_000 + seed * 60_000)
        for prompt in prompts or (f"fix the parser of module {seed}",):
            log.prompt(prompt)
            for number in range(edits):
                log.edit(f"{cwd}/src/parse{seed}_{number}.py", "a", "b")
            log.run("pytest -q", "3 passed in 0.1s")
            log.say(f"The parser of module {seed} now reads empty lines too.")
        self.space.write(log)
        return log

    def extract(self, model: Model | None = None, **request: object) -> ExtractReport:
        with self.space.store() as store:
            wanted = ExtractRequest(**request)  # pyright: ignore[reportArgumentType]
            return extract(store, self.context(model), wanted)

    def consolidate(
        self,
        model: Model | None = None,
        *roots: str,
        owner: str = "session-1",
        force: bool = False,
        **changes: object,
    ) -> list[ConsolidationResult]:
        claims = [Claim(root, owner) for root in roots or (SHOP,)]
        context = self.context(model, **changes)
        with self.space.store() as store:
            return consolidate(store, context, claims, force=force)

    def folder(self, root: str = SHOP) -> Path:
        return memory_root(self.data, root)

    def page(self, root: str = SHOP) -> str:
        return (self.folder(root) / "MEMORY.md").read_text()

    def locks(self) -> list[str]:
        with self.space.store() as store:
            return [held.owner for held in store.memories.held()]

    def swept(self) -> Bench:
        self.space.sweep()
        return self

    def files(self) -> list[Path]:
        return sorted((self.data / "memories").rglob("*.md"))

    def traces(self) -> dict[str, Trace]:
        with self.space.store() as store:
            return {
                trace.thread_id: trace
                for root in store.memories.roots()
                for trace in store.memories.of_root(root)
            }

    def said(self, event: str | None = None) -> list[dict[str, str | int | None]]:
        return [line for line in read_log(self.logs) if event in (None, line["event"])]


def after(call: Callable[[], object], answer: str) -> Callable[[object], str]:
    """An answer that does something first."""

    def answered(_request: object) -> str:
        call()
        return answer

    return answered
