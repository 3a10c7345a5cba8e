"""Searches for counterexamples to all statements, and the measured power of the search.

:mod:`.survey` searches every theorem and corollary and saves one outcome file each in
``docs/counterexamples``; :mod:`.power` searches false versions of the corrected
theorems.
"""
