"""What this store did not write: blocks of teammates, copies, edits, and those of a lost ledger."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.distribute.scenes import Desk, Hand, lesson, repository

from session_memory.distribute.files import read_file
from session_memory.distribute.ledger import (
    read_ledger,
)
from session_memory.distribute.sections import said_by_others, sections_for
from session_memory.settings import Distribute

ONLY = Distribute(targets=("CLAUDE.md",))
SKILLS = Distribute(targets=(".claude/skills",))


def old_block(line: str) -> str:
    """A block as the version before this one wrote it."""
    from session_memory.distribute.block import plain_hash

    content = f"Learned from earlier sessions\n{line}\n"
    head = f"<!-- session-memory:begin v1 gap=1 sha256={plain_hash(content.encode())} -->"
    return f"mine\n\n{head}\n{content}<!-- session-memory:end -->\n"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return repository(tmp_path, "shop", CLAUDE="mine\n")


def hands(tmp_path: Path, shop: Path, settings: Distribute = ONLY) -> tuple[Hand, Hand]:
    """Two people with a store each, at one repository."""
    return (
        Hand(tmp_path / "alice", shop, settings=settings),
        Hand(tmp_path / "bob", shop, settings=settings),
    )


@pytest.mark.rows("DIS-08")
def test_two_people_who_commit_their_blocks_do_not_fight(tmp_path: Path, shop: Path) -> None:
    alice, bob = hands(tmp_path, shop)
    file = shop / "CLAUDE.md"
    alice.give(lesson("p1"))
    hers = file.read_text()
    plan, _ = bob.give(lesson("p2"))
    assert "lines 3 to 6 is left alone" in plan.left_alone[0].why
    assert file.read_text().startswith(hers) and "[sm-p2]" in file.read_text()
    both = file.read_text()
    for _ in range(2):
        assert alice.give(lesson("p1"))[0].changes == bob.give(lesson("p2"))[0].changes == ()
    assert file.read_text() == both
    alice.give(lesson("p1"), lesson("p3"))
    assert "[sm-p3]" in file.read_text() and both.removeprefix(hers) in file.read_text()
    alice.undo()
    assert file.read_text() == "mine\n" + both.removeprefix(hers)
    bob.undo(force=True)
    assert file.read_text() == "mine\n"


@pytest.mark.rows("DIS-08")
def test_what_a_teammates_block_says_is_not_said_again(tmp_path: Path, shop: Path) -> None:
    alice, bob = hands(tmp_path, shop)
    file = shop / "CLAUDE.md"
    alice.give(lesson("p1"))
    plan, _ = bob.give(lesson("p1"), lesson("p9", "Run make p1, not pytest."), lesson("p2"))
    assert [one.pattern for one in plan.left_out] == ["p1", "p9"]
    assert "another block" in plan.left_out[0].why and file.read_text().count("[sm-p1]") == 1
    # Both say it, as after a merge: each leaves its own line, or it would vanish from both.
    alone = repository(tmp_path, "alone", CLAUDE="mine\n")
    Hand(tmp_path / "bob", alone, settings=ONLY).give(lesson("p1", repos=("alone",)))
    file.write_text((alone / "CLAUDE.md").read_text() + file.read_text())
    merged = file.read_text()
    Hand(tmp_path / "alice", shop, settings=ONLY).give(lesson("p1"))
    assert file.read_text() == merged


@pytest.mark.rows("DIS-08")
def test_what_a_teammates_block_says_is_not_given_at_the_start_either(
    tmp_path: Path, shop: Path
) -> None:
    alice, bob = hands(tmp_path, shop)
    alice.give(lesson("p1"))
    said = said_by_others(str(shop), read_ledger(bob.data), read_file)
    given = (lesson("p1"), lesson("p2"))
    found = sections_for(str(shop), given, bob.repos, read_ledger(bob.data), said=said)
    assert [one.id for one in found] == ["pattern:p2"]
    assert said_by_others(str(shop), read_ledger(alice.data), read_file) == frozenset()


@pytest.mark.rows("DIS-08")
@pytest.mark.parametrize("force", [False, True])
def test_a_block_that_no_ledger_knows_is_left_alone(
    tmp_path: Path, shop: Path, force: bool
) -> None:
    file = shop / "CLAUDE.md"
    file.write_text(old_block("- Ask Zed. [sm-zed]"))
    before = file.read_text()
    hand = Hand(tmp_path / "data", shop, settings=ONLY)
    plan, _ = hand.give(lesson("p1"), force=force)
    assert [one.where for one in plan.left_alone] == [str(file)] and plan.refused == ()
    assert file.read_text().startswith(before)
    hand.undo(force=force)
    assert file.read_text() == before


@pytest.mark.rows("DIS-08")
def test_a_block_that_another_clone_of_ours_wrote_is_ours(tmp_path: Path, shop: Path) -> None:
    hand = Hand(tmp_path / "data", shop, settings=ONLY)
    hand.give(lesson("p1"))
    clone = repository(tmp_path, "clone", CLAUDE=(shop / "CLAUDE.md").read_text())
    other = Hand(tmp_path / "data", clone, settings=ONLY)
    plan, _ = other.give(lesson("p2", repos=("clone",)))
    assert plan.left_alone == () and "[sm-p1]" not in (clone / "CLAUDE.md").read_text()
    # Its older state, as after a checkout, is ours as well.
    (clone / "CLAUDE.md").write_text((shop / "CLAUDE.md").read_text())
    assert other.give(lesson("p2", repos=("clone",)))[0].refused == ()


@pytest.mark.rows("DIS-08")
def test_a_skill_that_a_teammate_committed_is_left_alone(tmp_path: Path, shop: Path) -> None:
    alice, bob = hands(tmp_path, shop, SKILLS)
    alice.give(lesson("p1"))
    file = shop / ".claude/skills/sm-p1/SKILL.md"
    hers = file.read_text()
    for force in (False, True):
        plan, _ = bob.give(lesson("p1", "In other words."), force=force)
        assert [one.where for one in plan.left_alone] == [str(file)] and file.read_text() == hers
    bob.undo(force=True)
    assert file.read_text() == hers
    file.write_text("---\nname: sm-p1\n---\nwritten by hand\n")
    bob.give(lesson("p1"), force=True)
    assert "written by hand" in file.read_text()
    alice.undo()
    assert "written by hand" in file.read_text()


@pytest.mark.rows("DIS-08")
def test_the_command_says_what_is_left_alone_and_what_to_type(desk: Desk, tmp_path: Path) -> None:
    shop = repository(tmp_path, "shop", CLAUDE=old_block("- Ask Zed. [sm-zed]"), AGENTS="mine\n")
    before = (shop / "CLAUDE.md").read_text()
    desk.corrected(shop)
    out = desk.run("rules", "distribute")
    assert f"{shop}/CLAUDE.md: the block in lines 3 to 6 is left alone" in out
    assert (shop / "CLAUDE.md").read_text().startswith(before)
    file = shop / "AGENTS.md"
    edited = file.read_text().replace("make verify", "make check")
    file.write_text(edited)
    for words in (("rules", "distribute"), ("rules", "withdraw", "--all")):
        answer = desk.json(*words, code=3)
        (refused,) = answer["refused"]
        assert refused["where"] == str(file) and file.read_text() == edited
        typed = re.findall(r"`session-memory ([^`]+)`", refused["why"])
        assert typed == [f"{' '.join(words[:2])} --force --repo {shop}"]
        assert "delete the two marker lines" in refused["why"]
        assert [one["where"] for one in answer["left_alone"]] == [str(shop / "CLAUDE.md")]
    desk.run(*typed[0].split())
    assert (shop / "AGENTS.md").read_text() == "mine\n"
    assert (shop / "CLAUDE.md").read_text() == before
