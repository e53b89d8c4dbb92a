"""Forget and secret rescan: what would go, removing it in every feature, proof that it went.

Old raw text that leaves under a byte budget is retention: `core/retention` decides, and
`ingest/retention.py` does it in each sweep.
"""
