"""Gives approved patterns to agents: marked blocks, skills, injections; with exact undo."""
