"""Embedders: each module offers `open_embedder(rest)` for addresses `scheme:rest`."""
