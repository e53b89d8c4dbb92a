"""The team's memory as this machine sees it: what leaves, what came, and how it is taken back."""
