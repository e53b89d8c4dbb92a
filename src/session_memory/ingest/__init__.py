"""The sweep: discover, normalize, redact, merge, store, digest, evict."""
