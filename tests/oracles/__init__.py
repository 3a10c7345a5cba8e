"""Recorded results that a refactoring must reproduce; each module records and compares
one kind.
"""
