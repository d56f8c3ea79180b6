"""Pure decisions: no files, SQL, clock, network or environment."""
