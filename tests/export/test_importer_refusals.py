"""An import takes nothing that is damaged, newer or forgotten, and cleans what it takes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from tests.export.export_commands import bring, export, run, told
from tests.invariants.broken import everything_stored

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.store.lock import exclusive
from session_memory.testing.faults import failing_disk
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def path(here: Workspace) -> Path:
    """An export of the samples."""
    write_samples(here.claude)
    here.sweep()
    return export(here)


def edit_lines(path: Path, old: str, new: str, count: int = -1) -> None:
    """Change an export as its maker could have, so that its hashes are right."""
    lines = path / "sessions.jsonl"
    text = lines.read_text("utf-8")
    assert old in text
    lines.write_text(text.replace(old, new, count), "utf-8")
    manifest = json.loads((path / "manifest.json").read_text("utf-8"))
    data = lines.read_bytes()
    manifest["files"][0].update(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
    (path / "manifest.json").write_text(json.dumps(manifest), "utf-8")


def edit_manifest(path: Path, **fields: Any) -> None:
    manifest = json.loads((path / "manifest.json").read_text("utf-8"))
    (path / "manifest.json").write_text(json.dumps({**manifest, **fields}), "utf-8")


@pytest.mark.parametrize("at", [0.0, 0.5, 0.999])
def test_one_flipped_bit_is_refused_before_anything_is_written(
    there: Workspace, path: Path, at: float
) -> None:
    data = bytearray((path / "sessions.jsonl").read_bytes())
    data[int(len(data) * at)] ^= 1
    (path / "sessions.jsonl").write_bytes(bytes(data))
    code, _, err = run(there, "store", "import", str(path))
    assert (code, "damaged" in err, "hint:" in err) == (8, True, True)
    assert not there.store_directory.exists()


@pytest.mark.parametrize("keep", [0, 1000])
def test_a_cut_export_is_refused(there: Workspace, path: Path, keep: int) -> None:
    data = (path / "sessions.jsonl").read_bytes()
    (path / "sessions.jsonl").write_bytes(data[:keep])
    assert run(there, "store", "import", str(path))[0] == 8
    assert not there.store_directory.exists()


def test_an_export_without_its_manifest_or_lines_is_no_export(there: Workspace, path: Path) -> None:
    (path / "sessions.jsonl").rename(path / "elsewhere")
    code, _, err = run(there, "store", "import", str(path))
    assert (code, "sessions.jsonl is missing" in err) == (1, True)
    (path / "manifest.json").unlink()
    code, _, err = run(there, "store", "import", str(path))
    assert (code, "not a complete export" in err) == (1, True)


def test_an_export_of_a_newer_program_is_refused_with_a_hint(there: Workspace, path: Path) -> None:
    edit_manifest(path, format=2, version="9.0", counts="in another shape")
    code, _, err = run(there, "store", "import", str(path))
    assert code == 8
    assert "a newer session-memory (9.0) wrote this export" in err
    assert "hint: upgrade session-memory" in err


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"log":0,"pos"', '"log":7,"pos"'),
        ('"pos":0', '"pos":-1'),
        ('"kind":"user_prompt"', '"kind":"order"'),
        ('"record":"event"', '"record":"else"'),
    ],
)
def test_an_export_that_makes_no_sense_is_refused_whole(
    there: Workspace, path: Path, old: str, new: str
) -> None:
    edit_lines(path, old, new)
    assert run(there, "store", "import", str(path))[0] == 8
    assert there.dump() == []


@pytest.mark.parametrize("key", ["", "zz", "00", "00" * 65])
def test_a_manifest_with_a_senseless_key_is_refused(there: Workspace, path: Path, key: str) -> None:
    edit_manifest(path, fingerprint_key=key)
    assert run(there, "store", "import", str(path))[0] == 8


def test_a_forgotten_session_does_not_come_back(here: Workspace, path: Path) -> None:
    name = sorted(s for s, v in here.sessions().items() if v.parent_external_id is None)[0]
    here.forget(sessions=(name,))
    before = here.dump()
    taken = bring(here, path)
    assert taken["forgotten"] >= 1
    assert (taken["new"], name in here.sessions()) == (0, False)
    assert here.dump() == before


def test_a_forgotten_event_does_not_come_back_even_where_it_held_a_secret(
    here: Workspace,
) -> None:
    log = ClaudeLog(8)
    log.prompt("keep this")
    log.prompt(f"the zebrawood token is {TOKEN}")
    log.prompt("the zebrawood without")
    here.write(log)
    here.sweep()
    path = export(here)
    here.forget(text="zebrawood")
    before = here.dump()
    assert bring(here, path)["forgotten_events"] == 2
    assert here.dump() == before
    assert [e.text for e in here.events(log.session_id)] == ["keep this"]


def test_everything_is_redacted_again(there: Workspace, here: Workspace) -> None:
    log = ClaudeLog(8, cwd="/srv/placeholder-cwd")
    log.prompt("placeholder-prompt")
    log.run("placeholder-command", "placeholder-output")
    log.title("placeholder-title")
    here.write(log)
    here.sweep()
    path = export(here)
    edit_lines(path, "placeholder-", f"{TOKEN} ")
    assert bring(there, path)["redactions"]
    assert [d for d in everything_stored(there.store_directory) if TOKEN.encode() in d] == []
    assert "[REDACTED_SECRET:" in (there.events(log.session_id)[0].text or "")


def test_an_export_cannot_confirm_a_guess_at_a_secret(here: Workspace) -> None:
    log = ClaudeLog(8)
    log.prompt(f"the token is {TOKEN}")
    log.say("thanks")
    here.write(log)
    here.sweep()
    path = export(here)
    with here.store() as store:
        fingerprints = [e.fingerprint for e in store.events(store.find_session("1").id)]
        digest = store.digest(store.find_session("1").id)
        tag_key = store.tag_key
    whole = b"".join(file.read_bytes() for file in path.iterdir()).decode()
    assert TOKEN not in whole
    assert digest is not None
    assert digest.source_fingerprint not in whole
    assert tag_key.hex() not in whole
    for number in fingerprints:
        assert str(number) not in whole
        assert number.to_bytes(8, "big", signed=True).hex() not in whole


def test_a_dry_run_writes_nothing_and_says_what_is_new(there: Workspace, path: Path) -> None:
    wanted = told(there, "store", "import", str(path), "--dry-run")
    assert not there.store_directory.exists()
    there.sweep()
    again = told(there, "store", "import", str(path), "--dry-run")
    assert there.dump() == []
    done = bring(there, path)
    for key in ("new", "events", "known", "grown"):
        assert wanted[key] == again[key] == done[key]


@pytest.mark.parametrize("verb", ["store export", "store import"])
def test_nothing_is_exported_or_imported_while_a_sweep_runs(
    here: Workspace, path: Path, verb: str
) -> None:
    with exclusive(str(here.store_directory / "sweep.lock"), "a sweep"):
        target = here.root / "second" if verb == "store export" else path
        code, _, err = run(here, *verb.split(), str(target))
    assert (code, "a sweep is already running" in err) == (6, True)
    assert not (here.root / "second").exists()


def test_an_export_overwrites_nothing(here: Workspace, path: Path) -> None:
    assert run(here, "store", "export", str(path))[0] == 8
    taken = here.root / "mine.jsonl"
    taken.write_text("mine", "utf-8")
    assert run(here, "store", "export", str(taken))[0] == 8
    assert taken.read_text("utf-8") == "mine"


@pytest.mark.parametrize("nth", [1, 5, 20, 60])
def test_an_import_that_the_disk_fails_can_be_done_again(
    there: Workspace, here: Workspace, path: Path, nth: int
) -> None:
    told(there, "store", "import", str(path), "--dry-run")
    there.sweep()  # an empty store, so that the fault hits the import
    with failing_disk("disk full", nth) as counter:
        code, _, _ = run(there, "store", "import", str(path))
    assert (code == 0) == (not counter.failed)
    assert [f for f in there.findings() if not f.startswith("orphan_segment")] == []
    bring(there, path)
    assert there.dump() == here.dump()
    there.sweep()  # removes what was written for rows that never came
    assert there.findings() == []
