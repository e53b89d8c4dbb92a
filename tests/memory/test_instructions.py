"""Nothing is said again that a repository's own instruction files say, wherever they are known."""

from __future__ import annotations

import pytest
from tests.memory.workbench import SHOP, Bench

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.codex.log_builder import CodexLog
from session_memory.memory.briefing import briefing_of
from session_memory.memory.instructions import names_command, states_trap, states_wish

CHECKED = "Run `pytest -q` after every change."


def told(bench: Bench) -> list[str]:
    with bench.space.store() as store:
        (shop,) = (each for each in store.projects() if each.root == SHOP)
        return [line.text for line in briefing_of(store, shop)]


@pytest.mark.rows("BRF-06")
def test_an_instruction_file_that_a_claude_session_read_is_known(bench: Bench) -> None:
    bench.work(1)
    assert told(bench.swept()) == ["Verify with `pytest -q` (it passed in 1 session)"]
    log = ClaudeLog(2, cwd=SHOP)
    log.prompt("what do the rules say?")
    log.read(f"{SHOP}/docs/CLAUDE.md", "Run `pytest -q`.")
    bench.space.write(log)
    assert len(told(bench.swept())) == 1  # not the file of the whole repository
    log.read(f"{SHOP}/CLAUDE.md", CHECKED)
    bench.space.write(log)
    assert told(bench.swept()) == []


@pytest.mark.rows("BRF-06", "MEM-01")
def test_instructions_that_codex_was_given_are_known_in_both_outputs(bench: Bench) -> None:
    bench.work(1)
    bench.swept().extract()
    bench.consolidate()
    assert "`pytest -q` verifies tests" in bench.page()
    log = CodexLog(2, cwd=SHOP).header().turn()
    given = f"# AGENTS.md instructions for {SHOP}\n\n<INSTRUCTIONS>\n{CHECKED}\n</INSTRUCTIONS>"
    log.prompt(given).prompt("let the parser read empty lines").run("pytest -q", "3 passed in 0.1s")
    log.answer("The parser reads empty lines.").write(bench.space.flavor_home("codex"))
    bench.swept().extract()
    bench.consolidate(force=True)
    assert told(bench) == []
    assert "`pytest -q`" not in bench.page()


def test_what_a_text_says_already() -> None:
    text = "Use `bun run test:ci` here.\nNever amend commits that were pushed."
    assert names_command(text, "bun run test:ci") and not names_command(text, "bun run test")
    trap = "`rtk bun run test:ci` fails here (no such command); use `bun run test:ci`"
    assert not states_trap(text, trap) and states_trap(f"{text} Not with rtk.", trap)
    assert states_wish(text, '"don\'t amend pushed commits"; said in 2 sessions')
    assert not states_wish(text, '"don\'t amend old release commits"; said in 2 sessions')
