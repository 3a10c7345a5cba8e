"""The audit: checks that know theorems but no paper in particular."""
