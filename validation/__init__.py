"""The theorems against runs: ``python -m validation.run_all`` writes a report."""
