"""Use cases: one per module, functions over ports, read top to bottom."""
