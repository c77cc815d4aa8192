"""Prices of features: phi, the share of its price that a feature costs after others were bought, and purchases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsgym.text.messages import brief

Phi = Callable[[NDArray[np.bool_]], Any]  # bool (n_features,), which features are bought -> shares (n_features,)


class Purchase(NamedTuple):
    """One entry of ``purchase_log_``.

    Attributes
    ----------
    feature : int
    iteration : int, from 1
    output : int, the output of the tree: the class index; 0 for two classes and in regression
    node : int, the node of the tree that first splits on the feature
    price : float, ``mu * cost * phi`` at that time
    net : float, half of the decrease of the squared error by the split, minus the price
    """

    feature: int
    iteration: int
    output: int
    node: int
    price: float
    net: float


class FeaturePrices:
    """Prices of the features, which decrease as features are bought.

    Parameters
    ----------
    mu : float
    costs : ndarray of shape (n_features,), float64
    phi : callable, bool (n_features,), which features are bought -> shares of the costs (n_features,), in [0, 1]
    frozen : bool
        Whether prices change only when ``reprice`` is called, instead of with each purchase.
    """

    def __init__(self, mu: float, costs: NDArray[np.float64], phi: Phi, frozen: bool = False) -> None:
        self.mu, self.costs, self._phi, self.frozen = mu, costs, phi, frozen
        self.bought = np.zeros(len(costs), dtype=bool)
        self.log: list[Purchase] = []
        self.phi = evaluate_phi(phi, self.bought)
        self.prices = mu * costs * self.phi
        self.iteration = self.output = 0

    def on_split(self, feature: int, node: int, net: float) -> bool:
        """Buy the feature, unless it is bought already; return whether prices have changed."""
        if self.bought[feature]:
            return False
        self.log.append(Purchase(feature, self.iteration, self.output, node, float(self.prices[feature]), net))
        self.bought[feature] = True
        if not self.frozen:
            self.reprice()
        return not self.frozen

    def phi_after(self, bought: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the shares of the costs that remain after these purchases, (n_features,)."""
        return evaluate_phi(self._phi, bought)

    def reprice(self) -> None:
        """Update the prices for all purchases so far; raises ValueError if one has increased."""
        before, self.phi = self.phi, evaluate_phi(self._phi, self.bought)
        increased = np.flatnonzero(self.phi > before)
        if increased.size:
            f = increased[0]
            raise ValueError(
                f"phi must not increase while features are bought, but that of feature {f} increased from "
                f"{before[f]:g} to {self.phi[f]:g}"
            )
        self.prices[:] = self.mu * self.costs * self.phi


def evaluate_phi(phi: Phi, bought: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the checked values of ``phi`` for these purchases, float64 (n_features,).

    Raises ValueError unless they are one number in [0, 1] per feature, and 0 for the features that are bought.
    """
    try:
        values = np.array(phi(bought.copy()), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"phi must return one number for each of the {len(bought)} features: {error}") from error
    if values.shape != bought.shape:
        raise ValueError(f"phi must return an array of shape ({len(bought)},), got {values.shape}")
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        f = np.flatnonzero(wrong)[0]
        raise ValueError(f"phi must return shares between 0 and 1, got {values[f]} for feature {f}")
    if values[bought].any():
        f = np.flatnonzero(bought & (values > 0))[0]
        raise ValueError(f"phi must be 0 for features that are bought, got {values[f]:g} for feature {f}")
    return values


def make_phi(n_features: int, bags: Any, neighbour_discount: Any, phi: Any) -> Phi:
    """Return the phi of an estimator's parameters; by default a feature costs its price until it is bought.

    Raises ValueError or TypeError if more than one is given, or if one does not match the features.
    """
    given = {"bags": bags, "neighbour_discount": neighbour_discount, "phi": phi}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise ValueError(f"at most one of bags, neighbour_discount and phi may be given, got {' and '.join(named)}")
    if phi is not None:
        if not callable(phi):
            raise TypeError(
                f"phi must be a function of which features are bought, bool (n_features,), got {brief(phi)}"
            )
        return phi
    if bags is not None:
        return _by_bags(bags, n_features)
    if neighbour_discount is not None:
        return _by_neighbours(neighbour_discount, n_features)
    return lambda bought: 1.0 - bought


def _by_bags(bags: ArrayLike, n_features: int) -> Phi:
    """phi_f = 0 as soon as a feature of the bag of f is bought."""
    try:
        names, bag = np.unique(np.asarray(bags), return_inverse=True)
    except (TypeError, ValueError):
        raise TypeError(f"bags must be one label for each of the {n_features} features, got {brief(bags)}") from None
    if np.shape(bags) != (n_features,):
        raise ValueError(f"bags must be one label for each of the {n_features} features, got shape {np.shape(bags)}")
    return lambda bought: ~np.isin(np.arange(len(names)), bag[bought])[bag]


def _by_neighbours(discount: ArrayLike, n_features: int) -> Phi:
    """phi_f = min over the bought features u of discount[u, f]; 1 if none is bought."""
    try:
        rho = np.array(discount, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            "neighbour_discount must be a matrix of numbers with one row and one column per feature"
        ) from None
    if rho.shape != (n_features, n_features):
        raise ValueError(f"neighbour_discount must have shape ({n_features}, {n_features}), got {rho.shape}")
    if not ((rho >= 0) & (rho <= 1)).all():
        wrong = rho[~((rho >= 0) & (rho <= 1))][0]
        raise ValueError(f"neighbour_discount must lie between 0 and 1 (no discount), got {wrong:g}")
    return lambda bought: np.where(bought, 0.0, rho[bought].min(axis=0, initial=1.0))
