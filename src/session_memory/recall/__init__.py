"""Answers questions about what is stored: search, scope, packs, open work."""
