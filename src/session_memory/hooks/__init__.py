"""What agents run at their events: one file that imports nothing of ours and is not imported."""
