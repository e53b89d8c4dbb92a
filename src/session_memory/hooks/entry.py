"""What an agent runs at its events: records the event, starts the worker, prints memory, exits 0.

Run as `python -I -S entry.py EVENT [AGENT [package]]`, payload on stdin or as last argument
(docs/hooks.md). The agent waits for it, so it imports nothing of ours and nothing slow: `json`
alone costs as much as the interpreter, `typing` half of that. It is one file so that it can be
copied to a place that survives upgrades of the package. Whatever goes wrong, the agent must not
notice.
"""

import os
import stat
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, TypeGuard

VERSION = 1
PAYLOAD_LIMIT, LOG_LIMIT, STDIN_SECONDS = 1 << 20, 256 * 1024, 1.0
LIMITS = {"id": 200, "path": 4096}
SPOOL_LIMIT = 10_000  # records that may wait: a spool that no worker empties must not fill the disk
INJECTION_LIMIT = 9_500  # characters; Claude Code parks more than 10,000 in a file
CUT_NOTE = "\n[shortened]"
LAUNCHER = "session-memory-hook"  # stands in every entry of ours, whatever the file
O_BINARY, O_NOFOLLOW = getattr(os, "O_BINARY", 0), getattr(os, "O_NOFOLLOW", 0)

# --- agents: made by `make docs` from adapters/*/__init__.py; do not edit these lines
AGENTS = (
    "claude",
    "codex",
    "grok",
    "gemini",
    "qwen",
    "opencode",
    "copilot",
    "pi",
    "crush",
    "kimi",
    "kiro",
    "zed",
    "cowork",
    "copilot_chat",
    "cursor",
    "droid",
)
# Agent, the variable that holds its session's id, a part of its transcripts' paths.
SIGNS = (
    ("droid", "", "/.factory/"),
    ("cursor", "", "/agent-transcripts/"),
    ("copilot", "COPILOT_AGENT_SESSION_ID", "/session-state/"),
    ("qwen", "QWEN_CODE_SESSION_ID", "/.qwen/"),
    ("gemini", "GEMINI_SESSION_ID", "/.gemini/"),
    ("grok", "GROK_SESSION_ID", ""),
    ("codex", "", "/rollout-"),
    ("claude", "CLAUDE_CODE_SESSION_ID", "/.claude/"),
)
# They drop what a hook prints at a session's start, and take it with a tool's result.
MEMORY_WITH_TOOL = ("grok",)
# Their models are given nothing that a hook prints.
NO_MEMORY = ("cursor",)
# What a hook prints at a start is in the system prompt there, until the process ends.
IN_SYSTEM_PROMPT = ("qwen",)
# They read `additionalContext` at the top of the answer.
FLAT_ANSWER = ("copilot",)
# Agents whose hook may be called for other events too, and the events that count.
ONLY_EVENTS = {
    "opencode": "session_created session_idle pre_compact session_compacted session_deleted session_end tool_execute_before",  # noqa: E501
}
# What guards can do there; in other agents they are silent.
GUARDED = {
    "claude": ("hint", "ask", "deny", "stop"),
    "codex": ("hint", "deny", "stop"),
    "gemini": ("hint after", "deny", "flat", "stop"),
    "opencode": ("hint", "deny"),
}
# Tools by what they do, and the members of their input that name a file.
SHELL_TOOLS = (
    " bash bashoutput killbash killshell shell localshell shellcommand exec execcommand writestdin"
    " runshellcommand runterminalcmd runterminalcommand terminal powershell unifiedexec execute "
)
EDIT_TOOLS = (
    " edit multiedit write writefile editfile createfile create strreplace strreplaceeditor"
    " searchreplace replace applypatch notebookedit deletefile "
)
READ_TOOLS = (
    " read readfile viewimage view notebookread readmanyfiles listdir listdirectory ls cat grep"
    " glob search searchfilecontent greppattern rg find codebasesearch toolsearch "
)
PATH_KEYS = ("filepath", "path", "absolutepath", "notebookpath", "targetfile", "filename")
# --- end of agents
# Event at which most agents pass on to their model what a hook prints, and that event's name in the
# answer; the second is for agents that drop it there. For OpenCode and pi our plug-in reads it.
AT_START, AT_TOOL = ("session_start", "SessionStart"), ("post_tool_use", "PostToolUse")
# A turn begins: what a session is told after a compaction may be ready only then.
AT_PROMPT = {"user_prompt_submit": "UserPromptSubmit", "before_agent": "BeforeAgent"}
# Beginnings of events at which an agent comes to rest; what is between them can wait for them.
WAKING = ("session_", "stop", "agent_", "subagent_stop", "after_agent", "pre_compact")
# They run hooks that were written for another agent, and know themselves by what they send.
BORROWERS = ("grok", "cursor", "droid")
GEMINI_EVENTS = ("before_agent", "after_agent", "before_tool", "after_tool", "pre_compress")
# Field of the record, kind of value, folded payload keys, the best last. What is not listed never
# leaves this process: no prompt, no answer, no tool input or output.
FIELDS = (
    ("session", "id", ("conversationid", "threadid", "sessionid")),
    ("agent", "id", ("subagentid", "agentid")),
    ("parent", "id", ("parentagentid",)),
    ("turn", "id", ("promptid", "turnid")),
    ("model", "id", ("model",)),
    ("transcript", "path", ("transcriptpath",)),
    ("agent_transcript", "path", ("agenttranscriptpath",)),
    ("cwd", "path", ("firstroot", "workspaceroot", "directory", "cwd")),
    ("source", "word", ("source",)),
    ("reason", "word", ("stopreason", "reason")),
    ("trigger", "word", ("trigger",)),
    ("client", "word", ("client",)),
    ("time", "time", ("timestamp",)),
)
WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:+/")
CONTROL = dict.fromkeys((*range(32), *range(127, 160), 0x2028, 0x2029, *range(0xD800, 0xE000)))
UNESCAPED = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"}


class HookError(Exception):
    """The event cannot be recorded; the message is our own, so it may be logged."""


class _Plain:
    """What the scanner inside `json` asks its decoder for."""

    strict, parse_float, parse_int, parse_constant = False, float, int, float
    object_hook = object_pairs_hook = array_hook = None


def _codec() -> "tuple[Callable[[str, int], tuple[Any, int]], Callable[[object], str]]":
    """The scanner and the encoder inside `json`, without its import of `re`."""
    try:
        from _json import encode_basestring_ascii, make_encoder, make_scanner

        plain = (encode_basestring_ascii, None, ":", ",", False, False, False)
        encode = make_encoder(None, repr, *plain)
        return make_scanner(_Plain()), lambda value: "".join(encode(value, 0))  # type: ignore[arg-type]
    except (ImportError, AttributeError, TypeError):  # another interpreter, or a changed one
        import json

        return json.JSONDecoder(strict=False).raw_decode, json.dumps


_scan, _dump = _codec()


def _is_object(value: object) -> "TypeGuard[dict[str, object]]":
    return isinstance(value, dict)


def _is_list(value: object) -> "TypeGuard[list[object]]":
    return isinstance(value, list)


def read_object(data: bytes | str) -> tuple[dict[str, object], bool]:
    """The members of a JSON object, up to where it is cut off or damaged, and if it is whole."""
    text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    fields: dict[str, object] = {}

    def skip(at: int, also: str = "") -> int:
        while text[at : at + 1] and text[at] in " \t\r\n\ufeff" + also:
            at += 1
        return at

    at = skip(0)
    try:
        while text[at : at + 1] in ("{", ",") and text[skip(at + 1)] != "}":
            key, at = _scan(text, skip(at + 1))
            fields[str(key)], at = _scan(text, skip(at, ":"))
            at = skip(at)
    except (ValueError, StopIteration, IndexError, RecursionError, SystemError):
        return fields, False  # SystemError: 3.11 looks for its own error class in `json.decoder`
    return fields, text[at : at + 1] in ("{", "}")


def repaired(text: str) -> str:
    """The text with lone backslashes doubled: some hosts paste Windows paths in as they are."""
    pieces: list[str] = []
    for piece in text.split("\\\\"):
        first, *rest = piece.split("\\")
        pieces.append(first + "".join(("\\" if p[:1] == '"' else "\\\\") + p for p in rest))
    return "\\\\".join(pieces)


