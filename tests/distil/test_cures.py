"""A cure is what made the very thing that failed work; everything else is left unsaid."""

from __future__ import annotations

import pytest

from session_memory.core.schema import Cure, SessionEvent
from session_memory.distil.attempts import AttemptLog
from session_memory.distil.cures import CureLog


class Log:
    """A session of shell commands and edits, event by event."""

    def __init__(self) -> None:
        self.log = AttemptLog()
        self.seq = 0

    def run(self, command: str, output: str = "", exit_code: int | None = 0) -> Log:
        self.start(command)
        return self.end(output, exit_code)

    def start(self, command: str | None, text: str = "") -> Log:
        self.seq += 1
        call = SessionEvent(
            1,
            self.seq,
            "tool_call",
            "agent",
            tool="Bash",
            tool_class="shell",
            call_id=f"c{self.seq}",
            command=command,
            text=text or command,
        )
        self.log.call(call, self.seq)
        return self

    def end(self, output: str = "", exit_code: int | None = 0, back: int = 0) -> Log:
        call = f"c{self.seq - back}"
        self.seq += 1
        failed = exit_code not in (None, 0)
        self.log.result(
            SessionEvent(
                1,
                self.seq,
                "tool_result",
                "tool",
                call_id=call,
                is_error=failed,
                exit_code=exit_code,
                text=output,
            ),
            self.seq,
        )
        return self

    def edit(self, path: str, tool: str = "Edit", error: str = "") -> Log:
        self.seq += 1
        kind = "read" if tool == "Read" else "edit"
        call = f"c{self.seq}"
        self.log.call(
            SessionEvent(
                1,
                self.seq,
                "tool_call",
                "agent",
                tool=tool,
                tool_class=kind,
                call_id=call,
                files=(path,),
            ),
            self.seq,
        )
        self.seq += 1
        self.log.result(
            SessionEvent(
                1, self.seq, "tool_result", "tool", call_id=call, is_error=bool(error), text=error
            ),
            self.seq,
        )
        return self

    @property
    def cures(self) -> tuple[Cure, ...]:
        return CureLog().find(self.log)


SCRIPT = "node <<'EOF'\n" + "".join(f"const step{n} = load({n});\n" for n in range(20))
FAILED_TEST = "FAILED tests/test_a.py::test_a\n1 failed, 3 passed"


def test_a_call_that_got_past_the_error_is_the_cure_although_it_fails_in_another_way() -> None:
    log = Log().run("rtk bun run test", "error: unrecognized subcommand 'bun'", 2)
    log.run("bun run test", FAILED_TEST, 1)
    assert [cure.steps for cure in log.cures] == [("bun run test",)]


@pytest.mark.rows("DIG-08")
def test_an_install_before_the_same_command_works_is_the_cure() -> None:
    log = Log().run("npm run build", "sh: vite: command not found", 127)
    log.run("ls -la", "package.json").run("npm ci", "added 90 packages").run(
        "npm run build", "built in 1s"
    )
    [cure] = log.cures
    assert (cure.kind, cure.steps, cure.proof) == ("install", ("npm ci",), "npm run build")


def test_edits_between_a_failing_and_a_passing_check_are_the_cure() -> None:
    log = Log().run("pytest -q tests/test_a.py", FAILED_TEST, 1).edit("src/a.py")
    log.run("pytest -q tests/test_a.py", "4 passed in 0.1s")
    [cure] = log.cures
    assert (cure.kind, cure.steps) == ("edit", ("Edit src/a.py",))


def test_a_broader_check_that_passes_proves_an_edit_too() -> None:
    log = Log().run("pytest -q tests/test_a.py", FAILED_TEST, 1).edit("src/a.py")
    assert [cure.proof for cure in log.run("make test", "40 passed in 2s").cures] == ["make test"]


def test_a_formatter_is_the_cure_of_what_the_linter_found() -> None:
    log = Log().run("bun run lint", "Found 2 errors.", 1).run("bun run lint:fix", "Fixed 2 files.")
    log.run("bun run lint", "0 errors")
    assert [cure.steps for cure in log.cures] == [("bun run lint:fix",)]


def test_a_task_that_formats_is_the_cure_of_a_check_that_passes_after_it() -> None:
    log = Log().run("npm run check", "a.ts format: not formatted", 1)
    log.run("npm run format", "1 file changed").run("npm run check", "ok")
    assert [(cure.kind, cure.steps) for cure in log.cures] == [("command", ("npm run format",))]
    log = Log().run("cargo test", "test a ... FAILED", 1)
    assert log.run("cargo fmt --check", "").run("cargo test", "1 passed").cures == ()


def test_getting_up_to_date_is_the_cure_of_a_rejected_push() -> None:
    log = Log().run("git push origin main", "! [rejected] main -> main (fetch first)", 1)
    log.run("git log -3", "...").run("git pull --rebase origin main", "done")
    log.run("git push origin main", "main -> main")
    assert [cure.steps for cure in log.cures] == [("git pull --rebase origin main",)]


def test_a_command_the_error_names_is_the_cure_once_it_was_run() -> None:
    log = Log().run("entire trail show", "no trail found\nhint: run 'entire trail create'", 1)
    log.run("entire trail create --title x", "created")
    assert [cure.steps for cure in log.cures] == [("entire trail create --title x",)]


def test_a_file_that_had_to_be_read_first() -> None:
    log = Log().edit("a.py", error="File has not been read yet.").edit("a.py", "Read").edit("a.py")
    assert [cure.steps for cure in log.cures] == [("Read a.py", "Edit a.py")]


