"""What is indexed: edits, inner words of names, scripts without blanks, old observations."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import UNSET
from tests.recall.store_builder import Memory

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.core.text.search_terms import terms_of
from session_memory.core.text.searchable import searchable
from session_memory.recall.context import RecallContext
from session_memory.recall.requests import SearchRequest
from session_memory.recall.search import SearchAnswer, search
from session_memory.store import open_store
from session_memory.testing.store_drafts import START, Said, capture, turn
from session_memory.testing.workspace import Workspace


def asked(space: Workspace, query: str) -> SearchAnswer:
    """What a search of a swept store gives."""
    with space.store() as store:
        return search(RecallContext(store, lambda: space.now), SearchRequest(query))


@pytest.mark.rows("SRC-12")
@pytest.mark.parametrize(
    "query",
    [
        *("resolveWingmanAgent", "resolvewingmanagent", "Wingman", "wingman agent"),
        *("max_retry_count", "resolveWing", "resolveWingmanAgnet", "resolveWigmanAgent", "wingmna"),
    ],
)
def test_a_name_written_by_an_edit_is_found_whole_and_by_its_words(
    tmp_path: Path, query: str
) -> None:
    space = Workspace(tmp_path)
    log = ClaudeLog(1)
    log.prompt("please go on")
    written = "func resolveWingmanAgent() {\n\tmax_retry_count := 3\n}"
    log.edit("/work/a.go", "x", written)
    space.write(log)
    space.sweep()
    (item,) = asked(space, query).items
    assert (item.type, item.tool) == ("tool_call", "Edit")


@pytest.mark.rows("SRC-12")
@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Datenbankverbindung getrennt", "Datenbank"),
        ("Datenbankverbindung getrennt", "Verbindungen"),
        ("Eine Zeitüberschreitung trat auf", "Überschreitung"),
        ("Eine Zeitueberschreitung trat auf", "Überschreitung"),
        ("Die Benutzerverwaltungsoberfläche fehlt", "Oberflächen"),
        ("Die Benutzerverwaltungsoberfläche fehlt", "verwaltung"),
        ("Die Übertragung bricht ab", "Übertrag"),
        ("Die Straßennamen fehlen", "Strasse"),
        ("Der Name der Strasse fehlt", "Straße"),
        ("Die Größe ist falsch", "groesse"),
        ("Die Groesse ist falsch", "Größe"),
        ("Исправлены ошибки подключения", "ошибка"),
        ("設定ファイルを更新しました。", "ファイル"),
        ("設定ファイルを更新しました。", "更新 設定"),
        ("数据库连接超时了", "连接超时"),
        ("설정을 변경했습니다", "설정"),
        ("데이터베이스에서 오류가 발생했습니다", "데이터베이스는"),
        ("데이터베이스에서 오류가 발생했습니다", "오류를"),
        ("Сервер не отвечает на запросы", "запрос"),
        ("Сервер не отвечает на запросы", "запросом"),
        ("Потеряно соединение с базой", "соединения"),
        ("การเชื่อมต่อฐานข้อมูลล้มเหลว", "ฐานข้อมูล"),
        ("Das Übertragungsprotokoll wurde geändert", "übertragungsprotokoll geandert"),
        ("Исправлена ошибка подключения", "ошибка подключения"),
        ("a naïve café", "naive cafe"),
    ],
)
def test_every_language_is_found(tmp_path: Path, text: str, query: str) -> None:
    space = Workspace(tmp_path)
    log = ClaudeLog(1)
    log.prompt(text)
    log.say("something else altogether")
    space.write(log)
    space.sweep()
    assert any(text[:5] in item.summary for item in asked(space, query).items)


def test_both_german_spellings_are_found_at_once(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    log = ClaudeLog(1)
    log.prompt("die Größe stimmt nicht")
    log.prompt("die Groesse stimmt nun")
    log.prompt("der Rest stimmt auch")
    space.write(log)
    space.sweep()
    first, second, *_ = asked(space, "größe").items
    assert {first.summary[:8], second.summary[:8]} == {"die Größ", "die Groe"}


def test_a_word_that_is_there_is_not_replaced_by_similar_ones(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    log = ClaudeLog(1)
    log.prompt("the stork came")
    log.prompt("the storks and the storm came")
    space.write(log)
    space.sweep()
    assert "storm" in asked(space, "storm").items[0].summary
    assert asked(space, "storm").count == 1
    assert asked(space, "zzzz").count == 0


@pytest.mark.rows("SRC-12")
def test_a_slip_is_forgiven_where_nothing_may_be_written(memory: Memory) -> None:
    memory.session("a", ("decision", "Keep the pelican"))
    capture(memory.store, Said("e", "/logs/e", (turn(0, "the cormorant build broke"),)))
    reader = open_store(str(memory.directory), START, read_only=True)
    found = search(RecallContext(reader, lambda: START), SearchRequest("cormornat"))
    reader.close()
    assert [item.type for item in found.items] == ["user_prompt"]


def test_ordinary_text_is_indexed_as_it_is() -> None:
    assert searchable("plain words, snake_case and src/app.py") == (
        "plain words, snake_case and src/app.py"
    )
    assert searchable("FormatIncrementalSubject").split() == [
        "FormatIncrementalSubject", "Incremental", "Subject",
    ]  # fmt: skip
    assert terms_of("v1.2.3 of 設定を").names == ("v1 2 3",)


@pytest.mark.rows("SRC-13")
def test_an_old_observation_is_found_among_thousands_of_newer_ones(memory: Memory) -> None:
    memory.session("old", ("decision", "Keep the pelican in the harbour"))
    newer = [("decision", f"Keep number {number} of the harbour") for number in range(2_500)]
    memory.session("new", *newer, at=10_000)  # pyright: ignore[reportArgumentType]
    first, *_ = search(memory.context, SearchRequest("pelican harbour")).items
    assert first.summary == "Keep the pelican in the harbour"


@pytest.mark.rows("SRC-13")
def test_words_leave_the_index_when_they_are_forgotten_or_replaced(memory: Memory) -> None:
    one = memory.session("a", ("decision", "Keep the pelicanword"))
    memory.session("b", ("decision", "Keep the heronword"))
    memory.say(one, ("decision", "Keep the storkword"))
    assert search(memory.context, SearchRequest("pelicanword")).count == 0
    assert search(memory.context, SearchRequest("storkword")).count == 1
    store = memory.store
    store.replace_words(
        lambda data: data.replace(b"heronword", b"[gone]") if b"heronword" in data else data
    )
    assert search(memory.context, SearchRequest("heronword")).count == 0
    assert search(memory.context, SearchRequest("gone")).count == 1
    store.forget_sessions({one})
    store.erase_traces()
    for word in ("pelicanword", "heronword", "storkword"):
        assert store.traces(word) == []


@pytest.mark.rows("SRC-15")
def test_a_failure_is_shown_with_what_cured_it(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    log = ClaudeLog(1)
    log.prompt("Run the pelican tests please, all of them")
    log.run("rtk bun run pelican", "error: unrecognized subcommand 'bun'", exit_code=2)
    log.run("bun run pelican", "3 pass\n0 fail")
    log.say("All of them pass.")
    space.write(log)
    space.sweep()
    first, *_ = asked(space, "unrecognized subcommand bun").items
    assert first.is_error is True
    assert first.cure == "bun run pelican"
    assert all(item.cure is UNSET for item in asked(space, "pelican tests please").items[:1])
