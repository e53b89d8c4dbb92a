"""The detached process behind hooks: one at a time, bounded in time, safe to kill."""
