"""The first look at a text may find too much, never too little."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.redact.matching import texts_matching

from session_memory.redact import RULES, Rule
from session_memory.redact.keywords import NAMES_END, Keywords, prefilter_of, shortest
from session_memory.redact.linear_regex import compile_pattern, compile_set

TABLE = Keywords(RULES)
SAMPLES = [(rule, sample) for rule in RULES for sample in rule.must_match]


@pytest.mark.parametrize(("rule", "sample"), SAMPLES, ids=[rule.id for rule, _ in SAMPLES])
def test_a_rule_is_tried_on_what_it_must_match(rule: Rule, sample: str) -> None:
    assert TABLE.seen(sample.encode())
    assert RULES.index(rule) in TABLE.rules(sample.encode())


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule.prefilter], ids=lambda rule: rule.id
)
def test_a_prefilter_is_part_of_every_match_of_its_rule(rule: Rule) -> None:
    prefilter = compile_set([prefilter_of(rule)])
    pattern = compile_pattern(rule.pattern)
    found = [text.encode() for text in rule.must_match if any(pattern.finditer(text.encode()))]
    assert found
    assert all(prefilter.Match(text) for text in found)


def test_ordinary_text_is_let_through_without_a_second_look() -> None:
    text = b"Rename the column and run the migration on a copy of the table."
    assert not TABLE.seen(text)
    assert TABLE.rules(text) == set()


def test_everyday_rules_of_every_group_are_found() -> None:
    rules = [
        Rule(
            id=f"r{n}", pattern=rb"word%d=[0-9]" % n, keywords=("word",), everyday=f"group {n % 3}"
        )
        for n in range(9)
    ]
    table = Keywords(rules)
    assert table.rules(b"word0=1 and word5=2 and word8=3") == {0, 5, 8}
    assert table.rules(b"a word without a number") == set()


@pytest.mark.parametrize(
    "text",
    [
        b"Chunk ID: 1a2b\nProcess exited with code 0\nOriginal token count: 57\nOutput:\nok",
        b'{"cmd":"ls","max_output_tokens":8000}',
        b"tokens",
        b"12 tokens truncated",
    ],
)
def test_counts_of_tokens_bring_no_rule_for_names(text: bytes) -> None:
    assert TABLE.rules(text) == set()
    looks = [name for name in NAMES_END if _group(name).seen(text)]
    assert looks == []


@pytest.mark.parametrize("group", sorted(NAMES_END))
def test_whatever_a_rule_for_names_matches_passes_the_first_look(group: str) -> None:
    keywords, matched = _group(group), 0
    for rule in [rule for rule in RULES if rule.everyday == group]:
        pattern = compile_pattern(rule.pattern)
        for text in texts_matching(rule.pattern, 150, around=True):
            if any(pattern.finditer(text)):
                matched += 1
                assert keywords.seen(text), (rule.id, text)
    assert matched >= 150


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if not rule.everyday], ids=lambda rule: rule.id
)
def test_whatever_a_rule_matches_holds_one_of_its_keywords(rule: Rule) -> None:
    keywords, pattern = Keywords((rule,)), compile_pattern(rule.pattern)
    texts = [text for text in texts_matching(rule.pattern, 40) if any(pattern.finditer(text))]
    assert texts
    assert all(keywords.rules(text) for text in texts)


@pytest.mark.parametrize(
    "name",
    ["token", "tokenStr", "token_staging", "tokensecondary", "TOKEN", "token c", "token count"],
)
@pytest.mark.parametrize("after", ["", " ", ":", "=", "\n", " coun", " count:", "s1"])
def test_a_name_passes_the_first_look_whatever_follows(name: str, after: str) -> None:
    harmless = (name + after).lower().startswith(("tokens1", "token count: "))
    assert all(_group(group).seen((name + after).encode()) != harmless for group in NAMES_END)


def _group(name: str) -> Keywords:
    return Keywords([rule for rule in RULES if rule.everyday == name])


def test_a_prefilter_belongs_to_a_rule_of_a_group() -> None:
    assert all(rule.everyday for rule in RULES if rule.prefilter)


def test_a_keyword_that_counts_only_as_written_does_not_count_otherwise() -> None:
    rule = Rule(id="x", pattern=rb"AbC[0-9]", keywords=("AbC",), exact=True)
    assert Keywords((rule,)).rules(b"the AbC1") == {0}
    assert Keywords((rule,)).rules(b"the abc1") == set()


@settings(max_examples=200, database=None)
@given(st.sets(st.text("ab", min_size=1, max_size=5)), st.text("ab", max_size=8))
def test_the_shortest_keywords_see_what_all_of_them_see(words: set[str], text: str) -> None:
    kept = shortest(words)
    assert set(kept) <= words
    assert any(word in text for word in kept) == any(word in text for word in words)
    assert not any(one in other for one in kept for other in kept if one is not other)
