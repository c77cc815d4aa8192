"""Array types that the baselines share in their signatures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatVector = NDArray[np.float64]  # of one dimension
FloatMatrix = NDArray[np.float64]  # of two dimensions
