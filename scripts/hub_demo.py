"""A team of two in one command: a hub on real servers, two homes, one cure found by the other.

Starts PostgreSQL and an S3 server on free ports of the loopback, in a temporary directory, lets two
people join, push, find each other's cure, forget, and shows that it is gone. Stops everything.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from pathlib import Path

from session_memory.adapters.claude.log_builder import START, ClaudeLog
from session_memory.testing.postgres_server import PostgresServer, end_with_parent
from session_memory.testing.s3_server import S3Server

ERROR = "ModuleNotFoundError: No module named 'yaml'"
CURE = "poetry add pyyaml"


class Person:
    """A home with one agent's logs of one repository, and the program on it."""

    def __init__(self, root: Path, name: str) -> None:
        self.name, self.root = name, root / name
        self.repo = self.root / "work" / "shop"
        (self.repo / ".git").mkdir(parents=True)
        remote = '[remote "origin"]\n\turl = git@github.com:acme/shop.git\n'
        (self.repo / ".git" / "config").write_text(remote, encoding="utf-8")

    def log(self, seed: int) -> ClaudeLog:
        """A session in the repository."""
        return ClaudeLog(seed, cwd=str(self.repo), start=START + seed * 3_600_000)

    def run(self, *arguments: str) -> str:
        """Run a command in this home, shown as it is typed; what it printed."""
        shown = " ".join(f'"{word}"' if " " in word else word for word in arguments)
        print(f"\n{self.name}$ session-memory {shown}", flush=True)
        done = subprocess.run(
            [sys.executable, "-m", "session_memory", *arguments],
            env=plain_environment(HOME=self.root, CLAUDE_CONFIG_DIR=self.root / ".claude",
                                  SESSION_MEMORY_HOME=self.root / "memory"),
            cwd=self.repo, capture_output=True, text=True, check=False,
        )  # fmt: skip
        print(done.stdout + done.stderr, end="", flush=True)
        if done.returncode not in (0, 1, 3):
            raise SystemExit(f"{self.name}: `{shown}` ended with {done.returncode}")
        return done.stdout + done.stderr


def plain_environment(**more: object) -> dict[str, str]:
    """An environment in which nothing of the machine's user is known."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {**kept, **{name: str(value) for name, value in more.items()}}


def started_s3() -> tuple[S3Server, str]:
    """A server with a bucket. It needs eight ports: somebody else may take one before it does."""
    for left in (2, 1, 0):
        server = None
        try:
            server = S3Server()
            return server, server.make_bucket("texts")
        except FileNotFoundError:
            raise
        except Exception:  # obstore's errors have no common parent of their own
            if server is not None:
                server.close()
            if not left:
                raise
    raise AssertionError  # the last attempt returned or raised


@contextlib.contextmanager
def running_hub(root: Path) -> Generator[tuple[str, Mapping[str, str]]]:
    """The hub's address, and the environment in which `hub` commands reach it."""
    with contextlib.ExitStack() as stack:
        postgres = PostgresServer()
        stack.callback(postgres.close)
        s3, bucket = started_s3()
        stack.callback(s3.close)
        environment = plain_environment(
            HOME=root,
            SESSION_MEMORY_HOME=root / "hub",
            HUB_OBJECTS=bucket,
            HUB_VAULT=root / "vault",
            **s3.environment(),
        )
        owner = {**environment, "HUB_DATABASE": postgres.url()}
        hub_command(owner, "init")
        serving = {**environment, "HUB_DATABASE": postgres.url(user="session_memory_hub")}
        process = subprocess.Popen(
            [sys.executable, "-m", "session_memory", "hub", "serve", "--port", "0"],
            env=serving, stdout=subprocess.PIPE, text=True, preexec_fn=end_with_parent,  # noqa: PLW1509
        )  # fmt: skip
        stack.callback(stop, process)
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("hub at "):
            raise SystemExit(f"the hub did not start: {line}")
        yield line.removeprefix("hub at ").strip(), serving


def stop(process: subprocess.Popen[str]) -> None:
    """End a process that we started."""
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def hub_command(environment: Mapping[str, str], *arguments: str) -> str:
    """Run a command of who runs the hub."""
    done = subprocess.run(
        [sys.executable, "-m", "session_memory", "hub", *arguments],
        env=dict(environment), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"hub {arguments[0]} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def join(person: Person, address: str, environment: Mapping[str, str]) -> None:
    """Join with an invite of one's own, and share the project with all its events."""
    invited = hub_command(environment, "invite", "--team", "acme", "--url", address)
    invite = invited.split()[-1]
    person.run("team", "join", address, invite, "--name", person.name)
    person.run("team", "share", "--level", "sessions")


def check(said: str, word: str, *, there: bool = True) -> None:
    """End with an error where the demo does not show what it should."""
    if (word in said) != there:
        raise SystemExit(f"expected {word!r} {'in' if there else 'not in'} the answer above")


def demo(root: Path) -> None:
    """The whole story."""
    ada, bob = Person(root, "ada"), Person(root, "bob")
    cured = ada.log(1)
    cured.prompt("make the import work")
    cured.run("python app.py", f"Traceback (most recent call last):\n{ERROR}", exit_code=1)
    cured.run(CURE, "Installing pyyaml")
    cured.run("python app.py", "started")
    cured.write(ada.root / ".claude")
    other = bob.log(2)
    other.prompt("write the release notes")
    other.write(bob.root / ".claude")
    print("starting PostgreSQL, an S3 server and the hub ...", flush=True)
    with running_hub(root) as (address, environment):
        for person in (ada, bob):
            person.run("sweep")
            join(person, address, environment)
            person.run("team", "push")
        bob.run("team", "pull")
        check(bob.run("fix", "--team", ERROR), CURE)
        check(bob.run("search", "--team", "pyyaml"), "pyyaml")
        check(bob.run("--store", address, "search", "pyyaml"), "ada: ")
        ada.run("forget", "--session", cured.session_id, "--yes")
        check(ada.run("team", "push"), "0 rows, 0 index entries, 0 stored texts and 0 data keys")
        bob.run("team", "pull")
        check(bob.run("fix", "--team", ERROR), CURE, there=False)
        check(bob.run("search", "--team", "pyyaml"), "Installing", there=False)
        check(bob.run("--store", address, "sessions"), "ada: ", there=False)
    print("\ntwo homes found each other's cure, and what was forgotten is gone; all is stopped")


def main() -> None:
    """Run the demo in a directory that is removed afterwards."""
    root = Path(tempfile.mkdtemp(prefix="sm-hub-demo-"))
    try:
        demo(root)
    except FileNotFoundError as error:
        raise SystemExit(f"{error}\nhint: `make test-tools` installs what the demo needs") from None
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
