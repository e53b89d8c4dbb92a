"""What an agent runs at its events: notes the event, wakes the worker, gives memory back, exits 0.

Run as `python -I -S entry.py EVENT [CLIENT]`, payload on stdin or as last argument (docs/hooks.md).
The agent waits for it, so it imports nothing of ours and nothing slow: `json` alone costs as much
as the interpreter, `typing` half of that. It is one file so that it can be copied to a place that
survives upgrades of the package. Whatever goes wrong, the agent must not notice.
"""

import os
import stat
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeGuard

VERSION = 1
PAYLOAD_LIMIT = 1 << 20
STDIN_SECONDS = 1.0
ID_LIMIT, PATH_LIMIT, WORD_LIMIT = 200, 4096, 64
SPOOL_LIMIT = 10_000
"""Records that may wait: a spool nobody drains must not fill the disk."""
LOG_LIMIT = 256 * 1024
INJECTION_LIMIT = 9_500
"""Characters; Claude Code parks more than 10,000 in a file instead of showing them."""
CUT_NOTE = "\n[shortened]"
O_BINARY, O_NOFOLLOW = getattr(os, "O_BINARY", 0), getattr(os, "O_NOFOLLOW", 0)

CLIENTS = ("claude", "codex", "grok", "gemini", "qwen", "copilot", "opencode", "pi")
INJECTED = ("claude", "codex", "qwen", "gemini")
"""Clients that take context from what is printed at session start; others ignore or refuse it."""
WAKING = ("session_", "stop", "agent_", "subagent_stop", "after_agent", "pre_compact")
"""Beginnings of events at which an agent comes to rest; what is between them can wait for them."""
OPENCODE_EVENTS = ("session_created", "session_idle", "session_compacted", "session_deleted")
"""Its plug-in sees every piece of every message; these are the ones that end something."""
GEMINI_EVENTS = ("before_agent", "after_agent", "before_tool", "after_tool", "pre_compress")
SESSION_VARIABLES = (
    ("gemini", "GEMINI_SESSION_ID"),
    ("qwen", "QWEN_CODE_SESSION_ID"),
    ("copilot", "COPILOT_AGENT_SESSION_ID"),
    ("claude", "CLAUDE_CODE_SESSION_ID"),
)
TRANSCRIPT_MARKS = (
    ("codex", "/rollout-"),
    ("qwen", "/.qwen/"),
    ("gemini", "/.gemini/"),
    ("copilot", "/session-state/"),
    ("claude", "/.claude/"),
)
FIELDS = (
    ("session", "id", ("sessionid", "threadid")),
    ("agent", "id", ("agentid", "subagentid")),
    ("parent", "id", ("parentagentid",)),
    ("turn", "id", ("turnid", "promptid")),
    ("model", "id", ("model",)),
    ("transcript", "path", ("transcriptpath",)),
    ("agent_transcript", "path", ("agenttranscriptpath",)),
    ("cwd", "path", ("cwd", "directory", "workspaceroot")),
    ("source", "word", ("source",)),
    ("reason", "word", ("reason", "stopreason")),
    ("trigger", "word", ("trigger",)),
    ("client", "word", ("client",)),
    ("time", "time", ("timestamp",)),
)
"""Field of the record, kind of value, folded payload keys by preference. What is not listed never
leaves this process: no prompt, no answer, no tool input or output."""
WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:+/")
CONTROL = dict.fromkeys((*range(32), *range(127, 160), 0x2028, 0x2029, *range(0xD800, 0xE000)))
UNESCAPED = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"}
BLANK = " \t\r\n\ufeff"


class HookError(Exception):
    """Nothing can be noted; the message is our own, so it may be logged."""


class _Plain:
    """What the C scanner asks its decoder for; newer ones ask for more hooks, and get None."""

    strict = False
    parse_float = float
    parse_int = int

    def __getattr__(self, name: str) -> None:
        return None


def _codec() -> "tuple[Callable[[str, int], tuple[Any, int]], Callable[[str], str]]":
    """The scanner and the string encoder inside `json`, without its import of `re`."""
    try:
        from _json import encode_basestring_ascii, make_scanner

        return make_scanner(_Plain()), encode_basestring_ascii  # type: ignore[arg-type]
    except (ImportError, AttributeError, TypeError):  # another interpreter, or a changed one
        import json

        return json.JSONDecoder(strict=False).raw_decode, json.dumps


_scan, _quote = _codec()


def _is_object(value: object) -> "TypeGuard[dict[str, object]]":
    return isinstance(value, dict)


