"""The one loop, what it measures, and what it leaves behind."""

from dfltheory.training.checkpoint import Checkpoint
from dfltheory.training.history import History
from dfltheory.training.loop import train

__all__ = ["Checkpoint", "History", "train"]
