"""Multilayer perceptrons in NumPy: forward pass, gradient, AdamW and the one-cycle learning rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fsgym.text.messages import brief

ADAM_BETAS, ADAM_EPSILON = (0.9, 0.999), 1e-8  # the defaults of Kingma and Ba (2015)
START_DIVISOR, END_DIVISOR = 25.0, 1e4  # of the one-cycle rate: maximum / start, start / end; PyTorch's defaults
MAX_HIDDEN_LAYERS, MAX_LAYER_UNITS = 4, 4096  # in model files; by hand


class MLP:
    """Layers of rectified linear units, and a linear last layer. All parameters are in one vector.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of inputs, of units of each hidden layer, and of outputs.
    parameters : float32 (n_parameters,), optional
        For each layer the weights (n_inputs, n_outputs) and the biases (n_outputs,); zeros by default. Not copied.

    Raises
    ------
    ValueError
        If the parameters are not float32 of the size that the layers need.
    """

    def __init__(self, sizes: Sequence[int], parameters: NDArray[np.float32] | None = None) -> None:
        self.sizes = tuple(sizes)
        n_parameters = sum((inputs + 1) * outputs for inputs, outputs in zip(self.sizes, self.sizes[1:]))
        if parameters is None:
            parameters = np.zeros(n_parameters, np.float32)
        if parameters.dtype != np.float32 or parameters.shape != (n_parameters,):
            raise ValueError(
                f"a network of sizes {self.sizes} has {n_parameters} parameters of float32, got {parameters.dtype} of "
                f"shape {parameters.shape}"
            )
        self.parameters = parameters
        self._layers = self._split(parameters)

    @classmethod
    def random(cls, sizes: Sequence[int], rng: np.random.Generator, last_scale: float = 1.0) -> Self:
        """Weights and biases uniform within 1 / sqrt(n_inputs); those of the last layer times ``last_scale``."""
        network = cls(sizes)
        for weights, biases in network._layers:
            limit = 1 / np.sqrt(len(weights))
            weights[:] = rng.uniform(-limit, limit, weights.shape)
            biases[:] = rng.uniform(-limit, limit, biases.shape)
        for part in network._layers[-1]:
            part *= np.float32(last_scale)
        return network

    def copy(self) -> MLP:
        return MLP(self.sizes, self.parameters.copy())

    def __call__(self, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        """The outputs, float32 (n, n_outputs), for ``inputs``, float32 (n, n_inputs)."""
        return self.forward(inputs)[-1]

    def forward(self, inputs: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        """The inputs, the hidden layers, and the outputs, each float32 (n, n_units)."""
        layers = [inputs]
        for weights, biases in self._layers:
            if len(layers) > 1:
                np.maximum(layers[-1], 0, out=layers[-1])
            layers.append(layers[-1] @ weights)
            layers[-1] += biases
        return layers

    @property
    def first_weights(self) -> NDArray[np.float32]:
        """The weights of the first layer, float32 (n_inputs, n_units), a view."""
        return self._layers[0][0]

    @property
    def first_biases(self) -> NDArray[np.float32]:
        """The biases of the first layer, float32 (n_units,), a view."""
        return self._layers[0][1]

    def outputs_from(self, sums: NDArray[np.float32]) -> NDArray[np.float32]:
        """The outputs, float32 (n, n_outputs), from the first layer's sums, biases included, float32 (n, n_units)."""
        for weights, biases in self._layers[1:]:
            sums = np.maximum(sums, 0) @ weights
            sums += biases
        return sums

    def gradient(self, layers: Sequence[NDArray[np.float32]], slope: NDArray[np.float32]) -> NDArray[np.float32]:
        """The gradient of a loss with respect to the parameters, float32 (n_parameters,), by backpropagation.

        Parameters
        ----------
        layers : what ``forward`` returned
        slope : float32 (n, n_outputs), the derivative of the loss with respect to each output
        """
        gradient = np.empty_like(self.parameters)
        parts = self._split(gradient)
        for k in range(len(self._layers) - 1, -1, -1):
            np.matmul(layers[k].T, slope, out=parts[k][0])
            slope.sum(axis=0, out=parts[k][1])
            if k > 0:
                slope = slope @ self._layers[k][0].T
                slope *= layers[k] > 0
        return gradient

    def of_last_output(self, gradient: NDArray[np.float32]) -> NDArray[np.float32]:
        """The gradient with 0 for all parameters except the weights and the bias of the last output."""
        only = np.zeros_like(gradient)
        for part, whole in zip(self._split(only)[-1], self._split(gradient)[-1]):
            part[..., -1] = whole[..., -1]
        return only

    def _split(self, vector: NDArray[np.float32]) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """Views of the weights and the biases of each layer."""
        layers, first = [], 0
        for inputs, outputs in zip(self.sizes, self.sizes[1:]):
            middle, last = first + inputs * outputs, first + (inputs + 1) * outputs
            layers.append((vector[first:middle].reshape(inputs, outputs), vector[middle:last]))
            first = last
        return layers


