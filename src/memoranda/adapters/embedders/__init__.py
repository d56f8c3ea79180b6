"""Embedders: each module that offers `open_embedder(rest, settings)` is there for addresses `scheme:rest`."""
