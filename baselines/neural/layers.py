"""Small networks on masked inputs; inference needs NumPy only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fsgym.support.threads import one_blas_thread

LARGEST_OUTPUT = 1e30  # outputs are clipped at it, for networks of damaged files


class Layers(NamedTuple):
    """Linear layers with rectified linear units between them.

    Attributes
    ----------
    weights : tuple of float32 (n_in, n_out)
    biases : tuple of float32 (n_out,)
    """

    weights: tuple[NDArray[np.float32], ...]
    biases: tuple[NDArray[np.float32], ...]

    def outputs(self, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """The outputs (n, n_out) for inputs (n, n_in), in double precision: rows do not depend on each other."""
        signal = inputs
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
                signal = (np.maximum(signal, 0.0) if k else signal) @ weight.astype(np.float64) + bias
        return np.nan_to_num(signal).clip(-LARGEST_OUTPUT, LARGEST_OUTPUT)

    def to_arrays(self, name: str) -> dict[str, NDArray]:
        """The arrays by name, for a model file."""
        weights = {f"{name}.{k}.weight": array for k, array in enumerate(self.weights)}
        return weights | {f"{name}.{k}.bias": array for k, array in enumerate(self.biases)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], name: str, widths: Sequence[int]) -> Self:
        """The layers of these widths, inputs and outputs included, from a model file.

        Raises KeyError or ValueError if an array is missing, has another shape or type, or is not finite.
        """
        weights, biases = [], []
        for k, (n_in, n_out) in enumerate(pairwise(widths)):
            for kind, shape, found in (("weight", (n_in, n_out), weights), ("bias", (n_out,), biases)):
                array = arrays[f"{name}.{k}.{kind}"]
                if array.shape != shape or array.dtype != np.float32 or not np.isfinite(array).all():
                    raise ValueError(f"{name}.{k}.{kind} must be finite float32 of shape {shape}")
                found.append(array)
        return cls(tuple(weights), tuple(biases))
