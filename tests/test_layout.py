"""A module's tests carry its name, so that `ls tests/<folder>/test_<module>*` finds them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parent
SOURCE = TESTS.parent / "src" / "session_memory"
LARGE = 100
"""Lines from which on a module needs a test file of its name; others are tested where used."""

ACROSS_MODULES = frozenset({"bench", "contract", "e2e", "e2e_clients", "invariants"})
"""Folders of tests that prove what several modules do together."""

OF_NO_MODULE = {
    "test_behaviour": "docs/behaviour.md",
    "test_docs": "the other documents",
    "test_first_run": "scripts/first_run.py",
    "test_layers": "which module may import which",
    "test_layout": "where tests are",
    "test_make_environment": "scripts/make_environment.py",
    "test_suite": "the suite itself",
}
"""Test files that prove something other than modules, and what."""

TESTED_ELSEWHERE: dict[str, str] = {
    "adapters/gather": "adapters/test_common",
    "adapters/places": "adapters/test_registry",
    "adapters/shared_wiring/client": "install/test_plan_clients",
    "adapters/shared_wiring/parts": "install/test_plan_clients",
    "cli/import": "export/test_importer_refusals",
    "cli/mcp": "mcp/test_stdio",
    "cli/measure": "measure/test_guard_use",
    "cli/retention": "ingest/test_retention_report",
    "cli/wiring": "cli/test_init",
    "core/schema": "contract/test_sessions",
    "core/sharing/wire": "hub/test_push",
    "curate/note_decisions": "web/test_notes",
    "distil/turns": "distil/test_observe",
    "distribute/plan_builder": "distribute/test_plan",
    "export/drafts": "export/test_jsonl_round_trip",
    "export/markdown": "web/test_session",
    "hub/queries": "hub/test_search",
    "ingest/pool_jobs": "ingest/test_process_pool",
    "install/hook_table": "install/test_hook_files",
    "journal/context": "journal/test_compile_genuine",
    "mcp/left_out_fields": "mcp/test_render",
    "mcp/prompt_texts": "mcp/test_prompts",
    "memory/findings": "memory/test_briefing",
    "model/port": "model/test_metered",
    "recall/items": "recall/test_pack_selection",
    "recall/material": "recall/test_context_pack",
    "recall/observations": "recall/test_search",
    "recall/requests": "mcp/test_arguments",
    "settings/settings": "settings/test_load",
    "store/manifest": "store/sqlite/test_rows_from_segments",
    "store/memories": "contract/test_memories",
    "store/port": "contract/test_coverage",
    "store/remote_call": "hub/test_server_laptops",
    "store/scopes": "contract/test_scopes",
    "store/sqlite/closures": "contract/test_recall",
    "store/sqlite/dump": "contract/test_whole_store",
    "store/sqlite/event_copies": "contract/test_forks",
    "store/sqlite/find_text": "forget/test_plan",
    "store/sqlite/live": "contract/test_background",
    "store/sqlite/manifests": "store/sqlite/test_rows_from_segments",
    "store/sqlite/projects": "core/project/test_identity_stored",
    "store/sqlite/queries": "contract/test_sessions",
    "store/sqlite/rewrite": "forget/test_rescan",
    "store/sqlite/settle": "ingest/test_merge",
    "store/sqlite/statements": "contract/test_usage",
    "store/values": "contract/test_sessions",
    "store/writer": "contract/test_writing",
    "team/evidence": "cli/test_team_answers",
    "team/hub_values": "team/test_remote_store",
    "team/items": "team/test_gather",
    "team/ledger": "team/test_push",
    "team/pulled": "team/test_take_back",
    "team/remote_scopes": "contract/test_recall",
    "web/context": "web/test_app_pages",
    "web/effect": "web/test_app_browser",
    "worker/guard_table": "cli/test_guard",
}
"""Large modules without a test file of their name, and what proves them until they have one."""


def name_of(module: Path) -> str:
    """The path by which tests name a module: `distil/cures`; a package is `settings/settings`.

    An agent's folder is one module, as nobody uses a part of it alone; so are the tables of
    redaction rules, each of which brings its own samples.
    """
    *folders, stem = module.relative_to(SOURCE).with_suffix("").parts
    if folders[:1] == ["adapters"] and len(folders) == 2 and folders[1] != "shared_wiring":
        return f"adapters/{folders[1]}"
    if stem == "__init__" and folders:
        stem = folders[-1]
    return "/".join((*folders, stem.strip("_")))


def modules() -> Iterator[Path]:
    """Modules of the program; `testing` is itself for tests."""
    yield from (path for path in SOURCE.rglob("*.py") if path.parent.name != "testing")


def files_by_module() -> dict[str, list[str]]:
    """Test files by the module in their name, the longest name that fits; "" for none."""
    names = {name_of(path) for path in modules()}
    found: dict[str, list[str]] = {}
    for path in TESTS.rglob("test_*.py"):
        file = path.relative_to(TESTS).with_suffix("").as_posix()
        words = path.stem.removeprefix("test_").split("_")
        folder = file.removesuffix(path.stem)
        if folder == "contract/":  # runs on every implementation of the store
            folder = "store/sqlite/"
        elif file in OF_NO_MODULE or folder.partition("/")[0] in ACROSS_MODULES:
            continue
        candidates = (folder + "_".join(words[:count]) for count in range(len(words), 0, -1))
        found.setdefault(next((name for name in candidates if name in names), ""), []).append(file)
    return found


def test_every_test_file_has_the_name_of_a_module() -> None:
    unknown = files_by_module().get("", [])
    assert [file for file in unknown if not file.startswith("contract/")] == []


def test_every_large_module_has_a_test_file_of_its_name() -> None:
    large = {name_of(path) for path in modules() if path.read_bytes().count(b"\n") >= LARGE}
    rules = {name for name in large if name.startswith("redact/") and name.endswith("_rules")}
    assert large - rules - files_by_module().keys() == TESTED_ELSEWHERE.keys()


def test_what_proves_a_module_without_a_file_of_its_name_is_there() -> None:
    missing = [file for file in TESTED_ELSEWHERE.values() if not (TESTS / f"{file}.py").is_file()]
    assert missing == []
