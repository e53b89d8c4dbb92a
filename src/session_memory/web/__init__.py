"""The local page: read, search, review, see the effect, forget, in a browser."""
