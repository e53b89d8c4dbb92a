"""Exports of a store as JSONL or Markdown, and importing JSONL into a store.

jsonl, markdown     write an export in either format
records             the lines and the manifest of a JSONL export
reader              checks and reads a JSONL export
importer            writes what a store lacks of an export into it
drafts, redaction   an imported event, or session, made ready for this store
"""
