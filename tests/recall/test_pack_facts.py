"""What a pack says of branch, commit, checks and files."""

from __future__ import annotations

import msgspec
import pytest
from tests.recall.store_builder import START, Memory, observed
from tests.recall.test_context_pack import ROOF, pack

from session_memory.core.schema import CommandRun, GitState


@pytest.mark.rows("RSM-01")
def test_finished_work_is_told_by_its_commit_alone(memory: Memory) -> None:
    done = {"outcome": "success", "ended": "finished"}
    memory.session("a", ("user_request", "Mend the roof before winter"), **(ROOF | done))
    found = pack(memory).text
    assert 'Last commit (2026-03-02) on `roof`: 1a2b3c4 "Lay the first row"' in found
    assert not any(words in found for words in ("Mend the roof", "Edited", "crooked"))


@pytest.mark.rows("RSM-01")
def test_what_stands_on_the_main_branch_is_no_longer_in_work(memory: Memory) -> None:
    git = GitState("main", "1a2b3c4", "Lay the first row", 5, pushed=True, merged=True)
    memory.session("a", ("user_request", "Mend the roof before winter"), **(ROOF | {"git": git}))
    found = pack(memory).text
    assert 'on `main`: 1a2b3c4 "Lay the first row", pushed\n' in found
    assert "Edited" not in found and "crooked" in found


@pytest.mark.rows("RSM-01")
def test_a_check_that_failed_last_did_not_pass(memory: Memory) -> None:
    failed = CommandRun("make test", 1, True, at=START, seq=9, verifies=True)
    memory.session("a", **(ROOF | {"commands": (*ROOF["commands"], failed)}))  # type: ignore[misc]
    assert "Passed last" not in pack(memory).text


@pytest.mark.rows("RSM-01")
def test_a_file_outside_the_project_is_not_in_work(memory: Memory) -> None:
    files = {"C:\\Temp\\reply.md": 3, "/tmp/notes": 1, "roof\\beam.py": 1}
    memory.session("a", **(ROOF | {"files": files}))
    assert "Edited: roof/beam.py\n" in pack(memory, budget="full").text


@pytest.mark.rows("RSM-01")
def test_a_claim_is_not_denied_by_a_branch_that_waits(memory: Memory) -> None:
    one = memory.session("a")
    waits = observed(one, "pending_item", "Branch `roof`: PR #7 not merged")
    claim = observed(one, "completion_claim", "All done", START + 1)
    memory.keep(one, [msgspec.structs.replace(waits, origin="tool"), claim])
    assert "PR #7 not merged" in pack(memory).text
    assert "Completion was claimed" not in pack(memory).text
