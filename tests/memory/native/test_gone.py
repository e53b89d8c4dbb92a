"""What agents were told in files of their own: read with care, and only certain findings."""

from __future__ import annotations

from pathlib import Path

import pytest

from session_memory.adapters.registry import built_in
from session_memory.memory.native.compare import contradictions, duplicates
from session_memory.memory.native.files import NativeFile, Places, read_files
from session_memory.memory.native.gone import Tree, read_tree, stale
from session_memory.memory.native.statements import statements_of
from session_memory.memory.working_tree import look_into

SECRET = "ghp_" + "Zq8Lr2Xw5Tn9Vb3Kd7Yc4Hs6Jf1Gm0Pa2RtE"


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def places(tmp_path: Path) -> Places:
    (tmp_path / "shop").mkdir()
    (tmp_path / "home").mkdir(exist_ok=True)
    return Places(str(tmp_path / "shop"), str(tmp_path / "home"), {})


def read(places: Places) -> dict[str, NativeFile]:
    files, _ = read_files(built_in().values(), places, lambda text: text.replace(SECRET, "[gone]"))
    return {file.name: file for file in files}


def said(text: str, name: str = "CLAUDE.md", *agents: str) -> NativeFile:
    return NativeFile(f"/work/{name}", name, "project", agents or ("claude",), True, text)


@pytest.mark.rows("NAT-04")
def test_the_same_words_twice_count_for_one_reader_only() -> None:
    rule = "- Run `make check` before every commit"
    twice = [*statements_of(said(f"{rule}\n\n## Git\n* run `make check` before every commit.\n"))]
    (pair,) = duplicates(twice)
    assert (pair.first.line, pair.second.line) == (1, 4)
    others = statements_of(said(rule)) + statements_of(said(rule, "AGENTS.md", "codex"))
    assert duplicates(others) == []
    assert duplicates(statements_of(said("- Use ruff\n- Use ruff\n"))) == []


@pytest.mark.rows("NAT-05")
def test_files_and_scripts_that_are_gone_make_a_line_stale(tmp_path: Path) -> None:
    write(
        tmp_path,
        **{
            "src/app.py": "",
            "src/core/rates.py": "",
            "packages/web/src/index.ts": "",
            "package.json": '{"scripts": {"build": "tsc"}}',
            "Makefile": "test:\n\tpytest\n",
            ".gitignore": "secrets/\n",
            "secrets/x.md": "",
        },
    )
    text = """\
- The entry point is `src/app.py`, prices are in `src/rates.py`
- Start with `src/missing.py`
- Build with `npm run build`
- Lint with `npm run lint`
- Test with `make test`
- Check with `make check`
- Never edit `src/never.py`
- Create `src/new.py` for each new rate
- Examples such as `src/example.py`
- See `src/index.ts` and `secrets/y.md` and `dist/out.js` and `other/z.py`
- In web: `cd web && npm run dev`
- `application/json` is what `owner/repo.git` returns
"""
    found = list(stale(statements_of(said(text)), read_tree(str(tmp_path)), _look(tmp_path), ()))
    assert [(one.statement.line, one.names, one.instead) for one in found] == [
        (1, "src/rates.py", "src/core/rates.py"),
        (2, "src/missing.py", ""),
        (4, "npm run lint", ""),
        (6, "make check", ""),
    ]
    assert list(stale(statements_of(said(text)), None, _look(tmp_path / "none"), ())) == []
    assert not Tree(frozenset(), frozenset()).lacks("src/app.py")


def test_a_long_line_of_a_makefile_is_looked_through_at_once(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("a" * 60 + " -" * 2_000 + "!\nbuild test: dep\n\ttrue\n")
    (line,) = statements_of(said("- Check with `make check`"))
    assert [one.names for one in stale([line], None, _look(tmp_path), ())] == ["make check"]
    (line,) = statements_of(said("- Build with `make build`"))
    assert list(stale([line], None, _look(tmp_path), ())) == []


@pytest.mark.rows("NAT-02")
@pytest.mark.parametrize("piece", ["-", "a.", "@a ", "`", "```\n", "- use `a/` ", "*_", "|", "# "])
def test_no_text_takes_long(tmp_path: Path, places: Places, piece: str) -> None:
    write(Path(places.root), **{"CLAUDE.md": piece * (200_000 // len(piece))})
    (file,) = read(places).values()
    said_here = statements_of(file)
    assert contradictions(said_here) == []
    duplicates(said_here)
    list(stale(said_here, read_tree(places.root), _look(tmp_path), ()))


def _look(path: Path):
    return look_into(str(path))


def test_blocks_of_ours_front_matter_and_other_code_state_nothing() -> None:
    text = (
        "---\npaths: x\n---\n<!-- session-memory:begin v2 -->\n- ours\n"
        "<!-- session-memory:end -->\n```python\nuse = 1\n```\n"
        "```sh\n$ make test # all\n```\n- mine\n"
    )
    assert [one.text for one in statements_of(said(text))] == ["make test", "mine"]
