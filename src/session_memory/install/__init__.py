"""Wires agents to this program and takes the wires out again, byte for byte."""
