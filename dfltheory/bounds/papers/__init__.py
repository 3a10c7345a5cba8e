"""The papers: a module or a folder each, found by :mod:`dfltheory.bounds.registry`."""