def read_input(arguments: list[str]) -> tuple[bytes, bool]:
    """The payload, from the last argument if that is JSON, and whether it was more than is kept.

    A host may never close the pipe, and one that gets EPIPE may fail. So a thread, which is left
    behind if need be, reads to the end, and the wait ends at a whole object or after a second.
    """
    if arguments and arguments[-1].lstrip()[:1] == "{":
        return arguments[-1].encode("utf-8", "replace"), False
    if os.isatty(0):
        return b"", False
    import _thread

    data, ended = bytearray(), _thread.allocate_lock()

    def pump() -> None:
        try:
            while chunk := os.read(0, 1 << 16):
                data.extend(chunk if len(data) <= PAYLOAD_LIMIT else b"")
        except OSError:
            pass  # closed, or a directory: as good as empty
        ended.release()

    ended.acquire()
    _thread.start_new_thread(pump, ())
    deadline = time.monotonic() + STDIN_SECONDS
    while not ended.acquire(timeout=0.02) and time.monotonic() < deadline:
        if not data[-1:].strip(b"} \r\n") and data and read_object(bytes(data))[1]:
            break
    return bytes(data[:PAYLOAD_LIMIT]), len(data) > PAYLOAD_LIMIT


def cleaned(kind: str, value: object) -> str | int | None:
    """The value as it may be kept, or None. Too long is left out: a shortened id is another id."""
    if kind == "time" and type(value) is int and abs(value) < 10**18:
        return value
    if not isinstance(value, str) or not value:
        return None
    if kind in ("word", "time"):
        return value if len(value) <= 64 and WORD.issuperset(value) else None
    if kind == "path" and value[1:2] == ":":  # "C:\temp", unescaped, was read as C: tab "emp"
        value = value.translate(UNESCAPED)
    value = value.translate(CONTROL)
    return value if 0 < len(value) <= LIMITS[kind] else None


def snake(name: str) -> str:
    """An event's name in one spelling: SessionStart and session.start become session_start."""
    out = ""
    for character in name:
        out += "_" if character.isupper() and out[-1:] not in ("", "_") else ""
        out += "_" if character in "-.:/+" else character.lower()
    return out


def folded(payload: "Mapping[str, object]") -> dict[str, object]:
    """The payload under keys without case, "_" and "-": each client spells them its own way."""
    fields: dict[str, object] = {}
    inner = payload.get("properties")  # OpenCode nests
    for layer in (payload, inner, inner.get("info") if _is_object(inner) else None):
        for key, value in layer.items() if _is_object(layer) else ():
            fields.setdefault(key.replace("_", "").replace("-", "").lower(), value)
    return fields


def event_of(given: str, payload: "Mapping[str, object]", keys: "Mapping[str, object]") -> str:
    """The event as the payload names it, else as the command line does; "" for none of ours."""
    kind = keys.get("type")
    if isinstance(kind, str) and kind.replace("_", "-") == "agent-turn-complete":
        return "agent_turn_complete"
    if given == "notify":
        return ""
    named = keys.get("hookeventname") or (kind if "properties" in payload else None)
    return snake(str(cleaned("word", named) or cleaned("word", given) or ""))


def client_of(event: str, payload: "Mapping[str, object]", environ: "Mapping[str, str]") -> str:
    """Which client runs this hook, by what it sends.

    A variable counts only with this very session in it: one agent may run inside another.
    """
    keys = folded(payload)
    session, grok = keys.get("sessionid"), environ.get("GROK_SESSION_ID")
    path = str(keys.get("transcriptpath")).replace("\\", "/")
    if event == "agent_turn_complete":
        return "codex"
    if "hookEventName" in payload or (grok and session in (None, grok)):
        return "grok"
    if "generationid" in keys and "workspaceroots" in keys:
        return "cursor"
    signs = [client for client, name, _ in SIGNS if session and environ.get(name) == session]
    signs += [client for client, _, part in SIGNS if part and part in path]
    if signs:
        return signs[0]
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
    return event not in ONLY_EVENTS.get(client, event).split()


