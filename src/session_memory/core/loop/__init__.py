"""Values of the loop: patterns, catalog, trials, effects, what sessions are given."""
