"""The audit: checks of one statement that need no data.

They examine units, limits, the agreement of variants, and more.
:func:`dfltheory.checks.run.audit` (``dfltheory.audit``) runs them.
"""