def make_record(
    arguments: list[str], payload: "Mapping[str, object]", environ: "Mapping[str, str]"
) -> dict[str, object] | None:
    """The allow-listed part of an event, or None where there is nothing to record."""
    keys = folded(payload)
    words = [*(word for word in arguments if word[:1] != "{"), "", ""]
    event, hint = event_of(words[0], payload, keys), words[1]
    client = client_of(event, payload, environ)
    client = hint if hint in AGENTS and client not in BORROWERS else client
    if not event or is_false_alarm(client, event, keys):
        return None
    if client == "grok":
        keys.setdefault("sessionid", environ.get("GROK_SESSION_ID"))
    roots = keys.get("workspaceroots")  # Cursor opens several folders in one window
    keys["firstroot"] = roots[0] if _is_list(roots) and roots else None
    now = time.time_ns()
    unique = f"{now:020d}-{os.getpid()}-{os.urandom(4).hex()}"
    record: dict[str, object] = {"v": VERSION, "id": unique, "at": now // 1_000_000}
    record.update(flavor=client, event=event, ppid=os.getppid())
    for field, kind, names in FIELDS:
        for name in names:
            value = cleaned(kind, keys.get(name))
            if value is not None:
                record[field] = value
    return record if "session" in record or "transcript" in record else None


def state_dir(environ: "Mapping[str, str]", platform: str) -> str:
    """Our state directory, the same as `paths.find_paths(environ).state`."""
    moved, xdg = environ.get("SESSION_MEMORY_HOME"), environ.get("XDG_STATE_HOME", "")
    if moved:
        return os.path.join(os.getcwd(), os.path.expanduser(moved), "state")
    base = "~/Library/Application Support" if platform == "darwin" else "~/.local/state"
    if platform == "win32":
        base = environ.get("LOCALAPPDATA") or "~\\AppData\\Local"
    base = os.path.expanduser(xdg if os.path.isabs(xdg) and platform != "win32" else base)
    if not os.path.isabs(base) and base[1:2] != ":":  # it would be made wherever this is run
        raise HookError("there is no home directory")
    return os.path.join(base, "session-memory")


def read_small(path: str) -> bytes | None:
    """A file; None where there is none, b"" where a link, a pipe or the like is in its place."""
    try:
        flags = os.O_RDONLY | O_BINARY | O_NOFOLLOW | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(path, flags)
    except OSError as error:
        return None if isinstance(error, FileNotFoundError) else b""
    info = os.fstat(descriptor)
    size = min(info.st_size, PAYLOAD_LIMIT) if stat.S_ISREG(info.st_mode) else 0
    data = os.read(descriptor, size) if size else b""
    os.close(descriptor)
    return data


def spool(home: str, record: "Mapping[str, object]") -> None:
    """Write the record whole or not at all (protocol: core/spool.py)."""
    folder = os.path.join(home, "spool")
    os.makedirs(folder, exist_ok=True)  # private by the umask
    info = os.lstat(folder)
    if not stat.S_ISDIR(info.st_mode) or (os.name == "posix" and info.st_uid != os.geteuid()):
        raise HookError("the spool is not a directory of ours")
    if os.name == "posix" and info.st_mode & 0o077:
        os.chmod(folder, 0o700)
    if len(os.listdir(folder)) >= SPOOL_LIMIT:
        raise HookError("the spool is full: no worker drains it")
    name, data = os.path.join(folder, str(record["id"])), (_dump(record) + "\n").encode("ascii")
    descriptor = os.open(name + ".new", os.O_WRONLY | os.O_CREAT | os.O_EXCL | O_BINARY, 0o600)
    written = os.write(descriptor, data)
    os.close(descriptor)
    if written != len(data):
        raise HookError("the record was not written whole: disk full?")
    os.rename(name + ".new", name + ".json")


def log_error(home: str, event: str, what: str) -> None:
    """One line for the doctor, without anything that came in with a payload."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = f"{now} {cleaned('word', event) or '-'} {what}\n".encode()
    os.makedirs(home, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | O_BINARY | O_NOFOLLOW
    descriptor = os.open(os.path.join(home, "hook-errors.log"), flags, 0o600)
    if os.fstat(descriptor).st_size + len(line) > LOG_LIMIT:
        os.ftruncate(descriptor, 0)
    os.write(descriptor, line)


def worker_runs(home: str) -> bool:
    """Whether a process holds the worker's lock, which ends with its holder."""
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


def start(home: str, words: list[str]) -> None:
    """Start the worker detached; the hook does not wait for it."""
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


def sha256(data: bytes) -> bytes:
    """The hash without `hashlib`, which would load OpenSSL for it: 4 ms."""
    try:
        module = __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256")
    except ImportError:
        module = __import__("hashlib")
    return module.sha256(data).digest()


def project_levels(cwd: str) -> list[str]:
    """`cwd` and what lies above it up to the nearest `.git`; a whole home is no repository."""
    here = os.path.realpath(cwd)
    levels, home = [here], os.path.realpath(os.path.expanduser("~"))
    while here not in (home, os.path.dirname(here)):
        if here != levels[-1]:
            levels.append(here)
        if os.path.lexists(os.path.join(here, ".git")):
            break
        here = os.path.dirname(here)
    return levels


def relatives(levels: list[str]) -> list[str]:
    """The names of pages for other checkouts of the same repository: its worktrees and clones.

    A worktree counts where the main checkout names it too. Which pages there are, the worker
    decides; reading the git files is as in core/project/repository.py, where a clone is one by its
    remote, or by being cloned from that very folder.
    """
    work = levels[-1]
    git, names = os.path.join(work, ".git"), list[str]()
    pointer = read_text(git)
    if not os.path.lexists(git):  # in no checkout, but maybe in a bare repository
        git = levels[0] if os.path.exists(os.path.join(levels[0], "HEAD")) else ""
    elif pointer.startswith("gitdir:"):
        private = os.path.join(work, pointer[7:].strip())
        stated = read_text(os.path.join(private, "commondir")).strip()
        git = os.path.realpath(os.path.join(private, stated))
        back = read_text(os.path.join(private, "gitdir")).strip()
        if stated and os.path.realpath(back) == os.path.realpath(os.path.join(work, ".git")):
            main = os.path.dirname(git) if os.path.basename(git)[:1] == "." else git
            names += ["shared:" + main + level[len(work) :] for level in levels]
    url = remote_url(read_text(os.path.join(git, "config"))) if git else ""
    remote = normal_remote(url)
    if remote:
        names.append("remote:" + remote)
    elif os.path.isabs(url):
        place = os.path.realpath(url)
        names.append("shared:" + (place[:-5] if place.endswith(os.sep + ".git") else place))
    return names


def remote_url(config: str) -> str:
    """The address of `origin`, else of the first remote, in a git configuration."""
    section, first = "", ""
    for line in config.splitlines():
        line = line.strip()
        if line[:1] == "[":
            section, _, line = line[1:].partition("]")
        key, equals, value = line.partition("=")
        kind, _, name = section.strip().partition(" ")
        if equals and kind.lower() == "remote" and key.strip().lower() == "url":
            for mark in (" #", " ;", "\t#", "\t;"):
                value = value.partition(mark)[0]
            value = value.strip().strip('"')
            if name.strip() == '"origin"':
                return value
            first = first or value
    return first


def normal_remote(url: str) -> str:
    """A remote as host/owner/name, the same for every way to reach it; "" for a local path."""
    scheme, divider, rest = url.strip().rpartition("://")
    if scheme.lower() == "file" or (not divider and (rest[:1] in "/\\" or rest[1:2] == ":")):
        return ""
    rest = rest.rpartition("@")[2].partition("?")[0].partition("#")[0]
    host, separator, path = rest.partition("/" if divider else ":")
    before, colon, port = host.rpartition(":")
    host = before if divider and colon and (not port or port.isdecimal()) else host
    inner = host[1:-1] if host[:1] + host[-1:] == "[]" else ""
    plain = host.replace(".", "").replace("_", "").replace("-", "")
    named = len(host) > 1 and host.isascii() and host[0].isalnum() and plain.isalnum()
    if not separator or not (named or (inner and not inner.strip("0123456789abcdefABCDEF:"))):
        return ""
    path = "/".join([part for part in path.split("/") if part])
    path = path[:-4] if path.endswith(".git") else path
    return f"{host.lower()}/{path}" if path and path.isprintable() else ""


def read_text(path: str) -> str:
    """A small file as text; empty where there is none."""
    return (read_small(path) or b"").decode("utf-8", "replace")


def is_switched_off(root: str) -> bool:
    """Whether the repository opts out; a file that cannot be read counts as opting out."""
    data = read_small(os.path.join(root, ".session-memory.toml"))
    if data is None:
        return False
    import tomllib  # 10 ms, and few repositories have the file

    try:
        return tomllib.loads(data.decode()).get("enabled", bool(data)) is not True
    except (ValueError, RecursionError):
        return True


def compose(page: "Mapping[str, object]", session: str) -> tuple[str, list[str], list[str]]:
    """The text for a session, and the sections its trial arms give and hold back."""
    given: list[str] = []
    held: list[str] = []
    text = f"Today is {time.strftime('%Y-%m-%d')}.\n\n{page.get('text') or ''}".rstrip()
    if len(text) > INJECTION_LIMIT:
        head = text[: INJECTION_LIMIT - len(CUT_NOTE)]
        text = head[: head.rfind("\n")] + CUT_NOTE
    room, sections = INJECTION_LIMIT - len(text), page.get("sections")
    for section in filter(_is_object, sections if _is_list(sections) else []):
        name, body, trial = str(section.get("id")), str(section.get("text")), section.get("trial")
        # A held section takes its room too: else the arms would differ in what else fits.
        room -= len(body) + 2
        if room < 0:
            break
        on_trial = isinstance(trial, str) and trial
        if not on_trial or sha256(f"{session}\0{trial}".encode())[0] & 1:
            given.append(name)
            text += f"\n\n{body}"
        else:
            held.append(name)
    return text, given, held


def find_page(home: str, record: "Mapping[str, object]") -> dict[str, object] | None:
    """What the worker prepared for the project this session works in."""
    cwd = record.get("cwd")
    if record["flavor"] not in AGENTS or "agent" in record or not isinstance(cwd, str):
        return None
    levels = project_levels(cwd)
    if any(map(is_switched_off, levels)):
        return None
    return first_page(home, levels) or first_page(home, relatives(levels))


def first_page(home: str, names: list[str]) -> dict[str, object] | None:
    """The first page there is for one of these directories or repositories."""
    for name in names:
        file = sha256(os.fsencode(name)).hex() + ".json"
        page, whole = read_object(read_small(os.path.join(home, "inject", file)) or b"")
        if whole and page.get("v") == VERSION:
            return page
    return None


def recovery_file(home: str, record: "Mapping[str, object]") -> str:
    """Where the worker puts what a session is told after a compaction; its ending says how far."""
    return os.path.join(home, "recovery", sha256(str(record.get("session")).encode()).hex())


def take_recovery(home: str, record: "Mapping[str, object]") -> "list[object]":
    """What the worker prepared for this session at its compaction; given once.

    Where it is lost with the process, as in `qwen -p /compress`, and no turn has ended since, it is
    given again when the session is resumed.
    """
    if "agent" in record or record["flavor"] in NO_MEMORY:
        return []
    path = recovery_file(home, record)
    waits = [(".json", ".given")]
    is_lost = record["flavor"] in IN_SYSTEM_PROMPT and record.get("source") == "resume"
    waits += [(".given", ".told")] if is_lost else []
    for waiting, given in waits:
        page, whole = read_object(read_small(path + waiting) or b"")
        if not whole or page.get("v") != VERSION:
            continue
        try:
            os.replace(path + waiting, path + given)
        except OSError:  # another hook of this session has taken it
            return []
        return [page.get("section")]
    return []


def note_turn(home: str, record: "Mapping[str, object]") -> None:
    """A turn has ended, so what the session was given after a compaction has reached its model."""
    path = recovery_file(home, record)
    try:  # noqa: SIM105 - `contextlib` costs 4 ms
        os.replace(path + ".given", path + ".told")
    except OSError:
        pass


def is_first_time(home: str, session: str) -> bool:
    """Whether this session was not given memory yet; from now on it counts as given."""
    mark = given_mark(home, session)
    os.makedirs(os.path.dirname(mark), exist_ok=True)  # private by the umask
    try:
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL | O_BINARY, 0o600))
    except FileExistsError:
        return False
    return True


