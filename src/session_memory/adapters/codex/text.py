"""Who wrote a piece of Codex text, and what a tool's output says about its end."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from session_memory.adapters.common import Json, as_list, as_object, as_text, decode_record
from session_memory.adapters.excerpt import EXCERPT, Piece, compact_json, excerpt
from session_memory.core.schema import Origin

_TAGS = {
    "app-context": "app_context",
    "apps_instructions": "apps",
    "codex_internal_context": "internal_context",
    "collaboration_mode": "collaboration_mode",
    "environment_context": "environment_context",
    "environments_instructions": "environments",
    "goal_context": "goal_context",
    "hook_prompt": "hook_feedback",
    "image": "image",
    "model_switch": "model_switch",
    "multi_agent_mode": "multi_agent",
    "permissions instructions": "permissions",
    "personality_spec": "personality",
    "plugins_instructions": "plugins",
    "realtime_conversation": "realtime",
    "recommended_plugins": "plugins",
    "skill": "skill",
    "skills_instructions": "skills",
    "subagent_notification": "subagent_notification",
    "turn_aborted": "turn_aborted",
    "user_action": "user_action",
    "user_instructions": "user_instructions",
    "user_shell_command": "user_shell_command",
}
_TAG = re.compile(r"<([a-z][a-z_ -]{1,40}?)(?: [a-z_]+=[^>]*)?>")
_AGENTS = "# AGENTS.md instructions"
_AGENTS_END = "</INSTRUCTIONS>"
_HEADS = (
    ("Another language model started to solve this problem", "compact_summary"),
    ("# User instructions\n", "user_instructions"),
)
_CONTEXTS = {
    "# Context from my IDE setup": "ide_context",
    "# Files mentioned by the user:": "mentioned_files",
    "# In app browser:": "browser_context",
}
"""Headings under which the apps put what they add to a prompt."""
_REQUEST = "## My request for Codex:"
_IMAGE = re.compile(r"</image>|<image name=[^<>]*>")
"""What stands around a picture, in parts of its own."""
_BULK = frozenset({"apps", "collaboration_mode", "permissions", "personality", "plugins", "skills"})
"""The same words in every session; their beginning is enough to know them by."""


def split_user_text(text: str, *, typed: bool = False) -> Iterator[Piece]:
    """Take apart what the human typed and what the client put in front of it or wrote instead.

    `typed`: the log itself says a human wrote it, so a tag in it was pasted.
    """
    rest = text.strip()
    if _IMAGE.fullmatch(rest):
        yield Piece("injected", "harness", "image", rest)
        return
    while rest and not typed and (injection := _injection(rest)):
        label, end = injection
        origin: Origin = "subagent" if label == "subagent_notification" else "harness"
        yield Piece("injected", origin, label, shortened(label, rest[:end]))
        rest = rest[end:].lstrip()
    context = next((label for head, label in _CONTEXTS.items() if rest.startswith(head)), None)
    if context and (cut := rest.find(_REQUEST)) > 0:
        yield Piece("injected", "harness", context, rest[:cut].rstrip())
        rest = rest[cut + len(_REQUEST) :].strip()
    if rest:
        yield Piece("user_prompt", "user", None, rest)


def _injection(text: str) -> tuple[str, int] | None:
    """(label, where it ends) of what the client put at the beginning of a text."""
    if text.startswith(_AGENTS):
        end = text.rfind(_AGENTS_END)  # the file itself may speak of the mark
        return "agents_md", len(text) if end < 0 else end + len(_AGENTS_END)
    if match := _TAG.match(text):
        tag = match.group(1)
        label = "external" if tag.startswith("external_") else _TAGS.get(tag)
        return (label, _after(text, f"</{tag}>")) if label else None
    label = next((label for head, label in _HEADS if text.startswith(head)), None)
    return (label, len(text)) if label else None


def _after(text: str, closing: str) -> int:
    end = text.find(closing)
    return len(text) if end < 0 else end + len(closing)


def injected_label(text: str, kind: str) -> str:
    """The name of an injected text: by its own mark, else by what the log calls it."""
    if injection := _injection(text.lstrip()):
        return injection[0]
    if kind == "hooks.additional_context":
        return "hook_context"
    return kind.replace(".", "_") or "developer"


def shortened(label: str, text: str) -> str:
    """The text, or its beginning where it is the client's own manual."""
    return excerpt(text) if label in _BULK else text


def is_media(part: Json) -> bool:
    """Whether a part of a message is a picture or a sound."""
    fields = as_object(part)
    if "text" in fields:
        return False
    kind = as_text(fields.get("type"))
    return "image" in kind or "audio" in kind


