"""The secret scanner: what may never be stored, found by class and line."""
