"""Pages of the web."""
