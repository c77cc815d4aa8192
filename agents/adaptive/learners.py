"""The learners to choose from."""

from __future__ import annotations

from agents.anystate import AnyStateNetworkClassifier, MixtureClassifier
from agents.lattice import LatticeClassifier
from agents.tradeoff import BaseTradeoffClassifier

LEARNERS: dict[str, type[BaseTradeoffClassifier]] = {
    "lattice": LatticeClassifier,
    "mixture": MixtureClassifier,
    "network": AnyStateNetworkClassifier,
}
