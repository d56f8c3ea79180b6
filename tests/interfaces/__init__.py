"""Tests of what people and agents touch."""
