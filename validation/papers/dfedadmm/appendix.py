"""Lemmas and displays of the appendix of dfedadmm as statements."""

from dfltheory.bounds.papers.dfedadmm.proof import statements

__all__ = ["statements"]
