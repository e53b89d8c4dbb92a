"""What must hold for each client: pure functions of what was seen, to a reason or nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import combinations as subsets
from typing import Any, NamedTuple

from tests.e2e_clients import scripts
from tests.e2e_clients.clients import Client
from tests.e2e_clients.seen import (
    Files,
    Page,
    Stored,
    Tokens,
    asked,
    counted,
    results,
    shown,
    tokens_of,
)

MISFIT = "client offers no tool"
"""What the scripted model says to a request that is not for the agent: a title, a suggestion."""


class Seen(NamedTuple):
    """Everything that was seen of one client."""

    client: Client
    codes: dict[str, Any]
    """How each run of the client and each command of ours ended."""
    project: str
    requests: list[dict[str, Any]]
    records: list[dict[str, Any]]
    left_in_spool: list[str]
    hook_errors: str
    page: Page
    """As it was before the second session."""
    stored: Stored
    secret_logged: bool
    secret_found: list[str]
    processes: list[str]
    untouched: Files
    """Before `init`."""
    unwired: Files
    """After `init` and at once `uninstall`."""
    wired: Files
    """After `init`."""
    used: Files
    """Before the last `uninstall`."""
    restored: Files
    """After it."""
    remains: list[str]
    """What of ours is left after `uninstall --purge`."""


def wired(seen: Seen) -> str:
    """Init ended well and changed something."""
    bad = {name: code for name, code in seen.codes.items() if "init" in name and code != 0}
    if bad:
        return f"init ended with {bad}"
    changed = changes(seen.untouched, seen.wired)
    return "" if changed else "init changed no file"


def ran(seen: Seen) -> str:
    """Every run of the client ended well."""
    names = {step.name for step in seen.client.steps}
    bad = [f"{name}: {code}" for name, code in seen.codes.items() if name in names and code != 0]
    return ", ".join(bad)


def hooks(seen: Seen) -> str:
    """The events we are wired to were noted, under this client's name and in this repository."""
    events = {str(record["event"]) for record in seen.records}
    missing = seen.client.hooks - events
    if missing:
        return f"not noted: {', '.join(sorted(missing))}; noted: {', '.join(sorted(events))}"
    wrong = {str(record["flavor"]) for record in seen.records} - {seen.client.name}
    if wrong:
        return f"taken for {', '.join(sorted(wrong))}"
    return seen.hook_errors.strip()


def drained(seen: Seen) -> str:
    """The worker has taken every record that was due."""
    return f"{len(seen.left_in_spool)} records left" if seen.left_in_spool else ""


def captured(seen: Seen) -> str:
    """The first session is there with every step: prompt, edits, failure, repair, answer."""
    session = seen.stored.with_prompt("work")
    if session is None:
        return "the session is not in the store"
    events = seen.stored.events[session["id"]]
    texts = [str(event.get("text")) for event in events if event["kind"] == "assistant_text"]
    wanted = [str(step["say"]) for step in scripts.SCENARIOS["work"]]
    missing = [text for text in wanted if not any(text in one for one in texts)]
    if missing:
        return f"answers missing: {missing}"
    shell = [e for e in events if e["kind"] == "tool_call" and e.get("command")]
    if sum(scripts.FAILING in str(event["command"]) for event in shell) < 2:
        return f"commands missing: {[event['command'] for event in shell]}"
    written = [f for event in events for f in event.get("files") or ()]
    written += [str(event["command"]) for event in shell]  # Codex writes files by its shell
    if not all(any(name in one for one in written) for name in ("/calc.py", "/test_calc.py")):
        return f"files written: {written}"
    outputs = [e for e in events if e["kind"] == "tool_result"]
    failed = [e for e in outputs if "AssertionError: add is wrong" in str(e.get("text"))]
    if not failed or not failed[0].get("is_error"):
        return "the failing command is not marked as failed"
    unpaired = [e for e in events if e["kind"] == "tool_call" and not e.get("paired")]
    return f"{len(unpaired)} calls without result" if unpaired else ""


