"""The memories of genuine projects: every line resolves, nothing is half, nothing is noise."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.memory.workbench import Bench

from session_memory.memory.evidence import CITED, evidence_for
from session_memory.memory.outputs import MAX_MEMORY_BYTES
from session_memory.redact import Redactor, render

SHARED = Path(__file__).resolve().parents[3] / "shared"
FLAVORS = ("claude", "codex", "grok", "copilot", "pi")


@pytest.fixture(scope="module")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    if not SHARED.is_dir():
        pytest.skip("genuine logs (../shared) are not here")
    bench, shared = Bench(tmp_path_factory.mktemp("genuine")), SHARED
    for flavor in FLAVORS:
        homes = sorted((shared / "logs" / flavor).iterdir())
        bench.space.paths[flavor] = tuple(str(path) for path in homes if path.is_dir())
    bench.swept().extract(limit=1_000)
    with bench.space.store() as store:
        roots = sorted(store.memories.roots())
    done = bench.consolidate(None, *roots)
    assert len(done) > 8 and {one.status for one in done} == {"done"}
    return bench


@pytest.mark.shared
def test_every_line_of_genuine_memories_resolves_and_is_whole(genuine: Bench) -> None:
    with genuine.space.store() as store:
        cited = 0
        for root in store.memories.roots():
            page = genuine.page(root)
            assert len(page.encode()) < MAX_MEMORY_BYTES / 4
            assert render(Redactor(store.tag_key).redact_text(page)) == page
            made = page
            names = [trace.thread_id[:8] for trace in store.memories.of_root(root)]
            for line in made.splitlines():
                if not line.startswith("- ") or "](skills/" in line:
                    continue
                assert any(name in line for name in names), line
                assert not re.match(r'- ".*…" \(trace', line), line  # a rule is whole or absent
                assert line.count("`") % 2 == 0, line
                cited += bool(CITED.search(line))
            for event in dict.fromkeys(CITED.findall(made)):
                found = evidence_for(store, f"[e:{event}]", genuine.data)
                assert any(quote.event == int(event) for one in found for quote in one.quotes)
        assert cited > 15


@pytest.mark.shared
def test_what_many_sessions_tripped_over_stands_once_with_its_cure(genuine: Bench) -> None:
    page = genuine.page("/Users/cedricteyton/Code/agents-md-evaluator")
    lines = [line for line in page.splitlines() if "unrecognized subcommand 'bun'" in line]
    assert len(lines) == 1 and "; use `bun run " in lines[0]
    assert "`bun run test` verifies tests; passed in 14 sessions" in page
    folder = genuine.folder("/Users/cedricteyton/Code/agents-md-evaluator")
    skill = (folder / "skills/verify-changes/SKILL.md").read_text()
    assert skill.index("`bun run lint`") < skill.index("`bun run test`")