def given_mark(home: str, session: str) -> str:
    """The file that says that a session was given memory; the worker removes old ones."""
    return os.path.join(home, "told", sha256(session.encode()).hex())


def is_time_for_memory(
    home: str, record: "Mapping[str, object]", payload: "Mapping[str, object]"
) -> bool:
    """Whether what is printed now reaches the model, and has not reached it yet."""
    event, session = record["event"], str(record.get("session"))
    if record["flavor"] in NO_MEMORY:
        return False
    if record["flavor"] not in MEMORY_WITH_TOOL:
        return event in (AT_START[0], "session_created")
    if event in ("session_end", "pre_compact"):  # what was given is out of the model's sight
        try:  # noqa: SIM105 - `contextlib` costs 4 ms
            os.unlink(given_mark(home, session))
        except OSError:
            pass
    return event == AT_TOOL[0] and not folded(payload).get("subagenttype")


def is_double(
    arguments: list[str], settings: "Mapping[str, object]", record: "Mapping[str, object]"
) -> bool:
    """Whether an agent's package calls and hooks that `init` wrote call as well."""
    if arguments[2:3] != ["package"]:
        return False
    places, cwd = settings.get("init_hooks"), record.get("cwd")
    hook_files = places.get(str(record["flavor"])) if _is_object(places) else None
    levels = project_levels(cwd) if isinstance(cwd, str) else []
    approvals: dict[str, list[str]] = {}  # of each file; a project in the home has the user's files
    for place in filter(_is_list, hook_files if _is_list(hook_files) else []):
        path, *others = map(str, place)
        for file in [path] if os.path.isabs(path) else [os.path.join(up, path) for up in levels]:
            approvals.setdefault(file, others)
    return any(
        LAUNCHER in read_text(os.path.realpath(file))
        and all(f"{file}:" in read_text(os.path.realpath(other)) for other in others)
        for file, others in approvals.items()
    )


def answer(client: str, text: str, event: str) -> dict[str, object]:
    """What the client reads as context for its model."""
    if client in FLAT_ANSWER:
        return {"additionalContext": text}
    name = AT_PROMPT.get(event) or (AT_TOOL if client in MEMORY_WITH_TOOL else AT_START)[1]
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}


# --- guards: what approved rules check mechanically. The table is made by guards/table.py ---------
TABLE, TABLE_VERSION = "guards.json", 2  # next to this file
EDITS, READS = "*edits", "*reads"
BEFORE_TOOL = ("pre_tool_use", "before_tool", "tool_execute_before")
TURN_ENDS = ("stop", "after_agent")
AFTER_TOOL = "after_tool"
TOOL_EVENTS = (*BEFORE_TOOL, AFTER_TOOL)
STATE_LIMIT = 1 << 18  # bytes that are remembered of one session
UNSURE = "\0"  # in a word: something that only the shell knows
PATCH, PATCH_LINES = "*** Begin Patch", ("*** Update File: ", "*** Add File: ", "*** Delete File: ")
KEYWORDS = ("then", "do", "else", "if", "elif", "while", "until", "!", "{", "}")
OPAQUE = ("eval", "source", ".")  # afterwards the directory is unknown
# Lists of words are texts with blanks around each word, as above (`among`).
# Programs that run the rest of their words, and options of such programs that take a value.
WRAPPERS = " sudo doas env time nice nohup command exec builtin timeout stdbuf "
VALUED = (
    " -u -g -n -k -s -p -C -c -S -a -o --user --group --signal --kill-after --package --python"
    " --from --with --extra --directory --project --env-file --prefix --workspace "
)
# Options that name the directory a program works in.
PLACES = ("-C", "--prefix", "--cwd", "--dir", "--directory")
# What leaves the branch that is checked out as it is; behind all else it may be another one.
STAYS = (
    " add blame cherry-pick clean commit config describe diff fetch gc grep log ls-files merge mv"
    " pull push remote reset restore rev-parse revert rm show stash status tag "
)
MOVES = (["gh", "pr"], ["glab", "mr"], ["hub", "checkout"], ["hub", "pr"])
# How runners are called, and programs that are not meant by a package of their name there.
OTHERS = (
    " git gh make cmake docker podman kubectl cargo rustc go java mvn gradle ruby gem bundle rake"
    " brew apt apt-get "
)
JAVASCRIPT, PYTHON = (
    " npm npx pnpm yarn bun node deno ",
    " python python3 pip pip3 uv poetry pdm pipenv pytest tox ",
)
FROM_NPM, FROM_PYPI = PYTHON + OTHERS, JAVASCRIPT + OTHERS
RUNNERS = {
    **dict.fromkeys(("npx", "bunx", "pnpx", "npm exec", "npm x"), FROM_NPM),
    **dict.fromkeys(("pnpm dlx", "yarn dlx", "bun x"), FROM_NPM),
    **dict.fromkeys(("uvx", "uv tool run", "pipx run"), FROM_PYPI),
    **dict.fromkeys(("pnpm exec", "yarn exec", "bundle exec", "mise exec", "mise x"), ""),
    **dict.fromkeys(("uv run", "poetry run", "pipenv run", "pdm run"), ""),
}
# Such calls only ask a program about itself.
QUESTIONS = ("--version", "--help", "-h", "-V")
# Programs whose words are text, not a command that they hand on; signs that part words in a line.
TALKERS = " awk cat echo gh git grep head jq less man printf rg sed tail type which "
MARKS = dict.fromkeys(map(ord, "\"'`()[]{};&|<>\n\\"), " ")
TARGETS = ("make", "gmake", "just", "task")  # their targets come in any order


def among(word: str, words: str) -> bool:
    """Whether a word is one of these."""
    return " " not in word and f" {word} " in words


def skip_expansion(text: str, at: int) -> int:
    """Where a `$...` or a backquote that begins here ends; -1 where it does not."""
    opening = text[at : at + 2]
    if text[at] == "`" or opening == "${":
        return text.find("`" if text[at] == "`" else "}", at + 1) + 1 or -1
    if opening == "$'":
        end = at + 2
        while text[end : end + 1] not in ("'", ""):
            end += 2 if text[end] == "\\" else 1
        return end + 1 if text[end : end + 1] else -1
    if opening == "$(":
        return skip_inner(text, at + 1)
    at += 1
    while text[at : at + 1].isalnum() or text[at : at + 1] == "_":
        at += 1
    return at if text[at - 1] != "$" else min(at + 1, len(text))


def skip_inner(text: str, at: int) -> int:
    """Where the parenthesis that begins here ends, past quotes and documents; -1: nowhere."""
    depth = 0
    while 0 <= at < len(text):
        character = text[at]
        if character == "'":
            at = text.find("'", at + 1) + 1 or -1
        elif character == '"':
            at = quoted(text, at)[1]
        elif text[at : at + 2] == "<<" and text[at : at + 3] != "<<<":
            at = skip_document(text, at)
        else:
            depth += (character == "(") - (character == ")")
            at += 2 if character == "\\" else 1
            if not depth:
                return at
    return -1


def skip_document(text: str, at: int) -> int:
    """Where the document that begins with this `<<` ends; -1 where that is not sure."""
    head, _, _ = text[at:].partition("\n")
    end, at = head[2:].lstrip("-").strip(), at + len(head) + 1
    end = end[1:-1] if end[:1] and end[0] in "'\"" and end[-1:] == end[0] else end
    if not end.replace("_", "a").isalnum():  # more than the mark stands in its line
        return -1
    while at < len(text):
        line, _, _ = text[at:].partition("\n")
        at += len(line) + 1
        if line.strip("\t") == end:
            return at - 1
    return -1


