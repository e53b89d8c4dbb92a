"""Sessions of every flavour for the torture tests: small, and the same every time."""

from __future__ import annotations

from pathlib import Path

from session_memory.adapters.aider.log_builder import AiderLog
from session_memory.adapters.antigravity.log_builder import AntigravityLog
from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.cline.log_builder import ClineLog
from session_memory.adapters.codex.log_builder import CodexLog, tokens
from session_memory.adapters.continue_dev.log_builder import ContinueDevLog
from session_memory.adapters.copilot.log_builder import CopilotLog, spent
from session_memory.adapters.copilot_chat.log_builder import CopilotChatLog
from session_memory.adapters.cowork.log_builder import CoworkLog
from session_memory.adapters.crush.log_builder import CrushLog
from session_memory.adapters.cursor.log_builder import CursorChatLog, CursorEditorLog, CursorLog
from session_memory.adapters.droid.log_builder import DroidLog
from session_memory.adapters.gemini.log_builder import GeminiLog
from session_memory.adapters.grok.log_builder import GrokLog, turn_usage
from session_memory.adapters.kilo.log_builder import KiloLog
from session_memory.adapters.kimi.log_builder import KimiLog
from session_memory.adapters.kiro.log_builder import KiroLog, KiroRowLog
from session_memory.adapters.opencode.log_builder import OpenCodeLog, token_row
from session_memory.adapters.pi.log_builder import PiLog
from session_memory.adapters.qwen.log_builder import QwenLog
from session_memory.adapters.roo.log_builder import RooLog
from session_memory.adapters.zed.log_builder import ZedLog
from session_memory.testing.workspace import Workspace

GENUINE = ("claude", "codex", "grok", "gemini", "qwen", "copilot", "pi")
"""Flavours with genuine logs of lines."""
LOGS = (*GENUINE, "cowork", "copilot_chat", "cursor", "droid", "antigravity", "kimi")
"""Flavours that append lines to a file, which may be torn anywhere."""
DOCUMENTS = ("cline", "roo", "kilo", "continue_dev", "aider", "kiro")
"""Flavours that write a whole file anew at every change."""
DATABASES = ("crush", "zed")
"""Flavours that keep rows in a database."""
FLAVORS = (*LOGS, "opencode", *DOCUMENTS, *DATABASES)
MIXED = ("claude", "codex", "grok")
"""Enough of them where the store is tested: to it the others are no other work."""


def claude(seed: int, steps: int = 3) -> ClaudeLog:
    log = ClaudeLog(seed)
    log.prompt(f"work on task {seed}: keep the façade")
    for step in range(steps):
        log.run(f"sort step-{step}", f"{seed} step {step} done", exit_code=step % 3)
    log.say(f"task {seed} is done")
    return log


def cowork(seed: int, steps: int = 3) -> CoworkLog:
    log = CoworkLog(seed)
    log.prompt(f"prepare task {seed}: keep the façade")
    for step in range(steps):
        log.run(f"sort step-{step}", f"{seed} step {step} done", exit_code=step % 3)
    log.say(f"task {seed} is done")
    return log


def copilot_chat(seed: int, steps: int = 3) -> CopilotChatLog:
    log = CopilotChatLog(seed)
    log.prompt(f"finish task {seed}: keep the façade")
    for step in range(steps):
        log.run(f"sort step-{step}", f"{seed} step {step} done", step % 3)
    log.say(f"task {seed} is done")
    return log


def cursor(seed: int, steps: int = 3) -> CursorLog:
    return cared_for(CursorLog(seed), seed, steps)


def cursor_chat(seed: int, steps: int = 3) -> CursorLog:
    return cared_for(CursorChatLog(seed), seed, steps)


def cursor_editor(seed: int, steps: int = 3) -> CursorLog:
    return cared_for(CursorEditorLog(seed), seed, steps)


def cared_for(log: CursorLog, seed: int, steps: int) -> CursorLog:
    log.prompt(f"attend to task {seed}: keep the façade")
    for step in range(steps):
        log.run(f"sort {seed} step-{step}", f"{seed} step {step} done", step % 3)
    log.say(f"task {seed} is done")
    return log


