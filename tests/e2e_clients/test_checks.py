"""The checks of the real-client runs can fail: each finds what it is there to find."""

from __future__ import annotations

from typing import Any

import pytest
from tests.e2e_clients import checks, faults, scripts
from tests.e2e_clients.checks import CHECKS, Seen, verdicts
from tests.e2e_clients.clients import CLIENTS
from tests.e2e_clients.seen import Page, Stored, counted

ROOT = "/repos/shop"


def events() -> list[dict[str, Any]]:
    said = [str(step["say"]) for step in scripts.SCENARIOS["work"]]
    command = {"kind": "tool_call", "command": scripts.FAILING, "paired": True, "text": "{}"}
    failed = {"kind": "tool_result", "text": "AssertionError: add is wrong", "is_error": True}
    return [
        {"kind": "user_prompt", "text": f"[[fake:work cwd={ROOT}]] build"},
        *({"kind": "assistant_text", "text": text} for text in said),
        {**command, "files": [f"{ROOT}/calc.py", f"{ROOT}/test_calc.py"]},
        failed,
        command,
        {"kind": "assistant_text", "text": scripts.RESUMED},
        {"kind": "compaction", "text": ""},
    ]


def session(number: int, source: str, parent: int | None, tokens: Any) -> dict[str, Any]:
    cost = {"input": tokens.fresh, "cache_read": tokens.read, "cache_write_5m": tokens.written}
    return {
        "id": number,
        "source_kind": source,
        "parent_id": parent,
        "metadata": {"project_root_path": ROOT},
        "cost": {**cost, "cache_write_1h": 0, "output": tokens.output},
    }


def request(run: str, scenario: str, *results: str, **more: Any) -> dict[str, Any]:
    shown = [{"type": "function_call_output", "output": text} for text in results]
    body = {"tools": list(scripts.CALLED), "input": shown, "instructions": "Use ruff"}
    told = {"path": "/v1/responses", "run": run, "scenario": scenario, "step": 0, "calls": []}
    return {**told, "say": "well", "body": body, **more}


def good() -> Seen:
    """A run in which everything holds."""
    answers = ("shop", scripts.FACT, scripts.CURED, scripts.NOT_FOUND)
    check = f"- Last check that passed: `ls -1 && {scripts.FAILING}`"
    told = {"input": [f"{scripts.RECOVERY}1>>>\n{check}"]}
    requests = [request("work", "work"), request("recall", "recall", *answers)]
    requests.insert(1, request("after", "told", body=told))
    none, all_of_it = counted([]), counted(requests)
    stored = Stored(
        [
            session(1, "exec", None, all_of_it),
            session(2, "exec", None, none),
            session(3, "subagent", 2, none),
        ],
        {
            1: events(),
            2: [{"kind": "user_prompt", "text": "[[fake:agent cwd=x]] delegate"}],
            3: [{"kind": "assistant_text", "text": "SUBAGENT-REPORT: done"}],
        },
        {1: "success", 2: "uncertain", 3: "uncertain"},
    )
    before, wired = {"a.json": (b"{}", 0o600)}, {"a.json": (b'{"ours": 1}', 0o600)}
    client = CLIENTS["claude"]
    return Seen(
        client,
        {step.name: 0 for step in client.steps},
        ROOT,
        requests,
        [{"event": event, "flavor": "claude"} for event in client.hooks],
        [],
        "",
        Page(("Use ruff",)),
        stored,
        True,
        [],
        [],
        before,
        before,
        wired,
        wired,
        before,
        [],
    )


def changed(text: str, **more: Any) -> list[dict[str, Any]]:
    """The events with those that hold a text changed, or gone where nothing is said of them."""
    return [{**e, **more} if text in str(e) else e for e in events() if more or text not in str(e)]


def with_events(seen: Seen, found: list[dict[str, Any]]) -> Seen:
    stored = seen.stored
    return seen._replace(stored=stored._replace(events={**stored.events, 1: found}))


def with_sessions(seen: Seen, number: int, **more: Any) -> Seen:
    found = [{**s, **more} if s["id"] == number else s for s in seen.stored.sessions]
    return seen._replace(stored=seen.stored._replace(sessions=found))


def broken(check: str) -> Seen:
    """A run in which this is wrong."""
    seen = good()
    late = request("recall", "recall", body={"tools": ["shell"]})
    short = [seen.requests[0], request("recall", "recall", "shop")]
    wrong: dict[str, Seen] = {
        "wired": seen._replace(wired=seen.untouched),
        "ran": seen._replace(codes={**seen.codes, "resume": 1}),
        "hooks": seen._replace(records=seen.records[1:]),
        "drained": seen._replace(left_in_spool=["a"]),
        "captured": with_events(seen, changed("AssertionError", is_error=False)),
        "project": with_sessions(seen, 2, metadata={"project_root_path": "/elsewhere"}),
        "tokens": with_sessions(seen, 2, cost={**seen.stored.sessions[1]["cost"], "output": 1}),
        "outcome": seen._replace(stored=seen.stored._replace(outcomes={1: "fail"})),
        "resumed": with_events(seen, changed(scripts.RESUMED)),
        "sub-agent": with_sessions(seen, 3, parent_id=None),
        "compacted": with_events(seen, changed("compaction")),
        "recovered": seen._replace(requests=[request("after", "after"), *seen.requests[2:]]),
        "mcp listed": seen._replace(requests=[request("recall", "recall", body={})]),
        "first turn": seen._replace(requests=[late, *seen.requests]),
        "mcp called": seen._replace(requests=short),
        "injected": seen._replace(page=Page(("Use ruff", "Never told"))),
        "secret": seen._replace(secret_found=["store.db"]),
        "processes": seen._replace(processes=["7 python"]),
        "uninstalled": seen._replace(restored=seen.wired),
    }
    return wrong[check]