def _is_list(value: object) -> "TypeGuard[list[object]]":
    return isinstance(value, list)


def _skip(text: str, at: int, characters: str) -> int:
    while text[at : at + 1] and text[at] in characters:
        at += 1
    return at


def read_object(text: str) -> dict[str, object] | None:
    """The JSON object that `text` begins with, or None."""
    try:
        value, _ = _scan(text, _skip(text, 0, BLANK))
    except (ValueError, StopIteration, RecursionError):
        return None
    return value if _is_object(value) else None


def salvage(text: str) -> dict[str, object]:
    """The members before the place where an object is cut off or damaged."""
    found: dict[str, object] = {}
    at = _skip(text, 0, BLANK)
    try:
        while text[at : at + 1] in ("{", ","):
            key, at = _scan(text, _skip(text, at + 1, BLANK))
            value, at = _scan(text, _skip(text, at, BLANK + ":"))
            found[str(key)] = value
            at = _skip(text, at, BLANK)
    except (ValueError, StopIteration, RecursionError):
        pass
    return found


def repaired(text: str) -> str:
    """The text with lone backslashes doubled: some hosts paste Windows paths in as they are."""
    pieces: list[str] = []
    for piece in text.split("\\\\"):
        first, *rest = piece.split("\\")
        pieces.append(first + "".join(("\\" if p[:1] == '"' else "\\\\") + p for p in rest))
    return "\\\\".join(pieces)


def read_payload(data: bytes, cut: bool) -> dict[str, object]:
    """All members of the payload, or of a cut or damaged one those that can be read."""
    text = data.decode("utf-8", "replace")
    whole = None if cut else read_object(text)
    if whole is None and not cut:
        text = repaired(text)
        whole = read_object(text)
    return salvage(text) if whole is None else whole


def write_object(record: "Mapping[str, object]") -> bytes:
    """One line of ASCII JSON, from text, numbers and lists of text."""

    def shown(value: object) -> str:
        if _is_list(value):
            return f"[{','.join(_quote(str(item)) for item in value)}]"
        return _quote(value) if isinstance(value, str) else str(value)

    members = [f"{_quote(key)}:{shown(value)}" for key, value in record.items()]
    return ("{" + ",".join(members) + "}\n").encode("ascii")


def read_stdin() -> tuple[bytes, bool]:
    """What the host wrote, and whether that was more than is kept.

    A host may never close the pipe, and one that gets EPIPE may fail: so this reads to the end, but
    stops at a complete object when nothing follows, and after a second in any case.
    """
    import select

    data, size = bytearray(), 0
    deadline = time.monotonic() + STDIN_SECONDS
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([0], [], [], 0)[0]:
            if not data[-1:].strip(b"} \r\n") and read_object(data.decode("utf-8", "replace")):
                break
            if not select.select([0], [], [], left)[0]:
                break
        chunk = os.read(0, 1 << 16)
        if not chunk:
            break
        size += len(chunk)
        data += chunk[: PAYLOAD_LIMIT - len(data)]
    return bytes(data), size > PAYLOAD_LIMIT


def read_stdin_in_thread() -> tuple[bytes, bool]:
    """The same where a pipe cannot be waited for; the thread is left behind when time is up."""
    import threading

    chunks: list[bytes] = []

    def pump() -> None:
        while chunk := os.read(0, 1 << 16):
            chunks.append(chunk)

    thread = threading.Thread(target=pump, daemon=True)
    thread.start()
    thread.join(STDIN_SECONDS)
    data = b"".join(chunks)
    return data[:PAYLOAD_LIMIT], len(data) > PAYLOAD_LIMIT


def read_input(arguments: list[str]) -> tuple[bytes, bool]:
    """The payload: the last argument where that is JSON (Codex notify), else stdin."""
    if arguments and arguments[-1].lstrip()[:1] == "{":
        return arguments[-1].encode("utf-8", "replace"), False
    try:
        if os.isatty(0):
            return b"", False
        return read_stdin_in_thread() if os.name == "nt" else read_stdin()
    except OSError:  # closed, or a directory: as good as empty
        return b"", False