def droid(seed: int, steps: int = 3) -> DroidLog:
    log = DroidLog(seed)
    log.prompt(f"perform task {seed}: keep the façade")
    for step in range(steps):
        log.run(f"sort step-{step}", f"{seed} step {step} done", step % 3)
    log.say(f"task {seed} is done")
    log.spend(100 + seed, 20, read=40)
    return log


def continue_dev(seed: int, steps: int = 3) -> ContinueDevLog:
    log = ContinueDevLog(seed)
    log.prompt(f"continue task {seed}: keep the façade")
    for step in range(steps):
        log.run(f"sort step-{step}", f"{seed} step {step} done", step % 3)
    log.say(f"task {seed} is done")
    return log


def antigravity(seed: int, steps: int = 3) -> AntigravityLog:
    log = AntigravityLog(seed)
    log.prompt(f"lift task {seed}: keep the façade")
    for step in range(steps):
        log.run(f"sort step-{step}", f"{seed} step {step} done", step % 3)
    log.say(f"task {seed} is done")
    return log


def codex(seed: int, steps: int = 3) -> CodexLog:
    log = CodexLog(seed, mode="paginated" if seed % 2 else "legacy").header().turn()
    log.prompt(f"look into task {seed}: keep the façade")
    for step in range(steps):
        log.run(f"sort step-{step}", f"{seed} step {step} done", step % 3)
    return log.answer(f"task {seed} is done").spend(tokens(100 + seed, 40, 10))


def grok(seed: int, steps: int = 3) -> GrokLog:
    log = GrokLog(seed)
    log.prompt(f"see to task {seed}: keep the façade")
    for step in range(steps):
        log.run(f"sort step-{step}", f"{seed} step {step} done", step % 3)
    log.say(f"task {seed} ", "is done")
    log.end_turn(turn_usage(100 + seed, 20, usd=0.01))
    return log


def gemini(seed: int, steps: int = 3) -> GeminiLog:
    log = GeminiLog(seed)
    log.prompt(f"go after task {seed}: keep the façade")
    log.say(f"task {seed} begins", thought="first things first")
    for step in range(steps):
        log.run(f"sort step-{step}", f"{seed} step {step} done", exit_code=step % 3)
    log.say(f"task {seed} is done")
    return log


def qwen(seed: int, steps: int = 3) -> QwenLog:
    log = QwenLog(seed)
    log.prompt(f"think over task {seed}: keep the façade")
    for step in range(steps):
        log.run(f"sort step-{step}", f"{seed} step {step} done", exit_code=step % 3)
    log.say(f"task {seed} is done")
    return log


def copilot(seed: int, steps: int = 3) -> CopilotLog:
    log = CopilotLog(seed)
    log.start()
    log.prompt(f"take up task {seed}: keep the façade")
    for step in range(steps):
        log.run(f"sort step-{step}", f"{seed} step {step} done", step % 3)
    log.answer(f"task {seed} is done", usage=spent(100 + seed, 20, read=40))
    log.shutdown(spent(200 + seed, 40))
    return log


def pi(seed: int, steps: int = 3) -> PiLog:
    log = PiLog(seed)
    log.prompt(f"carry out task {seed}: keep the façade")
    for step in range(steps):
        log.run(f"sort step-{step}", f"{seed} step {step} done", step % 3)
    log.answer(f"task {seed} is done")
    return log


def opencode(seed: int, steps: int = 3) -> OpenCodeLog:
    log = OpenCodeLog(seed)
    log.prompt(f"deal with task {seed}: keep the façade")
    for step in range(steps):
        log.run(f"sort step-{step}", f"{seed} step {step} done", step % 3)
    log.say(f"task {seed} is done")
    log.end_step(token_row(100 + seed, 20, read=40), cost=0.25, reason="stop")
    return log


def cline(seed: int, steps: int = 3) -> ClineLog:
    return carried_out(ClineLog(seed), seed, steps)


def roo(seed: int, steps: int = 3) -> ClineLog:
    return carried_out(RooLog(seed), seed, steps)


def kilo(seed: int, steps: int = 3) -> ClineLog:
    return carried_out(KiloLog(seed), seed, steps)


