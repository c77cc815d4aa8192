"""Synthetic data sets with a known distribution, of any size: their rows, and their exact class probabilities.

A generator is a small immutable object. ``sample`` draws a ``Dataset``; ``posterior`` is the probability of each class
given any acquired values, with which a policy can be compared with the best one that knows the distribution; see
``fsgym.evaluation.reference_policies``. ``load_dataset("cube")``, and the same for the other names in ``GENERATORS``,
returns rows that are the same on every machine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsgym.data.dataset import Dataset
from fsgym.support.checks import check_number, generator_of, is_integer
from fsgym.text.messages import brief

# Mixtures of independent normals: the probabilities of their components given some of the values.


class Components(NamedTuple):
    """Equally likely components of independent normals: one for each class, or for each context and class."""

    labels: NDArray[np.int64]  # (n_components,)
    means: NDArray[np.float64]  # (n_components, n_features)
    sds: NDArray[np.float64]  # (n_components, n_features)

    def log_densities(self, X: NDArray[np.float64], known: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Log densities of the known values up to a constant of each row, float64 (n, n_components).

        ``X`` is 0 where it is not known.
        """
        precision = self.sds**-2
        offsets = -0.5 * self.means**2 * precision - np.log(self.sds)
        return -0.5 * X**2 @ precision.T + X @ (self.means * precision).T + known @ offsets.T

    def log_densities_of(self, features: NDArray[np.int64], x: NDArray[np.float64]) -> NDArray[np.float64]:
        """As ``log_densities``, of one value in each row: ``x``, float64 (n,), of ``features``, int64 (n,)."""
        means, sds = self.means.T[features], self.sds.T[features]
        return -0.5 * ((x[:, None] - means) / sds) ** 2 - np.log(sds)

    def weights(self, log_densities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of the components, float64 (n, n_components)."""
        weights = np.exp(log_densities - log_densities.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    def class_probabilities(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums of the probabilities of the components of each class, float64 (n, n_classes)."""
        return weights @ np.eye(self.labels.max() + 1)[self.labels]


PUBLISHED_SEED = 8139  # of the generator of syn1 to syn3
PUBLISHED_ROWS = 80_000  # 60,000 for training, 10,000 for validation, 10,000 for test
PUBLISHED_TRAINING_ROWS = 70_000  # training and validation

N_BITS = 3
N_CUBE_CLASSES = 2**N_BITS
BLOCK_SIZE = N_CUBE_CLASSES + N_BITS - 1
INFORMATIVE_SD, NOISE_MEAN, NOISE_SD = 0.1, 0.5, 0.3
MIN_CONTEXT_NOISE = 1e-4  # below this, rounding of float64 would change log densities by more than 1e-7


class SyntheticData(ABC):
    """Data with a known distribution; each kind is a subclass."""

    name: str
    n_features: int
    n_classes: int
    n_groups: int = 0  # 0: each feature is an acquisition of its own

    @abstractmethod
    def sample(self, n_samples: int, random_state: Any = None) -> Dataset:
        """Draw independent rows.

        Parameters
        ----------
        n_samples : int
        random_state : int, numpy.random.Generator, numpy.random.RandomState or None

        Returns
        -------
        Dataset, with names of the features, and with groups and prices where the generator has some

        Raises
        ------
        ValueError, TypeError
            If ``n_samples`` is not a whole number from 1, or ``random_state`` is none of these.
        """

    def posterior(self, X: ArrayLike, known: ArrayLike | None = None) -> NDArray[np.float64]:
        """Exact probabilities of the classes given some of the values.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        known : bool array-like of shape (n, n_features) or (n_features,), optional
            Which values are known; the others are not read. By default all that are not NaN.

        Returns
        -------
        float64 (n, n_classes)

        Raises
        ------
        ValueError, TypeError
            If the shapes do not fit, or a known value is not finite.
        """
        rows, mask = self._check_rows(X, known)
        return self._posterior(np.where(mask, rows, 0.0), mask)

    @abstractmethod
    def _posterior(self, X: NDArray[np.float64], known: NDArray[np.bool_]) -> NDArray[np.float64]:
        """As ``posterior``, for checked rows that are 0 where they are not known."""

    def _check_rows(
        self, X: ArrayLike, known: ArrayLike | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        try:
            rows = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"X must be an array of numbers, got {brief(X)}") from None
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(f"X must have shape (n, {self.n_features}), got {rows.shape}")
        mask = ~np.isnan(rows) if known is None else np.asarray(known)
        if mask.dtype != bool or mask.shape not in (rows.shape, rows.shape[1:]):
            raise ValueError(f"known must be bool of shape {rows.shape} or ({self.n_features},), got {brief(known)}")
        mask = np.broadcast_to(mask, rows.shape)
        if not np.isfinite(rows[mask]).all():
            raise ValueError("X must be finite where it is known; mark other values in known as False")
        return rows, mask


@dataclass(frozen=True)
class Syn(SyntheticData):
    """Two classes of 11 standard normal features, of which the last one selects the features that matter.

    The class is 1 with probability 1 / (1 + exp(L)), and L is one of

    - L1 = 4 x1 x2,
    - L2 = 1.2 (x3^2 + x4^2 + x5^2 + x6^2) - 4.2,
    - L3 = -10 sin(0.2 x7) + abs(x8) + x9 + exp(-x10) - 2.4.

    Where x11 < 0, rules 1, 2 and 3 use L1, L1 and L2; elsewhere they use L2, L3 and L3.

    Parameters
    ----------
    rule : 1, 2 or 3

    References
    ----------
    Yoon, J., Jordon, J., van der Schaar, M. (2019). INVASE: Instance-wise Variable Selection using Neural Networks.
    ICLR. Data sets of this kind go back to Chen, J., Song, L., Wainwright, M., Jordan, M. (2018). Learning to Explain.
    ICML.

    Examples
    --------
    >>> from fsgym.datasets import Syn
    >>> data = Syn(1).sample(1000, random_state=0)
    >>> data
    Dataset('syn1': 1,000 samples, 11 features, 2 classes)
    >>> Syn(1).posterior(data.X[:1], known=[False] * 11).tolist()[0][1] < 0.5
    True
    """

    rule: int
    n_features = 11
    n_classes = 2

    def __post_init__(self) -> None:
        if not is_integer(self.rule) or not 1 <= self.rule <= 3:
            raise ValueError(f"rule must be 1, 2 or 3, got {brief(self.rule)}")

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"syn{self.rule}"

    @property
    def logits(self) -> tuple[Any, Any]:
        """The logit where x11 < 0, and elsewhere, of ``fsgym.datasets.logits``."""
        from fsgym.datasets.logits import LOGITS_OF_RULES  # imports parts of SciPy

        return LOGITS_OF_RULES[self.rule]

    def sample(self, n_samples: int, random_state: Any = None) -> Dataset:
        generator = generator_of(random_state)
        X = generator.standard_normal((_check_n_samples(n_samples), self.n_features))
        return self._labelled(X, generator.random(len(X)))

    def published(self) -> Dataset:
        """The 80,000 rows of the published generator: 60,000 for training, 10,000 for validation, 10,000 for test.

        The three rules are drawn one after the other from one stream, ``numpy.random.RandomState(8139)``.
        """
        stream = np.random.RandomState(PUBLISHED_SEED)
        X, uniform = np.empty((0, self.n_features)), np.empty(0)
        for _ in range(self.rule):
            X, uniform = stream.normal(size=(PUBLISHED_ROWS, self.n_features)), stream.rand(PUBLISHED_ROWS)
        return self._labelled(X, uniform)

    def _labelled(self, X: NDArray[np.float64], uniform: NDArray[np.float64]) -> Dataset:
        y = uniform < self._posterior(X, np.ones(X.shape, dtype=bool))[:, 1]
        return Dataset(X, y.astype(np.int64), classes=[0, 1], feature_names=_numbered("x{}", 11, 1), name=self.name)

    def relevant(self, X: ArrayLike) -> NDArray[np.bool_]:
        """The features that determine the class probabilities of each row, bool (n, 11): x11 and those of its logit."""
        rows, known = self._check_rows(X)
        if not known[:, -1].all():
            raise ValueError("X must have a value of x11 in every row, got NaN")
        masks = np.zeros((2, self.n_features), dtype=bool)
        masks[:, -1] = True
        for mask, logit in zip(masks, self.logits):
            mask[list(logit.features)] = True
        return masks[np.where(rows[:, -1] < 0, 0, 1)]

    def _posterior(self, X: NDArray[np.float64], known: NDArray[np.bool_]) -> NDArray[np.float64]:
        share_of_first = np.where(known[:, -1], X[:, -1] < 0, 0.5)
        first, second = (logit.probability(X, known) for logit in self.logits)
        p = share_of_first * first + (1 - share_of_first) * second
        return np.column_stack([1 - p, p])


class NormalComponents(SyntheticData):
    """Data whose features are independent normals given the class, or given the context and the class."""

    n_classes = N_CUBE_CLASSES
    components: Components

    def sample(self, n_samples: int, random_state: Any = None) -> Dataset:
        labels, means, sds = self.components
        generator = generator_of(random_state)
        which = generator.integers(len(labels), size=_check_n_samples(n_samples))
        X = generator.normal(means[which], sds[which])
        return Dataset(X, labels[which], classes=range(self.n_classes), name=self.name, **self._description())

    def _description(self) -> dict[str, Any]:
        """Parameters of ``Dataset``: names of the features, groups, prices."""
        return {"feature_names": _numbered("x{}", self.n_features)}

    def _posterior(self, X: NDArray[np.float64], known: NDArray[np.bool_]) -> NDArray[np.float64]:
        weights = self.components.weights(self.components.log_densities(X, known))
        return self.components.class_probabilities(weights)


@dataclass(frozen=True)
class Cube(NormalComponents):
    """Eight classes, each a corner of a cube in three of 20 features.

    In class c, features c, c + 1 and c + 2 are normal around the bits of c, highest first, with standard deviation 0.1.
    All others are N(0.5, 0.3). Features 10 to 19 are never informative.

    References
    ----------
    CUBE in Schütz et al. (2025). AFABench: A Generic Framework for Benchmarking Active Feature Acquisition.
    arXiv:2508.14734.

    Examples
    --------
    >>> from fsgym.datasets import Cube
    >>> Cube().sample(1000, random_state=0)
    Dataset('cube': 1,000 samples, 20 features, 8 classes)
    """

    name = "cube"
    n_features = 2 * BLOCK_SIZE

    @cached_property
    def components(self) -> Components:  # type: ignore[override]
        block, noise = _cube_block(), _noise_block()
        return Components(np.arange(N_CUBE_CLASSES), *(np.hstack(pair) for pair in zip(block, noise)))


@dataclass(frozen=True)
class CubeNUC(NormalComponents):
    """As ``Cube``, but with two blocks of ten features that are drawn alike, the second at double price.

    References
    ----------
    CUBE-NUC (non-uniform costs) in Schütz et al. (2025), arXiv:2508.14734.

    Examples
    --------
    >>> from fsgym.datasets import CubeNUC
    >>> CubeNUC().sample(1000, random_state=0).costs[[0, 19]].tolist()
    [1.0, 2.0]
    """

    name = "cube_nuc"
    n_features = 2 * BLOCK_SIZE

    @cached_property
    def components(self) -> Components:  # type: ignore[override]
        block = _cube_block()
        return Components(np.arange(N_CUBE_CLASSES), *(np.hstack([part, part]) for part in block))

    def _description(self) -> dict[str, Any]:
        return {**super()._description(), "costs": np.repeat([1.0, 2.0], BLOCK_SIZE)}


@dataclass(frozen=True)
class CubeNM(NormalComponents):
    """As ``Cube``, but a context says which one of several blocks of ten features is informative.

    The first acquisition is the context: one column per context, 1 for the one of the row and 0 for the others, plus
    normal noise. The block of that context is drawn as the first ten features of ``Cube``, all others are N(0.5, 0.3).
    The context alone does not change the class probabilities, so that a greedy policy does not begin with it.

    Parameters
    ----------
    n_contexts : int, default 5
        Number of contexts, all equally likely, and of blocks; 2 to 100. There are 11 features per context, and
        ``1 + 10 * n_contexts`` acquisitions.
    context_noise : float, default 0.1
        Standard deviation of the noise of the context, at least 0.0001.

    References
    ----------
    CUBE-NM (non-myopic) in Schütz et al. (2025), arXiv:2508.14734.

    Examples
    --------
    >>> from fsgym.datasets import CubeNM
    >>> data = CubeNM().sample(1000, random_state=0)
    >>> data.n_features, len(data.acquisition_names), data.acquisition_names[:2]
    (55, 51, ('context', 'block0_x0'))
    """

    n_contexts: int = 5
    context_noise: float = 0.1
    name = "cube_nm"

    def __post_init__(self) -> None:
        if not is_integer(self.n_contexts) or not 2 <= self.n_contexts <= 100:
            raise ValueError(f"n_contexts must be a whole number, 2 to 100, got {brief(self.n_contexts)}")
        check_number(self.context_noise, "context_noise", MIN_CONTEXT_NOISE)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        return (1 + BLOCK_SIZE) * self.n_contexts

    @property
    def n_groups(self) -> int:  # type: ignore[override]
        return 1 + BLOCK_SIZE * self.n_contexts

    def block(self, context: int) -> NDArray[np.int64]:
        """Indices of the features that are informative in a context, int64 (10,)."""
        return self.n_contexts + BLOCK_SIZE * context + np.arange(BLOCK_SIZE)

    @cached_property
    def components(self) -> Components:  # type: ignore[override]
        """Component ``8 * context + class``."""
        n = self.n_contexts * N_CUBE_CLASSES
        means, sds = np.full((n, self.n_features), NOISE_MEAN), np.full((n, self.n_features), NOISE_SD)
        sds[:, : self.n_contexts] = self.context_noise
        for k, rows in enumerate(np.arange(n).reshape(-1, N_CUBE_CLASSES)):
            means[rows, : self.n_contexts] = np.eye(self.n_contexts)[k]
            means[np.ix_(rows, self.block(k))], sds[np.ix_(rows, self.block(k))] = _cube_block()
        return Components(np.arange(n) % N_CUBE_CLASSES, means, sds)

    def _description(self) -> dict[str, Any]:
        context = _numbered("context{}", self.n_contexts)
        names = [f"block{k}_{x}" for k in range(self.n_contexts) for x in _numbered("x{}", BLOCK_SIZE)]
        return {"feature_names": context + names, "groups": {"context": context}}


GENERATORS: dict[str, SyntheticData] = {
    generator.name: generator for generator in (Syn(1), Syn(2), Syn(3), Cube(), CubeNUC(), CubeNM())
}
DEFAULT_ROWS = 20_000  # of the cubes, with seed 0


def n_generated_rows(generator: SyntheticData) -> tuple[int, int | None]:
    """The number of rows of ``load_generated``, and of published training rows at their beginning, if there are any."""
    return (PUBLISHED_ROWS, PUBLISHED_TRAINING_ROWS) if isinstance(generator, Syn) else (DEFAULT_ROWS, None)


def load_generated(name: str) -> tuple[Dataset, int | None]:
    """The data set of a name in ``GENERATORS``, and the number of training rows as in ``n_generated_rows``."""
    generator = GENERATORS[name]
    n_rows, n_train = n_generated_rows(generator)
    rows = generator.published() if isinstance(generator, Syn) else generator.sample(n_rows, random_state=0)
    return rows, n_train


def _cube_block() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means and standard deviations of an informative block in each class, float64 (8, 10) each."""
    means, sds = _noise_block()
    for c in range(N_CUBE_CLASSES):
        for i in range(N_BITS):
            means[c, c + i], sds[c, c + i] = c >> (N_BITS - 1 - i) & 1, INFORMATIVE_SD
    return means, sds


def _noise_block() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    shape = N_CUBE_CLASSES, BLOCK_SIZE
    return np.full(shape, NOISE_MEAN), np.full(shape, NOISE_SD)


def _numbered(pattern: str, n: int, first: int = 0) -> list[str]:
    return [pattern.format(i) for i in range(first, first + n)]


def _check_n_samples(n_samples: Any) -> int:
    if not is_integer(n_samples) or n_samples < 1:
        raise ValueError(f"n_samples must be a whole number, 1 or more, got {brief(n_samples)}")
    return int(n_samples)
