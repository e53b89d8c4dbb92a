"""Marks that separate our own calls of agents from user sessions: environment, folder and fence.

We ask clients to keep no session. If one is kept all the same, its hooks see the environment and do
nothing, and the whole prompt is fenced as our own text, which is never evidence.
"""

from __future__ import annotations

from collections.abc import Mapping

from session_memory.core.text.own_text import CALL_FOLDER, PACK_BEGIN, PACK_END

MARKS = {"SESSION_MEMORY_INTERNAL": "1", "CLAUDE_INVOKED_BY": "memory_flush"}
FOLDER_PREFIX = CALL_FOLDER
NAMES = frozenset(
    {
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "TZ",
        "TMPDIR",
        "TEMP",
        "TMP",
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "NODE_EXTRA_CA_CERTS",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "SYSTEMROOT",
        "COMSPEC",
        "PATHEXT",
        "APPDATA",
        "LOCALAPPDATA",
        "USERPROFILE",
        "HOMEDRIVE",
        "HOMEPATH",
        "PROGRAMDATA",
    }
)
PREFIXES = ("LC_", "XDG_", "ANTHROPIC_", "OPENAI_", "CLAUDE_CODE_USE_", "CLAUDE_CODE_OAUTH_")
CLOUD_PREFIXES = {
    "CLAUDE_CODE_USE_BEDROCK": ("AWS_",),
    "CLAUDE_CODE_USE_VERTEX": ("GOOGLE_", "CLOUD_ML_", "VERTEX_", "GCLOUD_"),
    "CLAUDE_CODE_USE_FOUNDRY": ("AZURE_",),
}


def environment(environ: Mapping[str, str], *more_names: str) -> dict[str, str]:
    """The variables an agent needs from our environment, and the marks.

    Nothing else: secrets of other programs are none of its business, and the variables of a running
    session would make it believe that it is part of that session.
    """
    prefixes = PREFIXES
    for switch, cloud in CLOUD_PREFIXES.items():
        if environ.get(switch, "0") not in ("", "0"):
            prefixes += cloud
    passed_on = {
        name: value
        for name, value in environ.items()
        if name.upper() in NAMES or name in more_names or name.upper().startswith(prefixes)
    }
    return {**passed_on, "NO_COLOR": "1", "DISABLE_AUTOUPDATER": "1", **MARKS}


def fenced(text: str) -> str:
    """A prompt fenced as our own text; markers inside it are altered, so none can end the fence."""
    inner = text.replace(PACK_END, PACK_END.replace("/", "\\/"))
    inner = inner.replace(PACK_BEGIN, PACK_BEGIN.replace("-", "_"))
    return f'{PACK_BEGIN} kind="model-call">\n{inner}\n{PACK_END}\n'
