"""Three agents, one memory: the same work told by each log gives the same kinds of values."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.claude.log_builder import tokens as claude_tokens
from session_memory.adapters.codex.log_builder import CodexLog, call, exec_text, output
from session_memory.adapters.codex.log_builder import tokens as codex_tokens
from session_memory.adapters.common import Normalized, SessionPart
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.grok.log_builder import GrokLog, turn_usage
from session_memory.adapters.registry import adapters
from session_memory.core.pricing import load_table, price
from session_memory.core.schema import Cost, EventKind, Origin, Session, SessionEvent, ToolClass
from session_memory.testing.workspace import Workspace

FLAVORS = ("claude", "codex", "grok")
Step = tuple[str, str, int]
"""(what is asked and answered, what the command prints, its exit code)."""


def claude(home: Path, cwd: str, steps: list[Step]) -> str:
    log = ClaudeLog(1, cwd=cwd)
    log.branch, log.version = "fix", "2.1.120"
    log.title("mend the shop")
    for words, printed, code in steps:
        log.prompt(f"do {words}")
        log.run(f"echo {words}", printed, exit_code=code)
        log.say(f"did {words}", claude_tokens(60, 10, read=40))
    log.write(home)
    return log.session_id


def codex(home: Path, cwd: str, steps: list[Step]) -> str:
    git = {"branch": "fix", "commit_hash": "b" * 40}
    log = CodexLog(1, cwd=cwd).header(git=git, cli_version="0.150.0")
    for words, printed, code in steps:
        log.turn().prompt(f"do {words}").run(f"echo {words}", printed, code)
        log.answer(f"did {words}").spend(codex_tokens(100, 40, 10))
    log.write(home)
    return log.thread


def grok(home: Path, cwd: str, steps: list[Step]) -> str:
    log = GrokLog(1, cwd=cwd)
    log.summary |= {"head_branch": "fix", "head_commit": "c" * 40, "generated_title": "mend"}
    for words, printed, code in steps:
        log.prompt(f"do {words}")
        log.run(f"echo {words}", printed, exit_code=code)
        log.say(f"did {words}")
        log.end_turn(turn_usage(60, 10, read=40))
    log.write(home)
    return log.session_id


Teller = Callable[[Path, str, list[Step]], str]
TELLERS: dict[str, Teller] = {"claude": claude, "codex": codex, "grok": grok}
WORK: list[Step] = [("one", "1 failed", 1), ("two", "1 passed", 0)]


def told(root: Path, steps: list[Step], cwd: str = "/work/shop") -> tuple[Workspace, list[str]]:
    """The same work in three logs, swept into one store; the sessions' own names."""
    space = Workspace(root)
    names: list[str] = []
    for flavor, tell in TELLERS.items():
        home = root / flavor
        home.mkdir(exist_ok=True)
        space.paths[flavor] = (str(home),)
        names.append(tell(home, cwd, steps))
    space.sweep()
    return space, names


@pytest.mark.rows("CAP-01")
def test_three_logs_give_values_of_the_same_types_and_fields(tmp_path: Path) -> None:
    space, names = told(tmp_path, WORK)
    stories: list[list[object]] = []
    for flavor, name in zip(FLAVORS, names, strict=True):
        session, events = space.session(name), space.events(name)
        assert (session.flavor, type(session), type(session.cost)) == (flavor, Session, Cost)
        assert {type(event) for event in events} == {SessionEvent}
        for value in (session, session.cost, *events):
            assert set(msgspec.structs.asdict(value)) == set(type(value).__struct_fields__)
        assert {event.kind for event in events} <= set(get_args(EventKind))
        assert {event.origin for event in events} <= set(get_args(Origin))
        plain = msgspec.structs.replace(
            session.cost, reasoning=0, cache_write_5m=0, usd=None, price_table=None
        )
        # Claude pays for the call's own response too, as its log has one more.
        extra = 2 * 100 if flavor == "claude" else 0
        spoken = 2 * 50 if flavor == "claude" else 0
        assert plain == Cost(input=120 + extra, output=20 + spoken, cache_read=80)
        stories.append(
            [
                (e.kind, e.origin, e.tool_class, e.command, e.is_error, e.exit_code, e.paired)
                for e in events
                if e.kind != "system"  # what a client notes of its own turns
            ]
        )
    # The same story, but that Claude's log states no exit code of a command that succeeded.
    ends = [[fact[5] for fact in story if fact[0] == "tool_result"] for story in stories]
    assert [codes[0] for codes in ends] == [1, 1, 1]
    assert {codes[1] for codes in ends} <= {0, None}
    blind = [[(*fact[:5], *fact[6:]) for fact in story] for story in stories]
    assert blind[0] == blind[1] == blind[2]


TOLD = {
    "claude": {
        "models": ("claude-sonnet-4-5-20250929",),
        "client_version": "2.1.120",
        "title": "mend the shop",
        "commit": None,  # its log names none
    },
    "codex": {
        "models": ("gpt-5.5-codex",),
        "client_version": "0.150.0",
        "title": None,
        "commit": "b" * 40,
    },
    "grok": {
        "models": ("grok-4.5",),
        "client_version": None,
        "title": "mend",
        "commit": "c" * 40,
    },
}
"""What the logs above say of their sessions, each in its own words."""
OURS = {"id", "project_id", "repo", "domain", "low_value", "state", "metadata", "cost"}
"""What is not in a log but found out by us; cost is looked at by itself."""


