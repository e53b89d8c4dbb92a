"""Articles survive their file, and one that lacks something is told apart."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.journal.compile_journal import article

from session_memory.journal.articles import (
    KEYS,
    KINDS,
    BadArticleError,
    Kind,
    entry_keys_in,
    faults,
    parse,
    point_line,
    render,
    section_lines,
    slug,
    with_lines,
)
from session_memory.journal.links import drop_dead_links, link_targets, without_links

SOUND = {kind: article(f"{kind}/x", "# x\n\ntext") for kind in KINDS}
WORDS = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=20)


@pytest.mark.rows("KB-04")
@pytest.mark.parametrize(("kind", "key"), [(kind, key) for kind in KINDS for key in KEYS[kind]])
def test_an_article_that_lacks_a_key_is_rejected(kind: Kind, key: str) -> None:
    assert parse(f"{kind}/x", render(SOUND[kind])) == SOUND[kind]
    front = {name: value for name, value in SOUND[kind].front.items() if name != key}
    with pytest.raises(BadArticleError, match=f"`{key}`"):
        parse(f"{kind}/x", render(replace(SOUND[kind], front=front)))


@pytest.mark.rows("KB-04")
def test_articles_without_source_title_or_partner_are_rejected() -> None:
    assert faults(replace(SOUND["concepts"], front={**SOUND["concepts"].front, "sources": ()}))
    assert faults(replace(SOUND["concepts"], front={**SOUND["concepts"].front, "title": ""}))
    one = {**SOUND["connections"].front, "connects": ("concepts/a",)}
    assert faults(replace(SOUND["connections"], front=one)) == ["connects fewer than two articles"]
    with pytest.raises(BadArticleError, match="no front matter"):
        parse("concepts/x", "# x\n")
    assert faults(replace(SOUND["qa"], path="elsewhere/x"))


def test_front_matter_is_read_as_editors_write_it() -> None:
    text = (
        "---\ntitle: It's plain\naliases:\n  - one\n  - 'it''s two'\ntags: [a, \"b c\"]\n"
        "sources: daily/2026-03-02.md\ncreated: 2026-03-02\nupdated: 2026-03-03\nrating: 5\n"
        "---\n\n# Body\n"
    ).replace("\n", "\r\n")
    found = parse("concepts/x", text)
    assert found.front["aliases"] == ("one", "it's two")
    assert found.front["tags"] == ("a", "b c")
    assert found.sources == ("daily/2026-03-02.md",)
    assert parse("concepts/x", render(found)) == found
    assert "rating: 5" in render(found), "what a person added stays"


@settings(max_examples=60)
@given(WORDS, st.lists(WORDS, max_size=4), WORDS)
def test_any_words_survive_the_file(title: str, aliases: list[str], line: str) -> None:
    made = article("concepts/x", f"# h\n\nx{line}x", title=title, aliases=tuple(aliases))
    assert parse("concepts/x", render(made)) == made


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Keep  the Tokens!", "keep-the-tokens"),
        ("src/lexer.py", "src-lexer-py"),
        ("Über größe", "über-grösse"),
        ("CON", "con-file"),
        ("../../etc", "etc"),
        ("!?", ""),
        ("word " * 40, "-".join(["word"] * 12)),
    ],
)
def test_a_slug_is_a_file_name_everywhere(title: str, name: str) -> None:
    assert slug(title) == name


def test_lines_are_added_to_their_section_and_only_once() -> None:
    body = "# T\n\nintro\n\n## Key Points\n\n- a\n\n## Mine\n\nown words\n\n## Related\n\n- [[x]]"
    more = with_lines(body, "Key Points", ["- b", "- a", "- b"])
    assert section_lines(more, "Key Points") == ["- a", "- b"]
    assert "## Mine\n\nown words" in more and more.endswith("- [[x]]")
    assert with_lines(more, "Key Points", ["- a"]) == more
    fresh = with_lines("# T\n\n## Related\n\n- [[x]]", "Key Points", ["- b"])
    assert fresh.index("## Key Points") < fresh.index("## Related")
    assert section_lines(with_lines("# T", "Related", ["- [[y]]"]), "Related") == ["- [[y]]"]


def test_a_line_of_evidence_names_its_day_and_entry() -> None:
    line = point_line("said", "2026-03-02.md", "a0")
    assert line == "- said ([[daily/2026-03-02.md]]) <!-- entry=a0 -->"
    assert entry_keys_in(f"x\n{line}\n- z <!-- entry=b1,c2 -->") == {"a0", "b1", "c2"}
    assert entry_keys_in("- <!-- entry=a0 --> not at the end") == frozenset()


@pytest.mark.rows("KB-14")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see [[concepts/a|A]] and [[concepts/a.md]]", ["concepts/a"]),
        ("```\n[[x]]\n```\n[[y]]", ["y"]),
        ("~~~md\n[[x]]\n~~~", []),
        ("`[[x]]` and ``[[x]] ` ``", []),
        ("```\n[[x]]", []),
        ("[[daily/2026-01-01.md]]", ["daily/2026-01-01"]),
        ("[[a#part|shown]] [[ b ]]", ["a", "b"]),
        ("[[]] [[a\nb]] [x](y)", []),
    ],
)
def test_links_are_found_outside_of_code(text: str, found: list[str]) -> None:
    assert list(link_targets(text)) == found


def test_links_to_nothing_become_words() -> None:
    assert drop_dead_links("[[a|A]] [[b]] [[c|C]]", lambda target: target == "a") == "[[a|A]] b C"
    shown = without_links("[[a]] <!-- entry=00 --> [[[b]]]")
    assert link_targets(shown) == () and "<!--" not in shown and "-->" not in shown
