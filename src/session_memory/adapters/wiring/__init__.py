"""How our hooks and our server get into an agent's settings, and out again byte for byte."""