def cleaned(kind: str, value: object) -> str | int | None:
    """The value as it may be kept, or None. Too long is left out: a shortened id is another id."""
    if kind == "time" and isinstance(value, int) and abs(value) < 10**18:
        return int(value)
    if not isinstance(value, str):
        return None
    if kind in ("word", "time"):
        return value if 0 < len(value) <= WORD_LIMIT and WORD.issuperset(value) else None
    if kind == "path" and value[1:2] == ":":  # "C:\temp", unescaped, was read as C: tab "emp"
        value = value.translate(UNESCAPED)
    value = value.translate(CONTROL)
    return value if 0 < len(value) <= (PATH_LIMIT if kind == "path" else ID_LIMIT) else None


def snake(name: str) -> str:
    """An event's name in one spelling: SessionStart and session.start become session_start."""
    out = ""
    for character in name:
        if character in "-.:/+":
            character = "_"
        out += "_" if character.isupper() and out[-1:] not in ("", "_") else ""
        out += character.lower()
    return out


def folded(payload: "Mapping[str, object]") -> dict[str, object]:
    """The payload under keys without case, "_" and "-": each client spells them its own way."""
    found: dict[str, object] = {}
    inner = payload.get("properties")  # OpenCode nests
    for layer in (payload, inner, inner.get("info") if _is_object(inner) else None):
        for key, value in layer.items() if _is_object(layer) else ():
            found.setdefault(key.replace("_", "").replace("-", "").lower(), value)
    return found


def event_of(given: str, payload: "Mapping[str, object]", keys: "Mapping[str, object]") -> str:
    """The event as the payload names it, else as the command line does; "" for none of ours."""
    kind = keys.get("type")
    if isinstance(kind, str) and kind.replace("_", "-") == "agent-turn-complete":
        return "agent_turn_complete"
    if given == "notify":
        return ""
    named = keys.get("hookeventname") or (kind if "properties" in payload else None)
    return snake(str(cleaned("word", named) or cleaned("word", given) or ""))


def client_of(
    event: str, payload: "Mapping[str, object]", environ: "Mapping[str, str]", hint: str | None
) -> str:
    """Which client runs this hook. Grok runs Claude's hooks too, so it is looked for first.

    A variable counts only with this very session in it: one agent may run inside another.
    """
    keys = folded(payload)
    session, grok = keys.get("sessionid"), environ.get("GROK_SESSION_ID")
    if event == "agent_turn_complete":
        return "codex"
    if "hookEventName" in payload or (grok and session in (None, grok)):
        return "grok"
    path = str(keys.get("transcriptpath")).replace("\\", "/")
    found = [client for client, name in SESSION_VARIABLES if environ.get(name, "") == session]
    found += [client for client, mark in TRANSCRIPT_MARKS if mark in path]
    if hint or found:
        return hint or found[0]
    if "sessionID" in payload or "properties" in payload:
        return "opencode"
    if "sessionId" in payload:
        return "copilot"
    if event in GEMINI_EVENTS:
        return "gemini"
    return "codex" if "turnid" in keys else "claude" if environ.get("CLAUDECODE") else "unknown"


def is_false_alarm(client: str, event: str, keys: "Mapping[str, object]") -> bool:
    """Events that clients fire although nothing of the kind happened (versions: docs/hooks.md)."""
    if (client, event) == ("grok", "stop"):
        return keys.get("reason") == "shutdown"  # a second Stop, after SessionEnd
    if (client, event) == ("grok", "session_end"):
        return bool(keys.get("subagenttype"))
    if (client, event) == ("claude", "subagent_stop"):
        return keys.get("agenttype") == ""  # during /compact; its transcript never exists
    return client == "opencode" and event not in OPENCODE_EVENTS