def content_text(part: Json) -> str:
    """One part of a message or an output as text; pictures and sound leave a placeholder."""
    if isinstance(part, str):
        return part
    fields = as_object(part)
    if "text" in fields:
        return as_text(fields["text"])
    kind = as_text(fields.get("type"))
    if "image" in kind or "audio" in kind:
        return _media(kind, fields)
    if kind == "encrypted_content":
        return ""
    if kind in ("skill", "mention"):
        return f"[{kind}: {as_text(fields.get('name'))}]"
    return compact_json(part, EXCERPT)


def _media(kind: str, fields: dict[str, Json]) -> str:
    name = kind.removeprefix("input_").removeprefix("local_")
    path = as_text(fields.get("path"))
    url = as_text(fields.get("image_url")) or as_text(fields.get("audio_url"))
    if url.startswith("data:"):
        media, _, data = url.removeprefix("data:").partition(",")
        return f"[{name}: {media.partition(';')[0]}, {len(data) * 3 // 4} bytes]"
    return f"[{name}: {path or url or 'attached'}]"


class Output(NamedTuple):
    """A tool's output, with what its words say about how the call ended."""

    text: str
    exit_code: int | None = None
    failed: bool = False
    label: str | None = None
    running: bool = False


# Both expressions begin with plain characters: those are searched for much faster than a `^`.
_EXIT = re.compile(r"\n(?:Exit code:|Process exited with code) (-?\d{1,10})$", re.MULTILINE)
_PATCHED = re.compile(
    r"\*\*\* (?<=^\*\*\* )(?:(?:Add|Update|Delete) File|Move to): (.+?)\s*$", re.MULTILINE
)
_HEADED = ("Chunk ID:", "Exit code:", "Wall time:", "Process exited", "Command:")
_REFUSED = ("exec command rejected by user", "patch rejected by user", "rejected by user")
_FAILED = (
    "apply_patch verification failed",
    "err: ",
    "exec_command failed",
    "execution error",
    "failed to parse function arguments",
    "tool call error",
    "unsupported call",
    "write_stdin failed",
)


def read_output(value: Json) -> Output:
    """Read the output of a call in any of the shapes it has had since 2025."""
    if isinstance(value, str) and not value.startswith("{"):
        return _worded(value)
    fields = as_object(value)
    if isinstance(value, str):
        fields = decode_record(value.encode("utf-8", "surrogatepass")) or {}
    detail = as_object(fields.get("metadata"))
    if isinstance(fields.get("output"), str) and detail:
        code = detail.get("exit_code")
        code = code if type(code) is int else None
        return Output(fields["output"], code, code not in (None, 0))
    if isinstance(value, str):
        return _worded(value)
    if isinstance(value, dict):
        text = "\n".join(filter(None, map(content_text, _as_parts(fields.get("content")))))
        return _worded(text)._replace(failed=fields.get("success") is False)
    return _worded("\n".join(filter(None, map(content_text, as_list(value)))))


def _as_parts(content: Json) -> list[Json]:
    return [content] if isinstance(content, str) else as_list(content)


def _worded(text: str) -> Output:
    if text.startswith(_HEADED):
        header = text[:512].partition("\nOutput:")[0]
        exit_line = _EXIT.search("\n" + header)
        code = int(exit_line.group(1)) if exit_line else None
        running = "\nProcess running with session ID" in header
        return Output(text, code, code not in (None, 0), None, running)
    head = text[:200].lower()
    if any(words in head for words in _REFUSED):
        return Output(text, None, True, "denied")
    if head.startswith("aborted by user"):
        return Output(text, None, True, "interrupted")
    return Output(text, None, head.startswith(_FAILED))


_SHELLS = frozenset({"bash", "sh", "zsh", "pwsh", "powershell", "cmd"})


def patched_files(patch: str) -> tuple[str, ...]:
    """The files an apply_patch text changes, in its order."""
    return tuple(dict.fromkeys(_PATCHED.findall(patch)))


def command_line(command: Json) -> str:
    """A command as one would type it: without the shell that Codex wraps around it."""
    if isinstance(command, str):
        return command
    words = [word for word in as_list(command) if isinstance(word, str)]
    name = re.split(r"[/\\]", words[0])[-1].removesuffix(".exe") if words else ""
    if len(words) == 3 and name in _SHELLS and words[1].startswith(("-", "/")):
        return words[2]
    return shlex.join(words)
