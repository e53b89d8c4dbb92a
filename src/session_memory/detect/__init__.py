"""What recurs over sessions: signals from digests, grouped into ranked candidate patterns."""