def quoted(text: str, at: int) -> tuple[str, int]:
    """What stands between the double quotes that begin here, and where it ends; -1: nowhere."""
    piece, at = "", at + 1
    while at < len(text):
        character = text[at]
        if character == '"':
            return piece, at + 1
        if character in "$`" and text[at : at + 2] != "$'":
            piece, at = piece + UNSURE, skip_expansion(text, at)
            if at < 0:
                break
        elif character == "\\" and text[at + 1 : at + 2] in '$`"\\\n':
            piece, at = piece + text[at + 1 : at + 2].strip("\n"), at + 2
        else:
            piece, at = piece + character, at + 1
    return piece, -1


def shell_pieces(text: str) -> "list[tuple[str, list[str], list[str]]] | None":
    """Simple commands: the operator before each, its words, the files it writes.

    None where the text cannot be read for sure.
    """
    pieces: list[tuple[str, list[str], list[str]]] = [("", [], [])]
    word: str | None = None
    redirect, documents, at = "", list[str](), 0

    def end_word() -> None:
        nonlocal word, redirect
        if word is not None and redirect[:2] == "<<" and redirect != "<<<":
            documents.append(word)
        elif word is not None and redirect in (">", ">>", ">|"):
            pieces[-1][2].append(word)
        elif word is not None and not redirect:
            pieces[-1][1].append(word)
        redirect = redirect if word is None else ""
        word = None

    while at < len(text):
        character = text[at]
        if character == "'":
            end = text.find("'", at + 1)
            word, at = (word or "") + text[at + 1 : end], end + 1
            if not at:
                return None
        elif character == '"':
            piece, at = quoted(text, at)
            word = (word or "") + piece
        elif character in "$`":
            word, at = (word or "") + UNSURE, skip_expansion(text, at)
        elif character == "\\":
            if text[at + 1 : at + 2] != "\n":
                word = (word or "") + text[at + 1 : at + 2]
            at += 2
        elif character in "<>" or text[at : at + 2] == "&>":
            word = None if word is not None and word.isdigit() else word
            end_word()
            end = at + 1
            while text[end : end + 1] and text[end] in "<>&|-":
                end += 1
            redirect, at = text[at:end].lstrip("&"), end
            if text[at : at + 1] == "(":  # the output of a command as a file
                return None
        elif character in "\n;&|()":
            if character == "(" and (word is not None or text[at + 1 : at + 2] == "("):
                return None  # a function, a pattern, or arithmetic
            end_word()
            end = at + 2 if text[at : at + 2] in ("&&", "||", ";;") else at + 1
            pieces.append((text[at:end], [], []))
            at = end
            while character == "\n" and documents:
                line, _, _ = text[at:].partition("\n")
                at = min(at + len(line) + 1, len(text))
                if line.strip("\t") == documents[0]:
                    documents.pop(0)
                elif at >= len(text):
                    break
        elif character in " \t\r":
            end_word()
            at += 1
        elif character == "#" and word is None:
            at = text.find("\n", at) if "\n" in text[at:] else len(text)
        else:
            word, at = (word or "") + character, at + 1
        if at < 0:
            return None
    end_word()
    return pieces


def unwrapped(words: list[str]) -> list[str]:
    """The words without assignments, keywords and programs that only run the rest."""
    while words:
        name, rest = os.path.basename(words[0]), words[1:]
        if name in ("command", "sudo") and rest[:1] in (["-v"], ["-V"], ["-l"]):
            return []
        if among(name, WRAPPERS):
            words = without_options(rest)
            words = words[1:] if name == "timeout" else words
        elif words[0] in KEYWORDS or (
            words[0].partition("=")[0].isidentifier() and "=" in words[0]
        ):
            words = rest
        else:
            break
    return words


def without_options(words: list[str]) -> list[str]:
    """The words after the options at their beginning."""
    while words and words[0][:1] == "-":
        words = words[2 if among(words[0], VALUED) else 1 :]
    return words


def inner_words(words: list[str]) -> list[str]:
    """What a runner such as npx or `uv run` runs, without a version; [] where it is none."""
    name, rest = os.path.basename(words[0]), words[1:]
    if name[:6] == "python" and rest[:1] == ["-m"]:
        return rest[1:] if rest[1:] and not among(rest[1], FROM_PYPI) else []
    for _ in range(2):
        rest = without_options(rest) if name not in RUNNERS else rest
        if name not in RUNNERS and rest:
            name, rest = f"{name} {rest[0]}", rest[1:]
    if name not in RUNNERS:
        return []
    if name[:5] == "mise ":  # versions of tools stand before the command
        rest = rest[rest.index("--") :] if "--" in rest else []
    rest = without_options(rest)
    program = rest[0].partition("@")[0] if rest else ""  # "": a package in a scope, as @acme/npm
    return [program, *rest[1:]] if program and not among(program, RUNNERS[name]) else []


def layers(words: list[str]) -> list[list[str]]:
    """A call, and what it runs where it is a runner's: `uv run python -m pip` runs pip."""
    calls = [words]
    while len(calls) < 4 and (inner := inner_words(calls[-1])):
        calls.append(inner)
    return calls


def directory_after(words: list[str], cwd: str) -> str:
    """Where a `cd` leads; UNSURE: somewhere that only the shell knows."""
    place = words[1] if words[1:] else "~"
    if words[2:] or UNSURE in cwd + place or place[:1] == "-":
        return UNSURE
    target = os.path.normpath(os.path.join(cwd, os.path.expanduser(place)))
    return target if os.path.isabs(target) else UNSURE


def calls_of(
    command: str, cwd: str, depth: int = 0
) -> "list[tuple[list[str], str, list[str]]] | None":
    """Each call of a command line: its words, the directory it runs in, the files it writes.

    The directory is "" where it may have changed, UNSURE where it changed to an unknown one.
    None where the line cannot be read for sure.
    """
    pieces = shell_pieces(command) if len(command) <= 1 << 14 else None
    calls, outer = list[tuple[list[str], str, list[str]]](), list[str]()
    is_other = False  # whether a variable names another repository
    for joint, typed, writes in pieces or ():
        if joint == "(":
            outer.append(cwd)
        elif joint == ")":
            cwd = outer.pop() if outer else ""
        words = unwrapped(typed)
        if not words and not writes:
            continue
        if words[:1] in (["case"], ["function"]):
            return None
        named = any(word.startswith(("GIT_DIR=", "GIT_WORK_TREE=")) for word in typed)
        is_other |= named and words[:1] in ([], ["export"], ["declare"])
        if words[:1] == ["git"] and (named or is_other):
            continue
        if words[:1] and (words[0] in OPAQUE or UNSURE in words[0]):
            cwd, words = "", []
        if words[:1] in (["cd"], ["pushd"]):
            cwd = directory_after(words, cwd) if joint != "||" else UNSURE
            continue
        cwd = "" if words[:1] == ["popd"] else cwd
        flag = words[1:2] and words[1] in ("-c", "-lc", "-ec", "-ic", "-lic")
        if flag and os.path.basename(words[0]) in ("sh", "bash", "zsh", "dash"):
            if len(words) < 3 or UNSURE in words[2] or depth > 2:
                return None
            inside = calls_of(words[2], cwd, depth + 1)
            if inside is None:
                return None
            calls += inside
            continue
        calls.append((words, cwd, writes))
    return None if pieces is None else calls


def plain_words(words: list[str]) -> list[str]:
    """The program and its subcommand, without options."""
    plain, skip = [os.path.basename(words[0])], False
    for word in words[1:]:
        if skip or word[:1] == "-":
            skip = not skip and (word in PLACES or (plain == ["git"] and word == "-c"))
            continue
        plain.append(word)
    return plain


def place_of(words: list[str], cwd: str) -> str:
    """The directory that a call works in, as in `calls_of`: it may name another by an option."""
    end, plain = len(words), plain_words(words)
    if plain[0] == "git" and plain[1:]:  # behind its verb, -C is about something else
        end = words.index(plain[1])
    for at, option in enumerate(words[:end]):
        name, equals, value = option.partition("=")
        if name in PLACES:
            place = os.path.join(cwd, value if equals else "".join(words[at + 1 : at + 2]))
            cwd = os.path.normpath(place) if UNSURE not in place else UNSURE
    return cwd if os.path.isabs(cwd) or cwd == UNSURE else ""


