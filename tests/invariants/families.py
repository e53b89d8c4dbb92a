"""A few related sessions of each newer flavour: sub-agents, forks, branches, rewinds, resumes."""

from __future__ import annotations

from pathlib import Path

from session_memory.adapters.copilot.log_builder import CopilotLog, spent
from session_memory.adapters.gemini.log_builder import GeminiLog
from session_memory.adapters.gemini.log_builder import tokens as gemini_tokens
from session_memory.adapters.opencode.log_builder import OpenCodeLog, token_row
from session_memory.adapters.pi.log_builder import PiLog
from session_memory.adapters.pi.log_builder import spent as pi_spent
from session_memory.adapters.qwen.log_builder import QwenLog, usage

UNUSUAL = "go on, ünicode \u2028 and a 🙂"


def gemini(home: Path) -> None:
    """A chat with a rewind, a resume and a compression, its sub-agent, and an old document."""
    log = GeminiLog(1)
    log.context()
    log.prompt("fix the test")
    log.say("I run it.", gemini_tokens(100, 20, cached=40, thoughts=5), thought="which?")
    log.run("pytest -q", "1 failed", exit_code=1)
    wrong = log.prompt("another way")
    log.say("Hm.")
    log.rewind(wrong)
    log.prompt(UNUSUAL)
    log.say("I look at all of it.")
    log.large("much output " * 60)
    child = log.spawn(2, "count the files", "three files")
    log.resume()
    log.prompt("go on")
    log.compress("fixed")
    log.say("Done.", gemini_tokens(7, 3))
    old = GeminiLog(3)
    old.prompt("an older question")
    old.say("an older answer")
    log.write(home)
    child.write(home)
    old.write_document(home)


def qwen(home: Path) -> None:
    """A session with a compression, its sub-agent and its branch."""
    log = QwenLog(1)
    log.prompt("fix the test")
    log.run("pytest -q", "1 failed", exit_code=1)
    log.prompt(UNUSUAL)
    child = log.spawn(2, "count the files", "three files", usage(30, 3))
    log.compress("fixed", usage(9, 9))
    log.say("Done.", usage(7, 3, cached=2))
    fork = log.fork(3)
    fork.prompt("in the branch")
    fork.say("branched")
    for one in (log, child, fork):
        one.write(home)


def copilot(home: Path) -> None:
    """A session with a sub-agent, a compaction and a resume, and a second one."""
    log = CopilotLog(1)
    log.start()
    log.prompt("fix the test")
    log.run("pytest -q", "1 failed", 1)
    log.delegate("count the files")
    log.run("ls", "a b c")
    log.rejoin("three files")
    log.shutdown(spent(300, 60))
    log.resume()
    log.prompt(UNUSUAL)
    log.compact("fixed")
    log.answer("Done.", usage=spent(60, 6))
    log.shutdown(spent(400, 80))
    log.name("Fixing the test")
    other = CopilotLog(2)
    other.start(unattended=True)
    other.prompt("continue")
    other.answer("I do.")
    for one in (log, other):
        one.write(home)


def pi(home: Path) -> None:
    """A session with two branches and a compaction, its fork, and one of the first format."""
    log = PiLog(1)
    asked = log.prompt("fix the test")
    log.run("pytest -q", "1 failed", 1)
    log.answer("Hm.", usage=pi_spent(50, 5, usd=0.25))
    log.back_to(asked, "the other way failed")
    log.prompt(UNUSUAL)
    log.shell("ls", "a b c")
    log.compact("fixed")
    log.answer("Done.", usage=pi_spent(60, 6, usd=0.5))
    fork = log.fork(2)
    fork.prompt("in the fork")
    fork.answer("forked")
    first = PiLog(3, version=1)
    first.prompt("an older question")
    first.answer("an older answer")
    for one in (log, fork, first):
        one.write(home)


def opencode() -> list[OpenCodeLog]:
    """A session with a failure and a compaction, its sub-agent and its fork."""
    log = OpenCodeLog(1)
    log.prompt("fix the test")
    log.think("which?")
    log.run("pytest -q", "1 failed", exit_code=1)
    log.edit("/work/shop/cart.py", "a - b", "a + b")
    log.end_step(token_row(100, 20, read=40), cost=0.25)
    child = log.spawn(2, "count the files")
    child.say("three files")
    child.end_step(token_row(9, 3), reason="stop")
    log.prompt(UNUSUAL)
    log.fail("MessageAbortedError", "aborted")
    log.compact("fixed", token_row(10, 10))
    fork = log.fork(3)
    fork.prompt("in the fork")
    fork.say("forked")
    return [log, child, fork]


FAMILIES = {"gemini": gemini, "qwen": qwen, "copilot": copilot, "pi": pi}
