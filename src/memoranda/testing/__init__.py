"""Public test doubles and one conformance suite per port, for those who write backends."""
