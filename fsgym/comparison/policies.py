"""Policies of the user in a comparison: factories, which train one per split, and policies that are trained already."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from fsgym.data.dataset import Dataset, RowOrigin
from fsgym.data.scaling import Scaling
from fsgym.envs.env import DatumWiseEnv
from fsgym.methods.factories import FILE_MODULE, load_factory, train_policy
from fsgym.rules import Rules
from fsgym.runner.fingerprint import canonical_form
from fsgym.runner.local_code import error_with_line


class PolicyFactory:
    """A function ``train(env) -> policy``, which is called for each split with the environment of its training rows.

    The values of the environment are scaled to [-1, 1] by its rows, and its price is ``lam``. The policy is evaluated
    on other rows, scaled by the same map.
    """

    def __init__(self, train: Callable[[Any], Any], lam: float) -> None:
        self.train = train
        self.lam = lam

    def fingerprint_parts(self) -> list[object]:
        """The function, as ``canonical_form`` identifies it, and lam."""
        name = getattr(self.train, "__qualname__", type(self.train).__qualname__)
        try:
            return [name, self.lam, canonical_form(self.train)]
        except TypeError as error:
            reason = str(error).partition(": ")[2]
            raise TypeError(
                f"the factory {name} must be picklable to be sent to a process, got {reason}; create models and "
                "environments inside the function"
            ) from None

    def trained_on(self, dataset: Dataset, rules: Rules, seed: int) -> Any:
        """The policy for the rows of ``dataset`` at the price; TypeError if the function returns none."""
        env = DatumWiseEnv(scaled_by(dataset, dataset), rules.replace(lam=self.lam))
        env.reset(seed=seed)
        name = getattr(self.train, "__name__", type(self.train).__name__)
        policy = train_policy(self.train, f"the factory {name}", env)
        if not (callable(policy) or hasattr(policy, "predict") or hasattr(policy, "trajectories")):
            raise TypeError(
                "the factory must return a policy: a callable (observations, action_masks) -> actions, a model with "
                f"predict or a fitted estimator, got {type(policy).__name__}"
            )
        return policy

    def shown(self, dataset: Dataset, train: Dataset) -> Dataset:
        """Rows as the policy that was trained on ``train`` takes them."""
        return scaled_by(dataset, train)


def load_method(reference: str) -> Any:
    """A method of the user for ``compare``, named as ``module:factory`` or ``path/to/file.py:factory``.

    The factory is a function ``train(env) -> policy``, which is returned as it is; or a function without arguments, or
    a class, which is called: it returns an estimator or a pipeline, or a list of them. Raises ValueError where it
    cannot be loaded, or fails.
    """
    factory: Callable[..., Any] = load_factory(reference)
    module = sys.modules.get(getattr(factory, "__module__", None) or "")
    if module is not None and module.__name__.startswith(FILE_MODULE):  # which other processes cannot import
        import cloudpickle

        cloudpickle.register_pickle_by_value(module)
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):
        return factory
    first = next(iter(signature.parameters), "")
    if first == "env" or not _takes(signature, 0):
        return factory
    try:
        method = factory()
    except Exception as error:
        raise ValueError(f"{reference} failed: {error_with_line(error)}") from error
    if method is None:
        raise ValueError(f"{reference} must return an estimator, got None; does it end with return?")
    return method


def is_factory(given: Any) -> bool:
    """Whether a callable takes an environment, and not observations and masks.

    A function of one argument is a factory, and so is one whose first argument is called env and the only one without a
    default. Raises TypeError for a callable that can be neither.
    """
    if not callable(given) or hasattr(given, "predict") or hasattr(given, "trajectories"):
        return False
    try:
        signature = inspect.signature(given)
    except (TypeError, ValueError):
        return False
    positional = [p for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    takes = {n: _takes(signature, n) for n in (1, 2)}
    if takes[1] and (not takes[2] or (positional and positional[0].name == "env")):
        return True
    if takes[2]:
        return False
    raise TypeError(
        "a function must be a policy (observations, action_masks) -> actions, or a factory train(env) -> policy, got "
        f"{getattr(given, '__name__', type(given).__name__)}{signature}"
    )


def _takes(signature: inspect.Signature, n_arguments: int) -> bool:
    try:
        signature.bind(*[None] * n_arguments)
    except TypeError:
        return False
    return True


def scaled_by(dataset: Dataset, train: Dataset) -> Dataset:
    """The data set, scaled to [-1, 1] by the rows of ``train``."""
    return dataset.scaled(Scaling.fit(train.X))


def training_origin(policy: Any) -> RowOrigin | None:
    """Which rows a trained policy was trained on, and how they were scaled; None if that is unknown.

    A classifier of ``agents`` has ``training_origin_``. Any other policy may have its environment: ``get_env()`` as in
    Stable-Baselines3, or an attribute ``env``.

    Raises TypeError for a policy that normalises its observations outside the environment.
    """
    own = getattr(policy, "training_origin_", None)
    if isinstance(own, RowOrigin):
        return own
    get_env = getattr(policy, "get_env", None)
    env = get_env() if callable(get_env) else getattr(policy, "env", None)
    layer = env
    while layer is not None:
        if hasattr(layer, "normalize_obs"):
            raise TypeError(
                f"{type(policy).__name__} was trained on observations that {type(layer).__name__} normalises, which "
                "evaluate does not do; train it on the environment itself, or pass a callable that normalises them"
            )
        layer = getattr(layer, "venv", None)
    dataset = _dataset_of(env)
    return None if dataset is None else dataset.origin


def _dataset_of(env: Any) -> Dataset | None:
    """The data set of an environment or a vector environment of this package; None for any other object."""
    dataset = getattr(getattr(env, "unwrapped", env), "dataset", None)
    if dataset is None and callable(getattr(env, "get_attr", None)):
        try:
            dataset = env.get_attr("dataset")[0]
        except (AttributeError, IndexError):
            return None
    return dataset if isinstance(dataset, Dataset) else None


def as_in_training(dataset: Dataset, origin: RowOrigin | None) -> Dataset:
    """The data set with values as those that a policy was trained on; unchanged if that is unknown.

    Raises ValueError if the policy was trained on another number of features.
    """
    own, wanted = dataset.origin.scaling, None if origin is None else origin.scaling
    if origin is None or (wanted is None and (own is None or dataset.origin.table != origin.table)):
        return dataset  # also scaled values of a table that the policy may know as they are
    identity = Scaling(np.zeros(dataset.n_features), np.ones(dataset.n_features))
    own, wanted = own or identity, wanted or identity
    if len(wanted.offset) != dataset.n_features:
        raise ValueError(
            f"the policy was trained on {len(wanted.offset)} features, but {dataset.name!r} has {dataset.n_features}"
        )
    if np.array_equal(own.offset, wanted.offset) and np.array_equal(own.scale, wanted.scale):
        return dataset
    ratio = np.divide(wanted.scale, own.scale, out=np.zeros_like(own.scale), where=own.scale != 0)
    return dataset.scaled(Scaling((wanted.offset - own.offset) * own.scale, ratio))
