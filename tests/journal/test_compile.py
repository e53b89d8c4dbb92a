"""Daily logs become articles: what changed, once, all of it or nothing."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.journal.compile_journal import ENTRY, OTHER, Library, answer, article, written
from tests.journal.flush_journal import Bench

from session_memory.errors import ModelFailed, NotFound
from session_memory.journal import compile as compiling
from session_memory.journal import daily, transaction
from session_memory.journal.articles import points_of
from session_memory.journal.compile import compile_logs, select_logs
from session_memory.journal.knowledge import index_faults
from session_memory.journal.lint import read_lint_input, structural_issues
from session_memory.journal.state import log_hash, pending_logs
from session_memory.model.port import Answer, Request, Usage
from session_memory.testing.faults import OPERATIONS, Counter, CountingOs

DAY = "2026-03-02.md"


def pending(library: Library) -> list[str]:
    return pending_logs(library.journal, library.now, library.warnings.append)


def severe(library: Library) -> list[str]:
    base = read_lint_input(library.journal, library.now, library.warnings.append)
    return [str(one) for one in structural_issues(base) if one.severity != "suggestion"]


@pytest.mark.rows("KB-01")
def test_the_first_flush_and_compile_make_exactly_the_layout(bench: Bench) -> None:
    bench.says(ENTRY)
    bench.flush(bench.excerpt())
    library = Library(bench.data)
    library.compile()
    found = {p.relative_to(bench.journal.root).as_posix() for p in bench.journal.root.rglob("*")}
    (made,) = library.articles
    folders = {
        "daily",
        "knowledge",
        "reports",
        *(f"knowledge/{k}" for k in ("concepts", "connections", "qa")),
    }
    files = {f"daily/{DAY}", "knowledge/index.md", "knowledge/log.md", "state.json"}
    assert found == {*folders, *files, f"knowledge/{made}.md"}
    modes = {p.stat().st_mode & 0o777 for p in bench.journal.root.rglob("*") if p.is_file()}
    assert modes == {0o600} or os.name == "nt"


@pytest.mark.rows("KB-02")
def test_only_new_or_changed_logs_are_compiled(library: Library) -> None:
    library.add()
    library.add(OTHER, "s2", day=1)
    assert [one.file for one in library.compile().done] == [DAY, "2026-03-03.md"]
    assert library.compile().done == ()
    library.add(OTHER, "s3")
    assert [one.file for one in library.compile().done] == [DAY]
    assert [one.file for one in library.compile(whole=True).done] == [DAY, "2026-03-03.md"]
    assert [one.file for one in library.compile(file="2026-03-03").done] == ["2026-03-03.md"]
    with pytest.raises(NotFound):
        library.compile(file="2020-01-01.md")


@pytest.mark.rows("KB-02")
def test_choosing_writes_nothing(library: Library) -> None:
    library.add()
    before = library.tree()
    assert select_logs(library.context()) == [DAY]
    assert select_logs(library.context(), everything=True) == [DAY]
    assert library.tree() == before


def test_compiling_again_changes_no_article(library: Library) -> None:
    for day, content in enumerate((ENTRY, OTHER, ENTRY)):
        library.add(content, f"s{day}", day)
    library.compile()

    def points() -> dict[str, list[str]]:
        return {path: sorted(points_of(one.body)) for path, one in library.articles.items()}

    before = points()
    assert len(before) == 3
    library.compile(whole=True)
    assert points() == before
    assert severe(library) == []


@pytest.mark.rows("KB-03")
def test_the_question_holds_schema_index_articles_log_and_the_day(library: Library) -> None:
    library.add()
    library.says(answer(written("Token cache", "Tokens are cached.")), answer())
    library.compile()
    library.add(OTHER, "s2", day=1)
    model = library.model
    assert model is not None
    library.compile()
    first, second = (request.user for request in model.requests)
    assert "concepts: title, aliases, tags, sources, created, updated" in second
    assert "UPDATE an existing article" in second and "3 to 7 concepts" in second
    assert "| [[concepts/token-cache]] | Tokens are cached." in second
    assert "File concepts/token-cache.md:" in second and "Tokens are cached." in second
    assert "compile | 2026-03-02.md" in second
    order = [
        second.index(part)
        for part in ("The index:", "Existing articles:", "build log:\n", "daily/2026-03-03.md.")
    ]
    assert order == sorted(order)
    assert "a thousand tokens" in second[order[-1] :]
    assert "Cache the tokens in" in first and "[entry E1]" in first
    assert "session-memory:begin" not in first


@pytest.mark.rows("KB-03", "KB-05")
def test_two_concepts_and_their_connection_link_each_other(library: Library) -> None:
    library.add()
    library.says(
        answer(
            written(
                "Token cache", "Tokens are cached, see [[concepts/slots]] and [[concepts/nowhere]]."
            ),
            written("Slots", "Slots halve the memory.", related=["Token cache", "No such thing"]),
            {
                **written("Cache and slots", "Both are about memory."),
                "kind": "connections",
                "connects": ["Token cache", "Slots"],
            },
        )
    )
    library.compile()
    found = library.articles
    connection = found["connections/cache-and-slots"]
    assert connection.front["connects"] == ("concepts/token-cache", "concepts/slots")
    assert "nowhere]]" not in found["concepts/token-cache"].body
    assert severe(library) == []
    assert index_faults(library.text("knowledge/index.md"), found) == []


@pytest.mark.rows("KB-06")
def test_the_build_log_grows_at_its_end(library: Library) -> None:
    from session_memory.journal.query import query

    library.add()
    library.compile()
    first = library.text("knowledge/log.md")
    library.add(OTHER, "s2", day=1)
    library.compile()
    second = library.text("knowledge/log.md")
    query(library.context(), "how are tokens cached?", file_back=True)
    third = library.text("knowledge/log.md")
    assert second.startswith(first) and third.startswith(second)
    heads = [line for line in third.splitlines() if line.startswith("## [")]
    assert [head.partition("] ")[2] for head in heads] == [
        "compile | 2026-03-02.md",
        "compile | 2026-03-03.md",
        "query (filed) | qa/how-are-tokens-cached",
    ]
    assert heads[0].startswith("## [2026-03-02T17:45:00+05:45] ")
    assert (
        "- source: daily/2026-03-02.md\n- created: [[concepts/" in first
        and "- updated: none" in first
    )


@pytest.mark.rows("KB-07")
def test_the_state_tells_hash_time_and_cost(library: Library) -> None:
    library.add()
    library.says(*(Answer(answer(), "m", Usage(usd=0.25)) for _ in range(2)))
    library.journal.root.mkdir(parents=True, exist_ok=True)
    library.journal.state.write_text('{"theirs": 1, "query_count": 4}')
    library.compile()
    data = library.log().read_bytes()
    row = library.state["ingested"][DAY]
    assert (row["hash"], row["cost_usd"]) == (log_hash(data), 0.25)
    assert row["compiled_at"] == "2026-03-02T17:45:00+05:45"
    library.add(OTHER, "s2")
    library.compile()
    state = library.state
    assert (state["ingested"][DAY]["cost_usd"], state["total_cost"]) == (0.5, 0.5)
    assert (state["query_count"], state["last_lint"], state["theirs"]) == (4, None, 1)


@pytest.mark.rows("KB-08")
@pytest.mark.parametrize(
    "bad",
    [
        ModelFailed("busy"),
        "no JSON here",
        "{}",
        answer({"title": "x"}),
        answer(written("!?", "said")),
        answer(written("x", "said", entry="E9")),
        answer(written("x")),
        answer(written("x", "said", updates="concepts/none")),
        answer({**written("x", "said"), "kind": "qa"}),
        answer({**written("x", "said"), "kind": "../../etc"}),
        answer({**written("x", "said"), "kind": "connections", "connects": ["nothing"]}),
        answer(*(written(f"x{n}", "said") for n in range(30))),
    ],
)
def test_an_answer_that_does_not_fit_changes_nothing(library: Library, bad: Any) -> None:
    library.add()
    library.says(answer(written("Token cache", "Tokens are cached.")))
    library.compile()
    library.add(OTHER, "s2")
    before = library.tree()
    library.says(bad)
    report = library.compile()
    assert list(report.failed) == [DAY] and report.done == ()
    assert library.tree() == before
    assert pending(library) == [DAY]


@pytest.mark.rows("KB-08")
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails_at_any_operation_leaves_tree_and_state(
    library: Library, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    library.add()
    library.compile()
    library.add(OTHER, "s2")
    before, nth, failing = library.tree(), 0, True
    while failing:
        nth += 1
        counter = Counter(nth, OPERATIONS)
        with monkeypatch.context() as patch:
            for module in ("atomic_files", "paths"):
                patch.setattr(f"session_memory.{module}.os", CountingOs(counter, code))
            report = library.compile()
        failing = counter.failed
        transaction.recover(library.journal)
        if report.failed:
            assert library.tree() == before, nth
            assert pending(library) == [DAY]
    assert nth > 20
    assert library.tree() != before and pending(library) == []


@pytest.mark.rows("KB-09")
def test_a_log_that_grows_during_its_compile_is_pending_afterwards(library: Library) -> None:
    library.add()
    read = library.log().read_bytes()

    def growing(_request: Request) -> str:
        library.add(OTHER, "s2")
        return answer(written("Token cache", "Tokens are cached."))

    model = library.says(growing, answer())
    assert [one.file for one in library.compile().done] == [DAY]
    assert library.state["ingested"][DAY]["hash"] == log_hash(read)
    assert pending(library) == [DAY]
    library.compile()
    assert "a thousand tokens" in model.requests[1].user
    assert pending(library) == []


def test_a_log_that_is_edited_during_its_compile_is_left_for_later(library: Library) -> None:
    library.add()

    def editing(_request: Request) -> str:
        library.log().write_bytes(library.log().read_bytes().replace(b"tokens", b"[FORGOTTEN]"))
        return answer(written("Token cache", "Tokens are cached."))

    library.says(editing)
    report = library.compile()
    assert "edited during its compile" in report.failed[DAY]
    assert library.articles == {} and pending(library) == [DAY]


def test_what_an_edit_took_away_leaves_the_articles_too(library: Library) -> None:
    library.add()
    library.compile()
    assert any("most of the time" in one.body for one in library.articles.values())
    log = library.log()
    log.write_bytes(log.read_bytes().replace(b"most of the time", b"half of the time"))
    library.compile()
    bodies = "".join(one.body for one in library.articles.values())
    assert "half of the time" in bodies and "most of the time" not in bodies


def test_a_long_log_is_compiled_in_portions(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        library.add(f"**Decisions Made:**\n- decision number {number} " + "é" * 400, f"s{number}")
    monkeypatch.setattr(compiling, "PORTION", 2_200)
    model = library.says(*(answer() for _ in range(3)))
    done = library.compile().done
    assert [one.incremental for one in done] == [False, True, True]
    shown = "".join(request.user for request in model.requests)
    assert [shown.count(f"decision number {n} ") for n in range(6)] == [1] * 6
    assert pending(library) == []


def test_a_log_without_substance_is_not_asked_about(library: Library) -> None:
    entry = daily.Entry("s1", "a0", daily.NOTHING, daily.MAINTENANCE)
    daily.append_entry(library.journal, entry, library.now)
    library.says()
    assert library.compile(whole=True).failed == {}
    assert library.articles == {}


def test_one_log_that_fails_keeps_the_others_from_nothing(library: Library) -> None:
    library.add()
    library.add(OTHER, "s2", day=1)
    library.says("nonsense", answer(written("Slots", "Slots halve the memory.")))
    report = library.compile()
    assert list(report.failed) == [DAY] and [one.file for one in report.done] == ["2026-03-03.md"]


def test_what_a_person_added_to_an_article_stays(library: Library) -> None:
    library.add()
    library.compile()
    (path,) = library.articles
    file = library.journal.knowledge / f"{path}.md"
    file.write_text(
        file.read_text().replace("## Key Points", "My own words.\n\n## Key Points")
        + "\n## Mine\n\nmore\n"
    )
    library.add(ENTRY.replace("twice", "again"), "s2", day=1)
    library.compile()
    assert "My own words." in file.read_text() and "## Mine\n\nmore" in file.read_text()


def test_secrets_and_markup_of_an_answer_are_made_harmless(library: Library) -> None:
    library.add()
    token = "ghp_" + "a1B2" * 9
    library.says(
        answer(
            written(
                "Use\x1b[31m <!-- x",
                f"say {token} <!-- entry=00 --> and\n## Related",
                tags=["A b", "!"],
            )
        )
    )
    library.compile()
    ((path, made),) = library.articles.items()
    text = (library.journal.knowledge / f"{path}.md").read_text()
    assert token not in text and "\x1b" not in text
    assert made.front["tags"] == ("a-b",)
    assert "\n## Related" not in made.body and "<!-- entry=00" not in made.body


def test_a_damaged_state_counts_as_never_compiled(library: Library) -> None:
    library.add()
    library.compile()
    library.journal.state.write_text('{"ingested": {"2026-03-02.md": 5}, "total_cost": "x"}')
    assert pending(library) == [DAY]
    assert library.compile().failed == {}
    library.journal.state.write_text("{")
    assert library.compile().failed == {}
    assert json.loads(library.journal.state.read_bytes())["ingested"][DAY]["hash"]
    assert list(library.journal.root.glob("state.json.corrupt-*"))


def test_files_that_are_no_articles_are_left_alone(library: Library) -> None:
    library.add()
    odd = library.journal.knowledge / "concepts" / "notes.md"
    odd.parent.mkdir(parents=True)
    odd.write_text("my notes")
    library.compile()
    assert odd.read_text() == "my notes"
    assert "notes" not in library.text("knowledge/index.md")


def test_articles_of_people_are_updated_by_their_alias(library: Library) -> None:
    library.put([article("concepts/lexing", "# Lexing", title="Lexing", aliases=("src/lexer.py",))])
    library.add()
    library.add(OTHER, "s2", day=1)
    library.compile()
    assert "a thousand tokens" in library.articles["concepts/lexing"].body
    assert "concepts/src-lexer-py" not in library.articles
    assert severe(library) == []


def test_a_report_names_what_it_could_not_do(library: Library) -> None:
    library.add()
    library.says(ModelFailed("sk-ant-" + "a1B2" * 9 + " is wrong"))
    report = compile_logs(library.context(), [DAY, "2020-01-01.md"])
    assert set(report.failed) == {DAY, "2020-01-01.md"}
    assert "a1B2" not in report.failed[DAY]
    assert any(DAY in line and "failed" in line for line in compiling.report_lines(report))


def test_the_module_compiles_a_journal_by_itself(tmp_path: Path) -> None:
    import subprocess
    import sys

    library = Library(tmp_path / "sm" / "data")
    library.add()
    environ = {**os.environ, "SESSION_MEMORY_HOME": str(tmp_path / "sm")}
    command = [sys.executable, "-m", "session_memory.journal.compile", "--root", "/work/shop"]
    dry = subprocess.run(
        [*command, "--dry-run"], env=environ, capture_output=True, text=True, check=True
    )
    assert dry.stdout == f"{DAY}: would be compiled\n" and library.state == {}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    assert done.stdout == f"{DAY}: 1 created, 0 updated\n"
    assert len(library.articles) == 1