def is_elsewhere(place: str, root: str) -> bool:
    """Whether a directory lies outside the project, or may: the project's rules are not for it."""
    if UNSURE in place:
        return True
    inside = (os.path.realpath(root) + os.sep).replace(os.sep * 2, os.sep)
    return bool(place) and not (os.path.realpath(place) + os.sep).startswith(inside)


def is_call(when: "Mapping[str, Any]", words: list[str]) -> bool:
    """Whether a call is the one that a guard is about, by its words and options."""
    starts, program = when.get("starts"), os.path.basename(words[0])
    if program != (starts or when["words"])[0]:  # most are about another one
        return False
    if starts:
        named = [program, *words[1:]]
        return named[: len(starts)] == starts and (
            len(named) == len(starts) or not when.get("whole")
        )
    plain = plain_words(words)
    if plain[: len(when["words"])] != when["words"]:
        return False
    asking = {*QUESTIONS, "-v"} if among(plain[0], JAVASCRIPT) else QUESTIONS
    questions = [word for word in words[1:] if word in asking or plain[1:2] == ["help"]]
    if questions and len(questions) == len(words) - 1 and not when.get("with"):
        return False
    options = {word.partition("=")[0] for word in words[1:] if word[:1] == "-"}
    if not options.issuperset(when.get("with", ())):
        return False
    lacking = when.get("without")
    return not lacking or (options.isdisjoint(lacking) and UNSURE not in "".join(words))


def pushed_refs(words: list[str]) -> list[str]:
    """The remote and the refs that a push names; a tag is named by `tag` and its name."""
    names, skip = list[str](), False
    for word in words[words.index("push") + 1 :]:
        if skip:
            skip = False
        elif word in ("-o", "--push-option", "--receive-pack", "--exec", "--repo"):
            skip = True
        elif names[1:] and names[-1] == "tag":
            names[-1] = "refs/tags/" + word
        elif word[:1] != "-":
            names.append(word)
    return names


def pushes_to(words: list[str], cwd: str, branches: list[str]) -> bool:
    """Whether a call pushes to one of these branches, by what it says or where it stands."""
    if plain_words(words)[:2] != ["git", "push"] or UNSURE in "".join(words):
        return False
    options = {word.partition("=")[0] for word in words if word[:1] == "-"}
    if {"-n", "--dry-run", "-h", "--help", "--git-dir", "--work-tree"} & options:
        return False
    refs = pushed_refs(words)[1:]
    if refs:
        ends = [ref.lstrip("+").rpartition(":")[2].removeprefix("refs/heads/") for ref in refs]
        if "HEAD" not in ends:
            return not {*ends}.isdisjoint(branches)
    if {"--tags", "--all", "--mirror", "--delete", "-d"} & options or not cwd:
        return False
    work = project_levels(cwd)[-1]
    pointer = read_text(os.path.join(work, ".git"))
    git = os.path.join(work, pointer[7:].strip() if pointer[:7] == "gitdir:" else ".git")
    head = read_text(os.path.join(git, "HEAD")).strip()
    return head.removeprefix("ref: refs/heads/") in branches


def moves(words: list[str]) -> bool:
    """Whether another branch may be checked out behind a call, or the one that is be renamed."""
    plain = plain_words(words)[:2]
    return plain in MOVES or (plain[0] == "git" and plain[1:] != [] and not among(plain[1], STAYS))


def fits(pattern: str, path: str) -> bool:
    """Whether a path inside the project fits a pattern: a file, a folder with "/", `*` and `**`."""
    if pattern[-1:] == "/":
        return path.startswith(pattern)
    head, star, tail = pattern.partition("*")
    if not star:
        return path == pattern
    deep, tail = tail[:1] == "*", tail.lstrip("*")
    if not path.startswith(head):
        return False
    for end in range(len(head), len(path) + 1):
        if fits(tail, path[end:]) or (deep and tail[:1] == "/" and fits(tail[1:], path[end:])):
            return True
        if not deep and path[end : end + 1] == "/":
            return False
    return False


def changes_files(words: list[str]) -> bool:
    """Whether a call changes the files that it names."""
    program = os.path.basename(words[0]) if words else ""
    flags = [word for word in words[1:] if word[:1] == "-"]
    if program == "perl":  # letters that stand together: -pi, -i.bak
        return any(flag[:2] == "-i" or (flag[1:].islower() and "i" in flag[:4]) for flag in flags)
    return program == "tee" or (program == "sed" and any(flag[:2] == "-i" for flag in flags))


class Call:
    """What a tool is about to do: shell calls, files it reads and files it changes."""

    def __init__(self, payload: "Mapping[str, object]", cwd: str) -> None:
        keys = folded(payload)
        name = keys.get("toolname")
        name = name.lower().replace("_", "").replace("-", "") if isinstance(name, str) else ""
        name = f" {name} "
        given = keys.get("toolinput", keys.get("toolargs"))
        given = read_object(given)[0] if isinstance(given, str) else given
        values = folded(given) if _is_object(given) else {}
        texts = [value for value in values.values() if isinstance(value, str)]
        patch = next((text for text in texts if PATCH in text), "")
        self.calls: list[tuple[list[str], str, list[str]]] | None = []
        self.reads, self.edits, self.handed = list[str](), list[str](), list[str]()
        paths = [values.get(key) for key in PATH_KEYS]
        first_path = [os.path.join(cwd, path) for path in paths if isinstance(path, str) and path][
            :1
        ]
        if patch:
            lines = [line for line in patch.splitlines() if line.startswith(PATCH_LINES)]
            self.edits = [os.path.join(cwd, line.partition(": ")[2].strip()) for line in lines]
        elif name in SHELL_TOOLS:
            command = values.get("command", values.get("cmd"))
            if _is_list(command):  # words; the last is the script of a shell
                command = command[-1] if command[1:2] == ["-lc"] else None
            where = values.get("workdir", values.get("directory", values.get("dirpath")))
            cwd = os.path.join(cwd, where) if isinstance(where, str) else cwd
            self.calls = calls_of(command, cwd) if isinstance(command, str) else None
            self.handed += [command[: 1 << 14]] if self.calls is None and command else []  # type: ignore[index]
            for words, place, writes in self.calls or ():
                places = [os.path.join(place, word) for word in words[1:] if place and word]
                places = [path for path in places if UNSURE not in path and os.path.isfile(path)]
                if changes_files(words):
                    scripts = [words[at + 1 : at + 2] for at, w in enumerate(words) if w == "-f"]
                    script_files = [
                        os.path.join(place, name) for script in scripts for name in script
                    ]
                    self.edits += [path for path in places if path not in script_files]
                self.edits += [os.path.join(place, write) for write in writes if place]
                self.reads += places
        elif name in EDIT_TOOLS:
            self.edits = first_path
        elif name in READ_TOOLS:
            self.reads = first_path
        typed = [words for words, _, _ in self.calls or () if words]
        # Each call with the directory it works in, and what a runner runs by it.
        self.runs = [(layers(w), place_of(w, cwd)) for w, cwd, _ in self.calls or () if w]
        self.named = [words for inner, _ in self.runs for words in inner]
        self.handed += [" ".join(w) for w in typed if not among(os.path.basename(w[0]), TALKERS)]
        self.handed = [f" {' '.join(text.translate(MARKS).split())} " for text in self.handed]
        self.edits = [os.path.realpath(path) for path in self.edits if UNSURE not in path]
        self.reads = [os.path.realpath(path) for path in self.reads if UNSURE not in path]

    def concerns(self) -> set[str]:
        """The names in the table of guards of what the call does: most guards are about others."""
        names = {name for name, done in ((EDITS, self.edits), (READS, self.reads)) if done}
        for words in self.named:
            program = os.path.basename(words[0])
            names.update(f"{program} {word}" for word in words[1:])
            names.add(program)
        for text in self.handed:
            words = text.split()
            names.update(f"{word} {words[at]}" for at, word in enumerate(words[:-1], 1))
        return names

    def has_run(self, check: "Mapping[str, Any]") -> bool:
        """Whether it runs a check, or may: words that are handed on may be run by another."""
        wanted = check.get("starts") or check["words"]
        if wanted[0] in TARGETS and wanted[1:]:
            named = [words for words in self.named if os.path.basename(words[0]) == wanted[0]]
            if any({*wanted[1:]} <= {*words} for words in named):
                return True
        text = " ".join(wanted)
        return " " in text and any(f" {text} " in line for line in self.handed)