@pytest.mark.rows("CAP-01")
def test_every_field_of_a_session_comes_back_as_its_log_says_it(tmp_path: Path) -> None:
    space, names = told(tmp_path, WORK, "/work/bench")
    for flavor, name in zip(FLAVORS, names, strict=True):
        times = [event.at for event in parsed(flavor, tmp_path / flavor).events if event.at]
        wanted = {
            "flavor": flavor,
            "external_id": name,
            "parent_external_id": None,
            "parent_id": None,
            "forked_from": None,
            "project_key": "bench",
            "cwd": "/work/bench",
            "branch": "fix",
            "source_kind": "interactive",
            "started_at": min(times),
            "ended_at": max(times),
            "label": None,
            "event_count": len(parsed(flavor, tmp_path / flavor).events),
            "parser_version": adapters()[flavor].parser_version,
            **TOLD[flavor],
        }
        found = msgspec.structs.asdict(space.session(name))
        assert set(found) - OURS == set(wanted)
        assert {field: found[field] for field in wanted} == wanted


@pytest.mark.rows("CAP-01")
def test_three_logs_of_one_work_are_distilled_alike(tmp_path: Path) -> None:
    space, names = told(tmp_path, WORK)
    found = [space.digest(name) for name in names]
    digests = [digest for digest in found if digest is not None]
    assert [digest.flavor for digest in digests] == list(FLAVORS)
    for field in ("objective", "outcome", "turns", "requests", "tests_failed", "interruptions"):
        assert len({getattr(digest, field) for digest in digests}) == 1, field
    assert {tuple(run.command for run in digest.commands) for digest in digests} == {
        ("echo one", "echo two")
    }
    assert {tuple(run.is_error for run in digest.commands) for digest in digests} == {(True, False)}


# --- what goes in comes out ---


def parsed(flavor: str, home: Path) -> SessionPart:
    """What the adapter alone says of the one log below a home."""
    adapter = adapters()[flavor]
    (source,) = adapter.discover(str(home))
    whole: PartBuilder | None = None
    state: dict[str, object] = {}
    for block in adapter.read(source, 0, 1 << 26):
        bundle: Normalized = adapter.parse(source, block, state)
        state = bundle.state
        (part,) = bundle.sessions
        whole = whole or PartBuilder(part.external_id, part.parent_external_id)
        whole.events += part.events
        for usage in part.usages:
            whole.spend(usage)
    assert whole is not None
    return whole.build()


KEPT = ("kind", "origin", "at", "tool", "tool_class", "call_id", "is_error", "exit_code")
KEPT += ("files", "command", "label")
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=12)
STEPS = st.lists(st.tuples(WORDS, WORDS, st.integers(0, 255)), min_size=1, max_size=3)


@pytest.mark.rows("CAP-01")
@pytest.mark.parametrize("flavor", FLAVORS)
@given(steps=STEPS)
@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
def test_what_a_log_says_comes_back_from_the_store_as_it_went_in(
    tmp_path_factory: pytest.TempPathFactory, flavor: str, steps: list[Step]
) -> None:
    root = tmp_path_factory.mktemp("whole")
    space = Workspace(root)
    home = root / flavor
    home.mkdir(exist_ok=True)
    space.paths = {flavor: (str(home),)}
    name = TELLERS[flavor](home, "/work/shop", steps)
    space.sweep()
    part = parsed(flavor, home)
    stored = space.events(name)
    wanted = [[getattr(raw, field) for field in KEPT] + [raw.text] for raw in part.events]
    assert [[getattr(e, field) for field in KEPT] + [e.text or ""] for e in stored] == wanted
    session = space.session(name)
    for field in ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning"):
        assert getattr(session.cost, field) == sum(getattr(usage, field) for usage in part.usages)
    priced = [price(usage, load_table()) for usage in part.usages]
    assert session.cost.usd == pytest.approx(sum(usd or 0 for usd in priced))
    assert session.cost.price_table == load_table().version
    assert [event.seq for event in stored] == list(range(len(part.events)))
    assert {event.session_id for event in stored} == {session.id}
    answered = {raw.call_id for raw in part.events if raw.kind == "tool_result"}
    assert [e.paired for e in stored] == [
        e.call_id is not None and e.call_id in answered for e in stored
    ]
    again = space.with_store("again")
    again.sweep()
    assert again.dump() == space.dump()


# --- one action, one class ---

