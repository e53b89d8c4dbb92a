"""Wires agents to this program and removes the wiring again, byte for byte."""
