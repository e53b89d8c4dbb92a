"""What a shell command runs, verifies and changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_memory.core.commands import changes_files, normalized, reads_only, steps
from session_memory.distil.checks import check_of


def test_normalized_names_the_command_without_its_surroundings() -> None:
    assert (
        normalized("cd /a && FOO=1 timeout 60 pytest -q tests 2>&1 | tail -5") == "pytest -q tests"
    )
    assert normalized("cd /b && .venv/bin/pytest -q tests") == "pytest -q tests"
    assert normalized("git add . && git commit -m 'x'") == "git add . && git commit -m 'x'"
    assert normalized("tail -5 log.txt") == "tail -5 log.txt"
    assert normalized("   ") == ""


def test_edits_made_by_the_shell_are_seen() -> None:
    assert changes_files("sed -i 's/a/b/' x.py")
    assert changes_files("cat > src/x.py <<'EOF'\nhello\nEOF")
    assert changes_files("git apply fix.patch")
    assert changes_files("apply_patch <<'EOF'\n*** Begin Patch\nEOF")
    assert not changes_files("cat x.py > /dev/null")
    assert not changes_files("ls -la 2>&1")
    assert not changes_files("git checkout main")
    assert not changes_files("echo done")


def test_steps_keep_order_and_drop_redirections() -> None:
    found = steps("git fetch > /dev/null; git log --oneline | head -3")
    assert [(step.program, step.words) for step in found] == [
        ("git", ("fetch",)),
        ("git", ("log", "--oneline")),
        ("head", ("-3",)),
    ]


@given(st.text(alphabet="ab'\"\\ |&;<>$(){}\n-=1/", max_size=120))
def test_any_text_is_a_command_without_failure(text: str) -> None:
    check_of("pytest " + text)
    normalized(text)
    changes_files(text)


def test_a_huge_command_is_read_at_its_head_only() -> None:
    assert check_of("x" * 5_000_000 + " && pytest") is None
    check = check_of("pytest " + "9" * 1_000_000)
    assert check is not None


def test_the_tag_of_a_redacted_secret_is_no_word_of_the_command() -> None:
    tagged = [check_of(f"make step-1 [REDACTED_SECRET:{tag}]") for tag in ("15e2e004", "2f004aaa")]
    assert tagged[0] == tagged[1]


@pytest.mark.parametrize(
    ("command", "looks"),
    [
        ("git status --short && git log -3 | head", True),
        ("gh api repos/a/b", True),
        ("gh api --method PUT repos/a/b", False),
        ("cat a > b", False),
        ("npm view react version", True),
        ("npm install", False),
        ("git push", False),
    ],
)
def test_commands_that_only_read_are_distinguished_from_those_that_act(
    command: str, looks: bool
) -> None:
    assert reads_only(command) is looks
