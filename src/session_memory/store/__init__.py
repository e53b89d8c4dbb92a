"""Where captured sessions live: the `Store` protocol and its SQLite implementation."""
