"""Lemmas and displays of the appendix of dfedsgpsm as statements."""

from dfltheory.bounds.papers.dfedsgpsm.proof import statements

__all__ = ["statements"]
