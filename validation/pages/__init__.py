"""Generators of pages of the documentation."""
