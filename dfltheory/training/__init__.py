"""The training loop, its measurements, and the files of runs."""

from dfltheory.training.checkpoint import Checkpoint
from dfltheory.training.history import History
from dfltheory.training.loop import train

__all__ = ["Checkpoint", "History", "train"]
