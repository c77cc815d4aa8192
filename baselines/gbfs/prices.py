"""What features cost: phi, the share of its price that a feature costs after others were bought, and the purchases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsgym.checks import brief

Shares = NDArray[np.float64]
Phi = Callable[[NDArray[np.bool_]], Any]


class Purchase(NamedTuple):
    """One line of the purchase log.

    Attributes
    ----------
    feature : int
    iteration : int, from 1
    output : int, whose tree it was: the class, 0 for two classes and in regression
    node : int, which of the tree's nodes asks for it first
    price : float, ``mu * cost * phi`` at that time
    net : float, half of what the split took off the squared error, less the price
    """

    feature: int
    iteration: int
    output: int
    node: int
    price: float
    net: float


class Market:
    """Prices that fall while features are bought.

    Parameters
    ----------
    mu : float
    costs : ndarray of shape (n_features,), float64
    phi : callable, bool (n_features,), what was bought -> shares of the costs (n_features,), in [0, 1]
    frozen : bool
        Prices change when ``reprice`` is called only, not at once.
    """

    def __init__(self, mu: float, costs: Shares, phi: Phi, frozen: bool = False) -> None:
        self.mu, self.costs, self._phi, self.frozen = mu, costs, phi, frozen
        self.bought = np.zeros(len(costs), dtype=bool)
        self.log: list[Purchase] = []
        self.phi = shares(phi, self.bought)
        self.prices = mu * costs * self.phi
        self.iteration = self.output = 0

    def on_split(self, feature: int, node: int, net: float) -> bool:
        """Buy the feature, unless it is ours; returns whether prices have changed."""
        if self.bought[feature]:
            return False
        self.log.append(Purchase(feature, self.iteration, self.output, node, float(self.prices[feature]), net))
        self.bought[feature] = True
        if not self.frozen:
            self.reprice()
        return not self.frozen

    def phi_of(self, bought: NDArray[np.bool_]) -> Shares:
        """Shares of the costs that would be left after these purchases."""
        return shares(self._phi, bought)

    def reprice(self) -> None:
        """Prices after all purchases so far; ValueError where one has risen."""
        before, self.phi = self.phi, shares(self._phi, self.bought)
        dearer = np.flatnonzero(self.phi > before)
        if dearer.size:
            f = dearer[0]
            raise ValueError(
                f"phi must not increase while features are bought, but that of feature {f} went from {before[f]:g} "
                f"to {self.phi[f]:g}"
            )
        self.prices[:] = self.mu * self.costs * self.phi


def shares(phi: Phi, bought: NDArray[np.bool_]) -> Shares:
    """``phi`` of what was bought, checked: one number in [0, 1] a feature, 0 for those that were bought."""
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
        raise ValueError(f"phi must be 0 for what was bought, got {values[f]:g} for feature {f}")
    return values


def phi_of(n_features: int, bags: Any, neighbour_discount: Any, phi: Any) -> Phi:
    """The phi that is meant: by default everything costs its price until it is bought.

    Raises ValueError or TypeError where more than one is given, or where one does not fit the features.
    """
    given = {"bags": bags, "neighbour_discount": neighbour_discount, "phi": phi}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise ValueError(f"at most one of bags, neighbour_discount and phi may be given, got {' and '.join(named)}")
    if phi is not None:
        if not callable(phi):
            raise TypeError(f"phi must be a function of what was bought, bool (n_features,), got {brief(phi)}")
        return phi
    if bags is not None:
        return _by_bags(bags, n_features)
    if neighbour_discount is not None:
        return _by_neighbours(neighbour_discount, n_features)
    return lambda bought: 1.0 - bought


def _by_bags(bags: ArrayLike, n_features: int) -> Phi:
    """phi_f = 0 once a feature of the bag of f is bought."""
    try:
        names, bag = np.unique(np.asarray(bags), return_inverse=True)
    except (TypeError, ValueError):
        raise TypeError(f"bags must be one label for each of the {n_features} features, got {brief(bags)}") from None
    if np.shape(bags) != (n_features,):
        raise ValueError(f"bags must be one label for each of the {n_features} features, got shape {np.shape(bags)}")
    return lambda bought: ~np.isin(np.arange(len(names)), bag[bought])[bag]


def _by_neighbours(discount: ArrayLike, n_features: int) -> Phi:
    """phi_f = min over what was bought of discount[u, f]; 1 where nothing was."""
    try:
        rho = np.array(discount, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError("neighbour_discount must be a matrix of numbers, a row and a column a feature") from None
    if rho.shape != (n_features, n_features):
        raise ValueError(f"neighbour_discount must have shape ({n_features}, {n_features}), got {rho.shape}")
    if not ((rho >= 0) & (rho <= 1)).all():
        wrong = rho[~((rho >= 0) & (rho <= 1))][0]
        raise ValueError(f"neighbour_discount must lie between 0 and 1 (no discount), got {wrong:g}")
    return lambda bought: np.where(bought, 0.0, rho[bought].min(axis=0, initial=1.0))