def make_record(
    arguments: list[str], payload: "Mapping[str, object]", environ: "Mapping[str, str]"
) -> dict[str, object] | None:
    """The allow-listed part of an event, or None where there is nothing to note."""
    keys = folded(payload)
    words = [word for word in arguments if word[:1] != "{"]
    event = event_of(words[0] if words else "", payload, keys)
    hint = words[1] if len(words) > 1 and words[1] in CLIENTS else None
    client = client_of(event, payload, environ, hint)
    if not event or is_false_alarm(client, event, keys):
        return None
    if client == "grok":
        keys.setdefault("sessionid", environ.get("GROK_SESSION_ID"))
    now = time.time_ns()
    unique = f"{now:020d}-{os.getpid()}-{os.urandom(4).hex()}"
    record: dict[str, object] = {"v": VERSION, "id": unique, "at": now // 1_000_000}
    record.update(flavor=client, event=event, ppid=os.getppid())
    for field, kind, names in FIELDS:
        for name in reversed(names):
            value = cleaned(kind, keys.get(name))
            if value is not None:
                record[field] = value
    return record if "session" in record or "transcript" in record else None


def state_dir(environ: "Mapping[str, str]", platform: str) -> str:
    """Our state directory, the same as `paths.find_paths(environ).state`."""
    moved, xdg = environ.get("SESSION_MEMORY_HOME"), environ.get("XDG_STATE_HOME", "")
    user = os.path.expanduser("~")
    if moved:
        return os.path.join(os.getcwd(), os.path.expanduser(moved), "state")
    if platform == "win32":
        base = environ.get("LOCALAPPDATA") or os.path.join(user, "AppData", "Local")
    elif os.path.isabs(xdg):
        base = xdg
    else:
        below = "Library/Application Support" if platform == "darwin" else ".local/state"
        base = os.path.join(user, below)
        if not os.path.isabs(base):  # or this would write into whatever repository it is run in
            raise HookError("there is no home directory")
    return os.path.join(base, "session-memory")


def read_small(path: str) -> bytes | None:
    """A file; None where there is none, b"" where a link, a pipe or the like is in its place."""
    flags = os.O_RDONLY | O_BINARY | O_NOFOLLOW | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        return None if isinstance(error, FileNotFoundError) else b""
    regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
    data = os.read(descriptor, PAYLOAD_LIMIT) if regular else b""
    os.close(descriptor)
    return data


def read_json(path: str) -> dict[str, object]:
    """An object of ours; empty where the file is missing or broken."""
    return read_object((read_small(path) or b"").decode("utf-8", "replace")) or {}


def spool(home: str, record: "Mapping[str, object]") -> None:
    """Put the record down whole or not at all (protocol: core/spool.py)."""
    folder = os.path.join(home, "spool")
    os.makedirs(folder, exist_ok=True)  # private by the umask
    info = os.lstat(folder)
    if not stat.S_ISDIR(info.st_mode) or (os.name == "posix" and info.st_uid != os.geteuid()):
        raise HookError("the spool is not a directory of ours")
    if os.name == "posix" and info.st_mode & 0o077:
        os.chmod(folder, 0o700)
    if len(os.listdir(folder)) >= SPOOL_LIMIT:
        raise HookError("the spool is full: no worker drains it")
    name = os.path.join(folder, str(record["id"]))
    data = write_object(record)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | O_BINARY
    descriptor = os.open(name + ".new", flags, 0o600)
    written = os.write(descriptor, data)
    os.close(descriptor)
    if written != len(data):
        os.unlink(name + ".new")
        raise HookError("the record was not written whole: disk full?")
    os.rename(name + ".new", name + ".json")


def complain(home: str, event: str, what: str) -> None:
    """One line for the doctor, without anything that came in with a payload."""
    path = os.path.join(home, "hook-errors.log")
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = f"{moment} {cleaned('word', event) or '-'} {what}\n".encode()
    try:
        os.makedirs(home, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | O_BINARY | O_NOFOLLOW
        descriptor = os.open(path, flags, 0o600)
        if os.fstat(descriptor).st_size + len(line) > LOG_LIMIT:
            os.ftruncate(descriptor, 0)
        os.write(descriptor, line)
    except OSError:
        pass  # nowhere left to say it, and the agent must not hear of it


def worker_runs(home: str) -> bool:
    """Whether somebody holds the worker's lock, which dies with its holder."""
    try:
        descriptor = os.open(os.path.join(home, "worker.lock"), os.O_RDWR)
    except OSError:
        return False
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            # Shared: hooks that look at the same time must not take each other for the worker.
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def wake(home: str, command: object) -> None:
    """Start the worker unless one runs; nothing of it is waited for."""
    words = [str(word) for word in command] if _is_list(command) else []
    if not words or not os.path.isabs(words[0]) or worker_runs(home):
        return
    if sys.platform == "win32":
        import subprocess

        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
        null = subprocess.DEVNULL
        subprocess.Popen(words, stdin=null, stdout=null, stderr=null, cwd=home, creationflags=flags)
    elif os.fork() == 0:  # `subprocess` would cost 15 ms
        try:
            os.setsid()
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(null, descriptor)
            os.closerange(3, 4096)  # a pipe of the host that stays open would hang the host
            os.chdir(home)
            os.execv(words[0], words)
        finally:
            os._exit(127)


def project_root(cwd: str) -> str:
    """The directory of the nearest `.git`, else `cwd`; a whole home directory is no repository."""
    place = here = os.path.realpath(cwd)
    user = os.path.realpath(os.path.expanduser("~"))
    while here not in (user, os.path.dirname(here)):
        if os.path.lexists(os.path.join(here, ".git")):
            return here
        here = os.path.dirname(here)
    return place


def is_switched_off(root: str) -> bool:
    """Whether the repository asks to be left alone; a file that cannot be read asks for it too."""
    data = read_small(os.path.join(root, ".session-memory.toml"))
    if data is None:
        return False
    import tomllib  # 10 ms, and few repositories have the file

    try:
        return tomllib.loads(data.decode()).get("enabled", bool(data)) is not True
    except (ValueError, RecursionError):
        return True


def compose(
    page: "Mapping[str, object]", session: str, today: str
) -> tuple[str, list[str], list[str]]:
    """The text for a session, and the sections its trial arms give and hold back."""
    import hashlib

    given: list[str] = []
    held: list[str] = []
    text = f"Today is {today}.\n\n{page.get('text') or ''}".rstrip()
    if len(text) > INJECTION_LIMIT:
        kept = text[: INJECTION_LIMIT - len(CUT_NOTE)]
        text = kept[: kept.rfind("\n")] + CUT_NOTE
    room = INJECTION_LIMIT - len(text)
    sections = page.get("sections")
    for section in filter(_is_object, sections if _is_list(sections) else []):
        name, body, trial = str(section.get("id")), str(section.get("text")), section.get("trial")
        # A held section takes its room too: else the arms would differ in what else fits.
        room -= len(body) + 2
        if room < 0:
            break
        pattern = str(trial.get("pattern") or name) if _is_object(trial) else None
        arm = hashlib.sha256(f"{session}\0{pattern}".encode()).digest()[0] & 1
        if pattern is None or arm:
            given.append(name)
            text += f"\n\n{body}"
        else:
            held.append(name)
    return text, given, held


def find_page(home: str, record: "Mapping[str, object]") -> dict[str, object] | None:
    """What the worker prepared for the project this session works in."""
    cwd = record.get("cwd")
    if record["flavor"] not in INJECTED or "agent" in record or not isinstance(cwd, str):
        return None
    import hashlib

    root = project_root(cwd)
    digest = hashlib.sha256(os.fsencode(root)).hexdigest()
    page = read_json(os.path.join(home, "inject", f"{digest}.json"))
    return None if page.get("v") != VERSION or is_switched_off(root) else page


def run(arguments: list[str], environ: "Mapping[str, str]", home: str) -> None:
    """Everything in order: what is spooled is what is given, and it is there before the worker."""
    data, cut = read_input(arguments)
    if not data.strip():
        return
    payload = read_payload(data, cut)
    if not payload:
        raise HookError(f"no JSON object in a payload of {len(data)} bytes")
    record = make_record(arguments, payload, environ)
    if record is None:
        return
    if cut:
        record["cut"] = 1
    settings = read_json(os.path.join(home, "hook.json"))
    wanted = settings.get("inject", bool(settings)) is True
    page = None
    if (
        record["event"] == "session_start"
        and wanted
        and environ.get("SESSION_MEMORY_INJECT") != "0"
    ):
        page = find_page(home, record)
    text = None
    if page is not None:
        today = time.strftime("%Y-%m-%d")
        text, given, held = compose(page, str(record.get("session")), today)
        record.update(given=given, held=held)
    spool(home, record)
    if text is not None:
        head = '{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":'
        os.write(1, f"{head}{_quote(text)}}}}}\n".encode("ascii"))
    if str(record["event"]).startswith(WAKING):
        wake(home, settings.get("worker"))


def main(arguments: list[str], environ: "Mapping[str, str]") -> None:
    """Run, and never fail."""
    if environ.get("SESSION_MEMORY_INTERNAL", "0") not in ("", "0"):
        return  # a model call of our own: noting it would make the worker call again
    os.umask(0o077)
    home = ""
    try:
        home = state_dir(environ, sys.platform)
        run(arguments, environ, home)
    except BaseException as error:  # noqa: BLE001 - an agent must not fail because of us
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        # Other messages than ours may quote the payload.
        what = f"{type(error).__name__} {getattr(error, 'errno', None) or ''}".strip()
        place = f" at line {trace.tb_lineno}" if trace is not None else ""
        if home:
            event = arguments[0] if arguments else ""
            complain(home, event, str(error) if isinstance(error, HookError) else what + place)


if __name__ == "__main__":
    try:
        main(sys.argv[1:], os.environ)
    finally:
        os._exit(0)  # spares the interpreter's tidying up, too