class AdamW:
    """Adam with decoupled weight decay. ``step`` changes the parameters of a network.

    References
    ----------
    D. P. Kingma, J. Ba. Adam: a method for stochastic optimization. ICLR, 2015, algorithm 1.
    I. Loshchilov, F. Hutter. Decoupled weight decay regularization. ICLR, 2019, algorithm 2.
    """

    def __init__(self, network: MLP, weight_decay: float = 0.0) -> None:
        self.network, self.weight_decay, self.n_steps = network, weight_decay, 0
        self._first, self._second = (np.zeros_like(network.parameters) for _ in range(2))

    def step(self, gradient: NDArray[np.float32], rate: float) -> None:
        self.n_steps += 1
        first, second = (1 - beta**self.n_steps for beta in ADAM_BETAS)
        scale, floor = rate * np.sqrt(second) / first, ADAM_EPSILON * np.sqrt(second)
        factors = np.array([1 - rate * self.weight_decay, scale, floor, *ADAM_BETAS], np.float32)
        _adam_step(self.network.parameters, gradient, self._first, self._second, factors)


@njit(cache=True, nogil=True, _nrt=False)
def _adam_step(parameters, gradient, first, second, factors):
    decay, scale, floor, beta1, beta2 = factors[0], factors[1], factors[2], factors[3], factors[4]
    rest1, rest2 = np.float32(1) - beta1, np.float32(1) - beta2
    for i in range(parameters.size):
        first[i] = beta1 * first[i] + rest1 * gradient[i]
        second[i] = beta2 * second[i] + rest2 * gradient[i] * gradient[i]
        parameters[i] = decay * parameters[i] - scale * first[i] / (np.sqrt(second[i]) + floor)


def one_cycle(step: int, n_steps: int, highest: float, warm_up: float) -> float:
    """The learning rate of one step: it rises to ``highest`` in a share ``warm_up`` of the steps, then falls.

    Both parts are half cosines, from ``highest / 25`` and down to ``highest / 250_000``.

    References
    ----------
    L. N. Smith, N. Topin. Super-convergence: very fast training of neural networks using large learning rates. 2019.

    Examples
    --------
    >>> [round(one_cycle(step, 11, 1.0, 0.2), 3) for step in (0, 2, 6, 10)]
    [0.04, 1.0, 0.5, 0.0]
    """
    start = highest / START_DIVISOR
    end, peak = start / END_DIVISOR, warm_up * (n_steps - 1)
    if step < peak:
        low, share = start, 1 - step / peak
    else:
        low, share = end, (step - peak) / max(n_steps - 1 - peak, 1)
    return low + (highest - low) * (1 + math.cos(math.pi * share)) / 2


def check_hidden_sizes(sizes: Any) -> tuple[int, ...]:
    """The sizes of hidden layers as a tuple; ValueError unless they are a list of 1 to 4 numbers, 1 to 4096."""
    if not isinstance(sizes, list) or not 1 <= len(sizes) <= MAX_HIDDEN_LAYERS:
        raise ValueError(f"a network must have 1 to {MAX_HIDDEN_LAYERS} hidden layers, got {brief(sizes)}")
    if not all(type(size) is int and 1 <= size <= MAX_LAYER_UNITS for size in sizes):
        raise ValueError(f"hidden layers must have 1 to {MAX_LAYER_UNITS} units, got {brief(sizes)}")
    return tuple(sizes)


def softmax_inplace(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Replace scores (n, n_classes) by class probabilities."""
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores
