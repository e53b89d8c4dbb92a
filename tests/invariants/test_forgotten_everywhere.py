"""Forgotten is forgotten everywhere, or named with where and why."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.hooks.hook_process import run_hook
from tests.invariants.used import ELSEWHERE, PLACE, WORD, Used

import session_memory
from session_memory.memory.layout import memory_root
from session_memory.memory.user_part import USER_PART_END
from session_memory.store.derived import is_registered

OWN = "wombatfern"
"""What one session alone says."""


@pytest.fixture
def used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Used:
    one = Used(tmp_path, capsys, monkeypatch)
    one.use(OWN)
    return one


def names(used: Used) -> list[str]:
    return [log.session_id for log in used.sessions]


def parts(used: Used, *words: str) -> set[str]:
    """Which parts of the program hold the words."""
    found = {where.removeprefix(f"{used.folder}/") for where in used.holding(*words)}
    return {"/".join(where.split("/")[:3]) for where in found}


@pytest.mark.rows("FGT-01")
@pytest.mark.parametrize("by", ["project", "sessions"])
def test_nothing_is_left_of_a_project_or_its_sessions(used: Used, by: str) -> None:
    full = parts(used, WORD, PLACE, *names(used))
    for part in (
        *("memory/data/catalog", "memory/data/proposals.json", "memory/data/distribution.json"),
        *("memory/data/memories", "memory/data/journal", "memory/data/given.json"),
        *("memory/data/audit.jsonl", "memory/state/spool", "memory/state/inject"),
        *("memory/state/logs", f"work/{PLACE}shop/CLAUDE.md", f"work/{PLACE}shop/AGENTS.md"),
        *("table job", "table pattern", "table context_sync", "table trace", "table observation"),
    ):
        assert part in full, f"the scene does not reach {part}"
    chosen = [f"--session={name}" for name in names(used)]
    words = (WORD, OWN, *names(used), PLACE)
    if by == "sessions":  # the directory stays known as that of a session without words
        chosen += [f"--session={log.session_id}" for log in used.titles]
    told = used.json(
        "forget", *(chosen if by == "sessions" else [f"--project={PLACE}shop"]), "--yes"
    )
    assert used.holding(*words) == {}
    remains = {one["where"]: one["why"] for one in told["remains"]}
    logs = [str(path) for path in used.claude.rglob("*.jsonl") if WORD in path.read_text()]
    exported = [where for where in remains if where.startswith(str(used.folder / "exported"))]
    if by == "project":
        assert set(remains) == {*logs, *exported}
    assert exported and all("log" in remains[log] for log in logs if log in remains)
    assert (used.shop / "CLAUDE.md").read_text() == "mine\n"
    assert not (used.shop / "AGENTS.md").exists()  # it was made by us
    assert set(told["taken_out"]) == {str(used.shop / name) for name in ("CLAUDE.md", "AGENTS.md")}
    assert used.holding(ELSEWHERE)
    used.run("store", "fsck")
    used.run("worker", "run")
    used.run("sweep")
    assert used.holding(*words) == {}


@pytest.mark.rows("FGT-01")
def test_a_session_of_the_project_that_left_no_log_goes_with_it(used: Used) -> None:
    for name, root in (("no-log", used.shop), ("other-no-log", used.other)):
        payload = {"session_id": name, "cwd": str(root), "source": "startup"}
        assert run_hook("SessionStart", "claude", payload=payload).code == 0
    used.run("worker", "run")
    assert "table session_note" in parts(used, PLACE)
    used.run("forget", f"--project={PLACE}shop", "--yes")
    assert used.holding(PLACE, "/no-log") == {}
    assert "table session_note" in used.holding("other-no-log")


@pytest.mark.rows("FGT-01")
def test_of_one_session_nothing_is_left_and_others_keep_what_they_say(used: Used) -> None:
    assert {"table mined", "memory/data/catalog", "memory/data/memories"} <= parts(used, OWN)
    used.run("forget", "--session", names(used)[2], "--yes")
    assert used.holding(OWN, names(used)[2]) == {}
    assert WORD in (used.shop / "CLAUDE.md").read_text()
    assert WORD not in (used.shop / "AGENTS.md").read_text().partition("<session-memory-pack")[2]
    used.run("worker", "run")
    used.run("sweep")
    used.run("rules", "detect")
    used.run("rules", "propose", "--all")
    used.run("rules", "distribute", code=None)
    assert used.holding(OWN, names(used)[2]) == {}


@pytest.mark.rows("FGT-01")
def test_words_that_stand_for_several_sessions_go_with_the_one_that_said_them(used: Used) -> None:
    """Alike corrections are one pattern, in the words of one of the sessions."""
    catalog = used.memory / "data" / "catalog"
    assert any(ELSEWHERE in path.read_text() for path in catalog.glob("*.toml"))
    used.run("forget", "--project=other", "--yes")
    assert used.holding(ELSEWHERE) == {}
    assert any(WORD in path.read_text() for path in catalog.glob("*.toml"))
    used.run("rules", "detect")
    used.run("rules", "propose", "--all")
    used.run("worker", "run")
    assert used.holding(ELSEWHERE) == {}


@pytest.mark.rows("FGT-02")
def test_what_is_not_ours_to_remove_is_named_with_where_and_why(used: Used) -> None:
    agents = used.shop / "AGENTS.md"
    begin, end = "<session-memory-pack", "</session-memory-pack>"
    agents.write_text(agents.read_text().replace(end, f"and ask {WORD} first\n{end}"))
    assert begin in agents.read_text()
    memory = memory_root(used.memory / "data", str(used.shop)) / "MEMORY.md"
    added = f"ask {WORD} first\n{USER_PART_END}"
    memory.write_text(memory.read_text().replace(USER_PART_END, added))
    kept = used.memory / "data" / "before-restore-20260101T000000Z"
    kept.mkdir()
    text = used.run("forget", f"--project={PLACE}shop", "--yes")
    assert set(used.holding(WORD, PLACE)) == {str(agents), str(memory)}
    lines = [line for line in text.splitlines() if line.startswith("not touched: ")]
    (edited,) = [line for line in lines if f"{agents}: the pack" in line]
    assert "was edited" in edited and "delete" in edited
    assert any(f"{kept}: it is an earlier store" in line for line in lines)
    assert f"not touched: {memory}: you wrote what is in it; delete it if it must go" in lines


@pytest.mark.rows("FGT-03")
def test_every_file_and_folder_of_ours_is_registered(used: Used) -> None:
    used.run("forget", f"--project={PLACE}shop", "--yes")
    made = [
        f"{folder.name}/{path.name}"
        for folder in (used.memory / "data", used.memory / "state")
        for path in folder.iterdir()
    ]
    assert [name for name in made if not is_registered(name)] == []
    assert not is_registered("data/secret-copy.json") and not is_registered("cache/x")


PLACES = {"data": "data", "state": "state", "store_directory": "data"}


def named_in(source: Path) -> Iterator[str]:
    """Files that a module puts directly into our places: `data / "x"`, or with a constant of it."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value.value, str)
    }
    for node in ast.walk(tree):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)):
            continue
        place = PLACES.get(ast.unparse(node.left).rpartition(".")[2].lstrip("_"))
        match node.right:
            case ast.Constant(value=str(name)):
                pass
            case ast.Name(id=constant) if constant in constants:
                name = constants[constant]
            case _:
                continue
        if place and not name.startswith("."):
            yield f"{place}/{name.partition('/')[0]}"


@pytest.mark.rows("FGT-03")
def test_every_file_the_code_names_is_registered() -> None:
    package = Path(session_memory.__file__).parent
    found = {name for path in package.rglob("*.py") for name in named_in(path)}
    assert {"data/audit.jsonl", "data/distribution.json", "state/spool"} <= found
    assert [name for name in sorted(found) if not is_registered(name)] == []
