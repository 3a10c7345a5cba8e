"""The audit: general checks, which read a statement alone, and checks of what is declared for a paper."""
