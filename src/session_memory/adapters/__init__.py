"""One folder per agent with everything about it: logs, hooks, wiring, instruction files, test logs.

The `Agent` record in its `__init__.py` says it all. `wiring/` and the files here are what several
agents share; what `init` writes for one agent is `wiring.py` in its own folder.
"""
