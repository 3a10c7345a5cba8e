"""The version, below everything: pyproject.toml repeats it, and a test holds the two together."""

__version__ = "0.1.0"

__all__ = ["__version__"]
