"""Lemmas and displays of the appendix of dfedsam as statements."""

from dfltheory.bounds.papers.dfedsam.proof import statements

__all__ = ["statements"]
