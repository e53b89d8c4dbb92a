"""Measures whether what was given to agents helped: effects with controls, trials, verdicts."""
