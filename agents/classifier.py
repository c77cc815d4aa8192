"""The scikit-learn face of the datum-wise agents."""

from __future__ import annotations

import os
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from agents import model_file
from agents.policy import LinearPolicy
from agents.rcpi.rcpi import RCPI, read_policy, write_policy
from fsgym.dataset import Dataset
from fsgym.env import DatumWiseEnv
from fsgym.evaluation import Trajectories
from fsgym.rules import Rules


class DatumWiseClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that asks for the features of each datum one by one, and stops when the next is not worth its price.

    Trained by Rollouts Classification Policy Iteration (Dulac-Arnold, Denoyer, Preux and Gallinari, 2012).

    Parameters
    ----------
    lam : float, default 0.01
        Price of one unit of ``costs``, in units of ``error_costs``.
    budget : int, optional
        Largest number of acquisitions for a datum.
    budget_cost : float, optional
        Largest price of all acquisitions for a datum, in the unit of ``costs``.
    costs : array-like of shape (n_acquisitions,) or mapping name -> price, optional
        Price of each acquisition; default one each. Names are the columns', or ``x0, x1, ...``.
    error_costs : array-like of shape (n_classes, n_classes), optional
        ``error_costs[answer, truth]``, classes in sorted order; default 1 for a wrong answer.
    groups, related, relation, unrelated_costs, empty_is_related, prerequisites, missing
        As in ``fsgym.Rules``.
    n_iterations, states_per_sample, alpha, ridge, mixture, n_rollouts, select, n_jobs, random_state
        As in ``agents.RCPI``.

    Attributes
    ----------
    classes_ : array (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of str, where ``X`` had column names
    rules_ : Rules
    policy_ : LinearPolicy
    history_ : list of dict, the numbers of each iteration

    Raises
    ------
    ValueError, TypeError
        For data or parameters that do not fit, in one sentence.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from agents import DatumWiseClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DatumWiseClassifier(lam=0.01, random_state=0).fit(X[:300], y[:300])
    >>> used = model.features_used(X[300:])
    >>> used.shape, bool(used.sum(axis=1).mean() < 20), bool(model.score(X[300:], y[300:]) > 0.85)
    ((269, 30), True, True)
    """

    def __init__(
        self,
        lam: float = 0.01,
        *,
        budget: int | None = None,
        budget_cost: float | None = None,
        costs: Any = None,
        error_costs: Any = None,
        groups: Any = None,
        related: Any = None,
        relation: Literal["any", "all"] = "any",
        unrelated_costs: Any = None,
        empty_is_related: bool = True,
        prerequisites: Any = None,
        missing: Literal["unavailable", "error"] = "unavailable",
        n_iterations: int = 10,
        states_per_sample: float = 10,
        alpha: float = 0.7,
        ridge: float = 1e-3,
        mixture: Literal["trajectory", "decision"] = "trajectory",
        n_rollouts: int = 1,
        select: Literal["best", "last"] = "best",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.lam = lam
        self.budget = budget
        self.budget_cost = budget_cost
        self.costs = costs
        self.error_costs = error_costs
        self.groups = groups
        self.related = related
        self.relation = relation
        self.unrelated_costs = unrelated_costs
        self.empty_is_related = empty_is_related
        self.prerequisites = prerequisites
        self.missing = missing
        self.n_iterations = n_iterations
        self.states_per_sample = states_per_sample
        self.alpha = alpha
        self.ridge = ridge
        self.mixture: Literal["trajectory", "decision"] = mixture
        self.n_rollouts = n_rollouts
        self.select: Literal["best", "last"] = select
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> DatumWiseClassifier:
        """Learn from ``X`` (n_samples, n_features), NaN where a value cannot be had, and labels ``y`` (n_samples,)."""
        with np.errstate(over="ignore", invalid="ignore"):  # the check adds up all values, huge ones too
            X, y = validate_data(self, X, y, dtype=np.float32, ensure_all_finite="allow-nan", order="C")
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(f"y must hold at least two classes, got one class only: {classes.tolist()}")
        names = getattr(self, "feature_names_in_", None)
        dataset = Dataset(X, y, classes=classes, feature_names=None if names is None else list(names))
        rules = Rules.for_dataset(
            dataset,
            lam=self.lam, budget=self.budget, budget_cost=self.budget_cost, costs=self.costs,
            error_costs=self.error_costs, groups=self.groups, related=self.related, relation=self.relation,
            unrelated_costs=self.unrelated_costs, empty_is_related=self.empty_is_related,
            prerequisites=self.prerequisites, missing=self.missing,
        )  # fmt: skip
        agent = RCPI(
            DatumWiseEnv(dataset, rules),
            n_iterations=self.n_iterations, states_per_sample=self.states_per_sample, alpha=self.alpha,
            ridge=self.ridge, mixture=self.mixture, n_rollouts=self.n_rollouts, select=self.select,
            n_jobs=self.n_jobs, random_state=self.random_state,
        )  # fmt: skip
        agent.learn()
        self.classes_ = classes
        self.rules_ = rules
        self.policy_ = cast(LinearPolicy, agent.policy)
        self.history_ = agent.history
        return self

    def trajectories(self, X: ArrayLike) -> Trajectories:
        """What is asked for each row of ``X``, in which order, and what is answered (codes into ``classes_``)."""
        check_is_fitted(self, "policy_")
        with np.errstate(over="ignore", invalid="ignore"):
            X = validate_data(self, X, reset=False, dtype=np.float32, ensure_all_finite="allow-nan", order="C")
        return self.policy_.trajectories(X)

    def predict(self, X: ArrayLike) -> NDArray:
        """The class of each row of ``X``, (n_samples,)."""
        answers = self.trajectories(X).answers
        return self.classes_[answers]

    def features_used(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which features are looked at to classify each row, bool (n_samples, n_features)."""
        return self.trajectories(X).acquired

    def save(self, path: str | os.PathLike) -> None:
        """Write the fitted policy to a model file (safetensors with a JSON header)."""
        check_is_fitted(self, "policy_")
        names = getattr(self, "feature_names_in_", None)
        write_policy(path, self.policy_, {
            "classes": model_file.labels_to_json(self.classes_), "classes_dtype": self.classes_.dtype.str,
            "feature_names": None if names is None else [str(v) for v in names],
        })  # fmt: skip

    @classmethod
    def load(cls, path: str | os.PathLike) -> DatumWiseClassifier:
        """A fitted classifier from a model file; nothing in the file is executed.

        Its rules are its parameters again; how it was trained (``alpha``, ``n_iterations``, ...) is not in the file.

        Raises OSError where it cannot be read, ValueError where it is damaged or holds another kind of model.
        """
        policy, header = read_policy(path)
        try:
            classes = model_file.labels_from_json(header["classes"], header["classes_dtype"])
            names = header["feature_names"]
            if len(classes) != policy.rules.n_classes:
                raise ValueError(f"{len(classes)} class labels for {policy.rules.n_classes} classes")
            if names is not None and not (isinstance(names, list) and all(isinstance(v, str) for v in names)):
                raise ValueError("feature names must be a list of text")
            if names is not None and len(names) != policy.rules.n_features:
                raise ValueError(f"{len(names)} feature names for {policy.rules.n_features} features")
        except KeyError:
            raise ValueError(f"{path} holds an agent without labels; open it with RCPI.load") from None
        except (ValueError, TypeError, OverflowError) as error:
            raise ValueError(f"{path} is damaged: {error}") from None
        rules = policy.rules
        unrelated = "forbid" if rules.forbids_unrelated else rules.unrelated_costs
        model = cls(
            lam=rules.lam, budget=rules.budget, budget_cost=rules.budget_cost, costs=rules.costs,
            error_costs=rules.error_costs, groups=[list(g) for g in rules.groups], related=rules.related,
            relation=rules.relation,  # type: ignore[arg-type]
            unrelated_costs=None if rules.related is None else unrelated,
            empty_is_related=rules.empty_is_related, prerequisites=rules.prerequisites,
            missing=rules.missing,  # type: ignore[arg-type]
        )  # fmt: skip
        model.classes_, model.rules_, model.policy_, model.history_ = classes, policy.rules, policy, []
        model.n_features_in_ = policy.rules.n_features
        if names is not None:
            model.feature_names_in_ = np.array(names, dtype=object)
        return model