class Memory:
    """What guards remember within a session, as short marks and hashes in a private file."""

    def __init__(self, home: str, record: "Mapping[str, object]") -> None:
        name = f"{record.get('session')}\0{record.get('agent', '')}"
        self.path = os.path.join(home, "guards", sha256(name.encode()).hex())
        self.marks = (read_small(self.path) or b"").decode("ascii", "replace").split()
        self.mark_set = {*self.marks}

    def last(self, mark: str) -> int:
        """Where a mark stands for the last time; -1: nowhere."""
        if mark not in self.mark_set:
            return -1
        return len(self.marks) - 1 - self.marks[::-1].index(mark)

    def add(self, *marks: str) -> None:
        """Remember marks; if that fails, forget all of them, since half would mislead."""
        self.marks += marks
        self.mark_set.update(marks)
        data = "".join(f"{mark}\n" for mark in marks).encode("ascii", "replace")
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)  # private by the umask
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | O_BINARY | O_NOFOLLOW
            descriptor = os.open(self.path, flags, 0o600)
            size = os.fstat(descriptor).st_size
            done = size + len(data) <= STATE_LIMIT and os.write(descriptor, data) == len(data)
            os.close(descriptor)
        except OSError:
            done = False
        if not done:
            try:  # noqa: SIM105 - `contextlib` costs 4 ms
                os.unlink(self.path)
            except OSError:
                pass
            raise HookError("what guards remember of a session cannot be written")


def mark_of(path: str) -> str:
    return "r:" + sha256(os.fsencode(path)).hex()[:16]


def guards_for(
    record: "Mapping[str, object]", concerns: "Iterable[str] | None"
) -> "tuple[list[dict[str, Any]], str]":
    """The guards of this session's project that these concern, and the project's directory.

    None stands for all guards. Most are about other calls, and their lines are not read.
    """
    cwd = record.get("cwd")
    if not isinstance(cwd, str) or record["flavor"] not in GUARDED:
        return [], ""
    data = read_small(os.path.join(os.path.dirname(os.path.abspath(__file__)), TABLE))
    if data is None:
        return [], ""
    head, *lines = data.split(b"\n")
    table, whole = read_object(head + b"]}")
    places, named = table.get("places"), table.get("concerns")
    whole = whole and table.get("v") == TABLE_VERSION and lines[-2:] == [b"]}", b""]
    if not whole or not _is_object(places) or not _is_object(named):
        raise HookError("the table of guards is damaged")
    levels = project_levels(cwd)
    names = [sha256(os.fsencode(name)).hex() for name in levels]
    levels_here = [at for at, name in enumerate(names) if name in places]
    root = levels[levels_here[0] if levels_here else -1]
    if not levels_here:
        names = [sha256(os.fsencode(name)).hex() for name in relatives(levels)]
    here = next((places[name] for name in names if name in places), None)
    if not _is_list(here) or any(map(is_switched_off, levels)):
        return [], ""
    if concerns is not None:
        guard_numbers = [named.get(name) for name in concerns]
        wanted = {at for numbers in guard_numbers if _is_list(numbers) for at in numbers}
        here = [at for at in here if at in wanted]
    rows = [lines[at].rstrip(b",") for at in here if isinstance(at, int)]
    table, whole = read_object(b'{"guards":[' + b",".join(rows) + b"]}")
    if not whole:
        raise HookError("the table of guards is damaged")
    return table["guards"], root  # type: ignore[return-value]


def is_met(guard: "Mapping[str, Any]", call: Call, root: str, memory: Memory) -> bool:
    """Whether a call is one that a guard forbids; False where that is not certain."""
    when = guard["when"]
    kind = when["kind"]
    if kind == "push":
        is_moved = False  # whether the line has left the branch that is checked out now
        for (words, *_), place in call.runs:
            branch_place = "" if is_moved or place == UNSURE else place
            if pushes_to(words, branch_place, when["branches"]) and not is_elsewhere(place, root):
                return True
            is_moved |= moves(words)
        return False
    if kind == "run":
        for inner, place in call.runs:
            if not any(is_call(when, words) for words in inner[: 1 if when.get("bare") else None]):
                continue
            if is_elsewhere(place, root):
                continue
            if any(is_call(cure, inner[0]) for cure in guard.get("cures", ())):
                continue  # `python -m pytest` runs pytest, too
            wanted = when.get("outside")
            if wanted is None:
                return True
            there = os.path.join(root, wanted)
            if (
                place
                and os.path.isdir(there)
                and os.path.realpath(place) != os.path.realpath(there)
            ):
                return True
        return False
    inside = [path for path in call.edits if path.startswith(root + os.sep)]
    if kind == "edit":
        short = [path[len(root) + 1 :].replace(os.sep, "/") for path in inside]
        return any(fits(pattern, path) for pattern in when["paths"] for path in short)
    if kind == "unread" and "b" in memory.mark_set:
        return any(os.path.isfile(path) and mark_of(path) not in memory.mark_set for path in inside)
    return False


def is_followed(guard: "Mapping[str, Any]", call: Call, memory: Memory) -> bool:
    """Whether a call does what a guard asked for."""
    when = guard["when"]
    if when["kind"] == "unread":
        return any(mark_of(path) not in memory.mark_set for path in call.reads)
    cures = guard.get("cures", ())
    if when["kind"] == "check" and any(map(call.has_run, cures)):
        return True
    return any(is_call(cure, words) for cure in cures for words in call.named)


def note(record: dict[str, object], field: str, name: str) -> None:
    """Add to the record what a guard did, or what its trial arm held back."""
    names = record.setdefault(field, [])
    if _is_list(names) and name not in names:
        names.append(name)


def before_tool(
    guards: "list[dict[str, Any]]", root: str, record: dict[str, object], call: Call, memory: Memory
) -> "list[dict[str, Any]]":
    """The guards that warn of a call; notes what it does and how earlier warnings ended."""
    spoken: list[dict[str, Any]] = []
    marks: list[str] = []
    for guard in guards:
        name = str(guard["id"])
        said = "s:" + name in memory.mark_set
        met = is_met(guard, call, root, memory)
        if said and "d:" + name not in memory.mark_set:
            what = "followed" if is_followed(guard, call, memory) else ""
            what = "overridden" if met and guard["mode"] != "deny" else what
            if what:
                note(record, "given", f"guard:{name}:{what}")
                marks.append("d:" + name)
        if met and is_held(guard, record):
            if "h:" + name not in memory.mark_set:
                note(record, "held", "pattern:" + name)
                marks.append("h:" + name)
        elif met and (not said or guard["mode"] != "hint"):
            spoken.append(guard)
            marks += [] if said else ["s:" + name]
        if guard["when"]["kind"] == "check" and is_followed(guard, call, memory):
            marks.append("c:" + name)
    kinds = [guard["when"]["kind"] for guard in guards]
    if "unread" in kinds and "b" in memory.mark_set:
        marks += [mark_of(path) for path in (*call.reads, *call.edits)]
    if "check" in kinds and any(path.startswith(root + os.sep) for path in call.edits):
        marks.insert(0, "e")
    fresh = [
        mark for mark in dict.fromkeys(marks) if mark[0] in "ec" or mark not in memory.mark_set
    ]
    if fresh:
        memory.add(*fresh)
    for guard in spoken:
        note(record, "given", "guard:" + str(guard["id"]))
        if guard.get("trial"):
            note(record, "given", "pattern:" + str(guard["id"]))
    return spoken


def is_held(guard: "Mapping[str, Any]", record: "Mapping[str, object]") -> bool:
    """Whether this session is in the arm of a trial that does not get the guard."""
    if not guard.get("trial"):
        return False
    return not sha256(f"{record.get('session')}\0{guard['id']}".encode())[0] & 1


