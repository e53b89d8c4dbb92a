"""Taking what a store holds out of it, and into another."""
