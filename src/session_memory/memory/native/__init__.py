"""The agents' own memories: what each was told, what contradicts, is stale, double, or costs."""
