"""Which events a memory may cite."""

from __future__ import annotations

import json

from tests.memory.test_support import a_model
from tests.memory.workbench import Bench, answer

from session_memory.testing.scripted_model import ScriptedModel


def test_events_of_another_project_cannot_be_cited(bench: Bench) -> None:
    bench.work(1)
    bench.work(2, cwd="/work/other")
    bench.swept().extract(ScriptedModel([answer(), answer()]))
    with bench.space.store() as store:
        other = store.memories.of_root("/work/other")[0].session_id
        event = next(iter(store.events(other))).id
    page = f"# Memory\n\n- run pytest -q\n- fix the parser [e:{event}]\n"
    (done,) = bench.consolidate(a_model(page))
    assert done.unsupported == 1 and json.dumps(event) not in bench.page()
