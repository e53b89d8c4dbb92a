"""The page shows what agents were told in files of their own, and changes a line on a yes."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.web.served import Served, serving

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.workspace import Workspace

pytestmark = pytest.mark.rows("NAT-09")
TEXT = (
    "- Use pnpm\n- Prices are in `src/rates.py`\n- <script>alert(1)</script> & </pre>\n"
    "- Run `make check` before every commit\n\n## Git\n- Run `make check` before every commit\n"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    (root / ".git").mkdir(parents=True)
    (root / "src" / "core").mkdir(parents=True)
    (root / "src" / "core" / "rates.py").touch()
    (root / "CLAUDE.md").write_text(TEXT)
    (root / "AGENTS.md").write_text("- Use npm\n")
    return root


@pytest.fixture
def served(space: Workspace, root: Path) -> Iterator[Served]:
    log = ClaudeLog(seed=61, cwd=str(root))
    log.prompt("look at the prices")
    log.say("They are in src/core/rates.py.")
    space.write(log)
    space.sweep()
    with serving(space) as page:
        page.open()
        yield page


def decide(served: Served, finding: str, choice: str) -> str:
    found = re.search(r'name="form_token" value="([^"]+)"', served.ask("/rules").text)
    assert found is not None
    form = {"form_token": found[1], "finding": finding, "choice": choice}
    answer = served.ask("/memory/shop/fix", form=form)
    assert answer.status == 303, answer.text
    return served.ask(answer.headers["location"]).text


def test_files_costs_and_findings_are_shown_and_stay_text(served: Served) -> None:
    assert "/memory/shop/files" in served.ask("/memory/shop").text
    page = served.ask("/memory/shop/files").text
    assert "<script>alert" not in page and "&lt;script&gt;" in page
    plain = html.unescape(page)
    assert "one wants npm, the other pnpm" in plain
    assert "src/rates.py: there is no such file" in plain
    assert re.search(r"claude: about \d+ tokens in every session", plain)
    assert "+- Prices are in `src/core/rates.py`" in plain


def test_a_redaction_rule_that_cannot_be_used_is_named(
    space: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = ClaudeLog(seed=62, cwd=str(root))
    log.prompt("look at the prices")
    space.write(log)
    space.sweep()
    config = space.write_config()
    with config.open("a", encoding="utf-8") as file:
        file.write("[[redact.rules]]\nid = 'bad'\npattern = '(?<=a)b'\n")
    monkeypatch.setattr(space, "write_config", lambda: config)
    with serving(space) as page:
        page.open()
        assert "rule bad is not used" in page.ask("/memory/shop/files").text


def test_a_line_is_changed_on_a_yes_and_undone(served: Served, root: Path) -> None:
    found = re.findall(r'name="finding" value="(nm-\w+)"', served.ask("/memory/shop/files").text)
    assert len(found) == 2
    for name in found:
        assert "The line is changed." in decide(served, name, "apply")
    changed = (root / "CLAUDE.md").read_text()
    assert "src/core/rates.py" in changed and changed.count("make check") == 1
    for name in reversed(found):
        assert "The line is as it was." in decide(served, name, "undo")
    assert (root / "CLAUDE.md").read_text() == TEXT
    assert served.ask("/memory/shop/fix", form={"choice": "apply"}).status == 403
    assert served.ask("/memory/none/files").status == 404
