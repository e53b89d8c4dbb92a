"""The agents' own memories: their content, contradictions, stale lines, repeats and cost."""