def at_stop(
    guards: "list[dict[str, Any]]", record: dict[str, object], is_again: bool, memory: Memory
) -> "list[dict[str, Any]]":
    """The guards whose check did not run after the last edit; they speak once a turn."""
    spoken: list[dict[str, Any]] = []
    marks: list[str] = []
    edited = memory.last("e")
    for guard in guards:
        name = str(guard["id"])
        if guard["when"]["kind"] != "check" or memory.last("c:" + name) >= edited:
            continue
        last_spoken = memory.last("t:" + name)
        if last_spoken > edited and "d:" + name not in memory.marks[last_spoken:]:
            note(record, "given", f"guard:{name}:overridden")
            marks.append("d:" + name)
        if is_again or last_spoken > edited:
            continue
        if is_held(guard, record):
            note(record, "held", "pattern:" + name)
            continue
        marks += ["t:" + name, "s:" + name]
        note(record, "given", "guard:" + name)
        if guard.get("trial"):
            note(record, "given", "pattern:" + name)
        spoken.append(guard)
    if marks:
        memory.add(*marks)
    return spoken


def guard_answer(
    client: str, event: str, spoken: "list[dict[str, Any]]"
) -> dict[str, object] | None:
    """What the client reads: the reason added to the call, a question, a refusal, or go on."""
    if not spoken:
        return None
    able, text = GUARDED[client], "\n".join(str(guard["text"]) for guard in spoken)
    if event in TURN_ENDS:
        return {"decision": "block", "reason": text}
    modes = [str(guard["mode"]) for guard in spoken]
    mode = next((choice for choice in ("deny", "ask") if choice in modes and choice in able), "")
    if mode and "flat" in able:
        return {"decision": mode, "reason": text}
    answer: dict[str, object] = {"additionalContext": text}
    if mode:
        answer = {"permissionDecision": mode, "permissionDecisionReason": text}
    name = "AfterTool" if event == AFTER_TOOL else "PreToolUse"
    return {"hookSpecificOutput": {"hookEventName": name, **answer}}


def guards_say(
    home: str, record: dict[str, object], payload: "Mapping[str, object]"
) -> dict[str, object] | None:
    """What guards say to this event; None where they are silent."""
    event, client = str(record["event"]), str(record["flavor"])
    spoken: list[dict[str, Any]] = []
    if event in BEFORE_TOOL:
        spoken = say_before_tool(home, record, payload)
    elif event == AFTER_TOOL:
        spoken = say_after_tool(home, record)
    elif event in TURN_ENDS:
        memory = Memory(home, record)
        if "e" in memory.mark_set:  # without an edit there is nothing to check
            is_again = folded(payload).get("stophookactive") is True
            spoken = at_stop(guards_for(record, (EDITS,))[0], record, is_again, memory)
    elif event in (AT_START[0], "session_created"):
        is_new = record.get("source") in (None, "startup", "new", "clear")
        if is_new and guards_for(record, (READS,))[0]:
            Memory(home, record).add("b")
    return guard_answer(client, event, spoken)


def say_before_tool(
    home: str, record: dict[str, object], payload: "Mapping[str, object]"
) -> "list[dict[str, Any]]":
    """The guards that add words to a call, or keep them for its result."""
    call = Call(payload, str(record.get("cwd")))
    guards, root = guards_for(record, call.concerns())
    if not guards:
        return []
    able, memory = GUARDED[str(record["flavor"])], Memory(home, record)
    spoken = before_tool(guards, root, record, call, memory)
    later = [guard for guard in spoken if "hint after" in able and str(guard["mode"]) not in able]
    if later:
        memory.add(*(f"p:{guard['id']}" for guard in later))
    return [guard for guard in spoken if guard not in later]


def say_after_tool(home: str, record: dict[str, object]) -> "list[dict[str, Any]]":
    """The guards that kept their words for the result of a call."""
    memory = Memory(home, record)
    waiting = {mark[2:] for mark in memory.marks[memory.last("q") + 1 :] if mark[:2] == "p:"}
    if not waiting:
        return []
    guards, _ = guards_for(record, None)
    memory.add("q")
    return [guard for guard in guards if str(guard["id"]) in waiting]


# --- end of guards


def run(arguments: list[str], environ: "Mapping[str, str]", home: str) -> None:
    """Read, record, print memory, start the worker; the record names what was printed."""
    data, cut = read_input(arguments)
    if not data.strip():
        return
    payload, whole = read_object(data)
    if not whole and not cut:
        payload, whole = read_object(repaired(data.decode("utf-8", "replace")))
    if not payload and not whole:
        raise HookError(f"no JSON object in a payload of {len(data)} bytes")
    record = make_record(arguments, payload, environ)
    if record is None:
        return
    record.update({} if whole else {"cut": 1})
    settings, _ = read_object(read_small(os.path.join(home, "hook.json")) or b"")
    if is_double(arguments, settings, record):
        return
    silent = environ.get("SESSION_MEMORY_GUARDS") == "0"
    said = None if silent else guards_or_silence(home, record, payload)
    text, wanted = "", settings.get("inject", bool(settings)) is True
    is_time = is_time_for_memory(home, record, payload)
    event = str(record["event"])
    if event == "stop" and record["flavor"] in IN_SYSTEM_PROMPT:
        note_turn(home, record)
    if (is_time or event in AT_PROMPT) and wanted and environ.get("SESSION_MEMORY_INJECT") != "0":
        recovery = take_recovery(home, record)
        page, session = find_page(home, record) if is_time else None, str(record.get("session"))
        at_start = record["flavor"] not in MEMORY_WITH_TOOL
        if page is not None and not at_start and not is_first_time(home, session):
            page = None
        if page is not None or recovery:
            rest = page.get("sections") if page else None
            sections = [*recovery, *(rest if _is_list(rest) else [])]
            text, given, held = compose({**(page or {}), "sections": sections}, session)
            record.update(given=given, held=held)
    # Tools are many: only what guards said, and what became of it, is worth a record.
    if record["event"] not in TOOL_EVENTS or "given" in record or "held" in record:
        spool(home, record)
    if text:
        said = answer(str(record["flavor"]), text, event)
    if said:
        os.write(1, (_dump(said) + "\n").encode("ascii"))
    worker = settings.get("worker")
    words = [str(word) for word in worker] if _is_list(worker) else []
    if words and str(record["event"]).startswith(WAKING) and not worker_runs(home):
        start(home, words)


def guards_or_silence(
    home: str, record: dict[str, object], payload: "Mapping[str, object]"
) -> dict[str, object] | None:
    """What guards say; whatever fails, the agent goes on, and the doctor finds the reason."""
    try:
        return guards_say(home, record, payload)
    except Exception as error:  # noqa: BLE001 - an agent must not fail because of us
        try:  # noqa: SIM105 - `contextlib` costs 4 ms
            log_error(home, str(record["event"]), "guards: " + reason_of(error))
        except OSError:
            pass
        return None


def reason_of(error: BaseException) -> str:
    """What went wrong in our own words: messages of others may quote the payload."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if isinstance(error, HookError):
        return str(error)
    return f"{type(error).__name__} {getattr(error, 'errno', '')} line {trace and trace.tb_lineno}"


def main(arguments: list[str], environ: "Mapping[str, str]") -> None:
    """Run, and write errors to our own log only."""
    own_call = environ.get("CLAUDE_INVOKED_BY") == "memory_flush"
    if own_call or environ.get("SESSION_MEMORY_INTERNAL", "0") not in ("", "0"):
        return  # a model call of our own: recording it would make the worker call again
    os.umask(0o077)
    home = state_dir(environ, sys.platform)
    try:
        run(arguments, environ, home)
    except BaseException as error:  # noqa: BLE001 - an agent must not fail because of us
        log_error(home, arguments[0] if arguments else "", reason_of(error))


if __name__ == "__main__":
    sys.stderr = None  # Python 3.12 and later warn of a fork while a thread reads stdin
    try:
        main(sys.argv[1:], os.environ)
    finally:
        os._exit(0)  # before the interpreter can print a traceback, or tidy up for 2 ms
