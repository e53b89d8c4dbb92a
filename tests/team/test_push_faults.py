"""Whatever breaks, nothing is lost and nothing is doubled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.team.laptop import PROJECT, Laptop
from tests.team.model_hub import ModelHub, served

MakeLaptop = Callable[[str], Laptop]
ROOT = Path(__file__).resolve().parents[2]

# Kills the process at the n-th time it is about to make something last or to say something.
KILLER = """
import os, signal, sys
from session_memory import atomic_files, paths
from session_memory.store import remote_call
left = int(sys.argv[1])
def soon(name, call):
    def run(*args, **named):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*args, **named)
    return run
os.replace = soon("replace", os.replace)
remote_call.HubClient._exchange = soon("ask", remote_call.HubClient._exchange)
import http.client
http.client.HTTPConnection.getresponse = soon("hear", http.client.HTTPConnection.getresponse)
from session_memory.__main__ import main
sys.exit(main(sys.argv[2:]))
"""


def killed_at(laptop: Laptop, step: int, *arguments: str) -> bool:
    """Run a command that is killed at a step; whether it was."""
    config = str(laptop.write_config())
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(step), "--config", config, *arguments],
        env={**laptop.environ(), "PYTHONPATH": str(ROOT / "src")},
        cwd=laptop.root,
        capture_output=True,
        check=False,
    )
    if done.returncode == -signal.SIGKILL:
        return True
    assert done.returncode in (0, 3), (done.stdout, done.stderr)
    return False


def until_whole(run: Callable[[int], bool], step: int = 1) -> int:
    """Kill at the first step, the second and so on, until one run comes to its end."""
    while run(step):
        step += 1
        assert step < 500
    return step


def two_sessions(laptop: Laptop) -> Laptop:
    return laptop.worked(laptop.cured(1), laptop.cured(2, "poetry add pyyaml"))


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL on Windows")
@pytest.mark.rows("TEA-06")
def test_a_push_killed_at_every_step_ends_as_one_that_was_not(
    tmp_path: Path, hub: ModelHub, laptop: MakeLaptop
) -> None:
    ada = two_sessions(laptop("ada")).join("sessions")
    steps = until_whole(lambda step: killed_at(ada, step, "team", "push"))
    assert steps > 5
    other = ModelHub()
    with served(other) as address:
        calm = Laptop(tmp_path / "calm" / "ada", "ada", address)
        two_sessions(calm).join("sessions").do("team", "push")
    assert kinds(hub) == kinds(other)
    assert ada.read("team", "push")["projects"][0]["unchanged"]
    keys = [key for each in ada.read("team", "receipts")["receipts"] for key in each["keys"]]
    assert set(keys) <= {item[1] for items in hub.content().values() for item in items}


def kinds(hub: ModelHub) -> list[tuple[str, bytes]]:
    """What is kept, without what depends on where a laptop's files are."""
    return sorted(
        (kind, body) for items in hub.content().values() for kind, _, _, _, body, _ in items
    )


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL on Windows")
@pytest.mark.rows("TEA-07")
def test_a_forget_and_its_push_killed_at_every_step_leave_nothing_on_the_hub(
    hub: ModelHub, laptop: MakeLaptop
) -> None:
    ada = two_sessions(laptop("ada")).join("sessions")
    ada.do("team", "push")
    session = ada.cured(2).session_id
    forget = ("forget", "--session", session, "--yes")
    step = 1
    while killed_at_or_gone(ada, step, forget):
        step += 4
    until_whole(lambda at: killed_at(ada, at, "team", "push"))
    assert b"poetry" not in hub.words()
    assert b"pip install" in hub.words()
    assert ada.read("team", "push")["projects"][0]["unchanged"]
    assert ada.read("team", "status")["waits"]["forgotten"] == 0


