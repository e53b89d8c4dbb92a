"""Per-project memory: traces of sessions, consolidated into MEMORY.md and skills."""
