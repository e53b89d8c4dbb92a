"""Forget and secret rescan: what would go, removing it in every feature, proof that it went."""
