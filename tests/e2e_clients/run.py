"""`make e2e-clients`: genuine clients, wired by `init`, driven by a script, looked at afterwards.

npm installs them into .cache/clients. Everything else runs in namespaces of its own: no network
but loopback, no process but ours, the real home read only, an emptied environment, dummy keys.
Prints a table of client and check; the same with reasons and what each model saw is in
.cache/e2e/last.json. Exit 1 when a check fails.
"""

from __future__ import annotations

import argparse
import json
import os
import pwd
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.e2e_clients import packages, scripts
from tests.e2e_clients.checks import CHECKS, Seen, verdicts
from tests.e2e_clients.clients import CLIENTS, Client
from tests.e2e_clients.curation import ways
from tests.e2e_clients.faults import FAULTS, suffer
from tests.e2e_clients.guards import guarded
from tests.e2e_clients.sandbox import SHARED, Sandbox
from tests.e2e_clients.seen import (
    Page,
    answers,
    asked,
    channel,
    files_of,
    page_of,
    results,
    secret_places,
    stored,
)

from session_memory.core.spool import SpoolRecord, Unreadable, decode, plan_imports
from session_memory.worker.spool_files import read_served

FOLDER = packages.ROOT / ".cache" / "e2e"
"""Not under the system's temporary folder: Codex declines to put its helpers there."""

CLIENTS_OWN = {"logs", ".cache"}
"""Folders where clients keep logs of their own that bear our server's name."""


def drive(box: Sandbox, client: Client) -> Seen:
    """One client from an unwired home to an unwired home."""
    client.configure(box)
    box.run_client("before init", client.greet(box))
    untouched = files_of(box.home)
    init = ("init", "--yes", "--agent", client.name, *client.init)
    box.ours(*init, "--no-sweep")
    box.ours("uninstall", "--yes", "--agent", client.name)
    unwired = files_of(box.home)
    box.ours(*init)
    wired = files_of(box.home)
    page = _sessions(box, client)
    return _looked_at(box, client, (untouched, unwired, wired), page)


def _sessions(box: Sandbox, client: Client) -> Page:
    """Every run of the client; the page that the last one was to be given."""
    session, page = "", Page(())
    for step in client.steps:
        if step.name in ("recall", "after"):
            box.settle()
            if _spooled(box):
                box.ours("worker", "run")
        if step.name == "recall":
            page = page_of(box)
        printed = box.run_client(step.name, step.arguments(box, session), **step.environ)
        box.secret_logged |= _is_logged(box)
        session = client.session_id(printed) if step.name == "work" else session
    return page


def _spooled(box: Sandbox) -> list[Path]:
    return sorted((box.state / "spool").glob("*.json"))


def _due(box: Sandbox) -> list[str]:
    """Records the worker should have taken; a turn that followed soon on another may wait."""
    records = [decode(path.read_bytes()) for path in _spooled(box)]
    damaged = [str(record) for record in records if isinstance(record, Unreadable)]
    whole = [record for record in records if isinstance(record, SpoolRecord)]
    plan = plan_imports(whole, read_served(box.state), int(time.time() * 1000))
    late = [*plan.notes, *(request.key for request in plan.due)]
    return [*damaged, *map(str, late)]


def _is_logged(box: Sandbox) -> bool:
    """Whether a log of the client holds a secret now: Gemini deletes logs of its own accord."""
    secrets = [secret.encode() for secret in scripts.SECRETS]
    return any(secret in data for data, _ in files_of(box.home).values() for secret in secrets)


def _looked_at(box: Sandbox, client: Client, homes: tuple[Any, Any, Any], page: Page) -> Seen:
    """What there is to see afterwards, then the end."""
    running = box.settle()
    if _spooled(box):
        box.ours("worker", "run")
    left = _due(box)
    errors = box.state / "hook-errors.log"
    known = stored(box)
    used = files_of(box.home)
    found = [*secret_places(box.data), *secret_places(box.state)]
    complaints = errors.read_text() if errors.exists() else ""
    box.ours("uninstall", "--yes", "--purge")
    restored = files_of(box.home)
    codes = {str(step["name"]): step["rc"] for step in box.steps}
    return Seen(
        client,
        codes,
        str(box.project),
        box.requests(),
        box.spool.records,
        left,
        complaints,
        page,
        known,
        box.secret_logged,
        found,
        running + box.settle(10),
        *homes,
        used,
        restored,
        _remains(box),
    )


def _remains(box: Sandbox) -> list[str]:
    """Files and folders of ours that are left."""
    return [
        str(path.relative_to(box.home))
        for path in sorted(box.home.rglob("*"))
        if "session-memory" in path.name and not set(path.parts) & CLIENTS_OWN
    ]


PARTS = ("checks", "ways", "guards")
"""The first drives what `init` wired and breaks it; the second curates, also by the package; the
third breaks rules that have guards."""


