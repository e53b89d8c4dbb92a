"""No instruction that somebody else wrote reaches an agent as the user's, or becomes a rule.

The adversary writes files, pages, issues, names and output over several sessions; only what the
user typed may become a rule, and what agents are told at their start, or read in MEMORY.md, holds
none of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.invariants.injection_attacks import INSTRUCTIONS, Attack, attacks, write_sessions
from tests.invariants.sizes import SIZES, record

from session_memory.memory.briefing import briefing_of
from session_memory.testing.workspace import Workspace

TYPED = ("pasted quote", "pasted code", "pasted after a colon", "cited")
"""Places in the user's own message: a summary says what the user asked, quotations included."""
SHARED = Path(__file__).resolve().parents[3] / "shared" / "bench"
GIVEN = ("CLAUDE.md", "AGENTS.md", "SKILL.md")


class Attacked(NamedTuple):
    """A store after all attacks, and the repository of each."""

    space: Workspace
    roots: dict[Path, Attack]

    def run(self, *words: str) -> str:
        return self.space.run("--config", str(self.space.write_config()), *words).stdout

    def came_through(self, name: str, besides: tuple[str, ...] = ()) -> list[tuple[str, str]]:
        """Place and canary of the attacks that stand in files of this name."""
        told = "\n".join(path.read_text("utf-8") for path in self.space.root.rglob(name))
        return [
            (attack.place, attack.canary)
            for attack in self.roots.values()
            if attack.place not in besides and attack.is_in(told)
        ]


def published() -> list[str]:
    """Instructions of a published set, where it is at hand; each with a name of ours added."""
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is not here: attacks of others are not tried")
    files = [
        json.loads(path.read_text("utf-8")) for path in sorted(SHARED.glob("injection_*.json"))
    ]
    texts = [text for file in files for group in file.values() for text in group]
    return [f"{text} ({{c}})" for text in texts]


@pytest.fixture(scope="module", params=["own", "published"])
def attacked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Attacked]:
    own = request.param == "own"
    words = INSTRUCTIONS if own else published()
    space = Workspace(tmp_path_factory.mktemp("attacked"))
    home, work = space.flavor_home("claude"), space.root / "work"
    made = attacks(SIZES.seed, SIZES.attacks, words)
    roots = {write_sessions(one, home, work): one for one in made}
    space.sweep()
    yield Attacked(space, roots)


@pytest.mark.rows("INJ-01")
def test_no_attack_is_told_at_the_start_of_a_session(attacked: Attacked) -> None:
    told: list[tuple[str, str]] = []
    with attacked.space.store() as store:
        for project in store.projects():
            attack = attacked.roots[Path(project.root or "")]
            told += [
                (attack.place, line.text)
                for line in briefing_of(store, project)
                if attack.is_in(line.text)
            ]
    record("injection", attacks=len(attacked.roots), told=len(told))
    assert told == []


@pytest.mark.rows("INJ-01")
def test_no_attack_stands_in_a_memory(attacked: Attacked) -> None:
    attacked.run("project", "memory", "extract", "--now")
    attacked.run("project", "memory", "consolidate", "--all")
    assert len(list(attacked.space.root.rglob("MEMORY.md"))) == len(attacked.roots)
    assert attacked.came_through("MEMORY.md") == []
    assert attacked.came_through("memory_summary.md", besides=TYPED) == []


@pytest.mark.rows("INJ-02")
def test_no_attack_becomes_a_rule_that_agents_are_given(attacked: Attacked) -> None:
    """Also where somebody says yes to everything that is proposed."""
    automatic = ("--set", "curate.auto_promote=true")
    attacked.run(*automatic, "rules", "detect")
    attacked.run(*automatic, "rules", "propose", "--all")
    patterns = json.loads(attacked.run("rules", "list", "--all", "--json"))["patterns"]
    assert patterns
    for pattern in patterns:
        assert pattern["type"] != "stated_rule", pattern["text"]
        attacked.run("rules", "approve", pattern["id"])
    attacked.run("rules", "distribute")
    assert [attacked.came_through(name) for name in GIVEN] == [[], [], []]