def carried_out(log: ClineLog, seed: int, steps: int) -> ClineLog:
    log.prompt(f"settle task {seed}: keep the façade")
    for step in range(steps):
        log.run(f"sort step-{step}", f"{seed} step {step} done", step % 3)
    log.complete(f"task {seed} is done")
    return log


def aider(seed: int, steps: int = 3) -> AiderLog:
    log = AiderLog(seed)
    log.prompt(f"bring about task {seed}: keep the façade")
    for step in range(steps):
        log.say(f"{seed} step {step} begins\n\n```python\nsort()\n```", usd="0.01")
        log.edit(f"step-{step}.py")
        log.run(f"sort step-{step}")
        log.prompt(f"go on with step {step}\nof task {seed}")
    log.say(f"task {seed} is done")
    return log


def kimi(seed: int, steps: int = 3) -> KimiLog:
    log = KimiLog(seed)
    log.prompt(f"work through task {seed}: keep the façade")
    for step in range(steps):
        log.run(f"sort step-{step}", f"{seed} step {step} done", step % 3)
    log.say(f"task {seed} is done", thought="at last")
    return log


def kiro(seed: int, steps: int = 3) -> KiroLog:
    return attended_to(KiroLog(seed), seed, steps)


def kiro_row(seed: int, steps: int = 3) -> KiroLog:
    return attended_to(KiroRowLog(seed), seed, steps)


def attended_to(log: KiroLog, seed: int, steps: int) -> KiroLog:
    log.prompt(f"handle task {seed}: keep the façade")
    for step in range(steps):
        log.run(f"sort step-{step}", f"{seed} step {step} done", step % 3)
    log.say(f"task {seed} is done")
    return log


def zed(seed: int, steps: int = 3) -> ZedLog:
    log = ZedLog(seed, packed=False)
    log.prompt(f"solve task {seed}: keep the façade", (100 + seed, 20, 0, 40))
    for step in range(steps):
        log.run(f"sort step-{step}", f"{seed} step {step} done", step % 3)
    log.say(f"task {seed} is done", thought="at last")
    log.spend((500, 90, 0, 200))
    return log


def crush(seed: int, steps: int = 3) -> CrushLog:
    log = CrushLog(seed)
    log.prompt(f"attend to task {seed}: keep the façade")
    for step in range(steps):
        log.run(f"sort step-{step}", f"{seed} step {step} done", step % 3)
    log.say(f"task {seed} is done")
    log.spend(0.25)
    return log


BUILDERS = {
    "claude": claude,
    "codex": codex,
    "grok": grok,
    "gemini": gemini,
    "qwen": qwen,
    "copilot": copilot,
    "pi": pi,
    "opencode": opencode,
    "cline": cline,
    "roo": roo,
    "kilo": kilo,
    "crush": crush,
    "aider": aider,
    "kimi": kimi,
    "kiro": kiro,
    "zed": zed,
    "cowork": cowork,
    "copilot_chat": copilot_chat,
    "cursor": cursor,
    "droid": droid,
    "continue_dev": continue_dev,
    "antigravity": antigravity,
}


STORED = {
    "crush": crush,
    "kiro": kiro_row,
    "zed": zed,
    "cursor chat": cursor_chat,
    "cursor editor": cursor_editor,
}
"""Builders of sessions that are rows of a database; the first word is the flavour."""


def write_flavors(space: Workspace, count: int = 2, steps: int = 3) -> None:
    """Sessions of several flavours, a fork and a sub-agent among them."""
    for flavor in MIXED:
        home = space.flavor_home(flavor)
        for seed in range(count):
            BUILDERS[flavor](500 + seed, steps).write(home)
    parent = claude(490)
    fork = parent.fork(491)
    fork.prompt("and the other way")
    child = parent.subagent("look around")
    child.say("nothing there")
    space.write(parent, fork, child)


def log_file(flavor: str, seed: int, home: Path, steps: int = 3) -> Path:
    """One session of a flavour with logs; returns the file that grows."""
    written = BUILDERS[flavor](seed, steps).write(home)
    return written / "updates.jsonl" if flavor == "grok" else written
