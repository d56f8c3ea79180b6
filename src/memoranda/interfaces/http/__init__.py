"""The HTTP server: who may speak to it, and what it offers."""
