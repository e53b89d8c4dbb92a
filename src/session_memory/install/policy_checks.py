"""Whether settings, above all those an administrator manages, stop what we wired."""

from __future__ import annotations

import plistlib
from collections.abc import Iterable, Iterator
from xml.parsers.expat import ExpatError

from session_memory.adapters.shared_wiring import json_text, toml_edit
from session_memory.adapters.shared_wiring.client import Client, InstallContext
from session_memory.adapters.shared_wiring.json_text import as_object, value_at
from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.adapters.shared_wiring.policies import Block, Settings
from session_memory.errors import Refused
from session_memory.install.checks import Check
from session_memory.plain_files import read_plain

LARGEST = 16 * 1024 * 1024
WITHOUT_HOOKS = "`session-memory config schedule install` captures without hooks"
WITHOUT_MCP = "`session-memory search` finds the same from a terminal"


def check_policies(
    clients: Iterable[Client], context: InstallContext, launchers: Launchers
) -> Iterator[Check]:
    """One check for each agent that is stopped, and for each file that cannot be read."""
    for client in clients:
        if client.blocks is None:
            continue
        unread: dict[str, str] = {}
        reader = _Reader(unread)
        blocks = list(client.blocks(context, launchers, reader.read))
        for block in blocks:
            yield _check(client.name, block)
        own = client.files(context, launchers)
        for path, why in unread.items():
            if path in own:
                continue  # reported by the check of the agent
            fix = f"make {path} readable, or ask whoever manages this machine"
            detail = f"{path} cannot be read ({why}): it may stop hooks or the MCP server"
            yield Check(f"{client.name} policy", "warn", detail, fix)


def _check(agent: str, block: Block) -> Check:
    what = "hooks do not run" if block.what == "hooks" else "our MCP server is not loaded"
    detail = f"{what}: {block.setting} ({block.path})"
    if block.managed:
        instead = WITHOUT_HOOKS if block.what == "hooks" else WITHOUT_MCP
        fix = f"ask whoever manages this machine to allow it; {instead}"
    else:
        fix = f"change that setting in {block.path}"
    return Check(f"{agent} policy", "warn", detail, fix)


class _Reader:
    """Reads settings of any owner; notes what cannot be read instead of failing."""

    def __init__(self, unread: dict[str, str]) -> None:
        self._unread = unread

    def read(self, path: str) -> Settings:
        """The settings in a file, JSON with comments, TOML or plist; empty where there is none."""
        try:
            data = read_plain(path, LARGEST)
            if path.endswith(".plist"):
                return as_object(plistlib.loads(data))
            text = data.decode("utf-8-sig")
            if json_text.is_blank(text):
                return {}
            return toml_edit.values(text) if path.endswith(".toml") else _json(text)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            self._unread[path] = error.strerror or str(error)
        except UnicodeDecodeError:
            self._unread[path] = "it is not UTF-8"
        except (ValueError, ExpatError):
            self._unread[path] = "it is no property list"
        except Refused as error:
            self._unread[path] = error.message
        return {}


def _json(text: str) -> Settings:
    return as_object(value_at(text, ()))
