"""How far and in which order the directories above a cwd are asked for a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from session_memory.core.project.disk_tree import DiskTree
from session_memory.core.project.identity import Options, Resolution, resolve

SIGNS = {
    "scope": ("AGENTS.md", "Scope: named\n", "named", "cwd:AGENTS.md", "high"),
    "state": (
        ".project-state.json",
        '{"canonical_name": "named"}',
        "named",
        "cwd:project-state",
        "high",
    ),
    "agents-state": (
        ".agents/project-state.json",
        '{"version": 1, "canonical_name": "named"}',
        "named",
        "cwd:project-state",
        "high",
    ),
    "state-md": (
        "project-state.md",
        "# State\r\n- **Canonical name:** `named`\r\n",
        "named",
        "cwd:project-state",
        "high",
    ),
    "git": (".git/HEAD", "ref: refs/heads/main\n", "root", "cwd:.git", "high"),
    "agents": ("AGENTS.md", "Be kind.\n", "root", "cwd:AGENTS.md", "medium"),
    "package": ("package.json", "{}", "root", "cwd:package.json", "medium"),
    "pyproject": ("pyproject.toml", "", "root", "cwd:pyproject.toml", "medium"),
    "cargo": ("Cargo.toml", "", "root", "cwd:Cargo.toml", "medium"),
    "go": ("go.mod", "", "root", "cwd:go.mod", "medium"),
}


def put(directory: Path, sign: str) -> None:
    name, text, *_ = SIGNS[sign]
    (directory / name).parent.mkdir(parents=True, exist_ok=True)
    (directory / name).write_bytes(text.encode())


def write_agents(directory: Path, text: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "AGENTS.md").write_bytes(text.encode())


def below(directory: Path, levels: int) -> Path:
    deep = directory.joinpath(*(f"d{n}" for n in range(levels)))
    deep.mkdir(parents=True, exist_ok=True)
    return deep


def at(cwd: Path) -> Resolution:
    return resolve(str(cwd), tree=DiskTree(), options=Options())


@pytest.mark.rows("IDN-05")
@pytest.mark.parametrize("depth", [0, 3, 10])
@pytest.mark.parametrize("sign", SIGNS)
def test_every_sign_of_a_project_is_found_up_to_ten_levels_above(
    tmp_path: Path, sign: str, depth: int
) -> None:
    root = tmp_path / "root"
    put(root, sign)
    found = at(below(root, depth))
    assert (found.key, found.source, found.confidence) == SIGNS[sign][2:]
    assert found.root == str(root)


@pytest.mark.rows("IDN-05")
@pytest.mark.parametrize("sign", SIGNS)
def test_nothing_eleven_levels_above_is_used(tmp_path: Path, sign: str) -> None:
    root = tmp_path / "root"
    put(root, sign)
    cwd = below(root, 11)
    found = at(cwd)
    assert (found.source, found.root, found.repo) == ("cwd_leaf", str(cwd), None)


@pytest.mark.rows("IDN-05")
def test_at_one_level_scope_beats_state_beats_git_beats_the_rest(tmp_path: Path) -> None:
    root = tmp_path / "root"
    put(root, "pyproject")
    sources = [at(root).source]
    for sign in ("package", "agents", "git", "state"):
        put(root, sign)
        sources.append(at(root).source)
    put(root, "scope")
    sources.append(at(root).source)
    assert sources == [
        "cwd:pyproject.toml",
        "cwd:package.json",
        "cwd:AGENTS.md",
        "cwd:.git",
        "cwd:project-state",
        "cwd:AGENTS.md",
    ]
    assert at(root).confidence == "high"


@pytest.mark.rows("IDN-05")
def test_package_files_below_a_repository_do_not_split_it(tmp_path: Path) -> None:
    root = tmp_path / "mono"
    put(root, "git")
    for sign in ("package", "pyproject", "cargo", "go"):
        put(root / "packages" / "one", sign)
    found = at(root / "packages" / "one")
    assert (found.key, found.source) == ("mono", "cwd:.git")


def test_the_nearest_level_decides(tmp_path: Path) -> None:
    outer, inner = tmp_path / "outer", tmp_path / "outer" / "inner"
    put(outer, "scope")
    put(inner, "git")
    assert at(below(inner, 2)).root == str(inner)


def test_an_agents_file_inside_a_repository_is_a_project_of_that_repository(tmp_path: Path) -> None:
    root = tmp_path / "mono"
    put(root, "git")
    write_agents(root / "app", "Scope: app\n")
    found = at(root / "app")
    assert (found.key, found.root, found.repo) == ("app", str(root / "app"), str(root))


@pytest.mark.parametrize(
    "line",
    ["Scope: name", "scope : name", "- Scope: `name`", "**Scope:** name", '## Scope: "name"\r'],
)
def test_a_scope_line_may_be_dressed_up(tmp_path: Path, line: str) -> None:
    write_agents(tmp_path / "p", f"Intro\n\n{line}\nmore\n")
    assert at(tmp_path / "p").key == "name"


@pytest.mark.parametrize(
    "line",
    [
        "Scope: this file applies to the entire repository",
        "Scope: src/api/",
        "Scope:",
        "The Scope: name",
        "Scope: ..",
        "Scopes: name",
    ],
)
def test_prose_about_scope_is_no_name(tmp_path: Path, line: str) -> None:
    write_agents(tmp_path / "p", f"{line}\n")
    found = at(tmp_path / "p")
    assert (found.key, found.confidence) == ("p", "medium")


OURS = "<!-- session-memory:begin v1 -->\nScope: ours\n<!-- session-memory:end -->\n"


@pytest.mark.rows("DIS-05")
@pytest.mark.parametrize(
    ("text", "key", "confidence"),
    [
        ("# Guide\n" + OURS, "p", "medium"),
        (OURS + "\nScope: theirs\n", "theirs", "high"),
        ("Scope: theirs\n" + OURS, "theirs", "high"),
        (OURS + "between\n" + OURS.replace("ours", "again"), "p", "medium"),
        ("# Guide\n<!-- session-memory:begin -->\nScope: cut off\nScope: ours\n", "p", "medium"),
    ],
)
def test_our_own_block_is_not_read_back(
    tmp_path: Path, text: str, key: str, confidence: str
) -> None:
    write_agents(tmp_path / "p", text)
    found = at(tmp_path / "p")
    assert (found.key, found.confidence) == (key, confidence)


def test_a_file_that_holds_only_our_block_marks_no_project(tmp_path: Path) -> None:
    put(tmp_path / "repo", "git")
    write_agents(tmp_path / "repo" / "sub", OURS)
    assert at(tmp_path / "repo" / "sub").root == str(tmp_path / "repo")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"canonical_name": 3}', '{"canonical_name": " "}', "[" * 60_000]
)
def test_a_broken_state_file_is_passed_over(tmp_path: Path, text: str) -> None:
    put(tmp_path / "p", "git")
    (tmp_path / "p" / ".project-state.json").write_text(text)
    assert at(tmp_path / "p").source == "cwd:.git"


def test_a_deleted_cwd_belongs_to_what_encloses_it(tmp_path: Path) -> None:
    put(tmp_path / "repo", "git")
    found = at(tmp_path / "repo" / "gone" / "deeper")
    assert (found.key, found.root) == ("repo", str(tmp_path / "repo"))


def test_a_hostile_agents_file_costs_no_more_than_its_length(tmp_path: Path) -> None:
    n = 30_000
    for text in ("Scope" + " " * n, "Scope:" + "* " * n, " " * n, "Scope: a" + " " * n + "b"):
        write_agents(tmp_path / "p", text)
        assert at(tmp_path / "p").key == "p"
    (tmp_path / "p" / "project-state.md").write_text("Canonical name" + " " * n)
    assert at(tmp_path / "p").key == "p"