def killed_at_or_gone(laptop: Laptop, step: int, command: tuple[str, ...]) -> bool:
    """A forget that was killed late has done its work already: then the next finds nothing."""
    config = str(laptop.write_config())
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(step), "--config", config, *command],
        env={**laptop.environ(), "PYTHONPATH": str(ROOT / "src")},
        cwd=laptop.root,
        capture_output=True,
        check=False,
    )
    assert done.returncode in (-signal.SIGKILL, 0, 1, 8), (done.stdout, done.stderr)
    return done.returncode == -signal.SIGKILL


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL on Windows")
@pytest.mark.rows("TEA-08")
def test_a_pull_killed_at_every_step_brings_everything_once(
    hub: ModelHub, laptop: MakeLaptop
) -> None:
    ada = two_sessions(laptop("ada")).join("lessons")
    ada.do("team", "push")
    bob = laptop("bob")
    bob.worked(bob.log(5)).join("lessons")
    until_whole(lambda step: killed_at(bob, step, "team", "pull"))
    lessons = [item for items in hub.content().values() for item in items if item[0] != "usage"]
    (pulled,) = bob.read("team", "pull")["projects"]
    assert pulled["items"] == len(lessons) and pulled["new"] == 0


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.sets(st.tuples(st.integers(0, 40), st.booleans()), max_size=8))
@pytest.mark.rows("TEA-06")
def test_any_cuts_of_the_network_give_the_same_content(
    tmp_path: Path, cuts: set[tuple[int, bool]]
) -> None:
    """Requests that never arrive, and answers that never come back."""
    work = tmp_path / "shared-laptop"
    calm, torn = ModelHub(), ModelHub()
    for hub, breaks in ((calm, set[tuple[int, bool]]()), (torn, cuts)):
        with served(hub) as address:
            ada = Laptop(work, "ada", address)
            if not (ada.store_directory / "store.db").exists():
                two_sessions(ada)
            for file in ada.team.glob("*.json*"):
                file.unlink()
            ada.join("sessions")
            begun = len(hub.requests)
            hub.cut_before = {begun + number for number, early in breaks if early}
            hub.cut_after = {begun + number for number, early in breaks if not early}
            for _ in range(60):
                if ada.do("team", "push", code=None).returncode == 0:
                    break
            hub.cut_before, hub.cut_after = set(), set()
            assert ada.read("team", "push")["projects"][0]["unchanged"]
    assert torn.content() == calm.content()


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(["ada", "bob", "cleo", "ada", "bob"]))
@pytest.mark.rows("TEA-06")
def test_any_order_of_pushes_gives_the_same_content(tmp_path: Path, order: list[str]) -> None:
    contents: list[Any] = []
    for sequence in (["ada", "bob", "cleo"], order):
        hub = ModelHub()
        with served(hub) as address:
            for number, name in enumerate(("ada", "bob", "cleo"), 1):
                person = Laptop(tmp_path / "people" / name, name, address)
                if not (person.store_directory / "store.db").exists():
                    person.worked(person.cured(number))
                for file in person.team.glob("*.json*"):
                    file.unlink()
                person.join("sessions")
            for name in sequence:
                Laptop(tmp_path / "people" / name, name, address).do("team", "push")
        contents.append(hub.content())
    assert contents[0] == contents[1] and len(contents[0]) == 3


@pytest.mark.rows("TEA-06")
def test_a_hub_that_is_down_loses_nothing(hub: ModelHub, laptop: MakeLaptop) -> None:
    ada = two_sessions(laptop("ada")).join("lessons")
    hub.down = True
    done = ada.do("team", "push", code=10)
    assert "down" in done.stderr and "nothing is lost" in done.stderr
    assert hub.content() == {}
    hub.down = False
    ada.do("team", "push")
    assert (PROJECT, "ada") in hub.owned and hub.content()


def test_an_unreachable_hub_is_named(laptop: MakeLaptop) -> None:
    ada = two_sessions(laptop("ada")).join("lessons")
    file = ada.team / "joined.json"
    file.write_text(file.read_text().replace(ada.url, "http://127.0.0.1:9"), encoding="utf-8")
    done = ada.do("team", "push", code=10)
    assert "cannot reach the hub http://127.0.0.1:9" in done.stderr


def test_damaged_files_of_the_team_are_refused_with_a_way_out(
    hub: ModelHub, laptop: MakeLaptop
) -> None:
    ada = two_sessions(laptop("ada")).join("lessons")
    ada.do("team", "push")
    before = hub.content()
    for name in ("sent.json", "outbox.json"):
        file = ada.team / name
        kept = file.read_bytes() if file.exists() else None
        file.write_bytes(b"\x00{")
        done = ada.do("team", "push", code=8)
        assert name in done.stderr and "hint" in done.stderr
        if kept is None:
            file.unlink()
        else:
            file.write_bytes(kept)
    (ada.team / "sent.json").unlink()
    ada.do("team", "push")
    assert hub.content() == before, "a lost ledger is made again from what the hub has"
