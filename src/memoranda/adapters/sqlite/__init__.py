"""SQLite: the ledger, the index and the embedding cache."""