def placed(seen: Seen) -> str:
    """Every session belongs to the repository."""
    roots = {
        str((session.get("metadata") or {}).get("project_root_path"))
        for session in seen.stored.sessions
    }
    return "" if roots == {seen.project} else f"project roots: {sorted(roots)}"


def tokens(seen: Seen) -> str:
    """Our sum is what the model counted, with or without titles, summaries and suggestions."""
    had = Tokens()
    for session in seen.stored.sessions:
        cost = session["cost"]
        written = cost["cache_write_5m"] + cost["cache_write_1h"]
        one = Tokens(cost["input"], cost["cache_read"], written, cost["output"])
        had = had.plus(one)
    answered = [r for r in seen.requests if r.get("say") is not None]
    # Titles, summaries and what Grok and Qwen ask once more for the user's next words: some clients
    # count them, some do not. All that calls a tool or ends a turn must be in.
    ends = {(r["run"], r["scenario"], r["step"]): r for r in reversed(answered) if _with_tools(r)}
    needed = [r for r in answered if r["calls"] or r in ends.values()]
    needed = [r for r in needed if r["scenario"] != "side" and MISFIT not in r["say"]]
    spare = [r for r in answered if r not in needed]
    sums = {counted([*needed, *some]) for n in range(len(spare) + 1) for some in subsets(spare, n)}
    if had in sums:
        return ""
    more = [tokens_of(request) for request in spare]
    return f"stored {had}, the model counted {counted(needed)}, and maybe {more}"


def _with_tools(request: dict[str, Any]) -> bool:
    return bool((request.get("body") or {}).get("tools"))


def outcome(seen: Seen) -> str:
    """The repaired session is a success; the one after a failing last test would not be."""
    session = seen.stored.with_prompt("work")
    found = seen.stored.outcomes.get(session["id"]) if session else None
    return "" if found == "success" else f"outcome {found}"


def resumed(seen: Seen) -> str:
    """The resumed turn is in the same session."""
    session = seen.stored.with_prompt("work")
    events = seen.stored.events[session["id"]] if session else []
    return "" if any(scripts.RESUMED in str(e.get("text")) for e in events) else "not in it"


def delegated(seen: Seen) -> str:
    """The sub-agent's work is a session of its own, whose parent is known."""
    parent = seen.stored.with_prompt("agent")
    if parent is None:
        return "the session that delegates is not in the store"
    children = [s for s in seen.stored.sessions if s.get("parent_id") == parent["id"]]
    if not children:
        return "no session has it as parent"
    texts = [str(e.get("text")) for s in children for e in seen.stored.events[s["id"]]]
    return "" if any("SUBAGENT-REPORT" in text for text in texts) else "its report is missing"


def compacted(seen: Seen) -> str:
    """The compaction is noted, and what was said before it is still there."""
    session = seen.stored.with_prompt("work")
    events = seen.stored.events[session["id"]] if session else []
    if not any(event["kind"] == "compaction" for event in events):
        return "no compaction in the session"
    return "" if any(scripts.DONE in str(e.get("text")) for e in events) else "earlier text lost"


def recovered(seen: Seen) -> str:
    """The first turn after the compaction was told what its log shows, as early as can be."""
    rounds = [r for r in asked(seen.requests, "after", "told") if r.get("run") == "after"]
    if not rounds:
        return "no request after the compaction"
    text = "\n".join(shown(request) for request in rounds)
    if scripts.RECOVERY not in text:
        return "the model was not told"
    if f"- Last check that passed: `ls -1 && {scripts.FAILING}`" not in text:
        return "it was not told which check passed"
    looked = [r for r in rounds if r["scenario"] == "after" and r["calls"]]
    late = len(looked) > seen.client.looks_first
    return f"{len(looked)} requests before it was told" if late else ""


def listed(seen: Seen) -> str:
    """The tools were offered to the model, directly or by name behind a search."""
    texts = [json.dumps(r.get("body")) for r in asked(seen.requests, "recall")]
    missing = [tool for tool in scripts.CALLED if not any(tool in text for text in texts)]
    return f"not offered: {', '.join(missing)}" if missing else ""