ALIKE: dict[ToolClass, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "read": (("Read",), ("view_image",), ("read_file", "list_dir")),
    "edit": (("Edit", "MultiEdit", "Write"), ("apply_patch",), ("write", "search_replace")),
    "shell": (
        ("Bash", "BashOutput", "KillBash", "PowerShell"),
        ("exec_command", "write_stdin", "shell", "local_shell"),
        ("run_terminal_command",),
    ),
    "search": (("Grep", "Glob", "ToolSearch"), ("tool_search",), ("grep",)),
    "web": (("WebFetch", "WebSearch"), ("web_search",), ("web_search", "web_fetch")),
    "agent": (
        ("Task", "Agent", "TaskOutput"),
        ("spawn_agent", "wait_agent"),
        ("spawn_subagent",),
    ),
    "plan": (("TodoWrite", "TaskCreate", "ExitPlanMode"), ("update_plan",), ("todo_write",)),
    "mcp": (("mcp__docs__ask",), ("mcp__docs__ask",), ("mcp__docs__ask",)),
}
"""Names of tools in genuine logs of Claude Code, Codex and Grok Build."""


def claude_calls(home: Path, names: tuple[str, ...]) -> str:
    log = ClaudeLog(1)
    for name in names:
        log.result(log.call(name, {"path": "x"}), "done")
    log.write(home)
    return log.session_id


def codex_calls(home: Path, names: tuple[str, ...]) -> str:
    log = CodexLog(1).header().turn()
    for name in names:
        call_id = log.name("call")
        log.item(call(call_id, name, {"path": "x"}))
        log.item(output(call_id, exec_text("done", 0)))
    log.write(home)
    return log.thread


def grok_calls(home: Path, names: tuple[str, ...]) -> str:
    log = GrokLog(1)
    for name in names:
        log.tool(name, {"path": "x"}, "done")
    log.write(home)
    return log.session_id


@pytest.mark.rows("CAP-12")
@pytest.mark.parametrize("wanted", list(ALIKE))
def test_the_same_action_has_the_same_class_in_three_agents(
    tmp_path: Path, wanted: ToolClass
) -> None:
    space = Workspace(tmp_path)
    tellers = (claude_calls, codex_calls, grok_calls)
    for flavor, tell, names in zip(FLAVORS, tellers, ALIKE[wanted], strict=True):
        home = tmp_path / flavor
        home.mkdir(exist_ok=True)
        space.paths[flavor] = (str(home),)
        session = tell(home, names)
        space.sweep()
        calls = [event for event in space.events(session) if event.kind == "tool_call"]
        assert [(e.tool, e.tool_class) for e in calls] == [(name, wanted) for name in names]


@pytest.mark.rows("CAP-12")
@pytest.mark.shared
def test_no_tool_of_a_genuine_log_is_left_without_a_class(tmp_path: Path, shared: Path) -> None:
    space = Workspace(tmp_path)
    for flavor in FLAVORS:
        collected = [str(path) for path in sorted((shared / "logs" / flavor).iterdir())]
        client = shared / "client-logs" / flavor / "home" / f".{flavor}"
        space.paths[flavor] = (*collected, str(client))
    space.sweep()
    with space.store() as store:
        calls = [
            event
            for session in space.sessions().values()
            for event in store.events(session.id)
            if event.kind == "tool_call"
        ]
    assert len(calls) > 3000
    unplaced = {event.tool for event in calls if event.tool_class == "other"}
    # None of these reads, changes, runs, searches, fetches, delegates or plans.
    assert unplaced <= {"FailingTool", "ReportFindings", "Skill", "read_thread_terminal"}


# --- one project ---


def git(*arguments: str, cwd: Path) -> None:
    blank = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    command = ["git", *who, *arguments]
    subprocess.run(command, cwd=cwd, check=True, capture_output=True, env={**os.environ, **blank})


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A real repository with a folder inside and a worktree beside it."""
    if shutil.which("git") is None:
        pytest.skip("git is not here")
    root = tmp_path / "shop"
    (root / "src").mkdir(parents=True)
    (root / "src" / "cart.py").write_text("total = 0\n", encoding="utf-8")
    git("init", "--quiet", cwd=root)
    git("add", ".", cwd=root)
    git("commit", "--quiet", "--message", "first", cwd=root)
    git("worktree", "add", "--quiet", str(tmp_path / "shop-fix"), "-b", "fix", cwd=root)
    return root


@pytest.mark.parametrize("turn", range(3))
def test_sessions_of_three_agents_in_one_repository_land_in_one_project(
    tmp_path: Path, repository: Path, turn: int
) -> None:
    space = Workspace(tmp_path / "space")
    places = [repository, repository / "src", tmp_path / "shop-fix"]
    places = places[turn:] + places[:turn]  # each agent in each place
    names: list[str] = []
    for (flavor, tell), cwd in zip(TELLERS.items(), places, strict=True):
        home = space.root / flavor
        home.mkdir(exist_ok=True)
        space.paths[flavor] = (str(home),)
        names.append(tell(home, str(cwd), WORK))
        space.sweep()
    sessions = [space.session(name) for name in names]
    assert {session.flavor for session in sessions} == set(FLAVORS)
    assert {session.project_key for session in sessions} == {"shop"}
    assert len({session.project_id for session in sessions}) == 1
    with space.store() as store:
        (row,) = store.usage("project", None, None)
        (project,) = store.projects()
    assert (row.group, row.responses) == ("shop", 8)
    assert project.root is not None
    assert os.path.realpath(project.root) == os.path.realpath(repository)
