"""A second checker of proofs, which shares no code with the package, and its tests."""
