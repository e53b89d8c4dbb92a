"""Which of several hints decides the project of a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from session_memory.core.project.disk_tree import DiskTree
from session_memory.core.project.identity import Options, Resolution, resolve

TREE = DiskTree()


def make(directory: Path, *, scope: str | None = None, git: bool = False) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    if scope is not None:
        (directory / "AGENTS.md").write_text(f"# Guide\n\nScope: {scope}\n", encoding="utf-8")
    if git:
        (directory / ".git").mkdir()
    return directory


def at(cwd: Path | str | None, text: str | None = None, **named: str) -> Resolution:
    home = named.pop("home", None)
    return resolve(
        str(cwd) if cwd is not None else None,
        explicit=named.get("explicit"),
        payload_key=named.get("payload_key"),
        text=text,
        tree=TREE,
        options=Options(home=home),
    )


@pytest.mark.rows("IDN-01")
@pytest.mark.parametrize(
    "spelling",
    [
        "{ws}/trip-studio",
        "workspace/trip-studio",
        "./trip-studio/src/app.py:12",
        "trip-studio/",
        "`{ws}/trip-studio/README.md`",
        "({ws}/trip-studio).",
        "@trip-studio/src/app.py",
    ],
)
def test_a_broad_cwd_yields_to_the_repository_the_prompt_names(
    tmp_path: Path, spelling: str
) -> None:
    workspace = make(tmp_path / "workspace")
    studio = make(workspace / "trip-studio", scope="trip-studio")
    make(workspace / "other", scope="other")

    found = at(workspace, f"Please look at {spelling.format(ws=workspace)} and fix it")

    assert (found.key, found.root) == ("trip-studio", str(studio))
    assert (found.source, found.confidence) == ("mentioned_path:AGENTS.md", "high")
    assert found.warnings == ()


@pytest.mark.rows("IDN-01")
def test_a_mentioned_project_may_be_named_by_its_state_file(tmp_path: Path) -> None:
    workspace = make(tmp_path / "workspace")
    project = make(workspace / "x1")
    (project / ".project-state.json").write_text('{"canonical_name": "trip-studio"}')
    found = at(workspace, f"see {project}/src")
    assert (found.key, found.root) == ("trip-studio", str(project))
    assert found.source == "mentioned_path:project-state"


@pytest.mark.rows("IDN-02")
def test_each_level_of_the_priority_decides_when_those_above_are_silent(tmp_path: Path) -> None:
    repo = make(tmp_path / "repo", scope="cwd-name")
    broad = make(tmp_path / "broad")
    inner = make(broad / "inner", git=True)
    say = f"work in {inner}"

    by_explicit = at(repo, say, explicit="one", payload_key="two")
    by_payload = at(repo, say, payload_key="two")
    by_cwd = at(repo, say)
    by_mention = at(broad, say)
    by_leaf = at(broad, "nothing named")
    by_default = at(None, say)

    found = [by_explicit, by_payload, by_cwd, by_mention, by_leaf, by_default]
    assert [(one.key, one.source) for one in found] == [
        ("one", "explicit"),
        ("two", "payload"),
        ("cwd-name", "cwd:AGENTS.md"),
        ("inner", "mentioned_path:.git"),
        ("broad", "cwd_leaf"),
        ("default-project", "fallback"),
    ]
    assert [one.root for one in found] == [str(repo)] * 3 + [str(inner), str(broad), None]
    assert [one.confidence for one in found] == ["high"] * 4 + ["low"] * 2


@pytest.mark.parametrize("blank", ["", "  ", "\x00\x1b", "/", "..", "C:\\"])
def test_a_name_with_nothing_in_it_does_not_decide(tmp_path: Path, blank: str) -> None:
    repo = make(tmp_path / "repo", git=True)
    assert at(repo, explicit=blank, payload_key=blank).source == "cwd:.git"


def test_an_explicit_name_without_any_cwd_stands_alone() -> None:
    found = at(None, explicit="mine")
    assert (found.key, found.root, found.confidence) == ("mine", None, "high")


def test_a_mention_outside_a_broad_cwd_is_not_used_and_said_so(tmp_path: Path) -> None:
    broad, elsewhere = make(tmp_path / "broad"), make(tmp_path / "elsewhere", git=True)
    found = at(broad, f"look at {elsewhere} and ../elsewhere")
    assert (found.key, found.root) == ("broad", str(broad))
    assert found.warnings == ("mentioned_path_outside_cwd_ignored",)


def test_a_link_out_of_a_broad_cwd_is_outside_it(tmp_path: Path) -> None:
    broad, elsewhere = make(tmp_path / "broad"), make(tmp_path / "elsewhere", git=True)
    (broad / "link").symlink_to(elsewhere, target_is_directory=True)
    assert at(broad, "work on ./link").source == "cwd_leaf"


def test_the_first_mentioned_project_wins(tmp_path: Path) -> None:
    broad = make(tmp_path / "broad")
    make(broad / "a", git=True)
    make(broad / "b", git=True)
    assert at(broad, "and/or x/y b/src then a/src").key == "b"


def test_only_the_first_twenty_paths_of_a_prompt_are_followed(tmp_path: Path) -> None:
    broad = make(tmp_path / "broad")
    make(broad / "late", git=True)
    filler = " ".join(f"no/{n}" for n in range(20))
    assert at(broad, f"{filler} late/src").source == "cwd_leaf"
    assert at(broad, f"{filler[:-6]} late/src").key == "late"


@pytest.mark.parametrize("text", ["https://host/broad/inner", "inner", "and / or", "\\", "//"])
def test_what_is_no_path_names_no_project(tmp_path: Path, text: str) -> None:
    broad = make(tmp_path / "broad")
    make(broad / "inner", git=True)
    assert at(broad, text).source == "cwd_leaf"


def test_a_quoted_path_may_hold_spaces(tmp_path: Path) -> None:
    broad = make(tmp_path / "broad")
    make(broad / "my app", git=True)
    assert at(broad, f'open "{broad}/my app/src" please').key == "my app"


def test_a_mention_below_home_may_use_the_tilde(home: Path) -> None:
    make(home / "src" / "app", git=True)
    found = at(home, "see ~/src/app/main.py", home=str(home))
    assert (found.key, found.root) == ("app", str(home / "src" / "app"))


@pytest.mark.rows("IDN-03")
def test_the_project_of_the_cwd_beats_another_one_in_the_prompt(tmp_path: Path) -> None:
    ours, other = make(tmp_path / "a", scope="A"), make(tmp_path / "b", scope="B", git=True)
    for spelling in (str(other), f"{other}/src/x.py", "../b/README.md"):
        found = at(ours, f"compare with {spelling}")
        assert (found.key, found.root) == ("A", str(ours))
        assert found.warnings == ("mentioned_path_ignored_due_to_cwd_project",)
        assert str(other) not in repr(found)


@pytest.mark.rows("IDN-03")
@pytest.mark.parametrize("text", ["src/x.py", "{own}/src", "{nowhere}/x", "vendor/lib/a.c"])
def test_paths_that_lead_to_no_other_project_give_no_warning(tmp_path: Path, text: str) -> None:
    ours = make(tmp_path / "a", scope="A")
    make(ours / "vendor" / "lib", git=True)
    found = at(ours, text.format(own=ours, nowhere=tmp_path / "nowhere"))
    assert (found.key, found.warnings) == ("A", ())


def test_the_same_question_has_the_same_answer(tmp_path: Path) -> None:
    broad = make(tmp_path / "broad")
    make(broad / "a", git=True)
    assert at(broad, "a/x") == at(broad, "a/x")


def test_a_linked_cwd_is_the_project_it_links_to(tmp_path: Path) -> None:
    repo = make(tmp_path / "repo", git=True)
    (tmp_path / "alias").symlink_to(repo, target_is_directory=True)
    assert at(tmp_path / "alias") == at(repo)


def test_home_itself_is_never_a_project(home: Path) -> None:
    make(home, scope="everything", git=True)
    (home / "package.json").write_text("{}")
    found = at(home, home=str(home))
    assert (found.key, found.root, found.source) == ("default-project", None, "fallback")
    assert found.warnings == ("broad_cwd_ignored",)


def test_what_lies_in_home_says_nothing_about_a_directory_below_it(home: Path) -> None:
    make(home, scope="everything", git=True)
    (home / "package.json").write_text("{}")
    below = make(home / "notes")
    found = at(below, home=str(home))
    assert (found.key, found.root, found.source) == ("notes", str(below), "cwd_leaf")
    assert found.repo is None


def test_only_a_repository_is_found_above_home(tmp_path: Path, home: Path) -> None:
    make(tmp_path, scope="above")
    below = make(home / "notes")
    assert at(below, home=str(home)).source == "cwd_leaf"
    make(tmp_path, git=True)
    assert at(below, home=str(home)).root == str(tmp_path)
    assert at(below, home=str(home)).source == "cwd:.git"


@pytest.mark.parametrize("cwd", ["relative/dir", "C:", "nul\0byte", "~user"])
def test_a_cwd_that_names_no_place_is_not_guessed_at(cwd: str) -> None:
    found = at(cwd)
    assert (found.key, found.root) == ("default-project", None)
    assert found.warnings == ("unusable_cwd_ignored",)


def test_a_hostile_prompt_costs_no_more_than_its_length(tmp_path: Path) -> None:
    broad = make(tmp_path / "broad")
    make(broad / "in", git=True)
    for text in ("a" * 10**6, "/" * 10**6, '"' * 10**6, "'/a " * 10**5, "../" * 10**5):
        assert at(broad, text).source == "cwd_leaf"
