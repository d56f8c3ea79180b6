"""Candidates among notes from QMD, the command-line search engine for Markdown (an npm package)."""
