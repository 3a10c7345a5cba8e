"""Recorded results that a refactoring must reproduce; each module here records one kind
and compares it.
"""
