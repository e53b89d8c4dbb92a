"""Curation: a person decides which patterns enter the catalog, within the bounds of evidence."""
