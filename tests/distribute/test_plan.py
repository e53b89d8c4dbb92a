"""What goes into which file, what is left out or refused, and getting it out again."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.distribute.scenes import BLOCKS, Hand, approved, lesson, repo_of, repository, tree

from session_memory.distribute.ledger import Ledger, read_ledger
from session_memory.distribute.render import lessons, skill_name
from session_memory.distribute.sections import sections_for
from session_memory.distribute.targets import reach
from session_memory.settings import Distribute

ALL = Distribute()


@pytest.mark.rows("DIS-02")
def test_a_lesson_reaches_its_repository_or_the_domain_that_shares_it(tmp_path: Path) -> None:
    repos = [repo_of(tmp_path / name, domain) for name, domain in
             (("a", "work"), ("b", "work"), ("c", "work"), ("x", "default"), ("y", "default"),
              ("z", "default"))]  # fmt: skip
    seen = {
        ("a",): {"a"},
        ("a", "x"): {"a", "x"},
        ("a", "b"): {"a", "b", "c"},
        ("x", "y"): {"x", "y"},
        ("gone",): set[str](),
    }
    for where, expected in seen.items():
        assert reach(lesson("p", repos=where), repos, "default") == expected


@pytest.mark.rows("DIS-02")
def test_each_agent_has_its_file_and_one_repository_changes(tmp_path: Path) -> None:
    shop, other = repository(tmp_path, "shop"), repository(tmp_path, "other")
    before = tree(other)
    targets = Distribute(targets=("CLAUDE.md", "AGENTS.md", "GEMINI.md", ".agents/skills"))
    hand = Hand(tmp_path / "data", shop, other, settings=targets)
    hand.give(lesson("p1"), lesson("p2", "First line\nthen more\n"))
    assert tree(other) == before
    found = {str(path.relative_to(shop)) for path in shop.rglob("*.md")}
    skill = f".agents/skills/{skill_name('p2')}/SKILL.md"
    assert found == {"CLAUDE.md", "AGENTS.md", "GEMINI.md", skill}
    assert "[sm-p2]" not in (shop / "CLAUDE.md").read_text()  # nothing is given twice
    head = (shop / skill).read_text().splitlines()
    assert head[:2] == ["---", "name: sm-p2"] and head[3] == "---"


@pytest.mark.rows("DIS-03")
def test_the_override_file_is_preferred_where_it_exists(tmp_path: Path) -> None:
    shop = repository(tmp_path, "shop", AGENTS="plain\n")
    hand = Hand(tmp_path / "data", shop, settings=Distribute(targets=("AGENTS.md",)))
    hand.give(lesson("p1"))
    assert "[sm-p1]" in (shop / "AGENTS.md").read_text()
    (shop / "AGENTS.override.md").write_text("mine\n")
    hand.give(lesson("p1"))
    assert (shop / "AGENTS.md").read_text() == "plain\n"
    assert "[sm-p1]" in (shop / "AGENTS.override.md").read_text()


@pytest.mark.rows("DIS-07")
def test_over_budget_the_most_valuable_stay_and_the_others_are_listed(tmp_path: Path) -> None:
    shop = repository(tmp_path, "shop")
    given = lessons([approved(f"p{n}", f"Do {n}.", cost=float(n)) for n in range(6)], str)
    few = Hand(tmp_path / "a", shop, settings=msgspec.structs.replace(BLOCKS, max_patterns=2))
    plan = few.plan(*given)
    assert [change.patterns for change in plan.changes] == [("p5", "p4")] * 2
    left = [(one.pattern, one.where) for one in plan.left_out if one.where == "CLAUDE.md"]
    assert left == [(f"p{n}", "CLAUDE.md") for n in (3, 2, 1, 0)]
    tight = msgspec.structs.replace(BLOCKS, max_bytes=230)
    plan = Hand(tmp_path / "b", shop, settings=tight).plan(*given)
    for change in plan.changes:
        assert change.after is not None and len(change.after) <= 230
        named = {one.pattern for one in plan.left_out if one.where == change.place.path}
        assert change.patterns[0] == "p5" and named | set(change.patterns) == {p.id for p in given}
        assert named and all("max_bytes" in one.why for one in plan.left_out)


@pytest.mark.rows("DIS-07")
def test_codex_reads_no_more_than_its_cap(tmp_path: Path) -> None:
    shop = repository(tmp_path, "shop", AGENTS="x" * (32 * 1024 - 100), CLAUDE="x" * 40_000)
    plan = Hand(tmp_path / "data", shop).plan(lesson("p1"))
    assert [change.place.path for change in plan.changes] == ["CLAUDE.md"]
    assert [(one.pattern, one.where) for one in plan.left_out] == [("p1", "AGENTS.md")]
    assert "Codex" in plan.left_out[0].why


def test_a_trial_stays_out_of_files_and_goes_into_the_page(tmp_path: Path) -> None:
    shop = repository(tmp_path, "shop")
    hand = Hand(tmp_path / "data", shop)
    given = (lesson("p1"), lesson("p2"), lesson("p3"))
    plan, _ = hand.give(*given[:2], on_trial=frozenset({"p2"}))
    assert [change.patterns for change in plan.changes] == [("p1",)] * 2
    assert [(one.pattern, "trial" in one.why) for one in plan.left_out] == [("p2", True)]
    ledger = read_ledger(hand.data)
    found = sections_for(str(shop), given, hand.repos, ledger, on_trial=frozenset({"p2"}))
    assert [(one.id, one.trial) for one in found] == [("pattern:p2", "p2"), ("pattern:p3", None)]
    assert sections_for(str(tmp_path), given, hand.repos, Ledger()) == ()


def test_an_edit_inside_the_block_is_refused_and_kept_when_forced(tmp_path: Path) -> None:
    shop = repository(tmp_path, "shop", CLAUDE="mine\n")
    only = Distribute(targets=("CLAUDE.md",))
    hand = Hand(tmp_path / "data", shop, settings=only)
    hand.give(lesson("p1"))
    file = shop / "CLAUDE.md"
    edited = file.read_bytes().replace(b"make p1", b"make my-own")
    file.write_bytes(edited)
    for plan, _ in (hand.give(lesson("p2")), hand.undo()):
        assert "edited" in plan.refused[0].why and file.read_bytes() == edited
    hand.give(lesson("p2"), force=True)
    assert "[sm-p2]" in file.read_text() and "my-own" not in file.read_text()
    assert "make my-own" in read_ledger(hand.data).entries[0].replaced[0]
    hand.undo()
    assert file.read_text() == "mine\n"
    assert "make my-own" in read_ledger(hand.data).entries[0].replaced[0]


def test_a_skill_that_somebody_wrote_or_edited_is_not_touched(tmp_path: Path) -> None:
    shop = repository(tmp_path, "shop")
    hand = Hand(tmp_path / "data", shop, settings=ALL)
    long = lesson("p1", "one\ntwo")
    hand.give(long)
    file = shop / ".claude/skills/sm-p1/SKILL.md"
    edited = file.read_text().replace("two", "three")
    file.write_text(edited)
    plan, _ = hand.undo()
    assert [one.where for one in plan.refused] == [str(file)] and file.read_text() == edited
    assert not (shop / ".agents").exists()


@pytest.mark.parametrize("kind", ["outside", "git", "dangling", "folder", "pipe", "markers"])
def test_what_is_no_file_of_the_repository_is_refused(tmp_path: Path, kind: str) -> None:
    shop = repository(tmp_path, "shop")
    outside, file = tmp_path / "outside.md", shop / "CLAUDE.md"
    outside.write_text("secret\n")
    (shop / ".git" / "config").write_text("[core]\n")
    match kind:
        case "outside":
            file.symlink_to(outside)
        case "git":
            file.symlink_to(shop / ".git" / "config")
        case "dangling":
            file.symlink_to(shop / "none.md")
        case "folder":
            file.mkdir()
        case "pipe":
            os.mkfifo(file)
        case _:
            file.write_text("<!-- session-memory:end -->\nwords of the user\n")
    kept = outside.read_bytes(), (shop / ".git" / "config").read_bytes()
    hand = Hand(tmp_path / "data", shop, settings=Distribute(targets=("CLAUDE.md",)))
    plan, done = hand.give(lesson("p1"))
    assert done.changed == () and [one.where for one in plan.refused] == [str(file)]
    assert (outside.read_bytes(), (shop / ".git" / "config").read_bytes()) == kept


def test_a_linked_folder_leads_nowhere_else(tmp_path: Path) -> None:
    shop, elsewhere = repository(tmp_path, "shop"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    (shop / ".claude").symlink_to(elsewhere)
    hand = Hand(tmp_path / "data", shop, settings=Distribute(targets=(".claude/skills",)))
    plan, _ = hand.give(lesson("p1"))
    assert "leads out" in plan.refused[0].why and list(elsewhere.iterdir()) == []


def test_a_link_within_the_repository_is_followed_and_given_once(tmp_path: Path) -> None:
    shop = repository(tmp_path, "shop", AGENTS="mine\n")
    (shop / "CLAUDE.md").symlink_to("AGENTS.md")
    before = tree(shop)
    hand = Hand(tmp_path / "data", shop)
    hand.give(lesson("p1"))
    assert (shop / "CLAUDE.md").is_symlink()
    assert (shop / "AGENTS.md").read_text().count("[sm-p1]") == 1
    hand.undo()
    assert tree(shop) == before


def test_a_file_that_takes_in_the_other_gets_no_second_giving(tmp_path: Path) -> None:
    shop = repository(tmp_path, "shop", CLAUDE="@AGENTS.md\n")
    plan, _ = Hand(tmp_path / "data", shop).give(lesson("p1"))
    assert [change.place.path for change in plan.changes] == ["AGENTS.md"]


def test_a_repository_that_is_gone_is_reported_and_forgotten_on_request(tmp_path: Path) -> None:
    shop = repository(tmp_path, "shop")
    hand = Hand(tmp_path / "data", shop)
    hand.give(lesson("p1"))
    shop.rename(tmp_path / "moved")
    assert "gone" in hand.plan(lesson("p1")).refused[0].why
    assert "gone" in hand.undo()[0].refused[0].why
    hand.undo(force=True)
    assert read_ledger(hand.data).entries == ()


def test_modes_are_kept_and_new_files_follow_their_folder(tmp_path: Path) -> None:
    shop = repository(tmp_path, "shop", CLAUDE="mine\n")
    (shop / "CLAUDE.md").chmod(0o640)
    shop.chmod(0o750)
    old = os.umask(0o077)
    try:
        Hand(tmp_path / "data", shop, settings=ALL).give(lesson("p1"), lesson("p2", "a\nb"))
    finally:
        os.umask(old)
    modes = {path.name: path.stat().st_mode & 0o777 for path in shop.rglob("*")}
    assert (modes["CLAUDE.md"], modes["AGENTS.md"]) == (0o640, 0o640)
    assert (modes[".agents"], modes["SKILL.md"]) == (0o750, 0o640)


@pytest.mark.rows("DIS-06")
@settings(max_examples=25)
@given(
    user=st.one_of(st.none(), st.binary(max_size=40).map(lambda data: data.replace(b"\0", b"."))),
    texts=st.lists(st.text(min_size=1, max_size=60).filter(str.strip), min_size=1, max_size=4),
)
def test_given_and_taken_out_is_as_before(
    tmp_path_factory: pytest.TempPathFactory, user: bytes | None, texts: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    shop = repository(folder, "shop")
    if user is not None:
        (shop / "CLAUDE.md").write_bytes(user)
    before = tree(shop)
    hand = Hand(folder / "data", shop, settings=ALL)
    patterns = [approved(f"p{n}", text) for n, text in enumerate(texts)]
    hand.give(*lessons(patterns, str))
    after = tree(shop)
    plan, _ = hand.give(*lessons(patterns, str))
    assert plan.changes == () and tree(shop) == after
    hand.undo()
    assert tree(shop) == before
