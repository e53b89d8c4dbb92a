"""Configuration files as real clients and their users write them."""

from __future__ import annotations

CLAUDE_SETTINGS = """{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  "model": "opus",
  "cleanupPeriodDays": 90,
  "permissions": {
    "allow": ["Bash(npm test:*)", "Read(//etc/hosts)"],
    "deny": []
  },
  "hooks": {
    "Stop": [
      {
        "hooks": [
          { "type": "command", "command": "notify-send done" }
        ]
      }
    ],
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [{ "type": "command", "command": "guard" }] }
    ]
  },
  "statusLine": { "type": "command", "command": "~/.claude/line.sh" }
}
"""
CLAUDE_STATE = (
    '{\n  "numStartups": 12,\n  "oauthAccount": {\n    "emailAddress": "dev@a.invalid"\n  },\n'
    '  "projects": {\n    "/home/dev/shop": {\n      "allowedTools": [],\n      "mcpServers": {}\n'
    "    }\n  },\n"
    '  "mcpServers": {\n    "github": {\n      "type": "http",\n      "url": "https://example.invalid"\n'
    "    }\n  }\n}"
)
CODEX_CONFIG = """# my settings
model = "gpt-5.1-codex"   # fast
model_reasoning_effort = "high"

[projects."/home/dev/shop"]
trust_level = "trusted"

[mcp_servers.docs]
command = "npx"
args = [
  "-y",
  "docs-server", # [not a table]
]

[tui]
notifications = true
"""
CODEX_HOOKS = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "beep"}]}]}}'
GROK_CONFIG = """[cli]
auto_update = false

[models]
default = "grok-code-fast-1"
"""
GEMINI_SETTINGS = """{
\t// chosen at first start
\t"security": {
\t\t"auth": {
\t\t\t"selectedType": "oauth-personal"
\t\t}
\t},
\t"ui": { "theme": "GitHub" }, /* dark */
\t"mcpServers": {
\t\t"other": { "command": "x" }, // last
\t},
}
"""
QWEN_SETTINGS = (
    '{\r\n  "security": {\r\n    "auth": {"selectedType": "openai"}\r\n  },\r\n  "$version": 3\r\n}'
)
OPENCODE_CONFIG = """{
  "$schema": "https://opencode.ai/config.json",
  // providers
  "provider": {},
  "mcp": {}
}
"""
COPILOT_SERVERS = '\ufeff{\n    "mcpServers": {}\n}\n'
COPILOT_HOOKS = '{"version": 1, "hooks": {"sessionEnd": [{"type": "command", "bash": "bye"}]}}\n'

CURSOR_HOOKS = """{
  "version": 1,
  "hooks": {
    "stop": [{ "command": "./notify.sh" }]
  }
}
"""
CURSOR_SERVERS = '{"mcpServers": {"docs": {"command": "npx", "args": ["docs-server"]}}}\n'
DROID_SETTINGS = """{
  // my choice
  "model": "claude-opus-4-5",
  "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "beep" }] }] }
}
"""

CRUSH_CONFIG = """{
  "$schema": "https://charm.land/crush.json",
  "mcp": { "docs": { "type": "stdio", "command": "npx", "args": ["docs-server"] } }
}
"""
ZED_SETTINGS = """// Zed settings
{
  "theme": "One Dark", // at night
  "context_servers": {},
}
"""

LIVED_IN: dict[str, dict[str, str]] = {
    "claude": {".claude/settings.json": CLAUDE_SETTINGS, ".claude.json": CLAUDE_STATE},
    "codex": {".codex/config.toml": CODEX_CONFIG, ".codex/hooks.json": CODEX_HOOKS},
    "grok": {".grok/config.toml": GROK_CONFIG, ".grok/hooks/mine.json": '{"hooks": {}}'},
    "gemini": {".gemini/settings.json": GEMINI_SETTINGS},
    "qwen": {".qwen/settings.json": QWEN_SETTINGS},
    "opencode": {".config/opencode/opencode.jsonc": OPENCODE_CONFIG},
    "copilot": {
        ".copilot/mcp-config.json": COPILOT_SERVERS,
        ".copilot/hooks/session-memory.json": COPILOT_HOOKS,
    },
    "pi": {".pi/agent/settings.json": '{"defaultModel": "x"}', ".pi/agent/extensions/a.ts": "//\n"},
    "cowork": {
        ".config/Claude/claude_desktop_config.json": '{"mcpServers": {"docs": {"command": "x"}}}'
    },
    "copilot_chat": {
        ".config/Code/User/mcp.json": '{\n\t// mine\n\t"servers": {},\n\t"inputs": []\n}\n'
    },
    "cursor": {".cursor/hooks.json": CURSOR_HOOKS, ".cursor/mcp.json": CURSOR_SERVERS},
    "droid": {".factory/settings.json": DROID_SETTINGS},
    "crush": {".config/crush/crush.json": CRUSH_CONFIG},
    "kimi": {".kimi-code/mcp.json": '{"mcpServers": {}}'},
    "kiro": {".kiro/settings/mcp.json": '{"mcpServers": {"a": {"command": "a"}}}\n'},
    "zed": {".config/zed/settings.json": ZED_SETTINGS},
}
"""Of each client, what a home holds that was used for a while."""
