"""One experiment for each theorem: ``python -m validation.run_all`` runs them and
writes a report.
"""
