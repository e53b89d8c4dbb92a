"""What agents were told in files of their own: read with care, and only certain findings."""

from __future__ import annotations

import os
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


@pytest.mark.rows("NAT-01")
def test_every_agents_files_are_found_with_who_reads_them_and_when(places: Places) -> None:
    root, home = Path(places.root), Path(places.home)
    slug = "".join(c if c.isalnum() else "-" for c in os.path.realpath(root))
    write(
        root,
        **{
            "CLAUDE.md": "Use ruff.\n@docs/style.md\n@docs/none.md\n",
            "docs/style.md": "Lines have 100 characters.\n",
            ".claude/rules/api.md": "---\npaths: src/api/**\n---\nReturn JSON.\n",
            "AGENTS.md": "Use ruff.\n",
            "AGENTS.override.md": "Use black.\n",
            "GEMINI.md": "Use ruff.\n",
            ".github/copilot-instructions.md": "Use ruff.\n",
            ".cursor/rules/a.mdc": "---\nalwaysApply: true\n---\nUse ruff.\n",
            ".cursor/rules/b.mdc": "---\nglobs: *.ts\n---\nUse eslint.\n",
        },
    )
    write(
        home,
        **{
            ".claude/CLAUDE.md": "Answer in English.\n",
            f".claude/projects/{slug}/memory/MEMORY.md": "- see deploy.md\n",
            f".claude/projects/{slug}/memory/deploy.md": "how to deploy\n",
            ".claude/projects/-other/memory/MEMORY.md": "of another project\n",
            ".codex/memories/memory_summary.md": "short\n",
            ".codex/memories/raw.md": "long\n",
            ".gemini/GEMINI.md": "## Gemini Added Memories\n- likes tea\n",
        },
    )
    files = read(places)
    memory = f"~/.claude/projects/{slug}/memory"
    assert {name for name, file in files.items() if not file.always} == {
        ".claude/rules/api.md",
        ".cursor/rules/b.mdc",
        f"{memory}/deploy.md",
        "~/.codex/memories/raw.md",
    }
    assert files["docs/style.md"].imported_by == "CLAUDE.md"
    assert set(files["CLAUDE.md"].agents) == {"claude", "copilot"}
    assert "codex" in files["AGENTS.override.md"].agents
    assert "codex" not in files["AGENTS.md"].agents
    assert files["~/.gemini/GEMINI.md"].scope == "user" and f"{memory}/MEMORY.md" in files
    assert not any("-other" in name for name in files)


@pytest.mark.rows("NAT-02")
def test_a_hostile_repository_leads_nowhere(places: Places, tmp_path: Path) -> None:
    root = Path(places.root)
    write(tmp_path, **{"private.md": "mine", "shop/.env": f"KEY={SECRET}"})
    write(
        root,
        **{
            "CLAUDE.md": f"@../private.md\n@.env\n@CLAUDE.md\n`@code.md`\nkey {SECRET}\n",
            "code.md": "no import",
        },
    )
    (root / "GEMINI.md").symlink_to(tmp_path / "private.md")
    os.mkfifo(root / "QWEN.md")
    files, unread = read_files(built_in().values(), places, lambda t: t.replace(SECRET, "[gone]"))
    assert [file.name for file in files] == ["CLAUDE.md"]
    assert SECRET not in files[0].text and not files[0].clean
    assert any("outside" in one.reason for one in unread)
    assert not any("mine" in file.text for file in files)


@pytest.mark.rows("NAT-03")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("- Use pnpm", "- Always use npm."),
        ("- Use uv, not pip", "- Prefer `poetry` for dependencies."),
        ("- Never commit directly to main", "- Commit directly to main"),
        ("- Avoid using default exports", "- Use default exports."),
        ("- Maximum line length: 88", "- Maximum line length: 100"),
        ("- Use tabs for indentation", "- Use spaces for indentation"),
    ],
)
def test_what_cannot_both_be_followed_contradicts(one: str, other: str) -> None:
    files = said(one), said(other, "AGENTS.md", "codex")
    told = [statement for file in files for statement in statements_of(file)]
    (pair,) = contradictions(told)
    assert {pair.first.file.name, pair.second.file.name} == {"CLAUDE.md", "AGENTS.md"}


@pytest.mark.rows("NAT-03")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("- Use pnpm", "- Use npm in `docs/`"),
        ("- Use pnpm", "- Never use npm"),
        ("## Frontend\n- Use pnpm", "## Backend\n- Use npm"),
        ("- Never commit to main", "- Commit to main only after review"),
        ("- Use npm ci", "- Use npm"),
        ("- Node 18", "- Port 3000"),
        ("- Step 1: run the tests", "- Step 2: run the tests"),
        ("- Maximum line length: 88 for tests", "- Maximum line length: 100 for code"),
        ("- Don't use any", "- Use unknown"),
        ("```sh\nuse npm\n```", "- Use pnpm"),
        ("- Write tests", "- Do not write comments"),
    ],
)
def test_what_may_both_hold_does_not(one: str, other: str) -> None:
    files = said(one), said(other, "AGENTS.md")
    assert contradictions([line for file in files for line in statements_of(file)]) == []


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
