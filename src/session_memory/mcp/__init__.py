"""Serves recall to agents over the Model Context Protocol."""
