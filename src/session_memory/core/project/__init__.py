"""Which project a directory or a session belongs to."""
