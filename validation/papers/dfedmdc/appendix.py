"""Lemmas and displays of the appendix of dfedmdc as statements."""

from dfltheory.bounds.papers.dfedmdc.proof import statements

__all__ = ["statements"]
