"""What a person decides on the page: rules, told lines, saved searches, and what follows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.web.served import Served, serving

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.cli.app import App
from session_memory.cli.child_commands import findings, look_for_rules
from session_memory.errors import SessionMemoryError
from session_memory.store.line_choices import LineChoice, as_chosen, read_choices
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace


@pytest.fixture
def served(space: Workspace) -> Iterator[Served]:
    write_samples(space.claude)
    for seed in (21, 22, 23):
        log = ClaudeLog(seed=seed, cwd="/home/dev/shop")
        log.prompt("run the linter")
        log.run("make lint", "make: *** No rule to make target 'lint'.  Stop.", exit_code=2)
        log.run("ruff check", "All checks passed!")
        log.say("It passes.")
        space.write(log)
    space.sweep()
    with serving(space) as page:
        page.open()
        yield page


def token(served: Served) -> str:
    found = re.search(r'name="form_token" value="([^"]+)"', served.ask("/rules").text)
    assert found is not None
    return found[1]


def post(served: Served, path: str, **form: str) -> str:
    """Send a form as a page of ours does; the page that it leads to."""
    answer = served.ask(path, form={"form_token": token(served), **form})
    assert answer.status == 303, answer.text
    shown = served.ask(answer.headers["location"])
    assert shown.status == 200, shown.text
    return shown.text


def waiting(served: Served) -> list[str]:
    return re.findall(r'action="/rules/([^/]+)/decide" class="button"', served.ask("/rules").text)


@pytest.mark.rows("WEB-16")
def test_a_rule_that_is_put_off_is_not_asked_about_and_comes_back_with_undo(served: Served) -> None:
    name = waiting(served)[0]
    page = post(served, f"/rules/{name}/decide", action="snooze", days="30")
    assert "Put off" in page
    assert name not in waiting(served)
    assert "Put off" in served.ask("/rules").text
    post(served, "/rules/undo")
    assert name in waiting(served)


@pytest.mark.rows("WEB-16")
def test_a_rule_is_merged_into_one_that_is_in_use(served: Served) -> None:
    post(served, "/rules/add", text="Run ruff check before you say that it works.", project="shop")
    own = re.search(r'<option value="([0-9a-f]+)">Run ruff check', served.ask("/rules").text)
    name = waiting(served)[0]
    choice = re.search(r'<option value="([^"]+)">Run ruff', served.ask(f"/rules/{name}").text)
    assert choice is not None, own
    post(served, f"/rules/{name}/decide", action="supersede", into=choice[1])
    assert name not in waiting(served)
    assert "superseded" in served.ask(f"/rules/{name}").text


def test_a_redaction_rule_that_cannot_be_used_is_warned_of_once(
    space: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = tmp_path / "leaks.toml"
    rules.write_text("[[rules]]\nid = 'bad'\nregex = '(?<=a)b'\n", encoding="utf-8")
    environ = {**space.environ(), "SESSION_MEMORY_REDACT_GITLEAKS": str(rules)}
    monkeypatch.setattr(space, "environ", lambda: environ)
    write_samples(space.claude)
    space.sweep()
    with serving(space) as page:
        page.open()
        post(page, "/rules/add", text="Run ruff check before you push.", project="shop")
        post(page, "/rules/add", text="Run the tests before you push.", project="shop")
        name = waiting(page)[0]
        for _ in range(3):
            assert page.ask(f"/rules/{name}").status == 200
        assert page.end()[1].count("rule bad is not used") == 1


@pytest.mark.rows("WEB-16")
def test_the_gate_is_explained_in_place_and_a_strange_decision_refused(served: Served) -> None:
    assert "How much evidence a rule needs" in served.ask("/rules").text
    name = waiting(served)[0]
    answer = served.ask(f"/rules/{name}/decide", form={"form_token": token(served), "action": "x"})
    assert answer.status == 404


@pytest.mark.rows("WEB-17")
def test_a_line_is_the_same_though_its_figures_change() -> None:
    choices = [
        LineChoice("shop", "a passed in 3 sessions", "retire"),
        LineChoice("shop", "b passed in 3 sessions", "pin"),
        LineChoice("shop", "c", "correct", "d"),
    ]
    told = as_chosen(["a passed in 9 sessions", "c", "e"], choices)
    assert [text for text, _ in told] == ["d", "e", "b passed in 3 sessions"]


@pytest.mark.rows("WEB-17")
def test_decisions_on_lines_go_with_the_text_that_is_forgotten(
    served: Served, space: Workspace
) -> None:
    post(served, "/memory/shop/line", line="Use the linter.", choice="pin")
    served.ask("/forget", form={"form_token": token(served), "text": "linter"})
    assert read_choices(space.store_directory) == []


@pytest.mark.rows("WEB-18")
def test_a_doctor_that_does_not_answer_is_a_finding(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "gone"))
    (finding,) = findings(App({}))
    assert (finding.name, finding.result) == ("doctor", "fail")
    assert finding.fix == "session-memory doctor"


@pytest.mark.rows("WEB-24")
def test_a_search_for_rules_that_fails_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    app = App({"HOME": str(tmp_path)})
    app.config_path = str(tmp_path / "config.toml")
    Path(app.config_path).write_text("[nonsense", encoding="utf-8")
    with pytest.raises(SessionMemoryError, match=r"config\.toml"):
        look_for_rules(app)
    monkeypatch.setattr("sys.executable", str(tmp_path / "gone"))
    with pytest.raises(SessionMemoryError, match="gone"):
        look_for_rules(app)


@pytest.mark.rows("WEB-18")
def test_without_a_store_the_page_says_what_init_would_do(space: Workspace) -> None:
    (space.home / ".claude").mkdir()
    with serving(space) as page:
        page.open()
        text = page.ask("/").text
    assert "What init would do here" in text
    assert "Claude Code" in text and "settings.json" in text
    assert not (space.home / ".claude" / "settings.json").exists()
