"""The detached process that does what hooks asked for: one at a time, bounded, safe to kill."""
