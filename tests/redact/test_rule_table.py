"""The table proves itself: every rule's samples go through the engine."""

from __future__ import annotations

import re

import pytest
from tests.redact.matching import texts_matching

from session_memory.redact import RULES, Redactor, Rule
from session_memory.redact.linear_regex import compile_pattern
from session_memory.redact.placeholder import MARK
from session_memory.redact.secret_names import STRONG, STRONG_ENDS

KEY = b"a key of the tests"
MATCHES = [(rule, sample) for rule in RULES for sample in rule.must_match]
OTHERS = [(rule, sample) for rule in RULES for sample in rule.must_not_match]


@pytest.mark.parametrize(("rule", "sample"), MATCHES, ids=[rule.id for rule, _ in MATCHES])
def test_a_rule_redacts_what_it_must_match(rule: Rule, sample: str) -> None:
    assert MARK.search(Redactor(KEY).redact(sample.encode()))
    if rule.decode:  # finds nothing itself
        return
    alone = Redactor(KEY, (rule,))
    assert MARK.search(alone.redact(sample.encode()))
    assert alone.take_counts() == {rule.id: 1}


@pytest.mark.parametrize(("rule", "sample"), OTHERS, ids=[rule.id for rule, _ in OTHERS])
def test_a_rule_leaves_what_it_must_not_match(rule: Rule, sample: str) -> None:
    data = sample.encode()
    rules = RULES if rule.decode else (rule,)
    assert Redactor(KEY, rules).redact(data) is data


def test_every_rule_has_samples_of_both_kinds_and_an_id_of_its_own() -> None:
    assert all(rule.must_match and rule.must_not_match and rule.keywords for rule in RULES)
    assert len({rule.id for rule in RULES}) == len(RULES)
    folded = [word for rule in RULES if not rule.exact for word in rule.keywords]
    assert folded == [word.lower() for word in folded]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_no_match_can_slip_past_the_keywords(rule: Rule) -> None:
    for match in texts_matching(rule.pattern, 100):
        text = match if rule.exact else match.lower()
        assert any(word.encode() in text for word in rule.keywords), match


PREFILTERED = [rule for rule in RULES if rule.prefilter]


@pytest.mark.parametrize("rule", PREFILTERED, ids=lambda rule: rule.id)
def test_no_match_can_slip_past_the_prefilter_of_a_rule(rule: Rule) -> None:
    pattern, prefilter = compile_pattern(rule.pattern), compile_pattern(rule.prefilter)
    matched = 0
    for text in texts_matching(rule.pattern, 300, around=True):
        # Python's idea of a word or a space is wider than RE2's: only what RE2 matches counts.
        if next(pattern.finditer(text), None) is not None:
            matched += 1
            assert next(prefilter.finditer(text), None) is not None, text
    assert matched >= 100
    assert all(next(prefilter.finditer(sample.encode()), None) for sample in rule.must_match)


def test_every_strong_name_ends_as_the_first_pass_expects() -> None:
    for name in texts_matching(rb"(?i)(?:" + STRONG + rb")", 1000):
        assert re.search(rb"(?i)" + STRONG_ENDS + rb"\Z", name), name


@pytest.mark.parametrize(
    "text",
    [
        "session 3f2b8c1e-9d47-4a6b-8f10-2c5e7d9a1b34",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "md5 d41d8cd98f00b204e9800998ecf8427e",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "export DB_PASSWORD=${DB_PASSWORD}",
        '{"access_token": "<your-access-token>", "client_secret": "********"}',
        "refresh_token: changeme",
        "https://user:$TOKEN@host.test/",
        "def token(self) -> str: return self.access_token",
    ],
)
def test_known_non_secrets_stay_readable(text: str) -> None:
    assert Redactor(KEY).redact_text(text) is text
