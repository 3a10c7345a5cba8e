"""The audit: checks of one statement that need no data.

They check units, limits, agreement of variants, ...
``audit`` in :mod:`dfltheory.checks.run` (``dfltheory.audit``) runs them.
"""
