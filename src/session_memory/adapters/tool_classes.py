"""The tools of all vendors in one closed set of classes."""

from __future__ import annotations

from session_memory.core.schema import ToolClass

TOOL_NAMES: dict[ToolClass, str] = {
    "read": (
        "read readfile viewimage view notebookread readmanyfiles listdir listdirectory ls cat"
    ),
    "edit": (
        "edit multiedit write writefile editfile createfile create strreplace "
        "strreplaceeditor searchreplace replace applypatch notebookedit deletefile"
    ),
    "shell": (
        "bash bashoutput killbash killshell shell localshell shellcommand exec "
        "execcommand writestdin runshellcommand runterminalcmd runterminalcommand "
        "terminal powershell unifiedexec execute"
    ),
    "search": "grep glob search searchfilecontent greppattern rg find codebasesearch toolsearch",
    "web": "websearch webfetch googlewebsearch fetch xsearch browser",
    "agent": "task agent spawnagent waitagent sendmessage subagent taskoutput taskstop",
    "plan": (
        "todowrite todoread updateplan taskcreate taskupdate tasklist taskget "
        "exitplanmode enterplanmode plan updatetodo writetodos"
    ),
}
"""Vendors' tool names by class, lower case without `_`, `-` and `.`."""
PATH_KEYS = (
    "filepath",
    "path",
    "absolutepath",
    "notebookpath",
    "targetfile",
    "filename",
)
"""Members of a tool's input that name the one file it is about, folded in the same way."""
_TOOL_CLASSES: dict[str, ToolClass] = {
    name: cls for cls, names in TOOL_NAMES.items() for name in names.split()
}


def classify_tool(name: str | None) -> ToolClass:
    """Map any vendor's tool name to one closed set, so that an edit is an edit in every flavour."""
    if not name:
        return "other"
    folded = name.lower()
    if folded.startswith("mcp_"):
        return "mcp"
    plain = folded.replace("_", "").replace("-", "").replace(".", "")
    return _TOOL_CLASSES.get(plain, "other")
