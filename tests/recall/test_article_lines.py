"""Points of knowledge articles among the results, read from the files that the journal writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.recall.store_builder import ROOT, SHOP, Memory
from tests.recall.test_memory_lines import found
from tests.store.test_search_rank import said

from session_memory.journal.articles import Article, point_line, render
from session_memory.journal.paths import JournalPaths, journal_paths
from session_memory.recall.context import RecallContext
from session_memory.recall.memory_lines import named_line

DAY = "2026-03-02.md"


def article(journal: JournalPaths, path: str, title: str, *points: str) -> Path:
    """An article as the journal writes it."""
    front: dict[str, str | tuple[str, ...]] = {
        "title": title,
        "aliases": (),
        "tags": (),
        "sources": (f"daily/{DAY}",),
        "created": "2026-03-02",
        "updated": "2026-03-02",
    }
    lines = "\n".join(point_line(point, DAY, "0a1b2c") for point in points)
    body = f"## Key Points\n\n{lines}\n\n## Related\n\n- [[concepts/heron-feathers]]\n"
    file = journal.knowledge / f"{path}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(render(Article(path, front, body)), encoding="utf-8")
    return file


@pytest.fixture
def context(memory: Memory) -> RecallContext:
    said(memory, "a", "the heron is a bird", "the cache is a store")
    return RecallContext(memory.store, memory.context.clock, data=memory.directory)


@pytest.mark.rows("SRC-19")
def test_a_point_that_holds_more_of_the_words_stands_first_and_names_its_file(
    memory: Memory, context: RecallContext
) -> None:
    journal = journal_paths(memory.directory, ROOT)
    file = article(journal, "concepts/caches", "Caches", "Clear the heron cache before a release")
    first, *others = found(context, "heron cache release")
    assert (first.memory_kind, first.type, first.project_key) == ("article", "article", "shop")
    assert first.summary == "Caches: Clear the heron cache before a release"
    assert {item.memory_kind for item in others} == {"event"}
    line = named_line(memory.directory, first.id)
    assert line is not None and line.file == file


@pytest.mark.rows("SRC-19")
def test_an_article_is_found_by_its_title_once_and_two_of_them_at_most(
    memory: Memory, context: RecallContext
) -> None:
    journal = journal_paths(memory.directory, ROOT)
    for number in range(4):
        article(journal, f"concepts/p{number}", f"Pelicans {number}", "they eat", "they fly")
    items = [item for item in found(context, "pelicans") if item.memory_kind == "article"]
    assert len(items) == 2
    assert len({item.summary.partition(":")[0] for item in items}) == 2


@pytest.mark.rows("SRC-19")
def test_articles_keep_to_their_project_fit_no_other_filter_and_go_with_their_files(
    memory: Memory, context: RecallContext
) -> None:
    other = replace(SHOP, key="other", root="/work/other")
    memory.session("elsewhere", ("decision", "Keep the tiles"), cwd="/work/other", project=other)
    file = article(
        journal_paths(memory.directory, ROOT), "concepts/birds", "Birds", "pelicans eat fish"
    )
    assert len(found(context, "pelicans eat", project_key="shop")) == 1
    assert found(context, "pelicans", project_key="other") == []
    assert found(context, "pelicans", since=1) == []
    assert found(context, "feathers") == []  # a link to another article says nothing itself
    file.write_text(file.read_text(encoding="utf-8").replace("pelicans", "[FORGOTTEN]"), "utf-8")
    assert found(context, "pelicans") == []
    assert found(context, "eat fish") == []  # what is left of a forgotten line says nothing
    article(journal_paths(memory.directory, ROOT), "concepts/birds", "Birds", "gulls eat fish")
    assert len(found(context, "eat fish")) == 1
    file.unlink()
    assert found(context, "eat fish") == []


@pytest.mark.rows("SRC-19")
def test_a_vault_is_of_no_project_and_what_is_no_article_is_passed_over(
    memory: Memory, context: RecallContext, tmp_path: Path
) -> None:
    vault = tmp_path / "vault"
    context = replace(context, vault=str(vault))
    file = article(journal_paths(memory.directory, ROOT, str(vault)), "qa/fed", "Fed", "at noon")
    (file.parent / "note.md").write_text("pelicans, and no front matter", encoding="utf-8")
    (file.parent / "bytes.md").write_bytes(b"---\ntitle: \xff\n---\n- pelicans eat \xfe\n")
    (file.parent / "gone.md").symlink_to(tmp_path / "nowhere")
    (item,) = found(context, "fed noon")
    assert item.project_key is None
    assert found(context, "fed noon", project_key="shop") == []
    assert len(found(context, "pelicans")) == 1
