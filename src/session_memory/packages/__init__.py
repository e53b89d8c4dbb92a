"""Packages that users of an agent know and install: built from the agents' records."""
