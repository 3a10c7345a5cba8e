"""Types of arrays that several modules name in their signatures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
"""A float64 array of any shape."""

__all__ = ["FloatArray"]
