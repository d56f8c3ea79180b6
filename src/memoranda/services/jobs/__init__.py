"""Background work with a language model: it proposes, caps itself, and can be read afterwards."""
