"""MEMORY.md without a model: said once, newer first, stronger kept, each line with its trace."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.memory.workbench import Bench

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.core.schema import CommandRun, Cure, Digest, RuleStatement
from session_memory.memory.known_session import KnownSession
from session_memory.memory.rule_consolidation import Memory, make_memory, short_names
from session_memory.memory.stale import UnknownTree, mark_gone
from session_memory.memory.statements import Statement
from session_memory.memory.trace_parser import ParsedTrace, parse_trace
from session_memory.memory.trace_text import NO_PREFERENCES, TASK_HEADINGS
from session_memory.memory.working_tree import look_into
from session_memory.store.memories import Trace

STEPS, FAILED, KNOWN, POINTERS = TASK_HEADINGS
DAY = 86_400_000
DIGEST = ("claude", "fix the parser", "success", "high", (), "f")


def parts(
    name: str, at: int, outcome: str = "success", rules: str = "", **said: str
) -> ParsedTrace:
    """A trace with one task."""
    lines = [f"# Parse empty lines of {name} ({outcome})", "", "Trace context: here.", ""]
    lines += ["User preferences:", rules] if rules else [NO_PREFERENCES]
    lines += ["", f"## Task: task of {name} [e:7]", f"Outcome: {outcome} (grounds) [e:8]"]
    for heading, key in zip(TASK_HEADINGS, ("steps", "failed", "known", "pointers"), strict=True):
        lines += [heading, said.get(key, "- none")]
    return parse_trace(Trace(1, name, "/work/shop", "\n".join(lines), "summary", at))


def session(
    number: int,
    *passed: str,
    failed: tuple[str, ...] = (),
    cures: tuple[Cure, ...] = (),
    rules: tuple[RuleStatement, ...] = (),
    files: tuple[str, ...] = (),
) -> KnownSession:
    """A session of day `number`, by what its digest says."""
    runs = [CommandRun(one, 0, seq=at, verifies=True) for at, one in enumerate(passed, 1)]
    runs += [
        CommandRun(one, 1, is_error=True, seq=at, verifies=True)
        for at, one in enumerate(failed, len(runs) + 1)
    ]
    digest = Digest(
        *DIGEST,
        commands=tuple(runs),
        cures=cures,
        rules=rules,
        files=dict.fromkeys(files, 1),
    )
    return KnownSession(number, f"session-{number}", number * DAY, digest, ("/work/shop",))


def cured(failed: str, error: str, *steps: str, kind: str = "command") -> Cure:
    return Cure(error, error, 1, failed, kind, steps, (2,), steps[-1], 3)  # pyright: ignore[reportArgumentType]


def made(*sessions: KnownSession) -> Memory:
    newest = sorted(sessions, key=lambda one: -one.at)
    traces = [parts(one.thread, one.at) for one in newest]
    files = {one.thread: f"trace_summaries/{one.thread}_x.md" for one in newest}
    return make_memory(traces, files, UnknownTree(), newest)


def lines(*sessions: KnownSession) -> list[str]:
    page = made(*sessions).files["MEMORY.md"]
    return [line for line in page.splitlines() if line.startswith("- ")]


def left_out(*sessions: KnownSession) -> dict[str, str]:
    return {one.key: one.note for one in made(*sessions).left_out}


@pytest.mark.rows("MEM-01")
def test_a_check_names_how_many_sessions_passed_it_and_when() -> None:
    (line,) = lines(session(1, "make test"), session(2, "make test"))
    assert line.startswith(
        "- `make test` verifies tests; passed in 2 sessions, last 1970-01-03"
        " (trace session-2, session-1) [e:"
    )


@pytest.mark.rows("MEM-01")
def test_a_part_of_a_check_is_left_out_and_the_projects_own_come_first() -> None:
    sessions = (
        session(1, "go test ./cmd/x/...", "make test", "go build ./...", "cat README.md"),
        session(2, "npx tsc --max-errors=5", "go build ./..."),
    )
    told = [line.split("`")[1] for line in lines(*sessions)]
    assert told == ["make test", "go build ./..."]
    reasons = left_out(*sessions)
    assert reasons["check `go test ./cmd/x/...`"] == "it checks a part of what `make test` does"
    assert reasons["check `npx tsc --max-errors=5`"] == "it checks a part"


@pytest.mark.rows("MEM-01")
def test_a_fetched_tool_that_one_session_ran_is_left_out_beside_the_projects_own_tasks() -> None:
    assert [line.split("`")[1] for line in lines(session(1, "npx knip", "npm test"))] == [
        "npm test"
    ]
    assert [line.split("`")[1] for line in lines(session(1, "npx knip"))] == ["npx knip"]


@pytest.mark.rows("MEM-01")
@pytest.mark.parametrize(
    ("ran", "told"),
    [
        (("npm test 2>&1 | tail -5", "npm test 2>&1 | grep -c ok"), ["`npm test` verifies tests"]),
        (("npm run lint 2>&1 | grep error",), []),
        (("npm test 2>&1 | head -50",), []),
        (("npm run build 2>&1 | head -50",), ["`npm run build` verifies build"]),
        (("npm run check",), ["`npm run check` verifies a change"]),
        (
            ("gofmt -l .", "golangci-lint run ./...", "golangci-lint run"),
            ["`gofmt -l .` verifies formatting", "`golangci-lint run` verifies lint"],
        ),
        (("cd /tmp/other && npm test",), []),
        (("cd /work/shop && npm test",), ["`npm test` verifies tests"]),
        (
            ("cd packages/a && npm run check", "cd /work/shop && npm run check"),
            ["`npm run check` verifies a change"],
        ),
        (("cd packages/a && npm run build", "cd packages/b && npm run build"), []),
        (("cd apps/web && vite build", "pnpm --filter api build"), []),
        (("cd src && go test ./...",), ["`go test ./...` in `src` verifies tests"]),
    ],
)
def test_a_check_is_told_where_the_log_shows_that_the_whole_project_passed(
    ran: tuple[str, ...], told: list[str]
) -> None:
    shown = [line.removeprefix("- ").partition("; passed")[0] for line in lines(session(1, *ran))]
    assert shown == told


@pytest.mark.rows("MEM-01")
def test_the_check_of_one_package_does_not_stand_for_the_project() -> None:
    some = [session(day, "pnpm --filter api build") for day in (1, 2, 3)]
    assert lines(*some) == []
    reasons = left_out(*some)
    assert reasons["check `pnpm --filter api build`"] == "it is for one package of several"


@pytest.mark.rows("MEM-01")
def test_a_check_stands_in_the_directory_that_most_sessions_name() -> None:
    told = lines(session(1, "cd src && go test ./..."), session(2, "go test ./..."))
    assert [line.partition("; passed")[0] for line in told] == [
        "- `go test ./...` in `src` verifies tests"
    ]
    (line,) = lines(session(1, "cd src && ls", "go test ./..."))  # the shell stays there
    assert line.startswith("- `go test ./...` in `src` verifies tests")
    bare = [session(number, "npm test") for number in (2, 3, 4)]
    told = lines(session(1, "cd packages/a && npm test"), *bare)
    assert [line.partition("; passed")[0] for line in told] == ["- `npm test` verifies tests"]


@pytest.mark.rows("MEM-02")
def test_a_check_that_others_replaced_or_that_keeps_failing_is_left_out_with_the_reason() -> None:
    replaced = [session(1, "npm test"), *(session(day, "pnpm test") for day in (2, 3, 4))]
    assert [line.split("`")[1] for line in lines(*replaced)] == ["pnpm test"]
    assert left_out(*replaced)["check `npm test`"].startswith("`pnpm test` took its place: 3 ")
    broken = [session(1, "make lint"), *(session(day, failed=("make lint",)) for day in (2, 3))]
    assert lines(*broken) == []
    assert "failed to the end in the last 2 sessions" in left_out(*broken)["check `make lint`"]
    (once,) = lines(session(1, "make lint"), session(2, failed=("make lint",)))[:1]
    assert "verify: it failed at the end of session-, 1970-01-03" in once


@pytest.mark.rows("MEM-03")
def test_a_trap_is_told_with_what_works_and_an_edit_is_history() -> None:
    rtk = cured("rtk bun test", "error: unknown subcommand", "bun test")
    edit = cured("tsc", "a.ts(3,4): error TS2304", "Edit /work/shop/a.ts", kind="edit")
    push = cured("git push", "! [rejected] main (fetch first)", "git pull --rebase")
    flag = cured("gh pr diff 88 --stat", "unknown flag: --stat", "gh pr diff 88")
    tool = cured("Edit /work/shop/a.ts", "File has not been read yet", "Read /work/shop/a.ts")
    first = session(1, cures=(rtk, edit, push, flag, tool))
    (line,) = lines(first)
    assert "`rtk bun test` fails here (error: unknown subcommand); use `bun test`" in line
    assert "; met in 1 session 1970-01-02" in line
    assert set(left_out(first).values()) == {
        "an edit mended it",
        "it passes by itself",
        "only one session met it, and the call only looks",
    }
    assert any(
        "`gh pr diff 88 --stat` fails" in one for one in lines(first, session(2, cures=(flag,)))
    )


@pytest.mark.rows("MEM-03")
def test_a_trap_says_where_a_command_has_to_be_run_and_what_a_fixer_mends() -> None:
    place = cured("vite build", "sh: vite: command not found", "cd apps/web && vite build")
    lint = cured("make lint", "Found 3 errors.", "make lint-fix")
    text = "\n".join(lines(session(1, "make lint", cures=(place, lint))))
    assert (
        "`vite build` fails elsewhere (sh: vite: command not found); run it in `apps/web`" in text
    )
    assert (
        "What `make lint` finds, `make lint-fix` mends" in text and "`make lint` fails" not in text
    )


@pytest.mark.rows("MEM-03")
def test_a_call_that_works_again_is_no_trap_any_more() -> None:
    fails = cured("entire status --json", "unknown flag: --json", "entire status")
    first, second = session(1, cures=(fails,)), session(2, cures=(fails,))
    assert len(lines(first, second)) == 1
    works = CommandRun("entire status --json", 0, seq=4)
    later = KnownSession(3, "session-3", 3 * DAY, Digest(*DIGEST, commands=(works,)))
    assert lines(first, second, later) == []
    assert "worked in session-, 1970-01-04" in next(iter(left_out(first, second, later).values()))


@pytest.mark.rows("MEM-03")
@pytest.mark.parametrize(
    ("failed", "error", "works", "is_told"),
    [
        ("pnpm --filter app add -D left", "Unexpected store location", "pnpm install", False),
        ("tool build --filter web", "sh: tool: command not found", "tool build", False),
        ("pnpm install", "Cannot install with frozen-lockfile", "pnpm install --fix-lock", False),
        ("tool -v go", "invalid value", "tool go", False),
        ("tool run scripts/a.js", "cannot find scripts/a.js", "tool run script/a.js", False),
        ("ruff check .", "Found 3 errors.", "ruff check --fix .", False),
        ("npm run lint", "Found 3 errors.", "npm run lint:fix", True),
        ("tool status --json", "unknown flag: --json", "tool status", True),
        ("rerun tool test", "unrecognized subcommand 'tool'", "tool test", True),
        ("tool list", "sh: tool: command not found", "npx --yes tool@latest list", True),
        ("tool migrate", "DB_URL is not set", "DB_URL=sqlite:x tool migrate", True),
    ],
)
def test_a_trap_is_told_only_if_what_works_does_the_same_job(
    failed: str, error: str, works: str, is_told: bool
) -> None:
    assert bool(lines(session(1, cures=(cured(failed, error, works),)))) is is_told


@pytest.mark.rows("MEM-03")
def test_a_trap_of_a_tool_that_the_project_no_longer_uses_is_not_told() -> None:
    trap = cured("tool status --json", "unknown flag: --json", "tool status")
    met = [session(day, cures=(trap,)) for day in (1, 2)]
    used = [session(day, "tool test") for day in range(3, 23)]
    assert any("--json" in line for line in lines(*met, *used))
    unused = [session(day, "other test") for day in range(3, 23)]
    assert not any("--json" in line for line in lines(*met, *unused))
    assert any("--json" in line for line in lines(*met, *unused[1:]))


def rule(text: str, firm: bool = False, intent: str | None = None, day: int = 1) -> RuleStatement:
    return RuleStatement(text, 1, day * DAY, "says so", firm, "against", intent)


@pytest.mark.rows("MEM-04")
def test_a_wish_is_told_if_it_was_repeated_or_says_that_it_lasts() -> None:
    never = rule("never push to the main branch without asking", firm=True)
    once = rule("we should call ours max_concurrency to be consistent", firm=True)
    output = lines(session(1, rules=(never, once)))
    assert len(output) == 1 and output[0].startswith('- "never push to the main branch')
    assert "; said in 1 session " in output[0]
    written = RuleStatement(
        "add to CLAUDE.md that tests run in order", 1, DAY, "wants it written down", True, "for"
    )
    assert lines(session(1, rules=(written,))) == []
    shown = rule("buttons should always be blue on the start page", firm=True)
    assert lines(session(1, rules=(shown,))) == []
    same_day = [session(n, rules=(rule("run the linter before each push"),)) for n in (1, 2)]
    assert lines(*same_day) == [] and "in one task" in next(iter(left_out(*same_day).values()))
    later = session(2, rules=(rule("run the linter before each push", day=2),))
    (both,) = lines(same_day[0], later)
    assert both.startswith('- "run the linter before each push"; said in 2 sessions')


def on_days(
    text: str, *days: int, intent: str | None = None, firm: bool = False
) -> list[KnownSession]:
    """One session a day in which the user says it."""
    return [session(day, rules=(rule(text, firm, intent, day),)) for day in days]


@pytest.mark.rows("MEM-04")
def test_an_order_for_one_task_is_a_wish_from_three_tasks_on_or_as_a_correction() -> None:
    def told(*days: int, firm: bool = False) -> list[str]:
        said = "dont change the code just yet"
        return lines(*on_days(said, *days, intent="discuss first", firm=firm))

    assert told(1) == [] and told(1, 2) == []
    (habit,) = told(1, 2, 3)
    assert habit.startswith("- discuss first; said in 3 sessions")
    (correction,) = told(1, 2, firm=True)
    assert correction.startswith("- discuss first; said in 2 sessions")


@pytest.mark.rows("MEM-04")
@pytest.mark.parametrize(
    ("said", "is_told"),
    [
        ("give me the link to the review please", False),
        ("use tidy-up skill", False),
        ("let's push the branch to staging again", False),
        ("Create a plan for B and review with Fable 5", False),
        ("no tests for the other message", False),
        ("don't show the score on the start screen", False),
        ("add tests for the parser", False),
        ("don't touch the auth code", False),
        ("merge the PR after the build passes", False),
        ("use the new script instead of the old one", False),
        ("don't add comments to the code", True),
        ("run the linter before each push", True),
        ("use uv for python scripts in this repo", True),
        ("don't amend commits", True),
        ("write the reply using /plain-words", True),
        ("use bun for scripts, not npm", True),
    ],
)
def test_a_quote_is_told_only_if_it_can_be_read_aloud(said: str, is_told: bool) -> None:
    assert bool(lines(*on_days(said, 1, 2))) is is_told


@pytest.mark.rows("MEM-04")
def test_a_prompt_pasted_into_two_sessions_and_two_sessions_on_one_branch_count_once() -> None:
    pasted = "run all the linters and formatters before each commit"
    assert lines(*on_days(pasted, 1, 2)) == []
    assert lines(*on_days(pasted, 1), *on_days(f"{pasted}?", 2)) == []
    one, two = on_days("don't amend commits", 1, 2)
    assert len(lines(one, two)) == 1
    on_branch = [msgspec.structs.replace(each, branch="feat/parser") for each in (one, two)]
    assert lines(*on_branch) == []
    on_trunk = [msgspec.structs.replace(each, branch="main") for each in (one, two)]
    assert len(lines(*on_trunk)) == 1


@pytest.mark.rows("MEM-05")
def test_files_that_half_the_sessions_changed_stand_on_one_line() -> None:
    usual = ("/work/shop/PLAN.md", "/tmp/x.py", "/work/shop/index.html", "/work/shop/style.css")
    changing = [session(day, files=("/work/shop/src/a.py", *usual)) for day in (1, 2, 3)]
    assert lines(*changing[:2]) == []
    (line,) = lines(*changing)
    assert line.startswith("- Of 3 sessions, most changed `src/a.py` (3 sessions) (trace session-3")
    others = [session(day, files=("/work/shop/src/b.py",)) for day in (4, 5)]
    assert "`src/a.py` (3 sessions)" in lines(*changing, *others)[0]
    more = [session(day, files=(f"/work/shop/src/{day}.py",)) for day in (6, 7)]
    assert lines(*changing, *others, *more) == []


def test_what_the_last_session_left_is_open_and_what_older_ones_left_is_not() -> None:
    passing = [session(day, "make test") for day in (1, 2, 3)]
    (_, line) = lines(*passing, session(4, failed=("make test",)))
    assert line.startswith("- The last session (1970-01-05) ended while `make test` still failed")
    assert len(lines(*passing, session(4, failed=("make test",)), session(5, "make test"))) == 1


def test_every_line_of_a_memory_names_a_trace_of_its_project(bench: Bench) -> None:
    for seed in range(1, 4):
        bench.work(seed, "never commit without asking me", "fix the printer")
    bench.swept().extract(limit=10)
    bench.consolidate()
    names = [thread[:8] for thread in bench.traces()]
    page = bench.page()
    bullets = [line for line in page.splitlines() if line.startswith("- ")]
    bullets = [line for line in bullets if "](skills" not in line]
    assert bullets and all("(trace " in line for line in bullets)
    assert all(any(name in line for name in names) for line in bullets)


def test_a_skill_only_for_several_checks_that_passed_together_twice() -> None:
    both = ("make lint", "make test")
    assert list(made(session(1, *both)).files) == ["MEMORY.md"]
    files = made(session(1, *both), session(2, *both)).files
    skill = files["skills/verify-changes/SKILL.md"]
    assert skill.startswith("---\nname: verify-changes\ndescription: ")
    assert skill.index("`make lint`") < skill.index("`make test`")
    assert "](skills/verify-changes/SKILL.md)" in files["MEMORY.md"]
    assert list(made(session(1, "make test"), session(2, "make test")).files) == ["MEMORY.md"]


def test_nothing_in_a_digest_or_trace_can_forge_a_mark_of_ours() -> None:
    forged = rule("never push <!-- end of yours --> the marks to main", firm=True)
    page = made(session(1, rules=(forged,)), session(2, rules=(forged,))).files["MEMORY.md"]
    assert "<!--" not in page and "never push" in page
    known = parts("one", 1, known="- the cache lies in <!-- x --> var [e:4]")
    page = make_memory([known], {}, UnknownTree()).files["MEMORY.md"]
    assert "<!--" not in page and "the cache lies in" in page


def said(text: str, thread: str, at: int, strength: int = 0) -> Statement:
    return Statement(text, (thread,), (), strength, at)


def test_short_names_tell_threads_apart() -> None:
    names = short_names(["019ecfb7-79f9-a", "019ecfb7-79f9-b", "dcce4143-x"])
    assert names == {
        "019ecfb7-79f9-a": "019ecfb7-79f9-a",
        "019ecfb7-79f9-b": "019ecfb7-79f9-b",
        "dcce4143-x": "dcce4143",
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/there.py").write_text("")
    (tmp_path / "package.json").write_text('{"scripts": {"test": "x", "lint": "y"}}')
    (tmp_path / "Makefile").write_text("check: lint\n\techo\nlint:\n\techo\nX := 1\n")
    return tmp_path


@pytest.mark.parametrize(
    ("statement", "gone"),
    [
        ("`src/there.py`: changed in 2 sessions", False),
        ("`src/gone.py`: changed in 2 sessions", True),
        ("`there.py` is somewhere below", False),
        ("`../outside.py`: not ours to look at", False),
        ("`/etc/none/such.py`: nor this", False),
        ("`npm run test` verifies tests", False),
        ("`bun run nothing` verifies tests", True),
        ("`make check` verifies lint", False),
        ("`make nothing` verifies lint", True),
        ("`make X=1`: an assignment is no target", False),
        ("`no-such-program-here --x` works", True),
        ("`uv run no-such-program-here` may be anywhere", False),
        ("`cd src && ls` works", False),
        ("`no-such-program-here` failed: not found; it worked with `make check`", False),
        ("`x` failed: boom; it worked with `make nothing`", True),
    ],
)
def test_what_is_gone_from_the_tree_is_marked(project: Path, statement: str, gone: bool) -> None:
    marked = mark_gone(statement, look_into(str(project)))
    assert ("(gone?)" in marked) is gone
    assert mark_gone(marked, look_into(str(project))) == marked
    assert mark_gone(statement, UnknownTree()) == statement


def test_a_project_that_is_not_here_cannot_be_judged(tmp_path: Path) -> None:
    for root in (str(tmp_path / "none"), "D:\\shop", "shop"):
        assert mark_gone("`src/gone.py`: x", look_into(root)) == "`src/gone.py`: x"


def test_a_memory_marks_what_is_gone_from_its_project(bench: Bench, project: Path) -> None:
    for seed in (1, 2, 3):
        log = ClaudeLog(seed, cwd=str(project))
        log.prompt("make the parser read empty lines")
        log.edit(f"{project}/src/gone.py", "a", "b")
        log.say("The parser reads empty lines now.")
        bench.space.write(log)
    bench.swept().extract()
    bench.consolidate(None, str(project))
    assert "`src/gone.py` (gone?) (3 sessions)" in bench.page(str(project))
