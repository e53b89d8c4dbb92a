"""A session's events distilled: what is counted, kept, joined and left out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.adapters.claude.logs import discover
from session_memory.adapters.claude.reader import parse
from session_memory.adapters.common import RawEvent, read_lines
from session_memory.core.digest import (
    MAX_COMMANDS,
    MAX_CORRECTIONS,
)
from session_memory.core.schema import Cost, Digest, Session, SessionEvent
from session_memory.distil.digest import DigestBuilder
from session_memory.distil.session_logs import SessionLogs

SESSION = Session(1, "claude", "s-1", cost=Cost(input=10, output=5))
OUTCOMES = ("success", "partial", "fail", "uncertain")


def build_digest(
    session: Session, events: Iterable[SessionEvent], *, continued: bool = False
) -> Digest:
    """The digest of events in source order; `continued`: others before them are gone."""
    logs = SessionLogs()
    builder = DigestBuilder(logs, continued=continued)
    for event in events:
        logs.add(event)
        builder.add(event)
    return builder.digest(session)


class Story:
    """Writes the events of a session as a log would tell them."""

    def __init__(self) -> None:
        self.events: list[SessionEvent] = []

    def add(self, kind: str, text: str = "", **fields: object) -> Story:
        seq = len(self.events)
        values = {
            "at": 1_000_000 + seq * 1000,
            "fingerprint": seq * 7 + 1,
            "origin": "agent",
        } | fields
        event = SessionEvent(1, seq, kind, text=text, **values)  # type: ignore[arg-type]
        self.events.append(event)
        return self

    def user(self, text: str, **fields: object) -> Story:
        return self.add("user_prompt", text, **({"origin": "user"} | fields))

    def says(self, text: str) -> Story:
        return self.add("assistant_text", text)

    def shell(self, command: str, exit_code: int | None = 0, output: str = "") -> Story:
        call_id = f"c{len(self.events)}"
        self.add(
            "tool_call",
            json.dumps({"command": command}),
            tool="Bash",
            tool_class="shell",
            command=command,
            call_id=call_id,
        )
        failed = exit_code not in (None, 0)
        return self.add(
            "tool_result", output, call_id=call_id, exit_code=exit_code, is_error=failed
        )

    def edit(self, path: str, error: str | None = None) -> Story:
        call_id = f"c{len(self.events)}"
        text = json.dumps({"file_path": path, "n": len(self.events)})
        self.add("tool_call", text, tool="Edit", tool_class="edit", files=(path,), call_id=call_id)
        return self.add("tool_result", error or "ok", call_id=call_id, is_error=error is not None)

    def tool(self, name: str, tool_class: str, given: object, output: str = "ok") -> Story:
        call_id = f"c{len(self.events)}"
        text = json.dumps(given)
        self.add("tool_call", text, tool=name, tool_class=tool_class, call_id=call_id)
        return self.add("tool_result", output, call_id=call_id)

    def digest(self, session: Session = SESSION) -> Digest:
        return build_digest(session, self.events)


@pytest.mark.rows("DIG-01")
def test_an_empty_session_has_a_digest_with_an_outcome() -> None:
    digest = build_digest(SESSION, [])
    assert digest.outcome == "uncertain"
    assert digest.objective is None
    assert digest.events == digest.turns == 0
    assert digest.duration_s is None
    assert digest.cost == SESSION.cost


def test_what_happened_is_counted() -> None:
    digest = (
        Story()
        .user("Please make the tests of the parser pass")
        .shell("pytest -q", 1, "Exit code 1\nE   ValueError: bad 12")
        .tool("Read", "read", {"file_path": "a.py"})
        .edit("a.py")
        .edit("a.py")
        .shell("pytest -q", 0, "3 passed")
        .add("compaction", "auto")
        .says("All done.")
        .digest()
    )
    assert digest.objective == "Please make the tests of the parser pass"
    assert digest.turns == digest.requests == 1
    assert digest.tools == {"Bash": 2, "Read": 1, "Edit": 2}
    assert digest.files == {"a.py": 2}
    assert [(run.command, run.exit, run.verifies) for run in digest.commands] == [
        ("pytest -q", 1, True),
        ("pytest -q", 0, True),
    ]
    assert [(seen.template, seen.count, seen.tool) for seen in digest.errors] == [
        ("E ValueError: bad <n>", 1, "Bash")
    ]
    assert (digest.tests_run, digest.tests_failed) == (2, 1)
    assert digest.compactions == 1
    assert digest.retries == 0
    assert digest.calls_before_edit == 2
    assert digest.duration_s == 12.0
    assert digest.outcome == "success"
    assert digest.dropped == {}


def test_inherited_events_count_for_the_parent_only() -> None:
    story = Story().user("The first task of the parent", inherited=True)
    story.add("tool_call", "{}", tool="Bash", tool_class="shell", command="x", inherited=True)
    digest = story.user("continue").digest()
    assert digest.turns == 1
    assert digest.requests == 0
    assert digest.tools == {}
    assert digest.commands == ()
    assert digest.objective == "The first task of the parent"
    assert digest.events == 3
    assert digest.duration_s == 0


@pytest.mark.parametrize(
    ("prompts", "title", "expected"),
    [
        (["/clear", "continue", "Fix the login"], None, "Fix the login"),
        (["continue"], "Login work", "Login work"),
        (["continue"], None, "continue"),
        ([], "Only a title", "Only a title"),
        ([], None, None),
        (["First task", "Second task"], "T", "First task"),
    ],
)
def test_the_objective_is_the_first_prompt_that_asks_for_something(
    prompts: list[str], title: str | None, expected: str | None
) -> None:
    story = Story()
    for prompt in prompts:
        story.user(prompt)
    assert story.digest(Session(1, "codex", "x", title=title)).objective == expected


def test_a_subagents_task_and_a_slash_command_with_words_give_the_objective() -> None:
    story = Story().add("injected", "Look at the schema files", label="subagent_prompt")
    assert story.digest().objective == "Look at the schema files"
    story = Story().add("injected", "/plan-it create a todo app", label="command", origin="harness")
    assert story.digest().objective == "/plan-it create a todo app"


def test_many_commands_keep_failures_and_verifications_and_count_the_rest() -> None:
    story = Story().shell("pytest -q", 0, "1 passed").shell("make thing", 3, "fatal: no")
    for number in range(3000):
        story.shell(f"echo {number}")
    digest = story.digest()
    assert len(digest.commands) == MAX_COMMANDS
    assert [run.command for run in digest.commands[:2]] == ["pytest -q", "make thing"]
    assert digest.commands[-1].command == "echo 2999"
    kept = sum(run.count for run in digest.commands)
    assert digest.dropped["commands"] + kept == 3002


def test_a_failed_edit_is_no_edit() -> None:
    digest = Story().edit("a.py", error="File has not been read yet.").digest()
    assert digest.files == {"a.py": 0}
    assert digest.errors[0].template == "File has not been read yet."


def test_a_retry_repeats_a_failed_command_with_nothing_changed_between() -> None:
    blind = Story().shell("cd a && npm i", 1).shell("npm i 2>&1 | tail", 1).shell("npm i")
    assert blind.digest().retries == 2
    worked = Story().shell("npm i", 1).edit("package.json").shell("npm i", 1)
    assert worked.digest().retries == 0


def test_a_loop_is_the_same_call_again_and_again_without_a_change() -> None:
    stuck = Story()
    for _ in range(3):
        stuck.tool("Grep", "search", {"pattern": "x"}).tool(
            "Read", "read", {"p": len(stuck.events)}
        )
    assert stuck.digest().loops == ('Grep: {"pattern": "x"}',)
    working = Story()
    for _ in range(4):
        working.shell("pytest -q", 1).edit("a.py")
    assert working.digest().loops == ()
    polling = Story()
    for _ in range(5):
        polling.tool("BashOutput", "shell", {"id": "1"})
    assert polling.digest().loops == ()


def test_corrections_need_work_before_them_and_are_bounded() -> None:
    story = Story().user("don't use tabs in the new file").says("ok")
    for number in range(100):
        story.user(f"no, use number {number} " + "and more " * 60)
    digest = story.digest()
    assert len(digest.corrections) == MAX_CORRECTIONS
    assert digest.corrections[-1].startswith("no, use number 99")
    assert all(len(text) <= 200 for text in digest.corrections)
    assert digest.dropped["corrections"] == 80


def test_queued_prompts_count_once() -> None:
    story = Story().add("other", "also fix the docs", label="queued_prompt", origin="user")
    assert story.digest().turns == 1
    assert story.digest().objective == "also fix the docs"
    story.add("other", "also fix the docs", label="queued_prompt", origin="user")
    assert story.digest().turns == 1
    assert story.user("also fix the docs ").digest().turns == 1


def test_open_items_are_what_the_last_plan_left_pending() -> None:
    story = Story().tool("TodoWrite", "plan", {"todos": [{"content": "old", "status": "pending"}]})
    items = ["odd", {"content": "a", "status": "completed"}, {"content": "b", "status": "pending"}]
    story.tool("TodoWrite", "plan", {"todos": items})
    assert story.digest().open_items == ("odd", "b")
    codex = Story().tool("update_plan", "plan", {"plan": [{"step": "s", "status": "in_progress"}]})
    assert codex.digest().open_items == ("s",)
    broken = Story().add("tool_call", '{"todos": 3', tool="TodoWrite", tool_class="plan")
    assert broken.digest().open_items == ()


def test_tasks_are_followed_by_their_numbers() -> None:
    story = Story()
    for number, subject in ((4, "alpha"), (5, "beta")):
        story.tool("TaskCreate", "plan", {"subject": subject}, f"Task #{number} created: {subject}")
    story.tool("TaskUpdate", "plan", {"taskId": "4", "status": "completed"})
    assert story.digest().open_items == ("beta",)


def test_decisions_and_left_over_lines_are_taken_from_labelled_lines_only() -> None:
    story = (
        Story()
        .user("go")
        .says(
            "Some text.\n**Decision:** keep SQLite as the only store\n"
            "We will use uv because pip is slow here\nWe will use it.\nTODO: write the docs\n"
        )
    )
    digest = story.digest()
    assert digest.decisions == (
        "keep SQLite as the only store",
        "We will use uv because pip is slow here",
    )
    assert digest.open_items == ("write the docs",)
    assert story.user("now write the docs").digest().open_items == ()


def test_interruptions_and_denials() -> None:
    story = Story().add("tool_call", tool="Bash", tool_class="shell", command="rm x", call_id="c")
    story.add("tool_result", "The user doesn't want", call_id="c", is_error=True, label="denied")
    story.add("system", "[Request interrupted by user]", label="interrupted", origin="user")
    digest = story.digest()
    assert (digest.denials, digest.interruptions) == (1, 1)
    assert digest.commands[0].denied
    twice = Story().says("working")
    twice.add("tool_result", "[Request interrupted", is_error=True, label="interrupted")
    twice.add("system", "[Request interrupted by user]", label="interrupted", origin="user")
    assert twice.digest().interruptions == 1


@pytest.mark.rows("DIG-03")
def test_growth_changes_the_source_fingerprint() -> None:
    story = Story().user("Write a parser")
    before = story.digest()
    after = story.says("Written.").digest()
    assert before.source_fingerprint != after.source_fingerprint
    assert after.events == before.events + 1


def test_bodies_of_any_size_leave_small_digests() -> None:
    big = "noise and more noise\n" * 100_000
    digest = (
        Story()
        .user("task " + big)
        .says(big)
        .shell("x" * 100_000, 1, big)
        .tool("TodoWrite", "plan", {"todos": [big]})
        .digest()
    )
    assert len(msgspec.json.encode(digest)) < 20_000


def _events() -> st.SearchStrategy[list[SessionEvent]]:
    kinds = st.sampled_from(
        [
            "user_prompt",
            "injected",
            "assistant_text",
            "tool_call",
            "tool_result",
            "error",
            "system",
            "other",
        ]
    )
    event = st.builds(
        SessionEvent,
        session_id=st.just(1),
        seq=st.integers(0, 99),
        kind=kinds,
        origin=st.sampled_from(["user", "agent", "tool", "harness"]),
        at=st.none() | st.integers(0, 10**12),
        tool=st.sampled_from([None, "Bash", "Edit", "TodoWrite", "TaskCreate", "TaskUpdate"]),
        tool_class=st.sampled_from([None, "shell", "edit", "plan", "read"]),
        call_id=st.sampled_from([None, "a", "b", "c"]),
        inherited=st.booleans(),
        is_error=st.booleans(),
        exit_code=st.none() | st.integers(-1, 3),
        files=st.just(()) | st.just(("a.py",)),
        command=st.sampled_from([None, "pytest -q", "npm test | tail", "ls"]),
        fingerprint=st.integers(-(2**63), 2**64 - 1),
        label=st.sampled_from([None, "queued_prompt", "interrupted", "denied", "command"]),
        text=st.none() | st.sampled_from(["thanks", "no, wrong", "1 failed", "{}", "", "3 passed"]),
    )
    return st.lists(event, max_size=25)


@settings(max_examples=150)
@given(_events())
@pytest.mark.rows("DIG-01")
def test_any_events_give_one_outcome_of_the_closed_set_twice_the_same(
    events: list[SessionEvent],
) -> None:
    def streamed() -> Iterator[SessionEvent]:
        yield from events

    one = build_digest(SESSION, events)
    assert one.outcome in OUTCOMES
    assert one.events == len(events)
    assert all(count >= 0 for count in one.files.values())
    assert msgspec.json.encode(one) == msgspec.json.encode(build_digest(SESSION, streamed()))
    assert msgspec.json.decode(msgspec.json.encode(one), type=Digest) == one


@pytest.mark.shared
@pytest.mark.rows("DIG-01")
def test_every_genuine_session_has_an_outcome_with_grounds_free_of_our_ids(shared: Path) -> None:
    told: dict[str, list[SessionEvent]] = {}
    for source in discover(str(shared / "logs" / "claude")):
        state: dict[str, object] = {}
        for block in read_lines(source.path):
            normal = parse(source, block, state)
            state = normal.state
            for part in normal.sessions:
                events = told.setdefault(part.external_id, [])
                events += [as_event(raw, len(events) + at) for at, raw in enumerate(part.events)]
    digests = [build_digest(SESSION, events) for events in told.values()]
    assert len(digests) > 20
    assert {digest.outcome for digest in digests} <= set(OUTCOMES)
    assert {digest.outcome for digest in digests} >= {"success", "partial", "uncertain"}
    for digest in digests:
        assert digest.outcome == "uncertain" or digest.grounds
        assert len(digest.grounds) <= 6
        assert all(len(ground) < 200 for ground in digest.grounds)
        assert digest.objective is None or len(digest.objective) <= 300


def as_event(raw: RawEvent, seq: int) -> SessionEvent:
    shared_fields = {
        name: getattr(raw, name)
        for name in RawEvent.__struct_fields__
        if name in SessionEvent.__struct_fields__
    }
    return SessionEvent(1, seq, fingerprint=seq, **shared_fields)


def test_what_we_gave_an_agent_is_no_objective() -> None:
    pack = '<session-memory-pack kind="context">\nFix the login page\n</session-memory-pack>'
    story = Story().user(f"{pack}\nRename the line reader everywhere, please")
    assert build_digest(SESSION, story.events).objective == (
        "Rename the line reader everywhere, please"
    )
    assert build_digest(SESSION, Story().user(pack).events).objective is None