@pytest.mark.parametrize(
    "log",
    [
        Log().run("pytest", FAILED_TEST, 1).run("pytest -q | tail -3", "4 passed"),
        Log().run("pytest", FAILED_TEST, 1).run("pytest tests/test_b.py", "4 passed"),
        Log().run("rg needle", "", 1).run("rg -i needle", "found"),
        Log().run("tool go --now", "Error: unknown flag: --now", 1).run("tool go --help", "usage"),
        Log().run("alias set a b", "b is already in use", 1).run("alias set a c", "done"),
        Log().run("npm run dev", "", 130).run("npm run build", "built in 1s"),
        Log()
        .run("git merge x", "CONFLICT (content): a.py", 1)
        .edit("a.py")
        .run("git merge x", "ok"),
        Log()
        .run("go vet ./...", "a.go:1:1: x", 1)
        .edit("b.go")
        .run("go vet ./... | grep -v a.go", ""),
        Log().run("pytest", FAILED_TEST, 1).edit("/tmp/notes.md").run("pytest", "4 passed"),
        Log().run("git push", "rejected", 1).run("git push --force", "done"),
        Log().run("pnpm install", "lockfile", 1).run("pnpm install --no-frozen-lockfile", "ok"),
        Log().run("tool go", "run 'tool init now'", 1).run("tool init now", "no", 1),
        Log().run("tool show a1", "use 'tool log show'", 1).run("tool log show b2", "done"),
        Log().run("tool go x", "broken", 1).run("tool set y", "").run("tool go x --all", "done"),
        Log().run("bun cli.ts get", "stale", 1).run("bun cli.ts get | sed -n 1,9p", "done"),
        Log().run(f"jq '{'.a | ' * 60} .b'", "jq: error", 5).run(f"jq '{'.a | ' * 60} .c'", "1"),
        Log().run(SCRIPT + "wait(1)\nEOF", "Timed out", 1).run(SCRIPT + "wait(2)\nEOF", "done"),
        Log()
        .run("tool add 1", "bad origin", 1)
        .run("git remote set-url origin x", "")
        .run("tool add a 1", ""),
        Log().run("go vet", "a.go:1:1: x", 1).run("git stash pop", "").run("go vet", ""),
    ],
    ids=[
        "passes without a cause",
        "a narrower check",
        "a look",
        "help",
        "another target",
        "stopped by hand",
        "a merge that waits",
        "the finding filtered out",
        "a scratch file",
        "force",
        "a guard switched off",
        "advice that did not help",
        "advice followed for another thing",
        "something else was changed between",
        "another pager",
        "a difference beyond what is kept",
        "a long script with other contents",
        "a shell command that touches files",
        "a remote that was changed between",
    ],
)
def test_what_only_came_later_is_no_cure(log: Log) -> None:
    assert log.cures == ()


def test_a_filtered_run_between_hides_no_later_proof() -> None:
    log = Log().run("npm run check", "a.ts(1,2): error TS1: x", 2).edit("a.ts")
    log.run("npm run check | grep error", "").run("npm run check | tail -3", "0 errors")
    assert [cure.kind for cure in log.cures] == ["edit"]


def test_an_install_into_another_folder_is_an_install() -> None:
    log = Log().run("npm run build", "sh: vite: command not found", 127)
    log.run("npm --prefix web install", "added 9 packages").run("npm run build", "built in 1s")
    assert [cure.kind for cure in log.cures] == ["install"]


def test_a_file_that_was_read_in_the_shell_before_it_could_be_patched() -> None:
    log = Log().edit("src/a.py", "apply_patch", "apply_patch verification failed: no such lines")
    log.run("sed -n '1,80p' src/other.py", "x").edit("src/a.py", "apply_patch")
    assert log.cures == ()
    log = Log().edit("src/a.py", "apply_patch", "apply_patch verification failed: no such lines")
    log.run("sed -n '1,80p' src/a.py", "x").edit("src/a.py", "apply_patch")
    assert [cure.steps for cure in log.cures] == [
        ("sed -n '1,80p' src/a.py", "apply_patch src/a.py")
    ]


def test_an_install_of_what_was_missing_is_a_cure_though_another_call_shows_it() -> None:
    log = Log().run("node a.mjs", "Error: Cannot find package 'playwright'", 1)
    log.run("npm install playwright-core", "added 1 package").run("git status", "clean")
    assert log.cures == ()
    log.run("node b.mjs --with playwright-core", "ok")
    [cure] = log.cures
    assert (cure.kind, cure.steps) == ("install", ("npm install playwright-core",))


def test_every_telling_line_of_the_failure_is_kept_also_of_a_long_output() -> None:
    output = "error: first\n" + "noise\n" * 900 + "fatal: last"
    log = Log().run("tool go", output, 1).run("tool init", "").run("tool go", "done")
    [cure] = log.cures
    assert (cure.sample, cure.lines) == ("error: first", ("fatal: last",))


def test_a_finding_of_a_linter_is_what_went_wrong() -> None:
    output = "checking\n" * 5 + "pkg/a.go:3:7: ineffectual assignment to err (ineffassign)"
    log = Log().run("golangci-lint run", output, 1).edit("pkg/a.go")
    [cure] = log.run("golangci-lint run", "0 issues.").cures
    assert cure.sample == "pkg/a.go:3:7: ineffectual assignment to err (ineffassign)"
