"""Public builders for tests and sample sessions: logs in the shape the real agents write."""