def test_a_good_run_is_ok_in_every_column() -> None:
    assert set(verdicts(good()).values()) == {"ok"}


@pytest.mark.parametrize("check", CHECKS)
def test_every_check_can_fail(check: str) -> None:
    assert verdicts(broken(check))[check].startswith("FAIL: ")


def test_a_client_whose_hooks_speak_beside_results_may_look_once_before_it_is_told() -> None:
    seen = good()
    looked = request("after", "after", calls=[{"name": "shell"}])
    once, twice = ([looked] * times + seen.requests for times in (1, 2))
    late = seen._replace(client=seen.client._replace(looks_first=1))
    assert "before it was told" in checks.recovered(seen._replace(requests=once))
    assert checks.recovered(late._replace(requests=once)) == ""
    assert "before it was told" in checks.recovered(late._replace(requests=twice))


def test_a_secret_that_was_never_printed_proves_nothing() -> None:
    assert "proves nothing" in checks.secret(good()._replace(secret_logged=False))


def test_what_a_client_cannot_have_is_not_asked_for() -> None:
    verdict = verdicts(good()._replace(client=CLIENTS["pi"]))
    assert verdict["mcp called"] == "n.a.: pi has no MCP"


def test_a_file_the_client_wrote_in_between_is_expected_as_it_would_be_without_us() -> None:
    seen = good()
    written = b'{\n  "mcpServers": {\n    "session-memory": {}\n  },\n  "runs": 7\n}'
    seen = seen._replace(used={"a.json": (written, 0o600)})
    assert "not as without us" in checks.uninstalled(seen)
    restored = {"a.json": (b'{\n  "runs": 7\n}', 0o600)}
    assert checks.uninstalled(seen._replace(restored=restored)) == ""


GONE = faults.Fault(faults.launcher_gone, "work", gone=True)
BROKEN = faults.Fault(faults.hook_killed, "work")


def session_of(*said: str, code: int = 0, shown: str = "Be brief.") -> faults.Run:
    """A session whose model said this."""
    body = {"input": [shown], "tools": ["mcp tools of whatever server"]}
    return faults.Run(code, [request("work", "work", say=text, body=body) for text in said])


PLAIN = session_of("Now run the test.", scripts.DONE)


@pytest.mark.parametrize(
    ("fault", "run", "reason"),
    [
        (GONE, PLAIN, ""),
        (GONE, PLAIN._replace(code=1), "ended with 1"),
        (GONE, PLAIN._replace(code="timeout"), "ended with timeout"),
        (GONE, faults.Run(0, []), "asked nothing"),
        (GONE, session_of("Now run the test."), "did not come to its end"),
        (GONE, session_of("Now", "run", scripts.DONE), "3 requests instead of 2"),
        (GONE, session_of("a", scripts.DONE, shown="session-memory failed to connect"), "told"),
        (GONE, session_of("a", scripts.DONE, shown="Stop hook error: exit 127"), "told"),
        (GONE, session_of("a", scripts.DONE, shown="Chunk 7f3a"), ""),
        (BROKEN, session_of("a", scripts.DONE, shown="half an answer"), "told"),
        (BROKEN, session_of("a", scripts.DONE, shown="session-memory has tools"), ""),
    ],
)
def test_a_client_that_noticed_a_fault_is_found_out(
    fault: faults.Fault, run: faults.Run, reason: str
) -> None:
    verdict = faults.judge(fault, "work", run, PLAIN)
    assert (reason in verdict) if reason else verdict == ""


def test_a_session_is_run_again_only_where_a_tool_was_wanted_and_missing() -> None:
    missing = f"Which sessions? ({checks.MISFIT} for: ['mcp'])"
    title = request("recall", "recall", say=missing, body={})
    assert not faults.came_without_tools(faults.Run(0, [title, *PLAIN.requests]))
    assert faults.came_without_tools(session_of(missing))
    killed = faults.FAULTS["server killed"]
    assert faults.judge(killed, "recall", session_of(missing), PLAIN) == ""
    assert "end" in faults.judge(killed, "recall", session_of("Which sessions?"), PLAIN)
    assert "end" in faults.judge(faults.FAULTS["disk full"], "recall", session_of(missing), PLAIN)


def test_a_second_request_for_the_last_answer_does_not_count() -> None:
    called, end = request("work", "work", calls=[{"name": "shell"}]), request("work", "work")
    assert faults.once([called, end, {**end, "step": 5}]) == faults.once([called, end])
    assert faults.once([called, called, end]) == [called, called, end]
