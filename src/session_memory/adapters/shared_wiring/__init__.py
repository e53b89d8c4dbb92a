"""What the `wiring.py` of every agent is built from: edits of JSON and TOML, launchers, hooks.

How one agent is wired is said in its own folder, `adapters/NAME/wiring.py`.
"""
