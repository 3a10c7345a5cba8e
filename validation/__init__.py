"""Experiments that test the theorems against simulated runs.

``python -m validation.run_all`` performs them and writes a report.
"""