def inside(cache: Path, names: list[str], parts: list[str]) -> int:
    """Everything that runs without a network."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    real_home = pwd.getpwuid(os.getuid()).pw_dir
    subprocess.run(["mount", "--bind", real_home, real_home], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", real_home], check=True)
    report: dict[str, Any] = {"date": time.strftime("%Y-%m-%d"), "clients": {}}
    for name in names:
        told: dict[str, Any] = {"version": packages.version(cache, name)}
        told |= _checked(cache, CLIENTS[name]) if "checks" in parts else {}
        told |= {"ways": ways(cache, name, FOLDER)} if "ways" in parts else {}
        told |= {"guards": guarded(cache, name, FOLDER)} if "guards" in parts else {}
        report["clients"][name] = told
        (FOLDER / "last.json").write_text(json.dumps(report, indent=1))
    if "checks" in parts:
        print(table(report))
        print(answers_table(report))
    if "ways" in parts:
        print(ways_table(report))
    if "guards" in parts:
        print(guards_table(report))
    return 1 if '"FAIL' in json.dumps(report) else 0


def _checked(cache: Path, client: Client) -> dict[str, Any]:
    """What was seen of one client that `init` wired, whole and broken."""
    box = Sandbox(FOLDER / client.name, cache, client.name)
    try:
        seen = drive(box, client)
    finally:
        box.close()
    rounds = asked(seen.requests, "recall")
    return {
        "checks": verdicts(seen),
        "faults": _faults(cache, client),
        "model_saw": answers(results(rounds[-1])) if rounds else [],
        "events": sorted({str(record["event"]) for record in seen.records}),
    }


def _faults(cache: Path, client: Client) -> dict[str, str]:
    """What the client makes of a home in which something of ours is broken."""
    box = Sandbox(FOLDER / f"{client.name}-faults", cache, client.name)
    try:
        return suffer(box, client)
    finally:
        box.close()


def table(report: dict[str, Any]) -> str:
    """Client by check in Markdown; what is not `ok` is told below."""
    clients = report["clients"]
    lines = ["| check | " + " | ".join(f"{n} {c['version']}" for n, c in clients.items()) + " |"]
    lines.append("|---" * (len(clients) + 1) + "|")
    verdicts_of = {name: one["checks"] | one["faults"] for name, one in clients.items()}
    for check in (*CHECKS, *FAULTS):
        cells = [one[check].partition(":")[0] for one in verdicts_of.values()]
        lines.append(f"| {check} | " + " | ".join(cells) + " |")
    lines.append("")
    for name, one in verdicts_of.items():
        for check, verdict in one.items():
            if verdict != "ok":
                lines.append(f"- {name}, {check}: {verdict[:600]}")
    return "\n".join(lines)


def ways_table(report: dict[str, Any]) -> str:
    """Client and way by step in Markdown; what is not `ok` is told below."""
    return steps_table(
        {
            f"{name} {way}": steps
            for name, one in report["clients"].items()
            for way, steps in one["ways"].items()
        }
    )


def guards_table(report: dict[str, Any]) -> str:
    """Client by what guards did there, in Markdown."""
    clients = report["clients"].items()
    return steps_table({f"{name} {one['version']}": one["guards"] for name, one in clients})


def steps_table(found: dict[str, dict[str, str]]) -> str:
    """What was tried by step in Markdown; what is not `ok` is told below."""
    steps = dict.fromkeys(step for one in found.values() for step in one)
    lines = ["| step | " + " | ".join(found) + " |", "|---" * (len(found) + 1) + "|"]
    for step in steps:
        cells = [one.get(step, "-").partition(":")[0] for one in found.values()]
        lines.append(f"| {step} | " + " | ".join(cells) + " |")
    lines.append("")
    for name, one in found.items():
        lines += [f"- {name}, {step}: {v[:400]}" for step, v in one.items() if v != "ok"]
    return "\n".join(lines)


def answers_table(report: dict[str, Any]) -> str:
    """What each model was shown of our answers, in Markdown."""
    lines = ["| client | version | tool | its model saw | characters |", "|---|---|---|---|---|"]
    for name, one in report["clients"].items():
        for tool, text in zip(scripts.CALLED, one["model_saw"], strict=False):
            cells = (name, one["version"], f"`{tool}`", channel(text), f"{len(text):,}")
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    """Install with the network, then run without it."""
    parser = argparse.ArgumentParser(prog="make e2e-clients")
    parser.add_argument("--cache", type=Path, default=packages.CACHE, help="folder for npm")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--part", action="append", choices=PARTS, help="only this; repeatable")
    parser.add_argument("clients", nargs="*", help=", ".join(CLIENTS))
    asked_for = parser.parse_args()
    names = [name for name in CLIENTS if name in asked_for.clients or not asked_for.clients]
    if not SHARED.is_dir():
        print("the scripted model of the shared clients folder is not here", file=sys.stderr)
        return 1
    cache = asked_for.cache.resolve()
    parts = asked_for.part or list(PARTS)
    if asked_for.inside:
        return inside(cache, names, parts)
    packages.install(cache, tuple(names))
    FOLDER.mkdir(parents=True, exist_ok=True)
    flags = ["-n", "-m", "-p", "-f", "--mount-proc", *([] if os.geteuid() == 0 else ["-r"])]
    words = [sys.executable, "-m", "tests.e2e_clients.run", "--inside", "--cache", str(cache)]
    chosen = [word for part in parts for word in ("--part", part)]
    command = ["unshare", *flags, *words, *chosen, *names]
    return subprocess.run(command, cwd=packages.ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
