"""Rules a user adds, in the configuration or as a gitleaks file."""

from __future__ import annotations

from pathlib import Path

import pytest

from session_memory.errors import ConfigError
from session_memory.redact import Redactor, load_user_rules, render
from session_memory.redact.rule import fake

KEY = b"a key of the tests"


def shown(text: str, *tables: dict[str, object], gitleaks: str = "") -> str:
    rules, warnings = load_user_rules(tables, gitleaks)
    assert warnings == []
    return render(Redactor(KEY, extra=rules).redact_text(text))


def write(folder: Path, text: str) -> str:
    file = folder / "gitleaks.toml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_a_rule_of_the_user_is_added_to_ours() -> None:
    rule: dict[str, object] = {"id": "acme", "pattern": "acme-[0-9]{4}", "keywords": ["ACME-"]}
    text = fake("acme-1234 and ghp_", 36)
    assert shown(text, rule) == "[REDACTED_SECRET] and [REDACTED_SECRET]"
    assert shown(text) == "acme-1234 and [REDACTED_SECRET]"


def test_the_first_group_is_the_secret_and_no_keyword_means_always() -> None:
    assert shown("badge 4711 of Ann", {"id": "badge", "pattern": r"badge ([0-9]+)"}) == (
        "badge [REDACTED_SECRET] of Ann"
    )
    encoded = b'{"text": "badge 4711"}'
    rules, _ = load_user_rules([{"id": "badge", "pattern": r"badge ([0-9]+)"}])
    assert b"4711" not in Redactor(KEY, extra=rules).redact_json(encoded)


def test_counts_name_the_rule_of_the_user() -> None:
    rules, _ = load_user_rules([{"id": "acme", "pattern": "ghp_[a-zA-Z0-9]+", "keywords": ["ghp"]}])
    redactor = Redactor(KEY, extra=rules)
    redactor.redact_text(fake("ghp_", 36))
    assert redactor.take_counts() == {"acme": 1}


def test_a_rule_that_re2_cannot_compile_is_named_and_the_others_work(tmp_path: Path) -> None:
    tables = [{"id": "behind", "pattern": "(?<=x)y"}, {"id": "fine", "pattern": "zebra-1"}]
    rules, warnings = load_user_rules(tables)
    assert [rule.id for rule in rules] == ["fine"]
    assert len(warnings) == 1 and "rule behind" in warnings[0]
    file = write(tmp_path, '[[rules]]\nid = "files"\npath = "x"\n[[rules]]\nregex = "(?!a)"\n')
    rules, warnings = load_user_rules([], file)
    assert rules == []
    assert ["rule files" in warnings[0], "rule number 2" in warnings[1]] == [True, True]


@pytest.mark.parametrize(
    ("regex", "text"),
    [
        (r"acme-(?i)token-[a-z]{4}", "acme-TOKEN-abcd"),
        (r"acme-[a-z]{4}\z", "acme-abcd"),
        (r"acme-[[:alnum:]]{4}[[:punct:]]", "acme-ab12!"),
    ],
)
def test_what_go_writes_and_python_does_not_is_understood(
    tmp_path: Path, regex: str, text: str
) -> None:
    file = write(tmp_path, f"[[rules]]\nid = 'x'\nregex = '''{regex}'''\nkeywords = ['acme']\n")
    assert shown(text, gitleaks=file) == "[REDACTED_SECRET]"


GITLEAKS = """
[allowlist]
regexes = ['''^known-''']

[[rules]]
id = "acme"
regex = '''acme=(\\S+)(?: by (\\w+))?'''
secretGroup = 1
entropy = 2
keywords = ["acme"]

[[rules.allowlists]]
stopwords = ["Sample"]

[[rules.allowlists]]
regexTarget = "line"
regexes = ['''.*''']
"""


def test_entropy_groups_and_allowlists_of_gitleaks_are_honoured(tmp_path: Path) -> None:
    rules, warnings = load_user_rules([], write(tmp_path, GITLEAKS))
    redactor = Redactor(KEY, (), rules)
    assert render(redactor.redact_text("acme=k4n2p9 by ann")) == "acme=[REDACTED_SECRET] by ann"
    for text in ("acme=aaaaaaaa", "acme=known-k4n2p9", "acme=k4n2p9-sample", "other=k4n2p9"):
        assert redactor.redact_text(text) is text
    assert len(warnings) == 1 and "rule acme" in warnings[0]


def test_a_gitleaks_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_user_rules([], str(tmp_path / "missing.toml"))
    with pytest.raises(ConfigError, match="not TOML"):
        load_user_rules([], write(tmp_path, "["))
