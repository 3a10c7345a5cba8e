"""Searches for counterexamples to all statements, and the power of these searches.

:mod:`.survey` searches for counterexamples to every theorem and corollary, and saves an
outcome file for each in ``docs/counterexamples``. :mod:`.power` measures how many false
versions of the corrected theorems the same search refutes.
"""