def first_turn(seen: Seen) -> str:
    """The model knew of them in the first request of a session that came with tools.

    Some clients tell it names or the server's instructions, and the rest behind a search.
    """
    first = [r for r in asked(seen.requests, "recall") if _with_tools(r)][:1]
    known = [tool for tool in scripts.CALLED if tool in json.dumps([r["body"] for r in first])]
    return "" if known else "no tool of ours was named in the first request"


def called(seen: Seen) -> str:
    """The model was shown the answers: facts and the cure of the first session, and the refusal."""
    rounds = asked(seen.requests, "recall")
    if not rounds:
        return "no request"
    last = results(rounds[-1])
    if len(last) < len(scripts.SCENARIOS["recall"]) - 1:
        return f"{len(last)} results: {[text[:80] for text in last]}"
    shown_text = "\n".join(last)
    for fact in ("shop", scripts.FACT, scripts.CURED, scripts.NOT_FOUND):
        if fact not in shown_text:
            return f"the model was not shown {fact!r}"
    return ""


def injected(seen: Seen) -> str:
    """Every line of the page reached the model in the second session."""
    if not seen.page.sections:
        return "the worker prepared no page"
    rounds = asked(seen.requests, "recall") or asked(seen.requests, "hello")[-1:]
    text = "\n".join(shown(request) for request in rounds)
    wanted = [line for section in seen.page.sections for line in section.splitlines()]
    missing = [line for line in wanted if line.strip() and line.strip() not in text]
    return f"{len(missing)} of {len(wanted)} lines missing" if missing else ""


def secret(seen: Seen) -> str:
    """The planted key was printed in the session and is in nothing of ours."""
    if not seen.secret_logged:
        return "the client's log does not hold it: the check proves nothing"
    return f"found in {seen.secret_found}" if seen.secret_found else ""


def processes(seen: Seen) -> str:
    """Nothing runs any more."""
    return "; ".join(seen.processes)


def uninstalled(seen: Seen) -> str:
    """Byte for byte as before; where the client wrote in between, as it would be without us."""
    if different := changes(seen.untouched, seen.unwired):
        return f"init and uninstall changed {different}"
    touched = changes(seen.untouched, seen.wired)
    wrong: list[str] = []
    for name in touched:
        before, after = seen.wired.get(name), seen.used.get(name)
        expected = seen.untouched.get(name)
        if before != after and after is not None:
            expected = without_us(after)
        if seen.restored.get(name) != expected:
            wrong.append(name)
    if wrong:
        return f"not as without us: {wrong}"
    return f"left behind: {seen.remains}" if seen.remains else ""


def changes(before: Files, after: Files) -> list[str]:
    """Files that are not the same in both."""
    return sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n))


def without_us(file: tuple[bytes, int]) -> tuple[bytes, int] | None:
    """A JSON file that a client wrote itself, with our entries taken out."""
    data, mode = file
    value = json.loads(data)
    value.get("mcpServers", {}).pop(scripts.SERVER, None)
    if value.get("mcpServers") == {}:
        del value["mcpServers"]
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return (text + ("\n" if data.endswith(b"\n") else "")).encode(), mode


CHECKS: dict[str, Callable[[Seen], str]] = {
    "wired": wired,
    "ran": ran,
    "hooks": hooks,
    "drained": drained,
    "captured": captured,
    "project": placed,
    "tokens": tokens,
    "outcome": outcome,
    "resumed": resumed,
    "sub-agent": delegated,
    "compacted": compacted,
    "recovered": recovered,
    "mcp listed": listed,
    "first turn": first_turn,
    "mcp called": called,
    "injected": injected,
    "secret": secret,
    "processes": processes,
    "uninstalled": uninstalled,
}


def verdicts(seen: Seen) -> dict[str, str]:
    """`ok`, `n.a.: reason` or `FAIL: reason` for every check."""
    found: dict[str, str] = {}
    for name, check in CHECKS.items():
        if name in seen.client.lacks:
            found[name] = f"n.a.: {seen.client.lacks[name]}"
            continue
        reason = check(seen)
        found[name] = f"FAIL: {reason}" if reason else "ok"
    return found
