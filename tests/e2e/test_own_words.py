"""Texts of our own machinery never reach a model, whichever request is built.

Packs and blocks that agents were given stand in their logs, and daily logs hold notes such as
"nothing worth saving". Every request that the program can make is made here over HTTP, and read.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.memory.shell import BOTH

from session_memory.__main__ import main
from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.core.text.own_text import BEGIN, END, PACK_BEGIN, PACK_END
from session_memory.errors import EXIT_OK
from session_memory.journal.daily import MAINTENANCE, NOTHING
from session_memory.journal.model_entry import ERROR, OK
from session_memory.testing.model_server import ModelServer, Play

SOURCE = Path(__file__).parents[2] / "src" / "session_memory"
PURPOSES = {
    "journal.flush",
    "journal.compile",
    "journal.query",
    "journal.lint",
    "memory.extract",
    "memory_consolidation",
    "review.draft",
}
ENTRY = "**Lessons Learned:**\n- `pytest` needs `make test` here, as shop is not on the path"
ARTICLES = json.dumps(
    {"articles": [{"title": "Tests", "summary": "How", "points": [{"text": "Run `make test`"}]}]}
)
FILES = json.dumps({"files": [{"path": "MEMORY.md", "content": "# Memory\n\n- run `make test`\n"}]})
PACK = f"{PACK_BEGIN}>\nwhat earlier sessions left: sandarac\n{PACK_END}"
BLOCK = f"{BEGIN} lessons -->\n- never use sandarac [sm-1]\n{END}"
OURS = (NOTHING, f"{OK} -", f"{ERROR}:", PACK_BEGIN, BEGIN, "sandarac")
pytestmark = pytest.mark.rows("EXT-67")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sessions of a repository that were given a pack, read a block and a daily log."""
    root = tmp_path / "shop"
    (root / ".git").mkdir(parents=True)
    logs = tmp_path / "claude"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(logs))
    monkeypatch.chdir(root)
    daily = f"### {MAINTENANCE} (10:00)\n\n{BEGIN} flush session=s entry=1 -->\n{NOTHING}\n{END}\n"
    for seed in range(1, 5):
        log = ClaudeLog(seed, cwd=str(root))
        log.prompt(f"{PACK}\nFix the checkout test, part {seed}. Always run make test.")
        log.run("cat CLAUDE.md", BLOCK, exit_code=0)
        log.run("cat journal/today.md", daily, exit_code=0)
        for _ in range(2):
            log.run("pytest -q", f"ModuleNotFoundError: No module named 'shop' {PACK}", exit_code=1)
        log.say(f"Plain pytest does not find the package, so I use make test. {PACK}")
        log.run("make test", "12 passed", exit_code=0)
        log.say("The checkout test passes.")
        log.write(logs)
    return root


def ask(
    words: tuple[str, ...], answers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """Run a command with a model that gives these answers; the requests it was sent."""
    with ModelServer([Play("deltas", text) for text in answers]) as server:
        with monkeypatch.context() as model:
            model.setenv("SESSION_MEMORY_MODEL_PROVIDER", "openai")
            model.setenv("SESSION_MEMORY_MODEL_NAME", "small")
            model.setenv("SESSION_MEMORY_MODEL_BASE_URL", f"{server.url}/v1")
            model.setenv("OPENAI_API_KEY", "dummy")
            main([*words])
        return [json.dumps(one.body, ensure_ascii=False) for one in server.requests]


def test_no_request_holds_a_text_of_our_own(
    shop: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SESSION_MEMORY_RETENTION_RAW_MAX_AGE_DAYS", "unlimited")
    for words in (["sweep"], ["rules", "detect"], ["rules", "propose"]):
        assert main(words) == EXIT_OK
    capsys.readouterr()
    assert main(["rules", "list", "--json"]) == EXIT_OK
    patterns = json.loads(capsys.readouterr().out)["patterns"]
    asked: dict[str, list[str]] = {}
    for words, answers in (
        (("project", "journal", "flush", "--all"), (OK, ENTRY, OK, ENTRY)),
        (("project", "journal", "compile"), (ARTICLES,)),
        (("project", "journal", "query", "how are tests run?"), ("With make test.",)),
        (("project", "journal", "lint"), ("nothing",)),
        (("project", "memory", "extract", "--now"), (BOTH,)),
        (("project", "memory", "consolidate", "--all"), (FILES,)),
        (("rules", "draft", patterns[0]["id"]), (json.dumps({"text": "Run make test."}),)),
    ):
        asked[" ".join(words[:3])] = ask(words, answers, monkeypatch)
    assert all(asked.values()), {name: len(sent) for name, sent in asked.items()}
    capsys.readouterr()
    assert main(["store", "spend", "--by", "purpose", "--json"]) == EXIT_OK
    spent = capsys.readouterr().out
    assert [purpose for purpose in sorted(PURPOSES) if purpose not in spent] == []
    days = [path.read_text() for path in shop.parent.rglob("daily/*.md")]
    assert any(NOTHING in day for day in days)  # there was something to leave out
    found = {
        (name, own)
        for name, sent in asked.items()
        for request in sent
        for own in OURS
        if own in request
    }
    assert found == set()
    assert all(MAINTENANCE not in request for request in asked["project journal compile"])


def test_no_other_part_of_the_program_makes_requests() -> None:
    """A new request to a model belongs into the test above."""
    makers = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if path.parts[-2] not in ("model", "testing")
        and "model.port import" in (text := path.read_text(encoding="utf-8"))
        and ("return Request(" in text or "= Request(" in text)
    }
    assert makers == {
        "curate/draft.py",
        "journal/lint.py",
        "journal/model_compile.py",
        "journal/model_entry.py",
        "journal/query.py",
        "memory/model_consolidation.py",
        "memory/prompt.py",
    }
